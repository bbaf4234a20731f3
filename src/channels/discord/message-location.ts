/** The location of a message on Discord, encoded in its receipt. Pure. */

/** In the thread of that id, or (null) in the channel itself. */
export interface MessageLocation {
  readonly threadId: string | null;
  readonly id: string;
}

/** Formats a receipt: a message id, or thread id and message id: `1100000000000000001/1100000000000000009`. */
export function formatReceipt({ threadId, id }: MessageLocation): string {
  return threadId === null ? id : `${threadId}/${id}`;
}

export function parseReceipt(receipt: string): MessageLocation {
  const [first = "", second] = receipt.split("/", 2);
  return second === undefined ? { threadId: null, id: first } : { threadId: first, id: second };
}

const epochMs = 1_420_070_400_000;

/** The smallest id at a time. */
export function snowflakeAt(ms: number): string {
  return String(BigInt(Math.max(0, Math.trunc(ms) - epochMs)) << 22n);
}

/** The creation time encoded in an id, ms. */
export function createdAtMs(id: string): number {
  return Number(BigInt(id) >> 22n) + epochMs;
}
