/** The pace of signatures: nobody needs more, and each signature and refusal is a line that somebody may have to read. */

/** Signatures of one wallet that may be asked for at once, and the time in which one more may, ms. */
const maxAtOnce = 60;
export const oneMoreMs = 5_000;

/** @returns false where a wallet has signed enough for now */
export function signingPace(nowMs: () => number): (address: string) => boolean {
  const fullMs = maxAtOnce * oneMoreMs;
  const spentUntilMs = new Map<string, number>();
  return (address) => {
    const untilMs = Math.max(spentUntilMs.get(address) ?? 0, nowMs()) + oneMoreMs;
    if (untilMs > nowMs() + fullMs) return false;
    spentUntilMs.set(address, untilMs);
    return true;
  };
}
