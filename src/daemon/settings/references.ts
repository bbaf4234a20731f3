/**
 * Checks references between sections: receivers are channels, matched wallets and rules exist, notification types are
 * known.
 */
import type { AcknowledgeSettings } from "../../alerts/acknowledge.ts";
import type { ConfigSource, Path } from "../../config/index.ts";
import { EVENT_NOTIFICATION_TYPES } from "../../contract/records/notifications.ts";
import { ownLabels } from "../../domain/alerts/alert.ts";
import { builtInLabels } from "../../domain/alerts/built-in.ts";
import { nearestName } from "../../domain/text/nearest.ts";
import type { RuleSet } from "../../rules/index.ts";
import { type KnownNames, knownNames } from "./known-names.ts";
import type { RuleNames } from "./rule-files.ts";

export interface ReferenceTargets {
  readonly channels: readonly string[];
  readonly wallets: readonly { readonly name: string; readonly labels: Readonly<Record<string, string>> }[];
  /** Undefined while the rules have mistakes of their own. */
  readonly ruleSet: RuleSet | undefined;
  /** The known rule names in that case. */
  readonly ruleNames?: RuleNames;
}

/** Checks the configured values, not the result of a schema, so that one mistake hides no other. */
export function checkRouting(source: ConfigSource, targets: ReferenceTargets): void {
  const { wallets, ruleSet, ruleNames } = targets;
  const known = knownNames({ wallets, ruleSet, ...(ruleNames && { ruleNames: ruleNames.names }) });
  const used = new Set<string>();
  const times = source.keys(["routing", "muteTimes"]);
  const muted = new Set<string>();
  for (const at of [["routing"], ...routesBelow(source, ["routing"])]) {
    const escalations = placesOf(source, [...at, "escalate"]).map((place) => [...place, "receivers"]);
    for (const place of [[...at, "receivers"], ...escalations]) {
      for (const [nameAt, name] of textsAt(source, place)) {
        used.add(name);
        reportUnknown(source, nameAt, name, targets.channels, "channel");
      }
    }
    for (const [place, name] of textsAt(source, [...at, "mute"])) {
      muted.add(name);
      reportUnknown(source, place, name, times, "mute time");
    }
    for (const [place, label] of textsAt(source, [...at, "groupBy"]))
      if (targets.ruleSet !== undefined && !known.labels.has(label))
        reportUnknownLabel(source, place, label, known.labels, false);
    checkMatchers(source, [...at, "match"], known, targets);
  }
  for (const [index] of placesOf(source, ["inhibit"]).entries())
    for (const side of ["source", "target"]) checkMatchers(source, ["inhibit", index, side], known, targets);
  for (const name of times)
    if (!muted.has(name)) source.warn(["routing", "muteTimes", name], `no route is mute at ${name}`);
  warnOfUnreachable(source);
  // Without routes everything goes to every channel.
  if (!source.has(["routing"])) return;
  // People of a used rota are reached through it.
  for (const name of [...used])
    for (const [, person] of textsAt(source, ["channels", name, "people"])) used.add(person);
  for (const name of targets.channels)
    if (!used.has(name)) source.warn(["channels", name], `no route leads to the channel ${name}`);
}

/** All routes of the tree, with their places. */
function routesBelow(source: ConfigSource, at: Path): Path[] {
  return placesOf(source, [...at, "routes"]).flatMap((place) => [place, ...routesBelow(source, place)]);
}

function placesOf(source: ConfigSource, at: Path): Path[] {
  return Array.from({ length: source.length(at) }, (_, i) => [...at, i]);
}

function checkMatchers(source: ConfigSource, at: Path, known: KnownNames, targets: ReferenceTargets): void {
  for (const label of source.keys(at)) {
    const place = [...at, label];
    const names = known.values.get(label);
    const not = [...place, "not"];
    if (names !== undefined)
      for (const [valueAt, value] of [...textsAt(source, place), ...textsAt(source, not)])
        reportUnknown(source, valueAt, value, names, label, label === "rule" ? targets.ruleNames?.where : "");
    if (targets.ruleSet === undefined) continue;
    if (!known.labels.has(label)) reportUnknownLabel(source, place, label, known.labels);
    else if (names === undefined) warnOfValues(source, place, label, valuesOf(label, known));
  }
}

/** Warns of routes after one that takes every alert. */
function warnOfUnreachable(source: ConfigSource): void {
  const visit = (at: Path): void => {
    let takenBy: number | null = null;
    for (const [index, place] of placesOf(source, [...at, "routes"]).entries()) {
      if (takenBy !== null)
        source.warn(place, `no alert reaches this route: route ${takenBy + 1} before it takes every alert`);
      else if (source.keys([...place, "match"]).length === 0 && source.raw([...place, "continue"]) !== true)
        takenBy = index;
      visit(place);
    }
  };
  visit(["routing"]);
}

/** Reports a label that no wallet or rule has: as a mistake if it resembles a known one, otherwise as a warning. */
function reportUnknownLabel(
  source: ConfigSource,
  at: Path,
  label: string,
  labels: ReadonlySet<string>,
  atKey = true,
): void {
  const nearest = nearestName(label, labels);
  const what = atKey ? "the route matches nothing" : "it groups nothing";
  const message = `no wallet and no rule has the label ${label}: ${what}`;
  if (nearest === null) source.warn(at, message);
  else source.problem(at, source.hide(message), { nearest, allowed: [...labels], atKey });
}

/** The values that wallets and rules give a label; null where other values are possible. */
function valuesOf(label: string, { labelled }: KnownNames): readonly string[] | null {
  if (ownLabels.includes(label) || builtInLabels.includes(label)) return null;
  return labelled.flatMap(({ labels }) => labels[label] ?? []);
}

function warnOfValues(source: ConfigSource, at: Path, label: string, known: readonly string[] | null): void {
  if (known === null) return;
  for (const [place, value] of textsAt(source, at))
    if (!known.includes(value))
      source.warn(
        place,
        `no wallet and no rule has ${label}: ${value} (they have ${[...new Set(known)].join(", ")})`,
      );
}

/** A text, or the texts of a list, each with its place. Numbers count as texts. */
function textsAt(source: ConfigSource, at: Path): [Path, string][] {
  const value = source.raw(at);
  const each: [Path, unknown][] = Array.isArray(value)
    ? value.map((one: unknown, index) => [[...at, index], one])
    : [[at, value]];
  return each.flatMap(([place, one]) =>
    typeof one === "string" || typeof one === "number" ? [[place, String(one)] as [Path, string]] : [],
  );
}

/** The exchange may add types, so an unknown one is only a warning. */
export function checkAcknowledge(source: ConfigSource, settings: AcknowledgeSettings): void {
  const known: readonly string[] = EVENT_NOTIFICATION_TYPES;
  for (const type of Object.keys(settings.types)) {
    if (known.includes(type)) continue;
    const nearest = nearestName(type, known);
    source.warn(
      ["acknowledge", "types", type],
      `${type} is no known type of notification ` +
        `(${nearest === null ? `known: ${known.join(", ")}` : `did you mean ${nearest}?`})`,
    );
  }
}

function reportUnknown(
  source: ConfigSource,
  at: Path,
  name: string,
  known: readonly string[],
  kind: string,
  where = "",
): void {
  if (known.includes(name) || source.isBroken(at)) return;
  const shown = source.hide(name).slice(0, 60);
  const message =
    kind === "severity" ? `"${shown}" is no severity` : `no ${kind} is called "${shown}"${where}`;
  source.problem(at, message, { allowed: known, nearest: nearestName(name, known) });
}
