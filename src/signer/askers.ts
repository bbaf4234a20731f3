/** Room for those who ask a signer: whoever says nothing makes place for whoever comes. */
import type { Duplex } from "node:stream";

/** Askers at the same time: a daemon and a few commands. */
const mostAskers = 16;
/** Each says at once what it wants. One that has not for so long, ms, has nothing to ask. */
const silentMs = 3_000;
/** One that has asked is a daemon, perhaps, and comes back by itself: it makes place after a longer time. */
const idleMs = 60_000;

interface Asker {
  readonly stream: Duplex;
  lastMs: number;
  hasAsked: boolean;
}

/**
 * @param elapsedMs monotonic
 * @returns admits a connection, and gives what is to be called with each of its requests; null: there is no room, and it is closed
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
    if (askers.size >= mostAskers) {
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
