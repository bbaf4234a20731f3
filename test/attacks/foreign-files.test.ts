/** Files, sockets and folders that another user of the machine owns, can change or has made before: refused where that is a danger. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { hashPassword } from "../../src/web/access/password.ts";
import { type Desk, desk, run, runProcess } from "../cli/run.ts";
import { type Program, startProgram } from "../support/program.ts";
import { reportTests } from "./report-tests.ts";

const isRoot = process.getuid?.() === 0;
const needsRoot = "only root can act as another user";
/** A user of every Unix system who owns nothing. */
const stranger = 65_534;
const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

reportTests("foreign files");

let simulator: Simulator;
let keys: Desk;
let place: Desk;

beforeAll(async () => {
  keys = desk();
  simulator = await startSimulator({ port: 0, traders: 1, walk: false, keysDir: keys.folder });
});
afterAll(async () => {
  await simulator?.stop();
  keys?.[Symbol.dispose]();
});

/** A folder with a configuration, a key, a rule file and a token that nobody else can use. */
function home(): Desk {
  place = desk();
  fs.copyFileSync(simulator.traders[0]!.keyFile!, file("main.key"));
  fs.chmodSync(file("main.key"), 0o600);
  place.write("token", "a-secret-of-the-webhook\n");
  place.write("mine.yaml", ruleOf("Mine"));
  place.write("config.yaml", configuration());
  return place;
}

const file = (name: string) => path.join(place.folder, name);
const mode = (name: string) => fs.statSync(file(name)).mode & 0o777;

function configuration(more: readonly string[] = []): string {
  return [
    `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
    "wallets: [ { name: main, keyFile: main.key } ]",
    "rules: [ shipped, ./mine.yaml ]",
    'channels: { hook: { type: webhook, url: "http://127.0.0.1:9", secretFile: token } }',
    "history: { path: ./p }",
    "dashboard: { listen: off }",
    ...more,
    "",
  ].join("\n");
}

const ruleOf = (name: string) =>
  `rules:\n  - name: ${name}\n    scope: trader\n    severity: info\n    when: trader.marginRatio > 9.0\n    summary: none\n`;

/** Runs a line of code as the stranger. Returns what it printed: `ok`, or the code of its error. */
function asStranger(code: string): string {
  const script = `try { ${code}; console.log("ok"); } catch (error) { console.log(error.code); }`;
  const at = { uid: stranger, gid: stranger, cwd: "/", encoding: "utf8" } as const;
  const ran = spawnSync(process.execPath, ["-e", `const fs = require("node:fs"); ${script}`], at);
  return ran.error === undefined ? ran.stdout.trim() : String(ran.error);
}

/** A stranger's process that listens at a socket and prints a line for each connection. */
async function strangersSocket(at: string) {
  const code = `require("node:net").createServer(() => console.log("asked")).listen(${JSON.stringify(at)}, () => console.log("listening"))`;
  const child = spawn(process.execPath, ["-e", code], {
    ...{ uid: stranger, gid: stranger, cwd: "/" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => lines.push(line));
  await once(reader, "line");
  return {
    lines,
    async [Symbol.asyncDispose]() {
      const ended = once(child, "close");
      child.kill();
      await ended;
    },
  };
}

/** Files beside those of `home`, by the setting that names them. */
const others: readonly (readonly [name: string, setting: string])[] = [
  ["page-password", "dashboard: { listen: 127.0.0.1:0, passwordHashFile: page-password }"],
  [
    "page.key",
    "dashboard: { listen: 127.0.0.1:0, tls: { certFile: page.crt, keyFile: page.key }, allowedHosts: [a.test] }",
  ],
];

const check = () => run(["check"], place);
const start = () => runProcess(["start"], place);
const started = async (daemon: Program) => daemon.line((line) => line.includes("signed in by message"));

describe("what others can change is refused by check and start, with the command to type", () => {
  test.each(["config.yaml", "mine.yaml", "main.key", "token"])("%s", async (name) => {
    using _ = home();
    expect(await check()).toMatchObject({ status: 0 });
    fs.chmodSync(file(name), 0o646);
    for (const { status, stderr, stdout } of [await check(), await start()]) {
      expect(status).toBe(2);
      expect(stderr + stdout).toMatch(
        new RegExp(
          `${name}.* by others than its owner: every user of this machine.*Fix: chmod (600|go-w) \\S*${name}`,
        ),
      );
    }
  });

  test.each(others)("%s", async (name, setting) => {
    using _ = home();
    place.write("page-password", `${await hashPassword("correct horse battery")}\n`);
    for (const ending of ["crt", "key"])
      fs.copyFileSync(
        new URL(`../web/fixtures/first-test-only.${ending}`, import.meta.url),
        file(`page.${ending}`),
      );
    for (const secret of ["page-password", "page.key"]) fs.chmodSync(file(secret), 0o600);
    place.write("config.yaml", configuration().replace("dashboard: { listen: off }", setting));
    expect(await check()).toMatchObject({ status: 0 });
    for (const wide of [0o602, 0o604]) {
      fs.chmodSync(file(name), wide);
      const { status, stderr } = await check();
      expect(status).toBe(2);
      expect(stderr).toMatch(new RegExp(`${name}.* by others than its owner: .*Fix: chmod 600 \\S*${name}`));
    }
  });

  test("a folder in which others can swap files; one like /tmp is fine", async () => {
    using _ = home();
    fs.chmodSync(place.folder, 0o777);
    const { status, stderr } = await check();
    expect(status).toBe(2);
    expect(stderr).toContain(`Fix: chmod go-w ${place.folder}`);
    fs.chmodSync(place.folder, 0o1777);
    expect(await check()).toMatchObject({ status: 0 });
  });

  test.for(["config.yaml", "mine.yaml", "main.key", "token"])(
    "%s of another user",
    async (name, { skip }) => {
      skip(!isRoot, needsRoot);
      using _ = home();
      fs.chownSync(file(name), stranger, stranger);
      const { status, stderr } = await check();
      expect(status).toBe(2);
      expect(stderr).toMatch(
        new RegExp(`${name}.*belongs to another user, (\\w+ \\()?65534.*Fix: chown root \\S*${name}`),
      );
    },
  );

  test("a secret in a configuration that others can read; the same from a file or a variable is fine", async () => {
    using _ = home();
    const withSecret = configuration().replace("secretFile: token", "secret: abcdefgh-inline-secret");
    place.write("config.yaml", withSecret);
    expect(await check()).toMatchObject({ status: 0 });
    fs.chmodSync(file("config.yaml"), 0o644);
    const { status, stderr } = await check();
    expect(status).toBe(2);
    expect(stderr).toMatch(/config\.yaml:4:\d+: channels\.hook\.secret: .*Fix: chmod 600 \S*config\.yaml\n/);
    expect(stderr).not.toContain("abcdefgh");
    place.write(
      "config.yaml",
      withSecret.replace("abcdefgh-inline-secret", JSON.stringify(["$", "{HOOK}"].join(""))),
    );
    expect(await run(["check"], { ...place, env: { HOOK: "abcdefgh-inline-secret" } })).toMatchObject({
      status: 0,
    });
    place.write("config.yaml", configuration());
    expect(await check()).toMatchObject({ status: 0 });
  });
});

describe("a signer's file that others can use is refused, with the command to type:", () => {
  const wallet = () => simulator.traders[0]!.authority;

  test.each(["666", "644"])("the keystore of mode %s", async (wide) => {
    using _ = home();
    place.write("passphrase", "correct horse battery staple\n");
    const signer = "signer: { keystore: ./keystore.json, passphraseFile: ./passphrase }";
    const stored = configuration([signer]).replace("keyFile: main.key", `keystore: ${wallet()}`);
    place.write("config.yaml", stored);
    const input = fs.readFileSync(file("main.key"), "utf8");
    expect(await run(["wallet", "import"], { ...place, input })).toMatchObject({ status: 0 });
    expect(mode("keystore.json")).toBe(0o600);
    fs.chmodSync(file("keystore.json"), `0${wide}`);
    const reason =
      /the keystore can be (changed|read) by others than its owner: every user .*Fix: chmod 600 \S*keystore\.json/;
    for (const words of [["check"], ["wallet", "list"]]) {
      const { stdout, stderr } = await run(words, place);
      expect(stdout + stderr).toMatch(reason);
    }
    await using daemon = startProgram(["start"], place);
    await daemon.line((line) => reason.test(line));
    expect(daemon.stderr.filter((line) => line.includes("signed in by"))).toEqual([]);
  });

  test("the trusted forms of login", async () => {
    using _ = home();
    place.write("login-forms.json", JSON.stringify({ text: null, memo: null, refused: [] }));
    fs.chmodSync(file("login-forms.json"), 0o666);
    const reason = /login-forms\.json can be changed by others than its owner: every user .*Fix: chmod go-w/;
    const trust = await run(["wallet", "trust"], place);
    expect([trust.status, trust.stderr]).toEqual([1, expect.stringMatching(reason)]);
    await using daemon = startProgram(["start"], place);
    await daemon.line((line) => reason.test(line));
    expect(daemon.stderr.filter((line) => line.includes("signed in by"))).toEqual([]);
  });
});

describe("the daemon's own files", () => {
  test("are its owner's alone, whatever the umask; another user reaches none of them", async ({ skip }) => {
    using _ = home();
    // Others may look into this folder, so that only each file's own mode keeps them out.
    fs.chmodSync(place.folder, 0o755);
    const mask = process.umask(0);
    await using daemon = startProgram(["start"], place);
    process.umask(mask);
    await started(daemon);
    const own = ["p", "p-wal", "p-shm", "p.lock", "p.sock"];
    expect(own.map((name) => [name, mode(name)])).toEqual(own.map((name) => [name, 0o600]));
    skip(!isRoot, needsRoot);
    for (const name of ["p", "p-wal", "p.lock", "config.yaml", "main.key", "token"])
      expect([name, asStranger(`fs.readFileSync(${JSON.stringify(file(name))})`)]).toEqual([name, "EACCES"]);
    expect(asStranger(`fs.writeFileSync(${JSON.stringify(file("p.new"))}, "")`)).toBe("EACCES");
    const connect = `require("node:net").connect(${JSON.stringify(file("p.sock"))}).on("error", (e) => { console.log(e.code); process.exit(); }).on("connect", () => console.log("connected"))`;
    expect(asStranger(connect)).toContain("EACCES");
    expect(asStranger(connect)).not.toContain("connected");
  });

  test.for(["p", "p-wal", "p.lock"])("made by another user before: %s", async (name, { skip }) => {
    skip(!isRoot, needsRoot);
    using _ = home();
    fs.chmodSync(place.folder, 0o1777);
    expect(asStranger(`fs.writeFileSync(${JSON.stringify(file(name))}, "")`)).toBe("ok");
    for (const { status, stderr } of [await check(), await start()]) {
      expect(status).toBe(2);
      expect(stderr).toMatch(new RegExp(`history\\.path: \\S*/${name} belongs to another user, .*65534`));
    }
    expect(fs.readFileSync(file(name), "utf8")).toBe("");
  });

  test.each(["p", "p-wal", "p-shm", "p.lock"])("made before with wider rights: %s", async (name) => {
    using _ = home();
    place.write(name, "");
    fs.chmodSync(file(name), 0o644);
    const { status, stderr } = await start();
    expect(status).toBe(2);
    expect(stderr).toMatch(new RegExp(`/${name} can be read by others.*Fix: chmod 600 \\S*/${name}`));
  });
});

describe("a socket of another user", () => {
  test("is asked nothing by a command, and is not replaced by a daemon", async ({ skip }) => {
    skip(!isRoot, needsRoot);
    using _ = home();
    fs.chmodSync(place.folder, 0o1777);
    await using foreign = await strangersSocket(file("p.sock"));
    const asked = await run(["status"], place);
    expect(asked.status).toBe(1);
    expect(asked.stderr).toMatch(/p\.sock belongs to another user, .*65534.*Nothing was sent/);
    for (const { status, stderr } of [await check(), await start()]) {
      expect(status).toBe(2);
      expect(stderr).toMatch(/p\.sock belongs to another user, .*65534.*rm \S*p\.sock/);
    }
    expect(foreign.lines).toEqual(["listening"]);
    expect(fs.statSync(file("p.sock")).uid).toBe(stranger);
  });

  test("is asked for no signature by commands and a daemon, and the reason is said", async ({ skip }) => {
    skip(!isRoot, needsRoot);
    using _ = home();
    fs.chmodSync(place.folder, 0o1777);
    place.write("config.yaml", configuration(["signer: { socket: ./signer.sock }"]));
    await using foreign = await strangersSocket(file("signer.sock"));
    const reason =
      /signer's socket \S*signer\.sock belongs to another user than its folder\. Fix: start the signer again/;
    for (const words of [["check"], ["wallet", "login", "main"]]) {
      const { stdout, stderr } = await run(words, place);
      expect(stdout + stderr).toMatch(reason);
    }
    await using daemon = startProgram(["start"], place);
    await daemon.line((line) => reason.test(line));
    expect(foreign.lines).toEqual(["listening"]);
  });

  test("is root's to ask where the configuration is that user's; run by root it is not", async ({ skip }) => {
    skip(!isRoot || asStranger(`fs.readFileSync(${JSON.stringify(main)})`) !== "ok", needsRoot);
    using _ = home();
    for (const one of ["", "config.yaml", "mine.yaml", "main.key", "token"])
      fs.chownSync(file(one), stranger, stranger);
    const child = spawn(process.execPath, [main, "start", "--config", file("config.yaml")], {
      ...{ uid: stranger, gid: stranger, cwd: place.folder },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const ended = once(child, "close");
    for await (const line of createInterface({ input: child.stderr }))
      if (line.includes("signed in by message")) break;
    expect((await run(["status", "--json"], place)).json()).toMatchObject({ running: true });
    const { status, stderr } = await run(["check"], place);
    expect(status).toBe(2);
    expect(stderr).toMatch(/belongs to another user, .*65534.*who could have root do anything with it/);
    child.kill();
    await ended;
  });

  test("something that is no socket is left alone", async () => {
    using _ = home();
    place.write("p.sock", "not a socket");
    const { status, stderr } = await start();
    expect(status).not.toBe(0);
    expect(stderr).toContain("p.sock is in the way");
    expect(fs.readFileSync(file("p.sock"), "utf8")).toBe("not a socket");
  });
});

test("a reload of what others can change is refused as check does, and what runs goes on", async () => {
  using _ = home();
  await using daemon = startProgram(["start"], place);
  await started(daemon);
  const reload = async (fits: (line: string) => boolean) => {
    const hup = daemon.line(fits);
    process.kill(daemon.pid, "SIGHUP");
    return hup;
  };
  place.write("mine.yaml", ruleOf("Changed"));
  fs.chmodSync(file("mine.yaml"), 0o666);
  const refused = await reload((line) => line.includes("is not taken, the daemon goes on as it was"));
  expect(refused).toContain("1 mistake in the configuration");
  expect(await daemon.line((line) => line.includes("mode 0666"))).toMatch(/Fix: chmod go-w \S*mine\.yaml/);
  expect((await run(["status", "--json"], place)).json()).toMatchObject({ running: true, state: "running" });
  fs.chmodSync(file("mine.yaml"), 0o600);
  await reload((line) => line.includes("config.yaml again; taken: rules"));
});

describe("rules", () => {
  test.each([
    ["../*.yaml", "leaves its folder by .."],
    ["/proc/**/*.yaml", "files of the system"],
    ["/**/*.yaml", "does not end"],
    ["/proc/self/environ", "is no file of a disk"],
    ["/dev/zero", "is no file of a disk"],
    ["./pipe", "is not a regular file"],
    ["./large.yaml", "is too large"],
    ["./lin[k]ed/*.yaml", "leaves its folder, to "],
    ["./**/linked/*.yaml", "no file matches"],
    ["./deep/**/*.yaml", "does not end"],
  ])("%s are refused by check", async (pattern, text) => {
    using elsewhere = desk();
    elsewhere.write("other.yaml", ruleOf("Other"));
    using _ = home();
    fs.symlinkSync(elsewhere.folder, file("linked"));
    if (pattern.includes("deep")) fs.mkdirSync(file(`deep/${"d/".repeat(20)}`), { recursive: true });
    spawnSync("mkfifo", ["-m", "600", file("pipe")]);
    place.write("large.yaml", "");
    fs.truncateSync(file("large.yaml"), 1e12);
    place.write("config.yaml", configuration().replace("./mine.yaml", `"${pattern}"`));
    const { status, stderr } = await check();
    expect(status).toBe(2);
    expect(stderr).toContain(text);
  });

  test.each(["./rules/**/*.yaml", "./rules/*.yaml", "./rules/again/**/*.yaml", "./rules/again/again/*.yaml"])(
    "%s with a link to its own folder is read once, and comes to its end",
    async (pattern) => {
      using _ = home();
      fs.mkdirSync(file("rules"));
      place.write("rules/own.yaml", ruleOf("Own"));
      fs.symlinkSync(".", file("rules/again"));
      fs.symlinkSync("round", file("rules/round"));
      place.write("config.yaml", configuration().replace("./mine.yaml", `"${pattern}"`));
      expect(await check()).toMatchObject({ status: 0 });
    },
  );
});
