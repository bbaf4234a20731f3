/** The interface of collectors, and their input for each run. Schedules, deadlines and failures are the scheduler's. */
import type { Observation } from "../domain/observation.ts";
import type { Source } from "../domain/sources.ts";
import type { ClientCall, ExchangeClient, Lane } from "../exchange/index.ts";

/** One watched wallet. */
export interface CollectedWallet {
  /** As configured. */
  readonly name: string;
  /** Base58. */
  readonly authority: string;
  /** No key, no session: public reads only. */
  readonly watchOnly: boolean;
  readonly pdaIndices: readonly number[];
}

/** The end of a run without errors: */
export type RunOutcome = "done" | "more" | "later" | "partial";

/** One run of one collector. */
export interface Run {
  readonly client: ExchangeClient;
  /** Only work off older pages. */
  readonly catchUp: boolean;
  /** Somebody asked for this run, apart from the schedule. */
  readonly asked?: boolean;
  /** Something may have been missed: the first run, or the first after failures or a long pause. */
  readonly gap: boolean;
  /** Options of one request: session, lane, signal, what is left of the deadline. */
  call(lane?: Lane): ClientCall;
  /** Our clock, ms; asked after an answer it is the time of its arrival. */
  nowMs(): number;
  /** Hands an observation on. Resolves when it was judged and stored. */
  observe(observation: Observation): Promise<void>;
}

export interface WalletRun extends Run {
  readonly wallet: CollectedWallet;
}

interface Common {
  readonly source: Source;
  /**
   * Returns false while no rule, text or feature needs what it reads, so that its runs ask nothing. Absent: it is always
   * needed. The wallet is null for the exchange.
   */
  readonly isNeeded?: (wallet: string | null) => boolean;
}

/** Asks about the exchange; one run at a time. */
export interface ExchangeCollector extends Common {
  readonly scope: "exchange";
  run(run: Run): Promise<RunOutcome>;
}

/** Asks about a wallet; one run at a time for each. */
export interface WalletCollector extends Common {
  readonly scope: "wallet";
  /** Only for wallets that have a key. */
  readonly needsSession: boolean;
  run(run: WalletRun): Promise<RunOutcome>;
}

export type Collector = ExchangeCollector | WalletCollector;
