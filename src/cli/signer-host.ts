/** The keys of a signer's process: those that its configuration names, checked and used as `signer/local.ts` does. */
import path from "node:path";
import { ConfigSource, readTextFile } from "../config/index.ts";
import { loopback } from "../exchange/settings.ts";
import { askForKeys, readSigningPart } from "../settings/signer.ts";
import { walletFiles } from "../settings/wallets.ts";
import { formFile } from "../signer/form-file.ts";
import { type KeyAnswer, localKeys, type OpenedKeystore, recorded } from "../signer/keys.ts";
import { LoginForms } from "../signer/login-forms.ts";
import type { KeyHolder } from "../signer/serve.ts";
import type { SignerSettings } from "../signer/settings.ts";
import { signatureLog } from "../signer/signature-log.ts";
import { SignerUnavailable, type WalletSigner } from "../signer/signer.ts";
import { type Keystore, openKeystore } from "../wallet/keystore.ts";
import { mustReadKeystore } from "../wallet/keystore-file.ts";
import { BadKey } from "../wallet/wallet-key.ts";
import { CommandFailed } from "./command.ts";
import { largestConfig, misconfigured } from "./configuration.ts";

export interface SignerHostOptions {
  readonly config: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A key file beside those of the configuration: who pays for a transaction. */
  readonly feePayer: string | null;
  /** @returns null where there is none @throws {BadKey} when it cannot be read */
  readonly passphrase: (settings: SignerSettings) => string | null;
  /** A line for people. */
  readonly tell: (line: string) => void;
}

/** @throws {CommandFailed} when the configuration cannot be read, now or at a later `load` */
export function signerHost(options: SignerHostOptions): KeyHolder {
  const { tell } = options;
  let signers: Promise<ReadonlyMap<string, WalletSigner>> | null = null;
  let opened: { readonly keystore: Keystore; readonly keys: OpenedKeystore } | null = null;
  let closed = "";

  /** Opens it once: only another file, or one that could not be opened, is read again. */
  const openedKeystore = (settings: SignerSettings): OpenedKeystore => {
    const keystore = mustReadKeystore(settings.keystore);
    if (opened !== null && opened.keystore.sealed === keystore.sealed) return opened.keys;
    const passphrase = options.passphrase(settings);
    if (passphrase === null) {
      closed = `${settings.keystore} is closed: no passphrase was given`;
      return { closed, addresses: keystore.addresses };
    }
    try {
      const keys = new Map(openKeystore(keystore, passphrase).map((key) => [key.address, key]));
      opened = { keystore, keys };
      return keys;
    } catch (error) {
      if (!(error instanceof BadKey)) throw error;
      closed = `${settings.keystore}: ${error.message}`;
      return { closed, addresses: keystore.addresses };
    }
  };

  const load = async (): Promise<readonly KeyAnswer[]> => {
    const { source, part } = await readConfiguration(options.config, options.env);
    const { exchange, signer } = part;
    const forms = new LoginForms({
      store: formFile(signer.state),
      baseUrl: exchange.baseUrl,
      domain: exchange.loginDomain ?? null,
      onPinned: (form) => tell(`logins are signed in this form of text from now on: ${JSON.stringify(form)}`),
      onTrouble: (error) => tell(`the trusted forms of login: ${textOf(error)}`),
    });
    closed = "";
    let keystore: OpenedKeystore | null = null;
    const own = localKeys({
      forms,
      // A simulated exchange may have any time.
      nowMs: loopback.test(new URL(exchange.baseUrl).hostname) ? null : () => Date.now(),
      onSignature: signatureLog(
        signer.state,
        () => Date.now(),
        (line, error) => tell(`the signature log cannot be written (${textOf(error)}): ${line}`),
      ),
      keystore: () => {
        keystore ??= openedKeystore(signer);
        return keystore;
      },
    });
    const answers: KeyAnswer[] = [];
    const found = new Map<string, WalletSigner>();
    const keys = recorded(own, (answer, signer) => {
      answers.push(answer);
      if (signer !== null) found.set(signer.address, signer);
    });
    askForKeys(source, keys);
    if (options.feePayer !== null) {
      try {
        keys.file(path.resolve(options.feePayer));
      } catch (error) {
        // It is among the answers.
        if (!(error instanceof BadKey)) throw error;
      }
    }
    signers = Promise.resolve(found);
    return answers;
  };

  return {
    async load() {
      const keys = await load();
      return { keys, closed };
    },
    async signerOf(address) {
      if (signers === null) await load();
      const signer = (await signers)?.get(address);
      if (signer === undefined) throw new SignerUnavailable(`the signer has no key of ${address}`);
      return signer;
    },
  };
}

/** @throws {CommandFailed} status 2 */
export async function readConfiguration(file: string, env: SignerHostOptions["env"]) {
  const read = readTextFile(file, { largestBytes: largestConfig });
  if ("wrong" in read) throw new CommandFailed(`${file}: the configuration ${read.wrong}`, 2);
  const folder = path.dirname(path.resolve(file));
  const source = new ConfigSource({ text: read.text, file, folder, env, fileSettings: walletFiles });
  if (!source.readable) throw await misconfigured(source.problems);
  const part = readSigningPart(source);
  if ("problems" in part) throw await misconfigured(part.problems);
  return { source, part };
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
