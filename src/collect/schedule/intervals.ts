/**
 * The intervals at which sources are read, by the request ceiling and the risk of wallets, and the lanes of their
 * requests.
 */
import type { Clock } from "../../domain/clock.ts";
import type { Source } from "../../domain/sources.ts";
import { type Lane, lanes } from "../../exchange/index.ts";
import type { CollectedWallet } from "../collector.ts";
import { type ScheduleSettings, scheduleMs } from "../settings.ts";
import { type Demand, type DemandInput, demandOf, laneOf } from "./demand.ts";
import type { Job, Mode } from "./job.ts";

/** Margin ratio above which a wallet is read at the interval for wallets at risk. */
const atRiskRatio = 0.5;
/** Sources as urgent as positions when they are requested; others must not slow the reading of positions. */
const urgent: ReadonlySet<Source> = new Set([
  "markets",
  "marketConfig",
  "traderState",
  "exchangeStatus",
  "notifications",
  "liquidations",
]);
/** Interval of planning, ms: accounts change, and the ceiling falls after a 429. */
const planAgainMs = 5_000;

export interface IntervalsOptions {
  readonly wallets: readonly CollectedWallet[];
  readonly settings: ScheduleSettings;
  /** The ceiling with which `demand` is compared. */
  readonly requestsPerSecond: number;
  /** Returns the current maximum of requests a second: less than the ceiling after a 429. */
  readonly ratePerSecond: () => number;
  readonly clock: Clock;
  /** Returns the margin ratio of a wallet's worst account; null while unknown. */
  readonly marginRatio: (wallet: string) => number | null;
  /** Returns the number of known trader accounts of a wallet. */
  readonly accounts: (wallet: string) => number;
  /** Returns the number of markets for each source that is read market by market. */
  readonly marketReads?: () => NonNullable<DemandInput["marketReads"]>;
  /** Returns true if portfolio values are read in every turn. */
  readonly equityCheck?: () => boolean;
  /** Returns true if a wallet's notifications are streamed now. */
  readonly streaming?: (wallet: string) => boolean;
}

export class Intervals {
  readonly #options: IntervalsOptions;
  readonly #atRisk = new Set<string>();
  #effectiveMs = new Map<Source, number>();
  #atRiskMs: number | null = null;
  #plannedMs = 0;

  constructor(options: IntervalsOptions) {
    this.#options = options;
  }

  demand(): Demand {
    return this.#demandAt(this.#options.requestsPerSecond);
  }

  #demandAt(requestsPerSecond: number): Demand {
    const { wallets, settings, accounts, marketReads } = this.#options;
    return demandOf({
      settings,
      requestsPerSecond,
      nowMs: this.#options.clock.nowMs(),
      ...(marketReads ? { marketReads: marketReads() } : {}),
      equityCheck: this.#options.equityCheck?.() ?? false,
      wallets: wallets.map((wallet) => ({
        ...wallet,
        accounts: accounts(wallet.name),
        atRisk: this.#atRisk.has(wallet.name),
      })),
    });
  }

  /** Plans again if the last plan is too old. */
  follow(nowMs: number): void {
    if (nowMs - this.#plannedMs > planAgainMs) this.plan();
  }

  plan(): void {
    this.#plannedMs = this.#options.clock.elapsedMs();
    const demand = this.#demandAt(this.#options.ratePerSecond());
    this.#effectiveMs = new Map(demand.sources.map((one) => [one.source, one.effectiveMs]));
    this.#atRiskMs = demand.atRiskMs;
  }

  everyMs(job: Job): number {
    const schedule = this.#options.settings[job.collector.source];
    const atRiskMs = schedule.kind === "interval" && schedule.atRiskMs !== null ? this.#atRiskMs : null;
    if (atRiskMs !== null && job.wallet && this.#atRisk.has(job.wallet.name)) return atRiskMs;
    const usualMs =
      this.#effectiveMs.get(job.collector.source) ?? scheduleMs(schedule, this.#options.clock.nowMs());
    const streamingMs = schedule.kind === "interval" ? schedule.whenStreamingMs : undefined;
    if (streamingMs === undefined || !job.wallet || !this.#options.streaming?.(job.wallet.name))
      return usualMs;
    return Math.max(usualMs, streamingMs);
  }

  /** Updates the risk of a wallet after its newest state was read. */
  weigh(job: Job): void {
    const wallet = job.wallet?.name;
    if (wallet === undefined || job.collector.source !== "traderState") return;
    if ((this.#options.marginRatio(wallet) ?? 0) > atRiskRatio) this.#atRisk.add(wallet);
    else this.#atRisk.delete(wallet);
  }

  /** Returns the lane of a run's requests. */
  lane(job: Job, mode: Mode): Lane {
    if (mode === "catchUp") return lanes.catchUp;
    const lane = laneOf(job.collector.source);
    if (job.wallet && lane <= lanes.inbox && this.#atRisk.has(job.wallet.name)) return lanes.atRisk;
    if (mode !== "asked") return lane;
    return urgent.has(job.collector.source) ? (Math.min(lane, lanes.state) as Lane) : lanes.asked;
  }
}
