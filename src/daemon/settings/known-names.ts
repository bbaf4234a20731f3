/** The names that routes, silences and commands can use: the labels of alerts, and for some labels all their values. */
import { ownLabels, severities } from "../../domain/alerts/alert.ts";
import { builtInLabels, builtInRules } from "../../domain/alerts/built-in.ts";

interface Labelled {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The objects with names. While the rules have mistakes there is no rule set, but their names may be known. */
export interface NamedObjects {
  readonly wallets: readonly Labelled[];
  readonly ruleNames?: readonly string[];
  readonly ruleSet:
    | { readonly conditions: readonly Labelled[]; readonly events: readonly Labelled[] }
    | undefined;
}

export interface KnownNames {
  readonly labels: ReadonlySet<string>;
  /** All values by label, where they are known. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** The objects with labels of their own. */
  readonly labelled: readonly Labelled[];
}

export function knownNames({ wallets, ruleNames, ruleSet }: NamedObjects): KnownNames {
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
