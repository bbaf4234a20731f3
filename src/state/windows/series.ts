/**
 * Selects the numbers that are stored in history, and their names. Layouts (lists of names) are created once for each set of
 * positions and always passed as the same array, so that the store can intern them by identity.
 */
import type { Tick } from "../../domain/observation.ts";
import { type RuleSet, vocabulary } from "../../rules/index.ts";
import type { AccountEntry } from "../accounts/account-entry.ts";
import {
  bookFields,
  candleFields,
  type MarketEntry,
  type rateFacts,
  rateFields,
} from "../markets/markets.ts";
import type { SubjectNode } from "../subjects.ts";
import { fieldOf } from "./named-values.ts";

const traderFields = [
  "equity",
  "collateral",
  "effectiveCollateral",
  "unrealizedPnl",
  "initialMargin",
  "maintenanceMargin",
  "marginRatio",
  "leverage",
  "grossNotional",
  "netNotional",
];
const positionFields = [
  "size",
  "notional",
  "entryPrice",
  "markPrice",
  "liquidationPrice",
  "liquidationDistance",
  "unrealizedPnl",
  "unsettledFunding",
];
/** Fields of a market that come with another answer than prices do. */
export const readApart: ReadonlySet<string> = new Set([...bookFields, ...candleFields, ...rateFields]);
const marketFields = ["markPrice", "oraclePrice", "openInterest", "dayVolume"];
const walletFields = ["equity", "pnl", "netDeposits"];
const daemonFields = ["lag", "loopLag", "clockOffset", "budgetUsed", "undelivered", "databaseBytes"];
const sharedFields = ["netNotional", "grossNotional", "netSize", "equity", "worstMarginRatio"];
const pairFields = ["imbalance", "nakedSize", "nakedNotional"];

/** Numbers that are not stored: the name of the account contains them. */
const named: ReadonlySet<string> = new Set(["account", "subaccount"]);

/** A number that is not known at the time. Stored as this NaN so that the layout stays the same; windows skip it. */
const absent = Number.NaN;

interface LayoutNode {
  layout: readonly string[] | null;
  readonly next: Map<string, LayoutNode>;
}

export class Series {
  readonly #fields: Record<
    "trader" | "position" | "market" | "rate" | "wallet" | "daemon" | "book" | "pair",
    readonly string[]
  >;
  readonly #layouts = new Map<string, readonly string[]>();
  /** The layouts of accounts, as a tree over the markets of their positions: it is searched for each answer. */
  readonly #ofAccounts: LayoutNode = { layout: null, next: new Map() };

  /**
   * @param ruleSet fields that its windows read, and fields of accounts and positions that its rules read, are stored in addition
   * to the usual ones: without them the rules could not be judged over the past
   */
  constructor(ruleSet: RuleSet) {
    const extra = (scope: string, fields: readonly string[]): readonly string[] => {
      const all = new Set(fields);
      for (const rule of [...ruleSet.conditions, ...ruleSet.events]) {
        for (const { path } of rule.windows)
          if (path.kind === "field" && path.scope === scope) all.add(path.field);
      }
      if (scope === "trader" || scope === "position") {
        const numbers = new Set(
          vocabulary[scope].flatMap(({ name, type }) => (type === "number" ? [name] : [])),
        );
        for (const { reads } of ruleSet.conditions)
          for (const read of reads)
            if (read.scope === scope && numbers.has(read.field) && !named.has(read.field))
              all.add(read.field);
      }
      for (const value of ruleSet.values) {
        if (value.scope === scope) all.add(fieldOf(value));
        for (const { path } of value.windows)
          if (path.kind === "field" && path.scope === scope) all.add(path.field);
      }
      return [...all];
    };
    this.#fields = {
      trader: extra("trader", traderFields),
      position: extra("position", positionFields),
      market: extra("market", marketFields).filter((field) => !readApart.has(field)),
      rate: rateFields.filter((field) => field === "fundingRate" || extra("market", []).includes(field)),
      wallet: extra("wallet", walletFields),
      daemon: extra("daemon", daemonFields),
      book: extra("book", sharedFields),
      pair: extra("pair", pairFields),
    };
  }

  account(account: AccountEntry, atMs: number): Tick {
    const layout = this.#layoutOf(account);
    const values: number[] = [];
    pick(values, account.node.facts.values, this.#fields.trader);
    for (const position of account.positions.values())
      pick(values, position.node.facts.values, this.#fields.position);
    return { atMs, owner: account.name, series: layout, values };
  }

  #layoutOf({ positions }: AccountEntry): readonly string[] {
    let at = this.#ofAccounts;
    for (const symbol of positions.keys()) {
      const next = at.next.get(symbol) ?? { layout: null, next: new Map() };
      at.next.set(symbol, next);
      at = next;
    }
    at.layout ??= [
      ...this.#fields.trader.map((field) => `trader.${field}`),
      ...[...positions.keys()].flatMap((symbol) =>
        this.#fields.position.map((field) => `position[${symbol}].${field}`),
      ),
    ];
    return at.layout;
  }

  markets(markets: readonly MarketEntry[], atMs: number): Tick {
    let key = "markets";
    for (const market of markets) key += `|${market.symbol}`;
    const layout = this.#layout(key, () =>
      markets.flatMap((market) => this.#fields.market.map((field) => `market[${market.symbol}].${field}`)),
    );
    const values: number[] = [];
    for (const market of markets) pick(values, market.facts.values, this.#fields.market);
    return { atMs, owner: "markets", series: layout, values };
  }

  /** The figures of a market's order book. */
  book(market: MarketEntry, atMs: number): Tick {
    return this.#ofMarket("book", market, bookFields, atMs);
  }

  /** The figures of a market's candles. */
  candles(market: MarketEntry, atMs: number): Tick {
    return this.#ofMarket("candles", market, candleFields, atMs);
  }

  #ofMarket(key: string, market: MarketEntry, fields: readonly string[], atMs: number): Tick {
    const layout = this.#layout(`${key}|${market.symbol}`, () =>
      fields.map((field) => `market[${market.symbol}].${field}`),
    );
    const values: number[] = [];
    pick(values, market.facts.values, fields);
    return { atMs, owner: "markets", series: layout, values };
  }

  fundingRate(symbol: string, settled: ReturnType<typeof rateFacts>, atMs: number): Tick {
    const fields = this.#fields.rate;
    const layout = this.#layout(`rate|${symbol}`, () => fields.map((field) => `market[${symbol}].${field}`));
    const values: number[] = [];
    pick(values, settled, fields);
    return { atMs, owner: "fundingRates", series: layout, values };
  }

  wallet(name: string, values: Readonly<Record<string, unknown>>, atMs: number): Tick {
    const layout = this.#layout("wallet", () => this.#fields.wallet.map((field) => `wallet.${field}`));
    const numbers: number[] = [];
    pick(numbers, values, this.#fields.wallet);
    return { atMs, owner: name, series: layout, values: numbers };
  }

  /** The figures of a book or a pair. */
  aggregates({ name, subject, facts }: SubjectNode, atMs: number): Tick {
    const scope = subject.scope === "book" ? "book" : "pair";
    const layout = this.#layout(scope, () => this.#fields[scope].map((field) => `${scope}.${field}`));
    const numbers: number[] = [];
    pick(numbers, facts.values, this.#fields[scope]);
    return { atMs, owner: name, series: layout, values: numbers };
  }

  daemon(values: Readonly<Record<string, unknown>>, atMs: number): Tick {
    const layout = this.#layout("daemon", () => this.#fields.daemon.map((field) => `daemon.${field}`));
    const numbers: number[] = [];
    pick(numbers, values, this.#fields.daemon);
    return { atMs, owner: "daemon", series: layout, values: numbers };
  }

  #layout(key: string, make: () => readonly string[]): readonly string[] {
    const known = this.#layouts.get(key);
    if (known) return known;
    const layout = make();
    this.#layouts.set(key, layout);
    return layout;
  }
}

function pick(into: number[], values: Readonly<Record<string, unknown>>, fields: readonly string[]): void {
  for (let i = 0; i < fields.length; i++) {
    const value = values[fields[i]!];
    into.push(typeof value === "number" ? value : absent);
  }
}

/** Parses the name of a series: `position[SOL].size`, `market[SOL].value.basis`, `trader.equity`. */
export function parseSeries(
  name: string,
): { readonly scope: string; readonly symbol: string | null; readonly field: string } | null {
  const parts = /^(\w+)(?:\[([^\]]+)\])?\.((?:value\.)?\w+)$/.exec(name);
  return parts ? { scope: parts[1]!, symbol: parts[2] ?? null, field: parts[3]! } : null;
}
