/**
 * Rules whose expression fails for another reason than missing data, so that no reading helps. Each is one alert,
 * `RuleFailing`, which names the expression, the reason and the subjects, and ends when the rule can be judged again.
 */

import { type Severity, severityRank } from "../../domain/alerts/alert.ts";
import type { BuiltInRule } from "../../domain/alerts/built-in.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { KeptValues } from "../../domain/stored/kept.ts";
import type { Deadlines, Due } from "../../domain/structures/deadlines.ts";
import type { ConditionRule, EventRule, Unknown } from "../../rules/index.ts";
import type { AlertBook } from "../alert-book.ts";
import type { LiveAlert, NewAlert } from "../live-alert.ts";
import { noDataForMs } from "../patience.ts";
import { newAlert, type Over, type OwnAlert } from "./own-alert.ts";

const failingRule = "RuleFailing" satisfies BuiltInRule;

/**
 * A rule may have a result for some events and not for others. A failure is over if the rule judged events for this
 * time and failed on none. This avoids a report for each change.
 */
const calmAfterMs = 120_000;
/** Time in which every rule that can be judged was judged; else it is checked again after the same time. */
const judgedAfterMs = 120_000;
const maxNamed = 10;
const maxExpression = 300;

interface Failure extends Due {
  readonly rule: ConditionRule | EventRule;
  /** The last error, by subject. */
  readonly subjects: Map<string, string>;
  readonly sinceMs: number;
  /** For an event rule: the time of its last failure, ms, and whether it has judged since. */
  failedMs: number;
  judgedSince: boolean;
  alert: LiveAlert | null;
}

/** An alert from before the start, until it is known if its rule still fails. */
interface Restored extends Due {
  readonly live: LiveAlert;
  readonly fromMs: number;
  /** True if it judged an event since, and failed on none. */
  judgedSince: boolean;
}

export class Failing implements OwnAlert {
  /** It takes judgements only. */
  readonly observes = [] as const;
  readonly raises = [failingRule] as const;
  readonly #alerts: AlertBook;
  readonly #deadlines: Deadlines;
  readonly #builder: () => ChangesBuilder;
  readonly #judgedAll: (rule: string) => boolean;
  readonly #ruleOf: (name: string) => ConditionRule | EventRule | undefined;
  readonly #failures = new Map<string, Failure>();
  readonly #restored = new Map<string, Restored>();
  constructor(options: {
    readonly alerts: AlertBook;
    readonly deadlines: Deadlines;
    readonly builder: () => ChangesBuilder;
    /** Returns true if all subjects of a condition exist and could be judged since the start. */
    readonly judgedAll: (rule: string) => boolean;
    readonly before?: Failing | undefined;
    /** Returns the current rule of this name. */
    readonly ruleOf: (name: string) => ConditionRule | EventRule | undefined;
    /** Returns true if a subject from before a reload is still watched. */
    readonly stands: (subject: string) => boolean;
  }) {
    this.#alerts = options.alerts;
    this.#deadlines = options.deadlines;
    this.#builder = options.builder;
    this.#judgedAll = options.judgedAll;
    this.#ruleOf = options.ruleOf;
    if (!options.before) return;
    for (const [name, { subjects, ...failure }] of options.before.#failures) {
      const rule = options.ruleOf(name);
      if (rule?.fingerprint !== failure.rule.fingerprint) continue;
      const left = [...subjects].filter(([subject]) => rule.kind === "event" || options.stands(subject));
      if (left.length === 0) continue;
      const went = this.#make({ ...failure, rule, subjects: new Map(left), alert: null });
      this.#failures.set(name, went);
      if (failure.alert === null) this.#deadlines.set(went, failure.dueMs);
      else if (failure.judgedSince) this.#deadlines.set(went, failure.failedMs + calmAfterMs);
    }
  }

  /** Continues the alert, or ends it once its rule has been judged. */
  restore(live: LiveAlert, _keep: KeptValues, builder: ChangesBuilder): Over | null {
    const name = live.alert.labels.failing ?? "";
    if (this.#ruleOf(name)?.mode !== "live") return { ending: "ruleChanged" };
    const failure = this.#failures.get(name);
    if (failure) {
      failure.alert = live;
      this.#follow(failure, live);
      return null;
    }
    const restored: Restored = {
      live,
      fromMs: builder.atMs,
      judgedSince: false,
      dueMs: Number.POSITIVE_INFINITY,
      queuedMs: Number.POSITIVE_INFINITY,
      place: -1,
      onDue: () => this.#look(name, restored),
    };
    this.#restored.set(name, restored);
    this.#deadlines.set(restored, builder.atMs + judgedAfterMs);
    return null;
  }

  /**
   * Takes a changed judgement of a condition for a subject: `unknown` is the reason why there is none now; null: there
   * is one, or the subject no longer exists.
   */
  condition(rule: ConditionRule, subject: string, unknown: Unknown | null, builder: ChangesBuilder): void {
    if (unknown?.unknown === "error") this.#enter(rule, subject, unknown, builder);
    // Missing data does not show an error of the expression.
    else if (unknown === null) this.#leave(rule.name, subject, builder);
  }

  /**
   * Takes the judgement of an event. A failure is reported at once: events are single, so there is no wait for the next
   * one.
   */
  event(rule: EventRule, subject: string, unknown: Unknown | null, builder: ChangesBuilder): void {
    if (unknown?.unknown === "error") {
      const failure = this.#enter(rule, subject, unknown, builder);
      Object.assign(failure, { failedMs: builder.atMs, judgedSince: false });
      if (!failure.alert) this.#fire(failure);
    } else if (unknown === null) {
      const failure = this.#failures.get(rule.name);
      if (failure && !failure.judgedSince) {
        failure.judgedSince = true;
        this.#deadlines.set(failure, Math.max(builder.atMs, failure.failedMs + calmAfterMs));
      }
      const restored = this.#restored.get(rule.name);
      if (!restored || restored.judgedSince) return;
      restored.judgedSince = true;
      this.#deadlines.set(restored, Math.max(builder.atMs, restored.fromMs + calmAfterMs));
    }
  }

  #enter(
    rule: ConditionRule | EventRule,
    subject: string,
    { detail }: Unknown,
    builder: ChangesBuilder,
  ): Failure {
    const known = this.#failures.get(rule.name);
    if (known) {
      known.subjects.set(subject, detail);
      return known;
    }
    const restored = this.#restored.get(rule.name);
    if (restored) this.#forget(rule.name, restored);
    const failure = this.#make({
      rule,
      subjects: new Map([[subject, detail]]),
      sinceMs: builder.atMs,
      failedMs: builder.atMs,
      judgedSince: false,
      alert: restored?.live ?? null,
    });
    this.#failures.set(rule.name, failure);
    if (failure.alert) this.#follow(failure, failure.alert);
    else this.#deadlines.set(failure, builder.atMs + noDataForMs);
    return failure;
  }

  #make(
    of: Pick<Failure, "rule" | "subjects" | "sinceMs" | "failedMs" | "judgedSince" | "alert" | "order">,
  ): Failure {
    const failure: Failure = {
      ...of,
      dueMs: Number.POSITIVE_INFINITY,
      queuedMs: Number.POSITIVE_INFINITY,
      place: -1,
      onDue: (nowMs) => (failure.judgedSince ? this.#calm(failure, nowMs) : this.#fire(failure)),
    };
    return failure;
  }

  #leave(rule: string, subject: string, builder: ChangesBuilder): void {
    const failure = this.#failures.get(rule);
    if (!failure) return;
    failure.subjects.delete(subject);
    if (failure.subjects.size > 0) return;
    this.#failures.delete(rule);
    this.#deadlines.cancel(failure);
    if (failure.alert) this.#end(failure.alert, builder);
  }

  /** Ends a failure if events were judged since and none has failed for a while. */
  #calm(failure: Failure, nowMs: number): void {
    if (nowMs - failure.failedMs < calmAfterMs) return;
    const builder = this.#builder();
    for (const subject of [...failure.subjects.keys()]) this.#leave(failure.rule.name, subject, builder);
  }

  #fire(failure: Failure): void {
    const builder = this.#builder();
    if (failure.alert || this.#failures.get(failure.rule.name) !== failure) return;
    this.#deadlines.cancel(failure);
    failure.alert = this.#alerts.fire(builder, textOf(failure, builder.atMs));
    this.#follow(failure, failure.alert);
  }

  /** Keeps the text of an alert current while its rule fails. */
  #follow(failure: Failure, live: LiveAlert): void {
    live.textNow = (nowMs) =>
      failure.alert === live && failure.subjects.size > 0 ? textOf(failure, nowMs) : null;
  }

  #look(name: string, restored: Restored): void {
    const builder = this.#builder();
    if (restored.judgedSince || this.#judgedAll(name)) {
      this.#forget(name, restored);
      this.#end(restored.live, builder);
    } else this.#deadlines.set(restored, builder.atMs + judgedAfterMs);
  }

  #forget(name: string, restored: Restored): void {
    this.#restored.delete(name);
    this.#deadlines.cancel(restored);
  }

  #end(live: LiveAlert, builder: ChangesBuilder): void {
    this.#alerts.end(builder, live, "recovered", {
      summary: `The rule ${live.alert.labels.failing} can be judged again`,
      description: live.alert.description,
      value: null,
      dataAtMs: builder.atMs,
      details: [],
    });
  }
}

function textOf({ rule, subjects, sinceMs }: Failure, nowMs: number): NewAlert {
  const names = [...subjects.keys()].sort();
  const reasons = [...new Set(subjects.values())].sort();
  const on = names.length === 1 ? names[0]! : `${names.length} subjects`;
  return newAlert(nowMs, {
    rule: failingRule,
    labels: { failing: rule.name },
    severity: severityOf(rule),
    sinceMs,
    summary: `The rule ${rule.name} fails on ${on}: ${reasons[0]}`.slice(0, 300),
    description: `Its expression has no result there, whatever is seen: the rule can neither fire nor resolve. Mend it in ${rule.file}, line ${rule.line}.`,
    details: [
      ["Expression", expressionOf(rule)],
      ["Why", listed(reasons)],
      ["Subjects", listed(names)],
    ],
  });
}

/** Returns the severity for a rule that cannot be judged: that of its worst level, and at least warning. */
function severityOf(rule: ConditionRule | EventRule): Severity {
  const worst = rule.kind === "event" ? rule.severity : (rule.levels.at(-1)?.severity ?? "info");
  return severityRank[worst] > severityRank.warning ? worst : "warning";
}

function expressionOf(rule: ConditionRule | EventRule): string {
  if (rule.kind === "event") return rule.when.text;
  const levels = rule.levels.flatMap(({ severity, when, resolveWhen }) => [
    `${rule.levels.length > 1 ? `${severity}: ` : ""}${when.text}`,
    ...(resolveWhen === null ? [] : [`until ${resolveWhen.text}`]),
  ]);
  const parts = [...(rule.value === null ? [] : [`value: ${rule.value.text}`]), ...levels];
  const text = parts.join("; ").replace(/\s+/g, " ");
  return text.length > maxExpression ? `${text.slice(0, maxExpression)}…` : text;
}

function listed(names: readonly string[]): string {
  return names.length <= maxNamed
    ? names.join(", ")
    : `${names.slice(0, maxNamed).join(", ")} and ${names.length - maxNamed} more`;
}
