/** Judges the readers of a market: subjects in it, and rules that name it. */

import type { MarketRead, Source } from "../../domain/sources.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Conditions } from "../../evaluate/conditions/conditions.ts";
import type { RuleSet } from "../../rules/index.ts";
import type { AccountEntry } from "../../state/accounts/account-entry.ts";
import { noteReading } from "../../state/accounts/account-readings.ts";
import type { MarketEntry } from "../../state/markets/markets.ts";
import { sumAccounts } from "../../state/wallets/wallets.ts";
import type { World } from "../../state/world.ts";
import type { Aggregates } from "../aggregates/aggregates.ts";

export interface MarketReadersParts {
  readonly world: World;
  readonly conditions: Conditions;
  readonly aggregates: Aggregates;
  readonly judgeAccount: (account: AccountEntry, source: Source, builder: ChangesBuilder) => void;
}

export class MarketReaders {
  readonly #parts: MarketReadersParts;
  readonly #world: World;
  /** The sources that rules read of markets which they name. */
  readonly #namedBy: ReadonlySet<Source>;

  constructor(parts: MarketReadersParts, { conditions }: RuleSet) {
    this.#parts = parts;
    this.#world = parts.world;
    this.#namedBy = new Set(
      conditions.flatMap(({ reads }) =>
        reads.flatMap(({ symbol, sources }) => (symbol === null ? [] : sources)),
      ),
    );
  }

  judgeAccount(account: AccountEntry, source: Source, builder: ChangesBuilder): void {
    this.#parts.judgeAccount(account, source, builder);
  }

  /** Returns true if rules read this source of markets by name. */
  isNamed(source: Source): boolean {
    return this.#namedBy.has(source);
  }

  /**
   * Judges the readers of this source of the market: subjects in it, and rules that name it.
   * @param touched wallets whose own figures changed with it
   */
  judge(
    { symbol }: MarketEntry,
    source: MarketRead | "fundingRates",
    builder: ChangesBuilder,
    touched: ReadonlySet<string> = new Set(),
  ): void {
    const { conditions } = this.#parts;
    const { nodes, wallets } = this.#world;
    const named = this.#namedBy.has(source);
    const { accounts } = this.#world;
    for (const account of named ? accounts.all() : accounts.inMarkets([symbol]))
      if (named || account.positions.has(symbol)) this.#parts.judgeAccount(account, source, builder);
    if (!named) {
      conditions.judgeNode(this.#world.marketNode(symbol), source, builder);
      for (const name of touched) {
        const node = wallets.get(name)?.node;
        if (node) conditions.judgeNode(node, source, builder);
      }
      this.#parts.aggregates.judge(source, builder);
      return;
    }
    for (const node of nodes.values()) {
      const { scope } = node.subject;
      if (scope !== "trader" && scope !== "position") conditions.judgeNode(node, source, builder);
    }
  }

  /** The configuration of an account's markets or collateral changed. */
  configured(account: AccountEntry, builder: ChangesBuilder): void {
    this.#world.accountStates.configured(account);
    this.#world.assessment.assess(account);
    noteReading(account, true);
    this.#parts.judgeAccount(account, "marketConfig", builder);
  }

  /** The accounts of these wallets changed. */
  walletsChanged(names: Iterable<string>, source: Source, builder: ChangesBuilder): void {
    const { accounts, wallets } = this.#world;
    for (const name of names) {
      const entry = wallets.get(name);
      if (!entry) continue;
      sumAccounts(entry, accounts.ofWallet(name));
      this.#parts.conditions.judgeNode(entry.node, source, builder);
    }
  }
}
