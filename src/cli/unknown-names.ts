/**
 * Names on the command line that the configuration does not know. No question is refused for them, since a rule or a wallet
 * may have been removed and still have a past; whoever mistyped one is warned, instead of finding nothing.
 */

import { knownNames, type NamedObjects } from "../daemon/settings/known-names.ts";
import { drillRule } from "../domain/alert.ts";
import { nearestName } from "../domain/nearest.ts";
import type { Silence } from "../domain/silence.ts";
import { type Cli, hint } from "./command.ts";
import { settingsIfWhole } from "./load-settings.ts";

/** Labels of alerts, each with the values that are asked for; of a pattern none. */
export type AskedLabels = Readonly<Record<string, readonly string[]>>;

/** The labels that a silence asks for. */
export function askedOf({ match }: Pick<Silence, "match">): AskedLabels {
  return Object.fromEntries(
    Object.entries(match).map(([label, one]) => [
      label,
      "in" in one ? one.in : "notIn" in one ? one.notIn : [],
    ]),
  );
}

/** A sentence for each label, rule, wallet and severity that nothing has. */
export function unknownNames(asked: AskedLabels, named: NamedObjects): readonly string[] {
  const { labels, values: all } = knownNames(named);
  return Object.entries(asked).flatMap(([label, values]) => {
    if (!labels.has(label)) return [`no wallet and no rule has the label ${label}${meant(label, labels)}`];
    if (!all.has(label)) return [];
    // Found in the past; no route asks for it.
    const known = [...(all.get(label) ?? []), ...(label === "rule" ? [drillRule] : [])];
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

/** Warns of them; see `unknownIn`. */
export async function warnOfUnknownNames(cli: Cli, config: string, asked: AskedLabels): Promise<void> {
  for (const sentence of await unknownIn(cli, config, asked)) hint(cli, `warning: ${sentence}`);
}

/** As `unknownNames`, where the whole configuration can be read, else nothing: a shell may lack what the daemon has. */
export async function unknownIn(cli: Cli, config: string, asked: AskedLabels): Promise<readonly string[]> {
  const settings = await settingsIfWhole(cli, config);
  return settings === null ? [] : unknownNames(asked, settings);
}
