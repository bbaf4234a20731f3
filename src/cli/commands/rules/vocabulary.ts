/** `perpwatch rules vocabulary`: the names that rules can use, for people, as JSON, and as a page. */
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
    usage: "vocabulary [name]",
    summary: "list everything that a rule can name: fields, events, functions",
    about: "With a name only that part: a scope (position), an event (on liquidation), functions.",
    examples: [
      "rules vocabulary",
      "rules vocabulary position",
      "rules vocabulary functions",
      "rules vocabulary --markdown --out docs/rules.md",
    ],
    needsNoConfig: true,
  })
    .option("--markdown", "print the whole reference as a page, with examples")
    .option("--out <file>", "write it there instead of printing it")
    .action((name: string | undefined, options: Options) => vocabulary(cli, name, options));
}

async function vocabulary(cli: Cli, name: string | undefined, options: Options): Promise<void> {
  if (options.out !== undefined && options.markdown !== true)
    throw new CommandFailed("--out takes the page: add --markdown", 2);
  const reference = await import("./reference.ts");
  if (options.markdown === true) {
    const text = reference.rulesMarkdown();
    if (options.out === undefined) return void cli.out.write(text);
    const { writeFile } = await import("node:fs/promises");
    await writeFile(options.out, text);
    if (options.json) printJson(cli, { file: options.out, bytes: Buffer.byteLength(text) });
    else print(cli, `${options.out}: written`);
    return;
  }
  const all = reference.sections();
  const groups = reference.functionsByGroup();
  const wanted = name?.replace(/^on[ :]/, "on ");
  const sections = all.filter(
    ({ title }) => wanted === undefined || title === wanted || title === `on ${wanted}`,
  );
  const functions = wanted === undefined || wanted === "functions" ? groups : [];
  if (sections.length === 0 && functions.length === 0) {
    const { nearestName } = await import("../../../rules/index.ts");
    const names = [...all.map(({ title }) => title), "functions"];
    const nearest = nearestName(wanted ?? "", names);
    const hint = nearest === null ? `There are ${names.join(", ")}.` : `Did you mean ${nearest}?`;
    throw new CommandFailed(`nothing is called ${name}. ${hint}`, 2);
  }
  if (options.json) return printJson(cli, { sections, functions: functions.flatMap(({ rows }) => rows) });
  const paint = paintFor(cli.out);
  const parts = [
    ...sections.map(({ title, about, fields }) =>
      [
        paint("bold", title),
        wrapped(about.replaceAll("`", ""), ""),
        table(
          ["field", "type", "what it is"],
          fields.map((field) => [
            field.name,
            field.type === "enum" ? "word" : reference.typeText(field),
            field.type === "enum"
              ? `${reference.meaningText(field)}: ${reference.typeText(field)}`
              : reference.meaningText(field),
          ]),
          paint,
        ),
      ].join("\n"),
    ),
    ...functions.map(({ title, rows }) =>
      [
        paint("bold", title),
        table(
          ["function", "gives"],
          rows.map(({ form, gives }) => [form, gives]),
          paint,
        ),
      ].join("\n"),
    ),
  ];
  print(cli, parts.join("\n\n"));
}
