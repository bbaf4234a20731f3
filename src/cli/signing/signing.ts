/**
 * The signer of a command that signs: a separate one (`signer.socket`), or a process that ends with the command. The
 * command's own process reads no key.
 */
import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Duplex, Readable } from "node:stream";
import type { SettingsContext } from "../../daemon/settings.ts";
import { systemClock } from "../../domain/clock.ts";
import { distrustedWay } from "../../files/index.ts";
import { SignerClient } from "../../signer/client.ts";
import { answeredKeys, type Keys } from "../../signer/keys.ts";
import { SignerUnavailable, SigningRefused, type WalletSigner } from "../../signer/signer.ts";
import { type Cli, CommandFailed, hint } from "../command.ts";
import { type Loaded, loadOwn, orDemo, signerSocket } from "../configuration.ts";
import { linePrefixes } from "./signer.ts";

export interface SigningOptions {
  /** A key file that signs as well. */
  readonly feePayer?: string | undefined;
  /** An exchange other than the configured one, to which wallets sign in. */
  readonly elsewhere?: string | null;
  /** Nothing but logins is signed. */
  readonly loginsOnly?: boolean;
  /** Maximum wait for a signer that is not available yet, ms. */
  readonly patienceMs?: number;
  /** Called when the signer becomes unavailable, and with an empty text when it is available again. */
  readonly onTrouble?: (trouble: string) => void;
  /** Called with each line that the signer writes for people, and its end. Default: standard error. */
  readonly onLine?: (line: string, isWarning: boolean) => void;
}

export interface Signing {
  /** The reason why nothing can be signed now; empty: signing works. */
  readonly trouble: string;
  /** True if the signer answered the last request. */
  readonly isReached: boolean;
  /**
   * Reads the configuration, with the signer's answers about its keys; the signer's own state does not change.
   * @throws {CommandFailed}
   */
  look(how?: Pick<SettingsContext, "pageMayBeOff">): Promise<Loaded>;
  /** As `look`, to sign with it: the process's own signer loads the configuration; a separate one is unchanged. */
  load(): Promise<Loaded>;
  /** The signers of the configured keys, as of `load`. */
  keys(): Promise<Keys>;
  /**
   * Lets the signer load the configuration, also a separate one. A failure is reported as `trouble`, a refusal as a
   * line of `onLine`.
   */
  loadSigner(): Promise<void>;
  /**
   * Lets the signer read the keys of the configuration in force again.
   * @param wallets addresses whose problems count from now on
   */
  renew(wallets: readonly string[]): Promise<void>;
  /**
   * The key file that signs as well; null: none was named.
   * @throws {BadKey}
   * @throws {SignerUnavailable}
   */
  feePayer(): Promise<WalletSigner | null>;
  close(): void;
}

/** Time limit that includes the question for a passphrase (passphrase.ts). */
const readTimeoutMs = 90_000;
/** A separate signer has asked for it at its start. */
const separateWithinMs = 10_000;
const retryMs = 500;
const main = path.join(import.meta.dirname, "..", "..", `main${path.extname(import.meta.filename)}`);

/** @param file the configuration; without one, the demo's */
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
    ...{
      clock,
      readTimeoutMs: socket === null ? readTimeoutMs : separateWithinMs,
      mayBeOlder: socket !== null,
    },
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
        // Wallets whose address the configuration names are watched without the signer.
        if (error instanceof SigningRefused || clock.elapsedMs() >= endMs)
          return answeredKeys([], signerOf, `${error.message}; ${nameAddress}`);
      }
      await clock.sleep(retryMs);
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

/** Opens a signer while `use` runs. */
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

/** The signer's user owns the socket and its folder, so that nobody else can replace it. */
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

/** Starts a signer on a socket pair, which the system closes with this process. */
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
  // This process may be allowed core dumps, which would contain keys (`withoutCore` of launch.mjs).
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
  if (child.stderr !== null && onLine !== undefined) readLines(child.stderr, onLine);
  child.once("exit", (status, signal) => {
    const how = signal === null ? `ended with exit code ${status}` : `was ended by ${signal}`;
    onLine?.(`the signer's process ${child.pid} ${how}`, true);
  });
  child.unref();
  return child.stdio[3] as Duplex;
}

/** A line without the signer's prefix is an error of its process. */
function readLines(stream: Readable, onLine: NonNullable<SigningOptions["onLine"]>): void {
  createInterface({ input: stream }).on("line", (whole) => {
    const line = whole.replace(/^perpwatch /, "");
    const isWarning =
      !line.startsWith(linePrefixes.signer) || line.startsWith(linePrefixes.signer + linePrefixes.warning);
    onLine(line.replace(linePrefixes.signer + linePrefixes.warning, linePrefixes.signer), isWarning);
  });
}
