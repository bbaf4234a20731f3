/**
 * The names that routes, silences and commands can use: the labels that alerts carry, and of some labels all values that
 * there are.
 */
import { ownLabels, severities } from "../domain/alert.ts";
import { builtInLabels, builtInRules } from "../domain/built-in.ts";

interface Labelled {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The objects with names; the rules are undefined while they have mistakes of their own. */
export interface Named {
  readonly wallets: readonly Labelled[];
  readonly ruleSet:
    | { readonly conditions: readonly Labelled[]; readonly events: readonly Labelled[] }
    | undefined;
}

export interface KnownNames {
  readonly labels: ReadonlySet<string>;
  /** By label, where all its values are known. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** The objects that give labels of their own. */
  readonly labelled: readonly Labelled[];
}

export function knownNames({ wallets, ruleSet }: Named): KnownNames {
  const rules = [...(ruleSet?.conditions ?? []), ...(ruleSet?.events ?? [])];
  const labelled = [...wallets, ...rules];
  const values = new Map<string, readonly string[]>([
    ["severity", severities],
    ["wallet", wallets.map(({ name }) => name)],
  ]);
  if (ruleSet !== undefined) values.set("rule", [...rules.map(({ name }) => name), ...builtInRules]);
  const labels = [...ownLabels, ...builtInLabels, ...labelled.flatMap((one) => Object.keys(one.labels))];
  return { labels: new Set(labels), values, labelled };
}
