/** Limits the connections to a signer. A new connection replaces one that has been idle for long. */
import type { Duplex } from "node:stream";

/** Maximum concurrent connections: a daemon and a few commands. */
const maxConnections = 16;
/** A connection without any request may be closed after this time, ms. perpwatch sends its first request at once. */
const unusedMs = 3_000;
/** A connection may be closed this long after its last request, ms. It may be a daemon's, which reconnects by itself. */
const idleMs = 60_000;

interface Connection {
  readonly stream: Duplex;
  lastMs: number;
  hasRequested: boolean;
}

/**
 * @param elapsedMs monotonic
 * @returns admits a connection and returns a callback for each of its requests; null: the limit is reached, and it was
 * closed
 */
export function connectionLimit(elapsedMs: () => number): (stream: Duplex) => (() => void) | null {
  const connections = new Set<Connection>();
  const longestIdle = (): Connection | undefined => {
    const nowMs = elapsedMs();
    return [...connections]
      .filter(({ lastMs, hasRequested }) => nowMs - lastMs >= (hasRequested ? idleMs : unusedMs))
      .sort((a, b) => Number(a.hasRequested) - Number(b.hasRequested) || a.lastMs - b.lastMs)[0];
  };
  return (stream) => {
    if (connections.size >= maxConnections) {
      const idle = longestIdle();
      if (idle === undefined) {
        stream.destroy();
        return null;
      }
      idle.stream.destroy();
      connections.delete(idle);
    }
    const connection: Connection = { stream, lastMs: elapsedMs(), hasRequested: false };
    connections.add(connection);
    stream.once("close", () => connections.delete(connection));
    return () => {
      connection.lastMs = elapsedMs();
      connection.hasRequested = true;
    };
  };
}
