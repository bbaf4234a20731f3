/**
 * The trader accounts of the watched wallets: their newest state, their risk against the newest marks, and the subjects
 * (trader accounts and positions) that come and go with them.
 */
import {
  type OrderState,
  orderName,
  type PositionState,
  type SubaccountState,
  type TraderViewState,
} from "../domain/account.ts";
import { FewMap } from "../domain/few-map.ts";
import type { Source } from "../domain/sources.ts";
import type { AccountRef } from "../domain/subject.ts";
import { symbolKey } from "../domain/symbol.ts";
import { isActive } from "../margin/fast.ts";
import { unitsFromBaseLots, usdFromQuoteLots, usdFromTicks } from "../margin/units.ts";
import type { FactRecord } from "../rules/index.ts";
import { refreshAges } from "./account-ages.ts";
import { AccountAssessment } from "./account-assessment.ts";
import {
  hasSameFunding,
  hasSameSpot,
  holds,
  holdsAll,
  incarnationOf,
  isSameOne,
  listsAll,
  sideOf,
} from "./account-comparison.ts";
import type { AccountEntry, AccountsSeen, Parting, PositionEntry } from "./account-entry.ts";
import { positionStateFacts, RiskRoom } from "./account-facts.ts";
import { MarketIndex } from "./market-index.ts";
import type { Markets } from "./markets/markets.ts";
import type { OrderPlacements } from "./order-placements.ts";
import type { SubjectNode } from "./subjects.ts";

/** The figures of a reading where none was kept. */
const unread = { readDistance: Number.NaN, readMark: Number.NaN, leastDistance: Number.NaN };

/** Enough to look back from a collateral history that is read once a minute. */
const collateralsKept = 32;
const noAccounts: readonly AccountEntry[] = [];
const noMarkets: readonly string[] = [];
const noCollaterals: AccountEntry["collaterals"] = [];

const nothingHeld: Omit<SubaccountState, "subaccount"> = {
  sequence: 0,
  collateralQuoteLots: 0n,
  spotCollaterals: [],
  lifecycle: "active",
  capabilities: {},
  positions: [],
  orders: [],
};
const noPosition: Omit<PositionState, "symbol" | "baseLots"> = {
  virtualQuoteLots: 0n,
  unsettledFundingQuoteLots: 0n,
  accumulatedFundingQuoteLots: 0n,
  sequence: "0",
  triggers: [],
};

/** One (wallet, PDA index): what one answer tells of. */
interface Group {
  slot: number;
  slotIndex: number;
  exact: boolean;
  readonly accounts: FewMap<number, AccountEntry>;
}

const nowhere = { slot: 0, slotIndex: 0, exact: false };

/** Before its first answer. */
const newGroup = (): Group => ({ ...nowhere, accounts: new FewMap() });

/** The actions of the rest of the tick when subjects appear and disappear. */
export interface SubjectKeeper {
  trader(ref: AccountRef, first: boolean): SubjectNode;
  position(account: AccountEntry, symbol: string, incarnation: string, first: boolean): SubjectNode;
  /** `symbol` null: the whole account is gone. */
  gone(node: SubjectNode, account: AccountEntry, symbol: string | null, why: Parting): void;
}

export class Accounts {
  /** By wallet, then PDA index: most questions are about one wallet of thousands. */
  readonly #groups = new Map<string, FewMap<number, Group>>();
  /** Lists of them, made when they are asked for. */
  readonly #byWallet = new Map<string, readonly AccountEntry[]>();
  #all: readonly AccountEntry[] | null = null;
  readonly #markets: Markets;
  readonly #keeper: SubjectKeeper;
  readonly #placements: OrderPlacements;
  readonly #index = new MarketIndex<AccountEntry>();
  /** True if the markets of the account that is being taken may be others than before. */
  #reshaped = false;
  #ordersRead: boolean;
  readonly #assessment: AccountAssessment;

  /** @param ordersRead some rule looks at resting orders, or tells of them */
  constructor(markets: Markets, keeper: SubjectKeeper, placements: OrderPlacements, ordersRead: boolean) {
    this.#ordersRead = ordersRead;
    this.#markets = markets;
    this.#assessment = new AccountAssessment(markets);
    this.#keeper = keeper;
    this.#placements = placements;
  }

  /** True if facts of resting orders are needed from the next answer on. */
  readOrders(read: boolean): void {
    this.#ordersRead = read;
  }

  /** Removes all accounts of a wallet. */
  forget(wallet: string): void {
    for (const group of this.#groups.get(wallet)?.values() ?? [])
      for (const account of [...group.accounts.values()]) this.#remove(group, account);
    this.#groups.delete(wallet);
    this.#listAnew(wallet);
  }

  /** The PDA indices of a wallet that were read. */
  readIndices(wallet: string): Iterable<number> {
    return this.#groups.get(wallet)?.keys() ?? [];
  }

  /** As they are now: who comes or goes is in the next list. */
  all(): readonly AccountEntry[] {
    if (this.#all) return this.#all;
    this.#all = [...this.#groups.keys()].flatMap((wallet) => this.ofWallet(wallet));
    for (const [place, account] of this.#all.entries()) account.place = place;
    return this.#all;
  }

  /** The accounts whose figures depend on one of these markets, in the order of `all()`. */
  inMarkets(symbols: Iterable<string>): readonly AccountEntry[] {
    const found = this.#index.in(symbols);
    if (found.length < 2) return found;
    this.all();
    return found.sort((a, b) => a.place - b.place);
  }

  /** The same of one wallet. */
  ofWallet(wallet: string): readonly AccountEntry[] {
    const known = this.#byWallet.get(wallet);
    if (known !== undefined) return known;
    const groups = this.#groups.get(wallet);
    if (groups === undefined) return noAccounts;
    // A copy has room for just these, as have all lists here that stay: there are several for each account.
    const list = [...groups.values()].flatMap(({ accounts }) => [...accounts.values()]).slice();
    this.#byWallet.set(wallet, list);
    return list;
  }

  /** Takes over a changed set of accounts of a wallet. */
  #listAnew(wallet: string): void {
    this.#byWallet.delete(wallet);
    this.#all = null;
  }

  get(ref: AccountRef): AccountEntry | undefined {
    return this.#groups.get(ref.wallet)?.get(ref.pdaIndex)?.accounts.get(ref.subaccount);
  }

  /** The slot of the newest answer about a wallet's PDA index; 0 before the first. */
  slotOf(wallet: string, pdaIndex: number): number {
    return this.placeOf(wallet, pdaIndex).slot;
  }

  /** The place of the ledger of the newest answer about a wallet's PDA index. */
  placeOf(
    wallet: string,
    pdaIndex: number,
  ): Pick<AccountsSeen, "slot" | "slotIndex"> & { readonly exact: boolean } {
    return this.#groups.get(wallet)?.get(pdaIndex) ?? nowhere;
  }

  /** The accounts of a wallet that hold or rest something in a market; for rows that name no subaccount. */
  holding(wallet: string, pdaIndex: number | null, symbol: string): AccountEntry[] {
    return this.ofWallet(wallet).filter(
      (account) =>
        (pdaIndex === null || account.ref.pdaIndex === pdaIndex) &&
        account.positions.has(symbol.toUpperCase()),
    );
  }

  /** True if anybody holds or rests something in a market. */
  anyIn(symbol: string): boolean {
    return this.#index.holds(symbol);
  }

  /** @returns the accounts that were told of, or null when the answer is older than what is known. */
  take(seen: AccountsSeen): AccountEntry[] | null {
    const groups = this.#groups.get(seen.wallet) ?? new FewMap<number, Group>();
    const known = groups.get(seen.pdaIndex);
    if (known && (seen.slot < known.slot || (seen.slot === known.slot && seen.slotIndex < known.slotIndex)))
      return null;
    const onlyOf = seen.told === undefined ? null : new Set(seen.told);
    // A part is added to a whole; the whole is on its way.
    if (onlyOf && !known) return null;
    const first = known === undefined;
    const group = known ?? newGroup();
    if (first) this.#groups.set(seen.wallet, groups.set(seen.pdaIndex, group));
    const newer = seen.slot > group.slot;
    group.slot = seen.slot;
    group.slotIndex = seen.slotIndex;
    group.exact = seen.exact ?? false;
    const told: AccountEntry[] = [];
    for (const state of seen.subaccounts) {
      if (onlyOf?.has(state.subaccount) === false) continue;
      told.push(this.#takeSubaccount(group, seen, state, first, newer));
    }
    if (onlyOf) return told;
    // Nearly always the one that was told of is the one that there is.
    if (told.length === 1 && group.accounts.size === 1) return told;
    for (const account of [...group.accounts.values()]) {
      if (!seen.subaccounts.some((state) => state.subaccount === account.ref.subaccount))
        this.#remove(group, account);
    }
    return told;
  }

  takeView(wallet: string, view: TraderViewState, atMs: number): AccountEntry | undefined {
    const account = this.get({ wallet, pdaIndex: view.pdaIndex, subaccount: view.subaccount });
    if (!account) return undefined;
    account.view = { atMs, view };
    return account;
  }

  /** The account of this name, its figures told as such; made when it is not known. */
  give({ wallet, pdaIndex, subaccount }: AccountRef, atMs: number): AccountEntry {
    const ref: AccountRef = { wallet, pdaIndex, subaccount };
    const known = this.get(ref);
    if (known) return known;
    const groups = this.#groups.get(ref.wallet) ?? new FewMap<number, Group>();
    const group = groups.get(ref.pdaIndex) ?? newGroup();
    this.#groups.set(ref.wallet, groups.set(ref.pdaIndex, group));
    const node = this.#keeper.trader(ref, true);
    const state: SubaccountState = { ...nothingHeld, subaccount: ref.subaccount };
    const account: AccountEntry = {
      ref,
      name: node.name,
      node,
      state,
      risk: new RiskRoom(),
      rights: null,
      assessed: true,
      markets: noMarkets,
      place: 0,
      positions: new FewMap(),
      seenMs: atMs,
      slot: 0,
      slotBefore: 0,
      heldBefore: null,
      shrunkAtMs: 0,
      sizesSlot: 0,
      moved: false,
      accrued: false,
      keptMs: 0,
      collaterals: noCollaterals,
      placedMs: new FewMap(),
      otherMarkets: noMarkets,
      view: null,
      injected: true,
    };
    account.risk.take(state);
    group.accounts.set(ref.subaccount, account);
    this.#listAnew(ref.wallet);
    return account;
  }

  /** A position of such an account; one on the other side is another one. `first`: as of `SubjectKeeper`. */
  givePosition(account: AccountEntry, symbol: string, side: "long" | "short", first: boolean): PositionEntry {
    const known = account.positions.get(symbol);
    const state: PositionState = { ...noPosition, symbol, baseLots: side === "long" ? 1n : -1n };
    if (known && sideOf(known.state) === side) return known;
    if (known) this.takeGiven(account, symbol, account.seenMs, "flipped");
    const node = this.#keeper.position(account, symbol, `${side} given`, first);
    const entry = { state, node, ...unread };
    account.positions.set(symbol, entry);
    this.#index.take(account);
    return entry;
  }

  /** Ends a position of such an account; with `symbol` null the account itself. */
  takeGiven(account: AccountEntry, symbol: string | null, atMs: number, why: Parting): void {
    account.shrunkAtMs = atMs;
    if (symbol === null) {
      const group = this.#groups.get(account.ref.wallet)?.get(account.ref.pdaIndex);
      if (group) this.#remove(group, account);
      return;
    }
    const entry = account.positions.get(symbol);
    if (!entry) return;
    account.positions.delete(symbol);
    this.#index.take(account);
    this.#keeper.gone(entry.node, account, symbol, why);
  }

  /** Computes an account's risk from what is known now and refreshes the facts of the account and its positions. */
  assess(account: AccountEntry): void {
    if (account.injected) return;
    this.#assessment.assess(account);
    this.#index.noteAssessed(account);
    const { values } = account.node.facts;
    if (!listsAll(values.positions, account.positions))
      values.positions = [...account.positions.values()].map(({ node }) => node.facts.values as FactRecord);
    this.refreshAges(account);
  }

  /** Computes the effects of funding on the account, by the newest rates. */
  refreshFunding(account: AccountEntry): void {
    if (!account.injected && account.assessed) this.#assessment.refreshFunding(account);
  }

  /** Brings the ages of an account's inputs up to date: prices were seen, whether they moved or not. */
  refreshAges(account: AccountEntry): void {
    if (!account.injected) refreshAges(account, this.#markets);
  }

  /** Returns true if the account's figures depend on one of these markets. */
  dependsOn(account: AccountEntry, symbols: ReadonlySet<string>): boolean {
    for (const symbol of account.markets) if (symbols.has(symbol)) return true;
    return !account.assessed;
  }

  #takeSubaccount(
    group: Group,
    seen: AccountsSeen,
    state: SubaccountState,
    first: boolean,
    newer: boolean,
  ): AccountEntry {
    let account = group.accounts.get(state.subaccount);
    if (!account) {
      const ref: AccountRef = { wallet: seen.wallet, pdaIndex: seen.pdaIndex, subaccount: state.subaccount };
      const node = this.#keeper.trader(ref, first);
      account = {
        ref,
        name: node.name,
        node,
        state,
        risk: new RiskRoom(),
        rights: null,
        assessed: false,
        markets: noMarkets,
        place: 0,
        positions: new FewMap(),
        seenMs: seen.atMs,
        slot: 0,
        slotBefore: 0,
        heldBefore: null,
        shrunkAtMs: 0,
        sizesSlot: seen.slot,
        moved: true,
        accrued: false,
        keptMs: 0,
        collaterals: noCollaterals,
        placedMs: new FewMap(),
        otherMarkets: noMarkets,
        view: null,
        injected: false,
      };
      account.risk.take(state);
      this.#linkMarkets(account);
      group.accounts.set(state.subaccount, account);
      this.#listAnew(seen.wallet);
    } else if (newer || state.sequence >= account.state.sequence) {
      const { orders, positions, spotCollaterals, collateralQuoteLots } = account.state;
      if (
        state.collateralQuoteLots !== collateralQuoteLots ||
        !hasSameSpot(state.spotCollaterals, spotCollaterals)
      )
        account.moved = true;
      if (!hasSameFunding(state.positions, positions)) account.accrued = true;
      account.state = state;
      account.risk.take(state);
      if (orders !== state.orders || spotCollaterals !== state.spotCollaterals) this.#linkMarkets(account);
    }
    account.seenMs = seen.atMs;
    noteCollateral(account, seen);
    // Here and below each by its own name: a store by a name that varies takes several times as long.
    account.node.facts.seenMs.traderState = seen.atMs;
    this.#stateFacts(account, seen.atMs, first);
    this.#takePositions(account, seen, first);
    account.slot = seen.slot;
    // Nearly every answer leaves an account in the markets that it was in.
    if (this.#reshaped) this.#index.take(account);
    this.#reshaped = false;
    return account;
  }

  /** Takes the figures that follow from state and market configuration anew: the latter was read. */
  configured(account: AccountEntry): void {
    if (account.injected) return;
    this.#linkMarkets(account);
    this.#index.take(account);
    for (const [symbol, { node, state }] of account.positions)
      positionStateFacts(node.facts, state, this.#markets.risk.get(symbol));
    if (this.#ordersRead) this.#orderFacts(account, account.seenMs, false);
  }

  #linkMarkets(account: AccountEntry): void {
    this.#reshaped = true;
    const { risk, state } = account;
    if (risk.orders.length === 0 && state.spotCollaterals.length === 0) {
      account.otherMarkets = noMarkets;
      return;
    }
    const symbols = new Set<string>();
    for (const order of risk.orders) if (isActive(order)) symbols.add(order.symbol);
    for (const { assetIndex, balance } of state.spotCollaterals) {
      const symbol = balance > 0n ? this.#markets.symbolOfAsset(assetIndex) : undefined;
      if (symbol !== undefined) symbols.add(symbol);
    }
    account.otherMarkets = this.#index.list(symbols);
  }

  #stateFacts(account: AccountEntry, atMs: number, first: boolean): void {
    const values = account.node.facts.values;
    const { state, ref, risk } = account;
    values.name = account.name;
    values.account = ref.pdaIndex;
    values.subaccount = ref.subaccount;
    values.state = state.lifecycle;
    values.collateral = usdFromQuoteLots(risk.collateralQuoteLots);
    if (this.#ordersRead) this.#orderFacts(account, atMs, first);
  }

  #orderFacts(account: AccountEntry, atMs: number, first: boolean): void {
    const { state, node } = account;
    let unknown = false;
    const orders = state.orders.flatMap((order): FactRecord[] => {
      if (order.status.toLowerCase() !== "active") return [];
      const placedMs = this.#placedMs(account, order, atMs, first);
      const market = this.#markets.risk.get(symbolKey(order.symbol));
      if (!market) {
        unknown = true;
        return [];
      }
      const price = usdFromTicks(order.priceTicks, market);
      const size = unitsFromBaseLots(order.remainingLots, market);
      const { side, kind, reduceOnly } = order;
      const item = { symbol: order.symbol, side, price, size, notional: price * size, reduceOnly, kind };
      return [placedMs === undefined ? item : { ...item, age: Math.max(0, atMs - placedMs) }];
    });
    // A list without one of them would be a false one.
    if (unknown) delete node.facts.values.orders;
    else node.facts.values.orders = orders.slice();
    if (account.placedMs.size <= state.orders.length) return;
    const resting = new Set(state.orders.map((one) => orderName(one.symbol, one.sequence, one.side)));
    for (const order of account.placedMs.keys()) if (!resting.has(order)) account.placedMs.delete(order);
  }

  /** As the order history tells; one that appears while we watch was placed then. */
  #placedMs(account: AccountEntry, order: OrderState, atMs: number, first: boolean): number | undefined {
    const name = orderName(order.symbol, order.sequence, order.side);
    const known = account.placedMs.get(name);
    const placedMs = this.#placements.take(account.ref.wallet, name) ?? known ?? (first ? undefined : atMs);
    if (placedMs !== undefined && placedMs !== known) account.placedMs.set(name, placedMs);
    // Not known yet: from the next answer on it does not count as new.
    else if (placedMs === undefined) account.placedMs.set(name, Number.NaN);
    return Number.isNaN(placedMs) ? undefined : placedMs;
  }

  #takePositions(account: AccountEntry, { atMs, slot }: AccountsSeen, first: boolean): void {
    for (const position of account.state.positions) {
      if (position.baseLots === 0n) continue;
      const symbol = symbolKey(position.symbol);
      let entry = account.positions.get(symbol);
      if (entry && !isSameOne(entry, position)) {
        const why = sideOf(entry.state) === sideOf(position) ? "reopened" : "flipped";
        account.positions.delete(symbol);
        this.#reshaped = true;
        account.shrunkAtMs = atMs;
        noteResized(account, slot);
        this.#keeper.gone(entry.node, account, symbol, why);
        entry = undefined;
      }
      if (entry) {
        if (position.baseLots !== entry.state.baseLots) noteResized(account, slot);
        if (magnitude(position.baseLots) < magnitude(entry.state.baseLots)) account.shrunkAtMs = atMs;
        entry.state = position;
      } else {
        // Listed before the node is made, so that whatever looks around from there sees the whole account.
        const node = this.#keeper.position(account, symbol, incarnationOf(position), first);
        entry = { state: position, node, ...unread };
        account.positions.set(symbol, entry);
        this.#reshaped = true;
        noteResized(account, slot);
      }
      entry.node.facts.seenMs.traderState = atMs;
      openFacts(entry.node, atMs);
      positionStateFacts(entry.node.facts, position, this.#markets.risk.get(symbol));
    }
    if (holdsAll(account)) return;
    for (const [symbol, entry] of [...account.positions]) {
      if (holds(account.state, symbol)) continue;
      account.positions.delete(symbol);
      this.#reshaped = true;
      account.shrunkAtMs = atMs;
      noteResized(account, slot);
      this.#keeper.gone(entry.node, account, symbol, "closed");
    }
  }

  #remove(group: Group, account: AccountEntry): void {
    group.accounts.delete(account.ref.subaccount);
    this.#listAnew(account.ref.wallet);
    for (const [symbol, entry] of account.positions) this.#keeper.gone(entry.node, account, symbol, "closed");
    account.positions.clear();
    this.#index.remove(account);
    this.#keeper.gone(account.node, account, null, "closed");
  }

  /** The sources whose arrival changes an account's figures. */
  static readonly sources: readonly Source[] = ["traderState", "markets", "marketConfig"];
}

/**
 * Keeps what a reading of an account says of its positions, once that is assessed: marks move on, readings may stop.
 * @param first only of positions of which nothing was kept: prices or terms came after their reading
 */
export function noteReading({ positions }: AccountEntry, first = false): void {
  for (const position of positions.values()) {
    if (first && !Number.isNaN(position.readDistance)) continue;
    const { liquidationDistance, markPrice } = position.node.facts.values;
    if (typeof liquidationDistance !== "number" || typeof markPrice !== "number") {
      // The figures of the reading before are not those of this one.
      Object.assign(position, unread);
      continue;
    }
    position.readDistance = liquidationDistance;
    position.leastDistance = liquidationDistance;
    position.readMark = markPrice;
  }
}

function noteResized(account: AccountEntry, slot: number): void {
  account.sizesSlot = slot;
  account.moved = true;
}

function noteCollateral(account: AccountEntry, { slot, slotIndex, exact = false }: AccountsSeen): void {
  const { risk, collaterals } = account;
  const usd = usdFromQuoteLots(risk.collateralQuoteLots);
  if (collaterals[collaterals.length - 1]?.usd === usd) return;
  account.collaterals = collaterals
    .slice(1 - collateralsKept)
    .concat({ slot, index: exact ? slotIndex : undefined, usd });
}

/** @param atMs as of when; an age that is not known is no figure */
export function openFacts({ facts, openedMs }: SubjectNode, atMs: number): void {
  if (openedMs !== null) facts.values.openedAgo = Math.max(0, atMs - openedMs);
}

function magnitude(lots: bigint): bigint {
  return lots < 0n ? -lots : lots;
}
