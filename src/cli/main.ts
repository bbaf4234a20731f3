/**
 * The command line: one file for each command, registered here. Only the named command is loaded, and its dependencies
 * when it runs, so that requests to the daemon are fast.
 */
import { Command, CommanderError } from "commander";
import { version } from "../daemon/version.ts";
import { type Cli, CommandFailed, hint, printJson, unknownCommand } from "./command.ts";
import { closeClosedTerminals } from "./terminal/terminal.ts";

type Register = (program: Command, cli: Cli) => void;

/** In the order of `--help`. */
const commands: Readonly<Record<string, () => Promise<Register>>> = {
  start: async () => (await import("./start/start.ts")).startCommand,
  check: async () => (await import("./start/check.ts")).checkCommand,
  status: async () => (await import("./commands/status.ts")).statusCommand,
  alerts: async () => (await import("./commands/alerts.ts")).alertsCommand,
  silence: async () => (await import("./commands/silence.ts")).silenceCommand,
  notifications: async () => (await import("./commands/notifications.ts")).notificationsCommand,
  whatif: async () => (await import("./commands/whatif.ts")).whatifCommand,
  rules: async () => (await import("./commands/rules.ts")).rulesCommand,
  history: async () => (await import("./commands/history.ts")).historyCommand,
  routing: async () => (await import("./commands/routing.ts")).routingCommand,
  rota: async () => (await import("./commands/rota.ts")).rotaCommand,
  channels: async () => (await import("./commands/channels.ts")).channelsCommand,
  drill: async () => (await import("./commands/drill.ts")).drillCommand,
  digest: async () => (await import("./commands/digest.ts")).digestCommand,
  page: async () => (await import("./commands/page.ts")).pageCommand,
  token: async () => (await import("./commands/token.ts")).tokenCommand,
  wallet: async () => (await import("./signing/wallet.ts")).walletCommand,
  signer: async () => (await import("./signing/signer.ts")).signerCommand,
  onboard: async () => (await import("./signing/onboard.ts")).onboardCommand,
  "stop-loss": async () => (await import("./signing/stop-loss.ts")).stopLossCommand,
  api: async () => (await import("./commands/api.ts")).apiCommand,
  service: async () => (await import("./commands/service.ts")).serviceCommand,
  simulate: async () => (await import("./commands/simulate.ts")).simulateCommand,
  completion: async () => (await import("./commands/completion.ts")).completionCommand,
  version: async () => (await import("./commands/version.ts")).versionCommand,
};

/**
 * Runs one command in this process.
 * @param argv the words after the program's name
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
  ignoreClosedOutput(cli);
  await runCommand(argv, cli);
  await Promise.all([written(cli.out), written(cli.err)]);
  // Resources that a command left open (a failed start, an idle connection) do not keep the process alive.
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
    // Before any command is declared, because commands inherit this.
    .exitOverride();
  const [name = ""] = argv;
  const needed = Object.hasOwn(commands, name) ? [commands[name]!] : Object.values(commands);
  for (const load of needed) (await load())(program, cli);
  // After the commands, which must not inherit it: options of the program do not stand before their names.
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

/** `help` with any number of words; commander's own shows the general help for a mistyped command. */
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
 * Keeps the process running when the reader of its output is gone (`perpwatch alerts | head`, a closed terminal), or
 * when it cannot be written, as on a full disk. The latter is reported once, and the command counts as failed.
 */
function ignoreClosedOutput(cli: Cli): void {
  cli.err.on("error", () => {});
  let isTold = false;
  cli.out.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE" || error.code === "EIO" || isTold) return;
    isTold = true;
    cli.status ||= 1;
    cli.err.write(`perpwatch: the output cannot be written: ${error.message}\n`);
  });
  process.on("exit", closeClosedTerminals);
}

const lingerMs = 500;

/** Resolves when the reader has taken everything, or is gone, so that a slow reader loses nothing. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write("", () => resolve()));
}

function failed(cli: Cli, error: unknown, json: boolean): number {
  // Commander has printed it already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const { status, facts } = error instanceof CommandFailed ? error : { status: 1, facts: {} };
  const text = error instanceof Error ? error.message : String(error);
  if (json) printJson(cli, { error: text, ...facts });
  else hint(cli, `perpwatch: ${isExpected(error) ? text : bugText(error)}`);
  return status;
}

/** Errors of which only the message is printed: of these classes, and of the operating system. */
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
