/** Shared by all commands: their streams, their declaration, their failures. */
import { type Command, Option } from "commander";
import { printableJson } from "../domain/text/escape.ts";
import { nearestName } from "../domain/text/nearest.ts";
import { toWire } from "../web/wire.ts";
import { forTerminal } from "./terminal/print.ts";

/** The process as a command sees it. */
export interface Cli {
  readonly in: NodeJS.ReadStream;
  /** For the requested output. */
  readonly out: NodeJS.WriteStream;
  /** For logs, hints and failures. */
  readonly err: NodeJS.WriteStream & { readonly fd: number };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The exit status so far: 0 done, 1 tried and failed, 2 wrong use, configuration or rules. */
  status: number;
}

/** Options of every command. */
export interface CommonOptions {
  readonly config: string;
  readonly json?: boolean;
}

/** A failure that the user can correct. Printed without a stack. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
  /** 1: tried and failed; 2: wrong use, configuration or rules. */
  readonly status: 1 | 2;
  /** More fields for `--json`. */
  readonly facts: Readonly<Record<string, unknown>>;
  constructor(message: string, status: 1 | 2 = 1, facts: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.status = status;
    this.facts = facts;
  }
}

export const defaultConfig = "./config.yaml";

export interface CommandSpec {
  /** With its arguments: `show <id>`. */
  readonly usage: string;
  readonly summary: string;
  /** Further text of `--help`, above the example. */
  readonly about?: string;
  readonly examples: readonly string[];
  /** It reads no configuration: `--config` is accepted, but not shown in the help. */
  readonly isDefault?: boolean;
  /** It reads no configuration: `--config` is taken, and not offered. */
  readonly needsNoConfig?: boolean;
}

/** Declares a command below `parent`, with the common options, and examples in its help. */
export function declare(parent: Command, spec: CommandSpec): Command {
  const command = parent.command(spec.usage, spec.isDefault === true ? { isDefault: true } : {});
  // Lines wrap at the terminal's width; only paragraphs are kept.
  const about = spec.about === undefined ? "" : `\n\n${spec.about.replace(/(?<!\n)\n(?!\n)/g, " ")}`;
  command.summary(spec.summary).description(sentence(spec.summary) + about);
  const config = new Option("-c, --config <file>", "the configuration").default(defaultConfig);
  command.addOption(spec.needsNoConfig === true ? config.hideHelp() : config);
  command.option("--json", "print JSON");
  if (spec.isDefault === true) refuseUnknownBeside(parent, command);
  return withExamples(command, spec.examples);
}

/** Reports a word after the parent that is no command as a mistyped one, not as an argument of the default command. */
function refuseUnknownBeside(parent: Command, command: Command): void {
  command.allowExcessArguments(true).hook("preAction", () => {
    const [found] = command.args;
    if (found === undefined) return;
    const isNamed = parent.args[0] === command.name();
    if (isNamed) command.error(`error: ${command.name()} takes no arguments, found '${found}'`);
    unknownCommand(parent, found);
  });
}

/** Ends with the error that `found` is no command of `parent`. */
export function unknownCommand(parent: Command, found: string): never {
  const names = parent.commands.map((one) => one.name());
  const nearest = nearestName(found, names);
  const none = names.length === 0 ? `${parent.name()} has no commands.` : `There are ${names.join(", ")}.`;
  parent.error(
    `error: unknown command '${found}'\n(${nearest === null ? none : `Did you mean ${nearest}?`})`,
  );
}

function sentence(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}${/[.)]$/.test(text) ? "" : "."}`;
}

/** Declares a command that only contains others. */
export function declareGroup(
  parent: Command,
  name: string,
  summary: string,
  examples: readonly string[],
): Command {
  return withExamples(parent.command(name).summary(summary).description(sentence(summary)), examples);
}

function withExamples(command: Command, examples: readonly string[]): Command {
  const title = examples.length === 1 ? "Example:" : "Examples:";
  const lines = examples.map((example) => `  $ perpwatch ${example}`);
  return command.addHelpText("after", `\n${title}\n${lines.join("\n")}`);
}

/** Returns true if `--config` was given. */
export function namedConfig(command: Command): boolean {
  return command.getOptionValueSource("config") !== "default";
}

export function print(cli: Cli, text: string): void {
  cli.out.write(`${forTerminal(text)}\n`);
}

/** JSON for programs, with numbers as in /api/v1. */
export function printJson(cli: Cli, value: unknown): void {
  print(cli, printableJson(JSON.stringify(JSON.parse(toWire(value)), null, 2)));
}

/** Writes to standard error, for people. */
export function hint(cli: Cli, text: string): void {
  cli.err.write(`${forTerminal(text)}\n`);
}
