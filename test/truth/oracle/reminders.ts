/**
 * Word of an alert that fires on. One that nobody acknowledged is reminded of when its interval is over, and what got markedly worse since it
 * was told last is told at once. Times are the daemon's, ms.
 */
import { type AlertChange, type Severity, severityRank } from "../../../src/domain/alerts/alert.ts";
import type { Outcome } from "../scenario.ts";
import { durationMs } from "./duration.ts";
import { maybeOfIncident, readsIncidents } from "./incidents.ts";
import { committedOf, type Life } from "./lives.ts";
import type { Predicate } from "./predicate.ts";

/** A reminder that comes due while the condition does not hold waits for so long, again and again. */
const postponedMs = 10_000;
/** Default of `worseBy`. */
const usualWorseBy = 0.2;
/** Values in doubles, and a joint move that is looked for. */
const tiny = 1e-4;

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** An alert as it was told at one time. */
export interface Word {
  readonly atMs: number;
  readonly id: number;
  readonly kind: AlertChange["kind"];
  /** Null: it ended. */
  readonly severity: Severity | null;
  readonly value: number | null;
  readonly acknowledged: boolean;
}

/** A reminder that did not come. */
export interface Missed {
  readonly word: Word;
  readonly dueMs: number;
}

const keyOf = (rule: string, subject: string): string => `${rule} ${subject}`;

export class Reminders {
  readonly #everyMs: number;
  readonly #worseBy: number;
  readonly #words = new Map<string, Word[]>();
  /** Times at which an incident was reported, where all receivers are told incidents. */
  readonly #reportedMs: number[] = [];

  constructor({ log, sections: [first] }: Outcome, lives: readonly Life[]) {
    const sections = first!;
    const { critical, worseBy = usualWorseBy } = sections.remind as {
      readonly critical: { readonly every: string };
      readonly worseBy?: number;
    };
    this.#everyMs = durationMs(critical.every);
    this.#worseBy = worseBy;
    const { receivers } = sections.routing as { readonly receivers: readonly string[] };
    if (receivers.every((one) => readsIncidents(sections, one)))
      for (const { changes } of committedOf(log)) {
        const calls = new Set(
          changes.deliveryItems.flatMap(({ changeId, quiet }) => (quiet ? [] : [changeId])),
        );
        for (const { id, alert, atMs } of changes.alertChanges)
          if (calls.has(id) && maybeOfIncident(sections, alert, receivers[0]!)) this.#reportedMs.push(atMs);
      }
    for (const { kind, atMs, alert } of lives.flatMap(({ changes }) => changes)) {
      if (alert.event || alert.shadow) continue;
      const key = keyOf(alert.rule, alert.subject);
      const words = this.#words.get(key) ?? [];
      this.#words.set(key, words);
      const severity = kind === "ended" ? null : alert.severity;
      const acknowledged = alert.acknowledgedAtMs !== null;
      words.push({ atMs, id: alert.id, kind, severity, value: alert.value, acknowledged });
    }
  }

  /** The last word of an alert that fires at a time; null: none does. */
  at(rule: string, subject: string, atMs: number): Word | null {
    // The alert of a position that is gone may end after that of the next one fired.
    const standing = new Map<number, Word>();
    for (const word of this.#words.get(keyOf(rule, subject)) ?? []) {
      if (word.atMs > atMs) break;
      if (word.severity === null) standing.delete(word.id);
      else standing.set(word.id, word);
    }
    return [...standing.values()].at(-1) ?? null;
  }

  /**
   * Reminders that did not come in a time in which the condition surely held.
   * @param stalls times in which nothing could be told
   */
  missed(
    rule: string,
    subject: string,
    { fromMs: sinceMs, toMs }: Span,
    slackMs: number,
    stalls: readonly Span[],
  ): readonly Missed[] {
    const words = this.#words.get(keyOf(rule, subject)) ?? [];
    return words.flatMap((word, index): Missed[] => {
      if (word.severity !== "critical" || word.acknowledged) return [];
      const ownMs = Math.max(word.atMs + this.#everyMs, sinceMs) + postponedMs;
      const stall = stalls.find((one) => one.fromMs <= ownMs + slackMs && ownMs < one.toMs);
      const dueMs = (stall?.toMs ?? ownMs) + slackMs;
      if (dueMs >= toMs) return [];
      // It was reported with its incident meanwhile.
      const fromMs = dueMs - this.#everyMs - postponedMs - slackMs;
      if (this.#reportedMs.some((ms) => ms > word.atMs && ms >= fromMs && ms <= dueMs)) return [];
      const next = words.slice(index + 1).find(({ id }) => id === word.id);
      return next !== undefined && next.atMs <= dueMs ? [] : [{ word, dueMs }];
    });
  }

  /** True if a value is markedly worse than the one that was told: of an info nobody is reminded. */
  isWorse(
    { id, atMs, severity, value: told }: Word,
    value: number,
    { towards, worst = Number.NaN }: Pick<NonNullable<Predicate["worsens"]>, "towards" | "worst">,
  ): boolean {
    if (severity === null || severityRank[severity] < severityRank.warning || told === null) return false;
    const isSame = (one: Word) => one.id === id && one.atMs <= atMs && (one.value ?? 0) * value > 0;
    // Back to a side that was told it may waver.
    if (towards === "away" && told * value < 0 && ![...this.#words.values()].flat().some(isSame)) return true;
    const rises = towards === "away" ? Math.abs(value) - Math.abs(told) : value - told;
    const by = towards === "lower" ? -rises : rises;
    const left = towards === "lower" ? told - worst : worst - told;
    const size = Number.isNaN(worst) ? Math.abs(told) : Math.max(left, Math.abs(told) / 4);
    return by > size * this.#worseBy * (1 + tiny);
  }
}
