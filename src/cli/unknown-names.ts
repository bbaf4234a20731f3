/**
 * Finds names on the command line that the configuration lacks. They are no error for a query, because a removed rule
 * or wallet may still be in history; the user is warned of a possible typing mistake.
 */

import { knownNames, type NamedObjects } from "../daemon/settings/known-names.ts";
import { drillRule } from "../domain/alerts/alert.ts";
import type { Silence } from "../domain/alerts/silence.ts";
import { nearestName } from "../domain/text/nearest.ts";
import { type Cli, hint } from "./command.ts";
import { settingsIfWhole } from "./load-settings.ts";

/** Labels of alerts, each with the requested values; without values for a pattern. */
export type NamedLabels = Readonly<Record<string, readonly string[]>>;

/** The labels that a silence matches. */
export function labelsOfSilence({ match }: Pick<Silence, "match">): NamedLabels {
  return Object.fromEntries(
    Object.entries(match).map(([label, one]) => [
      label,
      "in" in one ? one.in : "notIn" in one ? one.notIn : [],
    ]),
  );
}

/** A sentence for each label, rule, wallet and severity that does not exist. */
export function unknownNames(asked: NamedLabels, named: NamedObjects): readonly string[] {
  const { labels, values: all } = knownNames(named);
  return Object.entries(asked).flatMap(([label, values]) => {
    if (!labels.has(label)) return [`no wallet and no rule has the label ${label}${meant(label, labels)}`];
    if (!all.has(label)) return [];
    // It may be in history; no route can use it.
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

/** Prints the sentences of `unknownIn` as warnings. */
export async function warnOfUnknownNames(cli: Cli, config: string, asked: NamedLabels): Promise<void> {
  for (const sentence of await unknownIn(cli, config, asked)) hint(cli, `warning: ${sentence}`);
}

/**
 * As `unknownNames` if the complete configuration can be read, otherwise nothing: the shell may lack secrets of the
 * daemon.
 */
export async function unknownIn(cli: Cli, config: string, asked: NamedLabels): Promise<readonly string[]> {
  const settings = await settingsIfWhole(cli, config);
  return settings === null ? [] : unknownNames(asked, settings);
}
