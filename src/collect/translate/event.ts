/** The common part of events. */
import type { Event, EventKind } from "../../domain/event.ts";
import type { CollectedWallet } from "../collector.ts";

type Needed = "key" | "happenedMs" | "seenMs" | "fields";

/** Returns an event of a wallet; missing fields are null, 0 or false. `backfilled` is set when it is published. */
export function walletEvent(
  kind: EventKind,
  wallet: CollectedWallet,
  parts: Pick<Event, Needed> & Partial<Event>,
): Event {
  return {
    kind,
    wallet: wallet.name,
    pdaIndex: null,
    subaccount: null,
    symbol: null,
    slot: 0,
    slotIndex: 0,
    eventIndex: 0,
    data: null,
    backfilled: false,
    inbox: null,
    notificationKey: null,
    ...parts,
  };
}

/** Returns a decimal of the wire as a double; null stays null. */
export function numberOf(decimal: string | null): number | null {
  return decimal === null ? null : Number(decimal);
}
