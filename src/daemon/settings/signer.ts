/** `signer:` and what else of a configuration a signer needs: the wallets' keys, and which logins are the exchange's. */
import path from "node:path";
import type { ConfigProblem, ConfigSource } from "../../config/index.ts";
import { type ExchangeSettings, exchangeSettings } from "../../exchange/settings.ts";
import type { Keys } from "../../signer/keys.ts";
import { type SignerSettings, signerSettings } from "../../signer/settings.ts";
import { readHistory } from "./sections.ts";
import { readWallets, type WalletSettings } from "./wallets.ts";

/** @param historyPath of the database, absolute */
export function readSigner(source: ConfigSource, historyPath: string): SignerSettings | undefined {
  const found = source.read(["signer"], signerSettings, {});
  if (found === undefined) return undefined;
  const { socket, keystore = "keystore.json", passphraseFile, state } = found;
  const absolute = (name: string | undefined) => (name === undefined ? null : source.resolve(name));
  // A signer that runs on its own may not enter the daemon's folder; that of a keystore that somebody named is its own.
  const ownFile =
    socket === undefined || found.keystore === undefined ? historyPath : source.resolve(keystore);
  return {
    socket: absolute(socket),
    keystore: source.resolve(keystore),
    passphraseFile: absolute(passphraseFile),
    state: absolute(state) ?? path.dirname(ownFile),
  };
}

/** As much of a configuration as a signer needs; mistakes elsewhere do not matter. */
export interface SigningPart {
  readonly exchange: ExchangeSettings;
  readonly signer: SignerSettings;
  /** The folder of the database, where the records of each signer were before. */
  readonly formerState: string;
}

/** @returns the settings, or every mistake in the sections that they come from */
export function readSigningPart(
  source: ConfigSource,
): SigningPart | { readonly problems: readonly ConfigProblem[] } {
  const exchange = source.read(["exchange"], exchangeSettings, {});
  const history = readHistory(source);
  const signer = history && readSigner(source, history.path);
  if (exchange === undefined || signer === undefined) return { problems: source.problems };
  return { exchange, signer, formerState: path.dirname(history!.path) };
}

/**
 * Asks for every key that the configuration names; mistakes of wallets are for whoever reads the whole configuration.
 * @returns the wallets without mistakes
 */
export function askForKeys(source: ConfigSource, keys: Keys): readonly WalletSettings[] {
  return readWallets(source, keys).wallets;
}
