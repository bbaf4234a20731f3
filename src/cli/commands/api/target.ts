/** Determines the exchange and the wallet of `perpwatch api`. */
import type { DaemonSettings } from "../../../daemon/settings.ts";
import type { Keys } from "../../../signer/keys.ts";
import { type Cli, CommandFailed } from "../../command.ts";
import { exchangePart, hasConfiguration } from "../../configuration.ts";
import type { ApiOptions } from "./arguments.ts";

export interface Target {
  readonly settings: Pick<DaemonSettings, "exchange" | "wallets">;
  readonly wallet: { readonly name: string; readonly authority: string; readonly watchOnly: boolean } | null;
  /** The configured address, if `--url` has another origin; otherwise null. */
  readonly configuredUrl: string | null;
}

/**
 * The configuration's exchange and wallets; without a configuration, the public exchange and no wallets.
 * @throws {CommandFailed} status 2
 */
export async function target(cli: Cli, options: ApiOptions, keys: Keys | null): Promise<Target> {
  const { exchangeSettings } = await import("../../../exchange/settings.ts");
  const configured =
    options.configNamed || options.wallet !== null || hasConfiguration(cli, options.config)
      ? await exchangePart(cli, options.config, keys)
      : { exchange: exchangeSettings.parse({}), wallets: [] };
  let { exchange } = configured;
  let configuredUrl: string | null = null;
  if (options.url !== null) {
    const named = exchangeSettings.safeParse({ baseUrl: options.url });
    if (!named.success) throw new CommandFailed(`--url ${named.error.issues[0]?.message}`, 2);
    const [there, here] = [named.data.baseUrl, exchange.baseUrl];
    if (new URL(there).origin !== new URL(here).origin) configuredUrl = here;
    exchange = { ...exchange, baseUrl: there };
  }
  const { wallets } = configured;
  if (options.wallet === null) return { settings: { exchange, wallets: [] }, wallet: null, configuredUrl };
  const found = wallets.find(({ name }) => name === options.wallet);
  if (found === undefined) {
    const names = wallets.map(({ name }) => name).join(", ");
    throw new CommandFailed(
      `there is no wallet ${options.wallet} in ${options.config}; there are ${names}`,
      2,
    );
  }
  const { name, authority, key } = found;
  const wallet = { name, authority, watchOnly: key === null };
  return { settings: { exchange, wallets: [found] }, wallet, configuredUrl };
}
