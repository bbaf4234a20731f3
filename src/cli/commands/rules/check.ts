/** `perpwatch rules check`: checks rule files without running them. */
import type { Command } from "commander";
import type { ConfigWarning } from "../../../config/index.ts";
import type { LoadInput, RuleSet } from "../../../rules/index.ts";
import {
  type Cli,
  CommandFailed,
  type CommonOptions,
  declare,
  namedConfig,
  print,
  printJson,
} from "../../command.ts";
import { knownWallets } from "../../configuration.ts";
import { loadSettings } from "../../load-settings.ts";
import { counted, type Paint, paintFor, wrapped } from "../../terminal/print.ts";

const maxFileBytes = 512 * 1_024;

export function checkCommand(group: Command, cli: Cli): void {
  declare(group, {
    usage: "check [files...]",
    summary: "check rule files, and list the rules in them",
    about:
      "Without files: the rules of the configuration, overrides included. With files: these alone, against the wallets of\n" +
      "the configuration where there is one.",
    examples: ["rules check", "rules check ./my-rules.yaml --json"],
  }).action((files: string[], options: CommonOptions, command: Command) =>
    check(cli, files, options, namedConfig(command)),
  );
}

interface Checked {
  readonly ruleSet: RuleSet;
  readonly files: readonly string[];
  readonly warnings: readonly ConfigWarning[];
}

async function check(
  cli: Cli,
  files: readonly string[],
  options: CommonOptions,
  named: boolean,
): Promise<void> {
  const {
    ruleSet,
    files: names,
    warnings,
  } = files.length === 0
    ? await configured(cli, options.config)
    : await checkFiles(cli, files, options.config, named);
  const listed = rulesByFile(ruleSet, names);
  if (options.json) return printJson(cli, { ok: true, files: listed, warnings });
  const paint = paintFor(cli.out);
  print(cli, rulesText(listed, paint));
  const { formatConfigWarning } = await import("../../../config/index.ts");
  for (const warning of warnings) print(cli, paint("yellow", `warning: ${formatConfigWarning(warning)}`));
}

async function configured(cli: Cli, config: string): Promise<Checked> {
  const { settings, warnings } = await loadSettings(cli, config);
  const rules = settings.ruleFiles;
  // Other warnings of the configuration are reported by `check`.
  const own = warnings.filter((warning) => rules.includes(warning.file));
  return { ruleSet: settings.ruleSet, files: rules, warnings: own };
}

async function checkFiles(
  cli: Cli,
  files: readonly string[],
  config: string,
  named: boolean,
): Promise<Checked> {
  const { readTextFile } = await import("../../../config/index.ts");
  const { formatProblem, loadRules } = await import("../../../rules/index.ts");
  const { scheduleSettings, schedulesMs } = await import("../../../collect/settings.ts");
  const texts = files.map((name) => {
    const read = readTextFile(name, { largestBytes: maxFileBytes, from: "anyones" });
    if ("wrong" in read) throw new CommandFailed(`${name} ${read.wrong}`, 2);
    return { name, text: read.text };
  });
  const { existsSync } = await import("node:fs");
  const wallets = named || existsSync(config) ? await knownWallets(cli, config) : [];
  const input: LoadInput = {
    files: texts,
    overrides: {},
    scheduleMs: schedulesMs(scheduleSettings.parse({}), Date.now()),
    wallets,
    timezone: "UTC",
  };
  const loaded = loadRules(input);
  if ("problems" in loaded) {
    const { problems } = loaded;
    const count = counted(problems.length, "mistake");
    const error = `${count} in rules`;
    const text = problems.map(formatProblem).join("\n");
    throw new CommandFailed(`${error}\n${text}`, 2, { ok: false, error, problems });
  }
  const { configWarningOf, silentRules, silentText } = await import("../../../daemon/settings/rule-files.ts");
  const plain = loaded.warnings.filter(({ silent }) => silent === undefined);
  const warnings = [
    ...plain.map(configWarningOf),
    ...[...silentRules(loaded.warnings)].map(([wallet, rules]) => ({
      ...{ file: config, line: 0, path: "", message: silentText(wallet, rules) },
    })),
  ];
  return { ruleSet: loaded.ruleSet, files, warnings };
}

export interface ListedFile {
  readonly file: string;
  readonly rules: readonly {
    readonly name: string;
    readonly line: number;
    /** Its subject: a scope, or the kind of event. */
    readonly about: string;
    readonly severities: readonly string[];
  }[];
}

/** The rules of each file, in their order. */
export function rulesByFile(ruleSet: RuleSet, files: readonly string[]): readonly ListedFile[] {
  const rules = [
    ...ruleSet.conditions.map(({ name, file, line, scope, levels }) => ({
      file,
      rule: {
        name,
        line,
        about: scope as string,
        severities: levels.map((level) => level.severity as string),
      },
    })),
    ...ruleSet.events.map(({ name, file, line, on, severity }) => ({
      file,
      rule: { name, line, about: `on ${on}`, severities: [severity as string] },
    })),
  ];
  return files.map((file) => ({
    file,
    rules: rules
      .filter((one) => one.file === file)
      .map((one) => one.rule)
      .sort((a, b) => a.line - b.line),
  }));
}

/** A line for each file, with the names of its rules. */
export function rulesText(files: readonly ListedFile[], paint: Paint): string {
  const count = files.reduce((sum, { rules }) => sum + rules.length, 0);
  return [
    paint("bold", `${counted(count, "rule")} in ${counted(files.length, "file")}`),
    ...files.map(({ file, rules }) => {
      const names = rules.map(({ name, about }) => `${name} (${about})`).join(", ");
      return wrapped(`  ${file}: ${names === "" ? paint("yellow", "none") : names}`, "    ");
    }),
  ].join("\n");
}
