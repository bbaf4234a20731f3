/** What every command has in common: help with an example, wrong use, JSON failures. */
import { describe, expect, test } from "vitest";
import { version } from "../../src/version.ts";
import { desk, run } from "./run.ts";

/** Names below "Commands:" of a help text. */
function commandsIn(help: string): string[] {
  const [, list = ""] = help.split("Commands:\n");
  return [...list.split("\n\n")[0]!.matchAll(/^ {2}(\S+)/gm)]
    .map(([, name]) => name!)
    .filter((name) => name !== "help");
}

test("what is offered is what is built, and each help gives an example", { timeout: 60_000 }, async () => {
  const root = await run(["--help"]);
  expect(root.status).toBe(0);
  const top = commandsIn(root.stdout);
  expect(top).toEqual([
    ...["start", "check", "status", "alerts", "notifications", "rules", "channels", "wallet", "simulate"],
  ]);
  const found: string[] = [];
  for (const name of top) {
    const help = await run([name, "--help"]);
    const below = commandsIn(help.stdout);
    const paths = [[name], ...below.map((one) => [name, one])];
    const texts = [help, ...(await Promise.all(paths.slice(1).map((one) => run([...one, "--help"]))))];
    for (const [index, text] of texts.entries()) {
      const called = paths[index]!.join(" ");
      expect(text.status, called).toBe(0);
      // The example calls this very command.
      expect(text.stdout, called).toMatch(new RegExp(`Examples?:\\n(.*\\n)*? +\\$ perpwatch ${called}\\b`));
      found.push(called);
    }
  }
  expect(found).toEqual([
    ...["start", "check", "status", "alerts", "alerts list", "alerts show", "alerts ack", "notifications"],
    ...[
      "notifications list",
      "notifications ack",
      "rules",
      "rules check",
      "channels",
      "channels test",
      "wallet",
    ],
    ...["wallet new", "wallet import", "wallet list", "wallet login", "wallet logout", "simulate"],
  ]);
});

test("--version tells the version", async () => {
  expect(await run(["--version"])).toMatchObject({ status: 0, stdout: `${version}\n` });
});

describe("wrong use is told, and exits 2", () => {
  const cases: [args: string[], said: RegExp][] = [
    [[], /Usage: perpwatch/],
    [["statsu"], /unknown command 'statsu'(.|\n)*Did you mean status\?/],
    [["alerts", "shwo", "1"], /unknown command 'shwo'|too many arguments/],
    [["status", "--jsn"], /unknown option '--jsn'/],
    [["alerts", "--limit", "0"], /Expected an integer from 1 to 1000/],
    [["alerts", "--severity", "bad"], /Expected info, warning, critical/],
    [["alerts", "show"], /missing required argument 'id'/],
    [["alerts", "show", "x"], /id is a number such as 17, not "x"/],
    [["notifications", "ack"], /name ids, or a time with --up-to/],
    [["notifications", "ack", "--up-to", "yesterday"], /Expected a time such as/],
    [["start", "--log-level", "loud"], /Expected debug, info/],
    [["simulate", "--port", "banana"], /port/],
  ];
  test.each(cases)("%j", async (args, said) => {
    const ran = await run(args);
    expect(ran.stderr).toMatch(said);
    expect(ran.stderr).not.toMatch(/^\s+at /m);
    expect(ran).toMatchObject({ status: 2, stdout: "" });
  });
});

describe("without a configuration", () => {
  const cases = [
    ["check"],
    ["status"],
    ["alerts"],
    ["notifications"],
    ["rules", "check"],
    ["channels", "test", "chat"],
    ["wallet", "list"],
    ["start", "--config", "./other.yaml"],
  ];
  test.each(cases.map((args) => [args]))("%j", async (args) => {
    using place = desk();
    const ran = await run([...args, "--json"], place);
    expect(ran).toMatchObject({ status: 2, stderr: "" });
    expect(ran.json()).toEqual({
      error: expect.stringContaining("there is no such configuration") as string,
    });
  });

  test("and for people", async () => {
    using place = desk();
    expect(await run(["status"], place)).toEqual({
      ...{ status: 2, stdout: "", json: expect.any(Function) as unknown },
      stderr:
        "perpwatch: ./config.yaml: there is no such configuration; " +
        "copy config.example.yaml to config.yaml, or name another file with --config\n",
    });
  });
});
