/** `perpwatch version`: the version of the program, and of what it runs on. */
import type { Command } from "commander";
import { version } from "../../daemon/version.ts";
import { type Cli, type CommonOptions, declare, print, printJson } from "../command.ts";

export function versionCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "version",
    summary: "print the version of perpwatch, of Node.js, and the platform",
    about: "A report of a mistake is best begun with it.",
    examples: ["version", "version --json"],
    needsNoConfig: true,
  }).action((options: CommonOptions) => {
    const node = process.versions.node;
    const platform = `${process.platform}-${process.arch}`;
    if (options.json) printJson(cli, { version, node, platform });
    else print(cli, `perpwatch ${version}, Node.js ${node}, ${platform}`);
  });
}
