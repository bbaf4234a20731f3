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
import { type DamagedValue, type KeptKind, KeptValueError, type KeptValues } from "../domain/stored/kept.ts";
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

/** Each kind with its content, for people. */
const meanings: ReadonlyMap<AnyKind, string> = new Map<AnyKind, string>([
  [keptKey, "the key of a wallet"],
  [keptToday, "the day of a wallet"],
  [keptProfit, "the profit of a wallet"],
  [keptHolders, "the markets of a wallet"],
  [keptHoldings, "the holdings of a wallet"],
  [keptCounts, "counts of the daemon"],
  [keptGroup, "the interval of a group of notifications"],
  [keptHeld, "a held notification"],
  [keptEnding, "an end of an alert that waited"],
  [keptChain, "an escalation"],
  [keptSilence, "a silence"],
  [keptIncidents, "an incident"],
  [keptOnCall, "an incident of an on-call service"],
  [keptPosition, "the name of an open position"],
  [keptNoData, "a no-data alert"],
  [keptThrottle, "a throttle"],
  [keptThrottled, "an event that a throttle held"],
  [keptEvent, "an event that waited for figures"],
  [keptPair, "the state of a pair"],
]);

export const keptKinds: readonly AnyKind[] = [...meanings.keys()];

/** Without a value of these a notification may not be sent. */
const notifying: ReadonlySet<AnyKind> = new Set<AnyKind>([
  ...[keptHeld, keptEnding, keptChain, keptOnCall, keptThrottled, keptEvent],
]);

/** @returns the values that their owners can read, those of no kind among them, and those that are not used, with the reasons */
export function readable(kept: KeptValues): {
  readonly kept: KeptValues;
  readonly unread: readonly string[];
  readonly damaged: readonly DamagedValue[];
} {
  const read = new Map(kept);
  const unread: string[] = [];
  const damaged: DamagedValue[] = [];
  for (const [name, text] of kept) {
    const kind = keptKinds.find((one) => one.keyOf(name) !== null);
    try {
      kind?.read(name, text);
    } catch (error) {
      if (!(error instanceof KeptValueError)) throw error;
      read.delete(name);
      unread.push(`${error.message}; it is not used`);
      damaged.push({ name, meaning: meanings.get(kind!)!, notifies: notifying.has(kind!) });
    }
  }
  return { kept: read, unread, damaged };
}
