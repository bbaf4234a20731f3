/**
 * The signer of a command that signs: the one that runs on its own (`signer.socket`), or a process of its own that ends with the command.
 * This process reads no key then.
 */
import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Duplex, Readable } from "node:stream";
import type { SettingsContext } from "../daemon/settings.ts";
import { systemClock } from "../domain/clock.ts";
import { distrustedWay } from "../files/index.ts";
import { SignerClient } from "../signer/client.ts";
import { answeredKeys, type Keys } from "../signer/keys.ts";
import { SignerUnavailable, SigningRefused, type WalletSigner } from "../signer/signer.ts";
import { type Cli, CommandFailed, hint } from "./command.ts";
import { type Loaded, loadOwn, orDemo, signerSocket } from "./configuration.ts";
import { told } from "./signer.ts";

export interface SigningOptions {
  /** A key file that signs as well. */
  readonly feePayer?: string | undefined;
  /** Another exchange than the configured one, to which wallets sign in. */
  readonly elsewhere?: string | null;
  /** Nothing but logins is signed. */
  readonly loginsOnly?: boolean;
  /** The signer is waited for, if it is not there yet, for so long, ms. */
  readonly patienceMs?: number;
  /** The signer cannot be used, or can again (an empty text). */
  readonly onTrouble?: (trouble: string) => void;
  /** Takes what the signer tells people, a line each, and its end. Left out: its lines go to standard error. */
  readonly onLine?: (line: string, isWarning: boolean) => void;
}

export interface Signing {
  /** The reason why nothing can be signed now; empty: it can. */
  readonly trouble: string;
  /** True if the signer answered the last look. */
  readonly isReached: boolean;
  /** Reads the configuration, with its keys by the signer's answers; the signer goes on as it was. @throws {CommandFailed} */
  look(how?: Pick<SettingsContext, "pageMayBeOff">): Promise<Loaded>;
  /** As `look`, to sign by it: a signer of this process's own loads it; one that runs on its own goes on as it was. */
  load(): Promise<Loaded>;
  /** The signers of the keys that a configuration names, to sign by them, as of `load`. */
  keys(): Promise<Keys>;
  /** Has the signer load the configuration, also one that runs on its own. One that cannot is a trouble of `trouble`; a refusal is a line of `onLine`. */
  loadSigner(): Promise<void>;
  /** Has the signer read the keys of the configuration in force again. @param wallets addresses whose troubles count from now on */
  renew(wallets: readonly string[]): Promise<void>;
  /** The key file that signs as well; null: none was named. @throws {BadKey} @throws {SignerUnavailable} */
  feePayer(): Promise<WalletSigner | null>;
  close(): void;
}

/** A passphrase may be asked for meanwhile (passphrase.ts). */
const readTimeoutMs = 90_000;
/** One that runs on its own has been asked for it at its start. */
const ownWithinMs = 10_000;
const againMs = 500;
const main = path.join(import.meta.dirname, "..", `main${path.extname(import.meta.filename)}`);

/** @param file the configuration; that of the demo where there is none */
export async function openSigning(cli: Cli, file: string, options: SigningOptions = {}): Promise<Signing> {
  const config = orDemo(cli, file);
  const socket = await signerSocket(cli, config);
  const { feePayer: payerFile, elsewhere = null, patienceMs = 0 } = options;
  if (socket !== null && elsewhere !== null)
    throw new CommandFailed(`the signer at ${socket} signs in to the configured exchange alone`, 2);
  const clock = systemClock();
  let isClosed = false;
  const onLine: SigningOptions["onLine"] =
    options.onLine && ((line, isWarning) => isClosed || options.onLine?.(line, isWarning));
  const ask = cli.in.isTTY === true ? ["--ask"] : [];
  const words = [
    ...ask,
    ...(options.loginsOnly === true ? ["--logins-only"] : []),
    ...(elsewhere === null ? [] : ["--elsewhere", elsewhere]),
  ];
  const client = new SignerClient({
    connect: socket === null ? () => startSigner(cli, config, words, onLine) : () => connectTo(socket),
    ...{ clock, readTimeoutMs: socket === null ? readTimeoutMs : ownWithinMs, mayBeOlder: socket !== null },
    onOlder: (what) => (onLine ? onLine(what, true) : hint(cli, `warning: ${what}`)),
    ...(options.onTrouble ? { onTrouble: options.onTrouble } : {}),
  });
  // The wallets' signer does not have the key file that a command names.
  const payer =
    payerFile === undefined
      ? null
      : new SignerClient({
          connect: () => startSigner(cli, config, ["--fee-payer", path.resolve(payerFile)], onLine),
          ...{ clock, readTimeoutMs },
        });
  let isReached = false;
  const lookForKeys = async (): Promise<Keys> => {
    isReached = false;
    const signerOf = (address: string) => client.signerOf(address);
    const endMs = clock.elapsedMs() + patienceMs;
    for (;;) {
      try {
        const { keys } = await client.look();
        isReached = true;
        return answeredKeys(keys, signerOf, notAsked);
      } catch (error) {
        if (!isSignerError(error)) throw error;
        // Wallets whose address the configuration names are watched without it.
        if (error instanceof SigningRefused || clock.elapsedMs() >= endMs)
          return answeredKeys([], signerOf, `${error.message}; ${nameAddress}`);
      }
      await clock.sleep(againMs);
    }
  };
  const look: Signing["look"] = async (how = {}) => loadOwn(cli, config, await lookForKeys(), how);
  const loadSigner = async () => {
    try {
      await client.load();
    } catch (error) {
      unlessSignerError(error);
      if (error instanceof SigningRefused) onLine?.(`the signer goes on as it was: ${error.message}`, true);
    }
  };
  return {
    get trouble() {
      return client.trouble;
    },
    get isReached() {
      return isReached;
    },
    look,
    async load() {
      const loaded = await look();
      if (socket === null) await loadSigner();
      return loaded;
    },
    async keys() {
      const keys = await lookForKeys();
      if (socket === null) await loadSigner();
      return keys;
    },
    loadSigner,
    async renew(wallets) {
      client.keepTroublesOf(wallets);
      await client.renew().catch(unlessSignerError);
    },
    async feePayer() {
      if (payer === null || payerFile === undefined) return null;
      const { keys: answers } = await payer.load();
      return answeredKeys(answers, (address) => payer.signerOf(address), notAsked).file(
        path.resolve(payerFile),
      );
    },
    close() {
      isClosed = true;
      client.close();
      payer?.close();
    },
  };
}

const isSignerError = (error: unknown): error is SignerUnavailable | SigningRefused =>
  error instanceof SignerUnavailable || error instanceof SigningRefused;

function unlessSignerError(error: unknown): void {
  if (!isSignerError(error)) throw error;
}

const notAsked = "the signer has read another state of the configuration; try again";
const nameAddress =
  "so the address of this key is not known. Start the signer, or name it: address: beside keyFile:";

/** Opens a signer for as long as `use` runs. */
export async function withSigning<T>(
  cli: Cli,
  file: string,
  options: SigningOptions,
  use: (signing: Signing) => Promise<T>,
): Promise<T> {
  const signing = await openSigning(cli, file, options);
  try {
    return await use(signing);
  } finally {
    signing.close();
  }
}

function connectTo(socket: string): Promise<Duplex> {
  const wrong = distrustedSocket(socket);
  if (wrong !== null) return Promise.reject(new SignerUnavailable(`the signer's socket ${socket} ${wrong}`));
  return new Promise((resolve, reject) => {
    const stream = connect(socket);
    stream.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        new SignerUnavailable(`the signer at ${socket} cannot be reached (${error.code ?? error.message})`),
      ),
    );
    stream.once("connect", () => {
      stream.removeAllListeners("error");
      resolve(stream);
    });
  });
}

/** The signer's user owns the socket and its folder; nobody else may put another one there. */
function distrustedSocket(socket: string): string | null {
  const [stat, folder] = [socket, path.dirname(socket)].map((one) =>
    statSync(one, { throwIfNoEntry: false }),
  );
  if (stat === undefined || folder === undefined) return null;
  const isShared = (folder.mode & 0o1002) !== 0;
  const owners = [0, process.getuid?.() ?? stat.uid, ...(isShared ? [] : [folder.uid])];
  if (!owners.includes(stat.uid))
    return "belongs to another user than its folder. Fix: start the signer again";
  return distrustedWay(socket, { owner: folder.uid });
}

const shell = "/bin/sh";

/** A signer over a socket pair, which the system closes with this process. */
async function startSigner(
  cli: Cli,
  config: string,
  options: readonly string[],
  onLine: SigningOptions["onLine"],
): Promise<Duplex> {
  const args = [
    ...["--disable-sigusr1", "--max-semi-space-size=1", main],
    ...["signer", "--config", config, "--stream", "3", ...options],
  ];
  const command = [process.execPath, ...args];
  // Whoever started this process may have left it core dumps, which would hold keys (`withoutCore` of launch.mjs).
  const [program, ...words] = existsSync(shell)
    ? [shell, "-c", 'ulimit -c 0; exec "$0" "$@"', ...command]
    : command;
  const child = spawn(program!, words, {
    env: cli.env as NodeJS.ProcessEnv,
    stdio: ["ignore", "ignore", onLine === undefined ? "inherit" : "pipe", "pipe"],
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) =>
      reject(new SignerUnavailable(`the signer cannot be started: ${error.message}`)),
    );
  });
  if (child.stderr !== null && onLine !== undefined) readTold(child.stderr, onLine);
  child.once("exit", (status, signal) => {
    const how = signal === null ? `ended with exit code ${status}` : `was ended by ${signal}`;
    onLine?.(`the signer's process ${child.pid} ${how}`, true);
  });
  child.unref();
  return child.stdio[3] as Duplex;
}

/** Whatever is no line of the signer itself is an error of its process. */
function readTold(stream: Readable, onLine: NonNullable<SigningOptions["onLine"]>): void {
  createInterface({ input: stream }).on("line", (whole) => {
    const line = whole.replace(/^perpwatch /, "");
    const isWarning = !line.startsWith(told.signer) || line.startsWith(told.signer + told.warning);
    onLine(line.replace(told.signer + told.warning, told.signer), isWarning);
  });
}
