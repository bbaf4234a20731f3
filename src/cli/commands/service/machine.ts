/**
 * The machine that a service is installed on: its files and commands. Each change is reported; a dry run changes
 * nothing.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { readTextFile, shellWord } from "../../../files/index.ts";
import { CommandFailed } from "../../command.ts";

const maxBytes = 1_024 * 1_024;

/** One change, or a change that was not needed. */
export type Step =
  | { readonly do: "write" | "keep" | "remove"; readonly path: string }
  | { readonly do: "run"; readonly command: string };

/** The result of a command. `status` is null if it could not be started. */
export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Standard input. Never reported. */
  readonly input?: string;
  /** The command uses the streams of this process. */
  readonly onTerminal?: boolean;
}

export type Runner = (command: readonly string[], options?: RunOptions) => Ran;

export interface MachineOptions {
  readonly runner: Runner;
  /** The folder that contains all paths: "/" except for images. */
  readonly root: string;
  /** It is the folder of an image: no service is started. */
  readonly isImage: boolean;
  readonly isDry: boolean;
  readonly report: (step: Step) => void;
}

export class Machine {
  readonly isDry: boolean;
  /** The folder of an image that is built; null on the machine itself. */
  readonly image: string | null;
  readonly #options: MachineOptions;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.isDry = options.isDry;
    this.image = options.isImage ? options.root : null;
  }

  has(file: string): boolean {
    return existsSync(this.#at(file));
  }

  /** @throws {CommandFailed} if there is something other than a text file, or a large one */
  read(file: string): string | null {
    if (!this.has(file)) return null;
    const read = readTextFile(this.#at(file), { largestBytes: maxBytes, from: "anyones" });
    if ("wrong" in read) throw new CommandFailed(`${file} ${read.wrong}`);
    return read.text;
  }

  /** Creates a folder with its parents; an existing one keeps its mode. */
  makeFolder(folder: string, mode: number): void {
    if (!this.isDry) mkdirSync(this.#at(folder), { recursive: true, mode });
  }

  /** Writes a file atomically; one with the same text is kept. */
  write(file: string, text: string, mode: number): void {
    const isSame = this.read(file) === text && (statSync(this.#at(file)).mode & 0o777) === mode;
    this.#options.report({ do: isSame ? "keep" : "write", path: file });
    if (isSame || this.isDry) return;
    mkdirSync(path.dirname(this.#at(file)), { recursive: true });
    const temporary = `${this.#at(file)}.new`;
    rmSync(temporary, { force: true });
    writeFileSync(temporary, text, { mode, flag: "wx" });
    // The umask reduces the mode of a new file.
    chmodSync(temporary, mode);
    renameSync(temporary, this.#at(file));
  }

  /** Reports that a file is unchanged. */
  keep(file: string): void {
    this.#options.report({ do: "keep", path: file });
  }

  setMode(file: string, mode: number): void {
    if (!this.isDry) chmodSync(this.#at(file), mode);
  }

  remove(file: string): void {
    if (!this.has(file)) return;
    this.#options.report({ do: "remove", path: file });
    if (!this.isDry) rmSync(this.#at(file));
  }

  /**
   * Runs a command and reports it. Does nothing in a dry run.
   * @returns its result; null in a dry run
   */
  tryRun(command: readonly string[], options: RunOptions = {}): Ran | null {
    this.#options.report({ do: "run", command: command.map(shellWord).join(" ") });
    return this.isDry ? null : this.#options.runner(command, options);
  }

  /** @throws {CommandFailed} if the command fails or cannot be found */
  run(command: readonly string[], options: RunOptions = {}): void {
    const ran = this.tryRun(command, options);
    if (ran !== null && ran.status !== 0) throw failureOf(command, ran);
  }

  /** Returns true if there is a program of this name. Checked in a dry run, too, because it changes nothing. */
  hasProgram(name: string): boolean {
    return this.#options.runner([name, "--version"]).status !== null;
  }

  /** @throws {CommandFailed} if a link of an image leads out of it: the change would affect this machine */
  #at(file: string): string {
    const at = path.join(this.#options.root, file);
    if (this.image === null || !existsSync(this.image)) return at;
    let folder = path.dirname(at);
    while (!existsSync(folder)) folder = path.dirname(folder);
    const inside = path.relative(realpathSync(this.image), realpathSync(folder));
    if (inside === ".." || inside.startsWith("../"))
      throw new CommandFailed(`${path.dirname(at)} leads out of ${this.image}`);
    return at;
  }
}

function failureOf(command: readonly string[], { status, stderr }: Ran): CommandFailed {
  if (status === null)
    return new CommandFailed(`${command[0]} was not found: install it, and run this again`);
  const said = stderr.trim() === "" ? "" : `\n${stderr.trim()}`;
  return new CommandFailed(`${command.map(shellWord).join(" ")} failed (status ${status})${said}`);
}

/**
 * Returns the reason why a service cannot be installed, with a remedy; null: it can.
 * @param here the operating system, whether systemd is its init, and the user's id
 */
export function refusalOf(
  here: { readonly platform: string; readonly isBooted: boolean; readonly uid: number },
  user: boolean,
): string | null {
  if (here.platform !== "linux" || !here.isBooted)
    return (
      "this machine does not run systemd. Run `perpwatch start` under what restarts programs here (launchd, OpenRC), in a " +
      "container with the passphrase in a secret file (signer: { passphraseFile: /run/secrets/perpwatch }), or with `npm start`"
    );
  if (!user && here.uid !== 0)
    return "system services need root: begin with sudo, or install one of your own with --user";
  return null;
}

/** Runs a program in PATH to its end. */
export function runProgram(command: readonly string[], options: RunOptions = {}): Ran {
  const [program = "", ...args] = command;
  const { status, error, stdout, stderr } = spawnSync(program, args, {
    encoding: "utf8",
    ...(options.onTerminal === true ? { stdio: "inherit" } : { input: options.input ?? "" }),
  });
  if (error !== undefined && "code" in error && error.code === "ENOENT")
    return { status: null, stdout: "", stderr: "" };
  // The status is null after a signal.
  return { status: status ?? 1, stdout: stdout ?? "", stderr: stderr || (error?.message ?? "") };
}
