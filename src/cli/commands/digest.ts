/** `perpwatch digest`: prints or sends the present digest. */
import type { Command } from "commander";
import { sectionLines } from "../../channels/message/lines.ts";
import type { DigestAnswer } from "../../domain/ports.ts";
import { type Cli, type CommonOptions, declare, print, printJson } from "../command.ts";
import { locate } from "../configuration.ts";
import { ask, askAbout, noDaemon } from "../daemon.ts";

interface DigestOptions extends CommonOptions {
  readonly to?: string;
  readonly print?: boolean;
}

export function digestCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "digest",
    summary: "equity, profit, funding, fills, alerts, deliveries and open risks since the last digest",
    about:
      "Prints it; with --to the running daemon sends it to a channel. The schedule of `digest:` in the configuration goes on\n" +
      "as if it had not been asked.",
    examples: ["digest", "digest --to mail"],
  })
    .option("--to <channel>", "send it to this channel")
    .option("--print", "print it as well as sending it; default without --to")
    .action((options: DigestOptions) => run(cli, options));
}

async function run(cli: Cli, options: DigestOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const { to } = options;
  const asking = ask<DigestAnswer>(place, "POST", "/api/v1/digest", {
    receivers: to === undefined ? [] : [to],
  });
  const answer = await (to === undefined ? asking : askAbout(place, "channel", to, asking));
  if (answer.kind === "noDaemon") throw noDaemon(place);
  if (answer.body.kind !== "told") return;
  const { content, messageIds } = answer.body;
  if (options.json) return printJson(cli, { ...content, messageIds });
  if (to === undefined || options.print)
    print(cli, [content.title, "", ...sectionLines(content.sections ?? [])].join("\n"));
  if (to !== undefined) print(cli, `The digest is queued for ${to} (message ${messageIds.join(", ")}).`);
}
