import type { AlertIds } from "../alerts/alert-changes.ts";
import type { Alert, AlertChange, RuleState, Severity } from "../domain/alerts/alert.ts";
import type { Event } from "../domain/event.ts";
import type { Facts } from "../domain/stored/facts.ts";
import type { DamagedValue, KeptValues } from "../domain/stored/kept.ts";

/** The stored state at the start. */
export interface Remembered {
  readonly ids: AlertIds;
  readonly ruleStates: readonly RuleState[];
  /** Firing alerts, and the newest event alerts, oldest first: alerts that end at the same time end in this order. */
  readonly alerts: readonly Alert[];
  /** Every change of the firing and of the throttled alerts, and the newest endings by liquidation. */
  readonly alertChanges: readonly AlertChange[];
  /** The receivers notified of each firing alert, with the level of their last notification. */
  readonly notified: ReadonlyMap<number, ReadonlyMap<string, Severity>>;
  readonly keep: KeptValues;
  /** Kept values that could not be read; a start removes them. Left out: none. */
  readonly damaged?: readonly DamagedValue[];
  /** Sentences for people about stored values that are not used. Left out: none. */
  readonly unread?: readonly string[];
  /** Events that may have taken the subjects of firing alerts: they were reported already, and do not arrive again. */
  readonly liquidations: readonly Event[];
  /** Events that waited for figures of their rules. */
  readonly held: readonly Event[];
  /** The stored facts: a change since then is an event. */
  readonly facts: Facts;
}

export const nothingRemembered: Remembered = {
  ids: { alert: 0, change: 0, item: 0 },
  ruleStates: [],
  alerts: [],
  alertChanges: [],
  notified: new Map(),
  keep: new Map(),
  liquidations: [],
  held: [],
  facts: new Map(),
};
