/**
 * Bounds TLS handshakes, which cost about a millisecond of the daemon's own thread each, whether or not anything follows. Each address
 * has its bound, and so has all that comes from this machine, from addresses that somebody has logged in from, and from all others:
 * a flood from elsewhere keeps neither the owner nor a supervisor of this machine out.
 */
import type { Socket } from "node:net";
import type { Clock } from "../domain/clock.ts";
import { addressGroup } from "./access/client-address.ts";
import { bucket } from "./bucket.ts";
import { isLoopback } from "./settings.ts";

export interface HandshakeLimits {
  /** The same for each: this machine, known addresses, all others. */
  readonly perSecond: number;
  readonly burst: number;
  readonly addressPerSecond: number;
  readonly addressBurst: number;
}

/** With one more, the one that has gone longest without a connection is forgotten. */
const maxAddresses = 1_000;

/**
 * Returns a function that takes a handshake for a connection; false: it may have none.
 * @param isKnown returns true for an address that somebody has logged in from
 */
export function handshakeBounds(
  clock: Clock,
  limits: HandshakeLimits,
  isKnown: (address: string) => boolean,
): (peer: Pick<Socket, "remoteAddress" | "localAddress">) => boolean {
  const { perSecond, burst, addressPerSecond, addressBurst } = limits;
  const [machine, known, others] = Array.from({ length: 3 }, () => bucket(clock, perSecond, burst));
  const addresses = new Map<string, () => boolean>();
  return ({ remoteAddress = "unknown", localAddress }) => {
    const address = addressGroup(remoteAddress);
    const own = addresses.get(address) ?? bucket(clock, addressPerSecond, addressBurst);
    addresses.delete(address);
    addresses.set(address, own);
    const [oldest] = addresses.keys();
    if (addresses.size > maxAddresses) addresses.delete(oldest!);
    if (!own()) return false;
    // The system drops what comes from elsewhere under an address of its own.
    if (remoteAddress === localAddress || isLoopback(address)) return machine!();
    return isKnown(address) ? known!() : others!();
  };
}
