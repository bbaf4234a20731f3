/** The vocabulary of channel templates: the alert, the message, and facts recorded when the message became pending. */
import { alertChangeKinds, endings, severities } from "../../domain/alerts/alert.ts";
import { eventVocabulary, vocabulary } from "../vocabulary.ts";
import { group } from "./field.ts";
import { eventKinds, type Field, scopes } from "./field-types.ts";

const { number, boolean, text, oneOf, duration, time, map } = group([]);

/** Fields of perpwatch's own data, which are never unknown. */
const word = (name: string, members: readonly string[], meaning: string): Field => ({
  ...oneOf(name, members, meaning),
  members,
});

const alert: readonly Field[] = [
  text("id", "its number: what `perpwatch alerts ack` takes"),
  text("rule", "the rule"),
  text("subject", "what the rule judged: main/0.0/SOL"),
  text("wallet", "the wallet; missing where it is of none"),
  text("symbol", "the market; missing where it is of none"),
  word("severity", severities, "the level now"),
  word("change", alertChangeKinds, "what is told of it"),
  word("ending", endings, "how it ended; missing while it has not"),
  text("lead", "what leads by default: FIRING critical, RESOLVED, LIQUIDATED"),
  text("summary", "the rule's own, in one line; of what is gone, that it is"),
  text("description", "the rule's own, while there is something to do; else missing"),
  text("figures", "figures with their names, a few to a line"),
  text("freshness", "when it happened, was seen, and how old the data are"),
  text("whatNow", "what can be done now, or who does it"),
  text("runbook", "the rule's link; missing where it has none"),
  number("value", "none", "the rule's value; missing where it has none"),
  map("labels", "texts", "labels of wallet and rule: alert.labels.desk", '""'),
  map("details", "texts", 'the figures, by name: alert.details["Mark price"]', "missing"),
  boolean("event", "it happened once and needs no end"),
  boolean("drill", "it is a fire drill"),
  boolean("alreadySo", "it held when watching began"),
  text("acknowledgedBy", "who takes care of it; missing while nobody does"),
  time("at", "when what is told was concluded"),
  time("happenedAt", "when it happened at the exchange; missing where only our clock knows"),
  time("since", "when it first held"),
  time("firedAt", "when it fired"),
  time("endedAt", "when it ended; missing while it has not"),
  time("acknowledgedAt", "when somebody took care of it; missing while nobody has"),
  time("dataAt", "when the oldest of what it rests on was seen"),
  duration("dataAge", "how old that was when it was concluded"),
  duration("lasted", "how long it has fired"),
];

const message: readonly Field[] = [
  text("id", "by it the message is found again"),
  text("sender", "perpwatch on this host"),
  word("severity", severities, "of the worst in it"),
  number("alerts", "count", "how many alerts it tells of"),
  number("more", "count", "0: a message names all that it is about"),
];

/** Types that cannot be printed: lists and maps, as templates have no loops. */
const unprinted: ReadonlySet<Field["type"]> = new Set(["positions", "orders", "capabilities"]);

/** A field as recorded with the message: it does not become stale. */
function asRecorded({ derived: _derived, awaits: _awaits, ...field }: Field): Field {
  return { ...field, sources: [] };
}

function eventFields(): readonly Field[] {
  const byName = new Map<string, Field>();
  for (const kind of eventKinds)
    for (const field of eventVocabulary[kind]) {
      const known = byName.get(field.name);
      if (known === undefined) byName.set(field.name, field);
      // The same name in another event kind: the field accepts the words of all kinds.
      else if (known.type !== field.type || known.members !== field.members) {
        const { members: _members, open: _open, ...rest } = known;
        byName.set(field.name, { ...rest, type: known.type === "enum" ? "text" : known.type });
      }
    }
  return [...byName.values()];
}

/** By owner. */
export const messageVocabulary: Readonly<Record<string, readonly Field[]>> = {
  alert,
  message,
  ...Object.fromEntries(
    scopes.map((scope) => [
      scope,
      vocabulary[scope].filter(({ type }) => !unprinted.has(type)).map(asRecorded),
    ]),
  ),
  event: eventFields().map(asRecorded),
};
