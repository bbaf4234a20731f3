/** `perpwatch channels`: tests of channels, and previews of their templates. */
import type { Command } from "commander";
import type { SendOutcome } from "../../domain/ports.ts";
import {
  type Cli,
  CommandFailed,
  type CommonOptions,
  declare,
  declareGroup,
  print,
  printJson,
} from "../command.ts";
import { locate } from "../configuration.ts";
import { ask, askAbout, unknownName } from "../daemon.ts";
import { previewCommand } from "./channels/preview.ts";
import { vocabularyCommand } from "./channels/vocabulary.ts";

export function channelsCommand(program: Command, cli: Cli): void {
  const group = declareGroup(program, "channels", "send test messages, show what templates say", [
    "channels test chat",
    "channels preview chat",
  ]);
  declare(group, {
    usage: "test <name>",
    summary: "send one marked test message and print what the other side answered",
    about:
      "The running daemon sends it, if there is one; else it is sent from here. A console channel writes to the terminal\n" +
      "of whoever sends.",
    examples: ["channels test chat"],
  }).action((name: string, options: CommonOptions) => test(cli, name, options));
  previewCommand(group, cli);
  vocabularyCommand(group, cli);
}

async function test(cli: Cli, name: string, options: CommonOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const path = `/api/v1/channels/${encodeURIComponent(name)}/test`;
  const answer = await askAbout(place, "channel", name, ask<SendOutcome>(place, "POST", path, {}));
  const outcome = answer.kind === "answered" ? answer.body : await withoutDaemon(cli, name, options);
  const sentBy = answer.kind === "answered" ? "the running daemon" : "this command";
  if (outcome.kind !== "delivered")
    throw new CommandFailed(`${name} did not take it (${outcome.failure}): ${outcome.detail}`, 1, {
      ...outcome,
    });
  if (options.json) printJson(cli, { channel: name, sentBy, ...outcome });
  else print(cli, `${name} took the test message of ${sentBy}: ${outcome.receipt}`);
}

async function withoutDaemon(cli: Cli, name: string, options: CommonOptions): Promise<SendOutcome> {
  const { withSigning } = await import("../signing/signing.ts");
  // This process connects to the network, and reads no key.
  const { settings } = await withSigning(cli, options.config, {}, (signing) => signing.look());
  if (!Object.hasOwn(settings.channels, name))
    throw unknownName("channel", name, Object.keys(settings.channels));
  const { sendTest } = await import("../../daemon/answers/test-send.ts");
  const { withChannel } = await import("../standalone.ts");
  // With `--json`, stdout contains JSON only.
  const out = options.json ? cli.err : cli.out;
  return withChannel(settings, name, out, (channel) => sendTest(channel, Date.now()));
}
