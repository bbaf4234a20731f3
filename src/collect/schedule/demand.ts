/**
 * Computes the requests a second that the schedules need, the share that the ceiling allows, and the resulting interval
 * of each source. Pure: `perpwatch check` uses it without a daemon, and the scheduler stretches its intervals by it.
 */
import {
  isMarketRead,
  type MarketRead,
  marketReads,
  type Source,
  sourceOrder,
  sourceRow,
} from "../../domain/sources.ts";
import { type Lane, lanes } from "../../exchange/index.ts";
import { freshnessMs, maxIntervalMs, type ScheduleSettings, scheduleMs } from "../settings.ts";

export interface DemandInput {
  readonly settings: ScheduleSettings;
  readonly requestsPerSecond: number;
  readonly wallets: readonly {
    readonly watchOnly: boolean;
    readonly pdaIndices: readonly number[];
    /** Trader accounts, if known. Default: one for each PDA index. */
    readonly accounts?: number;
    readonly atRisk?: boolean;
  }[];
  /** Default 30. */
  readonly markets?: number;
  /** The number of markets that each source reads, only those that a rule uses. Default: none. */
  readonly marketReads?: Partial<Record<MarketRead, number>>;
  /** True if the computed equity is compared with the exchange's portfolio values. */
  readonly equityCheck?: boolean;
  /** Wall time, for calendars. */
  readonly nowMs: number;
}

export function marketReadsOf(count: (source: MarketRead) => number): Record<MarketRead, number> {
  return Object.fromEntries(marketReads.map((source) => [source, count(source)])) as Record<
    MarketRead,
    number
  >;
}

export interface SourceDemand {
  readonly source: Source;
  readonly lane: Lane;
  /** As configured; for traderState of wallets that are not at risk. */
  readonly everyMs: number;
  /** Under the ceiling. */
  readonly effectiveMs: number;
  readonly requestsPerSecond: number;
}

export interface Demand {
  readonly ceilingPerSecond: number;
  /** With all schedules as configured. */
  readonly wantedPerSecond: number;
  /** The interval of trader states of wallets at risk, ms, under the ceiling; null: they have no separate one. */
  readonly atRiskMs: number | null;
  readonly sources: readonly SourceDemand[];
}

/** Share of the ceiling available to schedules; the rest is for sign-ins, repeats and requested reads. */
const PLANNED = 0.9;

/**
 * Weights of the lanes in the planned requests. One request reads all prices, positions need one a wallet: if both are
 * stretched, positions get nearly three times as many requests.
 */
const planWeights: ReadonlyMap<Lane, number> = new Map<Lane, number>([
  [lanes.prices, 20],
  [lanes.atRisk, 60],
  [lanes.state, 60],
  [lanes.inbox, 4],
  [lanes.rest, 9],
]);

/**
 * Sources that are not stretched, with the maximum share of the planned requests for each: one request covers pauses
 * and sessions of every market, one a halt of the exchange.
 */
const steadyShares: ReadonlyMap<Source, number> = new Map<Source, number>([
  ["marketConfig", 0.15],
  ["exchangeStatus", 0.12],
]);

/** Returns the lane of a source for a wallet that is not at risk. */
export function laneOf(source: Source): Lane {
  return lanes[sourceRow(source).lane];
}

export function demandOf(input: DemandInput): Demand {
  const { settings, requestsPerSecond: ceiling } = input;
  const wanted = new Map<Source, { everyMs: number; perSecond: number }>();
  for (const source of sourceOrder) {
    const everyMs = scheduleMs(settings[source], input.nowMs);
    wanted.set(source, { everyMs, perSecond: (requestsOf(source, input) * 1_000) / everyMs });
  }
  const riskMs = settings.traderState.kind === "interval" ? settings.traderState.atRiskMs : null;
  const atRisk = input.wallets.filter((wallet) => wallet.atRisk === true);
  const state = wanted.get("traderState")!;
  let riskPerSecond = 0;
  if (riskMs !== null) {
    const requests = sum(atRisk.map((wallet) => wallet.pdaIndices.length));
    state.perSecond -= (requests * 1_000) / state.everyMs;
    riskPerSecond = (requests * 1_000) / riskMs;
  }
  const wantedOf = new Map<Lane, number>([[lanes.atRisk, riskPerSecond]]);
  const planned = ceiling * PLANNED;
  const steadyFactors = new Map<Source, number>();
  let shared = planned;
  for (const [source, { perSecond }] of wanted) {
    const share = steadyShares.get(source);
    if (share !== undefined) {
      const factor = Math.max(1, perSecond / (planned * share));
      steadyFactors.set(source, factor);
      shared -= perSecond / factor;
      continue;
    }
    const lane = laneOf(source);
    wantedOf.set(lane, (wantedOf.get(lane) ?? 0) + perSecond);
  }
  const given = shareOut(shared, wantedOf);
  const factorOf = (lane: Lane) => Math.max(1, (wantedOf.get(lane) ?? 0) / (given.get(lane) ?? 0) || 1);
  const sources = sourceOrder.map((source): SourceDemand => {
    const { everyMs, perSecond } = wanted.get(source)!;
    const lane = laneOf(source);
    return {
      source,
      lane,
      everyMs,
      effectiveMs: Math.round(everyMs * (steadyFactors.get(source) ?? factorOf(lane))),
      requestsPerSecond: perSecond + (source === "traderState" ? riskPerSecond : 0),
    };
  });
  return {
    ceilingPerSecond: ceiling,
    wantedPerSecond: sum(sources.map((one) => one.requestsPerSecond)),
    atRiskMs: riskMs === null ? null : Math.round(riskMs * factorOf(lanes.atRisk)),
    sources,
  };
}

/** Returns the share of a rate that each lane gets: the unused part of a lane is divided among the others by weight. */
function shareOut(perSecond: number, wanted: ReadonlyMap<Lane, number>): ReadonlyMap<Lane, number> {
  const given = new Map<Lane, number>();
  let open = [...wanted.keys()];
  let left = perSecond;
  while (open.length > 0) {
    const weights = sum(open.map((lane) => planWeights.get(lane)!));
    const shareOf = (lane: Lane) => (left * planWeights.get(lane)!) / weights;
    const content = open.filter((lane) => wanted.get(lane)! <= shareOf(lane));
    if (content.length === 0) {
      for (const lane of open) given.set(lane, shareOf(lane));
      break;
    }
    for (const lane of content) {
      given.set(lane, wanted.get(lane)!);
      left -= wanted.get(lane)!;
    }
    open = open.filter((lane) => !content.includes(lane));
  }
  return given;
}

/**
 * Returns, by source, the interval against which freshness is measured: as configured, or as stretched by the ceiling.
 * Figures of wallets that are read every minute are not stale after three times five seconds.
 */
export function realSchedulesMs(input: DemandInput & { readonly streams?: boolean }): Record<Source, number> {
  const maxInterval = (source: Source) =>
    maxIntervalMs(input.settings[source], input.nowMs, input.streams === true);
  return Object.fromEntries(
    demandOf(input).sources.map(({ source, effectiveMs }) => [
      source,
      freshnessMs(source, Math.max(maxInterval(source), effectiveMs)),
    ]),
  ) as Record<Source, number>;
}

/** Returns the cost of one run over everything, in plain reads. */
export function requestsOf(
  source: Source,
  input: Pick<DemandInput, "wallets" | "markets" | "marketReads" | "equityCheck">,
): number {
  const { wallets } = input;
  const accounts = (of: typeof wallets): number =>
    sum(of.map((one) => one.accounts ?? one.pdaIndices.length));
  switch (sourceRow(source).cost) {
    case "one":
      return 1;
    case "wallets":
      return wallets.length;
    case "indices":
      return sum(wallets.map((one) => one.pdaIndices.length));
    case "accounts":
      return accounts(wallets);
    case "inboxes":
      return accounts(wallets.filter((one) => !one.watchOnly));
    case "markets":
      return isMarketRead(source) ? (input.marketReads?.[source] ?? 0) : (input.markets ?? 30);
    case "equityCheck":
      return input.equityCheck === true ? accounts(wallets) : 0;
    case "none":
      // The past is read once, in the last lane.
      return 0;
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
