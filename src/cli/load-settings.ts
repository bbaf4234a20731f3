/** The whole configuration for commands beside the daemon, with every mistake told. */
import { existsSync } from "node:fs";
import type { DaemonSettings } from "../daemon/settings.ts";
import type { Cli } from "./command.ts";
import { type Loaded, loadOwn, orDemo, signerSocket } from "./configuration.ts";

/**
 * For commands beside the daemon: without a configuration here, that of the demo which was started here.
 * @throws {CommandFailed} status 2, with every mistake
 */
export async function loadSettings(cli: Cli, file: string): Promise<Loaded> {
  const config = orDemo(cli, file);
  // Keys of a signer that runs on its own are not this user's to read.
  if (!existsSync(config) || (await signerSocket(cli, config).catch(() => null)) === null)
    return loadOwn(cli, config);
  const { withSigning } = await import("./signing.ts");
  return withSigning(cli, config, {}, (signing) => signing.look());
}

/** As `loadSettings`, for what can do without: null where there are mistakes, or secrets that this shell has not. */
export async function settingsIfWhole(cli: Cli, file: string): Promise<DaemonSettings | null> {
  return loadSettings(cli, file).then(
    ({ settings }) => settings,
    () => null,
  );
}
