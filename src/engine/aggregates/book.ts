/** One book: the common holdings of its members, stored as sums and written as facts. */
import type { Event } from "../../domain/event.ts";
import type { Source } from "../../domain/sources.ts";
import { rulesOf } from "../../evaluate/conditions/subject-rules.ts";
import type { ConditionRule, Facts } from "../../rules/index.ts";
import { Least } from "../../state/aggregates/least.ts";
import {
  type Holding,
  noteSeen,
  type Share,
  type SharedSource,
  type SummedField,
  seenWhole,
  sharedSources,
  summedFields,
  unitScale,
  usdScale,
} from "../../state/aggregates/shares.ts";
import type { Doubt } from "../../state/profit/profit-doubt.ts";
import type { SubjectNode } from "../../state/subjects.ts";
import type { WalletEntry } from "../../state/wallets/wallets.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { World } from "../../state/world.ts";
import { type BookSubject, type Label, nameOf } from "./book-members.ts";

/** Sources that belong to wallets. Missing data of any other source has no wallet as its cause. */
const ofWallets: ReadonlySet<Source> = new Set(["traderState", "collateral", "fills", "funding"]);

/** One market of a book, or all that it counts. */
class Sum {
  net = 0;
  gross = 0;
  size = 0;
  unvalued = 0;
  unsized = 0;

  add(held: Holding, sign: 1 | -1): void {
    this.net += sign * held.net;
    this.gross += sign * held.gross;
    this.size += sign * held.size;
    this.unvalued += sign * held.unvalued;
    this.unsized += sign * held.unsized;
  }
}

export class Book implements Doubt {
  #rule: ConditionRule;
  readonly #label: Label | null;
  readonly #world: World;
  readonly #shareOf: (wallet: string) => Share | undefined;
  /** The members and their indexes. */
  readonly #places: ReadonlyMap<string, number>;
  readonly #names: readonly string[];
  readonly #symbols: ReadonlySet<string> | null;
  readonly #all = new Sum();
  readonly #bySymbol = new Map<string, Sum>();
  /** The time at which each source last reported on each member, ms. */
  readonly #seen: Readonly<Record<SharedSource, Least>>;
  /** Margin ratios are negated here, so that the worst is the least. */
  readonly #ratio: Least;
  readonly #move: Least;
  readonly #adverse: Least;
  #startedMs = 0;
  #equity = 0;
  #pnlToday = 0;
  #inToday = 0;
  #outToday = 0;
  /** Number of members whose profit of the day is unknown. */
  #withoutPnlToday = 0;
  readonly #sums: Record<SummedField, number> = { netDeposits: 0, feesToday: 0, fundingToday: 0 };
  /** Number of members for which each of these is unknown. */
  readonly #unsummed: Record<SummedField, number> = { netDeposits: 0, feesToday: 0, fundingToday: 0 };
  /** Number of members whose account figures are unknown. */
  #unassessed = 0;
  /** Ages over all members: the same for each of its subjects. */
  readonly #seenMs: Facts["seenMs"] = {};
  /** True if figures that are common to all of its markets are read: each answer then concerns all of them. */
  readonly #sharedRead: boolean;
  /** Markets that changed since the last write. */
  readonly #touched = new Set<string>();
  /** By market; "" is the total. */
  readonly #nodes = new Map<string, SubjectNode>();

  constructor(
    rule: ConditionRule,
    label: Label | null,
    members: readonly WatchedWallet[],
    world: World,
    shareOf: (wallet: string) => Share | undefined,
  ) {
    this.#rule = rule;
    this.#label = label;
    this.#world = world;
    this.#shareOf = shareOf;
    this.#names = members.map(({ name }) => name);
    this.#places = new Map(this.#names.map((name, index) => [name, index]));
    const { symbol } = rule.select;
    this.#symbols = symbol && new Set(symbol.map((one) => one.toUpperCase()));
    this.#sharedRead =
      rule.reads.some((read) => read.scope === "book" && !ofMarkets.has(read.field)) ||
      rule.windows.some(({ path }) => path.kind === "event");
    const least = () => new Least(members.length);
    this.#seen = {
      traderState: least(),
      markets: least(),
      marketConfig: least(),
      collateral: least(),
      fills: least(),
      funding: least(),
    };
    this.#ratio = least();
    this.#move = least();
    this.#adverse = least();
    for (const source of sharedSources)
      for (const index of this.#names.keys()) this.#seen[source].set(index, Number.NEGATIVE_INFINITY);
  }

  isOf({ rule, label }: BookSubject): boolean {
    return this.#rule.name === rule && this.#label?.value === label?.value;
  }

  get inUsd(): number {
    return this.#inToday / usdScale;
  }

  get outUsd(): number {
    return this.#outToday / usdScale;
  }

  /** Returns true unless all of it cancels out: money that left one wallet may have entered another. */
  get #isOpen(): boolean {
    return this.#inToday + this.#outToday !== 0;
  }

  /** The doubt about the profit of today; null: none. */
  get doubt(): Doubt | null {
    return this.#isOpen ? this : null;
  }

  assume(high: boolean): void {
    if (this.#withoutPnlToday > 0) return;
    const pnlToday = (this.#pnlToday - (high ? this.#outToday : this.#inToday)) / usdScale;
    for (const { facts } of this.#nodes.values()) facts.values.pnlToday = pnlToday;
  }

  leave(): void {
    for (const { facts } of this.#nodes.values()) delete facts.values.pnlToday;
  }

  get name(): string {
    return nameOf(this.#rule, this.#label);
  }

  /** Returns true if this rule has the same book, which it can then judge. */
  goesOn(rule: ConditionRule, names: readonly string[]): boolean {
    const same = rule.fingerprint === this.#rule.fingerprint && names.join("\n") === this.#names.join("\n");
    if (same) this.#rule = rule;
    return same;
  }

  get nodes(): Iterable<SubjectNode> {
    return this.#nodes.values();
  }

  get members(): readonly string[] {
    return this.#names;
  }

  /** Returns true for an event of a member, in the subject's markets; flows belong to no market. */
  covers({ subject }: SubjectNode, { wallet, symbol }: Event): boolean {
    if (wallet === null || !this.has(wallet) || subject.scope !== "book") return false;
    const market = symbol?.toUpperCase();
    if (subject.symbol !== null) return market === subject.symbol.toUpperCase();
    return market === undefined || (this.#symbols?.has(market) ?? true);
  }

  has(wallet: string): boolean {
    return this.#places.has(wallet);
  }

  /** Returns true if each member was read recently: an older reading is no current sample. */
  isFresh(nowMs: number): boolean {
    return nowMs - this.#seen.traderState.value <= this.#rule.staleAfterMs.traderState;
  }

  start(standing: readonly string[], atMs: number): void {
    this.#startedMs = atMs;
    if (this.#rule.by !== "market") this.#node("");
    else {
      const prefix = `book/${this.#rule.name}/`;
      for (const name of standing) if (name.startsWith(prefix)) this.#node(name.slice(prefix.length));
    }
    this.writeAll();
  }

  take(entry: WalletEntry, before: Share | undefined, share: Share): void {
    const index = this.#places.get(entry.wallet.name)!;
    if (before) this.#add(before, -1);
    this.#add(share, 1);
    for (const source of sharedSources) this.#seen[source].set(index, seenWhole(this.#world, entry, source));
    const known = !Number.isNaN(share.equity);
    this.#ratio.set(index, known ? -share.marginRatio : Number.POSITIVE_INFINITY);
    this.#move.set(index, known ? share.moveToLiquidation : Number.POSITIVE_INFINITY);
    this.#adverse.set(index, known ? share.adverseMoveToLiquidation : Number.POSITIVE_INFINITY);
  }

  #add(share: Share, sign: 1 | -1): void {
    if (Number.isNaN(share.equity)) this.#unassessed += sign;
    else this.#equity += sign * share.equity;
    if (Number.isNaN(share.pnlToday)) this.#withoutPnlToday += sign;
    else {
      this.#pnlToday += sign * share.pnlToday;
      this.#inToday += sign * share.inToday;
      this.#outToday += sign * share.outToday;
    }
    for (const field of summedFields) {
      const amount = share.sums[field];
      if (Number.isNaN(amount)) this.#unsummed[field] += sign;
      else this.#sums[field] += sign * amount;
    }
    for (const [symbol, held] of share.bySymbol) {
      if (this.#symbols?.has(symbol) === false) continue;
      this.#touched.add(symbol);
      this.#all.add(held, sign);
      if (this.#rule.by !== "market") continue;
      let sum = this.#bySymbol.get(symbol);
      if (!sum) {
        sum = new Sum();
        this.#bySymbol.set(symbol, sum);
      }
      sum.add(held, sign);
      this.#node(symbol);
    }
  }

  /** Creates a market's node once; a market without holders stays as an empty book. */
  #node(symbol: string): void {
    if (this.#nodes.has(symbol)) return;
    // Before all members were read it is unknown if something appeared just now.
    const first = this.#seen.traderState.value === Number.NEGATIVE_INFINITY;
    const subject = {
      scope: "book",
      rule: this.#rule.name,
      symbol: symbol === "" ? null : symbol,
      ...(this.#label === null ? {} : { label: this.#label }),
    } as const;
    const silent = (source: Source, sinceMs: number): readonly string[] =>
      ofWallets.has(source)
        ? this.#seen[source as SharedSource].below(sinceMs).map((index) => this.#names[index]!)
        : [];
    this.#nodes.set(
      symbol,
      this.#world.aggregateNode(
        subject,
        {
          values: {},
          seenMs: this.#seenMs,
          silent,
          missingMembers: (field) => this.#missingMembersOf(field),
        },
        first,
      ),
    );
  }

  /** Returns the members whose part of a figure is unknown. */
  #missingMembersOf(field: string): readonly string[] {
    const partOf = ({ sums, pnlToday, equity }: Share): number => {
      const summed = summedFields.find((one) => one === field);
      if (summed !== undefined) return sums[summed];
      if (field === "pnlToday") return pnlToday;
      return ofAccounts.some((one) => one === field) ? equity : 0;
    };
    return this.#names.filter((name) => {
      const share = this.#shareOf(name);
      return share !== undefined && Number.isNaN(partOf(share));
    });
  }

  /** Updates the facts that rules see. @returns the changed subjects */
  write(): Iterable<SubjectNode> {
    if (this.#rule.by !== "market" || this.#sharedRead) {
      this.writeAll();
      return this.#nodes.values();
    }
    const written: SubjectNode[] = [];
    this.#age();
    for (const [symbol, node] of this.#nodes) {
      // A subject that could not be judged may be judged now, whichever wallet answered.
      const waits = rulesOf(node).instances.some((instance) => instance.unknown !== null);
      if (!waits && !this.#touched.has(symbol)) continue;
      this.#writeNode(symbol, node);
      written.push(node);
    }
    this.#touched.clear();
    return written;
  }

  writeAll(): void {
    this.#age();
    for (const [symbol, node] of this.#nodes) this.#writeNode(symbol, node);
    this.#touched.clear();
  }

  #age(): void {
    for (const source of sharedSources) noteSeen(this.#seenMs, source, this.#seen[source].value);
  }

  #writeNode(symbol: string, { facts }: SubjectNode): void {
    const { values, seenMs } = facts;
    const sum = symbol === "" ? this.#all : (this.#bySymbol.get(symbol) ?? nothing);
    values.wallets = this.#names.length;
    values.label = this.#label?.value ?? "";
    // As the field defines it: time since which its wallets are asked.
    values.staleWallets = this.#startedMs;
    if (seenMs.traderState === undefined) {
      // It is unknown whether an unread wallet holds something.
      for (const field of summed) delete values[field];
      return;
    }
    if (sum.unvalued > 0) {
      delete values.netNotional;
      delete values.grossNotional;
    } else {
      values.netNotional = sum.net / usdScale;
      values.grossNotional = sum.gross / usdScale;
    }
    const oneMarket = symbol !== "" || this.#symbols?.size === 1;
    if (oneMarket && sum.unsized === 0) values.netSize = sum.size / unitScale;
    else if ("netSize" in values) delete values.netSize;
    if (this.#withoutPnlToday > 0 || this.#isOpen) delete values.pnlToday;
    else values.pnlToday = this.#pnlToday / usdScale;
    for (const field of summedFields) {
      if (this.#unsummed[field] > 0) delete values[field];
      else values[field] = this.#sums[field] / usdScale;
    }
    if (this.#unassessed > 0) {
      for (const field of ofAccounts) delete values[field];
    } else {
      values.equity = this.#equity / usdScale;
      // Adding 0 turns −0 into 0.
      values.worstMarginRatio = -this.#ratio.value + 0;
      values.moveToLiquidation = this.#move.value;
      values.adverseMoveToLiquidation = this.#adverse.value;
    }
  }
}

/** Figures of one market; the others concern the wallets as a whole. */
const ofMarkets: ReadonlySet<string> = new Set([
  ...["netNotional", "grossNotional", "netSize", "wallets", "label"],
]);

const nothing = new Sum();

const ofAccounts = ["equity", "worstMarginRatio", "moveToLiquidation", "adverseMoveToLiquidation"] as const;

const summed = [
  "netNotional",
  "grossNotional",
  "netSize",
  "pnlToday",
  ...summedFields,
  ...ofAccounts,
] as const;
