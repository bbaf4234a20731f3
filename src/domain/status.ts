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
  /** As of a position. */
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
  /** A change of collateral that no history explains yet, for people: its profit is not known therefore. Absent: none. */
  readonly unexplained?: string;
  readonly figures: Readonly<Record<string, number | null>>;
  readonly accounts: readonly AccountStatus[];
}

export interface MarketStatus {
  readonly symbol: string;
  readonly status: string | null;
  readonly figures: Readonly<Record<string, number | null>>;
}

/** Its texts and its value are those of now, wherever now is known. */
export interface FiringAlert extends Alert {
  /** The time at which they are, ms. */
  readonly textAtMs: number;
  /** Absent: its end waits for nothing. */
  readonly endingWait?: EndingWait;
  /** Its condition no longer holds: it ends unless that returns. */
  readonly gone?: true;
}

/** The number of a condition's subjects in each data state, which stands beside the state of their alerts. */
export interface RuleDataStates {
  readonly rule: string;
  readonly mode: "live" | "shadow";
  readonly ok: number;
  /** The inputs are missing, too old, or say nothing yet. */
  readonly noData: number;
  /** Its expression has no result. */
  readonly error: number;
}

/** A rule that cannot judge a subject now. */
export interface UnjudgedSubject {
  readonly rule: string;
  readonly subject: string;
  readonly state: "noData" | "error";
  /** The missing source; null where no reading would help: a window that is not covered yet, arithmetic without a result. */
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
    /** The time at which it was said, ms. */
    readonly seenMs: number | null;
  };
  readonly firing: readonly FiringAlert[];
  /** Those of rules in shadow mode, of which nobody is told. */
  readonly shadow: readonly FiringAlert[];
  /** Without those of rules in shadow mode. */
  readonly pending: readonly {
    readonly rule: string;
    readonly subject: string;
    readonly severity: string;
    /** The beginning of this run of the condition, ms. */
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

/** Nothing can be read from the exchange at all. */
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

/** A source that is read less often than configured, and the age that data of it may have therefore. */
export interface StretchedSource {
  readonly source: Source;
  readonly staleAfterMs: number;
  /** By the configuration. */
  readonly usuallyMs: number;
}

export interface ChannelStatus {
  readonly name: string;
  readonly kind: string;
  /** False while only mending it can help. */
  readonly working: boolean;
  /** The last attempt failed, and it is tried again by itself. */
  readonly retrying: boolean;
  readonly detail: string;
  readonly waiting: number;
  readonly oldestWaitingMs: number | null;
  /** Messages since the start, as `dead` and `failures` are. */
  readonly delivered: number;
  readonly dead: number;
  readonly failures: Readonly<Record<string, number>>;
}

/** One connection to the exchange's stream. */
export interface StreamStatus {
  /** The wallet whose notifications it brings; null: the one for all that is public. */
  readonly wallet: string | null;
  readonly connected: boolean;
  readonly detail: string;
  /** Since when it is, or is not, connected, ms; null: it never was. */
  readonly sinceMs: number | null;
  /** The time of its last message other than signs of life, ms. */
  readonly lastToldMs: number | null;
  readonly subscriptions: number;
  /** Subscriptions that the exchange would not take. */
  readonly refused: number;
  readonly reconnects: number;
  readonly frames: number;
  /** Frames that could not be read. */
  readonly badFrames: number;
}

/** The newest audit of each wallet's inbox. */
export interface InboxAuditStatus {
  /** Null: only when somebody asks. */
  readonly everyMs: number | null;
  readonly audits: readonly {
    readonly wallet: string;
    readonly atMs: number;
    /** For people; null: it was read. */
    readonly failure: string | null;
    readonly differences: number;
    /** The number of these that were found by the audit before, too. */
    readonly lasting: number;
    /** Unacknowledged there. */
    readonly left: number;
  }[];
}

/** Fire drills: the next that runs by itself, and what the last one came to. */
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

/** The dead man's switch. Its addresses are in nothing that is shown. */
export interface HeartbeatStatus {
  readonly everyMs: number;
  /** The time at which the last call was taken, ms; null: none was yet. */
  readonly lastOkMs: number | null;
  /** The reason why the last call was not taken, for people; null: it was. */
  readonly failure: string | null;
  readonly failingSinceMs: number | null;
  /** The reason why no call is made, for people; null: it is. */
  readonly withheld: string | null;
  /** The time at which a failure of alarms was last reported (`failUrl`), ms; null: never. */
  readonly failToldMs: number | null;
}

export interface DaemonStatus {
  readonly version: string;
  readonly startedMs: number;
  /** `degraded`: commits fail; what matters is sent from memory. */
  readonly state: "starting" | "running" | "degraded" | "stopping";
  readonly watch: WatchStatus;
  /** Null while anything can be read. */
  readonly outage: ExchangeOutage | null;
  readonly schedules: readonly ScheduleStatus[];
  /** Absent: none. */
  readonly stretched?: readonly StretchedSource[];
  readonly requests: {
    /** The user's; null: as much as the exchange grants. */
    readonly ceilingPerSecond: number | null;
    /** Requests a second that are sent at most now. */
    readonly ratePerSecond: number;
    /** The rate that refusals of the exchange led to, and since when it is used; null or absent: they do not lower it. */
    readonly granted?: { readonly perSecond: number; readonly sinceMs: number } | null;
    /** 429 answers since the start. */
    readonly refused?: number;
    readonly used: number;
    readonly waiting: number;
    /** The exchange refuses requests with 429 now; null or absent: it does not. */
    readonly limited?: FailureCause | null;
  };
  /** Null: streams are off, and everything is polled. */
  readonly streams?: {
    readonly connections: readonly StreamStatus[];
    /** Changes of accounts, and notifications, that a poll told first and the stream never did. */
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
