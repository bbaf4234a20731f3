/** Acknowledgements of the exchange's notifications, by the rules that matched them and the liquidations that they report. */
import { type AcknowledgeSettings, acknowledgeWord } from "../../alerts/acknowledge.ts";
import { noDataRule } from "../../domain/alerts/built-in.ts";
import type { AckStatus, AckWord } from "../../domain/alerts/delivery.ts";
import type { Event } from "../../domain/event.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { Match } from "./held-events.ts";

/** Maximum number of remembered matches of canonical liquidations, for notifications that arrive later. Newest last. */
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

  /** Called after all rules have judged a notification. */
  take(event: Event, matches: readonly Match[], builder: ChangesBuilder): void {
    const inbox = event.inbox!;
    if (inbox.acked) return;
    const earlier = inbox.liquidationKey === null ? [] : (this.#liquidations.get(inbox.liquidationKey) ?? []);
    const all = [...matches, ...earlier];
    const settings = this.#options.acknowledge;
    if (all.length === 0) {
      // A liquidation that could not be parsed was judged by no rule.
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
    const unjudged = all.some((match) => match.rule === noDataRule);
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

  /** Takes a notification from before the first start. */
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
    // The matches of a held liquidation from before a restart are also among the past alerts.
    const known = this.#liquidations.get(key) ?? [];
    if (known.some((one) => one.alertId === match.alertId)) return;
    this.#liquidations.set(key, [...known, match]);
    if (this.#liquidations.size > rememberedLiquidations) {
      const oldest = this.#liquidations.keys().next().value;
      if (oldest !== undefined) this.#liquidations.delete(oldest);
    }
  }
}
