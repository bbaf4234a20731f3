/** The page of a daemon as a process: its logins, its reload, and a history that accepts no commits. */
import { chmodSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { hashPassword } from "../../src/web/access/password.ts";
import { followLink } from "../support/page.ts";
import { startProgram } from "../support/program.ts";
import { startInTerminal } from "../support/terminal.ts";
import { secured } from "../support/tls.ts";
import { freePort } from "../web/open.ts";
import { type Desk, desk, run } from "./run.ts";

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

const configuration = (dashboard: string, more = "") =>
  [
    `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
    `wallets: [ { name: main, keyFile: ${simulator.traders[0]!.keyFile} } ]`,
    "channels: { here: { type: console } }",
    "history: { path: ./p }",
    `dashboard: ${dashboard}`,
    more,
    "",
  ].join("\n");

const fixture = (name: string) => readFileSync(new URL(`../web/fixtures/${name}`, import.meta.url), "utf8");

test("without a terminal the log names the command for a link, and contains no link", async () => {
  using place = desk();
  place.write("config.yaml", configuration("{ listen: 127.0.0.1:0 }"));
  await using daemon = startProgram(["start"], place);
  const line = await daemon.line((one) => one.includes("to log in to the status page"));
  const { msg } = JSON.parse(line) as { msg: string };
  const words = /^to log in to the status page, ask for a link: node \S+ (page)$/.exec(msg)?.[1];
  const link = (await run([words!], place)).stdout.trim();
  const headers = await followLink(link);
  expect((await fetch(`${new URL(link).origin}/api/v1/status`, { headers })).status).toBe(200);
  expect([...daemon.stdout, ...daemon.stderr].join()).not.toMatch(/login=|perpwatch_session/);
});

test("on a terminal it prints a link that logs in", async () => {
  using place = desk();
  place.write("config.yaml", configuration("{ listen: 127.0.0.1:0 }"));
  await using terminal = startInTerminal(["start"], place);
  const line = await terminal.line((one) => one.includes("/#login="));
  const link = /http:\S+/.exec(line)![0];
  const headers = await followLink(link);
  expect((await fetch(`${new URL(link).origin}/api/v1/status`, { headers })).status).toBe(200);
});

test.each<[string, string, (place: Desk) => void, RegExp]>([
  [
    "plain HTTP beyond this machine",
    "{ listen: 0.0.0.0:8787 }",
    () => {},
    /dashboard\.listen: 0\.0\.0\.0 is beyond this machine/,
  ],
  ["a key that is missing", "TLS", () => {}, /dashboard\.tls\.keyFile: .*c\.key does not exist/],
  [
    "half of a key",
    "TLS",
    (place) => place.write("c.key", fixture("first-test-only.key").slice(0, 200)),
    /dashboard\.tls\.key: expected a private key in PEM/,
  ],
  [
    "a key that others can read",
    "TLS",
    (place) => {
      place.write("c.key", fixture("first-test-only.key"));
      chmodSync(path.join(place.folder, "c.key"), 0o644);
    },
    /dashboard\.tls\.keyFile: .*can be read by others.*chmod 600/,
  ],
  [
    "a variable that is not set",
    `{ listen: 127.0.0.1:0, passwordHash: "\${PAGE_PASSWORD}" }`,
    () => {},
    /the environment variable PAGE_PASSWORD is not set/,
  ],
  ["a key of the section that is none", "{ listn: 127.0.0.1:0 }", () => {}, /dashboard.*listn/],
])("a page with mistakes is off, and the monitoring begins: %s", async (_what, section, prepare, told) => {
  using place = desk();
  place.write("c.crt", fixture("first-test-only.crt"));
  prepare(place);
  const tls = "{ listen: 127.0.0.1:0, tls: { certFile: c.crt, keyFile: c.key } }";
  place.write("config.yaml", configuration(section.replace("TLS", tls)));
  await using daemon = startProgram(["start"], place);
  const line = await daemon.line((one) => told.test(one));
  expect(JSON.parse(line)).toMatchObject({ level: "error", msg: expect.stringMatching(told) });
  const off = await daemon.line((one) => one.includes("the status page is off"));
  expect(JSON.parse(off)).toMatchObject({ level: "error" });
  const { msg } = JSON.parse(await daemon.line((one) => one.includes("watching main"))) as { msg: string };
  expect(msg).not.toContain("status page");
  expect(await run(["status"], place)).toMatchObject({ stdout: expect.stringContaining("main") });
  expect((await run(["page"], place)).stderr).toMatch(/there is no page: .*log says what is wrong/);

  place.write("config.yaml", configuration("{ listen: 127.0.0.1:0 }"));
  void daemon.end("SIGHUP");
  await daemon.line((one) => one.includes("as before until a restart: dashboard"));
  expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
});

test("a page with mistakes beside others is one more of them", async () => {
  using place = desk();
  place.write("config.yaml", configuration("{ listen: 0.0.0.0:8787 }", "remind: { every: never }"));
  const refused = await run(["start"], place);
  expect([refused.status, refused.stderr]).toEqual([2, expect.stringMatching(/dashboard\.listen/)]);
  expect(refused.stderr).toContain("remind");
});

test("what a program changes over TCP is a line in the log, with the name of its token", async () => {
  using place = desk();
  const port = await freePort();
  place.write("config.yaml", configuration(`{ listen: 127.0.0.1:${port} }`));
  await using daemon = startProgram(["start"], place);
  await daemon.line((one) => one.includes("watching main"));
  const token = (await run(["token", "new", "pager", "--rights", "act"], place)).stdout.trim();
  const reply = await fetch(`http://127.0.0.1:${port}/api/v1/alerts/57/ack`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: "{}",
  });
  const line = await daemon.line((one) => one.includes("a program acted"));
  expect(JSON.parse(line)).toMatchObject({ by: "pager", method: "POST", status: reply.status });
  expect(line).not.toContain(token);
});

test("SIGHUP takes a renewed certificate and a password; with bad files it goes on as it was", async () => {
  using place = desk();
  const port = await freePort();
  const section = (more = "") =>
    `{ listen: 127.0.0.1:${port}, tls: { certFile: c.crt, keyFile: c.key }${more} }`;
  const files = (cert: string, key = cert) => {
    place.write("c.crt", fixture(`${cert}-test-only.crt`));
    place.write("c.key", fixture(`${key}-test-only.key`));
  };
  files("first");
  place.write("config.yaml", configuration(section()));
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) => line.includes("watching main"));
  const isServed = async (name: string) => (await secured(port, fixture(`${name}-test-only.crt`))).destroy();
  await isServed("first");

  files("second", "first");
  void daemon.end("SIGHUP");
  await daemon.line((line) => line.includes("is not taken, the daemon goes on as it was"));
  await daemon.line((line) => line.includes("dashboard.tls.key: is not the key of this certificate"));
  await isServed("first");

  files("second");
  place.write(
    "config.yaml",
    configuration(section(`, passwordHash: "${await hashPassword("correct horse battery")}"`)),
  );
  void daemon.end("SIGHUP");
  await daemon.line((line) => line.includes("again; taken: dashboard.passwordHash, dashboard.tls"));
  await isServed("second");

  place.write("config.yaml", configuration(`{ listen: 127.0.0.1:${port}, login: never }`));
  void daemon.end("SIGHUP");
  await daemon.line((line) => line.includes("as before until a restart: dashboard.login, dashboard.tls"));
  await isServed("second");
  expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
});

test("while another process holds the database, logging in and watching go on", async () => {
  using place = desk();
  place.write(
    "config.yaml",
    configuration("{ listen: 127.0.0.1:0 }", "schedules: { traderState: { every: 1s } }"),
  );
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) => line.includes("watching main"));
  const link = (await run(["page"], place)).stdout.trim();
  const other = new Database(path.join(place.folder, "p"));
  try {
    other.exec("BEGIN IMMEDIATE");
    const headers = await followLink(link);
    const { origin } = new URL(link);
    expect((await fetch(`${origin}/api/v1/status`, { headers })).status).toBe(200);
    expect(await (await fetch(`${origin}/healthz`)).json()).toEqual({ alive: true });
    expect((await run(["status", "--json"], place)).json()).toMatchObject({ running: true });
  } finally {
    other.close();
  }
});

test("page password writes its hash into a file, and names the command that makes the running daemon read it", async () => {
  using place = desk();
  place.write("config.yaml", configuration("{ listen: 127.0.0.1:0 }"));
  await using daemon = startProgram(["start"], place);
  await daemon.line((line) => line.includes("signed in by message"));
  const origin = new URL((await run(["page"], place)).stdout.trim()).origin;
  const login = async (password: string) => {
    const headers = { "content-type": "application/json", origin };
    const body = JSON.stringify({ password });
    return (await fetch(`${origin}/api/v1/session`, { method: "POST", headers, body })).status;
  };
  for (const [count, password] of ["correct horse battery", "another horse battery"].entries()) {
    const made = await run(["page", "password", "--file", "./page-password"], { ...place, input: password });
    expect(made).toMatchObject({ status: 0, stdout: "passwordHashFile: ./page-password\n" });
    expect(statSync(path.join(place.folder, "page-password")).mode & 0o777).toBe(0o600);
    place.write("config.yaml", configuration(`\n  listen: 127.0.0.1:0\n  ${made.stdout}`));
    const [, pid] = /have the daemon read it again: kill -HUP (\d+):/.exec(made.stderr)!;
    expect(Number(pid)).toBe(daemon.pid);
    process.kill(Number(pid), "SIGHUP");
    const read = () => daemon.stderr.filter((line) => /SIGHUP: read .*taken: dashboard\.password/.test(line));
    await daemon.line(() => read().length > count);
    expect(await login(password)).toBe(200);
  }
  expect(await login("correct horse battery")).toBe(401);
  expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
  const alone = await run(["page", "password"], { ...place, input: "correct horse battery" });
  expect(alone.stderr).toContain("then start the daemon, or have the running one read it again (SIGHUP):");
}, 60_000);
