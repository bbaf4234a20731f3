/** The daemon's report about itself: `/api/v1/status`, `perpwatch status`, the page and the metrics read this. */
import type { Alert } from "./alerts/alert.ts";
import type { EndingWait } from "./alerts/ending-wait.ts";
import type { FailureCause, FailureReason } from "./observation.ts";
import type { Source } from "./sources.ts";

/** The reasons why rules have no data: a source that is silent, or a configuration that names what is not there. */
export type NoDataSource = Source | "configuration";

export interface PositionStatus {
  readonly name: string;
  readonly symbol: string;
  readonly side: string;
  /** The time of the oldest input of its figures, ms: the account's state, the mark. */
  readonly seenMs: number | null;
  /**
   * Figures by their names in the rule language. Absent: not known. Null: there is no such price (liquidationPrice,
   * stopLossPrice, takeProfitPrice). Distances to what is not there are Infinity.
   */
  readonly figures: Readonly<Record<string, number | null>>;
}

export interface AccountStatus {
  readonly name: string;
  readonly state: string | null;
  readonly riskTier: string | null;
  /** The same as of a position. */
  readonly seenMs: number | null;
  readonly figures: Readonly<Record<string, number | null>>;
  readonly positions: readonly PositionStatus[];
  readonly orders: number;
}

export interface WalletStatus {
  readonly name: string;
  readonly authority: string;
  readonly watchOnly: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly signedIn: boolean;
  readonly sessionDetail: string;
  /** The time at which its trader state was last seen, ms; null: not yet. */
  readonly seenMs: number | null;
  readonly unacked: number | null;
  /** A change of collateral that no history explains yet, for people: meanwhile its profit is not known. Absent: none. */
  readonly unexplained?: string;
  readonly figures: Readonly<Record<string, number | null>>;
  readonly accounts: readonly AccountStatus[];
}

export interface MarketStatus {
  readonly symbol: string;
  readonly status: string | null;
  readonly figures: Readonly<Record<string, number | null>>;
}

/** Texts and value are current if the current figures are known. */
export interface FiringAlert extends Alert {
  /** The time of its texts and value, ms. */
  readonly textAtMs: number;
  /** The wait of its end. Absent: its end does not wait. */
  readonly endingWait?: EndingWait;
  /** Its condition no longer holds: it ends unless that returns. */
  readonly gone?: true;
}

/** The number of a condition's subjects in each data state, separate from the state of their alerts. */
export interface RuleDataStates {
  readonly rule: string;
  readonly mode: "live" | "shadow";
  readonly ok: number;
  /** The inputs are missing, too old, or not sufficient yet. */
  readonly noData: number;
  /** Its expression has no result. */
  readonly error: number;
}

/** A rule that cannot judge a subject now. */
export interface UnjudgedSubject {
  readonly rule: string;
  readonly subject: string;
  readonly state: "noData" | "error";
  /** The missing source; null if no reading would help: a window that is not covered yet, arithmetic without a result. */
  readonly source: NoDataSource | null;
  /** For people. */
  readonly detail: string;
  readonly sinceMs: number;
}

/** The watch's state. */
export interface WatchStatus {
  readonly atMs: number;
  readonly startedMs: number;
  readonly wallets: readonly WalletStatus[];
  readonly markets: readonly MarketStatus[];
  readonly exchange: {
    readonly active: boolean | null;
    readonly gated: boolean | null;
    readonly withdrawalsAvailable: boolean | null;
    /** Its time, ms. */
    readonly seenMs: number | null;
  };
  readonly firing: readonly FiringAlert[];
  /** Alerts of rules in shadow mode: nobody is notified. */
  readonly shadow: readonly FiringAlert[];
  /** Without those of rules in shadow mode. */
  readonly pending: readonly {
    readonly rule: string;
    readonly subject: string;
    readonly severity: string;
    /** The time since which the condition has held, ms. */
    readonly sinceMs: number;
    /** The part of it that counts for `for`, ms: the time in which the inputs were fresh and the condition held. */
    readonly heldMs: number;
    /** The time that it has to hold before it fires, ms. */
    readonly forMs: number;
  }[];
  readonly blind: readonly {
    readonly wallet: string | null;
    readonly source: NoDataSource;
    readonly sinceMs: number;
    readonly rules: readonly string[];
  }[];
  readonly ruleStates: readonly RuleDataStates[];
  /** At most 1,000; `ruleStates` counts all. */
  readonly unjudged: readonly UnjudgedSubject[];
  readonly rules: number;
  /** Times that the exchange's own view of a trader differed from the risk computed here. */
  readonly viewMismatches: number;
}

/** The state in which nothing can be read from the exchange. */
export interface ExchangeOutage {
  /** The time of the first read that failed, ms. */
  readonly sinceMs: number;
  readonly reason: FailureReason;
  /** The reason in words that go after "the exchange": `cannot be reached`, `answers with errors only`. */
  readonly what: string;
  /** For people. */
  readonly detail: string;
}

/** One schedule of one wallet (or of the exchange). */
export interface ScheduleStatus {
  readonly source: Source;
  readonly wallet: string | null;
  readonly everyMs: number;
  readonly lastOkMs: number | null;
  readonly lastFailure: {
    readonly atMs: number;
    readonly reason: FailureReason;
    readonly detail: string;
    readonly cause?: FailureCause;
  } | null;
  readonly failuresInRow: number;
  /** The reason why older pages cannot be caught up with; null while they can, or none are missing. */
  readonly catchUpFailure: (NonNullable<ScheduleStatus["lastFailure"]> & { readonly times: number }) | null;
}

/** A source that is read less often than configured, and the resulting age of its data. */
export interface StretchedSource {
  readonly source: Source;
  readonly staleAfterMs: number;
  /** By the configuration. */
  readonly usuallyMs: number;
}

export interface ChannelStatus {
  readonly name: string;
  readonly kind: string;
  /** False while it has a fault that a person has to fix. */
  readonly working: boolean;
  /** True if the last attempt failed and will be repeated. */
  readonly retrying: boolean;
  readonly detail: string;
  readonly waiting: number;
  readonly oldestWaitingMs: number | null;
  /** Messages since the start; so are `dead` and `failures`. */
  readonly delivered: number;
  readonly dead: number;
  readonly failures: Readonly<Record<string, number>>;
}

/** One connection to the exchange's stream. */
export interface StreamStatus {
  /** The wallet whose notifications it carries; null: the connection for public data. */
  readonly wallet: string | null;
  readonly connected: boolean;
  readonly detail: string;
  /** The time of the last change of `connected`, ms; null: it never was connected. */
  readonly sinceMs: number | null;
  /** The time of its last message other than heartbeats, ms. */
  readonly lastToldMs: number | null;
  readonly subscriptions: number;
  /** Subscriptions that the exchange refused. */
  readonly refused: number;
  readonly reconnects: number;
  readonly frames: number;
  /** Frames that could not be read. */
  readonly badFrames: number;
}

/** The newest audit of each wallet's inbox. */
export interface InboxAuditStatus {
  /** Null: only on request. */
  readonly everyMs: number | null;
  readonly audits: readonly {
    readonly wallet: string;
    readonly atMs: number;
    /** For people; null: it was read. */
    readonly failure: string | null;
    readonly differences: number;
    /** The number of these that the previous audit found, too. */
    readonly lasting: number;
    /** Unacknowledged there. */
    readonly left: number;
  }[];
}

/** Fire drills: the next scheduled one, and the result of the last one. */
export interface DrillStatus {
  /** Null: none is scheduled. */
  readonly nextMs: number | null;
  readonly last: {
    readonly atMs: number;
    readonly by: string;
    /** Null: it could not be recorded. */
    readonly alertId: number | null;
    /** `failure`, for people; null: it was taken in time. */
    readonly channels: readonly { readonly channel: string; readonly failure: string | null }[];
  } | null;
}

/** The dead man's switch. Its addresses are never shown. */
export interface HeartbeatStatus {
  readonly everyMs: number;
  /** The time of the last successful call, ms; null: none yet. */
  readonly lastOkMs: number | null;
  /** The reason why the last call failed, for people; null: it succeeded. */
  readonly failure: string | null;
  readonly failingSinceMs: number | null;
  /** The reason why no calls are made, for people; null: they are. */
  readonly withheld: string | null;
  /** The time at which a failure of alarms was last reported (`failUrl`), ms; null: never. */
  readonly failToldMs: number | null;
}

export interface DaemonStatus {
  readonly version: string;
  readonly startedMs: number;
  /** `degraded`: commits fail; critical messages are sent from memory. */
  readonly state: "starting" | "running" | "degraded" | "stopping";
  readonly watch: WatchStatus;
  /** Null while something can be read from the exchange. */
  readonly outage: ExchangeOutage | null;
  readonly schedules: readonly ScheduleStatus[];
  /** Absent: none. */
  readonly stretched?: readonly StretchedSource[];
  readonly requests: {
    /** The configured ceiling; null: the exchange's limit. */
    readonly ceilingPerSecond: number | null;
    /** The current maximum of requests a second. */
    readonly ratePerSecond: number;
    /** The rate after refusals of the exchange, and its start; null or absent: not lowered. */
    readonly granted?: { readonly perSecond: number; readonly sinceMs: number } | null;
    /** 429 answers since the start. */
    readonly refused?: number;
    readonly used: number;
    readonly waiting: number;
    /** Set while the exchange refuses requests with 429; null or absent: it does not. */
    readonly limited?: FailureCause | null;
  };
  /** Null: streams are off, and everything is polled. */
  readonly streams?: {
    readonly connections: readonly StreamStatus[];
    /** Changes of accounts, and notifications, that a poll found and the stream did not report. */
    readonly missed: number;
  } | null;
  readonly channels: readonly ChannelStatus[];
  readonly inbox?: InboxAuditStatus;
  readonly drill?: DrillStatus;
  /** Null: none is configured. */
  readonly heartbeat?: HeartbeatStatus | null;
  readonly acknowledgements: {
    readonly waiting: number;
    readonly due: number;
    readonly confirmed: number;
    readonly left: number;
  };
  readonly database: { readonly path: string; readonly bytes: number; readonly waitingCommits: number };
  readonly clockOffsetMs: number;
  readonly loopLagMs: number;
}
