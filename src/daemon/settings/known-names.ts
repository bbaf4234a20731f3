/**
 * The names that routes, silences and commands can use: the labels that alerts carry, and of some labels all values that
 * there are.
 */
import { ownLabels, severities } from "../../domain/alert.ts";
import { builtInLabels, builtInRules } from "../../domain/built-in.ts";

interface Labelled {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The objects with names; while the rules have mistakes of their own there is no set of them, and perhaps their names. */
export interface Named {
  readonly wallets: readonly Labelled[];
  readonly ruleNames?: readonly string[];
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

export function knownNames({ wallets, ruleNames, ruleSet }: Named): KnownNames {
  const rules = [...(ruleSet?.conditions ?? []), ...(ruleSet?.events ?? [])];
  const labelled = [...wallets, ...rules];
  const values = new Map<string, readonly string[]>([
    ["severity", severities],
    ["wallet", wallets.map(({ name }) => name)],
  ]);
  const names = ruleSet === undefined ? ruleNames : rules.map(({ name }) => name);
  if (names !== undefined) values.set("rule", [...names, ...builtInRules]);
  const labels = [...ownLabels, ...builtInLabels, ...labelled.flatMap((one) => Object.keys(one.labels))];
  return { labels: new Set(labels), values, labelled };
}
