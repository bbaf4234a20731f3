/**
 * Built-in alerts about perpwatch itself: each module states its observations, its rules, and how its alerts continue
 * after a start.
 */

import type { Ending } from "../../domain/alerts/alert.ts";
import type { BuiltInRule } from "../../domain/alerts/built-in.ts";
import type { Observation } from "../../domain/observation.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { KeptValues } from "../../domain/stored/kept.ts";
import type { AlertBook } from "../alert-book.ts";
import type { LiveAlert, NewAlert } from "../live-alert.ts";

/** The end of an alert from before a start that nothing else would end. */
export interface Over {
  readonly ending: Ending;
  /** The reason for the alert's text; left out: the ending states it. */
  readonly why?: string;
}

export interface OwnAlert {
  /** The kinds of observation that `observe` takes; its other input is direct calls. */
  readonly observes: readonly Observation["kind"][];
  /** The rules of its alerts. */
  readonly raises: readonly BuiltInRule[];
  observe?(seen: Observation, builder: ChangesBuilder): void;
  /**
   * Restores an alert that fired when the daemon stopped.
   * @param keep kept values of history, by name
   * @returns null: the alert continues
   */
  restore(live: LiveAlert, keep: KeptValues, builder: ChangesBuilder): Over | null;
}

type Words = Pick<NewAlert, "rule" | "severity" | "summary" | "description">;

/** Returns an alert about the daemon, current and without a value, unless `of` overrides this. */
export function newAlert(atMs: number, of: Words & Partial<NewAlert>): NewAlert {
  return {
    ...{ subject: "daemon", wallet: null, symbol: null, labels: {}, sinceMs: atMs, alreadySo: false },
    ...{ runbook: null, happenedMs: null, value: null, dataAtMs: atMs, details: [] },
    ...of,
  };
}

/** All built-in alert modules, by observation and rule. */
export class OwnAlerts {
  readonly #alerts: AlertBook;
  readonly #byKind: ReadonlyMap<Observation["kind"], readonly OwnAlert[]>;
  readonly #byRule: ReadonlyMap<string, OwnAlert>;

  constructor(alerts: AlertBook, modules: readonly OwnAlert[]) {
    this.#alerts = alerts;
    const observed = modules.flatMap((one) => one.observes.map((kind) => [kind, one] as const));
    const byKind = Map.groupBy(observed, ([kind]) => kind);
    this.#byKind = new Map([...byKind].map(([kind, rows]) => [kind, rows.map(([, one]) => one)]));
    this.#byRule = new Map(modules.flatMap((one) => one.raises.map((rule) => [rule, one] as const)));
  }

  observe(seen: Observation, builder: ChangesBuilder): void {
    for (const one of this.#byKind.get(seen.kind) ?? []) one.observe?.(seen, builder);
  }

  /** Passes an alert from before the start to its module, or ends it. @returns false if no module has its rule */
  restore(live: LiveAlert, keep: KeptValues, builder: ChangesBuilder): boolean {
    const module = this.#byRule.get(live.alert.rule);
    if (module === undefined) return false;
    const over = module.restore(live, keep, builder);
    if (over === null) return true;
    const { summary, value, dataAtMs } = live.alert;
    const text =
      over.why === undefined
        ? null
        : { summary, description: `${over.why}.`, value, dataAtMs, details: live.details };
    this.#alerts.end(builder, live, over.ending, text);
    return true;
  }
}
