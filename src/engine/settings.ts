/** The settings of the watch, given at the start and again at a reload. */
import type { AdviceSettings } from "../advice/settings.ts";
import type { AcknowledgeSettings } from "../alerts/acknowledge.ts";
import type { RemindSettings } from "../alerts/reminders/remind.ts";
import type { Inhibitions } from "../alerts/routing/inhibit.ts";
import type { Routing } from "../alerts/routing/route.ts";
import type { Capacity } from "../domain/alerts/delivery.ts";
import type { NamedFact } from "../domain/alerts/template-data.ts";
import type { Source } from "../domain/sources.ts";
import type { RuleSet } from "../rules/index.ts";
import type { WatchedPair, WatchedWallet } from "../state/wallets/watched.ts";

export interface WatchSettings {
  readonly wallets: readonly WatchedWallet[];
  /** Left out: none. */
  readonly pairs?: readonly WatchedPair[];
  readonly ruleSet: RuleSet;
  readonly routing: Routing;
  /** Left out: only the built-in ones. */
  readonly inhibit?: Inhibitions;
  /** Names of the running channels; left out: unknown. */
  readonly channels?: readonly string[];
  /** Capacities of channels, by name: a channel without any gets incidents, and cannot edit. Left out: none has any. */
  readonly capacities?: ReadonlyMap<string, Capacity>;
  readonly remind: RemindSettings;
  /** Left out: the defaults. */
  readonly advice?: AdviceSettings;
  readonly acknowledge: AcknowledgeSettings;
  /** Interval at which each source is read, ms. */
  readonly scheduleMs: Readonly<Record<Source, number>>;
  /** The facts that channel templates name: stored with each change of an alert. Left out: none. */
  readonly named?: readonly NamedFact[];
  /** True if fire drills run on a schedule; left out: unknown. */
  readonly drills?: boolean;
  /** IANA name, for "today". */
  readonly timezone: string;
  /**
   * Judge the last known positions by newer prices (`evaluate/conditions/old-accounts.ts`). Default true. A restart
   * discards positions.
   */
  readonly judgeOldPositions?: boolean;
  /** True if watching continues with new settings: nothing "already held when watching began". Default false. */
  readonly reloaded?: boolean;
}
