/**
 * Templates of channels: the language of rules' texts, with the alert, the message, and facts recorded when the message became
 * pending. Templates can read nothing else: no loops, no history, no other market, no clock but the message's own.
 *
 * The result keeps the author's text and inserted values apart, since a channel may interpret markup in the former and never in
 * the latter.
 */

import type {
  NamedFact,
  TemplateData,
  TemplateFacts,
  TemplateValue,
  WordedPart,
  WordedText,
} from "../domain/alerts/template-data.ts";
import { type Source, sources } from "../domain/sources.ts";
import { escaped, escapedLines } from "../domain/text/escape.ts";
import { type ExpressionProblem, Gathered, type Naming } from "./expression/context.ts";
import { readField } from "./expression/nodes/fields.ts";
import { staleness } from "./load/common.ts";
import type { ReadScope } from "./rule.ts";
import { partsOf, print, shorten } from "./template.ts";
import { type Env, type Facts, Unknown } from "./value.ts";
import { eventKinds, type Field, scopes } from "./vocabulary/field-types.ts";
import { messageVocabulary } from "./vocabulary/message.ts";
import { eventVocabulary, vocabulary } from "./vocabulary.ts";

export interface MessageTemplate {
  readonly text: string;
  /** True if it prints `alert.lead` itself. */
  readonly leads: boolean;
  /** The facts that it names besides the alert and the message: they are recorded when a message becomes pending. */
  readonly named: readonly NamedFact[];
  /** Never throws, whatever the data. */
  words(data: TemplateData): WordedText;
}

/** Maximum length of one value in a message, characters: a description, or all figures. */
const maxValue = 1_500;
const ownFacts: ReadonlySet<string> = new Set(["alert", "message"]);

const naming: Naming = { scopes: [], event: null, value: null, countable: null, owners: messageVocabulary };

/** Maximum ages: values in a message do not become stale. */
const never = Object.fromEntries(sources.map((source) => [source, Number.POSITIVE_INFINITY])) as Record<
  Source,
  number
>;

/**
 * @param maxLength maximum length of the result, characters
 * @param timezone IANA name, for printed times
 * @returns undefined if there was a mistake; every mistake was reported
 */
export function compileMessageTemplate(
  text: string,
  maxLength: number,
  timezone: string,
  report: (problem: ExpressionProblem) => void,
): MessageTemplate | undefined {
  const gathered = new Gathered(never);
  const parts = partsOf(text.trim(), naming, gathered, (problem) =>
    report({ ...problem, start: problem.start + text.length - text.trimStart().length }),
  );
  if (parts === undefined) return undefined;
  const reads = gathered.reads.map(({ scope, field }) => ({ owner: scope, field }));
  const printing = { timezone, maxLength: maxValue, lines: true };
  return {
    text,
    leads: reads.some(({ owner, field }) => owner === "alert" && field === "lead"),
    named: reads.filter(({ owner }) => !ownFacts.has(owner)),
    words: (data) => {
      const env = envOf(data);
      const words: WordedPart[] = [];
      let left = maxLength;
      for (const part of parts) {
        const own = typeof part === "string";
        const whole = own ? escapedLines(part) : print(part, env, printing);
        const shown = shorten(whole, left);
        add(words, shown, own);
        left -= [...shown].length;
        if (shown !== whole || left <= 0) break;
      }
      return words;
    },
  };
}

/** Merges neighbours of one kind: markup could be split over two parts that are harmless separately. */
function add(words: WordedPart[], text: string, own: boolean): void {
  if (text === "") return;
  const last = words.at(-1);
  if (last === undefined || "own" in last !== own) words.push(own ? { own: text } : { value: text });
  else words[words.length - 1] = "own" in last ? { own: last.own + text } : { value: last.value + text };
}

/** Facts with line breaks that come from perpwatch. */
const textsOfLines: ReadonlySet<string> = new Set([
  "alert.description",
  "alert.figures",
  "alert.freshness",
  "alert.whatNow",
]);

/** Facts with invisible characters escaped, including line breaks, except those of perpwatch's own texts. */
function shown(owner: string, facts: TemplateFacts[string]): Record<string, TemplateValue> {
  return Object.fromEntries(
    Object.entries(facts).map(([field, value]) => [
      field,
      typeof value === "string" && !textsOfLines.has(`${owner}.${field}`) ? escaped(value) : value,
    ]),
  );
}

function envOf({ atMs, facts }: TemplateData): Env {
  const of = (owner: string): Facts | undefined =>
    Object.hasOwn(facts, owner) ? { values: shown(owner, facts[owner]!), seenMs: {} } : undefined;
  const none: Facts = { values: {}, seenMs: {} };
  return {
    nowMs: atMs,
    position: of("position"),
    trader: of("trader"),
    wallet: of("wallet"),
    market: of("market"),
    exchange: of("exchange") ?? none,
    daemon: of("daemon") ?? none,
    book: of("book"),
    pair: of("pair"),
    event: of("event"),
    alert: of("alert"),
    message: of("message"),
    markets: () => undefined,
    window: () => new Unknown("error", null, "messages look back over nothing"),
  };
}

/**
 * Records the facts of a subject that templates name. Stale and missing values are left out.
 * @param scheduleMs interval at which each source is read
 */
export function factReader(
  named: readonly NamedFact[],
  scheduleMs: Readonly<Record<Source, number>>,
): (env: Env) => TemplateFacts | undefined {
  const staleAfterMs = staleness(undefined, scheduleMs);
  const reads = named.flatMap(({ owner, field }) => {
    const [found] = namedFields([{ owner, field }]);
    const read = { scope: owner as ReadScope, symbol: null };
    return found ? [{ owner, field, run: readField(`${owner}.${field}`, read, found, staleAfterMs) }] : [];
  });
  if (reads.length === 0) return () => undefined;
  return (env) => {
    const facts: Record<string, Record<string, TemplateValue>> = {};
    for (const { owner, field, run } of reads) {
      const value = run(env);
      if (value instanceof Unknown || Array.isArray(value)) continue;
      facts[owner] ??= {};
      facts[owner][field] = value as TemplateValue;
    }
    return Object.keys(facts).length === 0 ? undefined : facts;
  };
}

/** The vocabulary fields for named facts; for an event, those of the first kind that has them. */
export function namedFields(named: readonly NamedFact[]): readonly Field[] {
  return named.flatMap(({ owner, field: name }) => {
    const tables =
      owner === "event"
        ? eventKinds.map((kind) => eventVocabulary[kind])
        : scopes.filter((scope) => scope === owner).map((scope) => vocabulary[scope]);
    return tables.flatMap((fields) => fields.filter((field) => field.name === name)).slice(0, 1);
  });
}
