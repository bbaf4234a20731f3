/**
 * Alerts that a text lists as they stand: the others of a message's group, and those that fire at the end of an alert about missing data.
 * Each fires then, at that severity, and its summary was true lately. Times are the daemon's, ms.
 */
import type { EventLog } from "../log.ts";
import type { Finding } from "./finding.ts";
import type { Decided, Life } from "./lives.ts";
import { firingIn } from "./no-data-words.ts";

interface Listed {
  /** The time at which it is listed. */
  readonly atMs: number;
  readonly alertId: number;
  readonly severity: string;
  readonly summary: string;
  /** The text that lists it. */
  readonly by: string;
}

/** A text is that of now for so long. */
const recentMs = 12_000;
/** A text may know of a decision of the same moment, or not. */
const slackMs = 1_500;
/** The figures of a text are those of its time up to so long after it. */
const ownMs = 500;

export class ListedAlerts {
  readonly #changes: ReadonlyMap<number, readonly (Decided & { readonly life: number })[]>;
  #life = 0;
  readonly #findings: Finding[] = [];
  /** Those that are still to be looked at, by the time at which they are listed. */
  #waiting: Listed[] = [];
  /** In this life something was read that is not recorded. */
  #hasGaps = false;
  /** Those whose figures are not true so far, with what is wrong; null: they were not looked at. */
  readonly #open = new Map<Listed, readonly string[] | null>();

  constructor(lives: readonly Life[]) {
    this.#changes = Map.groupBy(
      lives.flatMap(({ number, changes }) => changes.map((one) => ({ ...one, life: number }))),
      ({ alertId }) => alertId,
    );
  }

  get findings(): readonly Finding[] {
    return this.#findings;
  }

  /** Takes in the lists of the texts of a life. */
  begin({ number, told, changes }: Life, log: EventLog): void {
    this.#open.clear();
    this.#life = number;
    this.#hasGaps = told.some(({ observation }) => observation === null);
    const firstMs = told.flatMap((one) => (one.observation === null ? [] : [one.observation.atMs]))[0];
    const gaps = told.flatMap((one) => (one.observation === null ? [one] : []));
    this.#waiting = [];
    // While the disk takes nothing alerts are told of that nobody knows of afterwards.
    if (log.of("refused").some(({ life }) => life === number)) return;
    const seen = new Set<string>();
    const ofMessages = log.of("arrived").flatMap(({ life, message, channel }): Listed[] => {
      const { id, sealedAtMs, content } = message;
      if (life !== number || seen.has(`${channel} ${id}`)) return [];
      seen.add(`${channel} ${id}`);
      return (content.standing?.alerts ?? []).flatMap(({ id: alertId, severity, summary, textAtMs }) =>
        textAtMs === undefined ? [{ atMs: sealedAtMs, alertId, severity, summary, by: `message ${id}` }] : [],
      );
    });
    const ofEnds = changes.flatMap(({ kind, alertId, details, atMs }) =>
      kind === "ended"
        ? firingIn(details).flatMap(({ id, severity, summary, isOfNow }): Listed[] =>
            isOfNow ? [{ atMs, alertId: id, severity, summary, by: `the end of alert ${alertId}` }] : [],
          )
        : [],
    );
    this.#waiting = [...ofMessages, ...ofEnds]
      .filter(
        ({ atMs }) =>
          firstMs !== undefined &&
          // Right after a start a text may be the last one of the life before.
          atMs >= firstMs + recentMs &&
          !gaps.some(({ fromMs, toMs }) => atMs >= fromMs - recentMs && atMs <= toMs + recentMs),
      )
      .sort((a, b) => a.atMs - b.atMs);
  }

  /**
   * Holds what is listed about now against the figures of now.
   * @param problems what is wrong in the summary of an alert by these; null: nobody knows
   */
  look(
    nowMs: number,
    aheadMs: number,
    problems: (of: Decided, summary: string) => readonly string[] | null,
  ): void {
    for (
      ;
      this.#waiting[0] !== undefined && this.#waiting[0].atMs - recentMs <= nowMs;
      this.#waiting.shift()
    ) {
      const [listed] = this.#waiting;
      const wrong = this.#standing(listed);
      if (wrong !== null) this.#report(listed, wrong, aheadMs);
      else this.#open.set(listed, null);
    }
    for (const [listed, before] of this.#open) {
      // Nobody could judge it at its time, as after a reload: later figures say nothing of it.
      if (before === null && nowMs > listed.atMs + ownMs) {
        this.#open.delete(listed);
        continue;
      }
      const found = nowMs > listed.atMs + slackMs ? before : problems(this.#of(listed)!, listed.summary);
      // A text may rest on something that was read in a gap, which is not known here.
      if (found?.length === 0 || (found === null && this.#hasGaps)) this.#open.delete(listed);
      else if (nowMs <= listed.atMs + slackMs)
        this.#open.set(
          listed,
          // What was wrong before nobody could judge it says nothing of the text of now.
          found === null || before === null || found.length < before.length ? found : before,
        );
      else {
        this.#open.delete(listed);
        if (before !== null) this.#report(listed, before.join("; "), aheadMs);
      }
    }
  }

  /** Anything of the alert. */
  #of({ alertId }: Pick<Listed, "alertId">): Decided | undefined {
    return this.#changes.get(alertId)?.at(-1);
  }

  /** The truth where it does not fire as it is listed; null: it does. */
  #standing({ alertId, atMs, severity }: Listed): string | null {
    // The clock may have been set back since: times of other lives say nothing.
    const known = (this.#changes.get(alertId) ?? []).filter(({ life }) => life <= this.#life);
    const before = known.findLast((one) => one.life < this.#life || one.atMs < atMs - slackMs);
    const near = known.filter((one) => one.life === this.#life && Math.abs(one.atMs - atMs) <= slackMs);
    const all = [...(before ? [before] : []), ...near];
    if (!all.some(({ kind }) => kind !== "ended")) return `nothing of alert ${alertId}, which does not fire`;
    return all.some(({ alert }) => alert.severity === severity)
      ? null
      : `alert ${alertId} at ${all.map(({ alert }) => alert.severity).join(" or ")}`;
  }

  #report({ alertId, summary, severity, by, atMs }: Listed, expected: string, aheadMs: number): void {
    const { rule = "", subject = "" } = this.#of({ alertId })?.alert ?? {};
    this.#findings.push({
      ...{ check: "figures", rule, subject, atMs: atMs - aheadMs, expected },
      seen: `${by} lists alert ${alertId}: ${severity}: ${summary}`,
    });
  }
}
