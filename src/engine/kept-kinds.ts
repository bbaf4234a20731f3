/** All kinds of values that the engine stores, and the filter for those of a database. */

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
import { type KeptKind, KeptValueError, type KeptValues } from "../domain/kept.ts";
import { keptEvent } from "../evaluate/events/held-events.ts";
import { keptHolders } from "../state/accounts/holders.ts";
import { keptHoldings } from "../state/accounts/holdings.ts";
import { keptCounts } from "../state/counts.ts";
import { keptToday } from "../state/day/day-book.ts";
import { keptProfit } from "../state/profit/kept-profit.ts";
import { keptKey } from "../state/wallets/wallets.ts";
import { keptPair } from "./aggregates/pairs.ts";

/** A kind with any values and keys. */
interface AnyKind extends Pick<KeptKind<unknown>, "keyOf" | "read"> {
  name(key: never): string;
}

export const keptKinds: readonly AnyKind[] = [
  ...[keptKey, keptToday, keptProfit, keptHolders, keptHoldings, keptCounts],
  ...[keptGroup, keptHeld, keptEnding, keptChain, keptSilence, keptIncidents, keptOnCall],
  ...[keptPosition, keptNoData, keptThrottle, keptThrottled, keptEvent, keptPair],
];

/** @returns the values that match their kind or have none, and the reasons why others are not used, for people */
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
