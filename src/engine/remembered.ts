import type { AlertIds } from "../alerts/alert-changes.ts";
import type { Alert, AlertChange, RuleState, Severity } from "../domain/alert.ts";
import type { Event } from "../domain/event.ts";
import type { Facts } from "../domain/facts.ts";
import type { DamagedValue, KeptValues } from "../domain/kept.ts";

/** The state that history knew at the start. */
export interface Remembered {
  readonly ids: AlertIds;
  readonly ruleStates: readonly RuleState[];
  /** Alerts that fire, and the newest event alerts, oldest first: what ends in one moment ends in this order. */
  readonly alerts: readonly Alert[];
  /** Every change of the alerts that fire, those that throttles hold, and the newest endings by liquidation. */
  readonly alertChanges: readonly AlertChange[];
  /** The receivers that were notified of each alert that fires, and the level at which they were last. */
  readonly told: ReadonlyMap<number, ReadonlyMap<string, Severity>>;
  readonly keep: KeptValues;
  /** Kept values that could not be read; a start removes them. Left out: none. */
  readonly damaged?: readonly DamagedValue[];
  /** Sentences for people about what was kept and is not used. Left out: all of it is. */
  readonly unread?: readonly string[];
  /** Those that may have taken what the firing alerts are about: word of them came already, and comes no more. */
  readonly liquidations: readonly Event[];
  /** Events that waited for figures of their rules. */
  readonly held: readonly Event[];
  /** A change of one meanwhile is an event. */
  readonly facts: Facts;
}

export const nothingRemembered: Remembered = {
  ids: { alert: 0, change: 0, owed: 0 },
  ruleStates: [],
  alerts: [],
  alertChanges: [],
  told: new Map(),
  keep: new Map(),
  liquidations: [],
  held: [],
  facts: new Map(),
};
