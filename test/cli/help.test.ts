/** Shared behaviour of all commands: help with an example, wrong use, JSON failures. */
import { describe, expect, test } from "vitest";
import { version } from "../../src/daemon/version.ts";
import { startSimulator } from "../../src/simulator/index.ts";
import { parseScenario } from "../../src/simulator/scenario.ts";
import { controlCalls } from "../../src/simulator/server/control-bodies.ts";
import { desk, run, runProcess } from "./run.ts";

/** Names below "Commands:" of a help text. */
function commandsIn(help: string): string[] {
  const [, list = ""] = help.split("Commands:\n");
  return [...list.split("\n\n")[0]!.matchAll(/^ {2}(\S+)/gm)]
    .map(([, name]) => name!)
    .filter((name) => name !== "help");
}

test("what is offered is what is built, and each help gives an example", { timeout: 180_000 }, async () => {
  const root = await run(["--help"]);
  expect(root.status).toBe(0);
  const top = commandsIn(root.stdout);
  expect(top).toEqual([
    ...[
      "start",
      "check",
      "status",
      "alerts",
      "silence",
      "notifications",
      "whatif",
      "rules",
      "history",
      "routing",
    ],
    ...["rota", "channels", "drill", "digest", "page", "token", "wallet", "signer"],
    ...["onboard", "stop-loss", "api", "service", "simulate", "completion", "version"],
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
    ...["start", "check", "status", "alerts", "alerts list", "alerts show", "alerts ack"],
    ...["silence", "silence add", "silence list", "silence expire"],
    ...["notifications", "notifications list", "notifications audit", "notifications ack", "whatif"],
    ...[
      "rules",
      "rules check",
      "rules test",
      "rules vocabulary",
      "rules backtest",
      "rules shadow",
      "rules explain",
    ],
    "history",
    ...["query", "export", "events", "compact", "backup", "restore"].map((name) => `history ${name}`),
    ...["routing", "routing test", "rota", "channels", "channels test"],
    ...["channels preview", "channels vocabulary", "drill", "digest"],
    ...["page", "page link", "page password", "page logout"],
    ...["token", "token new", "token list", "token revoke", "wallet"],
    ...["new", "import", "export", "passphrase", "list", "trust", "login", "logout"].map(
      (name) => `wallet ${name}`,
    ),
    "signer",
    ...["onboard", "onboard register", "onboard activate", "stop-loss"],
    ...["api", "api list", "api describe", "api docs"],
    ...["service", "service install", "service remove", "service run", "simulate", "completion", "version"],
  ]);
});

test("simulate's help has a curl line for each control call", async () => {
  const { stdout } = await run(["simulate", "--help"]);
  const lines = stdout.split("\n").filter((line) => line.includes("$ curl"));
  for (const call of controlCalls)
    expect(lines, call).toContainEqual(
      expect.stringMatching(new RegExp(`curl -s -d '\\{.*\\}' http://127.0.0.1:8899/sim/${call}$`)),
    );
  for (const read of ["state", "requests", "fault"])
    expect(lines, read).toContain(`    $ curl -s http://127.0.0.1:8899/sim/${read}`);
  // The examples work without changes.
  const simulator = await startSimulator({ port: 0, traders: 1, walk: false, keysDir: null, speed: 0 });
  try {
    const { authority } = simulator.traders[0]!;
    for (const line of lines) {
      const [, body, name] = /-d '(.*)' http.*\/sim\/(\S+)$/.exec(line) ?? [];
      if (name === undefined) continue;
      const asked = JSON.parse(body!.replace("ADDRESS", authority)) as unknown;
      const answer = await fetch(`${simulator.url}/sim/${name}`, {
        method: "POST",
        body: JSON.stringify(asked),
        headers: { "content-type": "application/x-www-form-urlencoded" },
      });
      expect([name, answer.status, answer.ok ? "" : await answer.text()]).toEqual([name, 200, ""]);
    }
  } finally {
    await simulator.stop();
  }
});

test("an invalid control call or scenario is explained", async () => {
  const simulator = await startSimulator({ port: 0, traders: 1, walk: false, keysDir: null, speed: 0 });
  const refused = async (name: string, body: unknown) => {
    const answer = await fetch(`${simulator.url}/sim/${name}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    return ((await answer.json()) as { error: string }).error;
  };
  try {
    expect(await refused("mark-price", { symbol: 3 })).toBe("symbol: has to be a text");
    expect(await refused("mark-price", { symbol: "SOL", prize: "3" })).toBe("the body: unknown: prize");
    expect(await refused("session", { trader: "main", action: "no" })).toBe(
      "action: has to be one of expire-access, expire-refresh, revoke, rotate-elsewhere",
    );
  } finally {
    await simulator.stop();
  }
  expect(() => parseScenario("- { call: order }\n")).toThrow(/^0\.at: is missing$/);
});

test("--version prints the version", async () => {
  expect(await run(["--version"])).toMatchObject({ status: 0, stdout: `${version}\n` });
});

test.each([
  [["help"], "Usage: perpwatch [options]"],
  [["help", "wallet"], "Usage: perpwatch wallet [options]"],
  [["help", "wallet", "list"], "Usage: perpwatch wallet list [options]"],
  [["wallet", "help", "list"], "Usage: perpwatch wallet list [options]"],
])("%j shows help", async (words, begins) => {
  expect(await run(words)).toMatchObject({ status: 0, stdout: expect.stringContaining(begins), stderr: "" });
});

describe("wrong use is reported, and exits 2", () => {
  const cases: [args: string[], said: RegExp][] = [
    [[], /Usage: perpwatch/],
    [["statsu"], /unknown command 'statsu'(.|\n)*Did you mean status\?/],
    [["alerts", "shwo", "1"], /unknown command 'shwo'(.|\n)*Did you mean show\?/],
    [["alerts", "everything"], /unknown command 'everything'(.|\n)*There are list, show, ack/],
    [["alerts", "list", "x"], /list takes no arguments, found 'x'/],
    [["wallet", "lst"], /unknown command 'lst'(.|\n)*Did you mean list\?/],
    [["notifications", "akc", "x"], /unknown command 'akc'(.|\n)*Did you mean ack\?/],
    [["status", "--jsn"], /unknown option '--jsn'(.|\n)*Did you mean --json\?/],
    [["help", "statsu"], /unknown command 'statsu'\n\(Did you mean status\?\)/],
    [["help", "wallet", "lst"], /unknown command 'lst'\n\(Did you mean list\?\)/],
    [["help", "status", "now"], /unknown command 'now'\n\(status has no commands\.\)/],
    [["--config", "x.yaml", "check"], /unknown option '--config'\n\(options stand after the command/],
    [["alerts", "--limit", "0"], /Expected an integer from 1 to 1000/],
    [["alerts", "--severity", "bad"], /Expected info, warning, critical/],
    [["alerts", "show"], /missing required argument 'id'/],
    [["alerts", "show", "x"], /id is a number such as 17, not "x"/],
    [["notifications", "ack"], /name ids, or a time with --up-to/],
    [["notifications", "ack", "--up-to", "yesterday"], /Expected a time such as/],
    [["start", "--log-level", "loud"], /Expected debug, info/],
    [
      ["simulate", "--port", "banana"],
      /--port <port>' argument 'banana' is invalid. Expected an integer from 0 to 65535/,
    ],
    [["onboard", "activate"], /required option '--referral <code>'/],
    [["onboard", "register", "--max-positions", "31"], /Expected an integer from 32 to 128/],
    [["stop-loss", "--symbol", "SOL"], /required option '--trigger-price <usd>'/],
    [["stop-loss", "--symbol", "SOL", "--trigger-price", "1", "--slippage", "-1"], /Expected a percentage/],
    [
      ["simulate", "--port", "0", "--keys-dir", "/proc/no/keys"],
      /--keys-dir \/proc\/no\/keys cannot be made/,
    ],
    [["simulate", "--walk", "maybe"], /Expected on, off/],
    [["simulate", "--speed", "-1"], /Expected a number from 0 to 10000/],
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
    ["onboard", "register"],
    ["stop-loss", "--symbol", "SOL", "--trigger-price", "1"],
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
        "begin with `install -m 600 config.example.yaml config.yaml`, or name another file with --config\n",
    });
  });
});

/** Prints the addresses of all modules that a process loaded, when it ends. */
const namesModules = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  const loaded = [];
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
  process.on("exit", () => console.error(loaded.join("\\n")));
`)}`;

test.each(["status", "wallet", "signer"])("%s loads its own modules alone", async (name) => {
  const env = { NODE_OPTIONS: `--import=${namesModules}` };
  const { status, stdout, stderr } = await runProcess([name, "--help"], { env });
  expect(status).toBe(0);
  expect(stdout).toContain(`perpwatch ${name}`);
  const loaded = stderr.split("\n").filter((url) => url.includes("/src/cli/"));
  expect(loaded.some((url) => url.endsWith(`/${name}.ts`))).toBe(true);
  // Commands of other names, and the libraries that they need.
  expect(loaded.filter((url) => /\/(start|check|channels|onboard|simulate)\.ts$/.test(url))).toEqual([]);
  expect(stderr).not.toMatch(/node_modules\/(zod|yaml|@marcbachmann)\//);
});
