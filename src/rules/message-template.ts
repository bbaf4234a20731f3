/**
 * Templates of channels: the language of rules' texts over the alert as a message tells it, and what was known when it was
 * owed. They look at nothing else: no loops, no history, no other market, no clock but the message's own.
 *
 * What its author wrote and what others wrote stay apart in what comes out, since a channel may take markup from the one and
 * never from the other.
 */

import { escaped, escapedLines } from "../domain/escape.ts";
import { type Source, sources } from "../domain/sources.ts";
import type {
  NamedFact,
  TemplateData,
  TemplateFacts,
  TemplateValue,
  WordedPart,
  WordedText,
} from "../domain/template-data.ts";
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
  /** It prints `alert.lead` itself. */
  readonly leads: boolean;
  /** The part of the vocabulary that it names beside the alert and the message: to be noted down when a message is owed. */
  readonly named: readonly NamedFact[];
  /** @throws never for what the data are. */
  words(data: TemplateData): WordedText;
}

/** One value in a message: a description, or all figures. */
const maxValue = 1_500;
const ownFacts: ReadonlySet<string> = new Set(["alert", "message"]);

const naming: Naming = { scopes: [], event: null, value: null, countable: null, owners: messageVocabulary };

/** Nothing grows old in a message. */
const never = Object.fromEntries(sources.map((source) => [source, Number.POSITIVE_INFINITY])) as Record<
  Source,
  number
>;

/**
 * @param longest of what comes out, characters
 * @param timezone IANA name, in which times are told
 * @returns undefined when something was wrong; every mistake was told
 */
export function compileMessageTemplate(
  text: string,
  longest: number,
  timezone: string,
  report: (problem: ExpressionProblem) => void,
): MessageTemplate | undefined {
  const gathered = new Gathered(never);
  const parts = partsOf(text.trim(), naming, gathered, (problem) =>
    report({ ...problem, start: problem.start + text.length - text.trimStart().length }),
  );
  if (parts === undefined) return undefined;
  const reads = gathered.reads.map(({ scope, field }) => ({ owner: scope, field }));
  const printing = { timezone, longest: maxValue, lines: true };
  return {
    text,
    leads: reads.some(({ owner, field }) => owner === "alert" && field === "lead"),
    named: reads.filter(({ owner }) => !ownFacts.has(owner)),
    words: (data) => {
      const env = envOf(data);
      const words: WordedPart[] = [];
      let room = longest;
      for (const part of parts) {
        const own = typeof part === "string";
        const whole = own ? escapedLines(part) : print(part, env, printing);
        const shown = shorten(whole, room);
        add(words, shown, own);
        room -= [...shown].length;
        if (shown !== whole || room <= 0) break;
      }
      return words;
    },
  };
}

/** Neighbours of one kind are one: what is harmless in two pieces may be none together. */
function add(words: WordedPart[], text: string, own: boolean): void {
  if (text === "") return;
  const last = words.at(-1);
  if (last === undefined || "own" in last !== own) words.push(own ? { own: text } : { value: text });
  else words[words.length - 1] = "own" in last ? { own: last.own + text } : { value: last.value + text };
}

/** Facts whose line breaks are ours. */
const textsOfLines: ReadonlySet<string> = new Set([
  "alert.description",
  "alert.figures",
  "alert.freshness",
  "alert.whatNow",
]);

/** Facts with what cannot be seen shown as escapes: line breaks, too, but for those of our own texts. */
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
 * Notes down what templates name, as a subject's facts have it. What is too old, or not there, is left out.
 * @param scheduleMs how often each source is asked
 */
export function factReader(
  named: readonly NamedFact[],
  scheduleMs: Readonly<Record<Source, number>>,
): (env: Env) => TemplateFacts | undefined {
  const staleAfterMs = staleness(undefined, scheduleMs);
  const reads = named.flatMap(({ owner, field }) => {
    const [found] = namedFields([{ owner, field }]);
    const whose = { scope: owner as ReadScope, symbol: null };
    return found ? [{ owner, field, run: readField(`${owner}.${field}`, whose, found, staleAfterMs) }] : [];
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

/** The fields of rules' vocabulary that are meant; of an event, those of the first kind that has them. */
export function namedFields(named: readonly NamedFact[]): readonly Field[] {
  return named.flatMap(({ owner, field: name }) => {
    const tables =
      owner === "event"
        ? eventKinds.map((kind) => eventVocabulary[kind])
        : scopes.filter((scope) => scope === owner).map((scope) => vocabulary[scope]);
    return tables.flatMap((fields) => fields.filter((field) => field.name === name)).slice(0, 1);
  });
}
