/**
 * Troubles that the rules about the daemon itself are for, planned from draws of their own: faults of sessions, answers, streams
 * and channels, a process that stands still, and a clock that is set right again.
 */
import { channelTraits } from "./channels.ts";
import { Draw } from "./draw.ts";
import type { LifeEvent } from "./faults.ts";
import { type DaemonFault, type Fault, type Part, parts } from "./weather.ts";

export type DaemonFaultKind = DaemonFault["kind"];

export const daemonFaultKinds = [
  "signInsRefused",
  "sessionsRevoked",
  "garbled",
  "equityOff",
  "streamsDown",
  "partErrors",
  "channelRejects",
  "channelForbids",
] as const satisfies readonly DaemonFaultKind[];

/** The share of scenarios that have each of them. */
const shares: Readonly<Record<DaemonFaultKind, number>> = {
  signInsRefused: 0.15,
  sessionsRevoked: 0.15,
  garbled: 0.15,
  equityOff: 0.25,
  streamsDown: 0.15,
  partErrors: 0.2,
  channelRejects: 0.2,
  channelForbids: 0.12,
};
const maxForbiddenMs = 75_000;
const stallShare = 0.2;
const setRightShare = 0.6;
const channelNames = Object.keys(channelTraits);

/** @param wallets names of all   @param keyed names of those that have a session */
export function daemonFaults(
  seed: number,
  overMs: number,
  wallets: readonly string[],
  keyed: readonly string[],
): readonly Fault[] {
  return daemonFaultKinds.flatMap((kind, index) => {
    // Each kind has draws of its own, so that one more changes no other.
    const draw = new Draw(seed * 16 + index, 40);
    if (!draw.chance(shares[kind])) return [];
    const fromMs = draw.between(0, overMs * 0.4);
    const toMs = Math.min(overMs, fromMs + draw.between(60_000, 300_000));
    const needsSession = kind === "signInsRefused" || kind === "sessionsRevoked";
    const named = draw.some(needsSession && keyed.length > 0 ? keyed : wallets, 0.6);
    if (needsSession && keyed.length === 0) return [];
    const fault = faultOf(draw, kind, { fromMs, toMs }, named);
    // Now and then no channel takes what another one refuses.
    return fault.kind === "channelRejects" && draw.chance(0.3)
      ? channelNames.map((channel) => ({ ...fault, channel, share: 0.5 }))
      : [fault];
  });
}

function faultOf(
  draw: Draw,
  kind: DaemonFaultKind,
  span: { readonly fromMs: number; readonly toMs: number },
  wallets: readonly string[],
): Fault {
  switch (kind) {
    case "signInsRefused":
      return { ...span, kind, wallets, status: draw.one([400, 401, 403]) };
    case "sessionsRevoked":
      return { ...span, kind, wallets, everyMs: draw.between(5_000, 30_000) };
    case "garbled":
      return { ...span, kind, share: draw.one([0.01, 0.05, 0.3]) };
    case "equityOff":
      // Values are of the last quarter of an hour: it has to last beyond that.
      return { ...span, fromMs: 0, kind, wallets, share: draw.between(0.015, 0.08) * draw.one([1, -1]) };
    case "streamsDown":
      return { ...span, kind, of: draw.one(["common", "wallets", "all"]), status: draw.one([null, 503]) };
    case "partErrors":
      return { ...span, kind, part: draw.one(Object.keys(parts) as Part[]), status: draw.one([500, 503]) };
    case "channelRejects":
      return { ...span, kind, channel: draw.one(channelNames), share: draw.one([0.1, 0.5]) };
    case "channelForbids": {
      // The daemon looks at such a channel after longer and longer pauses.
      const toMs = Math.min(span.toMs, span.fromMs + maxForbiddenMs);
      return { ...span, toMs, kind, channel: draw.one(channelNames) };
    }
  }
}

/** A process that stands still, several times in a row, and a clock that somebody sets right. */
export function daemonLife(seed: number, overMs: number, clockIsOff: boolean): readonly LifeEvent[] {
  const life: LifeEvent[] = [];
  const draw = new Draw(seed, 41);
  if (draw.chance(stallShare)) {
    let atMs = draw.between(5_000, overMs * 0.7);
    for (let left = draw.whole(1, 8); left > 0; left--) {
      const ms = draw.one([
        draw.between(1_000, 4_000),
        draw.between(4_000, 20_000),
        draw.between(20_000, 60_000),
      ]);
      if (atMs + ms > overMs) break;
      life.push({ kind: "stall", atMs, ms });
      atMs += ms + draw.between(200, 8_000);
    }
  }
  const set = new Draw(seed, 42);
  if (clockIsOff && set.chance(setRightShare))
    life.push({ kind: "clock", atMs: set.between(overMs * 0.5, overMs), aheadMs: 0 });
  return life;
}
