/** The figures of a wallet and its accounts once something that they rest on was read: stored, fed to windows, and judged. */
import type { Draft } from "../domain/draft.ts";
import type { Source } from "../domain/observation.ts";
import type { Conditions } from "../evaluate/conditions.ts";
import type { AccountEntry } from "../state/accounts.ts";
import type { Holdings } from "../state/holdings.ts";
import type { ProfitGaps } from "../state/profit/profit-gaps.ts";
import type { Profits } from "../state/profit/profits.ts";
import type { Today } from "../state/profit/today.ts";
import type { SubjectNode } from "../state/subjects.ts";
import type { WalletEntry } from "../state/wallets.ts";
import type { NamedValues } from "../state/windows/named-values.ts";
import type { Series } from "../state/windows/series.ts";
import type { World } from "../state/world.ts";
import type { Together } from "./aggregates/together.ts";

export interface WalletFiguresParts {
  readonly world: World;
  readonly conditions: Conditions;
  readonly together: Together;
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
  sample({ node, wallet, profit }: WalletEntry, draft: Draft): void {
    this.#parts.named.update(node, draft.atMs);
    const values = profit.sample();
    const held = profit.heldSample();
    draft.changes.ticks.push(this.#parts.series.wallet(wallet.name, values, draft.atMs));
    const onLate = (atMs: number, pnl: number, equity: number, explained: boolean): void => {
      draft.changes.ticks.push(this.#parts.series.wallet(wallet.name, { pnl, equity }, atMs));
      // Held profit becomes a peak when its trades are let go of.
      if (explained) profit.takeLate(pnl);
    };
    this.#parts.gaps.take(wallet.name, node.windows, draft.atMs, values, held, onLate, (ms) =>
      profit.changes.placedAfter(ms),
    );
    node.windows?.feed(draft.atMs, values);
    if (held !== null && typeof values.equity === "number")
      node.windows?.feedLeast(draft.atMs, held.leastPnl, values.equity);
  }

  /** The realized profit of an account's positions today, as old as the fills that were read. */
  realizedToday(entry: WalletEntry, { ref, positions, given }: AccountEntry): void {
    const { fills } = entry.node.facts.seenMs;
    if (fills === undefined || given) return;
    for (const [symbol, { node }] of positions) {
      node.seen("fills", fills);
      const usd = this.#parts.today.realized(ref.wallet, `${ref.pdaIndex}.${ref.subaccount}`, symbol);
      const { values } = node.facts;
      if (usd !== undefined) values.realizedPnlToday = usd;
      else if (values.realizedPnlToday !== undefined) delete values.realizedPnlToday;
    }
  }

  /** Another day began. */
  newDay(draft: Draft): void {
    for (const entry of this.#parts.world.wallets.values()) {
      this.#parts.conditions.judgeNode(entry.node, null, draft);
      for (const account of this.#parts.world.accounts.ofWallet(entry.wallet.name)) {
        this.realizedToday(entry, account);
        this.judgeAccount(account, "fills", draft);
      }
    }
    this.#parts.together.manyChanged(null, null, false, draft);
  }

  /** Something that values accounts was read. */
  valued(draft: Draft): void {
    for (const entry of this.#parts.profits.valued(draft)) {
      const { changes } = entry.profit;
      for (const account of this.#parts.world.accounts.ofWallet(entry.wallet.name))
        this.#parts.holdings.take(account, changes.seen(account.name), draft);
      this.judgeProfit(entry, draft);
    }
  }

  /** Judges what may read the profit of a wallet. */
  judgeProfit(entry: WalletEntry, draft: Draft): void {
    this.#parts.conditions.judgeNode(entry.node, null, draft);
    this.#parts.together.changed(entry, "collateral", draft);
  }

  judgeAccount(account: AccountEntry, source: Source | null, draft: Draft): void {
    // A new one is judged by what was read before it as well.
    const judge = (node: SubjectNode): void =>
      this.#parts.conditions.judgeNode(node, node.bornMs === draft.atMs ? null : source, draft);
    for (const position of account.positions.values()) judge(position.node);
    judge(account.node);
  }
}
