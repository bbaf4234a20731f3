/** All kinds of values that the engine keeps, and those of a database that fit them. */

import { keptEnding } from "../alerts/endings/kept-ending.ts";
import { keptIncidents } from "../alerts/incidents/incidents.ts";
import { keptOnCall } from "../alerts/incidents/on-call.ts";
import { keptPosition } from "../alerts/own/downtime.ts";
import { keptNoData } from "../alerts/own/no-data-alert.ts";
import { keptChain } from "../alerts/reminders/escalations.ts";
import { keptGroup } from "../alerts/routing/group.ts";
import { keptHeld } from "../alerts/routing/held-notifications.ts";
import { keptSilence } from "../alerts/routing/holds.ts";
import { keptThrottle, keptThrottled } from "../alerts/routing/throttles.ts";
import { KeptValueError, type KeptValues } from "../domain/kept.ts";
import { keptEvent } from "../evaluate/held-events.ts";
import { keptCounts } from "../state/counts.ts";
import { keptHolders } from "../state/holders.ts";
import { keptHoldings } from "../state/holdings.ts";
import { keptProfit } from "../state/profit/profit.ts";
import { keptToday } from "../state/profit/today.ts";
import { keptKey } from "../state/wallets.ts";
import { keptPair } from "./aggregates/pairs.ts";

export const keptKinds = [
  ...[keptKey, keptToday, keptProfit, keptHolders, keptHoldings, keptCounts],
  ...[keptGroup, keptHeld, keptEnding, keptChain, keptSilence, keptIncidents, keptOnCall],
  ...[keptPosition, keptNoData, keptThrottle, keptThrottled, keptEvent, keptPair],
] as const;

/** @returns the values that their owners can read, those of no kind among them, and for people why others are not used */
export function readable(kept: KeptValues): {
  readonly kept: KeptValues;
  readonly unread: readonly string[];
} {
  const read = new Map(kept);
  const unread: string[] = [];
  for (const [name, text] of kept) {
    try {
      keptKinds.find((kind) => kind.keyOf(name) !== null)?.read(name, text);
    } catch (error) {
      if (!(error instanceof KeptValueError)) throw error;
      read.delete(name);
      unread.push(`${error.message}; it is not used`);
    }
  }
  return { kept: read, unread };
}
