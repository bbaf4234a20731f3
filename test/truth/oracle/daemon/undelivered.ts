/** Items that are owed and not delivered, by what was committed. */
import type { DeliveryItem } from "../../../../src/domain/alerts/delivery.ts";
import type { Observation } from "../../../../src/domain/observation.ts";

const roomMs = 10;

type Open = ReadonlyMap<number, DeliveryItem>;

export class Undelivered {
  readonly #channels: ReadonlySet<string>;
  readonly #open = new Map<number, DeliveryItem>();
  /** As it was at the beginning of the moment in which it changed last. */
  #before: { readonly atMs: number; readonly open: Open } = { atMs: Number.NaN, open: new Map() };

  constructor(sections: readonly Readonly<Record<string, unknown>>[]) {
    this.#channels = new Set(Object.keys(sections[0]!.channels as object));
  }

  take(owed: readonly DeliveryItem[], atMs: number): void {
    if (owed.length === 0) return;
    if (this.#before.atMs !== atMs) this.#before = { atMs, open: new Map(this.#open) };
    for (const item of owed) {
      if (item.status === "delivered" || item.status === "dead") this.#open.delete(item.id);
      else if (this.#channels.has(item.receiver)) this.#open.set(item.id, item);
    }
  }

  /** The open items of a message. */
  inMessage(id: string): readonly DeliveryItem[] {
    return [...this.#open.values()].filter(({ messageId }) => messageId === id);
  }

  /** The possible figures, where none of them is the one that was recorded. */
  problems(
    { figures, atMs: clockMs }: Observation & { readonly kind: "daemon" },
    atMs: number,
  ): readonly string[] {
    const all = this.#before.atMs === atMs ? [this.#before.open, this.#open] : [this.#open];
    const counts = all.map(({ size }) => size);
    const names = figures.waitingChannels.match(/\b(?:chat|mail|pager)\b/g) ?? [];
    const told = [...new Set(names)].sort().join(", ");
    const is = all.some((open) => {
      const items = [...open.values()];
      // Where the clock was fast when it was owed, waiting begins with the next start.
      const fast = items.some(({ owedAtMs }) => owedAtMs > clockMs);
      // A calling item that is told again waits from when it was owed first, whenever its group leaves.
      const sinceMs = items.map(({ owedAtMs, releaseAtMs = 0, again, quiet }) =>
        again && !quiet ? owedAtMs : Math.max(owedAtMs, releaseAtMs),
      );
      const oldestMs = Math.max(0, clockMs - Math.min(clockMs, ...sinceMs));
      const receivers = [...new Set(items.map(({ receiver }) => receiver))].sort().join(", ");
      return receivers === told && (fast || Math.abs(oldestMs - figures.oldestUndeliveredMs) <= roomMs);
    });
    const counted = figures.undelivered >= Math.min(...counts) && figures.undelivered <= Math.max(...counts);
    return is && counted ? [] : [`${counts.join(" or ")} items wait`];
  }
}
