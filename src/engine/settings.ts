/** The settings of the tick, given at the start and again at a reload. */
import type { AdviceSettings } from "../advice/settings.ts";
import type { AcknowledgeSettings } from "../alerts/acknowledge.ts";
import type { RemindSettings } from "../alerts/reminders/remind.ts";
import type { Inhibitions } from "../alerts/routing/inhibit.ts";
import type { Routing } from "../alerts/routing/route.ts";
import type { Capacity } from "../domain/delivery.ts";
import type { Source } from "../domain/sources.ts";
import type { NamedFact } from "../domain/template-data.ts";
import type { RuleSet } from "../rules/index.ts";
import type { WatchedPair, WatchedWallet } from "../state/wallets/watched.ts";

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
  /** Judge the last known positions by newer prices (`evaluate/conditions/old-accounts.ts`). Default true. A restart forgets positions. */
  readonly judgeOldPositions?: boolean;
  /** Watching goes on and only these settings are new: nothing was "already so when watching began". Default false. */
  readonly reloaded?: boolean;
}
