/** `perpwatch page` and `perpwatch token`, as docs/page.md has them. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import path from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import type { Cli } from "../../src/cli/command.ts";
import { runCommand } from "../../src/cli/main.ts";
import { isPassword, parsePasswordHash } from "../../src/web/access/password.ts";
import { startInTerminal } from "../support/terminal.ts";
import { cookieOf, type OpenOptions, openDashboard } from "../web/open.ts";
import { type Desk, desk, plainConfig, run, runProcess } from "./run.ts";

const docs = readFileSync(new URL("../../docs/page.md", import.meta.url), "utf8");

async function opened(options: OpenOptions = {}) {
  const daemon = await openDashboard({}, options);
  const place = desk();
  const database = daemon.socketPath.replace(/\.sock$/, "");
  place.write(
    "config.yaml",
    `history: { path: ${database} }\nchannels: { here: { type: console } }\nwallets: []\n`,
  );
  return {
    ...daemon,
    run: (...words: string[]) => run(words, place),
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]();
      place[Symbol.dispose]();
    },
  };
}

const linkOf = (url: string) => ({ "perpwatch-link": new URL(url.trim()).hash.replace("#login=", "") });

test("every command of docs/page.md works", async () => {
  await using daemon = await opened();
  const blocks = [...docs.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text!.trim().split("\n"));
  const lines = blocks.flat().map((line) => line.replace(/^perpwatch /, "").split(" "));
  expect(lines.length).toBeGreaterThan(4);
  for (const words of lines) expect([words, (await daemon.run(...words)).status]).toEqual([words, 0]);
});

test("page prints a link that logs in once; page logout ends what began so", async () => {
  await using daemon = await opened();
  const printed = await daemon.run("page");
  expect(printed).toMatchObject({ status: 0, stderr: "This link logs in once, within 10 minutes:\n" });
  expect(printed.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#login=[\w-]{43}\n$/);
  const post = { method: "POST", headers: linkOf(printed.stdout) };
  const cookie = cookieOf(await daemon.overTcp("/api/v1/session", post));
  const status = async () => (await daemon.overTcp("/api/v1/status", { headers: { cookie } })).status;
  expect(await status()).toBe(200);
  expect((await daemon.overTcp("/api/v1/session", post)).status).toBe(401);
  expect((await daemon.run("page", "logout")).stdout).toBe("1 session ended\n");
  expect(await status()).toBe(401);
  const json = (await daemon.run("page", "--json")).json() as { url: string; expiresMs: number };
  expect(json).toEqual({ url: expect.stringContaining("#login="), expiresMs: expect.any(Number) });
});

test("page reports that no login is needed", async () => {
  await using daemon = await opened({ listen: { login: "never" } });
  const { stdout, stderr } = await daemon.run("page");
  expect([stdout, stderr]).toEqual([`${daemon.url}\n`, "The page needs no login:\n"]);
});

test("tokens: made once for a name, listed without their secret, revoked", async () => {
  await using daemon = await opened();
  const made = await daemon.run("token", "new", "grafana");
  expect(made.stdout).toMatch(/^[\w-]{43}\n$/);
  expect(made.stderr).toBe("token grafana, to read, until it is revoked. It is shown this once:\n");
  const authorization = `Bearer ${made.stdout.trim()}`;
  const status = async () => (await daemon.overTcp("/api/v1/status", { headers: { authorization } })).status;
  expect(await status()).toBe(200);
  const acting = (
    await daemon.run("token", "new", "pager", "--rights", "act", "--expires", "90d", "--json")
  ).json() as { token: string; expiresMs: number };
  expect(acting).toMatchObject({ name: "pager", rights: "act", token: expect.stringMatching(/^[\w-]{43}$/) });

  const again = await daemon.run("token", "new", "grafana");
  expect(again).toMatchObject({
    status: 1,
    stderr:
      "perpwatch: there is a token grafana already: give this one another name, or revoke that one first (perpwatch token revoke grafana)\n",
  });
  const list = await daemon.run("token", "list");
  expect(list.stdout).toMatch(/grafana +read/);
  expect(list.stdout).toMatch(/pager +act/);
  expect(list.stdout + (await daemon.run("token", "--json")).stdout).not.toContain(made.stdout.trim());

  expect((await daemon.run("token", "revoke", "grafana")).stdout).toBe("grafana is revoked\n");
  expect(await status()).toBe(401);
  expect(await daemon.run("token", "revoke", "grafana")).toMatchObject({
    status: 1,
    stderr: "perpwatch: no token is called grafana\n",
  });
  expect(await daemon.run("token", "new", "bad name")).toMatchObject({
    status: 2,
    stderr:
      'perpwatch: "bad name" will not do: a token\'s name has letters, digits, ., _ and -, at most 64, such as grafana or night-pager\n',
  });
  expect((await daemon.run("token", "new", "x", "--rights", "all")).status).toBe(2);
});

test("check refuses a page that others could read on its way; check names one that needs no login", async () => {
  using place = desk();
  const write = (dashboard: string) =>
    place.write("config.yaml", plainConfig.replace(/^dashboard:.*$/m, `dashboard: ${dashboard}`));
  write("{ listen: 0.0.0.0:8787, allowedHosts: [watch.example.org] }");
  const refused = await run(["check"], place);
  expect([refused.status, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/config\.yaml:6:22: dashboard\.listen: 0\.0\.0\.0 is beyond this machine/),
  ]);
  write("{ listen: 127.0.0.1:0, login: never }");
  const open = await run(["check"], place);
  expect([open.status, open.stdout]).toEqual([
    0,
    expect.stringMatching(
      /status page: on 127\.0\.0\.1, .*, open to all users of this machine\n[\s\S]*warning: .*with never, every user/,
    ),
  ]);
  write("{ listen: 127.0.0.1:0, behindProxy: true, allowedHosts: [watch.example.org] }");
  expect((await run(["check"], place)).stdout).toContain("behind a proxy, called watch.example.org");
});

describe("without a running daemon", () => {
  test.each([["page"], ["page logout"], ["token list"], ["token new x"], ["token revoke x"]])(
    "%s says how to start it",
    async (words) => {
      using place = desk();
      place.write("config.yaml", plainConfig);
      const { status, stderr } = await run(words.split(" "), place);
      expect([status, stderr]).toEqual([
        1,
        expect.stringMatching(/the daemon is not running .*: start it with .* start/),
      ]);
    },
  );

  test("a daemon without a page reports that", async () => {
    await using daemon = await opened();
    await daemon.dashboard.stop();
    expect((await daemon.run("page")).stderr).toMatch(/the daemon is not running/);
  });
});

describe("page password", () => {
  test("prints the hash of what it reads, and nothing of the password", async () => {
    const { status, stdout, stderr } = await run(["page", "password"], { input: "correct horse battery\n" });
    expect(status).toBe(0);
    const [, text] = /^passwordHash: "(scrypt\$.*)"\n$/.exec(stdout) ?? [];
    const hash = parsePasswordHash(text!)!;
    expect(await isPassword("correct horse battery", hash)).toBe(true);
    expect(await isPassword("correct horse batterY", hash)).toBe(false);
    expect(stdout + stderr).not.toContain("correct horse");
    const second = await run(["page", "password"], { input: "correct horse battery" });
    expect(second.stdout).not.toBe(stdout);
  });

  test.each([
    ["short", /a password has 12 to 1024 characters/],
    ["", /a password has 12/],
    ["correct horse battery\ncorrect horse bottery\n", /the two are not the same/],
  ])("%j is refused", async (input, told) => {
    const { status, stdout, stderr } = await run(["page", "password"], { input });
    expect([status, stdout, stderr]).toEqual([2, "", expect.stringMatching(told)]);
  });

  test("one that is too short is refused before it is asked for again", async () => {
    using place = desk();
    await using terminal = startInTerminal(["page", "password"], place);
    await terminal.shown("New password (not shown): ");
    terminal.type("short\r");
    await terminal.line((line) => line.includes("a password has 12 to 1024 characters"));
    expect(await terminal.status).toBe(2);
    expect(terminal.lines.join()).not.toMatch(/Once more|short$/);
  });

  test("on a terminal it asks twice, and shows nothing of what is typed", async () => {
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
    const texts = { out: "", err: "" };
    const stream = (name: "out" | "err") =>
      Object.assign(
        new PassThrough().on("data", (part: Buffer) => {
          texts[name] += part;
        }),
        { isTTY: true },
      );
    const cli = {
      ...{ in: input, out: stream("out"), err: stream("err"), env: {}, status: 0 },
    } as unknown as Cli;
    // Both lines at once, as if pasted.
    input.write("correct horse battery\rcorrect horse battery\r");
    await runCommand(["page", "password"], cli);
    expect(cli.status).toBe(0);
    expect(texts.out).toMatch(/^passwordHash: "scrypt/);
    expect(texts.err).toMatch(/^New password \(not shown\): \nOnce more: \n/);
    expect(texts.out + texts.err).not.toContain("horse");
  });

  const password = "correct horse battery\n";

  test("writes a new file, and replaces one that holds a hash alone", async () => {
    using place = desk();
    const file = path.join(place.folder, "page-password");
    for (const _ of [1, 2]) {
      const before = statSync(file, { throwIfNoEntry: false }) && readFileSync(file, "utf8");
      const ran = await run(["page", "password", "--file", "page-password"], { ...place, input: password });
      expect(ran).toMatchObject({ status: 0, stdout: "passwordHashFile: page-password\n" });
      const text = readFileSync(file, "utf8");
      expect(text).not.toBe(before);
      expect(await isPassword(password.trim(), parsePasswordHash(text.trim())!)).toBe(true);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }
  });

  const hash = `scrypt$32768$8$3$${"a".repeat(22)}$${"b".repeat(43)}\n`;
  const other =
    /^perpwatch: \S*\/there holds something else than the hash of a password, and is not replaced/;
  const noFile = /^perpwatch: \S*\/there is no regular file, and is not replaced/;

  test.each<[string, (at: Desk) => void, RegExp]>([
    ["a key file", (at) => at.write("there", `[${Array(64).fill(7).join(",")}]\n`), other],
    [
      "a configuration that has a hash",
      (at) => at.write("there", `dashboard:\n  passwordHash: "${hash}"`),
      other,
    ],
    ["a hash and more", (at) => at.write("there", `${hash}# mine\n`), other],
    ["two hashes", (at) => at.write("there", `${hash}${hash}`), other],
    ["an empty file", (at) => at.write("there", ""), other],
    ["a large file", (at) => at.write("there", `${hash}${"\n".repeat(100_000)}`), other],
    ["a link to a hash", (at) => link(at, hash), noFile],
    ["a link that leads nowhere", (at) => link(at, null), noFile],
    ["a pipe", (at) => execFileSync("mkfifo", [path.join(at.folder, "there")]), noFile],
    ["a folder", (at) => mkdirSync(path.join(at.folder, "there")), noFile],
  ])("does not replace %s, and asks for no password", async (_, write, told) => {
    using place = desk();
    write(place);
    const before = execFileSync("ls", ["-lR", place.folder], { encoding: "utf8" });
    // The password would be refused, too.
    const ran = await run(["page", "password", "--file", "there"], { ...place, input: "short" });
    expect(ran).toMatchObject({ status: 2, stdout: "", stderr: expect.stringMatching(told) });
    const ranWhole = await run(["page", "password", "--file", "there"], { ...place, input: password });
    expect(ranWhole).toMatchObject({ status: 2, stderr: expect.stringMatching(told) });
    expect(execFileSync("ls", ["-lR", place.folder], { encoding: "utf8" })).toBe(before);
  });

  test.each<[string, string, RegExp]>([
    [
      "a folder that is missing",
      "gone/page-password",
      /^perpwatch: \S+gone\/page-password cannot be written: there is no folder \S+\/gone\n/,
    ],
    [
      "a file as its folder",
      "config.yaml/page-password",
      /cannot be written: \S+config\.yaml is no folder\n/,
    ],
    ["a device", "/dev/null", /^perpwatch: \/dev\/null is no regular file/],
  ])("names %s, and asks for no password", async (_, file, told) => {
    using place = desk();
    place.write("config.yaml", plainConfig);
    const ran = await run(["page", "password", "--file", file], { ...place, input: "short" });
    expect(ran).toMatchObject({ status: 2, stdout: "", stderr: expect.stringMatching(told) });
  });

  test("names a folder that the user may not write to", async () => {
    using place = desk();
    const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const options = { ...place, input: "short", ...nobody };
    const ran = await runProcess(["page", "password", "--file", "/etc/page-password"], options);
    expect(ran).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/page-password cannot be written: this user may not write to \/etc\n/),
    });
  });
});

/** A symbolic link with the name `there`. @param text of the file that it leads to; null: there is none */
function link(at: Desk, text: string | null): void {
  if (text !== null) at.write("hash", text);
  symlinkSync("hash", path.join(at.folder, "there"));
}
