/** Compares computed values with the exchange's own: its view of an account's risk, and its values of accounts. */
import type { NoData } from "../alerts/own/no-data.ts";
import type { Observation } from "../domain/observation.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import type { Conditions } from "../evaluate/conditions/conditions.ts";
import type { AccountEntry } from "../state/accounts/account-entry.ts";
import { EquityCheck } from "../state/checks/equity-check.ts";
import { compareWithView } from "../state/checks/view-check.ts";
import type { Today } from "../state/day/today.ts";
import type { World } from "../state/world.ts";
import type { Aggregates } from "./aggregates/aggregates.ts";

export interface ExchangeChecksParts {
  readonly world: World;
  readonly conditions: Conditions;
  readonly noData: NoData;
  readonly aggregates: Aggregates;
  readonly today: Today;
  readonly warn: (text: string) => void;
  /** True if a rule or text uses the difference between our equity and the exchange's. */
  readonly checksEquity: boolean;
  readonly before: ExchangeChecks | undefined;
}

export class ExchangeChecks {
  readonly #parts: Omit<ExchangeChecksParts, "before">;
  readonly #equity: EquityCheck;
  /** Accounts whose difference was reported, until it disappears. */
  readonly #reported: Set<string>;
  /** Total number of views that differed from ours. */
  viewMismatches: number;

  constructor({ before, ...parts }: ExchangeChecksParts) {
    this.#parts = parts;
    this.#equity = new EquityCheck(parts.warn, before === undefined ? undefined : before.#equity);
    this.#reported = before ? before.#reported : new Set();
    this.viewMismatches = before?.viewMismatches ?? 0;
  }

  /** Notes our equity of an account that was read. */
  note(account: AccountEntry, atMs: number): void {
    if (this.#parts.checksEquity) this.#equity.note(account, atMs);
  }

  forget(account: AccountEntry): void {
    this.#equity.forget(account);
  }

  takeView(seen: Observation & { readonly kind: "traderView" }, builder: ChangesBuilder): void {
    const account = this.#parts.world.accounts.takeView(seen.wallet, seen.view, seen.atMs);
    if (!account) return;
    this.#parts.noData.seen("traderView", seen.wallet, builder);
    const differences = compareWithView(account, this.#parts.world.markets);
    if (differences.length === 0) {
      this.#reported.delete(account.name);
      return;
    }
    this.viewMismatches++;
    if (this.#reported.has(account.name)) return;
    this.#reported.add(account.name);
    const text = `${account.name}: our risk and the exchange's differ: ${differences.join("; ")}`;
    this.#parts.warn(text);
  }

  /** Takes the exchange's values of accounts. */
  takePortfolio(seen: Observation & { readonly kind: "portfolio" }, builder: ChangesBuilder): void {
    const entry = this.#parts.world.wallets.get(seen.wallet);
    if (!entry) return;
    const { wallet, midnight } = seen;
    this.#parts.noData.seen("portfolio", wallet, builder);
    if (
      midnight &&
      this.#parts.today.midnight(wallet, midnight.startMs, { ...midnight, readMs: seen.atMs })
    ) {
      this.#parts.today.refresh(entry);
      entry.profit.publish();
      this.#parts.today.keep(wallet, builder);
      this.#parts.conditions.judgeNode(entry.node, null, builder);
      this.#parts.aggregates.changed(entry, null, builder);
    }
    let compared = false;
    for (const { pdaIndex, subaccount, ofMs, valueUsd } of seen.values) {
      const account = this.#parts.world.accounts.get({ wallet, pdaIndex, subaccount });
      if (account && this.#equity.compare(account, ofMs, valueUsd, builder.atMs)) compared = true;
    }
    if (!compared) return;
    const { daemon } = this.#parts.world;
    const worst = this.#equity.worst(builder.atMs)!;
    daemon.facts.values.equityMismatch = worst.share;
    daemon.facts.values.equityMismatchAccount = worst.account;
    daemon.facts.values.equityMismatchSide = worst.side;
    daemon.seen("portfolio", builder.atMs);
    this.#parts.conditions.judgeNode(daemon, "portfolio", builder);
  }
}
