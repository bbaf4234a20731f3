/** Signers, by the kinds of key references in a configuration. */
import { readKeyFile } from "../wallet/keypair-file.ts";
import { BadKey, type WalletKey, walletKeyFromText } from "../wallet/wallet-key.ts";
import { type LocalSignerOptions, localSigner } from "./local.ts";
import { SignerUnavailable, type WalletSigner } from "./signer.ts";

/** Each function throws BadKey if there is no usable key. */
export interface Keys {
  /** @param path absolute */
  file(path: string): WalletSigner;
  /** @param at path of the secret in the configuration, such as wallets.0.secret */
  text(secret: string, at: string): WalletSigner;
  /** @param address of a key in the keystore */
  stored(address: string): WalletSigner;
}

/** The signer has not answered, so nothing is known about the key. */
export class UnknownKey extends BadKey {}

export interface OpenedKeystore {
  /** By address. */
  readonly keys: ReadonlyMap<string, WalletKey>;
  /** The reason why keys are missing; empty: all keys are available. */
  readonly closed: string;
  /** All addresses of the keystore; null: it was not read. */
  readonly addresses: readonly string[] | null;
}

export interface LocalKeysOptions extends LocalSignerOptions {
  /** Opens the keystore; called for the first wallet with a stored key. @throws {BadKey} if it cannot be read */
  readonly keystore?: () => OpenedKeystore;
}

/** Keys held in this process. */
export function localKeys(options: LocalKeysOptions): Keys {
  const { keystore = unopenedKeystore } = options;
  return {
    file: (path) => localSigner(readKeyFile(path), options),
    text: (secret) => localSigner(walletKeyFromText(secret), options),
    stored(address) {
      const { keys, closed, addresses } = keystore();
      const key = keys.get(address);
      if (key !== undefined) return localSigner(key, options);
      if (closed !== "" && (addresses?.includes(address) ?? true)) return unavailableSigner(address, closed);
      throw new BadKey("the keystore has no key of this address; add it: perpwatch wallet import");
    },
  };
}

const unopenedKeystore = (): OpenedKeystore => ({
  keys: new Map(),
  closed: "the keystore is not open here",
  addresses: null,
});

/** For reading a configuration without keys: no key is read. */
export const unreadKeys: Keys = {
  file: unread,
  text: unread,
  stored: (address) => unavailableSigner(address, "no key was read"),
};

function unread(): never {
  throw new BadKey("no key was read");
}

/** The signer of a wallet whose address is known but whose key is not available. */
function unavailableSigner(address: string, reason: string): WalletSigner {
  const refuse = async (): Promise<never> => {
    throw new SignerUnavailable(reason);
  };
  return { address, isClosed: true, sign: refuse, sessionKey: refuse };
}

/** Formats a key reference, in the same form in both processes. */
export const reference = {
  file: (path: string) => `file ${path}`,
  text: (at: string) => `at ${at}`,
  stored: (address: string) => `stored ${address}`,
} as const satisfies Record<keyof Keys, (value: string) => string>;

/** The result of a key lookup: its address, or the reason why there is none. */
export type KeyAnswer =
  | { readonly reference: string; readonly address: string }
  | { readonly reference: string; readonly problem: string };

/** Wraps keys so that each lookup is reported. */
export function recorded(
  keys: Keys,
  onAnswer: (answer: KeyAnswer, signer: WalletSigner | null) => void,
): Keys {
  const record = (name: string, find: () => WalletSigner): WalletSigner => {
    try {
      const signer = find();
      onAnswer({ reference: name, address: signer.address }, signer);
      return signer;
    } catch (error) {
      if (error instanceof BadKey) onAnswer({ reference: name, problem: error.message }, null);
      throw error;
    }
  };
  return {
    file: (path) => record(reference.file(path), () => keys.file(path)),
    text: (secret, at) => record(reference.text(at), () => keys.text(secret, at)),
    stored: (address) => record(reference.stored(address), () => keys.stored(address)),
  };
}

/**
 * Keys that another process holds, by its answers.
 * @param signerOf returns the signer of an address
 * @param missing the reason for a key without an answer
 */
export function answeredKeys(
  answers: readonly KeyAnswer[],
  signerOf: (address: string) => WalletSigner,
  missing: string,
): Keys {
  const known = new Map(answers.map((answer) => [answer.reference, answer]));
  const find = (name: string): WalletSigner => {
    const answer = known.get(name);
    if (answer === undefined) throw known.size === 0 ? new UnknownKey(missing) : new BadKey(missing);
    if ("problem" in answer) throw new BadKey(answer.problem);
    return signerOf(answer.address);
  };
  return {
    file: (path) => find(reference.file(path)),
    text: (_, at) => find(reference.text(at)),
    stored: (address) => (known.size === 0 ? signerOf(address) : find(reference.stored(address))),
  };
}
