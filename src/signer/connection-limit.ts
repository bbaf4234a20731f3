/** Limits the connections to a signer. A new connection replaces one that has been idle for long. */
import type { Duplex } from "node:stream";

/** Maximum concurrent connections: a daemon and a few commands. */
const maxAskers = 16;
/** A connection without any request may be closed after this time, ms. perpwatch sends its first request at once. */
const silentMs = 3_000;
/** A connection may be closed this long after its last request, ms. It may be a daemon's, which reconnects by itself. */
const idleMs = 60_000;

interface Asker {
  readonly stream: Duplex;
  lastMs: number;
  hasAsked: boolean;
}

/**
 * @param elapsedMs monotonic
 * @returns admits a connection and returns a callback for each of its requests; null: the limit is reached, and it was
 * closed
 */
export function room(elapsedMs: () => number): (stream: Duplex) => (() => void) | null {
  const askers = new Set<Asker>();
  const idlest = (): Asker | undefined => {
    const nowMs = elapsedMs();
    return [...askers]
      .filter(({ lastMs, hasAsked }) => nowMs - lastMs >= (hasAsked ? idleMs : silentMs))
      .sort((a, b) => Number(a.hasAsked) - Number(b.hasAsked) || a.lastMs - b.lastMs)[0];
  };
  return (stream) => {
    if (askers.size >= maxAskers) {
      const leaving = idlest();
      if (leaving === undefined) {
        stream.destroy();
        return null;
      }
      leaving.stream.destroy();
      askers.delete(leaving);
    }
    const asker: Asker = { stream, lastMs: elapsedMs(), hasAsked: false };
    askers.add(asker);
    stream.once("close", () => askers.delete(asker));
    return () => {
      asker.lastMs = elapsedMs();
      asker.hasAsked = true;
    };
  };
}
