/** Loads the complete configuration for commands besides the daemon. */
import { existsSync } from "node:fs";
import type { DaemonSettings } from "../daemon/settings.ts";
import type { Cli } from "./command.ts";
import { type Loaded, loadOwn, orDemo, signerSocket } from "./configuration.ts";

/**
 * Loads the configuration; without one in this folder, that of the demo that was started here.
 * @throws {CommandFailed} status 2, with every mistake
 */
export async function loadSettings(cli: Cli, file: string): Promise<Loaded> {
  const config = orDemo(cli, file);
  // This user cannot read the keys of a separate signer.
  if (!existsSync(config) || (await signerSocket(cli, config).catch(() => null)) === null)
    return loadOwn(cli, config);
  const { withSigning } = await import("./signing/signing.ts");
  return withSigning(cli, config, {}, (signing) => signing.look());
}

/**
 * As `loadSettings`, for commands that can do without it: null where there are mistakes, or secrets that this shell
 * lacks.
 */
export async function settingsIfWhole(cli: Cli, file: string): Promise<DaemonSettings | null> {
  return loadSettings(cli, file).then(
    ({ settings }) => settings,
    () => null,
  );
}
