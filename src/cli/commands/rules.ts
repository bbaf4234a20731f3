/** `perpwatch rules`: checks, tests and explanations of rules. Each command has its own file. */
import type { Command } from "commander";
import { type Cli, declareGroup } from "../command.ts";
import { backtestCommand } from "./rules/backtest.ts";
import { checkCommand } from "./rules/check.ts";
import { explainCommand } from "./rules/explain.ts";
import { shadowCommand } from "./rules/shadow.ts";
import { testCommand } from "./rules/test.ts";
import { vocabularyCommand } from "./rules/vocabulary.ts";

export function rulesCommand(program: Command, cli: Cli): void {
  const group = declareGroup(program, "rules", "check, explain, test and backtest rules", [
    "rules check",
    "rules check ./my-rules.yaml",
    "rules vocabulary position",
  ]);
  checkCommand(group, cli);
  testCommand(group, cli);
  vocabularyCommand(group, cli);
  backtestCommand(group, cli);
  shadowCommand(group, cli);
  explainCommand(group, cli);
}
