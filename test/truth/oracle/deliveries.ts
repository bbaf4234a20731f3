/** Owed items of all lives with the times at which they arrived at their channels. */
import type { EventLog } from "../log.ts";
import { type Life, livesOf, type Owed } from "./lives.ts";

export interface Delivery extends Owed {
  /** True wall time of the first arrival, ms; null: there was none. */
  readonly arrivedMs: number | null;
}

export function deliveriesOf(log: EventLog, lives: readonly Life[] = livesOf(log)): readonly Delivery[] {
  // An item that was never committed leaves its number to another one of the next life.
  const owed = new Map<number, Owed[]>();
  for (const one of lives.flatMap((life) => life.owed))
    owed.set(one.item.id, [...(owed.get(one.item.id) ?? []), one]);
  const arrived = new Map<Owed, number>();
  for (const { life, channel, message, atMs } of log.of("arrived"))
    for (const id of message.itemIds) {
      const found = owed.get(id)?.findLast((one) => one.life <= life && one.item.receiver === channel);
      if (found && !arrived.has(found)) arrived.set(found, atMs);
    }
  return [...owed.values()].flat().map((one) => ({ ...one, arrivedMs: arrived.get(one) ?? null }));
}
