/**
 * The inputs of the watch, in order of arrival: an answer, a failed read, an action of a person, or time.
 *
 * `atMs` is our clock at arrival; windows, `for` and throttles run on it. `slot` orders answers about one account: an
 * older one is dropped. The exchange's own times are kept in the values and shown.
 */

import type {
  CollateralAsset,
  MarketConfig,
  MarketPrices,
  SubaccountState,
  TraderViewState,
} from "./account.ts";
import type { Alert, Severity } from "./alerts/alert.ts";
import type { Silence } from "./alerts/silence.ts";
import type { Event } from "./event.ts";
import type { InboxDifferenceKind } from "./inbox.ts";
import type { Source } from "./sources.ts";

export type FailureReason =
  | "unreachable"
  | "timeout"
  | "rate-limited"
  | "server-error"
  | "signed-out"
  | "refused"
  | "bad-record";

/**
 * The cause of a failed read where more is known than its reason. `rateLimited`: the exchange has refused requests with
 * 429 since `sinceMs`, and the next request is sent at `untilMs`; ms by our clock.
 */
export interface FailureCause {
  readonly kind: "rateLimited";
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** The daemon's figures of itself; fields of `daemon.*` in rules. Durations in ms. */
export interface DaemonFigures {
  /** The name of its machine. */
  readonly host: string;
  /** The delay of the latest poll behind its schedule. */
  readonly lagMs: number;
  readonly loopLagMs: number;
  readonly failedPolls: number;
  /** The failing reads and their causes, for people; empty while none does. */
  readonly failingReads: string;
  /** Our clock less the exchange's. */
  readonly clockOffsetMs: number;
  readonly streamConnected: boolean;
  /** Share of the request ceiling in use, 0–1; 0 while requests wait for the end of a rate limit. */
  readonly budgetUsed: number;
  /** The exchange refuses requests with 429. */
  readonly rateLimited: boolean;
  readonly undelivered: number;
  readonly oldestUndeliveredMs: number;
  /** The channels they wait for and the causes, for people; empty while none does. */
  readonly waitingChannels: string;
  readonly databaseBytes: number;
  readonly authFailures: number;
  /** Refusals more than a minute after the first one of their wallet within 15 min. */
  readonly repeatedAuthFailures: number;
  /** The names of all wallets of which a sign-in or session was refused within 15 min, with `, ` between them; empty while none was. */
  readonly refusedWallets: string;
  /** Wallets that have a key. */
  readonly signingWallets: number;
  /** Those of them without a session. */
  readonly signedOutWallets: number;
  /** The reason why the text of logins is not signed, for people; empty while it is. */
  readonly loginTextRefused: string;
  /** The reason why nothing can be signed, for people; empty while it can. */
  readonly signerUnavailable: string;
  /** Messages that their channels refused since the start. */
  readonly deadMessages: number;
  /** Records that did not fit the contract since the start. */
  readonly badRecords: number;
}

/** A value of a field of the rule language; maps and lists for the fields that have these types. */
export type FigureScalar = number | boolean | string;
export type FigureRecord = Readonly<Record<string, FigureScalar>>;
export type Figure = FigureScalar | FigureRecord | readonly FigureRecord[];

/** Injected facts: figures of one subject that are stated instead of being computed from answers. */
export interface InjectedFigures {
  /** A subject's full name; a trader account, position or market that is not known yet appears with it. */
  readonly owner: string;
  /** By field name; fields left out do not change. Durations in ms, times in ms since the epoch. */
  readonly values: Readonly<Record<string, Figure>>;
  /** The sources that answered; left out: those of the stated fields. */
  readonly sources?: readonly Source[];
  /** For a trader account: the symbols of all its positions; others no longer exist. */
  readonly positions?: readonly string[];
  /** True for a trader account or a position that no longer exists. */
  readonly gone?: boolean;
}

export type Observation =
  /**
   * The subaccounts of one (wallet, PDA index). A subaccount that is not listed no longer exists. With `told`, the answer
   * covers only those: the others are neither confirmed nor gone, and the age of the source does not change.
   */
  | {
      readonly kind: "accounts";
      readonly wallet: string;
      readonly pdaIndex: number;
      readonly atMs: number;
      readonly slot: number;
      readonly slotIndex: number;
      /** True if they contain the ledger up to exactly this place of the slot. Absent: not known. */
      readonly exact?: boolean;
      readonly subaccounts: readonly SubaccountState[];
      /** The indices of the subaccounts that a partial answer covers; absent: all. */
      readonly told?: readonly number[];
    }
  /** Prices. `live`: only those of markets that moved, between two readings of all; they are judged at once. */
  | {
      readonly kind: "prices";
      readonly atMs: number;
      readonly markets: readonly MarketPrices[];
      readonly live?: boolean;
    }
  | { readonly kind: "marketConfig"; readonly atMs: number; readonly markets: readonly MarketConfig[] }
  /** All assets that may be collateral beside the quote token; balances of others are not known to count. */
  | {
      readonly kind: "collateralAssets";
      readonly atMs: number;
      readonly assets: readonly CollateralAsset[];
    }
  /** The newest funding rate of one market, a fraction an hour, from the funding history. */
  | {
      readonly kind: "fundingRate";
      readonly atMs: number;
      readonly symbol: string;
      readonly ratePerHour: number;
      readonly exchangeMs: number;
    }
  /**
   * The order book of one market: best prices in USD, and the resting notional within 50 bps of the middle on each side,
   * USD. A side without orders has a bid of 0, an ask of +∞, and no depth.
   */
  | {
      readonly kind: "depth";
      readonly atMs: number;
      readonly symbol: string;
      readonly bid: number;
      readonly ask: number;
      readonly bidDepth50BpsUsd: number;
      readonly askDepth50BpsUsd: number;
    }
  /** The session state of a market, and the time of its next change, ms; null: none is known. */
  | {
      readonly kind: "calendar";
      readonly atMs: number;
      readonly symbol: string;
      /** `open`, `afterHours`; open on the wire. A market without a calendar is always open. */
      readonly sessionState: string;
      readonly nextTransitionMs: number | null;
    }
  /**
   * The figures of one market by its candles: its price on other venues, and how much its own mark moves in a day, a
   * fraction.
   */
  | {
      readonly kind: "external";
      readonly atMs: number;
      readonly symbol: string;
      /** Null: no other venue states one. */
      readonly externalPriceUsd: number | null;
      /** Null: there are too few candles. */
      readonly dailyVolatility: number | null;
    }
  | {
      readonly kind: "exchangeStatus";
      readonly atMs: number;
      readonly active: boolean;
      readonly gated: boolean;
      readonly withdrawalsAvailable: boolean;
    }
  | {
      readonly kind: "traderView";
      readonly atMs: number;
      readonly wallet: string;
      readonly view: TraderViewState;
    }
  /** The values of a wallet's trader accounts as the exchange states them, and of all of them together at midnight. */
  | {
      readonly kind: "portfolio";
      readonly atMs: number;
      readonly wallet: string;
      /** As of the end of a quarter of an hour, `ofMs`. */
      readonly values: readonly {
        readonly pdaIndex: number;
        readonly subaccount: number;
        readonly ofMs: number;
        readonly valueUsd: number;
      }[];
      /** At the start of a day; `accounts`: the names of the requested accounts, existing or not. */
      readonly midnight?: {
        readonly startMs: number;
        readonly usd: number;
        readonly accounts: readonly string[];
      };
    }
  /**
   * New events of one source, oldest first; an empty list means that there were none. Stored ones were removed before.
   * `unacked`: the number of unacknowledged notifications that the exchange lists (inbox reads only).
   */
  | {
      readonly kind: "events";
      readonly source: Source;
      readonly wallet: string | null;
      readonly atMs: number;
      readonly events: readonly Event[];
      readonly unacked?: number;
      /** True for events of a stream: they do not count as a reading of the source. */
      readonly live?: boolean;
      /** The PDA index whose history was read; left out: the history of the whole wallet. */
      readonly pdaIndex?: number;
      /**
       * The time by which all lists of the source for the wallet (its inboxes) were read, ms; null: one of them was not read
       * since the start, or these are older rows. Left out: the source has one list.
       */
      readonly wholeMs?: number | null;
      /** True for older rows only, read later: there may be newer ones. */
      readonly past?: boolean;
      /** The time after which all events have been read, ms; left out: not known. */
      readonly coversMs?: number;
      /** The resting orders, named by `orderName`, with the time of placement. */
      readonly resting?: readonly { readonly order: string; readonly placedMs: number }[];
      /** The place at which the next reading continues; stored with the events. */
      readonly cursor?: { readonly name: string; readonly value: string };
    }
  /** Past samples fetched at first sight: they enter history and windows at their own time, and fire nothing. */
  | {
      readonly kind: "backfill";
      readonly source: Source;
      readonly wallet: string | null;
      readonly atMs: number;
      readonly ticks: readonly Tick[];
    }
  | {
      readonly kind: "failed";
      readonly source: Source;
      readonly wallet: string | null;
      readonly symbol: string | null;
      readonly atMs: number;
      readonly reason: FailureReason;
      /** For people; never a secret. */
      readonly detail: string;
      readonly cause?: FailureCause;
    }
  | {
      readonly kind: "session";
      readonly wallet: string;
      readonly atMs: number;
      readonly signedIn: boolean;
      readonly detail: string;
    }
  | { readonly kind: "daemon"; readonly atMs: number; readonly figures: DaemonFigures }
  /** A channel became unusable, or usable again: reported on the other channels. */
  | {
      readonly kind: "channel";
      readonly atMs: number;
      readonly channel: string;
      readonly working: boolean;
      readonly detail: string;
    }
  /** Pending messages of an earlier run were given up, because their channel is no longer configured. */
  | {
      readonly kind: "dropped";
      readonly atMs: number;
      readonly channel: string;
      readonly messages: number;
    }
  /** A person acknowledged an alert. The alert is read from history: an event may be acknowledged long after its notification. */
  | {
      readonly kind: "acknowledged";
      readonly atMs: number;
      readonly alert: Alert;
      readonly by: string;
      readonly comment: string;
      /** The level and the value that the person saw and acknowledged. Left out: the current ones. */
      readonly shown?: { readonly severity: Severity; readonly value: number | null };
    }
  /** A person created a silence, or ended one before its time: the newest one of each number counts. */
  | { readonly kind: "silenced"; readonly atMs: number; readonly silence: Silence }
  /** The exchange's inbox of a wallet was compared with the history. */
  | {
      readonly kind: "inboxAudited";
      readonly atMs: number;
      readonly wallet: string;
      /** The number of differences, including repaired ones. */
      readonly differences: number;
      /** Those that the previous audit found, too; `key` of the notification. */
      readonly lasting: readonly { readonly kind: InboxDifferenceKind; readonly key: string }[];
    }
  /** A fire drill: its marked alert is sent to these channels, regardless of routes. */
  | {
      readonly kind: "drill";
      readonly atMs: number;
      /** Different each time. */
      readonly id: string;
      /** The person who started it, for people. */
      readonly by: string;
      readonly receivers: readonly string[];
    }
  /** The result of a fire drill. */
  | {
      readonly kind: "drilled";
      readonly atMs: number;
      readonly id: string;
      /** True if the schedule started it. */
      readonly scheduled: boolean;
      /** `failure`, for people; null: the channel took it in time. */
      readonly channels: readonly { readonly channel: string; readonly failure: string | null }[];
    }
  /** The daemon begins to watch: at its start, and after its machine slept or its process was paused for a minute or more. */
  | {
      readonly kind: "started";
      readonly atMs: number;
      readonly version: string;
      /** The end of the time that it watched before; null: it never did. */
      readonly lastAliveMs: number | null;
    }
  | { readonly kind: "stopped"; readonly atMs: number }
  /** Injected facts of the past or of a test, by the names of the rule language: applied and judged together. */
  | { readonly kind: "figures"; readonly atMs: number; readonly given: readonly InjectedFigures[] }
  /**
   * A new watch begins here, at a start or (`reloaded`) with newly read rules, with the state in history. It is recorded, so
   * that a replay creates a new watch at the same place; it is not passed to a watch.
   */
  | {
      readonly kind: "watching";
      readonly atMs: number;
      readonly reloaded: boolean;
      /** True if it took over the state of the watch before it. Absent: it has only the state in history. */
      readonly wentOn?: true;
    }
  | { readonly kind: "time"; readonly atMs: number };

/** All numbers read of one owner at one time; float64, unrounded. */
export interface Tick {
  readonly atMs: number;
  /** `main/0.1` (an account and its positions), `main` (a wallet), `markets`, `exchange`, `daemon`. */
  readonly owner: string;
  /** Series names inside the owner (`trader.equity`, `position[SOL].size`, `market[SOL].markPrice`) beside `values`. */
  readonly series: readonly string[];
  readonly values: readonly number[];
}
