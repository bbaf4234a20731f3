/** The reference of channel templates: for `channels vocabulary`, and docs/templates.md. */
import { plainLines } from "../../../channels/message/lines.ts";
import {
  applyTemplates,
  type ChannelTemplates,
  type TemplateKind,
  templateKinds,
} from "../../../channels/message/template.ts";
import { render } from "../../../channels/message.ts";
import { compileMessageTemplate, messageVocabulary } from "../../../rules/index.ts";
import { meaningText, type Section, typeText } from "../rules/reference.ts";
import { sampleMessage } from "./sample.ts";

/** The names that templates have besides the vocabulary of rules. */
export function ownSections(): readonly Section[] {
  return [
    { title: "alert", about: "The reported alert.", fields: messageVocabulary.alert! },
    { title: "message", about: "The message that reports it.", fields: messageVocabulary.message! },
  ];
}

/** The formatters, each with its result for the sample alert. */
export function printers(): readonly {
  readonly form: string;
  readonly prints: string;
  readonly note: string;
}[] {
  const rows: readonly (readonly [form: string, note: string])[] = [
    ["usd(position.notional)", "money"],
    ["usd(position.unrealizedPnl)", ""],
    ["percent(alert.value)", "of a fraction; the rule's value is a number without a unit"],
    ["price(position.liquidationPrice)", "with the digits of the market's tick"],
    ["amount(position.size)", "base units and other numbers"],
    ["duration(alert.lasted)", 'also of a text, to compare with: duration("5m")'],
    ["ago(alert.firedAt)", "before the message was finalized; of a duration too"],
    ["alert.at", "a time, in the configured zone"],
    ["position.liquidationDistance", "a number that has a unit needs no formatter"],
    ["alert.labels.team", "a label of wallet or rule"],
    ['alert.details["Margin ratio"]', "a figure by its name"],
    ['has(alert.runbook) ? "see " + alert.runbook : ""', "nothing where there is none"],
    ['alert.severity == "critical" ? "NOW" : "soon"', "one of two"],
    ["alert.symbol.lowerAscii()", "functions of texts as in rules"],
  ];
  return rows.map(([form, note]) => ({
    form,
    note,
    prints: renderSample({ all: { body: `{{ ${form} }}` } }, "rose")[2]!,
  }));
}

interface SampleTemplate {
  readonly title?: string;
  readonly body?: string;
}

/**
 * Renders the sample alert by templates.
 * @throws {Error} when they are invalid
 */
function renderSample(
  { all, ...kinds }: { readonly all: SampleTemplate } & { readonly [kind in TemplateKind]?: SampleTemplate },
  kind: TemplateKind,
): readonly string[] {
  const texts = (of: SampleTemplate) => ({
    ...(of.title === undefined ? {} : { title: compiled(of.title, 300) }),
    ...(of.body === undefined ? {} : { body: compiled(of.body, 3_000) }),
  });
  const byKind = Object.fromEntries(Object.entries(kinds).map(([name, of]) => [name, texts(of)]));
  const templates: ChannelTemplates = { all: texts(all), byKind };
  return plainLines(
    render(
      applyTemplates(sampleMessage(kind, "chat"), templates, {}, (detail) => {
        throw new Error(detail);
      }),
    ),
  );
}

function compiled(text: string, maxLength: number) {
  const template = compileMessageTemplate(text, maxLength, "UTC", ({ message }) => {
    throw new Error(`${text}: ${message}`);
  });
  if (template === undefined) throw new Error(`${text}: no template`);
  return template;
}

const exampleTexts = {
  all: {
    title: "{{ alert.symbol }} {{ position.side }} {{ usd(position.notional) }}",
    body: `Mark {{ price(position.markPrice) }}, liquidation {{ price(position.liquidationPrice) }},
{{ percent(position.liquidationDistance) }} away. Equity {{ usd(trader.equity) }}.
{{ alert.freshness }}
{{ alert.whatNow }}`,
  },
  resolved: {
    title: "{{ alert.symbol }} is well again after {{ duration(alert.lasted) }}",
    body: "{{ alert.freshness }}",
  },
} as const;

const kindMeanings: Readonly<Record<TemplateKind, string>> = {
  event: "something happened once: a liquidation, a fill, a notification",
  fired: "an alert begins",
  rose: "it got worse, by a level",
  fell: "it got better, by a level, and still fires",
  worsened: "its value got markedly worse within its level",
  changed: "its value is markedly another one, and the rule does not give which direction is worse",
  reminder: "it still fires",
  escalated: "nobody acknowledged it, and others are notified",
  acknowledged: "somebody takes care of it",
  resolved: "it recovered",
  ended: "it ended otherwise: closed, liquidated, deleveraged, flipped, explained, no longer watched",
};

/** The complete page. */
export function templatesMarkdown(): string {
  const { all, resolved } = exampleTexts;
  const indented = (text: string, by: number) => text.split("\n").map((line) => `${" ".repeat(by)}${line}`);
  const renderedBlock = (kind: TemplateKind) => [
    "```text",
    ...renderSample(exampleTexts, kind).map((line) => line.trimEnd()),
    "```",
    "",
  ];
  const lines = [
    "# Templates",
    "",
    "What a message says follows from the rule (its `summary` and `description`) and from what happened. A channel may have its own",
    "words for it: a `title` in place of the summary, a `body` in place of description, figures, times and what to do. What is left",
    "out stays as it is.",
    "",
    "Made from the vocabulary in `src/rules/` by `npm run docs` (`perpwatch channels vocabulary --markdown`); a test holds it to that,",
    "and loads the example.",
    "",
    "```yaml",
    "channels:",
    "  chat:",
    "    type: console",
    "    templates:",
    `      title: "${all.title}"`,
    "      body: |",
    ...indented(all.body, 8),
    "      resolved:",
    `        title: "${resolved.title}"`,
    `        body: "${resolved.body}"`,
    "```",
    "",
    "As plain text, the beginning of an alert is then reported like this:",
    "",
    ...renderedBlock("fired"),
    "and its end like this:",
    "",
    ...renderedBlock("resolved"),
    "`perpwatch check` reports every mistake in it, with line and column and the name that may have been meant;",
    "`perpwatch channels preview chat` prints a made-up alert in these words, `perpwatch drill` sends one. A running daemon takes them",
    "at its next SIGHUP: a message that is finalized already is sent unchanged, on every attempt.",
    "",
    "## By the step in an alert's life",
    "",
    "`title` and `body` stand for every step. Under the name of a step they stand for that one, before those for all:",
    "",
    "| step | is |",
    "| --- | --- |",
    ...templateKinds.map((kind) => `| \`${kind}\` | ${kindMeanings[kind]} |`),
    "",
    "What leads (`FIRING warning`, `RESOLVED`) stands before a title, so that nobody takes an end for a beginning. Not where the title",
    "names `alert.lead` itself, nor before a title of one step: that is the whole line. A fire drill is always called one. The",
    "number of the alert, its link, notes (that it is late, a drill), what else fires, and the footer stand beside them as ever.",
    "",
    "## What they can say",
    "",
    "`{{ … }}` holds an expression, in the language of [rules](rules.md): names, formatters, `? :`, comparisons. No loops, no look back",
    "over history, no other market; nothing can be reached but what is named here. At most 40 of them in a text of 4,000",
    "characters; a title comes out with 300 at most, a body with 3,000, and each value in it with 1,500. What is not known prints as",
    "“–”; a text that comes out as nothing else leaves the usual words, and so does one that fails.",
    "",
    "| written | prints | |",
    "| --- | --- | --- |",
    ...printers().map(({ form, prints, note }) => `| \`${cell(form)}\` | ${cell(prints)} | ${cell(note)} |`),
    "",
    ...ownSections().flatMap(({ title, about, fields }) => [
      `### ${title}`,
      "",
      about,
      "",
      "| field | type | what it is |",
      "| --- | --- | --- |",
      ...fields.map(
        (field) => `| \`${field.name}\` | ${cell(typeText(field))} | ${cell(meaningText(field))} |`,
      ),
      "",
    ]),
    "### Of rules",
    "",
    `Fields of ${otherOwners()},`,
    "as [rules](rules.md#what-an-expression-can-name) have them, but for lists: as they were when the message became pending, not when it",
    "leaves. They are those of the alert's own subject and of what owns it; `event` is what happened, whatever its kind. Order books,",
    "trading hours and candles that a template names are read of the markets that are held. Only what templates name is noted down",
    "with an alert, from the start or reload on that brought the template.",
    "",
    "## Markup",
    "",
    "A value is data: it is escaped for the channel, cannot ping, link or format, and what looks like a template in it is none. What",
    "stands around it in the template is yours: on Discord and Slack its markup counts. Everywhere else it is text, in mail too.",
    "",
    "| channel | `title` is | `body` is |",
    "| --- | --- | --- |",
    "| Discord | the line that is pushed, and the embed's title where there are several | the embed's description; fields for figures and times go |",
    "| email | the subject and heading | the text, in both parts |",
    "| Slack, Telegram, console | the first line | what stands below it |",
    "| ntfy | the title | the message |",
    "| PagerDuty | `summary` | `custom_details.description`; the other details stay |",
    "| Alertmanager | the annotation `summary` | the annotation `description`; the others stay |",
    "| webhook, command | `title`, and `summary` of the alert | `description` of the alert; the other fields stay |",
    "",
    "Each service's limits hold all the same: what is too long is cut, as it is without templates. Digests and test messages have",
    "their own words.",
    "",
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}

function otherOwners(): string {
  const names = Object.keys(messageVocabulary).filter((name) => name !== "alert" && name !== "message");
  return names.map((name) => `\`${name}\``).join(", ");
}

const cell = (text: string): string => text.replaceAll("|", "\\|");
