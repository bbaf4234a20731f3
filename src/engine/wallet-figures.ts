/** The figures of a wallet and its accounts after one of their inputs was read: stored, fed to windows, and judged. */

import type { Source } from "../domain/sources.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import type { Conditions } from "../evaluate/conditions/conditions.ts";
import type { AccountEntry } from "../state/accounts/account-entry.ts";
import type { Holdings } from "../state/accounts/holdings.ts";
import type { Today } from "../state/day/today.ts";
import type { ProfitGaps } from "../state/profit/profit-gaps.ts";
import type { Profits } from "../state/profit/profits.ts";
import type { SubjectNode } from "../state/subjects.ts";
import type { WalletEntry } from "../state/wallets/wallets.ts";
import type { NamedValues } from "../state/windows/named-values.ts";
import type { Series } from "../state/windows/series.ts";
import type { World } from "../state/world.ts";
import type { Aggregates } from "./aggregates/aggregates.ts";

export interface WalletFiguresParts {
  readonly world: World;
  readonly conditions: Conditions;
  readonly aggregates: Aggregates;
  readonly named: NamedValues;
  readonly series: Series;
  readonly gaps: ProfitGaps;
  readonly today: Today;
  readonly profits: Profits;
  readonly holdings: Holdings;
}

export class WalletFigures {
  readonly #parts: WalletFiguresParts;

  constructor(parts: WalletFiguresParts) {
    this.#parts = parts;
  }

  /** Stores the wallet's figures in history and feeds them to its windows. */
  sample({ node, wallet, profit }: WalletEntry, builder: ChangesBuilder): void {
    this.#parts.named.update(node, builder.atMs);
    const values = profit.sample();
    const held = profit.heldSample();
    builder.changes.ticks.push(this.#parts.series.wallet(wallet.name, values, builder.atMs));
    const onLate = (atMs: number, pnl: number, equity: number, explained: boolean): void => {
      builder.changes.ticks.push(this.#parts.series.wallet(wallet.name, { pnl, equity }, atMs));
      // A held profit becomes a peak when its trades are released.
      if (explained) profit.takeLate(pnl);
    };
    this.#parts.gaps.take(wallet.name, node.windows, builder.atMs, values, held, onLate, (ms) =>
      profit.changes.placed.after(ms),
    );
    node.windows?.feed(builder.atMs, values);
    if (held !== null && typeof values.equity === "number")
      node.windows?.feedLeast(builder.atMs, held.leastPnl, values.equity);
  }

  /** Writes the realized profit of an account's positions today, with the age of the fills. */
  realizedToday(entry: WalletEntry, { ref, positions, injected }: AccountEntry): void {
    const { fills } = entry.node.facts.seenMs;
    if (fills === undefined || injected) return;
    for (const [symbol, { node }] of positions) {
      node.seen("fills", fills);
      const usd = this.#parts.today.realized(ref.wallet, `${ref.pdaIndex}.${ref.subaccount}`, symbol);
      const { values } = node.facts;
      if (usd !== undefined) values.realizedPnlToday = usd;
      else if (values.realizedPnlToday !== undefined) delete values.realizedPnlToday;
    }
  }

  /** A new day began. */
  newDay(builder: ChangesBuilder): void {
    for (const entry of this.#parts.world.wallets.values()) {
      this.#parts.conditions.judgeNode(entry.node, null, builder);
      for (const account of this.#parts.world.accounts.ofWallet(entry.wallet.name)) {
        this.realizedToday(entry, account);
        this.judgeAccount(account, "fills", builder);
      }
    }
    this.#parts.aggregates.manyChanged(null, null, false, builder);
  }

  /** An input of the account values was read. */
  valued(builder: ChangesBuilder): void {
    for (const entry of this.#parts.profits.states.valued(builder)) {
      const { changes } = entry.profit;
      for (const account of this.#parts.world.accounts.ofWallet(entry.wallet.name))
        this.#parts.holdings.take(account, changes.states.seen(account.name), builder);
      this.judgeProfit(entry, builder);
    }
  }

  /** Judges the rules that may read the profit of a wallet. */
  judgeProfit(entry: WalletEntry, builder: ChangesBuilder): void {
    this.#parts.conditions.judgeNode(entry.node, null, builder);
    this.#parts.aggregates.changed(entry, "collateral", builder);
  }

  judgeAccount(account: AccountEntry, source: Source | null, builder: ChangesBuilder): void {
    // A new rule is judged by earlier readings as well.
    const judge = (node: SubjectNode): void =>
      this.#parts.conditions.judgeNode(node, node.bornMs === builder.atMs ? null : source, builder);
    for (const position of account.positions.values()) judge(position.node);
    judge(account.node);
  }
}
