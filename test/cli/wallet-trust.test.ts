/** `perpwatch wallet trust`: the file of trusted forms, as a person reads and changes it. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { Cli } from "../../src/cli/command.ts";
import { runCommand } from "../../src/cli/main.ts";
import { type KnownForms, noForms } from "../../src/signer/login-forms.ts";
import { type Desk, desk, plainConfig, run } from "./run.ts";

const text = "Sign in to the exchange\nwallet:{address}\nnonce:{nonce}";
const form = `${text}\nnetwork:main`;
const address = "8Xk4b2nUo7QwqVf3mT1pZr6cYh5dLs9eJg2aNu4iRt7K";
const reason = "the login text has another form than the one that was trusted";

function place(
  known: KnownForms | null,
): Desk & { trust(...args: string[]): ReturnType<typeof run>; known(): KnownForms } {
  const it = desk();
  it.write("config.yaml", plainConfig);
  if (known !== null) it.write("login-forms.json", JSON.stringify(known));
  return Object.assign(it, {
    trust: (...args: string[]) => run(["wallet", "trust", ...args], { folder: it.folder }),
    known: () => JSON.parse(readFileSync(path.join(it.folder, "login-forms.json"), "utf8")) as KnownForms,
  });
}

test("shows what was refused beside what was trusted, and accepts it with --yes alone", async () => {
  using it = place({ text, memo: null, refused: [{ kind: "text", form, reason, address }] });
  const asked = await it.trust();
  expect(asked.stdout.split("\n")).toEqual([
    `Refused: ${reason}.`,
    "",
    "Trusted:",
    "   1  Sign in to the exchange",
    "   2  wallet:{address}",
    "   3  nonce:{nonce}",
    "",
    "Now:",
    "   1  Sign in to the exchange",
    "   2  wallet:{address}",
    "   3  nonce:{nonce}",
    "   4  network:main",
    "",
    "{address}, {nonce …} and {time} stand for what differs from login to login.",
    expect.stringMatching(/^Its identifier is [0-9a-f]{64}\.$/),
    "",
  ]);
  expect(asked).toMatchObject({
    status: 2,
    stderr: expect.stringContaining(
      "The new form of the login text was not accepted: nobody can be asked here. Run this in a terminal, or again with --accept ",
    ),
  });
  expect(asked.stderr).not.toMatch(/signed or sent/i);
  expect(it.known().text).toBe(text);
  expect(await it.trust("--yes")).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("Accepted. Wallets sign in within a minute."),
  });
  expect(it.known()).toEqual({ text: form, memo: null, refused: [] });
});

test("as JSON it only shows, unless --yes", async () => {
  using it = place({ text, memo: null, refused: [{ kind: "text", form, reason, address }] });
  expect((await it.trust("--json")).json()).toMatchObject({
    pinned: { text, memo: null },
    refused: [{ kind: "text", form }],
    trusted: false,
  });
  expect((await it.trust("--json", "--yes")).json()).toMatchObject({ trusted: true });
});

const idIn = (said: string): string => /Its identifier is (\w+)/.exec(said)?.[1] ?? "none";

test("without a terminal the form that was shown is accepted by its identifier, and no other", async () => {
  const memo = { kind: "memo", form: "log-in:{nonce}", reason, address } as const;
  using it = place({ text, memo: null, refused: [{ kind: "text", form, reason, address }, memo] });
  const asked = await it.trust();
  const id = idIn(asked.stdout);
  expect(asked.stderr).toMatch(/or again with --accept [0-9a-f]{64}\.\n/);
  expect((await it.trust("--json")).json()).toMatchObject({ refused: [{ id }, { kind: "memo" }] });
  expect(await it.trust("--accept", id, "--yes")).toMatchObject({ status: 2 });
  // Another form of the kind was refused meanwhile.
  const other = { kind: "text", form: `${form}\nmore`, reason, address } as const;
  it.write("login-forms.json", JSON.stringify({ ...it.known(), refused: [other, memo] }));
  for (const more of [[], ["--json"]]) {
    const { status, stdout, stderr } = await it.trust("--accept", id, ...more);
    expect(status).toBe(1);
    expect(stdout + stderr).toMatch(new RegExp(`no refused form has the identifier .*${id}`));
  }
  expect(it.known()).toEqual({ text, memo: null, refused: [other, memo] });
  const { stdout } = await it.trust("--accept", idIn((await it.trust()).stdout));
  expect(stdout).toContain("   5  more\n");
  expect(stdout).not.toContain("log-in");
  expect(stdout).toContain("Accepted.");
  expect(it.known()).toEqual({ text: other.form, memo: null, refused: [memo] });
});

test("a refused memo leaves the trusted text as it is", async () => {
  using it = place({
    text,
    memo: "sign-in:{nonce}",
    refused: [{ kind: "memo", form: "log-in:{nonce}", reason, address }],
  });
  expect((await it.trust("--yes")).stdout).toContain(
    "Trusted:\n   1  sign-in:{nonce}\n\nNow:\n   1  log-in:{nonce}\n",
  );
  expect(it.known()).toEqual({ text, memo: "log-in:{nonce}", refused: [] });
});

test("says what is trusted where nothing was refused", async () => {
  using it = place({ ...noForms, text: "Sign in\n{address} {nonce}" });
  expect(await it.trust()).toMatchObject({
    status: 0,
    stdout: "Wallets sign logins of this form, and no other:\n\n   1  Sign in\n   2  {address} {nonce}\n",
  });
  using fresh = place(null);
  expect((await fresh.trust()).stdout).toBe("No login text is recorded yet.\n");
});

test("writes letters that look like others, and spaces that nobody sees, as their numbers", async () => {
  const refused = {
    kind: "text",
    form: "Sign in to the exchang\u0435  \n\n{address}",
    reason: "it is another",
    address,
  } as const;
  using it = place({ ...noForms, refused: [refused] });
  expect((await it.trust("--json")).status).toBe(0);
  expect((await it.trust("--yes")).stdout.split("\n").slice(0, 6)).toEqual([
    "Refused: it is another.",
    "",
    "Now:",
    "   1  Sign in to the exchang\\u{435}\\u{20}\\u{20}",
    "   2",
    "   3  {address}",
  ]);
});

test("a text that no wallet may sign is shown, escaped, with what to do, and cannot be accepted", async () => {
  const came = `Transfer {all} of it\u202e\u001b[2J\nnonce: 12`;
  const known = {
    text,
    memo: null,
    refused: [{ kind: "text", form: null, reason: "it holds braces\nTrusted", text: came, address }],
  } as const;
  using it = place(known);
  const { status, stdout } = await it.trust("--yes");
  expect(status).toBe(0);
  expect(stdout).toMatch(/^Refused: it holds braces\\nTrusted\.\n/);
  expect(stdout).toContain(
    "\nNow, as it came:\n   1  Transfer {all} of it\\u{202e}\\u{1b}[2J\n   2  nonce: 12\n\nNo wallet may sign such a text: it cannot be accepted.",
  );
  expect(stdout).toContain("check `exchange.baseUrl`");
  expect(it.known()).toEqual(known);
});

/**
 * Runs it at a terminal where a person answers each question.
 * @param answer called at each question, before yes is typed
 */
async function atTerminal(folder: string, answer: (number: number) => string): Promise<string> {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  const [out, err] = [new PassThrough(), new PassThrough()];
  let questions = 0;
  err.setEncoding("utf8").on("data", (shown: string) => {
    if (shown.includes("Type yes")) input.write(`${answer(++questions)}\n`);
  });
  let told = "";
  for (const stream of [out, err])
    stream.setEncoding("utf8").on("data", (shown: string) => {
      told += shown;
    });
  const cli = { in: input, out, err, env: {}, status: 0 } as unknown as Cli;
  await runCommand(["wallet", "trust", "--config", path.join(folder, "config.yaml")], cli);
  return told;
}

test("what is seen while a person reads is kept", async () => {
  using it = place({ text, memo: null, refused: [{ kind: "text", form, reason, address }] });
  const memo = "sign-in:{nonce}";
  const other = { kind: "memo", form: "log-in:{nonce}", reason, address: "other" } as const;
  const said = await atTerminal(it.folder, () => {
    it.write(
      "login-forms.json",
      JSON.stringify({ ...it.known(), memo, refused: [...it.known().refused, other] }),
    );
    return "yes";
  });
  expect(said).toContain("Accepted.");
  expect(it.known()).toEqual({ text: form, memo, refused: [other] });
});

test.each<[string, Partial<KnownForms>]>([
  ["another form was refused", { refused: [{ kind: "text", form: `${form}\nmore`, reason, address }] }],
  ["another form was accepted", { text: form, refused: [] }],
  ["another form is trusted now", { text: `${text}\nother` }],
])("where %s while a person reads, nothing is changed", async (_what, change) => {
  using it = place({ text, memo: null, refused: [{ kind: "text", form, reason, address }] });
  const after = { ...it.known(), ...change };
  const said = await atTerminal(it.folder, () => {
    it.write("login-forms.json", JSON.stringify(after));
    return "yes";
  });
  expect(said).toContain("changed meanwhile");
  expect(it.known()).toEqual(after);
});

test("a text and a memo that were refused are asked about apart", async () => {
  const memo = { kind: "memo", form: "log-in:{nonce}", reason, address } as const;
  using it = place({ text, memo: null, refused: [{ kind: "text", form, reason, address }, memo] });
  const said = await atTerminal(it.folder, (number) => (number === 1 ? "no" : "yes"));
  expect(said.match(/Refused: /g)).toHaveLength(2);
  expect(it.known()).toMatchObject({ text, memo: memo.form, refused: [{ kind: "text" }] });
  expect(await it.trust("--yes")).toMatchObject({ status: 0 });
  expect(it.known()).toEqual({ text: form, memo: memo.form, refused: [] });
});

test.each([null, { kind: "text", form, reason, address }])(
  "a record of the form before, with one place for refusals, is read: %#",
  async (refused) => {
    using it = place(null);
    it.write("login-forms.json", JSON.stringify({ text, memo: null, refused }));
    expect((await it.trust("--json")).json()).toMatchObject({ refused: refused === null ? [] : [refused] });
  },
);

test.each(["{", "[]", '{"text":1}', "x".repeat(100_000)])(
  "a file that is no record is named, not quoted: %#",
  async (content) => {
    using it = place(null);
    it.write("login-forms.json", content);
    const { status, stderr } = await it.trust("--yes");
    expect(status).toBe(1);
    expect(stderr).toMatch(/login-forms\.json is (no record of trusted forms; remove it|too large)/);
    expect(stderr.length).toBeLessThan(300);
  },
);

test("a record of another version is refused with what to do, and stays as it is", async () => {
  using it = place(null);
  const newer = JSON.stringify({
    text,
    memo: null,
    refused: [{ kind: "text", form, reason, address }],
    until: 1,
  });
  it.write("login-forms.json", newer);
  for (const args of [[], ["--yes"], ["--json", "--yes"]]) {
    const { status, stdout, stderr } = await it.trust(...args);
    expect(status).toBe(1);
    expect(stdout + stderr).toMatch(
      /login-forms\.json is of another version of perpwatch.*start that version again/,
    );
  }
  expect(readFileSync(path.join(it.folder, "login-forms.json"), "utf8")).toBe(newer);
});
