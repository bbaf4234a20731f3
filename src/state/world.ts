/**
 * The existing subjects and their surroundings: wallets, markets, trader accounts, positions, the exchange and the daemon.
 * Lookups of an ancestor, of another market or of the account of a row are made here.
 */
import type { Event } from "../domain/event.ts";
import type { Source } from "../domain/sources.ts";
import type { AccountRef, Subject } from "../domain/subject.ts";
import { type Env, type Facts, type Suppose, Unknown } from "../rules/index.ts";
import { AccountAssessment } from "./accounts/account-assessment.ts";
import type { AccountEntry, Successor } from "./accounts/account-entry.ts";
import { AccountOrders } from "./accounts/account-orders.ts";
import { AccountStates } from "./accounts/account-states.ts";
import { Accounts, type SubjectCallbacks } from "./accounts/accounts.ts";
import { Holders } from "./accounts/holders.ts";
import { InjectedAccounts } from "./accounts/injected-accounts.ts";
import { OrderPlacements } from "./accounts/order-placements.ts";
import { Markets } from "./markets/markets.ts";
import type { Needs } from "./needs.ts";
import { type NodeEnv, newFacts, noWindows, readWindow, SubjectNode } from "./subjects.ts";
import { newWallet, rename, type WalletEntry } from "./wallets/wallets.ts";
import type { WatchedWallet } from "./wallets/watched.ts";

export type Gone = (node: SubjectNode, account: AccountEntry, symbol: string | null, why: Successor) => void;

const cannotSuppose = new Unknown("absent", null, "nothing can be supposed here");

export class World {
  readonly nodes = new Map<string, SubjectNode>();
  readonly wallets = new Map<string, WalletEntry>();
  readonly markets = new Markets();
  readonly placements = new OrderPlacements();
  readonly accounts: Accounts;
  readonly accountStates: AccountStates;
  readonly injectedAccounts: InjectedAccounts;
  readonly assessment: AccountAssessment;
  readonly holders: Holders;
  readonly exchange: SubjectNode;
  readonly daemon: SubjectNode;
  readonly #listed = (): boolean => this.markets.configAtMs !== null && this.markets.pricesAtMs !== null;
  readonly #marketFacts = (symbol: string): Facts | undefined =>
    this.markets.entries.get(symbol.toUpperCase())?.facts;
  /** Set by the component that computes hypothetical accounts. */
  supposing: Suppose | null = null;
  readonly #suppose: Suppose = {
    deposit: (env, condition) => this.supposing?.deposit(env, condition) ?? cannotSuppose,
    reduce: (env, condition) => this.supposing?.reduce(env, condition) ?? cannotSuppose,
  };
  readonly #walletPlaces = new Map<string, number>();
  #onNew: (node: SubjectNode) => void;
  #onGone: Gone;

  /** @param needs what rules read  @param onNew, onGone called when a node appears; when an account or a position disappears */
  constructor(needs: Pick<Needs, "orders" | "lookBackMs">, onNew: (node: SubjectNode) => void, onGone: Gone) {
    this.#onNew = onNew;
    this.#onGone = onGone;
    this.exchange = this.#own("exchange");
    this.daemon = this.#own("daemon");
    this.exchange.env.daemon = this.daemon.facts;
    const keeper: SubjectCallbacks = {
      trader: (ref, first) => this.traderNode(ref, first),
      position: (account, symbol, incarnation, first) =>
        this.positionNode(account, symbol, incarnation, first),
      gone: (node, account, symbol, why) => {
        this.nodes.delete(node.name);
        this.#onGone(node, account, symbol, why);
      },
    };
    this.holders = new Holders(needs.lookBackMs);
    this.accounts = new Accounts(keeper);
    const orders = new AccountOrders(this.markets, this.placements);
    this.accountStates = new AccountStates(this.accounts, this.markets, keeper, orders, needs.orders);
    this.injectedAccounts = new InjectedAccounts(this.accounts, keeper);
    this.assessment = new AccountAssessment(this.markets, this.accounts.index);
  }

  /**
   * Attaches the world to another watch after a reload: data are kept, and the rules that judged them are removed. Wallets that
   * are no longer watched, or have other settings, are removed with their data; the new ones are to be added by the caller.
   */
  serve(
    wallets: readonly WatchedWallet[],
    needs: Pick<Needs, "orders" | "lookBackMs">,
    onNew: (node: SubjectNode) => void,
    onGone: Gone,
  ): void {
    this.#onNew = () => {};
    this.#onGone = () => {};
    const watched = new Map(wallets.map((wallet) => [wallet.name, wallet]));
    for (const [name, entry] of this.wallets) {
      const wallet = watched.get(name);
      if (wallet && isSame(wallet, entry.wallet)) {
        rename(entry, wallet);
        continue;
      }
      this.accounts.forget(name);
      this.nodes.delete(entry.node.name);
      this.wallets.delete(name);
    }
    this.#walletPlaces.clear();
    this.accountStates.readOrders(needs.orders);
    this.holders.keepFor(needs.lookBackMs);
    for (const node of this.nodes.values()) node.strip();
    this.#onNew = onNew;
    this.#onGone = onGone;
  }

  /** The wallets of these names, in the order of `wallets`. */
  inOrder(names: ReadonlySet<string>): WalletEntry[] {
    if (this.#walletPlaces.size !== this.wallets.size) {
      this.#walletPlaces.clear();
      for (const name of this.wallets.keys()) this.#walletPlaces.set(name, this.#walletPlaces.size);
    }
    return [...names]
      .sort((a, b) => (this.#walletPlaces.get(a) ?? 0) - (this.#walletPlaces.get(b) ?? 0))
      .flatMap((name) => this.wallets.get(name) ?? []);
  }

  wallet(name: string): WatchedWallet | undefined {
    return this.wallets.get(name)?.wallet;
  }

  /** The wallet of a subject that belongs to one. */
  walletOf({ subject }: SubjectNode): WalletEntry | undefined {
    return "wallet" in subject ? this.wallets.get(subject.wallet) : undefined;
  }

  /**
   * The time at which a source last answered about a wallet, about the exchange, or about all of these markets; null: not
   * since the start.
   */
  lastSeenMs(source: Source, wallet: string | null, symbols: readonly string[] = []): number | null {
    if (symbols.length > 0) {
      const seen = symbols.map((symbol) => this.markets.entries.get(symbol)?.facts.seenMs[source]);
      return seen.reduce<number>((first, ms) => Math.min(first, ms ?? 0), Number.POSITIVE_INFINITY) || null;
    }
    if (wallet !== null) return this.wallets.get(wallet)?.node.facts.seenMs[source] ?? null;
    if (source === "markets") return this.markets.pricesAtMs;
    if (source === "marketConfig") return this.markets.configAtMs;
    const readMs = this.markets.readMs.get(source);
    if (readMs !== undefined) return readMs;
    return this.exchange.facts.seenMs[source] ?? null;
  }

  /** The subjects whose windows an event can enter. */
  *touchedBy(event: Event): Iterable<SubjectNode> {
    yield this.exchange;
    const market = event.symbol === null ? undefined : this.nodes.get(`market/${event.symbol.toUpperCase()}`);
    if (market) yield market;
    if (event.wallet === null) return;
    const wallet = this.wallets.get(event.wallet);
    if (wallet) yield wallet.node;
    for (const account of this.accounts.ofWallet(event.wallet)) {
      yield account.node;
      for (const position of account.positions.values()) yield position.node;
    }
  }

  /** The subjects whose series history stores under an owner. */
  *ownedBy(owner: string): Iterable<SubjectNode> {
    if (owner === "markets" || owner === "fundingRates") {
      for (const entry of this.markets.entries.values()) {
        const node = this.nodes.get(`market/${entry.symbol}`);
        if (node) yield node;
      }
    }
    const node = this.nodes.get(owner);
    if (!node) return;
    yield node;
    if (node.subject.scope !== "trader") return;
    for (const position of this.accounts.get(node.subject)?.positions.values() ?? []) yield position.node;
  }

  #own(scope: "exchange" | "daemon"): SubjectNode {
    const facts = newFacts();
    const node = new SubjectNode({ scope }, facts, this.#env({}), "", true);
    if (scope === "exchange") node.env.exchange = facts;
    else node.env.daemon = facts;
    this.nodes.set(node.name, node);
    return node;
  }

  /** The surroundings of a subject. The world's own facts are read on access, as they are created first. */
  #env(own: Partial<Pick<Env, "position" | "trader" | "wallet" | "market" | "book" | "pair">>): NodeEnv {
    // All have the same properties in the same order: reads are fast only while all objects have one shape.
    return {
      nowMs: 0,
      position: own.position,
      trader: own.trader,
      wallet: own.wallet,
      market: own.market,
      exchange: this.exchange?.facts ?? newFacts(),
      daemon: this.daemon?.facts ?? newFacts(),
      book: own.book,
      pair: own.pair,
      event: undefined,
      markets: this.#marketFacts,
      suppose: this.#suppose,
      listed: this.#listed,
      window: readWindow,
      looked: noWindows,
      value: undefined,
      allFresh: false,
      oldAccounts: false,
      freshUntilMs: Number.POSITIVE_INFINITY,
    };
  }

  eventEnv(event: Event, facts: Facts, nowMs: number): Env {
    const entry = event.wallet === null ? undefined : this.wallets.get(event.wallet);
    const symbol = event.symbol?.toUpperCase();
    const subaccount = event.subaccount ?? this.subaccountOf(event);
    const account =
      event.wallet !== null && subaccount !== null
        ? this.accounts.get({ wallet: event.wallet, pdaIndex: event.pdaIndex ?? 0, subaccount })
        : undefined;
    const env = this.#env({});
    env.nowMs = nowMs;
    env.event = facts;
    env.wallet = entry?.node.facts;
    env.trader = account?.node.facts;
    env.market = symbol === undefined ? undefined : this.markets.entries.get(symbol)?.facts;
    env.position = symbol === undefined ? undefined : account?.positions.get(symbol)?.node.facts;
    return env;
  }

  /**
   * The time at which the state of an event's account was seen, ms, if that state is from before the event, whatever the age of
   * the marks; null: it shows the event, or is not known. Compares slots where both have one, as clocks differ and answers arrive late.
   */
  figuresBefore(event: Event): number | null {
    const { wallet } = event;
    if (wallet === null) return null;
    const pdaIndex = event.pdaIndex ?? 0;
    const subaccount = event.subaccount ?? this.subaccountOf(event);
    const account = subaccount === null ? undefined : this.accounts.get({ wallet, pdaIndex, subaccount });
    const atMs = (account?.node ?? this.wallets.get(wallet)?.node)?.facts.seenMs.traderState;
    if (atMs === undefined) return null;
    const slot = this.accounts.slotOf(wallet, pdaIndex);
    const shown = slot > 0 && event.slot > 0 ? slot >= event.slot : atMs >= event.happenedMs;
    return shown ? null : atMs;
  }

  /** The subaccount of a row that names none; null if it is ambiguous. */
  subaccountOf(event: Event): number | null {
    const [owner, ...others] = this.ownersOf(event);
    return owner === undefined || others.length > 0 ? null : Number(owner.slice(owner.indexOf(".") + 1));
  }

  /** The accounts, as `0.1`, that an event without a subaccount may belong to: those that held its market at that time. */
  ownersOf(event: Event): readonly string[] {
    const { wallet, pdaIndex, symbol } = event;
    if (wallet === null || symbol === null) return [];
    const held = this.holders.of(event);
    if (held !== undefined && held.length > 0) return held;
    const holding = held === undefined ? this.accounts.holding(wallet, pdaIndex, symbol) : [];
    const any = holding.length > 0 ? holding : this.accounts.ofWallet(wallet);
    return any
      .filter(({ ref }) => pdaIndex === null || ref.pdaIndex === pdaIndex)
      .map(({ ref }) => `${ref.pdaIndex}.${ref.subaccount}`);
  }

  /**
   * True if the exchange has stated after `sinceMs` that the account, position or market of an event does not exist, or if the
   * event names none. `source` is the one that would list it.
   */
  knownAbsent(event: Event, source: Source | null, sinceMs: number): boolean {
    const { wallet, symbol, slot } = event;
    if (source !== "traderState") {
      if (symbol === null) return true;
      const { pricesAtMs, configAtMs } = this.markets;
      return pricesAtMs !== null && configAtMs !== null && pricesAtMs > sinceMs;
    }
    const entry = wallet === null ? undefined : this.wallets.get(wallet);
    if (wallet === null || !entry || (symbol === null && event.subaccount === null)) return true;
    const pdaIndex = event.pdaIndex ?? 0;
    // A position is identified by its market: an event without a market has no position.
    const { subaccount } = event;
    if (symbol === null && subaccount !== null && this.accounts.get({ wallet, pdaIndex, subaccount }))
      return true;
    const readMs = entry.seenMs.get(pdaIndex) ?? Number.NEGATIVE_INFINITY;
    return readMs > sinceMs && this.accounts.slotOf(wallet, pdaIndex) >= slot;
  }

  /** Adds a wallet, or moves a kept one behind those added before: wallets are in the order of the settings. */
  addWallet(wallet: WatchedWallet): void {
    const known = this.wallets.get(wallet.name);
    if (known) {
      this.wallets.delete(wallet.name);
      this.wallets.set(wallet.name, known);
      return;
    }
    const facts = newFacts();
    const node = new SubjectNode(
      { scope: "wallet", wallet: wallet.name },
      facts,
      this.#env({ wallet: facts }),
      "",
      true,
    );
    this.nodes.set(node.name, node);
    this.wallets.set(wallet.name, newWallet(wallet, node));
  }

  marketNode(symbol: string): SubjectNode {
    const entry = this.markets.entry(symbol);
    const known = this.nodes.get(`market/${entry.symbol}`);
    if (known) return known;
    const node = new SubjectNode(
      { scope: "market", symbol: entry.symbol },
      entry.facts,
      this.#env({ market: entry.facts }),
      "",
      this.markets.pricesAtMs === null || this.markets.configAtMs === null,
    );
    this.#adopt(node);
    return node;
  }

  /** The node of a sum over several wallets. */
  aggregateNode(
    subject: Subject & { readonly scope: "book" | "pair" },
    facts: Facts,
    first: boolean,
  ): SubjectNode {
    const { scope } = subject;
    const market =
      scope === "book" && subject.symbol !== null ? this.marketNode(subject.symbol).facts : undefined;
    const env = this.#env({ [scope]: facts, market });
    const node = new SubjectNode(subject, facts, env, "", first);
    this.#adopt(node);
    return node;
  }

  traderNode(ref: AccountRef, first: boolean): SubjectNode {
    const facts = newFacts();
    const { wallet: name, pdaIndex, subaccount } = ref;
    // Written out here and below: an object made by spreading takes twice the memory, and this one is kept.
    const subject: Subject = { scope: "trader", wallet: name, pdaIndex, subaccount };
    const wallet = this.wallets.get(name)?.node.facts;
    const env = this.#env({ trader: facts, ...(wallet ? { wallet } : {}) });
    const node = new SubjectNode(subject, facts, env, "", first);
    this.#adopt(node);
    return node;
  }

  positionNode(account: AccountEntry, symbol: string, incarnation: string, first: boolean): SubjectNode {
    const facts = newFacts();
    const market = this.marketNode(symbol).facts;
    const { wallet: name, pdaIndex, subaccount } = account.ref;
    const subject: Subject = { scope: "position", wallet: name, pdaIndex, subaccount, symbol };
    const wallet = this.wallets.get(name)?.node.facts;
    const env = this.#env({
      position: facts,
      trader: account.node.facts,
      market,
      ...(wallet ? { wallet } : {}),
    });
    const node = new SubjectNode(subject, facts, env, incarnation, first);
    this.#adopt(node);
    return node;
  }

  #adopt(node: SubjectNode): void {
    this.nodes.set(node.name, node);
    this.#onNew(node);
  }

  /** The node that owns the series of a path: the subject, an ancestor of it, or a market by name. */
  owner(node: SubjectNode, scope: string, symbol: string | null): SubjectNode | undefined {
    if (symbol !== null) return this.marketNode(symbol);
    if (node.subject.scope === scope) return node;
    const subject = node.subject;
    switch (scope) {
      case "market":
        return "symbol" in subject && subject.symbol !== null ? this.marketNode(subject.symbol) : undefined;
      case "wallet":
        return "wallet" in subject ? this.wallets.get(subject.wallet)?.node : undefined;
      case "trader":
        return "subaccount" in subject ? this.accounts.get(subject)?.node : undefined;
      case "exchange":
        return this.exchange;
      case "daemon":
        return this.daemon;
      default:
        return undefined;
    }
  }
}

/** True if both wallets are read in the same way. Labels and limits may differ. */
function isSame(one: WatchedWallet, other: WatchedWallet): boolean {
  return (
    one.authority === other.authority &&
    one.watchOnly === other.watchOnly &&
    JSON.stringify(one.pdaIndices) === JSON.stringify(other.pdaIndices)
  );
}
