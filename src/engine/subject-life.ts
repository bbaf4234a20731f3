/** Attaches rules and past data to a subject that appears, and ends the alerts about one that disappears. */
import { z } from "zod";
import type { Endings } from "../alerts/endings/endings.ts";
import type { Downtime } from "../alerts/own/downtime.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import { FactKind, type Facts } from "../domain/stored/facts.ts";
import type { Conditions } from "../evaluate/conditions/conditions.ts";
import type { WantedMarkets } from "../evaluate/wanted-markets.ts";
import type { AccountEntry, Successor } from "../state/accounts/account-entry.ts";
import { extentOf } from "../state/accounts/holdings.ts";
import type { Openings } from "../state/accounts/openings.ts";
import type { Profits } from "../state/profit/profits.ts";
import type { SubjectNode } from "../state/subjects.ts";
import type { NamedValues } from "../state/windows/named-values.ts";
import type { World } from "../state/world.ts";
import type { ExchangeChecks } from "./exchange-checks.ts";
import type { WindowWarmUp } from "./window-warm-up.ts";

/** `name`: the incarnation of a position; `sinceMs`: the time since which it is known, 0: before the first start. */
export const incarnationFact = new FactKind(
  "incarnation",
  z.object({ name: z.string(), sinceMs: z.number() }),
);

export interface SubjectLifeParts {
  readonly world: World;
  readonly warmUp: WindowWarmUp;
  readonly conditions: Conditions;
  readonly endings: Endings;
  readonly downtime: Downtime;
  readonly named: NamedValues;
  readonly wantedMarkets: WantedMarkets;
  readonly openings: Openings;
  readonly profits: Profits;
  readonly checks: ExchangeChecks;
  /** The stored facts at the start. */
  readonly facts: Facts;
}

export class SubjectLife {
  readonly #parts: SubjectLifeParts;
  #parted = false;

  constructor(parts: SubjectLifeParts) {
    this.#parts = parts;
  }

  /** Returns true if a position or an account disappeared since the last call. */
  takeParted(): boolean {
    const parted = this.#parted;
    this.#parted = false;
    return parted;
  }

  /**
   * A subject appeared: attaches its rules and the past of its series; past events follow when its account is complete.
   */
  appeared(node: SubjectNode, builder: ChangesBuilder): void {
    const { subject } = node;
    if (subject.scope === "position") {
      this.#born(node, builder);
      this.#parts.openings.born(
        node,
        this.#parts.world.accounts.slotOf(subject.wallet, subject.pdaIndex),
        builder,
      );
      this.#parts.downtime.opened(node.name, builder);
    }
    this.#parts.named.prepare(node);
    this.#parts.conditions.attach(node, builder);
    this.#askForMarket(node, builder);
    this.#parts.warmUp.appeared(node);
  }

  /** Requests missing market data for a new position's rules at once, ahead of the schedule. */
  #askForMarket(node: SubjectNode, builder: ChangesBuilder): void {
    if (node.subject.scope !== "position") return;
    const { seenMs } = this.#parts.world.markets.entry(node.subject.symbol).facts;
    for (const source of this.#parts.wantedMarkets.ofPosition(node))
      if (seenMs[source] === undefined) builder.ask(source, null);
  }

  /** Stores the time since which this position is known, so that a start distinguishes it from others of its name. */
  #born(node: SubjectNode, builder: ChangesBuilder): void {
    const known = node.first ? incarnationFact.get(this.#parts.facts, node.name) : null;
    if (known?.name === node.incarnation) {
      node.bornMs = known.sinceMs;
      return;
    }
    // The exchange's stored past may belong to the first positions ever seen.
    node.bornMs = node.first && known === null ? 0 : builder.atMs;
    incarnationFact.put(node.name, { name: node.incarnation, sinceMs: node.bornMs }, builder);
  }

  gone(
    node: SubjectNode,
    account: AccountEntry,
    symbol: string | null,
    why: Successor,
    builder: ChangesBuilder,
  ): void {
    if (symbol !== null) this.#parts.downtime.gone(node.name, builder);
    this.#parted = true;
    if (symbol === null) {
      this.#parts.checks.forget(account);
      const entry = this.#parts.world.wallets.get(account.ref.wallet);
      if (entry) this.#parts.profits.states.takeAccountGone(entry, account, builder);
    }
    this.#parts.conditions.detach(node, builder, ({ heldSlot }, live, row, before) =>
      this.#parts.endings.end(builder, {
        live,
        row,
        before,
        account: account.ref,
        symbol,
        fallback: why === "flipped" ? "flipped" : "closed",
        text: null,
        fromMs: Math.max(live.alert.sinceMs, node.facts.seenMs.traderState ?? 0),
        // An account that disappeared may have existed longer than the held subject.
        fromSlot: symbol === null ? heldSlot : account.slot,
        // Injected accounts have no slots.
        goneSlot: this.#parts.world.accounts.slotOf(account.ref.wallet, account.ref.pdaIndex) || undefined,
        ...(symbol === null ? {} : extentOf(node)),
        another: why !== "closed",
        suspicious: true,
      }),
    );
  }
}
