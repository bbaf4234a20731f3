/**
 * The input from outside, in the order in which it arrived: an answer, a failed read, an act, or time.
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
  /** Ours less the exchange's. */
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
  /** Those that came more than a minute after their wallet's first within 15 min. */
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
  /** Messages that their channels would not take since the start. */
  readonly deadMessages: number;
  /** Records that did not fit the contract since the start. */
  readonly badRecords: number;
}

/** A value by the name that rules know it under; maps and lists as the fields that are maps and lists have them. */
export type FigureScalar = number | boolean | string;
export type FigureRecord = Readonly<Record<string, FigureScalar>>;
export type Figure = FigureScalar | FigureRecord | readonly FigureRecord[];

/** The figures of one subject that are stated instead of being computed from answers. */
export interface GivenFigures {
  /** A subject's full name; a trader account, position or market that is not known yet appears with it. */
  readonly owner: string;
  /** By field name; what is left out stays as it was. Durations in ms, times in ms since the epoch. */
  readonly values: Readonly<Record<string, Figure>>;
  /** The sources that answered; left out: those behind the fields that are given. */
  readonly sources?: readonly Source[];
  /** For a trader account: the symbols of all its positions, so that those which are not listed are gone. */
  readonly positions?: readonly string[];
  /** For a trader account or a position: it is not there any more. */
  readonly gone?: boolean;
}

export type Observation =
  /**
   * Every subaccount of one (wallet, PDA index). A subaccount that is not listed is gone. With `told`, only those are
   * told of now: the others are neither confirmed nor gone, and nothing is as fresh as if all had been read.
   */
  | {
      readonly kind: "accounts";
      readonly wallet: string;
      readonly pdaIndex: number;
      readonly atMs: number;
      readonly slot: number;
      readonly slotIndex: number;
      /** They contain all of the ledger up to this place of the slot, and nothing after it. Absent: that is not known. */
      readonly exact?: boolean;
      readonly subaccounts: readonly SubaccountState[];
      /** Indices of subaccounts; absent: all. */
      readonly told?: readonly number[];
    }
  /** `live`: of the markets that moved, between two readings of all of them. They are judged at once. */
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
   * The order book of one market: best prices in USD, and what rests within 50 bps of the middle on each side, in USD of
   * notional. A side without orders has a bid of 0, an ask of +∞, and no depth.
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
  /** True while a market is in session, and the time of the next change, ms; null: it does not, as far as is known. */
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
      /** Null: no other venue tells one. */
      readonly externalPriceUsd: number | null;
      /** Null: there are too few candles to say. */
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
      /** At the start of a day; `accounts` by name are those that were asked about, whether they were there or not. */
      readonly midnight?: {
        readonly startMs: number;
        readonly usd: number;
        readonly accounts: readonly string[];
      };
    }
  /**
   * New events of one source, oldest first; an empty list says that there was nothing new. Those already stored were
   * taken out before. `unacked` is how many unacknowledged notifications the exchange shows (inbox reads only).
   */
  | {
      readonly kind: "events";
      readonly source: Source;
      readonly wallet: string | null;
      readonly atMs: number;
      readonly events: readonly Event[];
      readonly unacked?: number;
      /** Told as it happened: it says nothing of what else the source holds, which is not read by it. */
      readonly live?: boolean;
      /** The PDA index whose history was read; left out: that of the whole wallet. */
      readonly pdaIndex?: number;
      /**
       * The time by which all lists that the source consists of for the wallet (its inboxes) had been read, ms; null: one was not since
       * the start, or these are older rows. Left out: this answer is all of it.
       */
      readonly wholeMs?: number | null;
      /** Older rows only, read later: they do not say that there is nothing newer. */
      readonly past?: boolean;
      /** All that happened after this time is told by now, ms; left out: nobody says so. */
      readonly coversMs?: number;
      /** Orders that rest now, as `orderName` has them, and when they were placed. */
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
  /** A channel that cannot be used, or can again: told on the other channels. */
  | {
      readonly kind: "channel";
      readonly atMs: number;
      readonly channel: string;
      readonly working: boolean;
      readonly detail: string;
    }
  /** Messages that an earlier run owed to a channel that is not configured were given up. */
  | {
      readonly kind: "dropped";
      readonly atMs: number;
      readonly channel: string;
      readonly messages: number;
    }
  /** A person acknowledged an alert, here as history has it: events are acknowledged long after they were told. */
  | {
      readonly kind: "acknowledged";
      readonly atMs: number;
      readonly alert: Alert;
      readonly by: string;
      readonly comment: string;
      /** The level and the value that the person saw, which are what it covers. Left out: those of now. */
      readonly shown?: { readonly severity: Severity; readonly value: number | null };
    }
  /** A person silenced something, or ended a silence before its time: the newest of its number counts. */
  | { readonly kind: "silenced"; readonly atMs: number; readonly silence: Silence }
  /** The exchange's inbox of a wallet was held against what is known here. */
  | {
      readonly kind: "inboxAudited";
      readonly atMs: number;
      readonly wallet: string;
      /** The number of differences, those that were healed included. */
      readonly differences: number;
      /** Those that the audit before found, too; `key` of the notification. */
      readonly lasting: readonly { readonly kind: InboxDifferenceKind; readonly key: string }[];
    }
  /** A fire drill: its marked alert goes to these channels, whatever the routes say. */
  | {
      readonly kind: "drill";
      readonly atMs: number;
      /** Different each time. */
      readonly id: string;
      /** The person who wanted it, for people. */
      readonly by: string;
      readonly receivers: readonly string[];
    }
  /** The result. */
  | {
      readonly kind: "drilled";
      readonly atMs: number;
      readonly id: string;
      /** It ran by itself: nobody looked on. */
      readonly scheduled: boolean;
      /** `failure`, for people; null: it was taken in time. */
      readonly channels: readonly { readonly channel: string; readonly failure: string | null }[];
    }
  /** The daemon begins to watch: at its start, and where its machine slept or its process was paused for a minute or more. */
  | {
      readonly kind: "started";
      readonly atMs: number;
      readonly version: string;
      /** Up to when it watched before; null: it never did. */
      readonly lastAliveMs: number | null;
    }
  | { readonly kind: "stopped"; readonly atMs: number }
  /** The past, or a made-up world, told in the words of rules: all of these at once, and judged together. */
  | { readonly kind: "figures"; readonly atMs: number; readonly given: readonly GivenFigures[] }
  /**
   * A watch begins here, at a start or (`reloaded`) with newly read rules: it knows what history knows. Recorded, so that
   * who replays makes a new one here, too; no watch is fed it.
   */
  | {
      readonly kind: "watching";
      readonly atMs: number;
      readonly reloaded: boolean;
      /** It took over what the watch before it knew. Absent: it knew what history holds and nothing else. */
      readonly wentOn?: true;
    }
  | { readonly kind: "time"; readonly atMs: number };

/** All numbers seen of one owner at one moment; float64, unrounded. */
export interface Tick {
  readonly atMs: number;
  /** `main/0.1` (an account and its positions), `main` (a wallet), `markets`, `exchange`, `daemon`. */
  readonly owner: string;
  /** Series names inside the owner (`trader.equity`, `position[SOL].size`, `market[SOL].markPrice`) beside `values`. */
  readonly series: readonly string[];
  readonly values: readonly number[];
}
