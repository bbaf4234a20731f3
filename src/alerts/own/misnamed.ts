/**
 * The no-data alert about the configuration: rules name things that do not exist (a market that the exchange does not
 * list, a limit that is not set), so no reading can help. It has the severity of the worst of these rules.
 */
import { type Severity, severityRank } from "../../domain/alerts/alert.ts";
import { noDataRule } from "../../domain/alerts/built-in.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Deadlines, Due } from "../../domain/structures/deadlines.ts";
import type { AlertBook } from "../alert-book.ts";
import type { LiveAlert, NewAlert } from "../live-alert.ts";
import { noDataForMs } from "../patience.ts";
import type { Gap } from "./gaps.ts";
import { listed } from "./no-data-text.ts";
import { newAlert } from "./own-alert.ts";

/** Time in which every rule was judged. */
const mendedAfterMs = 120_000;

export class Misnamed {
  readonly #alerts: AlertBook;
  readonly #deadlines: Deadlines;
  readonly #builder: () => ChangesBuilder;
  readonly #startedMs: number;
  #gap: Gap | null = null;
  #live: LiveAlert | null = null;
  /** Waits for the alert to fall, or after a start for a rule that still names something that does not exist. */
  readonly #timer: Due = {
    dueMs: Number.POSITIVE_INFINITY,
    queuedMs: Number.POSITIVE_INFINITY,
    place: -1,
    onDue: () => this.#onTimer(),
  };

  constructor(options: {
    readonly alerts: AlertBook;
    readonly deadlines: Deadlines;
    readonly builder: () => ChangesBuilder;
    readonly startedMs: number;
  }) {
    this.#alerts = options.alerts;
    this.#deadlines = options.deadlines;
    this.#builder = options.builder;
    this.#startedMs = options.startedMs;
  }

  /** Restores an alert that fired when the daemon stopped. */
  restore(live: LiveAlert): void {
    this.#live = live;
    this.#deadlines.set(this.#timer, this.#startedMs + mendedAfterMs);
  }

  get isListed(): boolean {
    return this.#live !== null;
  }

  due(gap: Gap, builder: ChangesBuilder): void {
    this.#gap = gap;
    if (this.#live === null) this.#live = this.#alerts.fire(builder, this.#newAlert(gap, builder.atMs));
    this.#live.textNow = (nowMs) => (this.#gap === null ? null : this.#newAlert(this.#gap, nowMs));
    this.changed(builder);
    this.#deadlines.set(this.#timer, builder.atMs + noDataForMs);
  }

  /** The set of rules that name something that does not exist has changed: a worse one raises the alert at once. */
  changed(builder: ChangesBuilder): void {
    if (this.#gap === null || this.#live === null) return;
    const severity = worstOf(this.#gap);
    const rank = severityRank[severity] - severityRank[this.#live.alert.severity];
    if (rank > 0)
      this.#alerts.change(builder, this.#live, "rose", severity, this.#newAlert(this.#gap, builder.atMs));
    else if (rank < 0) this.#deadlines.set(this.#timer, builder.atMs + noDataForMs);
  }

  closed(builder: ChangesBuilder): void {
    if (this.#live !== null) this.#alerts.end(builder, this.#live, "recovered", null);
    this.#live = null;
    this.#gap = null;
    this.#deadlines.cancel(this.#timer);
  }

  #onTimer(): void {
    const builder = this.#builder();
    if (this.#gap === null) {
      this.closed(builder);
      return;
    }
    const severity = worstOf(this.#gap);
    if (this.#live === null || severityRank[severity] >= severityRank[this.#live.alert.severity]) return;
    this.#alerts.change(builder, this.#live, "fell", severity, this.#newAlert(this.#gap, builder.atMs));
  }

  #newAlert({ unjudged, sinceMs }: Gap, nowMs: number): NewAlert {
    const causes = [...new Set([...unjudged].map(({ unknown }) => unknown?.detail ?? ""))].sort();
    const wallets = new Set(
      [...unjudged].flatMap(({ node }) => ("wallet" in node.subject ? [node.subject.wallet] : [])),
    );
    const rules = [...new Set([...unjudged].map(({ rule }) => rule.name))].sort();
    const details: (readonly [string, string])[] = [["Rules that cannot judge", listed(rules)]];
    if (wallets.size > 0) details.push(["Wallets", listed([...wallets].sort())]);
    return newAlert(nowMs, {
      rule: noDataRule,
      labels: { source: "configuration" },
      severity: worstOf({ unjudged }),
      sinceMs,
      summary: `No data: ${listed(causes)}`.slice(0, 300),
      description:
        "These rules name what does not exist, so they never fire. Correct the rules or the configuration.",
      details,
    });
  }
}

/** Returns the severity of the worst rule, and at least warning. */
function worstOf({ unjudged }: Pick<Gap, "unjudged">): Severity {
  let worst: Severity = "warning";
  for (const { rule } of unjudged) {
    const severity = rule.levels.at(-1)?.severity ?? "info";
    if (severityRank[severity] > severityRank[worst]) worst = severity;
  }
  return worst;
}
