/**
 * Judgements by positions that are too old, if prices are newer: the last known positions at the current marks. They fire and
 * raise alerts, and never lower or end one; their texts state the age of the positions. This ends when the account is read again:
 * time for which a condition held counts until then, and not for the result of the new reading. Nothing of it is stored over a
 * restart, after which positions are unknown until they are read.
 */

import type { AlertText } from "../../alerts/live-alert.ts";
import { timeText } from "../../alerts/own/no-data-text.ts";
import { severityRank } from "../../domain/alerts/alert.ts";
import type { Source } from "../../domain/sources.ts";
import type { Scope } from "../../domain/subject.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { type ConditionRule, type Env, type Judgement, judge } from "../../rules/index.ts";
import type { Instance } from "./instance.ts";

/**
 * Time after an outage or a suspension of the process during which old positions are not used, ms: accounts are read at once, as
 * prices are.
 */
const patienceMs = 5_000;

/** Positions and marks that were read within this time of each other count as simultaneous, ms. */
const markedlyMs = 10_000;

const scopes: ReadonlySet<Scope> = new Set(["position", "trader", "wallet"]);
const oldSources: ReadonlySet<Source | null> = new Set<Source>(["traderState", "traderView"]);

/** The time from which an instance is judged by the last known positions, ms; null: it is not. */
export function oldFromMs({ rule, unknown, unknownSinceMs }: Instance, pricesSinceMs: number): number | null {
  if (unknown?.unknown !== "stale" || !oldSources.has(unknown.source) || !readsMarks(rule)) return null;
  return Math.max(unknownSinceMs, pricesSinceMs) + patienceMs;
}

/**
 * Judges by the last known positions, and leaves `env` so that texts are rendered from them.
 * @param pricesSinceMs time since which prices are read without a gap
 * @returns the level that holds; null: none, or another input is missing as well
 */
export function judgeOld(
  instance: Instance,
  env: Env,
  pricesSinceMs: number,
): (Judgement & { readonly kind: "known" }) | null {
  const fromMs = oldFromMs(instance, pricesSinceMs);
  if (fromMs === null || env.nowMs < fromMs) return null;
  const { rule } = instance;
  env.oldAccounts = true;
  const judged = judge(rule, env, instance.alert?.alert.severity ?? null);
  if (judged.kind === "known") return judged;
  env.oldAccounts = false;
  return null;
}

/** The level to raise an alert to: as `judgeOld`, but at least the active level. */
export function raisedByOld(
  instance: Instance,
  env: Env,
  pricesSinceMs: number,
): (Judgement & { readonly kind: "known" }) | null {
  const judged = judgeOld(instance, env, pricesSinceMs);
  if (judged === null) return null;
  const standing = instance.lifecycle.levels.findLast(({ active }) => active);
  const rank = judged.severity === null ? -1 : severityRank[judged.severity];
  if (rank >= 0 && rank >= (standing === undefined ? 0 : severityRank[standing.severity])) return judged;
  env.oldAccounts = false;
  return null;
}

function readsMarks({ scope, inputs }: ConditionRule): boolean {
  return scopes.has(scope) && inputs.some(({ sources }) => sources.includes("markets"));
}

/** True if figures of a rule depend on marks that were read much later than the positions. */
export function restsOnOldPositions(rule: ConditionRule, env: Env): boolean {
  if (!readsMarks(rule)) return false;
  const { traderState, markets } = (env.position ?? env.trader ?? env.wallet)?.seenMs ?? {};
  if (traderState === undefined || markets === undefined) return false;
  return markets - traderState > markedlyMs;
}

/** True if texts of a rule contain figures of positions that are too old, while the other inputs of these figures are fresh. */
export function showsOldPositions({ shows, staleAfterMs }: ConditionRule, env: Env): boolean {
  return shows.some(({ scope, symbol, sources, field }) => {
    const facts = symbol === null ? env[scope] : undefined;
    if (facts === undefined || facts.values[field] === undefined) return false;
    const stale = sources.filter(
      (source) => env.nowMs - (facts.seenMs[source] ?? Number.NEGATIVE_INFINITY) > staleAfterMs[source],
    );
    return (
      stale.length > 0 &&
      stale.every((source) => oldSources.has(source) && facts.seenMs[source] !== undefined)
    );
  });
}

/** A text that was rendered from old positions, with a note of their age at a time. */
export function labelled(text: AlertText, env: Env, timezone: string, nowMs = env.nowMs): AlertText {
  const readMs = (env.position ?? env.trader ?? env.wallet)?.seenMs.traderState ?? text.dataAtMs;
  const age = `positions as of ${timeText(readMs, nowMs, timezone)}, ${formatDurationMs(nowMs - readMs)} old`;
  return {
    ...text,
    summary: `${text.summary} (${age})`,
    details: [["Judged by", age], ...text.details],
    statesAge: true,
  };
}
