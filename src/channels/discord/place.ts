/** The place of a message on Discord, as a receipt names it. Pure. */

/** In the thread of that id, or (null) in the channel itself. */
export interface Place {
  readonly threadId: string | null;
  readonly id: string;
}

/** A receipt names the thread, too: `1100000000000000001/1100000000000000009`. */
export function receiptOf({ threadId, id }: Place): string {
  return threadId === null ? id : `${threadId}/${id}`;
}

export function placeOf(receipt: string): Place {
  const [first = "", second] = receipt.split("/", 2);
  return second === undefined ? { threadId: null, id: first } : { threadId: first, id: second };
}

const epochMs = 1_420_070_400_000;

/** The smallest id of a moment. */
export function snowflakeAt(ms: number): string {
  return String(BigInt(Math.max(0, Math.trunc(ms) - epochMs)) << 22n);
}

/** The creation time of what has this id, ms. */
export function madeAtMs(id: string): number {
  return Number(BigInt(id) >> 22n) + epochMs;
}
