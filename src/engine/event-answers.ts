/**
 * Takes an answer with events of a wallet or of the exchange: each new one goes to windows, endings and event rules.
 */
import type { Endings } from "../alerts/endings/endings.ts";
import type { NoData } from "../alerts/own/no-data.ts";
import type { Event } from "../domain/event.ts";
import type { Observation } from "../domain/observation.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import type { Conditions } from "../evaluate/conditions/conditions.ts";
import type { EventRules } from "../evaluate/events/event-rules.ts";
import type { NoDataWatches } from "../evaluate/no-data-watches.ts";
import { openFacts } from "../state/accounts/account-readings.ts";
import type { Openings } from "../state/accounts/openings.ts";
import type { CompletenessTimes } from "../state/completeness-times.ts";
import type { Today } from "../state/day/today.ts";
import type { Profits } from "../state/profit/profits.ts";
import { partSeen } from "../state/wallets/wallets.ts";
import type { World } from "../state/world.ts";
import type { Aggregates } from "./aggregates/aggregates.ts";
import type { WalletFigures } from "./wallet-figures.ts";
import type { WindowWarmUp } from "./window-warm-up.ts";

export interface EventAnswersParts {
  readonly world: World;
  readonly warmUp: WindowWarmUp;
  readonly profits: Profits;
  readonly openings: Openings;
  readonly today: Today;
  readonly endings: Endings;
  readonly completeSince: CompletenessTimes;
  readonly noData: NoData;
  readonly noDataWatches: NoDataWatches;
  readonly conditions: Conditions;
  readonly aggregates: Aggregates;
  readonly eventRules: EventRules;
  readonly figures: WalletFigures;
}

export class EventAnswers {
  readonly #parts: EventAnswersParts;

  constructor(parts: EventAnswersParts) {
    this.#parts = parts;
  }

  take(seen: Observation & { readonly kind: "events" }, builder: ChangesBuilder): void {
    const entry = seen.wallet === null ? undefined : this.#parts.world.wallets.get(seen.wallet);
    // A liquidation from an inbox page goes first, so that its notification is matched with it.
    const events = [...seen.events].sort(
      (a, b) => Number(b.kind === "liquidation") - Number(a.kind === "liquidation"),
    );
    let profitMoved =
      entry !== undefined &&
      seen.source === "funding" &&
      this.#parts.profits.records.takePayments(entry, events, builder);
    for (const event of events) {
      if (entry && this.#parts.profits.records.take(entry, event, events, builder)) profitMoved = true;
      if (entry && event.kind === "collateral") this.#parts.warmUp.rememberFlow(event);
      if (event.kind === "fill") this.#takeFill(event, builder);
      if (entry && event.kind !== "collateral") this.#parts.today.take(event, null);
      if (event.kind === "order") this.#parts.world.placements.event(event);
      this.happened(event, builder);
    }
    if (entry && this.#parts.profits.records.takeRead(entry, builder)) profitMoved = true;
    if (entry)
      for (const { order, placedMs } of seen.resting ?? [])
        this.#parts.world.placements.note(entry.wallet.name, order, placedMs);
    this.#parts.endings.weighFills(builder);
    if (seen.cursor) builder.changes.cursors.push(seen.cursor);
    if (!entry) return;
    const wallet = entry.wallet.name;
    if (seen.coversMs !== undefined)
      this.#parts.completeSince.note(wallet, seen.source, seen.pdaIndex, seen.coversMs);
    this.#parts.today.publish(entry);
    this.#parts.today.keep(wallet, builder);
    if (profitMoved) entry.profit.keep(builder);
    if (profitMoved && !entry.injected) entry.profit.publish();
    if (seen.live === true) {
      if (profitMoved) this.#parts.figures.judgeProfit(entry, builder);
      for (const account of this.#parts.world.accounts.ofWallet(entry.wallet.name))
        this.#parts.figures.judgeAccount(account, null, builder);
      return;
    }
    const wholeMs =
      seen.wholeMs === undefined ? partSeen(entry, seen.source, seen.pdaIndex, builder.atMs) : seen.wholeMs;
    if (wholeMs !== null) {
      this.#parts.noData.seen(seen.source, seen.wallet, builder, wholeMs);
      this.#parts.noDataWatches.seen(seen.source, entry.wallet.name, wholeMs, builder);
      entry.node.seen(seen.source, wholeMs);
    }
    if (seen.source === "fills") {
      for (const account of this.#parts.world.accounts.ofWallet(wallet))
        this.#parts.figures.realizedToday(entry, account);
    }
    if (seen.unacked !== undefined) {
      entry.unacked = seen.unacked;
      entry.node.facts.values.unacked = seen.unacked;
    }
    if (seen.source === "collateral") {
      if (this.#parts.profits.records.historyRead(entry, seen.past === true, builder)) profitMoved = true;
      const known = typeof entry.node.facts.values.equity === "number";
      if (known && !entry.node.windows?.hasFields) this.#parts.figures.sample(entry, builder);
    }
    if (seen.source === "liquidations" && !seen.past)
      this.#parts.endings.read(builder, entry.wallet.name, seen.pdaIndex);
    this.#parts.conditions.judgeNode(entry.node, profitMoved ? null : seen.source, builder);
    if (profitMoved || seen.source === "collateral")
      this.#parts.aggregates.changed(entry, "collateral", builder);
    else if (seen.source === "fills" || seen.source === "funding")
      this.#parts.aggregates.changed(entry, seen.source, builder);
    // A source that answers again without new data can be judged again too.
    const source = profitMoved || seen.events.length > 0 ? null : seen.source;
    for (const account of this.#parts.world.accounts.ofWallet(entry.wallet.name))
      this.#parts.figures.judgeAccount(account, source, builder);
  }

  #takeFill(event: Event, builder: ChangesBuilder): void {
    const name = this.#parts.openings.note(event);
    const node = name === null ? undefined : this.#parts.world.nodes.get(name);
    if (!node || event.wallet === null || event.pdaIndex === null) return;
    this.#parts.openings.settle(
      node,
      this.#parts.world.accounts.slotOf(event.wallet, event.pdaIndex),
      builder,
    );
    openFacts(node, node.facts.seenMs.traderState ?? builder.atMs);
  }

  /** Takes one new event: windows first, so that a rule which counts it includes it. */
  happened(event: Event, builder: ChangesBuilder): void {
    this.#parts.warmUp.happened(event, builder);
    this.#parts.endings.happened(builder, event);
    this.#parts.aggregates.happened(event, builder);
    this.#parts.eventRules.take(event, builder);
  }
}
