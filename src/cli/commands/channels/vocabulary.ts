/** `perpwatch channels vocabulary`: the names that channel templates can use, for people, as JSON, and as a page. */
import type { Command } from "commander";
import { type Cli, CommandFailed, type CommonOptions, declare, print, printJson } from "../../command.ts";
import { paintFor, wrapped } from "../../terminal/print.ts";
import { table } from "../../terminal/table.ts";

interface Options extends CommonOptions {
  readonly markdown?: boolean;
  readonly out?: string;
}

export function vocabularyCommand(group: Command, cli: Cli): void {
  declare(group, {
    usage: "vocabulary",
    summary: "list everything that a channel's templates can name",
    about:
      "Beside the alert and the message: fields of rules vocabulary, as they were when the message became pending.",
    examples: ["channels vocabulary", "channels vocabulary --markdown --out docs/templates.md"],
    needsNoConfig: true,
  })
    .option("--markdown", "print the whole reference as a page, with examples")
    .option("--out <file>", "write it there instead of printing it")
    .action((options: Options) => vocabulary(cli, options));
}

async function vocabulary(cli: Cli, options: Options): Promise<void> {
  if (options.out !== undefined && options.markdown !== true)
    throw new CommandFailed("--out takes the page: add --markdown", 2);
  const { ownSections, printers, templatesMarkdown } = await import("./reference.ts");
  if (options.markdown === true) {
    const text = templatesMarkdown();
    if (options.out === undefined) return void cli.out.write(text);
    const { writeFile } = await import("node:fs/promises");
    await writeFile(options.out, text);
    if (options.json) printJson(cli, { file: options.out, bytes: Buffer.byteLength(text) });
    else print(cli, `${options.out}: written`);
    return;
  }
  const sections = ownSections();
  if (options.json) return printJson(cli, { sections, printers: printers() });
  const { meaningText, typeText } = await import("../rules/reference.ts");
  const paint = paintFor(cli.out);
  const parts = [
    ...sections.map(({ title, about, fields }) =>
      [
        paint("bold", title),
        wrapped(about, ""),
        table(
          ["field", "type", "what it is"],
          fields.map((field) => [
            field.name,
            field.type === "enum" ? "word" : typeText(field),
            field.type === "enum" ? `${meaningText(field)}: ${typeText(field)}` : meaningText(field),
          ]),
          paint,
        ),
      ].join("\n"),
    ),
    [
      paint("bold", "printing"),
      table(
        ["written", "prints"],
        printers().map(({ form, prints }) => [form, prints]),
        paint,
      ),
    ].join("\n"),
  ];
  print(cli, parts.join("\n\n"));
}
