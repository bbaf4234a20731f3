/** An answer with events of a wallet or of the exchange: each new one goes to windows, endings and event rules. */
import type { Endings } from "../alerts/endings.ts";
import type { NoData } from "../alerts/own/no-data.ts";
import type { Draft } from "../domain/draft.ts";
import type { Event } from "../domain/event.ts";
import type { Observation } from "../domain/observation.ts";
import type { Conditions } from "../evaluate/conditions.ts";
import type { Happenings } from "../evaluate/happenings.ts";
import type { Vigils } from "../evaluate/vigils.ts";
import { openFacts } from "../state/accounts.ts";
import type { Openings } from "../state/openings.ts";
import type { Profits } from "../state/profit/profits.ts";
import type { Today } from "../state/profit/today.ts";
import type { ToldSince } from "../state/told-since.ts";
import { partSeen } from "../state/wallets.ts";
import type { World } from "../state/world.ts";
import type { Together } from "./aggregates/together.ts";
import type { Past } from "./past.ts";
import type { WalletFigures } from "./wallet-figures.ts";

export interface EventAnswersParts {
  readonly world: World;
  readonly past: Past;
  readonly profits: Profits;
  readonly openings: Openings;
  readonly today: Today;
  readonly endings: Endings;
  readonly told: ToldSince;
  readonly noData: NoData;
  readonly vigils: Vigils;
  readonly conditions: Conditions;
  readonly together: Together;
  readonly happenings: Happenings;
  readonly figures: WalletFigures;
}

export class EventAnswers {
  readonly #parts: EventAnswersParts;

  constructor(parts: EventAnswersParts) {
    this.#parts = parts;
  }

  take(seen: Observation & { readonly kind: "events" }, draft: Draft): void {
    const entry = seen.wallet === null ? undefined : this.#parts.world.wallets.get(seen.wallet);
    // A liquidation that an inbox page brings along goes first, so that its notification is matched with it.
    const events = [...seen.events].sort(
      (a, b) => Number(b.kind === "liquidation") - Number(a.kind === "liquidation"),
    );
    let profitMoved =
      entry !== undefined &&
      seen.source === "funding" &&
      this.#parts.profits.takePayments(entry, events, draft);
    for (const event of events) {
      if (entry && this.#parts.profits.takeEvent(entry, event, events, draft)) profitMoved = true;
      if (entry && event.kind === "collateral") this.#parts.past.rememberFlow(event);
      if (event.kind === "fill") this.#takeFill(event, draft);
      if (entry && event.kind !== "collateral") this.#parts.today.take(event, null);
      if (event.kind === "order") this.#parts.world.placings.event(event);
      this.happened(event, draft);
    }
    if (entry && this.#parts.profits.takeRead(entry, draft)) profitMoved = true;
    if (entry)
      for (const { order, placedMs } of seen.resting ?? [])
        this.#parts.world.placings.note(entry.wallet.name, order, placedMs);
    this.#parts.endings.weighFills(draft);
    if (seen.cursor) draft.changes.cursors.push(seen.cursor);
    if (!entry) return;
    const wallet = entry.wallet.name;
    if (seen.coversMs !== undefined) this.#parts.told.note(wallet, seen.source, seen.pdaIndex, seen.coversMs);
    this.#parts.today.publish(entry);
    this.#parts.today.keep(wallet, draft);
    if (profitMoved) entry.profit.keep(draft);
    if (profitMoved && !entry.given) entry.profit.publish();
    if (seen.live === true) {
      if (profitMoved) this.#parts.figures.judgeProfit(entry, draft);
      for (const account of this.#parts.world.accounts.ofWallet(entry.wallet.name))
        this.#parts.figures.judgeAccount(account, null, draft);
      return;
    }
    const wholeMs =
      seen.wholeMs === undefined ? partSeen(entry, seen.source, seen.pdaIndex, draft.atMs) : seen.wholeMs;
    if (wholeMs !== null) {
      this.#parts.noData.seen(seen.source, seen.wallet, draft, wholeMs);
      this.#parts.vigils.seen(seen.source, entry.wallet.name, wholeMs, draft);
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
      if (this.#parts.profits.historyRead(entry, seen.past === true, draft)) profitMoved = true;
      const known = typeof entry.node.facts.values.equity === "number";
      if (known && !entry.node.windows?.hasFields) this.#parts.figures.sample(entry, draft);
    }
    if (seen.source === "liquidations" && !seen.past)
      this.#parts.endings.read(draft, entry.wallet.name, seen.pdaIndex);
    this.#parts.conditions.judgeNode(entry.node, profitMoved ? null : seen.source, draft);
    if (profitMoved || seen.source === "collateral") this.#parts.together.changed(entry, "collateral", draft);
    else if (seen.source === "fills" || seen.source === "funding")
      this.#parts.together.changed(entry, seen.source, draft);
    // A source that answers again without anything new can be judged again, too.
    const source = profitMoved || seen.events.length > 0 ? null : seen.source;
    for (const account of this.#parts.world.accounts.ofWallet(entry.wallet.name))
      this.#parts.figures.judgeAccount(account, source, draft);
  }

  #takeFill(event: Event, draft: Draft): void {
    const name = this.#parts.openings.note(event);
    const node = name === null ? undefined : this.#parts.world.nodes.get(name);
    if (!node || event.wallet === null || event.pdaIndex === null) return;
    this.#parts.openings.settle(node, this.#parts.world.accounts.slotOf(event.wallet, event.pdaIndex), draft);
    openFacts(node, node.facts.seenMs.traderState ?? draft.atMs);
  }

  /** One new event: windows first, so that a rule which counts it sees it. */
  happened(event: Event, draft: Draft): void {
    this.#parts.past.happened(event, draft);
    this.#parts.endings.happened(draft, event);
    this.#parts.together.happened(event, draft);
    this.#parts.happenings.take(event, draft);
  }
}
