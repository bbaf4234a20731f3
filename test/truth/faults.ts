/**
 * The troubles of a scenario, planned from a seed: faults between the daemon and the world, and what happens to the daemon
 * itself. All of them are over some minutes before the end, so that everything has to be well again at the end.
 */
import type { Probe } from "../../src/deliver/index.ts";
import { channelTraits } from "./channels.ts";
import { Draw } from "./draw.ts";
import { type DaemonFaultKind, daemonFaultKinds, daemonFaults, daemonLife } from "./faults-daemon.ts";
import type { Fault, FaultKind } from "./weather.ts";

export type Step = "observed" | "judged" | "committed" | Parameters<Probe>[0];

/** Times are ms after the beginning. */
export type LifeEvent = { readonly atMs: number } & (
  | { readonly kind: "reload"; readonly changed: boolean }
  /** Stopped in order, and started so much later. */
  | { readonly kind: "restart"; readonly awayMs: number }
  /** Dropped without notice, at once or at the next time that it takes a step; started so much later. */
  | { readonly kind: "kill"; readonly awayMs: number; readonly step: Step | null }
  /** The wall clock of its machine is set, ms ahead of the true time. */
  | { readonly kind: "clock"; readonly aheadMs: number }
  /** Every stream breaks. */
  | { readonly kind: "streamsBreak" }
  /** Its process stands still for so long: timers run late, and nothing is taken. */
  | { readonly kind: "stall"; readonly ms: number }
);

export interface Troubles {
  /** The wall clock of the daemon's machine less the true time at the beginning, ms. */
  readonly aheadMs: number;
  readonly faults: readonly Fault[];
  /** By time. */
  readonly life: readonly LifeEvent[];
}

/** The share of a scenario after which troubles are over. */
export const troublesShare = 0.7;
/** The shares of scenarios that have the kinds that are drawn by themselves. */
const historiesLateShare = 0.2;
/** With so many wallets one alert tells of an exchange that is silent. */
const blackoutFromWallets = 4;
const blackoutShare = 0.25;
const diskFullShare = 0.15;

/** Those that are drawn by themselves, each with its chance. */
const addedKinds = ["historiesLate", "diskFull"] as const;
type AddedKind = (typeof addedKinds)[number];

/** Those that are drawn one among all. */
const mixedKinds: readonly Exclude<FaultKind, AddedKind | DaemonFaultKind>[] = [
  "outage",
  "limited",
  "errors",
  "slow",
  "cutOff",
  "framesLost",
  "framesTwice",
  "framesLate",
  "halfOpen",
  "channelRefuses",
  "channelHangs",
  "answersLost",
];

export const faultKinds: readonly FaultKind[] = [...mixedKinds, ...addedKinds, ...daemonFaultKinds];

export const lifeKinds: readonly LifeEvent["kind"][] = [
  "reload",
  "restart",
  "kill",
  "clock",
  "streamsBreak",
  "stall",
];

/** Faults that make data missing. */
const hiding: ReadonlySet<FaultKind> = new Set([
  "outage",
  "limited",
  "errors",
  "slow",
  "partErrors",
  "streamsDown",
]);
/** Missing data are reported within this, ms. */
const noticedMs = 40_000;
const amidstShare = 0.5;
const reloadShare = 0.3;
/** The share of scenarios with an interrupted outage, and the part of the seed that is drawn from for it. */
const interruptedShare = 0.06;
const interruptedPart = 78;

const steps: readonly Step[] = [
  "observed",
  "judged",
  "committed",
  "owed-seen",
  "sealed",
  "before-send",
  "sent",
  "recorded",
  "ack-due",
  "ack-sent",
  "ack-recorded",
];

/**
 * @param wallets names of all
 * @param keyed names of those that have a session
 * @param more wallets that share in what hits some of the others, by draws of their own
 */
export function planTroubles(
  seed: number,
  lengthMs: number,
  wallets: readonly string[],
  keyed: readonly string[],
  more: readonly string[] = [],
): Troubles {
  const draw = new Draw(seed, 2);
  const overMs = lengthMs * troublesShare;
  const faults: Fault[] = [];
  const count = draw.whole(0, 4);
  for (let i = 0; i < count; i++) {
    const fromMs = draw.between(0, overMs * 0.8);
    const toMs = Math.min(overMs, fromMs + draw.between(2_000, draw.chance(0.3) ? 240_000 : 60_000));
    faults.push(faultOf(draw, { fromMs, toMs }, wallets));
  }
  faults.push(...addedFaults(seed, overMs, wallets), ...daemonFaults(seed, overMs, wallets, keyed));
  const life: LifeEvent[] = [];
  const eventRules = draw.whole(0, 3);
  for (let i = 0; i < eventRules; i++) {
    const atMs = draw.between(1_000, overMs);
    const awayMs = draw.chance(0.3) ? draw.between(30_000, 90_000) : draw.between(200, 10_000);
    life.push(
      draw.one<() => LifeEvent>([
        () => ({ kind: "reload", atMs, changed: draw.chance(0.5) }),
        () => ({ kind: "restart", atMs, awayMs }),
        () => ({ kind: "kill", atMs, awayMs, step: null }),
        () => ({ kind: "kill", atMs, awayMs, step: draw.one(steps) }),
        () => ({ kind: "clock", atMs, aheadMs: draw.between(-40_000, 40_000) }),
        () => ({ kind: "streamsBreak", atMs }),
      ])(),
    );
  }
  const aheadMs = draw.chance(0.2) ? draw.between(-20_000, 20_000) : 0;
  const clockIsOff = aheadMs !== 0 || life.some(({ kind }) => kind === "clock");
  life.push(...daemonLife(seed, overMs, clockIsOff), ...amidst(seed, overMs, faults));
  const disk = diskFull(seed, overMs);
  faults.push(...disk.faults);
  life.push(...disk.life);
  life.sort((a, b) => a.atMs - b.atMs);
  return { aheadMs, faults: faults.map(sharedWith(new Draw(seed, 23), more)), life };
}

function sharedWith(draw: Draw, more: readonly string[]): (fault: Fault) => Fault {
  return (fault) =>
    "wallets" in fault
      ? { ...fault, wallets: [...fault.wallets, ...more.filter(() => draw.chance(0.5))] }
      : fault;
}

/** From draws of their own, so that one more of them leaves all others as they are. */
function addedFaults(seed: number, overMs: number, wallets: readonly string[]): readonly Fault[] {
  const draw = new Draw(seed, 7);
  const faults: Fault[] = [];
  if (draw.chance(historiesLateShare)) {
    const fromMs = draw.between(0, overMs * 0.6);
    const toMs = Math.min(overMs, fromMs + draw.between(30_000, 300_000));
    const mostMs = draw.between(5_000, 120_000);
    faults.push({ fromMs, toMs, kind: "historiesLate", wallets: draw.some(wallets, 0.6), mostMs });
  }
  const dark = new Draw(seed, 24);
  if (wallets.length >= blackoutFromWallets && dark.chance(blackoutShare)) {
    const fromMs = dark.between(30_000, overMs * 0.5);
    faults.push({ fromMs, toMs: fromMs + dark.between(60_000, 150_000), kind: "outage", streams: true });
  }
  faults.push(...interruptedOutage(new Draw(seed, interruptedPart), overMs));
  return faults;
}

/** An outage that answers interrupt for moments: it goes on. */
function interruptedOutage(draw: Draw, overMs: number): readonly Fault[] {
  if (!draw.chance(interruptedShare)) return [];
  const faults: Fault[] = [];
  let fromMs = draw.between(30_000, overMs * 0.4);
  for (let parts = draw.whole(2, 4); parts > 0; parts--) {
    const toMs = fromMs + draw.between(45_000, 90_000);
    faults.push({ fromMs, toMs, kind: "outage", streams: true });
    fromMs = toMs + draw.between(200, 2_500);
  }
  return faults;
}

/** Reloads, restarts and kills while data have been missing for long, so that alerts about it fire; in some scenarios a reload at any time. */
function amidst(seed: number, overMs: number, faults: readonly Fault[]): readonly LifeEvent[] {
  const life: LifeEvent[] = [];
  for (const [index, { kind, fromMs, toMs }] of faults.entries()) {
    const draw = new Draw(seed * 16 + index, 54);
    if (!hiding.has(kind) || toMs - fromMs < noticedMs || !draw.chance(amidstShare)) continue;
    const atMs = Math.min(overMs, draw.between(fromMs + noticedMs, toMs + noticedMs));
    const awayMs = draw.between(200, 10_000);
    life.push(
      draw.one<LifeEvent>([
        ...[false, false, true].map((changed) => ({ kind: "reload", atMs, changed }) as const),
        ...[{ kind: "restart", atMs, awayMs } as const, { kind: "kill", atMs, awayMs, step: null } as const],
      ]),
    );
  }
  const draw = new Draw(seed, 52);
  if (draw.chance(reloadShare))
    life.push({ kind: "reload", atMs: draw.between(60_000, overMs), changed: draw.chance(0.2) });
  return life;
}

/** A disk that is full for some time; now and then something happens to the daemon meanwhile. */
function diskFull(seed: number, overMs: number): Pick<Troubles, "faults" | "life"> {
  const draw = new Draw(seed, 50);
  if (!draw.chance(diskFullShare)) return { faults: [], life: [] };
  const fromMs = draw.between(0, overMs * 0.9);
  const toMs = Math.min(overMs, fromMs + draw.between(2_000, draw.chance(0.3) ? 12_000 : 120_000));
  const full = draw.chance(0.7);
  const fault: Fault = {
    ...{ fromMs, toMs, kind: "diskFull", reason: full ? "full" : "busy" },
    ...{ share: full ? 1 : draw.one([0.2, 0.5, 1]), opens: !full || draw.chance(0.5) },
  };
  if (!draw.chance(0.5)) return { faults: [fault], life: [] };
  const atMs = draw.between(fromMs, toMs);
  const awayMs = draw.between(200, 10_000);
  const life = draw.one<LifeEvent>([
    { kind: "reload", atMs, changed: draw.chance(0.5) },
    { kind: "restart", atMs, awayMs },
    { kind: "kill", atMs, awayMs, step: null },
    { kind: "kill", atMs, awayMs, step: draw.one(steps) },
  ]);
  return { faults: [fault], life: [life] };
}

function faultOf(draw: Draw, span: { fromMs: number; toMs: number }, wallets: readonly string[]): Fault {
  const kind = draw.one(mixedKinds);
  const channel = draw.one(Object.keys(channelTraits));
  const share = draw.one([0.1, 0.3, 0.8]);
  switch (kind) {
    case "outage":
      return { ...span, kind, streams: draw.chance(0.5) };
    case "errors":
      return { ...span, kind, wallets: draw.some(wallets, 0.4), status: draw.one([500, 502, 503]) };
    case "slow":
    case "framesLate":
      return { ...span, kind, share, mostMs: draw.between(1_000, kind === "slow" ? 60_000 : 10_000) };
    case "cutOff":
    case "framesLost":
    case "framesTwice":
      return { ...span, kind, share };
    case "channelRefuses":
      return { ...span, kind, channel, limited: draw.chance(0.5) };
    case "channelHangs":
      return { ...span, kind, channel };
    case "answersLost":
      return { ...span, kind, channel, share };
    default:
      return { ...span, kind };
  }
}
