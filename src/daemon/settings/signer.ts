/** The `signer:` section, and the other settings that a signer needs: the wallets' keys, and the exchange's logins. */
import path from "node:path";
import type { ConfigProblem, ConfigSource } from "../../config/index.ts";
import { type ExchangeSettings, exchangeSettings } from "../../exchange/settings.ts";
import type { Keys } from "../../signer/keys.ts";
import { type SignerSettings, signerSettings } from "../../signer/settings.ts";
import { readHistory } from "./sections.ts";
import { readWallets, type WalletSettings } from "./wallets.ts";

/** @param historyPath absolute path of the database */
export function readSigner(source: ConfigSource, historyPath: string): SignerSettings | undefined {
  const found = source.read(["signer"], signerSettings, {});
  if (found === undefined) return undefined;
  const { socket, keystore = "keystore.json", passphraseFile, state } = found;
  const absolute = (name: string | undefined) => (name === undefined ? null : source.resolve(name));
  // A separate signer may not be able to enter the daemon's folder. A configured keystore is in the signer's own
  // folder.
  const ownFile =
    socket === undefined || found.keystore === undefined ? historyPath : source.resolve(keystore);
  return {
    socket: absolute(socket),
    keystore: source.resolve(keystore),
    passphraseFile: absolute(passphraseFile),
    state: absolute(state) ?? path.dirname(ownFile),
  };
}

/** The settings that a signer needs; mistakes in other sections are ignored. */
export interface SigningPart {
  readonly exchange: ExchangeSettings;
  readonly signer: SignerSettings;
  /** The folder of the database, in which earlier versions kept the records of each signer. */
  readonly formerState: string;
}

/** @returns the settings, or all mistakes in their sections */
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
 * Requests every key that the configuration names. Mistakes of wallets are reported by the daemon, which reads the
 * whole configuration.
 * @returns the wallets without mistakes
 */
export function askForKeys(source: ConfigSource, keys: Keys): readonly WalletSettings[] {
  return readWallets(source, keys).wallets;
}
