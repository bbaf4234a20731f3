/** `perpwatch rules test`: runs rule tests by the live engine. */
import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import type { Command } from "commander";
import type { Failure, TestOutcome } from "../../../replay/suite/run.ts";
import type { RuleProblem } from "../../../rules/index.ts";
import { type Cli, CommandFailed, type CommonOptions, declare, print, printJson } from "../../command.ts";
import { loadSettings } from "../../load-settings.ts";
import { counted, type Paint, paintFor } from "../../terminal/print.ts";

const maxFileBytes = 512 * 1_024;
const testEnd = /\.test\.ya?ml$/;
const shippedPrefix = "shipped";

interface TestOptions extends CommonOptions {
  readonly filter?: string;
}

export function testCommand(group: Command, cli: Cli): void {
  declare(group, {
    usage: "test [files...]",
    summary: "run rule tests: files *.test.yaml beside the rules",
    about:
      "Without files: those beside the rule files of the configuration. A test gives figures against time, events and\n" +
      "failures, and says which alerts have to be pending, firing or ended at which time and what has to be sent.\n\n" +
      "Exits 1 when a test fails, 2 when a file of tests has mistakes. docs/rule-tests.md has every feature.",
    examples: ["rules test", "rules test ./rules/my.test.yaml --filter 'no data'"],
  })
    .option("--filter <text>", "only tests that have this in their names")
    .action((files: string[], options: TestOptions) => test(cli, files, options));
}

async function test(cli: Cli, files: readonly string[], options: TestOptions): Promise<void> {
  const found = files.length === 0 ? await testFilesOf(cli, options.config) : files.flatMap(testFilesAt);
  const ran = await runTestFiles(found, options.filter ?? "");
  const count = ran.reduce((sum, { outcomes }) => sum + outcomes.length, 0);
  if (count === 0 && options.filter !== undefined)
    throw new CommandFailed(`no test has "${options.filter}" in its name`, 2);
  const failed = ran.flatMap(({ outcomes }) => outcomes).filter(({ failures }) => failures.length > 0).length;
  if (failed > 0) cli.status = 1;
  if (options.json) return printJson(cli, { ok: failed === 0, ...testsJson(ran) });
  const paint = paintFor(cli.out);
  if (found.length === 0)
    return print(cli, paint("yellow", "There are no rule tests: no *.test.yaml stands beside the rules."));
  print(cli, testsText(ran, paint));
}

/** The test files of a name on the command line. */
function testFilesAt(name: string): string[] {
  const stat = statSync(name, { throwIfNoEntry: false });
  if (stat?.isDirectory() !== true) return [name];
  const found = testFilesIn(name);
  if (found.length === 0) throw new CommandFailed(`${name}: there is no *.test.yaml in this folder`, 2);
  return found;
}

function testFilesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => testEnd.test(name))
    .sort()
    .map((name) => path.join(folder, name));
}

async function testFilesOf(cli: Cli, config: string): Promise<readonly string[]> {
  const { settings } = await loadSettings(cli, config);
  return testFilesBeside(settings.ruleFiles);
}

/** Returns true for the name of a shipped pack in settings. */
export function isShipped(ruleFile: string): boolean {
  return ruleFile.startsWith(`${shippedPrefix}:`);
}

/** @param ruleFiles names as in settings: shipped packs by their name, others by their path */
export async function testFilesBeside(ruleFiles: readonly string[]): Promise<readonly string[]> {
  const { shippedRules } = await import("../../../daemon/settings.ts");
  const found = new Set<string>();
  for (const file of ruleFiles) {
    if (isShipped(file)) {
      const beside = path.join(shippedRules, `${file.slice(shippedPrefix.length + 1)}.test.yaml`);
      if (existsSync(beside)) found.add(beside);
    } else for (const one of testFilesIn(path.dirname(file))) found.add(one);
  }
  return [...found];
}

export interface RanFile {
  readonly file: string;
  readonly outcomes: readonly TestOutcome[];
}

/** @throws {CommandFailed} status 2, with every mistake in the files and in the rules that they name */
export async function runTestFiles(files: readonly string[], filter: string): Promise<readonly RanFile[]> {
  const { readTextFile } = await import("../../../config/index.ts");
  const { formatProblem } = await import("../../../rules/index.ts");
  const { readSuite } = await import("../../../replay/suite/read.ts");
  const { readySuite, runTest } = await import("../../../replay/suite/run.ts");
  const { scheduleSettings, schedulesMs } = await import("../../../collect/settings.ts");
  const { leadOf } = await import("../../../channels/message/lead.ts");
  const { shippedRules } = await import("../../../daemon/settings.ts");
  const problems: RuleProblem[] = [];
  const ready = files.flatMap((file) => {
    const read = readTextFile(file, { largestBytes: maxFileBytes, from: "anyones" });
    if ("wrong" in read) throw new CommandFailed(`${file} ${read.wrong}`, 2);
    const suite = readSuite(file, read.text);
    if ("problems" in suite) {
      problems.push(...suite.problems);
      return [];
    }
    const rules = suite.suite.rules.map((one) => ruleFile(one, file, shippedRules, readTextFile));
    const wrong = rules.filter((one) => "message" in one);
    problems.push(...wrong);
    if (wrong.length > 0) return [];
    const prepared = readySuite({
      suite: suite.suite,
      files: rules.filter((one) => "text" in one),
      scheduleMs: schedulesMs(scheduleSettings.parse({}), Date.now()),
      wording: { lead: leadOf },
    });
    if ("problems" in prepared) {
      problems.push(...prepared.problems);
      return [];
    }
    return [prepared];
  });
  if (problems.length > 0) {
    const error = `${counted(problems.length, "mistake")} in rule tests`;
    throw new CommandFailed(`${error}\n${problems.map(formatProblem).join("\n")}`, 2, {
      ok: false,
      error,
      problems,
    });
  }
  const ran: RanFile[] = [];
  for (const one of ready) {
    const outcomes: TestOutcome[] = [];
    for (const test of one.suite.tests)
      if (test.name.includes(filter)) outcomes.push(await runTest(one, test));
    ran.push({ file: one.suite.file, outcomes });
  }
  return ran;
}

type ReadTextFile = typeof import("../../../config/index.ts").readTextFile;

/** Reads a rule file that a test file names: a path relative to it, or a shipped pack. */
function ruleFile(
  { name, line }: { readonly name: string; readonly line: number },
  testFile: string,
  shippedFolder: string,
  readTextFile: ReadTextFile,
): { readonly name: string; readonly text: string } | RuleProblem {
  const isPack = name.startsWith(`${shippedPrefix}:`);
  const pack = path.join(shippedFolder, `${path.basename(name.slice(shippedPrefix.length + 1))}.yaml`);
  const own = path.isAbsolute(name) ? name : path.join(path.dirname(testFile), name);
  const read = readTextFile(isPack ? pack : own, { largestBytes: maxFileBytes, from: "anyones" });
  if ("text" in read) return { name: isPack ? name : own, text: read.text };
  const message = isPack ? `no rule pack is called ${name}` : `${name} ${read.wrong} (looked for ${own})`;
  return { file: testFile, line, column: 1, source: "", message, allowed: [], nearest: null };
}

export function testsJson(ran: readonly RanFile[]) {
  return {
    files: ran.map(({ file, outcomes }) => ({
      file,
      tests: outcomes.map(({ test, failures }) => ({
        name: test.name,
        line: test.line,
        ok: failures.length === 0,
        failures,
      })),
    })),
  };
}

/** Failures in full, then a line with the counts. */
export function testsText(ran: readonly RanFile[], paint: Paint): string {
  const lines: string[] = [];
  let [passed, failed] = [0, 0];
  for (const { file, outcomes } of ran) {
    const bad = outcomes.filter(({ failures }) => failures.length > 0);
    passed += outcomes.length - bad.length;
    failed += bad.length;
    if (outcomes.length > 0 && bad.length === 0)
      lines.push(`${paint("green", "ok    ")} ${file}: ${counted(outcomes.length, "test")}`);
    for (const { test, failures } of bad) {
      lines.push(`${paint("red", "FAILED")} ${file}:${test.line}: ${test.name}`);
      for (const failure of failures) lines.push(...failureLines(file, failure, paint));
    }
  }
  const all = `${counted(passed + failed, "test")} in ${counted(ran.length, "file")}`;
  lines.push(
    failed === 0
      ? paint("green", `${all}: all passed.`)
      : paint("red", `${all}: ${failed} failed, ${passed} passed.`),
  );
  return lines.join("\n");
}

function failureLines(file: string, { atMs, line, what, diff, values }: Failure, paint: Paint): string[] {
  const whats = {
    alerts: "other alerts than expected",
    messages: "other messages than expected",
    expectNothing: "nothing was expected",
  };
  return [
    `       at ${timeText(atMs)} (${file}:${line}): ${whats[what]} (- expected, + found)`,
    ...diff.map(({ mark, text }) => {
      const shown = `         ${mark} ${text}`;
      return mark === " " ? shown : paint(mark === "-" ? "red" : "yellow", shown);
    }),
    ...values.map((value) => `           then ${value}`),
  ];
}

function timeText(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  const rest = (ms - minutes * 60_000) / 1_000;
  if (minutes === 0) return `${rest}s`;
  return rest === 0 ? `${minutes}m` : `${minutes}m${rest}s`;
}
