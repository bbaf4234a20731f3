/** Limits the rate of signatures: more are not needed, and each signature or refusal adds a line to the log. */

/** Burst of signatures per wallet, and the time after which one more is permitted, ms. */
const maxBurst = 60;
export const oneMoreMs = 5_000;

/** @returns false if a wallet has reached its limit */
export function signingPace(nowMs: () => number): (address: string) => boolean {
  const fullMs = maxBurst * oneMoreMs;
  const spentUntilMs = new Map<string, number>();
  return (address) => {
    const untilMs = Math.max(spentUntilMs.get(address) ?? 0, nowMs()) + oneMoreMs;
    if (untilMs > nowMs() + fullMs) return false;
    spentUntilMs.set(address, untilMs);
    return true;
  };
}
