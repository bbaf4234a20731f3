/** The settings of the tick, given at the start and again at a reload. */
import type { AdviceSettings } from "../advice/settings.ts";
import type { AcknowledgeSettings } from "../alerts/acknowledge.ts";
import type { Inhibitions } from "../alerts/inhibit.ts";
import type { RemindSettings } from "../alerts/remind.ts";
import type { Routing } from "../alerts/route.ts";
import type { Capacity } from "../domain/delivery.ts";
import type { Source } from "../domain/observation.ts";
import type { NamedFact } from "../domain/template-data.ts";
import type { RuleSet } from "../rules/index.ts";

export interface WatchedWallet {
  readonly name: string;
  /** Base58. */
  readonly authority: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, number>>;
  /** No key, no session: public reads only. */
  readonly watchOnly: boolean;
  /** Those that are read; left out: whichever answer. */
  readonly pdaIndices?: readonly number[];
}

/** A declared hedge: legs that are meant to cancel out. */
export interface WatchedPair {
  readonly name: string;
  /** `main/SOL` (all accounts of the wallet), `main/0.1/SOL` (PDA index, subaccount); all of one market. */
  readonly legs: readonly string[];
  /** Naked share of the largest leg up to which it counts as whole, 0–1. */
  readonly tolerance: number;
}

export interface WatchSettings {
  readonly wallets: readonly WatchedWallet[];
  /** Left out: none. */
  readonly pairs?: readonly WatchedPair[];
  readonly ruleSet: RuleSet;
  readonly routing: Routing;
  /** Left out: none beside those that are built in. */
  readonly inhibit?: Inhibitions;
  /** Names of the channels that run; left out: not known. */
  readonly channels?: readonly string[];
  /** Capacities of channels, by name: those that have none are told incidents, and cannot edit. Left out: none has. */
  readonly capacities?: ReadonlyMap<string, Capacity>;
  readonly remind: RemindSettings;
  /** Left out: the usual. */
  readonly advice?: AdviceSettings;
  readonly acknowledge: AcknowledgeSettings;
  /** Interval at which each source is asked, ms. */
  readonly scheduleMs: Readonly<Record<Source, number>>;
  /** The facts that channel templates name: noted down with each change of an alert. Left out: nothing. */
  readonly named?: readonly NamedFact[];
  /** True if fire drills run automatically; left out: not known. */
  readonly drills?: boolean;
  /** IANA name; of "today". */
  readonly timezone: string;
  /** Judge the last known positions by newer prices (old-accounts.ts). Default true. A restart forgets positions. */
  readonly judgeOldPositions?: boolean;
  /** Watching goes on and only these settings are new: nothing was "already so when watching began". Default false. */
  readonly reloaded?: boolean;
}

/** A subject first seen later than this after a start may have come about since, so that nobody can say it was so then. */
export const firstLookMs = 60_000;
/** Time for which a new alert waits for figures that its texts name and that were not read since the start. */
export const textPatienceMs = 5_000;
/** Time without data, beyond `staleAfter`, after which it is reported, ms. */
export const noDataForMs = 30_000;
/** More wallets without data than this are one alert. */
export const groupedFromWallets = 3;
/** Maximum time for which the end of a position waits for a report of a liquidation, before it counts as closed. */
export const endingPatienceMs = 60_000;
