/** The keys of a signer process: those that its configuration names, checked and used as in `signer/local.ts`. */
import path from "node:path";
import { PUBLIC_BASE_URL } from "../../contract/index.ts";
import { askForKeys, readSigningPart, type SigningPart } from "../../daemon/settings/signer.ts";
import type { WalletSettings } from "../../daemon/settings/wallets.ts";
import type { Clock } from "../../domain/clock.ts";
import { isLoopbackHost } from "../../domain/loopback.ts";
import { formFile } from "../../signer/form-file.ts";
import { hashOf } from "../../signer/hash.ts";
import { type KeyAnswer, localKeys, type OpenedKeystore, recorded } from "../../signer/keys.ts";
import type { SignatureEntry } from "../../signer/local.ts";
import { LoginForms, memoryForms } from "../../signer/login-forms.ts";
import { oneMoreMs, signingPace } from "../../signer/pace.ts";
import type { KeyHolder } from "../../signer/serve.ts";
import type { SignerSettings } from "../../signer/settings.ts";
import { signatureLog } from "../../signer/signature-log.ts";
import { SignerUnavailable, SigningRefused, type WalletSigner } from "../../signer/signer.ts";
import type { ReadKind } from "../../signer/wire.ts";
import { type Keystore, keysUnder, openKeystore } from "../../wallet/keystore.ts";
import { mustReadKeystore } from "../../wallet/keystore-file.ts";
import { BadKey, type WalletKey } from "../../wallet/wallet-key.ts";
import { CommandFailed } from "../command.ts";
import { signingPart, signingSource } from "../configuration.ts";

export interface SignerHostOptions {
  readonly config: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The machine's clock. */
  readonly clock: Clock;
  /** Holds this key file alone, and none of the configuration: the fee payer of a transaction. */
  readonly feePayer: string | null;
  /** An exchange other than the configured one; the forms of its logins are trusted until the process ends. */
  readonly elsewhere: string | null;
  /** Signs logins and nothing else. */
  readonly loginsOnly: boolean;
  /** The command that loads a changed configuration, for people. */
  readonly loadsBy: string;
  /**
   * @param opens returns true for the right passphrase
   * @returns null where there is none
   * @throws {BadKey} when it cannot be read, or only wrong ones were typed
   */
  readonly passphrase: (settings: SignerSettings, opens: (passphrase: string) => boolean) => string | null;
  /** Writes a line for people. */
  readonly tell: (line: string) => void;
  /** Writes a warning. */
  readonly warn: (line: string) => void;
}

interface Held {
  readonly keys: readonly KeyAnswer[];
  readonly closed: string;
}

interface Loaded extends Held {
  /** Addresses that the configuration, which has mistakes, does not name; they are still signed for. */
  readonly asBefore: readonly string[];
}

export interface SignerHost extends KeyHolder {
  /**
   * Loads the configuration at the signer's own start or SIGHUP. An earlier way of login of a wallet stays valid
   * besides the new one, because a running daemon uses it until its restart. At a start no way is known, so both are
   * valid until SIGHUP or a daemon's load.
   * @throws {CommandFailed} when it cannot be read; the previous one stays in force
   */
  loadByItself(): Promise<Loaded>;
  /** Writes the refusals that wait for a log line. */
  end(): void;
}

/** Maximum wallets with refusals that wait for a line of their own; a requester can name any wallet. */
const maxUnlogged = 16;

/** Without text of the file: replies become alerts, which leave the machine. */
const mistakes = "the configuration has mistakes: run perpwatch check";

export function signerHost(options: SignerHostOptions): SignerHost {
  const { warn, clock } = options;
  const keystores = keystoreReader(options);
  const formsOf = formsReader(options);
  /**
   * The signers in force. Earlier ones stay after a load with mistakes: daemons still use the previous configuration.
   */
  let signers: ReadonlyMap<string, WalletSigner> = new Map();
  /**
   * The way of login of each wallet. `changed`: an earlier one is valid, too; `unknown`: both are, after a start of the
   * signer alone.
   */
  let logins: ReadonlyMap<string, WalletSettings["login"] | "changed" | "unknown"> = new Map();
  /** The ways of login in the file at the start. */
  let atStart: ReadonlyMap<string, WalletSettings["login"]> = new Map();
  /** The text of the configuration in force; null: none. */
  let inForce: string | null = null;
  /** Folder of the records, from the first load on: another folder would contain no trusted forms. */
  let state: string | null = null;
  let note: (entry: SignatureEntry) => void = () => {};
  // A flood can name any wallet, so all lines of this kind share one rate.
  const mayNote = signingPace(() => clock.elapsedMs());
  /** Refusals without a line by wallet, the longest waiting first; null: refusals of further wallets. */
  const unlogged = new Map<string | null, { readonly count: number; readonly last: SignatureEntry }>();
  let isWaiting = false;
  const logRefusals = (mayNoteOne: () => boolean) => {
    for (const [wallet, { count, last }] of unlogged) {
      if (!mayNoteOne()) {
        if (!isWaiting) clock.after(oneMoreMs, logAtPace);
        isWaiting = true;
        return;
      }
      unlogged.delete(wallet);
      const of = wallet === null ? ", of other wallets, too" : "";
      const more = count === 1 ? "" : ` (${count - 1} refusals before it have no line${of})`;
      note({ ...last, refused: `${last.refused}${more}` });
    }
  };
  const logAtPace = () => {
    isWaiting = false;
    logRefusals(() => mayNote(""));
  };

  /**
   * Loads the file, or the text in force.
   * @param keepsWays earlier ways of login stay valid besides those in the file
   */
  const load = async (known: string | null, keepsWays: boolean): Promise<Loaded> => {
    const { source, part, text } = await signingPart(options, options.config, known ?? undefined);
    const { exchange, signer } = part;
    if (state !== null && known === null && signer.state !== state)
      warn(`the records of forms and signatures stay in ${state} until the signer is started again`);
    state ??= signer.state;
    note = signatureLog(
      state,
      () => clock.nowMs(),
      (line, error) => warn(`the signature log cannot be written (${textOf(error)}): ${line}`),
    );
    let keystore: OpenedKeystore | null = null;
    const own = localKeys({
      forms: formsOf(part, state),
      loginsOnly: options.loginsOnly,
      loginOf(address) {
        const way = logins.get(address);
        return way === "changed" || way === "unknown" ? undefined : way;
      },
      // A fee payer was chosen by a person, and may pay for a watch-only wallet.
      ...(options.feePayer === null && { mayPayFor: (authority: string) => signers.has(authority) }),
      // A simulated exchange may have any time.
      nowMs: isLoopbackHost(new URL(options.elsewhere ?? exchange.baseUrl).hostname)
        ? null
        : () => clock.nowMs(),
      onSignature: (entry) => note(entry),
      keystore: () => {
        keystore ??= keystores(signer);
        return keystore;
      },
    });
    const answers: KeyAnswer[] = [];
    const found = new Map<string, WalletSigner>();
    const keys = recorded(own, (answer, one) => {
      answers.push(answer);
      if (one === null) return;
      // Its keystore is closed now, but may have been open before.
      const before = one.isClosed === true ? (found.get(one.address) ?? signers.get(one.address)) : undefined;
      found.set(one.address, before ?? one);
    });
    const ways =
      options.feePayer === null
        ? askForKeys(source, keys).map(({ authority, login }) => [authority, login] as const)
        : [];
    if (options.feePayer !== null) askForFile(path.resolve(options.feePayer), keys);
    const hasMistakes = source.problems.length > 0 || answers.some((answer) => "problem" in answer);
    signers = hasMistakes ? new Map([...signers, ...found]) : found;
    const before = logins;
    const isFirst = inForce === null;
    const valid = ways.map(([address, login]) => {
      const way = before.get(address);
      if (isFirst && keepsWays) return [address, "unknown"] as const;
      if (way === "unknown" && (hasMistakes || known !== null)) return [address, way] as const;
      const last = way === "unknown" ? atStart.get(address) : way;
      const isKept = last !== undefined && last !== login && (keepsWays || hasMistakes);
      return [address, isKept ? "changed" : login] as const;
    });
    logins = new Map(hasMistakes ? [...before, ...valid] : valid);
    if (isFirst) atStart = new Map(ways);
    inForce = text;
    const closedAs = (keystore as OpenedKeystore | null)?.closed ?? "";
    const isMissed = [...signers.values()].some(({ isClosed }) => isClosed === true);
    if (closedAs !== "" && !isMissed) warn(`${closedAs}; the keys that were opened before are used on`);
    const asBefore = [...signers.keys()].filter((address) => !found.has(address));
    return { keys: answers, closed: isMissed ? closedAs : "", asBefore };
  };

  const look = async (): Promise<Held> => {
    const { source } = await signingSource(options, options.config);
    const part = readSigningPart(source);
    const keys: KeyAnswer[] = [];
    const forms = new LoginForms({ store: memoryForms(), baseUrl: PUBLIC_BASE_URL, domain: null });
    const keystore = () => unopened("problems" in part ? null : part.signer.keystore);
    askForKeys(
      source,
      recorded(localKeys({ forms, keystore }), (answer) => keys.push(answer)),
    );
    return { keys, closed: "" };
  };

  const read = async (how: ReadKind): Promise<Held> => {
    try {
      if (how === "look") return await look();
      return await (how === "renew" ? load(inForce, true) : load(null, false));
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      if (how === "load") warn(`${options.config} is not loaded: ${error.message}`);
      const reason = "problems" in error.facts ? mistakes : error.message;
      throw how === "look" || inForce !== null ? new SigningRefused(reason) : new SignerUnavailable(reason);
    }
  };

  return {
    read,
    loadByItself: () => load(null, true),
    async signerOf(address) {
      if (inForce === null) await read("renew");
      const signer = signers.get(address);
      if (signer === undefined)
        throw new SignerUnavailable(
          `the signer has no key of ${address}; it loads a changed configuration by: ${options.loadsBy}`,
        );
      return signer;
    },
    noteRefused(wallet, act, reason) {
      const name = unlogged.has(wallet) || unlogged.size < maxUnlogged ? wallet : null;
      const count = (unlogged.get(name)?.count ?? 0) + 1;
      unlogged.set(name, { count, last: { act: act.kind, wallet, hash: hashOf(act), refused: reason } });
      if (!isWaiting) logAtPace();
    },
    end: () => logRefusals(() => true),
  };
}

/** Requests one key file. A mistake in it is among the answers. */
function askForFile(file: string, keys: ReturnType<typeof localKeys>): void {
  try {
    keys.file(file);
  } catch (error) {
    if (!(error instanceof BadKey)) throw error;
  }
}

/**
 * A keystore as far as it is readable without its passphrase.
 * @param file null: its name could not be read
 */
function unopened(file: string | null): OpenedKeystore {
  const closedAs = { keys: new Map(), closed: "the keystore was not opened" };
  try {
    return { ...closedAs, addresses: file === null ? null : mustReadKeystore(file).addresses };
  } catch (error) {
    if (!(error instanceof BadKey)) throw error;
    return { ...closedAs, addresses: null };
  }
}

/** Opens a keystore once: only a changed file, or one that could not be opened, is opened again. */
function keystoreReader({ passphrase }: SignerHostOptions): (settings: SignerSettings) => OpenedKeystore {
  let opened: { readonly keystore: Keystore; readonly keys: ReadonlyMap<string, WalletKey> } | null = null;
  const none: ReadonlyMap<string, WalletKey> = new Map();
  return (settings) => {
    // Keys that were opened stay usable, whatever happens to the file.
    const closedAs = (closed: string, addresses: readonly string[] | null): OpenedKeystore => ({
      keys: opened?.keys ?? none,
      closed,
      addresses,
    });
    let keystore: Keystore;
    try {
      keystore = mustReadKeystore(settings.keystore);
    } catch (error) {
      if (!(error instanceof BadKey)) throw error;
      return closedAs(error.message, null);
    }
    const { addresses } = keystore;
    if (opened !== null && opened.keystore.sealed === keystore.sealed)
      return { keys: opened.keys, closed: "", addresses };
    try {
      let found: readonly WalletKey[] | null = null;
      const opens = (text: string) => {
        found = keysUnder(keystore, text);
        return found !== null;
      };
      const given = passphrase(settings, opens);
      if (given === null)
        return closedAs(`${settings.keystore} is closed: no passphrase was given`, addresses);
      found ??= openKeystore(keystore, given);
      const keys = new Map(found.map((key) => [key.address, key]));
      opened = { keystore, keys };
      return { keys, closed: "", addresses };
    } catch (error) {
      if (!(error instanceof BadKey)) throw error;
      return closedAs(`${settings.keystore}: ${error.message}`, addresses);
    }
  };
}

/** Keeps one record of forms as long as the exchange and its domain do not change. */
function formsReader({
  elsewhere,
  tell,
  warn,
}: SignerHostOptions): (part: SigningPart, state: string) => LoginForms {
  let last: { readonly name: string; readonly forms: LoginForms } | null = null;
  return ({ exchange, formerState }, state) => {
    const baseUrl = elsewhere ?? exchange.baseUrl;
    const domain = elsewhere === null ? (exchange.loginDomain ?? null) : null;
    const name = JSON.stringify([baseUrl, domain]);
    if (last?.name === name) return last.forms;
    const forms = new LoginForms({
      ...{ store: elsewhere === null ? formFile({ state, formerState }) : memoryForms(), baseUrl, domain },
      onPinned: (form) => tell(`logins are signed in this form of text from now on: ${JSON.stringify(form)}`),
      onTrouble: (error) => warn(`the trusted forms of login: ${textOf(error)}`),
    });
    last = { name, forms };
    return forms;
  };
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
