/** The acknowledgements that notifications of the exchange take, by the rules that matched them and the liquidations that they tell of. */
import { type AcknowledgeSettings, acknowledgeWord } from "../../alerts/acknowledge.ts";
import { blindRule } from "../../domain/built-in.ts";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { AckStatus, AckWord } from "../../domain/delivery.ts";
import type { Event } from "../../domain/event.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { Match } from "./held-events.ts";

/** Matches of a canonical liquidation, for the notification that tells of it later. Newest last, bounded. */
const rememberedLiquidations = 2_000;

export interface AcknowledgementOptions {
  readonly acknowledge: AcknowledgeSettings;
  readonly wallet: (name: string) => WatchedWallet | undefined;
}

export class NotificationAcknowledgements {
  readonly #options: AcknowledgementOptions;
  readonly #liquidations = new Map<string, readonly Match[]>();

  constructor(options: AcknowledgementOptions) {
    this.#options = options;
  }

  /** All rules have judged the event of a notification. */
  take(event: Event, matches: readonly Match[], builder: ChangesBuilder): void {
    const inbox = event.inbox!;
    if (inbox.acked) return;
    const told = inbox.liquidationKey === null ? [] : (this.#liquidations.get(inbox.liquidationKey) ?? []);
    const all = [...matches, ...told];
    const settings = this.#options.acknowledge;
    if (all.length === 0) {
      // No rule was asked about a liquidation that nobody could read.
      const take =
        settings.unmatched === "always" && settings.notifications !== "never" && inbox.unread !== true;
      const reason = take ? "" : inbox.unread ? "what it tells cannot be read" : "no rule matches it";
      this.#row(event, take ? "always" : "never", [], take ? "due" : "left", reason, builder);
      return;
    }
    const word = acknowledgeWord(
      settings,
      inbox.notificationType,
      all.map((match) => match.word),
    );
    const rules = new Map<string, number[]>();
    for (const match of all) rules.set(match.rule, [...(rules.get(match.rule) ?? []), match.alertId]);
    const status = word === "always" ? "due" : word === "never" ? "left" : "waiting";
    const unjudged = all.some((match) => match.rule === blindRule);
    const reason = unjudged
      ? "what its rules read was not known"
      : word === "never"
        ? "its rules or the configuration say never"
        : "";
    this.#row(
      event,
      word,
      [...rules].map(([rule, alertIds]) => ({ rule, alertIds })),
      status,
      reason,
      builder,
    );
  }

  /** A notification is from before the first start. */
  takeBacklog(event: Event, builder: ChangesBuilder): void {
    if (event.inbox!.acked) return;
    const take = this.#options.acknowledge.backlog === "always";
    this.#row(
      event,
      take ? "always" : "never",
      [],
      take ? "due" : "left",
      take ? "" : "from before the first start",
      builder,
    );
  }

  #row(
    event: Event,
    word: AckWord,
    rules: readonly { readonly rule: string; readonly alertIds: readonly number[] }[],
    status: AckStatus,
    reason: string,
    builder: ChangesBuilder,
  ): void {
    if (event.wallet === null || this.#options.wallet(event.wallet)?.watchOnly) return;
    builder.changes.acknowledgements.push({
      key: event.key,
      wallet: event.wallet,
      word,
      rules,
      status,
      dueAtMs: status === "due" ? builder.atMs : null,
      confirmedAtMs: null,
      reason,
    });
  }

  /** Notes a match of a canonical liquidation. */
  remember(key: string, match: Match): void {
    // What a held liquidation had matched before a restart is among the past alerts too.
    const known = this.#liquidations.get(key) ?? [];
    if (known.some((one) => one.alertId === match.alertId)) return;
    this.#liquidations.set(key, [...known, match]);
    if (this.#liquidations.size > rememberedLiquidations) {
      const oldest = this.#liquidations.keys().next().value;
      if (oldest !== undefined) this.#liquidations.delete(oldest);
    }
  }
}
