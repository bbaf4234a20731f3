/** `start`, `simulate` and `wallet` as processes on real sockets: their start, log and end. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../src/history/index.ts";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { startProgram } from "../support/program.ts";
import { type Desk, desk, plainConfig, run, runProcess } from "./run.ts";

let simulator: Simulator;
let keys: Desk;
beforeAll(async () => {
  keys = desk();
  simulator = await startSimulator({ port: 0, traders: 1, walk: false, keysDir: keys.folder });
});
afterAll(async () => {
  await simulator.stop();
  keys[Symbol.dispose]();
});

/** A folder with a configuration that watches the simulator's trader. */
function home(more = ""): Desk {
  const place = desk();
  place.write("config.yaml", configuration(more));
  return place;
}

function configuration(more: string): string {
  return [
    `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
    `wallets: [ { name: main, keyFile: ${simulator.traders[0]!.keyFile} } ]`,
    "channels: { here: { type: console } }",
    "history: { path: ./p }",
    "dashboard: { listen: off }",
    more,
    "",
  ].join("\n");
}

interface DaemonReply {
  readonly watch: { readonly wallets: readonly { readonly signedIn: boolean }[] };
}

describe("start", () => {
  test("logs JSON lines to stderr, answers questions, stops cleanly on SIGTERM", async () => {
    using place = home();
    await using daemon = startProgram(["start"], place);
    await daemon.line((line) => line.includes("signed in by message"));
    // The line is printed before the engine has taken the sign-in.
    const status = async () => (await run(["status", "--json"], place)).json() as DaemonReply;
    let reply = await status();
    while (reply.watch.wallets[0]?.signedIn !== true) reply = await status();
    expect(reply).toMatchObject({
      ...{ running: true, state: "running" },
      watch: { wallets: [{ name: "main", signedIn: true }] },
    });
    expect((await run(["wallet", "list", "--json"], place)).json()).toMatchObject({
      running: true,
      wallets: [{ name: "main", signedIn: true, session: "signed in by message" }],
    });
    for (const [words, said] of [
      [["wallet", "login", "mian"], "no wallet is called mian (did you mean main?); configured: main"],
      [["channels", "test", "her"], "no channel is called her (did you mean here?); configured: here"],
    ] as const)
      expect(await run(words, place)).toMatchObject({
        status: 2,
        stdout: "",
        stderr: `perpwatch: ${said}\n`,
      });
    const second = await runProcess(["start"], place);
    expect(second.status).toBe(1);
    expect(second.stderr.trimEnd().split("\n").at(-1)).toMatch(/^perpwatch: .*another perpwatch/);
    expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
    const lines = daemon.stderr.map(
      (line) => JSON.parse(line) as { level: string; time: string; msg: string },
    );
    for (const line of lines) {
      expect(line.level).toMatch(/^(info|warn)$/);
      expect(new Date(line.time).toISOString()).toBe(line.time);
    }
    expect(lines.at(-2)!.msg).toBe("SIGTERM: stopping");
    expect(lines.at(-1)!.msg).toMatch(
      /^stopped after [\d.]+m?s; all that was seen is stored, nothing is pending$/,
    );
    // No line contains the key or a signed login.
    const keyFile = readFileSync(simulator.traders[0]!.keyFile!, "utf8").trim();
    const all = [...daemon.stderr, ...daemon.stdout].join("\n");
    expect(all).not.toContain(keyFile.slice(1, 60));
    expect(all).not.toMatch(/eyJ[\w-]{10,}/);
    expect((await run(["status"], place)).stderr).toMatch(/^the daemon is not running/);
  });

  test("SIGHUP applies a valid configuration, and reports the mistakes of an invalid one", async () => {
    using place = home();
    await using daemon = startProgram(["start"], place);
    await daemon.line((line) => line.includes("watching main"));
    const rulesNow = async () =>
      ((await run(["status", "--json"], place)).json() as { watch: { rules: number } }).watch.rules;
    const before = await rulesNow();
    place.write(
      "config.yaml",
      configuration('rules: ["shipped:margin"]\nremind: { warning: never }\nrouting: { receivers: [here] }')
        .replace("requestsPerSecond: 1000", "requestsPerSecond: 999")
        .replace("name: main,", "name: main, labels: { desk: a },")
        .replace("here: { type: console }", "here: { type: console }, spare: { type: console }"),
    );
    void daemon.end("SIGHUP");
    expect(await daemon.line((line) => line.includes("read ./config.yaml again"))).toMatch(
      /SIGHUP: read \.\/config\.yaml again; taken: rules, remind\.warning"/,
    );
    expect(await daemon.line((line) => line.includes("until a restart"))).toMatch(
      /SIGHUP: changed, and as before until a restart: exchange\.requestsPerSecond, wallets\.main\.labels, channels\.spare \(new\)"/,
    );
    const after = await rulesNow();
    expect(after).toBeGreaterThan(0);
    expect(after).toBeLessThan(before);
    place.write("config.yaml", configuration("rules: [gone.yaml]"));
    void daemon.end("SIGHUP");
    const line = await daemon.line((one) => one.includes("is not taken"));
    expect(line).toMatch(/goes on as it was; 1 mistake in the configuration/);
    await daemon.line((one) => /SIGHUP: .*gone\.yaml/.test(one));
    expect(await rulesNow()).toBe(after);
    expect(await daemon.end("SIGINT")).toEqual({ status: 0, signal: null });
  });

  test("a daemon that hangs counts as running", async () => {
    using place = home();
    await using daemon = startProgram(["start"], place);
    await daemon.line((line) => line.includes("watching main"));
    void daemon.end("SIGSTOP");
    const [second, checked] = await Promise.all([
      runProcess(["start"], place),
      run(["check", "--json"], place),
    ]);
    expect(second.status).toBe(1);
    expect(second.stderr).toMatch(/^perpwatch: another perpwatch \(process \d+\) runs with .*stop it first/);
    expect(checked.json()).toMatchObject({ ok: true, running: true });
  }, 60_000);

  test("a second signal ends it at once", async () => {
    using place = home();
    // A stop waits for a sign-in in progress for some seconds.
    await simulator.call("fault", { path: "/v1/auth/*", delayMs: 60_000 });
    try {
      await using daemon = startProgram(["start"], place);
      await daemon.line((line) => line.includes("watching main"));
      void daemon.end("SIGTERM");
      await daemon.line((line) => line.includes("SIGTERM: stopping"));
      // The same signal within a second comes from the process group and does not count.
      void daemon.end("SIGTERM");
      expect(await daemon.end("SIGINT")).toEqual({ status: 130, signal: null });
      expect(daemon.stderr.join("\n")).toContain("SIGINT again: ending at once");
    } finally {
      simulator.faults.clear();
    }
  });

  test("a database that cannot be is refused at its line, before anything is started", async () => {
    using place = desk();
    place.write("file", "no folder");
    const wrong: [command: string, name: string, why: RegExp][] = [
      // A folder that nobody can create: it must not be tried forever.
      ["start", "/proc/no/p.db", /the folder \/proc\/no does not exist and cannot be made.*\(E[A-Z]+\)/],
      ["check", "/proc/no/p.db", /the folder \/proc\/no does not exist and cannot be made.*\(E[A-Z]+\)/],
      ["check", "./file/p.db", /a part of this path is a file, not a folder/],
      ["check", ".", /is a folder: name a file in it/],
      ["check", `./${"long/".repeat(20)}p.db`, /is too long: the socket beside it may have 103 bytes/],
    ];
    const tried = wrong.map(async ([command, name, why], index) => {
      place.write(`${index}.yaml`, plainConfig.replace("./perpwatch", name));
      const ran = await run([command, "--config", `${index}.yaml`], place);
      expect(ran, `${command} ${name}`).toMatchObject({ status: 2, stdout: "" });
      expect(ran.stderr).toMatch(
        /^perpwatch: 1 mistake in the configuration\n\d\.yaml:5:18: history\.path: /,
      );
      expect(ran.stderr).toMatch(why);
    });
    await Promise.all(tried);
    expect(readdirSync(place.folder).filter((name) => !name.endsWith(".yaml"))).toEqual(["file"]);
  });

  test("check describes the state of the database, and changes nothing", async () => {
    using place = desk();
    place.write("config.yaml", plainConfig.replace("./perpwatch", "./a/b/p.db"));
    expect((await run(["check"], place)).stdout).toMatch(
      /^database: \/.*\/a\/b\/p\.db \(will be made, with its folder\)$/m,
    );
    expect(readdirSync(place.folder)).toEqual(["config.yaml"]);
  });

  test("the daemon watches although another program uses the page's address", async () => {
    using place = home();
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const { port } = taken.address() as AddressInfo;
    place.write("config.yaml", configuration("").replace("listen: off", `listen: 127.0.0.1:${port}`));
    const checked = await run(["check", "--json"], place);
    await using daemon = startProgram(["start"], place);
    expect(await daemon.line((line) => line.includes("another program listens there"))).toMatch(
      /dashboard\.listen 127\.0\.0\.1:\d+: another program.*once its address can be had/,
    );
    await daemon.line((line) => line.includes("signed in by message"));
    await new Promise((resolve) => taken.close(resolve));
    expect(checked.json()).toMatchObject({
      ok: true,
      warnings: [
        { line: 5, path: "dashboard.listen", message: expect.stringMatching(/another program/) as string },
      ],
    });
  });

  test.each([
    ["while it asks what time it is there", "/v1/view/exchange/status"],
    ["while a wallet signs in", "/v1/auth/*"],
  ])("SIGTERM ends it %s", async (_, where) => {
    using place = home();
    const delayMs = 60_000;
    await simulator.call("fault", { path: where, delayMs, times: 1_000 });
    try {
      const before = simulator.requests.query(where).count;
      await using daemon = startProgram(["start"], place);
      await expect
        .poll(() => simulator.requests.query(where).count, { timeout: 20_000 })
        .toBeGreaterThan(before);
      const sinceMs = performance.now();
      expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
      // Earlier than any answer, on a machine of any load.
      expect(performance.now() - sinceMs).toBeLessThan(delayMs);
    } finally {
      simulator.faults.clear();
    }
  });

  test("mistakes keep it from starting anything", async () => {
    using place = desk();
    place.write("config.yaml", plainConfig.replace("type: console", "type: pigeon"));
    const ran = await runProcess(["start"], place);
    expect(ran).toMatchObject({ status: 2, stdout: "" });
    expect(ran.stderr).toMatch(/config\.yaml:4:\d+: channels\.here\.type: .*pigeon/);
    expect(existsSync(path.join(place.folder, "perpwatch"))).toBe(false);
  });
});

describe("simulate", () => {
  test("prints one JSON line when it is ready, and ends on SIGTERM", async () => {
    using place = desk();
    await using program = startProgram(
      [
        "simulate",
        "--port",
        "0",
        "--seed",
        "3",
        "--speed",
        "0",
        "--walk",
        "off",
        "--traders",
        "2",
        "--keys-dir",
        "keys",
      ],
      place,
    );
    const ready = JSON.parse(await program.line(() => true)) as {
      url: string;
      traders: { keyFile: string }[];
    };
    expect(ready.traders).toHaveLength(2);
    expect(statSync(path.resolve(place.folder, ready.traders[0]!.keyFile)).mode & 0o777).toBe(0o600);
    const status = await fetch(`${ready.url}/v1/view/exchange/status`);
    expect(status.ok).toBe(true);
    // Its port is taken now.
    const again = await run(["simulate", "--port", new URL(ready.url).port], place);
    expect(again.status).toBe(1);
    expect(again.stderr).toMatch(
      /^perpwatch: 127\.0\.0\.1:\d+: another program listens there; give --port another port, or port 0 for a free one\n$/,
    );
    expect(await program.end("SIGTERM")).toEqual({ status: 0, signal: null });
    expect(program.stdout).toHaveLength(1);
  });

  test("refuses a scenario that is none", async () => {
    using place = desk();
    place.write("story.yaml", "- { at: soon, call: mark-price }\n");
    const ran = await run(["simulate", "--port", "0", "--scenario", "story.yaml"], place);
    expect(ran).toMatchObject({ status: 2, stdout: "" });
    expect(ran.stderr).toMatch(/story\.yaml/);
  });
});

describe("wallet", () => {
  test("new makes a key file that only its owner can read, and overwrites none", async () => {
    using place = desk();
    const ran = await run(["wallet", "new", "keys/desk.json", "--json"], place);
    expect(ran.status).toBe(0);
    const { keyFile, authority } = ran.json() as { keyFile: string; authority: string };
    const file = path.join(place.folder, keyFile);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
    const text = readFileSync(file, "utf8");
    expect(JSON.parse(text)).toHaveLength(64);
    const again = await run(["wallet", "new", "keys/desk.json"], place);
    expect(again).toMatchObject({ status: 1, stdout: "" });
    expect(again.stderr).toMatch(/^perpwatch: keys\/desk\.json exists already and is not overwritten\n$/);
    expect(readFileSync(file, "utf8")).toBe(text);
    // It is what a configuration takes.
    place.write(
      "config.yaml",
      `wallets: [ { name: desk, keyFile: keys/desk.json } ]\nchannels: { here: { type: console } }\n`,
    );
    const listed = await run(["wallet", "list"], place);
    expect(listed.stdout).toMatch(
      new RegExp(`^desk +${authority} +in a key file +the daemon is not running$`, "m"),
    );
  });

  test("list shows the places of keys, and accounts other than the first", async () => {
    using place = desk();
    const [main] = simulator.traders;
    const watched = "8Xk4b2nUo7QwqVf3mT1pZr6cYh5dLs9eJg2aNu4iRt7K";
    const config = (accounts: string) =>
      place.write(
        "config.yaml",
        [
          `wallets: [ { name: main, keyFile: ${main!.keyFile}${accounts} }, { name: other, authority: ${watched} } ]`,
          "channels: { here: { type: console } }",
          "",
        ].join("\n"),
      );
    config("");
    const { stdout } = await run(["wallet", "list"], { ...place, columns: 200 });
    const down = "the daemon is not running";
    expect(stdout.split("\n").map((line) => line.trim().split(/ {2,}/))).toEqual([
      ["NAME", "AUTHORITY", "KEY", "SESSION"],
      ["main", main!.authority, "in a key file", down],
      ["other", watched, "none: watch-only", "none needed"],
      [""],
      ["2 wallets"],
      [""],
    ]);
    config(", accounts: { pdaIndices: [0, 3] }");
    const more = (await run(["wallet", "list"], { ...place, columns: 200 })).stdout;
    expect(more).toMatch(/^NAME +AUTHORITY +KEY +ACCOUNTS +SESSION$/m);
    expect(more).toMatch(/ in a key file +0, 3 +the daemon/);
  });

  test("import reads a secret from standard input and does not print it", async () => {
    using place = desk();
    const secret = readFileSync(simulator.traders[0]!.keyFile!, "utf8");
    const ran = await run(["wallet", "import", "main.json"], { ...place, input: secret });
    expect(ran.status).toBe(0);
    expect(ran.stdout).toContain(simulator.traders[0]!.authority);
    expect(ran.stdout + ran.stderr).not.toContain(secret.slice(1, 40));
    expect(JSON.parse(readFileSync(path.join(place.folder, "main.json"), "utf8"))).toEqual(
      JSON.parse(secret),
    );
    expect(ran.stderr).toBe("");
    // An address has the length of a seed.
    const address = simulator.traders[0]!.authority;
    const seed = await run(["wallet", "import", "seed.json"], { ...place, input: address });
    expect(seed).toMatchObject({ status: 0, stderr: expect.stringContaining("name it by authority:") });
    const bad = await run(["wallet", "import", "bad.json"], { ...place, input: "5Jnotakeyatall" });
    expect(bad).toMatchObject({ status: 1, stdout: "" });
    expect(bad.stderr).not.toContain("notakey");
    expect(existsSync(path.join(place.folder, "bad.json"))).toBe(false);
  });

  test("import reads 64 KiB of standard input at most, and so does page password", async () => {
    using place = desk();
    const input = `${"x".repeat(1_000_000)}\n`;
    for (const command of [
      ["wallet", "import", "main.json"],
      ["page", "password"],
    ])
      expect(await runProcess(command, { ...place, input })).toMatchObject({
        ...{ status: 2, stdout: "" },
        stderr: expect.stringContaining("more than 64 KiB came over standard input"),
      });
    expect(existsSync(path.join(place.folder, "main.json"))).toBe(false);
  });

  test("login and logout work without a daemon: the next start finds the session", async () => {
    using place = home("# nothing more");
    const stored = async () => {
      const store = openStore({ path: path.join(place.folder, "p"), readonly: true });
      const sealed = await store.load("main");
      await store.close();
      return sealed;
    };
    const login = await run(["wallet", "login", "main"], place);
    expect(login).toMatchObject({ status: 0, stderr: "" });
    expect(login.stdout).toBe("main: signed in by message; the daemon goes on with this session\n");
    const sealed = await stored();
    expect(sealed?.length).toBeGreaterThan(100);
    // Sealed: no token can be read in it.
    expect(Buffer.from(sealed!).toString("latin1")).not.toContain("eyJ");
    expect(await run(["wallet", "logout", "main"], place)).toMatchObject({
      status: 0,
      stdout: "main: signed out\n",
    });
    expect(await stored()).toBeNull();
    expect(await run(["wallet", "login", "nobody"], place)).toMatchObject({
      status: 2,
      stderr: "perpwatch: no wallet is called nobody; configured: main\n",
    });
  });
});

test("channels test works without a daemon", async () => {
  using place = desk();
  place.write("config.yaml", plainConfig);
  const ran = await run(["channels", "test", "here"], place);
  expect(ran.status).toBe(0);
  expect(ran.stdout).toMatch(/^perpwatch test message: this channel works\n/);
  expect(ran.stdout).toMatch(/here took the test message of this command: written\n$/);
  const json = await run(["channels", "test", "here", "--json"], place);
  expect(json.json()).toMatchObject({ channel: "here", kind: "delivered" });
  expect(await run(["channels", "test", "nope"], place)).toMatchObject({ status: 2, stdout: "" });
});
