/**
 * `perpwatch api`: every endpoint of the exchange from the shell, by the same table as the client and the simulator.
 */
import type { Command } from "commander";
import type { Endpoint } from "../../contract/index.ts";
import { printableJson } from "../../domain/text/escape.ts";
import { nearestName } from "../../domain/text/nearest.ts";
import { readTextFile } from "../../files/index.ts";
import type { Keys } from "../../signer/keys.ts";
import {
  type Cli,
  CommandFailed,
  type CommonOptions,
  declare,
  declareGroup,
  hint,
  print,
  printJson,
} from "../command.ts";
import { boundedInput } from "../terminal/bounded-input.ts";
import { consent } from "../terminal/consent.ts";
import { paintFor } from "../terminal/print.ts";
import { table } from "../terminal/table.ts";
import type { ApiOptions } from "./api/arguments.ts";
import type { PageRead } from "./api/pages.ts";

export function apiCommand(program: Command, cli: Cli): void {
  const group = declareGroup(program, "api", "ask the exchange anything: every endpoint, by name", [
    "api list",
    "api describe fundingHourly",
    "api markets",
    "api traderState --wallet main",
    "api fundingHourly --wallet main --limit 200 --all --json",
    "api exchangeStatus --url http://127.0.0.1:8899",
  ]);
  group.usage("NAME [--param value …]   or: list, describe NAME, docs");
  declare(group, {
    usage: "list",
    summary: "list every endpoint, grouped as in the exchange's documentation",
    examples: ["api list", "api list --json"],
    needsNoConfig: true,
  }).action((options: CommonOptions) => list(cli, options));
  declare(group, {
    usage: "describe <name>",
    summary: "show everything about one endpoint: parameters, bounds, defaults, what it answers",
    examples: ["api describe fundingHourly"],
    needsNoConfig: true,
  }).action((name: string, options: CommonOptions) => describe(cli, name, options));
  declare(group, {
    usage: "docs",
    summary: "write the reference of every endpoint in Markdown",
    examples: ["api docs --out docs/api.md"],
    needsNoConfig: true,
  })
    .option("--out <file>", "write it there instead of printing it")
    .action((options: CommonOptions & { readonly out?: string }) => docs(cli, options));
  // The options of an endpoint are known once its name is: its words are parsed separately.
  group
    .command("call", { isDefault: true, hidden: true })
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .argument("[words...]")
    .action((words: string[]) => call(cli, group, words));
  // `api NAME --help` describes the endpoint: `call` prints it. Set last, because subcommands inherit it.
  group.helpOption(false);
}

async function list(cli: Cli, options: CommonOptions): Promise<void> {
  const [{ endpointsOf, groups }, { allEndpoints }] = await Promise.all([
    import("./api/describe.ts"),
    import("../../contract/index.ts"),
  ]);
  if (options.json) {
    const rows = allEndpoints.map(({ name, group, method, path, session, summary, deprecated, paging }) => {
      return { name, group, method, path, session, paged: paging !== null, deprecated, summary };
    });
    return printJson(cli, rows);
  }
  const paint = paintFor(cli.out);
  const parts = groups.flatMap(({ name, title }) => {
    const rows = endpointsOf(name).map((one) => [
      "",
      one.name,
      one.method,
      one.session === "required" ? "session" : "",
      one.summary,
    ]);
    // Without a head.
    const [, ...lines] = table(["", "", "", "", ""], rows, paint).split("\n");
    return rows.length === 0 ? [] : [[paint("bold", title), ...lines].join("\n")];
  });
  print(cli, parts.join("\n\n"));
  hint(cli, "\nperpwatch api describe NAME shows what one takes; perpwatch api NAME --param value asks.");
}

async function describe(cli: Cli, name: string, options: CommonOptions): Promise<void> {
  const endpoint = await endpointNamed(name);
  const [{ describeText }, { replyFields }] = await Promise.all([
    import("./api/describe.ts"),
    import("../../contract/index.ts"),
  ]);
  if (!options.json) return print(cli, describeText(endpoint));
  const { reply: _, params, ...rest } = endpoint;
  const shown = Object.fromEntries(
    Object.entries(params).map(([name, { schema: _, argument: __, ...param }]) => [name, param]),
  );
  printJson(cli, { ...rest, params: shown, answer: replyFields(endpoint) });
}

async function docs(cli: Cli, options: CommonOptions & { readonly out?: string }): Promise<void> {
  const { referenceMarkdown } = await import("./api/describe.ts");
  const text = referenceMarkdown();
  if (options.out === undefined) return void cli.out.write(text);
  const { writeFile } = await import("node:fs/promises");
  await writeFile(options.out, text);
  if (options.json) printJson(cli, { file: options.out, bytes: Buffer.byteLength(text) });
  else print(cli, `${options.out}: written`);
}

async function call(cli: Cli, group: Command, words: readonly string[]): Promise<void> {
  const { nameAt, readCall } = await import("./api/arguments.ts");
  const at = nameAt(words);
  const name = words[at];
  if (name === undefined) {
    if (words.length > 0 && !words.includes("-h") && !words.includes("--help"))
      throw new CommandFailed(`say which endpoint first: perpwatch api NAME ${words.join(" ")}`, 2);
    group.outputHelp();
    return;
  }
  const endpoint = await endpointNamed(name);
  const { options, args: given } = await readCall(
    endpoint,
    words.filter((_, index) => index !== at),
    (file) => readText(cli, file),
    Date.now(),
  );
  if (options.help) {
    const { describeText, exampleOf } = await import("./api/describe.ts");
    const example = `Example:\n  ${exampleOf(endpoint)}`;
    print(cli, `${describeText(endpoint)}\n\n${optionsText(endpoint)}\n\n${example}`);
    return;
  }
  if (options.wallet === null) return callWith(cli, endpoint, given, options, null);
  const { withSigning } = await import("../signing/signing.ts");
  await withSigning(cli, options.config, { elsewhere: options.url }, async (signing) =>
    callWith(cli, endpoint, given, options, await signing.keys()),
  );
}

/** @param keys the wallets' signers; null: no wallet was named */
async function callWith(
  cli: Cli,
  endpoint: Endpoint,
  given: Readonly<Record<string, unknown>>,
  options: ApiOptions,
  keys: Keys | null,
): Promise<void> {
  const [{ target }, { checkArguments }] = await Promise.all([
    import("./api/target.ts"),
    import("./api/arguments.ts"),
  ]);
  const { settings, wallet, configuredUrl } = await target(cli, options, keys);
  const args = { ...(wallet === null ? {} : await walletArguments(endpoint, wallet.authority)), ...given };
  checkArguments(endpoint, args);
  const session = wallet === null || wallet.watchOnly || endpoint.session === "none" ? null : wallet.name;
  const { baseUrl } = settings.exchange;
  // Another server could forward the exchange's own challenge, and obtain the session that the wallet signs for.
  if (session !== null && configuredUrl !== null) {
    const risk = `whoever answers there can act as ${session}`;
    const what = `${session} would sign in at ${baseUrl}, but its exchange is ${configuredUrl}; ${risk}.`;
    await consent(cli, what, options.yes);
  }
  if (endpoint.method !== "GET")
    await consent(cli, `${endpoint.name} changes something at ${baseUrl}: ${endpoint.summary}`, options.yes);
  await send(cli, endpoint, args, options, settings, session);
}

async function send(
  cli: Cli,
  endpoint: Endpoint,
  args: Readonly<Record<string, unknown>>,
  options: ApiOptions,
  settings: Awaited<ReturnType<typeof import("./api/target.ts").target>>["settings"],
  session: string | null,
): Promise<void> {
  const [{ memorySessions, withExchange }, { collectRows, pagesOf }, { showAnswer }] = await Promise.all([
    import("../standalone.ts"),
    import("./api/pages.ts"),
    import("./api/show.ts"),
  ]);
  await withExchange(
    settings,
    memorySessions(),
    async (exchange) => {
      const held = session === null ? undefined : exchange.sessions.of(session);
      // An endpoint without a required session would be called without one, but the wallet was named for its session.
      await held?.access({ endMs: performance.now() + patienceMs });
      try {
        const ask = exchange.client[endpoint.name as keyof typeof exchange.client] as (
          args: object,
          call: object,
        ) => Promise<unknown>;
        const callOptions = session === null ? {} : { wallet: session };
        const first = await ask(args, callOptions);
        if (!options.all) {
          if (options.json) printJson(cli, first);
          else print(cli, showAnswer(first, paintFor(cli.out)));
          return;
        }
        const shown = async function* () {
          let last: PageRead | null = null;
          for await (last of pagesOf(endpoint, args, first, (more) => ask(more, callOptions))) {
            progress(cli, endpoint.name, last.pages, last.count, false);
            yield last;
          }
          if (last !== null) progress(cli, endpoint.name, last.pages, last.count, true);
        };
        // One line a row: a reader of the pipe need not wait for the end, and rows are not kept.
        if (!options.json) print(cli, showAnswer(await collectRows(endpoint, shown()), paintFor(cli.out)));
        else for await (const { rows } of shown()) await writeLines(cli, rows);
      } finally {
        await held?.logout().catch(() => {});
      }
    },
    ({ problem }) => {
      hint(cli, `perpwatch: ${problem}`);
      cli.status = 1;
    },
  );
}

/** Time limit of a sign-in. */
const patienceMs = 20_000;

/** Resolves when the lines were taken, so that a slow reader limits the rows in memory to one page. */
async function writeLines(cli: Cli, rows: readonly unknown[]): Promise<void> {
  const { writeJson } = await import("../../contract/index.ts");
  const text = rows.map((row) => `${printableJson(writeJson(row))}\n`).join("");
  return new Promise((resolve) => cli.out.write(text, () => resolve()));
}

/** On a terminal one line that is overwritten; otherwise one line at the end. */
function progress(cli: Cli, name: string, pages: number, rows: number, isEnd: boolean): void {
  const text = `${name}: ${pages} ${pages === 1 ? "page" : "pages"}, ${rows} ${rows === 1 ? "row" : "rows"}`;
  if (cli.err.isTTY) cli.err.write(`\r${text}${isEnd ? "\n" : " …"}`);
  else if (isEnd) hint(cli, text);
}

/** The arguments of an endpoint that follow from the named wallet. */
async function walletArguments(endpoint: Endpoint, authority: string): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const [name, param] of Object.entries(endpoint.params)) {
    if (param.type !== "key") continue;
    if (name === "authority") found[name] = authority;
    if (name === "traderPubkey") {
      const { traderAddress } = await import("../../wallet/address.ts");
      found[name] = traderAddress(authority, { pdaIndex: 0, subaccount: 0 });
    }
  }
  return found;
}

async function endpointNamed(name: string): Promise<Endpoint> {
  const { allEndpoints } = await import("../../contract/index.ts");
  const found = allEndpoints.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (found !== undefined) return found;
  const nearest = nearestName(
    name,
    allEndpoints.map((one) => one.name),
  );
  const fix = nearest === null ? "perpwatch api list shows them all" : `did you mean ${nearest}?`;
  throw new CommandFailed(`there is no endpoint ${name}; ${fix}`, 2);
}

const maxBytes = 1_024 * 1_024;

async function readText(cli: Cli, file: string): Promise<string> {
  if (file === "-") return boundedInput(cli.in, maxBytes);
  const read = readTextFile(file, { largestBytes: maxBytes, from: "anyones" });
  if ("wrong" in read) throw new CommandFailed(`${file} ${read.wrong}`, 2);
  return read.text;
}

function optionsText(endpoint: Endpoint): string {
  const rows = [
    ["--wallet <name>", "ask in the session of this wallet of the configuration, and about it"],
    ["--url <url>", "ask there, rather than where the configuration says"],
    ...(endpoint.paging === null ? [] : [["--all", "follow the pages to the end; with --json a line a row"]]),
    ["--yes", "send it, or sign in at another --url, without asking"],
    ["--json", "print JSON"],
    ["-c, --config <file>", "the configuration (default ./config.yaml, where there is one)"],
    ["--PARAM @file", "read a value from a file (@-: standard input), as secrets should be"],
  ];
  const width = Math.max(...rows.map(([name]) => name!.length));
  return ["Options:", ...rows.map(([name, about]) => `  ${name!.padEnd(width)}  ${about}`)].join("\n");
}
