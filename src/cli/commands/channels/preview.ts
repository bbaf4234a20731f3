/** `perpwatch channels preview`: renders a sample alert by a channel's templates, without sending it. */
import type { Command } from "commander";
import { plainLines } from "../../../channels/message/lines.ts";
import { applyTemplates, type TemplateKind, templateKinds } from "../../../channels/message/template.ts";
import { render } from "../../../channels/message.ts";
import { type Cli, CommandFailed, type CommonOptions, declare, print, printJson } from "../../command.ts";
import { unknownName } from "../../daemon.ts";
import { loadSettings } from "../../load-settings.ts";
import { paintFor } from "../../terminal/print.ts";
import { sampleMessage } from "./sample.ts";

interface Options extends CommonOptions {
  readonly kind?: string;
}

export function previewCommand(group: Command, cli: Cli): void {
  declare(group, {
    usage: "preview <name>",
    summary: "print a made-up alert as the channel's templates render it, sending nothing",
    about:
      "One text for each step that has a template of its own, and for the beginning and the end of an alert; as plain text,\n" +
      "whatever markup the channel would show.",
    examples: ["channels preview chat", "channels preview chat --kind resolved"],
  })
    .option("--kind <step>", `only this step: ${templateKinds.join(", ")}`)
    .action((name: string, options: Options) => preview(cli, name, options));
}

async function preview(cli: Cli, name: string, options: Options): Promise<void> {
  const { settings } = await loadSettings(cli, options.config);
  if (!Object.hasOwn(settings.channels, name))
    throw unknownName("channel", name, Object.keys(settings.channels));
  const templates = settings.templates.channels[name];
  const own = new Set<string>(Object.keys(templates?.byKind ?? {}));
  const kinds =
    options.kind === undefined
      ? templateKinds.filter((kind) => own.has(kind) || kind === "fired" || kind === "resolved")
      : [kindOf(options.kind)];
  const texts = kinds.map((kind) => {
    const how = { timezone: settings.timezone };
    const faults: string[] = [];
    const message = applyTemplates(sampleMessage(kind, name), templates, how, (detail) =>
      faults.push(detail),
    );
    return { kind, lines: plainLines(render(message, how)), faults };
  });
  if (options.json) return printJson(cli, { channel: name, templates: templates !== undefined, texts });
  const paint = paintFor(cli.out);
  if (templates === undefined) print(cli, `${name} has no templates: these are the usual words.\n`);
  print(
    cli,
    texts
      .map(({ kind, lines, faults }) =>
        [paint("bold", kind), ...faults, ...lines.map((line) => `  ${line}`.trimEnd())].join("\n"),
      )
      .join("\n\n"),
  );
}

function kindOf(text: string): TemplateKind {
  const kind = templateKinds.find((one) => one === text);
  if (kind === undefined) throw new CommandFailed(`--kind takes ${templateKinds.join(", ")}, not ${text}`, 2);
  return kind;
}
