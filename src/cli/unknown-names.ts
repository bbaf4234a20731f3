/**
 * Names on the command line that the configuration does not know. Nothing is refused for them, since a rule or a wallet
 * may have been removed and still have a past; whoever mistyped one is told, instead of finding nothing.
 */
import { drillRule, ownLabels, severities } from "../domain/alert.ts";
import { builtInRules } from "../domain/built-in.ts";
import { nearestName } from "../domain/nearest.ts";
import type { Silence } from "../domain/silence.ts";
import { type Cli, hint } from "./command.ts";
import { settingsIfWhole } from "./configuration.ts";

interface Labelled {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface KnownNames {
  readonly wallets: readonly Labelled[];
  readonly ruleSet: { readonly conditions: readonly Labelled[]; readonly events: readonly Labelled[] };
}

/** Labels of alerts, each with the values that are asked for; of a pattern none. */
export type AskedLabels = Readonly<Record<string, readonly string[]>>;

/** What a silence asks for. */
export function askedOf({ match }: Pick<Silence, "match">): AskedLabels {
  return Object.fromEntries(
    Object.entries(match).map(([label, one]) => [
      label,
      "in" in one ? one.in : "notIn" in one ? one.notIn : [],
    ]),
  );
}

/** A sentence for each label, rule, wallet and severity that nothing has. */
export function unknownNames(asked: AskedLabels, { wallets, ruleSet }: KnownNames): readonly string[] {
  const rules = [...ruleSet.conditions, ...ruleSet.events];
  const labels = new Set([...ownLabels, ...[...wallets, ...rules].flatMap((one) => Object.keys(one.labels))]);
  const names = new Map<string, readonly string[]>([
    ["severity", severities],
    ["wallet", wallets.map(({ name }) => name)],
    ["rule", [...rules.map(({ name }) => name), ...builtInRules, drillRule]],
  ]);
  return Object.entries(asked).flatMap(([label, values]) => {
    if (!labels.has(label)) return [`no wallet and no rule has the label ${label}${meant(label, labels)}`];
    const known = names.get(label);
    if (known === undefined) return [];
    const removed = label === "severity" ? "" : "; it may have been removed";
    return values
      .filter((value) => value !== "" && !known.includes(value))
      .map((value) => `no ${label} is called ${value}${meant(value, known)}${removed}`);
  });
}

function meant(found: string, known: Iterable<string>): string {
  const nearest = nearestName(found, known);
  return nearest === null ? "" : ` (did you mean ${nearest}?)`;
}

/** Warns of them, where the whole configuration can be read: a shell may lack what the daemon has. */
export async function warnOfUnknownNames(cli: Cli, config: string, asked: AskedLabels): Promise<void> {
  const settings = await settingsIfWhole(cli, config);
  if (settings === null) return;
  for (const sentence of unknownNames(asked, settings)) hint(cli, `warning: ${sentence}`);
}
