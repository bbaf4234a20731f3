/**
 * The versions of the truth that the daemon had at each moment: which state of each account (by its sequence), which prices. It is
 * told by the recorded observations; each is held against the truth that it names, so nothing in here is taken on trust.
 */
import type { SubaccountState } from "../../../src/domain/account.ts";
import type { Event } from "../../../src/domain/event.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import { DaemonSeen } from "./daemon/seen.ts";
import { timeOf } from "./finding.ts";
import type { Gap } from "./lives.ts";
import { type AccountFigures, type Margins, type Price, tickUsd } from "./margin.ts";
import { Events } from "./seen-events.ts";
import { Markets } from "./seen-markets.ts";
import { Orders } from "./seen-orders.ts";
import { Today } from "./seen-today.ts";
import { type AccountTruth, at, between, type Truth } from "./truth.ts";

export interface Parts {
  readonly truth: Truth;
  /** See `Seen.noDataAlerts`. */
  readonly noDataAlerts: Seen["noDataAlerts"];
  readonly margins: Margins;
  /** Shares by which the exchange's own values of a wallet's accounts were off within some time of true wall time. */
  readonly valuesOff: (wallet: string, fromMs: number, toMs: number) => readonly number[];
  /** PDA indices that are read, by wallet. */
  readonly indices: ReadonlyMap<string, readonly number[]>;
  readonly isGarbled: (fromMs: number, toMs: number) => boolean;
  /** The longest time for which the process stood still, ms: answers reached it that late. */
  readonly stalledMs: number;
}

/** Statistics are of the whole second in which they were asked. */
const secondMs = 1_000;

/** Before a symbol: the name of its price among what is read. */
export const priceOf = "price of ";
export const termsOf = "terms of ";

/** A row that could not be read is read again within this, ms. */
const garbledMs = 30_000;

export class Seen {
  readonly accounts = new Map<string, AccountTruth>();
  /** Accounts that answers leave out, since nothing is left in them: what was paid into them still counts. */
  readonly gone = new Map<string, AccountTruth>();
  readonly prices = new Map<string, Price>();
  /** The exchange's time of each price, ms. */
  readonly #pricedMs = new Map<string, number>();
  /** Times at which the newest price of a market came, ms; of all lives. */
  readonly priceMs = new Map<string, number>();
  /** Statuses of markets; empty before they were read. */
  readonly statuses = new Map<string, string>();
  /** Taker fees of markets, fractions. */
  readonly takerFees = new Map<string, number>();
  /** By symbol, what is read of markets one by one. */
  readonly markets = new Markets();
  readonly orders = new Orders();
  readonly events = new Events();
  readonly today: Today;
  readonly daemon = new DaemonSeen();
  exchange: {
    readonly active: boolean;
    readonly gated: boolean;
    readonly withdrawalsAvailable: boolean;
  } | null = null;
  /**
   * Times at which accounts of one PDA index, and prices of all markets, were last read whole, and those at which the price of one
   * market was last told; the daemon's clock, ms.
   */
  readonly readMs = new Map<string, number>();
  /** The true wall time of the newest observation, ms. */
  #takenMs = 0;
  /** Times at which accounts were last told of, alone or with others, by name; the daemon's clock, ms. */
  readonly toldMs = new Map<string, number>();
  /** Inputs of margins beside accounts and prices that were read since the start. */
  readonly #terms = new Set<"marketConfig" | "collateralAssets">();
  /** Lists of markets that were read since a gap; null: there was none. */
  #listsSinceGap: number | null = null;
  /** Wallets of which the equity of midnight was read. */
  readonly midnights = new Set<string>();
  /** Wallets of which the history of deposits and withdrawals was read since the start. */
  readonly histories = new Set<string>();
  /** Times at which funding histories were last read since the start, as `wallet/index`; the daemon's clock, ms. */
  readonly #fundingRead = new Map<string, number>();
  /** Payments of funding that histories told of, by wallet and key: kept over lives. */
  readonly payments = new Map<string, Map<string, Event>>();
  /** Times at which an account was seen to have lost some of a position, by name; the daemon's clock, ms. */
  readonly lostMs = new Map<string, number[]>();
  /** The account that was read is another version than before, or a price is: counts up. */
  version = 0;
  /** The newest state of each account that was seen: kept over lives, since the daemon keeps what accounts held. */
  readonly #last = new Map<string, AccountTruth>();
  /** The parts of markets that never change. */
  readonly rules: Truth["rules"];
  /** The number of no-data alerts that fired at a time of the daemon's clock, as far as it is known to the ms. */
  readonly noDataAlerts: (atMs: number) => { readonly least: number; readonly most: number };
  readonly #truth: Truth;
  readonly #parts: Parts;
  /** The longest time that an answer without a time of its own may be under way, ms. */
  readonly #recentMs: number;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#truth = parts.truth;
    this.rules = parts.truth.rules;
    this.noDataAlerts = parts.noDataAlerts;
    this.today = new Today(parts.indices);
    this.#recentMs = recentMs + parts.stalledMs;
  }

  /** True if answers of just now could not be read: rows that are missing may leave a profit unknown until they are read again. */
  get isGarbledLately(): boolean {
    return this.#parts.isGarbled(this.#takenMs - garbledMs, this.#takenMs);
  }

  /** A daemon that begins knows nothing. */
  forget(): void {
    for (const known of [this.accounts, this.gone, this.prices, this.#pricedMs, this.statuses]) known.clear();
    for (const known of [this.readMs, this.toldMs]) known.clear();
    for (const part of [this.markets, this.orders, this.events, this.today, this.daemon]) part.forget();
    this.histories.clear();
    this.#fundingRead.clear();
    this.#terms.clear();
    this.#listsSinceGap = null;
    this.exchange = null;
    this.version++;
  }

  /** Forgets what the daemon was told for some time, but for the events of that time. */
  lose({ events, fromMs, toMs }: Gap): void {
    const { histories } = this;
    const read = [new Set(histories), new Map(this.#fundingRead), new Set(this.#terms)] as const;
    const { figures } = this.daemon;
    this.forget();
    this.daemon.figures = figures;
    this.daemon.lose(fromMs, toMs);
    for (const wallet of read[0]) histories.add(wallet);
    for (const [part, ms] of read[1]) this.#fundingRead.set(part, ms);
    for (const terms of read[2]) this.#terms.add(terms);
    this.#listsSinceGap = 0;
    this.today.lose();
    for (const event of events)
      if (event.kind === "funding") keep(this.payments, event);
      else this.events.keep(event);
  }

  /** Another day began. */
  forgetMidnights(): void {
    this.midnights.clear();
    this.version++;
  }

  /**
   * Takes an observation in.
   * @param atMs true wall time at which it was committed
   * @returns what it says that was not true
   */
  take(observation: Observation, atMs: number): readonly string[] {
    this.#takenMs = atMs;
    switch (observation.kind) {
      case "watching":
        if (!observation.reloaded) this.forget();
        return [];
      case "accounts":
        return this.#takeAccounts(observation);
      case "prices":
        // With the first of them what accounts are worth is known.
        if (!observation.live && !this.readMs.has("prices")) this.version++;
        if (!observation.live) this.readMs.set("prices", observation.atMs);
        // A row that nobody can read is left out of an answer.
        for (const { symbol } of observation.markets) {
          this.priceMs.set(symbol, observation.atMs);
          this.readMs.set(priceOf + symbol, observation.atMs);
        }
        return observation.markets.flatMap((one) => this.#takePrice(one, atMs));
      case "fundingRate":
      case "depth":
      case "external":
      case "calendar":
        this.version++;
        return this.markets.take(
          observation,
          this.#truth,
          atMs,
          this.#parts.stalledMs,
          this.#parts.isGarbled(atMs - this.#recentMs, atMs),
        );
      case "marketConfig":
        this.readMs.set("marketConfig", observation.atMs);
        this.#takeTerms("marketConfig");
        // The list of assets, which is read seldom, was read with the first one: then in the gap.
        if (this.#listsSinceGap !== null && ++this.#listsSinceGap > 1) this.#takeTerms("collateralAssets");
        if (this.markets.list(observation)) this.version++;
        return observation.markets.flatMap((market) => {
          const { symbol, status, takerFee, openInterestCapBaseLots: cap } = market;
          // A row that cannot be read leaves its market out.
          this.readMs.set(termsOf + symbol, observation.atMs);
          if (this.statuses.get(symbol) !== status) this.version++;
          this.statuses.set(symbol, status);
          this.takerFees.set(symbol, takerFee);
          const states = between(this.#truth.markets.get(symbol) ?? [], atMs - this.#recentMs, atMs);
          return this.#wasTrue(
            `terms of ${symbol}`,
            `${status}, ${takerFee}, ${cap}`,
            states.map(
              (one) => `${one.status}, ${Number(one.takerFeeMillionths) / 1e6}, ${one.openInterestCap}`,
            ),
          );
        });
      case "collateralAssets":
        this.#takeTerms("collateralAssets");
        return [];
      case "events":
        if (this.today.take(observation)) this.version++;
        if (observation.source === "funding") return this.#takePayments(observation);
        if (observation.source === "orders") this.orders.takeHistory(observation);
        if (this.events.take(observation)) this.version++;
        if (observation.source !== "collateral") return [];
        if (observation.wallet !== null && !observation.past && !this.histories.has(observation.wallet)) {
          this.histories.add(observation.wallet);
          this.version++;
        }
        return [];
      case "portfolio":
        if (observation.midnight && !this.midnights.has(observation.wallet)) {
          this.midnights.add(observation.wallet);
          this.version++;
        }
        return this.#takeValues(observation, atMs);
      case "daemon":
        this.daemon.take(observation);
        this.version++;
        return [];
      case "channel":
        this.daemon.judgedMs = observation.atMs;
        this.version++;
        return [];
      case "exchangeStatus": {
        const { active, gated, withdrawalsAvailable } = observation;
        this.exchange = { active, gated, withdrawalsAvailable };
        this.readMs.set("exchangeStatus", observation.atMs);
        this.version++;
        const wordsOf = (one: NonNullable<Seen["exchange"]>) =>
          `active ${one.active}, gated ${one.gated}, withdrawals ${one.withdrawalsAvailable}`;
        const truths = between(this.#truth.exchange, atMs - this.#recentMs, atMs);
        return this.#wasTrue("status of the exchange", wordsOf(this.exchange), truths.map(wordsOf));
      }
      default:
        return [];
    }
  }

  #takeTerms(terms: "marketConfig" | "collateralAssets"): void {
    if (!this.#terms.has(terms)) this.version++;
    this.#terms.add(terms);
  }

  /**
   * Undefined where something was not read since the start: prices, the terms of markets, or of collateral in other assets.
   * @param whole false: of what rests on no collateral
   */
  figures(account: AccountTruth, whole = true): AccountFigures | undefined {
    const { positions, orders, spot } = account;
    const isEmpty = positions.length === 0 && orders.length === 0 && spot === 0n;
    if (isEmpty && !this.readMs.has("prices")) return undefined;
    if (!this.#terms.has("marketConfig") || (whole && spot > 0n && !this.#terms.has("collateralAssets")))
      return undefined;
    return this.#parts.margins.of(account, this.prices);
  }

  /** Figures of an account as it would be, at other prices. */
  supposed(account: AccountTruth, prices: ReadonlyMap<string, Price>): AccountFigures | undefined {
    return this.#parts.margins.of(account, prices);
  }

  #takePayments({
    wallet,
    pdaIndex,
    events,
    past,
    atMs,
  }: Observation & { readonly kind: "events" }): readonly string[] {
    if (wallet === null) return [];
    if (!past) this.#fundingRead.set(`${wallet}/${pdaIndex}`, atMs);
    this.version++;
    const truths = this.#truth.payments(wallet);
    return events.flatMap((event) => {
      keep(this.payments, event);
      const { symbol, happenedMs, fields } = event;
      const is = truths.some(
        (one) =>
          // Rows are told with whole seconds.
          one.symbol === symbol &&
          one.atMs - (one.atMs % secondMs) === happenedMs &&
          one.usd === fields.payment,
      );
      return is ? [] : [`funding of ${symbol} at ${happenedMs}: ${fields.payment}`];
    });
  }

  /** The time since which no funding history of a wallet has been older; undefined: one of them was not read since the start. */
  fundingReadMs(wallet: string): number | undefined {
    const times = this.#parts.indices
      .get(wallet)!
      .map((index) => this.#fundingRead.get(`${wallet}/${index}`));
    return times.reduce((oldest, ms) =>
      ms === undefined || oldest === undefined ? undefined : Math.min(oldest, ms),
    );
  }

  /** Net funding that a wallet received, USD; undefined: its history was never read. What an earlier life was told counts. */
  funding(wallet: string): number | undefined {
    const known = this.payments.get(wallet);
    if (known === undefined && this.fundingReadMs(wallet) === undefined) return undefined;
    return [...(known?.values() ?? [])].reduce((sum, { fields }) => sum + Number(fields.payment), 0);
  }

  #takeAccounts({
    wallet,
    pdaIndex,
    subaccounts,
    told,
    atMs,
  }: Observation & { readonly kind: "accounts" }): readonly string[] {
    const prefix = `${wallet}/${pdaIndex}.`;
    const first = !this.readMs.has(prefix);
    if (told === undefined) this.readMs.set(prefix, atMs);
    const listed = new Set(subaccounts.map(({ subaccount }) => `${prefix}${subaccount}`));
    const isTold = (name: string): boolean =>
      told === undefined || told.includes(Number(name.slice(prefix.length)));
    this.#noteGone(prefix, listed, isTold, atMs);
    for (const name of [...this.accounts.keys()]) {
      if (!name.startsWith(prefix) || listed.has(name)) continue;
      if (!isTold(name)) continue;
      if (this.accounts.get(name)!.positions.length > 0) this.#noteLost(name, atMs);
      this.accounts.delete(name);
      this.daemon.equity.gone(name);
      this.version++;
    }
    const wrong: string[] = [];
    for (const state of subaccounts) {
      if (told !== undefined && !told.includes(state.subaccount)) continue;
      const name = `${prefix}${state.subaccount}`;
      this.toldMs.set(name, atMs);
      const before = this.accounts.get(name);
      if (before?.sequence === state.sequence) {
        if (this.orders.take(before, first, atMs)) this.version++;
        continue;
      }
      // An account that was never opened is listed empty.
      const truth = this.#truth.account(name, state.sequence);
      if (truth === undefined) {
        if (state.sequence > 0) wrong.push(`${name} never had the sequence ${state.sequence}`);
        continue;
      }
      if (before && before.sequence > truth.sequence)
        wrong.push(`${name} goes back from sequence ${before.sequence} to ${truth.sequence}`);
      wrong.push(
        ...differences(truth, state).map((what) => `${name} at sequence ${state.sequence}: ${what}`),
      );
      const last = this.#last.get(name);
      if (last && lostSome(last, truth)) this.#noteLost(name, atMs);
      this.#last.set(name, truth);
      this.accounts.set(name, truth);
      this.orders.take(truth, first, atMs);
      this.version++;
    }
    for (const name of told === undefined ? listed : []) {
      const account = this.accounts.get(name);
      const usd = account && this.figures(account)?.equity;
      if (usd !== undefined) this.daemon.equity.note(name, usd, atMs);
    }
    return wrong;
  }

  #noteGone(
    prefix: string,
    listed: ReadonlySet<string>,
    isTold: (name: string) => boolean,
    atMs: number,
  ): void {
    for (const [name, states] of this.#truth.accounts) {
      if (!name.startsWith(prefix) || !isTold(name)) continue;
      const truth = listed.has(name)
        ? undefined
        : states.findLast((one) => one.ofMs <= atMs && holdsNothing(one));
      if (truth) this.gone.set(name, truth);
      else this.gone.delete(name);
    }
  }

  #noteLost(name: string, atMs: number): void {
    this.lostMs.set(name, [...(this.lostMs.get(name) ?? []), atMs]);
  }

  /** Takes the exchange's own values of accounts, which are as it computes them from what it stored. */
  #takeValues(
    { wallet, values, atMs }: Observation & { readonly kind: "portfolio" },
    committedMs: number,
  ): readonly string[] {
    this.version++;
    return values.flatMap(({ pdaIndex, subaccount, ofMs, valueUsd }) => {
      const name = `${wallet}/${pdaIndex}.${subaccount}`;
      this.daemon.equity.compare(name, ofMs, valueUsd, atMs);
      // Of a quarter that is not over the exchange tells the present; a clock that is ahead takes it for the end.
      if (ofMs > committedMs) return [];
      const shares = this.#parts.valuesOff(wallet, committedMs - this.#recentMs, committedMs);
      const truths = this.#valuesAt(name, ofMs).flatMap((usd) =>
        [0, ...shares].map((share) => usd * (1 + share)),
      );
      if (truths.length === 0) return [];
      const is = truths.some((usd) => Math.abs(usd - valueUsd) <= 1e-6 * Math.abs(usd) + 2e-6);
      return is
        ? []
        : [
            `value of ${name} at ${new Date(ofMs).toISOString()}: ${valueUsd}, true is ${truths.join(" or ")}`,
          ];
    });
  }

  /**
   * The exchange values spot collateral of the past at the mark. What it does at the end of an hour is noted here when somebody
   * asks it next. Marks of that very millisecond may be from before or after it.
   */
  #valuesAt(name: string, ms: number): readonly number[] {
    return [ms - 1, ms, ms + 1].flatMap((markMs) => {
      const prices = [...this.#truth.markets].flatMap(([symbol, states]) => {
        const ticks = at(states, markMs)?.markTicks;
        return ticks === undefined ? [] : [[symbol, { markTicks: ticks, oracleTicks: ticks }] as const];
      });
      return between(this.#truth.accounts.get(name) ?? [], ms, ms + notedMs).flatMap(
        (account) => this.#parts.margins.of(account, new Map(prices))?.equity ?? [],
      );
    });
  }

  #takePrice(
    {
      symbol,
      markPriceUsd,
      oraclePriceUsd,
      exchangeMs,
      statedFundingRate,
    }: (Observation & { readonly kind: "prices" })["markets"][number],
    atMs: number,
  ): readonly string[] {
    const rules = this.#truth.rules.get(symbol);
    if (!rules) return [`there is no market ${symbol}`];
    const ticks = (usd: number) => Math.round(usd / tickUsd(rules));
    const price = { markTicks: ticks(markPriceUsd), oracleTicks: ticks(oraclePriceUsd) };
    const before = this.prices.get(symbol);
    if (before?.markTicks !== price.markTicks || before.oracleTicks !== price.oracleTicks) this.version++;
    this.prices.set(symbol, price);
    if (this.markets.state(symbol, statedFundingRate)) this.version++;
    const knownMs = this.#pricedMs.get(symbol) ?? exchangeMs;
    this.#pricedMs.set(symbol, exchangeMs);
    if (exchangeMs - (exchangeMs % secondMs) < knownMs - (knownMs % secondMs))
      return [`price of ${symbol} goes back from ${timeOf(knownMs)} to ${timeOf(exchangeMs)}`];
    const states = between(
      this.#truth.markets.get(symbol)!,
      exchangeMs - secondMs,
      Math.min(atMs, exchangeMs + secondMs),
    );
    return this.#wasTrue(
      `mark of ${symbol}`,
      `${price.markTicks} of ${new Date(exchangeMs).toISOString()}`,
      states.some(({ markTicks }) => markTicks === price.markTicks)
        ? [`${price.markTicks} of ${new Date(exchangeMs).toISOString()}`]
        : states.map(({ markTicks }) => String(markTicks)),
    );
  }

  #wasTrue(what: string, seen: string, truths: readonly string[]): readonly string[] {
    return truths.includes(seen) ? [] : [`${what}: ${seen}, true is ${[...new Set(truths)].join(", then ")}`];
  }
}

/** Keeps an event by its wallet and key. */
function keep(known: Map<string, Map<string, Event>>, event: Event): void {
  const wallet = event.wallet ?? "";
  known.set(wallet, (known.get(wallet) ?? new Map<string, Event>()).set(event.key, event));
}

/** The longest time that an answer without a time of its own may be under way, ms. */
const recentMs = 61_000;
/** Somebody asks the exchange within this, ms. */
const notedMs = 5_000;

function holdsNothing({ collateral, spot, positions, orders }: AccountTruth): boolean {
  return collateral === 0n && spot === 0n && positions.length === 0 && orders.length === 0;
}

/** True if a position of an account is smaller in a later state, or on the other side. */
export function lostSome(before: AccountTruth, after: AccountTruth): boolean {
  const lotsOf = (symbol: string): bigint =>
    after.positions.find((one) => one.symbol === symbol)?.baseLots ?? 0n;
  return before.positions.some(({ symbol, baseLots }) =>
    baseLots > 0n ? lotsOf(symbol) < baseLots : lotsOf(symbol) > baseLots,
  );
}

function differences(truth: AccountTruth, state: SubaccountState): readonly string[] {
  const wrong: string[] = [];
  const compare = (what: string, seen: unknown, is: unknown) => {
    if (String(seen) !== String(is)) wrong.push(`${what} ${seen}, true is ${is}`);
  };
  compare("collateral", state.collateralQuoteLots, truth.collateral);
  // A change of the stream tells of them only where it is one of them.
  if (Object.keys(state.capabilities).length > 0) {
    compare("state", state.lifecycle, truth.state);
    for (const [name, { immediate, viaColdActivation }] of Object.entries(state.capabilities))
      compare(name, immediate ? "yes" : viaColdActivation ? "viaActivation" : "no", truth.rights[name]);
  }
  compare(
    "spot",
    state.spotCollaterals.reduce((sum, { balance }) => sum + balance, 0n),
    truth.spot,
  );
  const positions = (
    list: readonly {
      symbol: string;
      baseLots: bigint;
      virtualQuoteLots: bigint;
      sequence: string | number;
      funding: bigint;
      stops: readonly string[];
    }[],
  ) =>
    list
      .map(
        (one) =>
          `${one.symbol} ${one.baseLots} for ${one.virtualQuoteLots}, funding ${one.funding}, number ${one.sequence}, ${[...one.stops].sort().join(" ")}`,
      )
      .sort()
      .join("; ");
  compare(
    "positions",
    positions(
      state.positions.map((one) => ({
        ...one,
        funding: one.unsettledFundingQuoteLots,
        stops: one.triggers.map(({ kind, triggerPriceTicks }) => `${kind} ${triggerPriceTicks}`),
      })),
    ),
    positions(
      truth.positions.map((one) => ({
        ...one,
        funding: one.unsettledFunding,
        stops: one.triggers.map(({ kind, ticks }) => `${kind} ${ticks}`),
      })),
    ),
  );
  const orders = (
    list: readonly { symbol: string; sequence: string; side: string; lots: bigint; price: string }[],
  ) =>
    list
      .map(({ symbol, sequence, side, lots, price }) => `${symbol} ${sequence} ${side} ${lots} at ${price}`)
      .sort()
      .join("; ");
  compare(
    "orders",
    orders(
      state.orders
        .filter(({ status, stopLoss }) => status === "active" && !stopLoss)
        .map((one) => ({ ...one, lots: one.remainingLots, price: String(one.priceTicks) })),
    ),
    orders(truth.orders.map((one) => ({ ...one, price: String(one.priceTicks) }))),
  );
  return wrong;
}
