/**
 * The signer of a command that signs: the one that runs on its own (`signer.socket`), or a process of its own that ends with the command.
 * This process reads no key then.
 */
import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { connect } from "node:net";
import path, { dirname } from "node:path";
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import { systemClock } from "../domain/clock.ts";
import { distrustedWay } from "../files/index.ts";
import { SignerClient } from "../signer/client.ts";
import { answeredKeys, type Keys } from "../signer/keys.ts";
import { SignerUnavailable, type WalletSigner } from "../signer/signer.ts";
import type { Cli } from "./command.ts";
import { type Loaded, loadOwn, orDemo, signerSocket } from "./configuration.ts";

export interface SigningOptions {
  /** A key file that signs as well. */
  readonly feePayer?: string | undefined;
  /** The signer cannot be used, or can again (an empty text). */
  readonly onTrouble?: (trouble: string) => void;
  /** Takes what the signer tells people, a line each. Left out: it goes to standard error. */
  readonly onLine?: (line: string) => void;
}

export interface Signing {
  /** The reason why nothing can be signed now; empty: it can. */
  readonly trouble: string;
  /** Reads the configuration, here and in the signer. @throws {CommandFailed} @throws {SignerUnavailable} */
  load(): Promise<Loaded>;
  /** The signers of the keys that a configuration names. @throws {SignerUnavailable} */
  keys(): Promise<Keys>;
  /** The key file that signs as well; null: none was named. @throws {BadKey} */
  readonly feePayer: WalletSigner | null;
  close(): void;
}

const loadWithinMs = 30_000;

const main = path.join(import.meta.dirname, "..", `main${path.extname(import.meta.filename)}`);

/** @param file the configuration; that of the demo where there is none */
export async function openSigning(cli: Cli, file: string, options: SigningOptions = {}): Promise<Signing> {
  const config = orDemo(cli, file);
  const socket = await signerSocket(cli, config);
  const { feePayer: payerFile } = options;
  // A signer of its own does not have the key file that a command names.
  const isChild = socket === null || payerFile !== undefined;
  const mayAsk = isChild && cli.in.isTTY === true;
  const client = new SignerClient({
    connect: isChild ? () => startSigner(cli, { ...options, config, mayAsk }) : () => connectTo(socket),
    clock: systemClock(),
    loadWithinMs: mayAsk ? null : loadWithinMs,
    ...(options.onTrouble ? { onTrouble: options.onTrouble } : {}),
  });
  let feePayer: WalletSigner | null = null;
  const keys = async (): Promise<Keys> => {
    try {
      const { keys: answers } = await client.load();
      const known = answeredKeys(answers, (address) => client.signerOf(address), notAsked);
      if (payerFile !== undefined) feePayer = known.file(path.resolve(payerFile));
      return known;
    } catch (error) {
      // Wallets whose address the configuration names are watched without it.
      if (isChild || !(error instanceof SignerUnavailable)) throw error;
      return answeredKeys([], (address) => client.signerOf(address), `${error.message}; ${nameAddress}`);
    }
  };
  return {
    get trouble() {
      return client.trouble;
    },
    get feePayer() {
      return feePayer;
    },
    keys,
    load: async () => loadOwn(cli, config, await keys()),
    close: () => client.close(),
  };
}

const notAsked = "the signer has read another state of the configuration; try again";
const nameAddress =
  "so the address of this key is not known. Start the signer, or name the wallet by keystore:";

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

function connectTo(path: string): Promise<Duplex> {
  // The signer's user owns it, and nobody else may put another one there.
  const folder = statSync(dirname(path), { throwIfNoEntry: false });
  const wrong = folder === undefined ? null : distrustedWay(path, { owner: folder.uid });
  if (wrong !== null) return Promise.reject(new SignerUnavailable(`the signer's socket ${path} ${wrong}`));
  return new Promise((resolve, reject) => {
    const stream = connect(path);
    stream.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        new SignerUnavailable(`the signer at ${path} cannot be reached (${error.code ?? error.message})`),
      ),
    );
    stream.once("connect", () => {
      stream.removeAllListeners("error");
      resolve(stream);
    });
  });
}

interface ChildOptions extends SigningOptions {
  readonly config: string;
  readonly mayAsk: boolean;
}

/** A signer over a socket pair, which the system closes with this process. */
async function startSigner(cli: Cli, options: ChildOptions): Promise<Duplex> {
  const { config, mayAsk, feePayer, onLine } = options;
  const args = [
    ...["--disable-sigusr1", "--max-semi-space-size=1", main],
    ...["signer", "--config", config, "--stream", "3"],
    ...(mayAsk ? ["--ask"] : []),
    ...(feePayer === undefined ? [] : ["--fee-payer", path.resolve(feePayer)]),
  ];
  const child = spawn(process.execPath, args, {
    env: cli.env as NodeJS.ProcessEnv,
    stdio: ["ignore", "ignore", onLine === undefined ? "inherit" : "pipe", "pipe"],
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) =>
      reject(new SignerUnavailable(`the signer cannot be started: ${error.message}`)),
    );
  });
  if (child.stderr !== null && onLine !== undefined)
    createInterface({ input: child.stderr }).on("line", (line) => onLine(line.replace(/^perpwatch /, "")));
  child.unref();
  return child.stdio[3] as Duplex;
}
