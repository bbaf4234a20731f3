/** The passphrase of the keystore, typed on a terminal: retried, cancelled, interrupted, not answered. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { startInTerminal, type Terminal } from "../support/terminal.ts";
import { type Desk, desk, runProcess } from "./run.ts";

let simulator: Simulator;
let keys: Desk;
const program = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const passphrase = "correct horse battery staple";
const prompt = "keystore.json: ";
const usualMode = "ECHO ICANON ISIG";

beforeAll(async () => {
  keys = desk();
  simulator = await startSimulator({ port: 0, traders: 1, walk: false, keysDir: keys.folder });
});
afterAll(async () => {
  await simulator.stop();
  keys[Symbol.dispose]();
});

async function home(): Promise<Desk> {
  const { authority, keyFile } = simulator.traders[0]!;
  const place = desk();
  const configuration = (more: string) =>
    place.write(
      "config.yaml",
      [
        `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
        `wallets: [ { name: main, keystore: ${authority} } ]`,
        "channels: { here: { type: console } }",
        "history: { path: ./p }",
        "dashboard: { listen: off }",
        'rules: ["shipped"]',
        "ruleOverrides: { SignerUnavailable: { for: 0s } }",
        more,
        "",
      ].join("\n"),
    );
  configuration("signer: { passphraseFile: ./passphrase }");
  place.write("passphrase", passphrase);
  const input = readFileSync(keyFile!, "utf8");
  expect(await runProcess(["wallet", "import"], { ...place, input })).toMatchObject({ status: 0 });
  configuration("");
  return place;
}

/** Ends the daemon, and searches the terminal's complete output for the typed text. */
async function endsWithout(terminal: Terminal, typed: readonly string[]): Promise<void> {
  terminal.kill("SIGTERM");
  expect(await terminal.status).toBe(0);
  for (const text of typed) expect(terminal.lines.join("\n")).not.toContain(text);
}

test("a wrong passphrase is asked for again, and shown never; the terminal is as before then", async () => {
  using at = await home();
  await using terminal = startInTerminal(["start"], at);
  await terminal.shown(prompt);
  expect(await terminal.mode()).toBe("");
  terminal.type("wrong one\r");
  await terminal.shown("does not open it; 2 tries are left");
  // There is no echo while the passphrase is checked, either.
  expect(await terminal.mode()).toBe("");
  terminal.type(`${passphrase}\r`);
  await terminal.line((line) => line.includes("signed in by message"));
  expect(await terminal.mode()).toBe(usualMode);
  await endsWithout(terminal, ["wrong one", passphrase]);
});

test("after three wrong ones it continues without signing, reports that, and asks no more", async () => {
  using at = await home();
  await using terminal = startInTerminal(["start"], at);
  await terminal.shown(prompt);
  terminal.type("first\rsecond\rthird\r");
  await terminal.shown("does not open it; the keystore stays closed");
  await terminal.line((line) =>
    /No wallet can sign in: .*keystore\.json: three wrong passphrases were typed/.test(line),
  );
  await terminal.line((line) => line.includes("watching main"));
  expect(await terminal.mode()).toBe(usualMode);
  await endsWithout(terminal, ["first", "second", "third"]);
});

test.each([
  ["an empty line", "\r"],
  ["Ctrl-D", "\x04"],
])("%s goes on without signing at once, and asks no more", async (_, typed) => {
  using at = await home();
  await using terminal = startInTerminal(["start"], at);
  await terminal.shown(prompt);
  terminal.type(typed);
  await terminal.shown("The keystore stays closed");
  await terminal.line((line) => /No wallet can sign in: .*no passphrase was given/.test(line));
  expect(await terminal.mode()).toBe(usualMode);
  await endsWithout(terminal, []);
});

test("Ctrl-C at the prompt ends the start", async () => {
  using at = await home();
  await using terminal = startInTerminal(["start"], at);
  await terminal.shown(prompt);
  terminal.type("half of it\x03");
  expect(await terminal.status).toBe(-2);
  const told = terminal.lines.join("\n");
  expect(told).not.toMatch(/watching|half of it|No wallet can/);
});

/** A shell, as it were: it has the terminal before and after, and hands SIGTERM on to what it runs. */
const shell = `
import { spawn } from "node:child_process";
const child = spawn(process.execPath, process.argv.slice(2), { stdio: "inherit" });
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("exit", () => console.log("it has ended"));
setInterval(() => {}, 1_000);
`;

test("a start that is ended while it asks gives the terminal back", async () => {
  using at = await home();
  const file = at.write("shell.mjs", shell);
  await using terminal = startInTerminal([program, "start"], { ...at, file });
  await terminal.shown(prompt);
  terminal.kill("SIGTERM");
  await terminal.shown("it has ended");
  await terminal.shown("Nobody needs it any more");
  await vi.waitFor(async () => expect(await terminal.mode()).toBe(usualMode), 10_000);
});

test("Ctrl-C at the prompt of wallet passphrase changes nothing, and leaves no lock", async () => {
  using at = await home();
  for (const _ of [1, 2]) {
    await using terminal = startInTerminal(["wallet", "passphrase"], at);
    await terminal.shown(prompt);
    terminal.type("\x03");
    await terminal.line((line) => line.includes("given up; nothing was changed"));
    expect(await terminal.mode()).toBe(usualMode);
    expect(await terminal.status).toBe(1);
  }
});
