/** The reference of the rule language: for `rules vocabulary`, and docs/rules.md. */

import { sourceWords } from "../../../domain/text/source-words.ts";
import {
  eventKinds,
  eventVocabulary,
  type Field,
  type FunctionRow,
  functionRows,
  orderItemFields,
  scopes,
  visibleScopes,
  visibleToEvents,
  vocabulary,
} from "../../../rules/index.ts";
import { examples, firstRule } from "./examples.ts";

export interface Section {
  readonly title: string;
  readonly about: string;
  readonly fields: readonly Field[];
}

/** All names: by scope, then by event. */
export function sections(): readonly Section[] {
  const seen = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ");
  return [
    ...scopes.map((scope) => ({
      title: scope,
      about: `A rule of scope ${scope} sees ${seen(visibleScopes[scope])}.`,
      fields: vocabulary[scope],
    })),
    { title: "orders", about: "An item of `trader.orders`.", fields: orderItemFields },
    ...eventKinds.map((kind) => ({
      title: `on ${kind}`,
      about: `The fields of \`event\`. The rule sees ${seen(visibleToEvents[kind])} as well.`,
      fields: eventVocabulary[kind],
    })),
  ];
}

/** The type of a field, with the unit of a number and the members of an enum. */
export function typeText(field: Field): string {
  switch (field.type) {
    case "number":
      return unitWords[field.unit] ?? field.unit;
    case "boolean":
      return "true or false";
    case "enum":
      return (field.members ?? []).map((member) => `"${member}"`).join(", ") + (field.open ? ", …" : "");
    case "texts":
      return "texts by name";
    case "numbers":
      return "numbers by name";
    case "positions":
      return "list of positions";
    case "orders":
      return "list of orders";
    case "capabilities":
      return "true or false by name";
    default:
      return field.type;
  }
}

const unitWords: Readonly<Record<string, string>> = {
  usd: "USD",
  price: "price, USD",
  units: "base units",
  ratio: "fraction",
  rate: "fraction an hour",
  yearlyRate: "fraction a year",
  times: "times",
  count: "count",
  bytes: "bytes",
  none: "number",
};

/** The sources of a figure; empty: it is always known. */
export function sourcesText({ sources }: Field): string {
  return sources.map((source) => sourceWords[source]).join(", ");
}

export function meaningText({ meaning, absent, derived }: Field): string {
  if (absent === undefined || derived !== undefined || absent === "missing") return meaning;
  return `${meaning}. None: ${absent}`;
}

const groupTitles: Readonly<Record<FunctionRow["group"], string>> = {
  history: "Looking back",
  numbers: "Numbers",
  lists: "Lists",
  texts: "Texts",
  times: "Times and durations",
  printing: "In texts, and elsewhere",
};

export function functionsByGroup(): readonly {
  readonly title: string;
  readonly rows: readonly FunctionRow[];
}[] {
  return (Object.keys(groupTitles) as FunctionRow["group"][]).map((group) => ({
    title: groupTitles[group],
    rows: functionRows.filter((row) => row.group === group),
  }));
}

/** The complete page. */
export function rulesMarkdown(): string {
  const lines = [
    "# Rules",
    "",
    "A rule file is YAML; its conditions are CEL, the Common Expression Language. Everything is checked when it is loaded: names,",
    "types, enums, windows, templates. `perpwatch rules check` says what is wrong, where, and which name may have been meant; a",
    "running daemon never replaces a good set of rules by a wrong one.",
    "",
    "Made from the vocabulary in `src/rules/` by `npm run docs` (`perpwatch rules vocabulary --markdown`); a test holds it to that,",
    "and loads every example.",
    "",
    "## A rule in a minute",
    "",
    "Write this to `my-rules/margin.yaml`, name it in config.yaml (`rules: [shipped, ./my-rules/*.yaml]`), and check it with",
    "`perpwatch rules check`:",
    "",
    ...yaml(firstRule),
    "A running daemon takes it at its next SIGHUP. `perpwatch rules test` holds it to made-up figures (see [rule tests](rule-tests.md)).",
    "",
    "## Examples to copy",
    "",
    ...examples.flatMap(({ title, text, yaml: source }) => [`### ${title}`, "", text, "", ...yaml(source)]),
    ...semantics,
    "## What an expression can name",
    "",
    "Ratios are fractions, money is USD, `size` is signed and `notional` positive, funding is positive when received. A word of the",
    "exchange's that is not known here reads as `\"other\"`. Beside these: `value` (the rule's), `value.NAME` (a named value), `now`.",
    "",
    ...sections().flatMap(({ title, about, fields }) => [
      `### ${title}`,
      "",
      about,
      "",
      "| field | type | what it is | from |",
      "| --- | --- | --- | --- |",
      ...fields.map(
        (field) =>
          `| \`${field.name}\` | ${cell(typeText(field))} | ${cell(meaningText(field))} | ${cell(sourcesText(field))} |`,
      ),
      "",
    ]),
    "## Functions",
    "",
    ...functionsByGroup().flatMap(({ title, rows }) => [
      `### ${title}`,
      "",
      "| | |",
      "| --- | --- |",
      ...rows.map(({ form, gives }) => `| \`${form.replaceAll("|", "\\|")}\` | ${cell(gives)} |`),
      "",
    ]),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}

const semantics: readonly string[] = [
  "## Unknown",
  "",
  "What cannot be known is *unknown*: data older than `staleAfter`, a window that was not watched for 90 % of its time, 0/0. Unknown",
  "neither fires nor resolves, and data that stay missing are an alert of their own. `&&` and `||` absorb it where the other side decides. In",
  "texts it prints as “–”, and as nothing where an expression ends with the empty text:",
  '`{{ has(event.price) ? " at " + price(event.price) : "" }}`. `maxOver` and `drawdown` answer from what was seen of their window, and',
  "messages say how much that is; `sumOver` and `countOver` add up the events that are known.",
  "",
  "A fresh answer that there is none is a value: no liquidation price is a distance of +∞, a missing label is the empty text.",
  "Division follows the usual rules of floating point; dividing by a zero that is written out is refused.",
  "",
  "## Worse and changed",
  "",
  "An alert that still fires is notified again, acknowledged or not, when its `value` got worse by `remind.worseBy` (20 %) since the",
  "last notification or acknowledgement. The direction follows from the condition of the level: from comparisons of `value`, of the",
  "value's expression written out again, or of a figure in it (`market.markPrice > 110.0`, where the value is",
  "`market.markPrice / 100.0 - 1.0`), through `!`, `&&`, `||`, `? :`, `exists`, `all`, `abs`, `min` and `max`, also of a list",
  "(`min(trader.positions.map(p, p.liquidationDistance))`); else from `resolveWhen`; else from the next level. `worse: higher` or",
  "`worse: lower` in a rule says it instead. `worse: away` is for values on two sides of 0, such as a naked size: further from 0 is",
  "worse, and a side that was not notified since the alert fired is notified at once, as `CHANGED` where it is no worse: long in",
  "place of short is news, whatever the size. A return to a notified side is notified once a minute at most, and not while somebody",
  "takes care of the alert.",
  "",
  "`worst: 100%` names a value at which the worst happens, such as liquidation. It got worse when 20 % of what was left to that is gone, and",
  "5 % of the value at least: a margin ratio that was notified at 60 % is notified again from 68 % on, at 80 % from 84 % on, at 100 % from",
  "105 % on. Without `worst` it is 20 % of the value itself, so what is left to 0 of a distance.",
  "",
  "Without a direction (`value != 0.0`, a band such as `value > 1.0 && value < 2.0`, conditions on other figures) such an alert is",
  "notified as `CHANGED` when its value is 20 % outside of all values that were notified since it fired, changed its level or was",
  "acknowledged. A value that grows with time alone (a duration, an age) is not.",
  "",
  "## Profit",
  "",
  "`wallet.pnl` and `wallet.pnlToday` are as fresh as equity. Deposits, withdrawals and transfers are no profit, but the exchange's",
  "history may tell of them minutes after the account shows them. While a change of collateral is not explained by trades, funding,",
  "fees or the history, a rule that reads profit (also through `drawdown`, `change` and books) is judged twice: as if all of the",
  "change were profit or loss, and as if all of it were paid in or out. What holds both times fires as usual, and its",
  "text says which of them its figures are of: “not counting a withdrawal, or a loss of $500.00”. What holds once fires",
  "when it has held for 10 s (or for the rule's `for`, if that is longer), and its text says so: “a withdrawal, or a loss of $3,000.00”.",
  "No alert ends because of one of the two alone. An alert that only the change raised ends as `explained` when the history shows that",
  "it was paid in or out. A change that five minutes of successful readings do not explain counts as profit or loss. What was paid",
  "in or out between the same two answers as a trade, and is less than some 0.7 % of the trade's value, counts as profit or loss",
  "until the history shows it, which is read at once after a trade that may hide more than 0.1 % of equity.",
  "",
  "`wallet.lossToday` is the loss since midnight as a share of the most that was in the wallet today: the equity of midnight and what was",
  "paid in since, less what was paid out. So a withdrawal leaves it as it is. After a withdrawal what is lost from then on is also",
  "measured against what it left, and the larger share counts. It is 0 while the day as a whole made no loss.",
  "",
  "## What is refused",
  "",
  "Unknown names and functions, words that an enum does not have, comparisons of different types, levels that do not rise, a",
  "`resolveWhen` that can hold together with its `when`, windows longer than history is kept, values that rest on themselves, two",
  "rules of one name, and whatever could take long: loops more than two deep, more than 100,000 steps, regular expressions.",
  "Numbers with and without a fraction mix, but two whole numbers divide without a rest: write `1.0 / 3`.",
  "",
  "A condition that compares a figure with a number that it does not sensibly have is a warning of `check` and `rules check`, at its",
  "place: in `trader.marginRatio > 80` a percentage stands where a fraction is meant, and `0.8` is proposed. A percent sign is no part",
  "of the language. Texts are not looked at: `position.liquidationDistance > 10.0` asks there whether it is infinite.",
  "",
];

function yaml(text: string): string[] {
  return ["```yaml", ...text.trimEnd().split("\n"), "```", ""];
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
