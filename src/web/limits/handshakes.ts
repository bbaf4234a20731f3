/**
 * Limits TLS handshakes, each of which costs about a millisecond of the main thread. Each address has a limit, and so
 * have three groups: this machine, addresses with an earlier login, and all others. A flood from other machines
 * therefore blocks neither the owner nor a supervisor on this machine.
 */
import type { Socket } from "node:net";
import type { Clock } from "../../domain/clock.ts";
import { addressGroup } from "../access/client-address.ts";
import { isLoopback } from "../settings.ts";
import { tokenBucket } from "./token-bucket.ts";

export interface HandshakeLimits {
  /** Per group: this machine, known addresses, all others. */
  readonly perSecond: number;
  readonly burst: number;
  readonly addressPerSecond: number;
  readonly addressBurst: number;
}

/** Above this the address with the oldest connection is removed. */
const maxAddresses = 1_000;

/**
 * Returns a function that permits a handshake for a connection; false: it is refused.
 * @param isKnown returns true for an address with an earlier login
 */
export function handshakeLimiter(
  clock: Clock,
  limits: HandshakeLimits,
  isKnown: (address: string) => boolean,
): (peer: Pick<Socket, "remoteAddress" | "localAddress">) => boolean {
  const { perSecond, burst, addressPerSecond, addressBurst } = limits;
  const [machine, known, others] = Array.from({ length: 3 }, () => tokenBucket(clock, perSecond, burst));
  const addresses = new Map<string, () => boolean>();
  return ({ remoteAddress = "unknown", localAddress }) => {
    const address = addressGroup(remoteAddress);
    const own = addresses.get(address) ?? tokenBucket(clock, addressPerSecond, addressBurst);
    addresses.delete(address);
    addresses.set(address, own);
    const [oldest] = addresses.keys();
    if (addresses.size > maxAddresses) addresses.delete(oldest!);
    if (!own()) return false;
    // The system drops packets from other machines that claim a local address.
    if (remoteAddress === localAddress || isLoopback(address)) return machine!();
    return isKnown(address) ? known!() : others!();
  };
}
