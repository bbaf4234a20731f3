/** Messages for names that an expression cannot read: the scope that has them, and a suggestion. */
import type { Scope } from "../../domain/subject.ts";
import { eventKinds, scopes } from "../vocabulary/field-types.ts";
import { eventVocabulary, visibleScopes, vocabulary } from "../vocabulary.ts";
import type { Naming } from "./context.ts";

export const isScope = (name: string): name is Scope => (scopes as readonly string[]).includes(name);

const has = (scope: Scope, field: string): boolean =>
  vocabulary[scope].some((one) => one.name === field && one.type !== "texts" && one.type !== "numbers");

/**
 * @param name as written: `position.liquidationDistance`, `value.basis`
 * @param wanted the scope of the name
 * @param field field of that scope; null: none was named, or it is a named value
 * @param quoted true within the path of a history function
 */
export function notVisible(
  name: string,
  wanted: Scope,
  field: string | null,
  { scopes: seen, event }: Naming,
  quoted = false,
): string {
  const problem = `${name} is of scope ${wanted}`;
  if (event !== null && event.name !== "event")
    return `${problem}; a filter sees the event alone, as ${event.name}.…`;
  const ways: string[] = [];
  const [own] = seen;
  if (event !== null || own === undefined) {
    if (wanted === "market" && field !== null) ways.push(oneMarket(field, quoted));
    ways.push(`a rule of \`scope: ${wanted}\``);
    const sees = seen.length === 0 ? "" : `, which sees ${seen.join(", ")} beside the event`;
    return `${problem}; this is a rule on ${event?.kind ?? "events"}${sees}. Use ${orList(ways)}`;
  }
  if (own === "book" && wanted === "market") ways.push("`by: market`");
  else ways.push(`\`scope: ${wanted}\``);
  // A scope that does not include the rule's present subject would lose it.
  const both = visibleScopes[wanted].includes(own)
    ? undefined
    : scopes.find((one) => one !== own && [own, wanted].every((two) => visibleScopes[one].includes(two)));
  if (both !== undefined) ways.push(`\`scope: ${both}\`, which sees ${own} and ${wanted}`);
  if (own === "trader" && wanted === "position" && !quoted)
    ways.push(`look at all with trader.positions.exists(p, ${field === null ? "…" : `p.${field} …`})`);
  if (wanted === "market" && field !== null) ways.push(oneMarket(field, quoted));
  if (field !== null && field !== "name" && has(own, field)) ways.push(`${own}.${field}`);
  return `${problem}; here the scope is ${own}${own === "book" && wanted === "market" ? ", over all markets" : ""}. Use ${orList(ways)}`;
}

function oneMarket(field: string, quoted: boolean): string {
  return `${quoted ? "market[SOL]" : 'market("SOL")'}.${field} of one market`;
}

/** Message for `event.…` in a rule without an event. */
export function noEvent(field: string | null, { scopes: [own] }: Naming): string {
  const kinds = eventKinds.filter((kind) => eventVocabulary[kind].some(({ name }) => name === field));
  const on = kinds.length === 0 || kinds.length === eventKinds.length ? ["…"] : kinds;
  const name = field === null ? "event" : `event.${field}`;
  return `${name} is of an event; here the scope is ${own}. Use ${orList(on.map((kind) => `\`on: ${kind}\``))} in place of scope`;
}

const orList = (ways: readonly string[]): string =>
  ways.length < 3 ? ways.join(", or ") : `${ways.slice(0, -1).join(", ")}, or ${ways.at(-1)}`;
