/**
 * The interface of collectors, and their input for each run. The scheduler handles schedules, deadlines and failures.
 */
import type { Observation } from "../domain/observation.ts";
import type { Source } from "../domain/sources.ts";
import type { ClientCall, ExchangeClient, Lane } from "../exchange/index.ts";

/** One watched wallet. */
export interface CollectedWallet {
  /** The configured name. */
  readonly name: string;
  /** Base58. */
  readonly authority: string;
  /** No key, no session: public reads only. */
  readonly watchOnly: boolean;
  readonly pdaIndices: readonly number[];
}

/** The end of a run without errors. */
export type RunOutcome = "done" | "more" | "later" | "partial";

/** One run of one collector. */
export interface Run {
  readonly client: ExchangeClient;
  /** True if only older pages are to be read. */
  readonly catchUp: boolean;
  /** True if the run was requested, apart from the schedule. */
  readonly asked?: boolean;
  /** True if data may have been missed: the first run, or the first after failures or a long pause. */
  readonly gap: boolean;
  /** Options of one request: session, lane, signal, remaining time. */
  call(lane?: Lane): ClientCall;
  /** Corrected time, ms; called after an answer it is the time of its arrival. */
  nowMs(): number;
  /** Passes an observation on. Resolves when it was judged and stored. */
  observe(observation: Observation): Promise<void>;
}

export interface WalletRun extends Run {
  readonly wallet: CollectedWallet;
}

interface Common {
  readonly source: Source;
  /**
   * Returns false while no rule, text or feature needs the source, so that its runs make no requests. Absent: always
   * needed. The wallet is null for the exchange.
   */
  readonly isNeeded?: (wallet: string | null) => boolean;
}

/** Reads data of the exchange; one run at a time. */
export interface ExchangeCollector extends Common {
  readonly scope: "exchange";
  run(run: Run): Promise<RunOutcome>;
}

/** Reads data of a wallet; one run at a time for each. */
export interface WalletCollector extends Common {
  readonly scope: "wallet";
  /** True if it reads only wallets that have a key. */
  readonly needsSession: boolean;
  run(run: WalletRun): Promise<RunOutcome>;
}

export type Collector = ExchangeCollector | WalletCollector;
