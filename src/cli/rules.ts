/** `perpwatch rules`: what can be done with rules without running them. Each command stands in its own file. */
import type { Command } from "commander";
import { type Cli, declareGroup } from "./command.ts";
import { checkCommand } from "./rules/check.ts";
import { testCommand } from "./rules/test.ts";

export function rulesCommand(program: Command, cli: Cli): void {
  const group = declareGroup(program, "rules", "check rule files", [
    "rules check",
    "rules check ./my-rules.yaml",
  ]);
  checkCommand(group, cli);
  testCommand(group, cli);
}
