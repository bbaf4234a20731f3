/** Alerts that perpwatch raises about itself: a module each, which says what it observes, what it raises, and how it goes on after a start. */

import type { Ending } from "../../domain/alert.ts";
import type { BuiltInRule } from "../../domain/built-in.ts";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { KeptValues } from "../../domain/kept.ts";
import type { Observation } from "../../domain/observation.ts";
import type { AlertBook } from "../alert-book.ts";
import type { LiveAlert, NewAlert } from "../live-alert.ts";

/** The end of an alert of before a start that nothing would end any more. */
export interface Over {
  readonly ending: Ending;
  /** For the text of the alert; left out: the ending says it. */
  readonly why?: string;
}

export interface OwnAlert {
  /** The kinds of observation that `observe` takes; its other sources are calls by those who judge. */
  readonly observes: readonly Observation["kind"][];
  /** The rules of its alerts. */
  readonly raises: readonly BuiltInRule[];
  observe?(seen: Observation, builder: ChangesBuilder): void;
  /**
   * Takes up an alert that fired when the daemon stopped.
   * @param keep texts that history keeps, by name
   * @returns null: the alert goes on
   */
  restore(live: LiveAlert, keep: KeptValues, builder: ChangesBuilder): Over | null;
}

type Words = Pick<NewAlert, "rule" | "severity" | "summary" | "description">;

/** An alert about the daemon, of now and without a figure, where `of` does not say otherwise. */
export function newAlert(atMs: number, of: Words & Partial<NewAlert>): NewAlert {
  return {
    ...{ subject: "daemon", wallet: null, symbol: null, labels: {}, sinceMs: atMs, alreadySo: false },
    ...{ runbook: null, happenedMs: null, value: null, dataAtMs: atMs, details: [] },
    ...of,
  };
}

/** All of them, each with its observations and its alerts. */
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

  /** Hands an alert of before the start to its module, or ends it. @returns false where it is of none */
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
