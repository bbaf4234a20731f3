/**
 * The command line: one file a command, each registered here. A command alone is loaded when it is named, and what it needs when it
 * runs, so that questions to the daemon answer at once.
 */
import { Command, CommanderError } from "commander";
import { version } from "../daemon/version.ts";
import { type Cli, CommandFailed, hint, printJson, unknownCommand } from "./command.ts";
import { letGoOfClosedTerminals } from "./terminal.ts";

type Register = (program: Command, cli: Cli) => void;

/** In the order of `--help`. */
const commands: Readonly<Record<string, () => Promise<Register>>> = {
  start: async () => (await import("./start.ts")).startCommand,
  check: async () => (await import("./check.ts")).checkCommand,
  status: async () => (await import("./status.ts")).statusCommand,
  alerts: async () => (await import("./alerts.ts")).alertsCommand,
  silence: async () => (await import("./silence.ts")).silenceCommand,
  notifications: async () => (await import("./notifications.ts")).notificationsCommand,
  whatif: async () => (await import("./whatif.ts")).whatifCommand,
  rules: async () => (await import("./rules.ts")).rulesCommand,
  history: async () => (await import("./history.ts")).historyCommand,
  routing: async () => (await import("./routing.ts")).routingCommand,
  rota: async () => (await import("./rota.ts")).rotaCommand,
  channels: async () => (await import("./channels.ts")).channelsCommand,
  drill: async () => (await import("./drill.ts")).drillCommand,
  digest: async () => (await import("./digest.ts")).digestCommand,
  page: async () => (await import("./page.ts")).pageCommand,
  token: async () => (await import("./token.ts")).tokenCommand,
  wallet: async () => (await import("./wallet.ts")).walletCommand,
  signer: async () => (await import("./signer.ts")).signerCommand,
  onboard: async () => (await import("./onboard.ts")).onboardCommand,
  "stop-loss": async () => (await import("./stop-loss.ts")).stopLossCommand,
  api: async () => (await import("./api.ts")).apiCommand,
  service: async () => (await import("./service.ts")).serviceCommand,
  simulate: async () => (await import("./simulate.ts")).simulateCommand,
  completion: async () => (await import("./completion.ts")).completionCommand,
  version: async () => (await import("./version.ts")).versionCommand,
};

/**
 * Runs one command of this process.
 * @param argv what follows the program's name
 * @returns the exit status: 0 done, 1 tried and failed, 2 wrong use, configuration or rules
 */
export async function main(argv: readonly string[]): Promise<number> {
  const cli: Cli = {
    in: process.stdin,
    out: process.stdout,
    err: process.stderr,
    env: process.env,
    status: 0,
  };
  outliveReaders(cli);
  await runCommand(argv, cli);
  await Promise.all([written(cli.out), written(cli.err)]);
  // Whatever a command left open (half a start that failed, a connection that idles) does not keep it from ending.
  setTimeout(() => process.exit(cli.status), lingerMs).unref();
  return cli.status;
}

/** Runs one command on the given streams and environment, and leaves its exit status in `cli.status`. Never rejects. */
export async function runCommand(argv: readonly string[], cli: Cli): Promise<void> {
  const program = new Command("perpwatch")
    .description("Watches leveraged perpetual-futures positions and alerts by your rules.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .helpCommand("help [command]", "show the help of a command")
    .configureOutput({
      writeOut: (text) => cli.out.write(text),
      writeErr: (text) => cli.err.write(text),
    })
    .addHelpText("after", "\nExample:\n  $ perpwatch check --config ./config.yaml")
    .showHelpAfterError("(--help shows what it takes)")
    // Before any command is declared: they take over how failing and showing help are done.
    .exitOverride();
  const [name = ""] = argv;
  const needed = Object.hasOwn(commands, name) ? [commands[name]!] : Object.values(commands);
  for (const load of needed) (await load())(program, cli);
  // After the commands, which do not take it over: none of their options stands before their names.
  program.configureOutput({
    outputError: (text, write) =>
      write(text.startsWith("error: unknown option") ? `${text}${optionsComeAfter}` : text),
  });
  helpCommand(program);
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    cli.status = failed(cli, error, argv.includes("--json"));
  }
}

const optionsComeAfter = "(options stand after the command, as in: perpwatch status --config FILE)\n";

/** `help` with any number of words; commander's own shows the help of all commands for a mistyped one. */
function helpCommand(program: Command): void {
  program
    .helpCommand(false)
    .command("help [command...]")
    .summary("show the help of a command")
    .action((words: readonly string[]) => {
      let command = program;
      for (const word of words) {
        const below = command.commands.find((one) => one.name() === word);
        if (below === undefined) unknownCommand(command, word);
        command = below;
      }
      command.help();
    });
}

/**
 * Keeps the process going when whoever read its output is gone (`perpwatch alerts | head`, a closed terminal), or when it
 * cannot be written, as on a full disk: that is told once, and a command that prints has failed then.
 */
function outliveReaders(cli: Cli): void {
  cli.err.on("error", () => {});
  let isTold = false;
  cli.out.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE" || error.code === "EIO" || isTold) return;
    isTold = true;
    cli.status ||= 1;
    cli.err.write(`perpwatch: the output cannot be written: ${error.message}\n`);
  });
  process.on("exit", letGoOfClosedTerminals);
}

const lingerMs = 500;

/** Resolves when whoever reads has taken everything, or has gone: a slow reader loses nothing. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write("", () => resolve()));
}

function failed(cli: Cli, error: unknown, json: boolean): number {
  // commander has printed it already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const { status, facts } = error instanceof CommandFailed ? error : { status: 1, facts: {} };
  const text = error instanceof Error ? error.message : String(error);
  if (json) printJson(cli, { error: text, ...facts });
  else hint(cli, `perpwatch: ${isExpected(error) ? text : bugText(error)}`);
  return status;
}

/** Failures that are told by their message: those whose classes say so, and those of the operating system. */
const expected = [
  "CommandFailed",
  "HistoryError",
  "CommitFailed",
  "DashboardError",
  "ExchangeError",
  "BadRecord",
  "BadKey",
  "LedgerError",
  "InstructionsRefused",
  "BadForms",
  "SigningRefused",
  "SignerUnavailable",
  "MarketDiffers",
];

function isExpected(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return expected.includes(error.name) || ("syscall" in error && "code" in error);
}

function bugText(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `this should not have happened; please report it\n${stack}`;
}
