/**
 * Control calls: what tests and demonstrations do to the world. No part of the contract; only a simulator that listens
 * on loopback takes them. Each call answers after all that follows at that instant has happened.
 */
import { ticksNearest } from "../../contract/index.ts";
import { moveExternally } from "../accounts/collateral.ts";
import { noteMoment } from "../accounts/history.ts";
import { announce, eventNotification, tell } from "../accounts/inbox.ts";
import { setTriggers, triggerFor } from "../accounts/orders.ts";
import type { Trigger } from "../accounts/position.ts";
import { spotDecimals, spotMarket } from "../accounts/spot.ts";
import { setPosition, settleFunding } from "../accounts/trade.ts";
import { parseDecimal, scaledRound, usdDecimals } from "../decimals.ts";
import { usualEventData } from "../event-data.ts";
import { noteHolder, transact } from "../ledger/transaction.ts";
import { placeOrder } from "../markets/book.ts";
import { setMark } from "../markets/prices.ts";
import { beginTwap, workTwaps } from "../markets/twap.ts";
import type { Account, Market, Wallet, World } from "../state.ts";
import { accountTruth, truth } from "../truth.ts";
import { follow, openAccount } from "../world.ts";
import { sessionNow } from "./answers/calendars.ts";
import {
  BadCall,
  type ControlBody as Body,
  type ControlCall,
  controlBodies,
  controlCalls,
} from "./control-bodies.ts";
import type { Faults } from "./faults.ts";
import type { ControlRequest } from "./http.ts";
import { plainWords } from "./plain-words.ts";
import { errorReply, type Reply } from "./reply.ts";
import type { RequestLog } from "./request-log.ts";
import type { Sessions } from "./sessions.ts";

export interface ControlParts {
  readonly world: World;
  readonly sessions: Sessions;
  readonly faults: Faults;
  readonly log: RequestLog;
  /** Moves simulated time and lets the world live through it. */
  readonly advance: (ms: number) => void;
  /** Makes a wallet: with a key of its own, or watch-only when an authority is given. */
  readonly newTrader: (name: string | undefined, authority: string | undefined) => object;
}

export interface Control {
  /** @throws {BadCall} */
  call(name: string, body: unknown): unknown;
  answer(request: ControlRequest): Promise<Reply>;
}

type Calls = { readonly [C in ControlCall]: (body: Body<C>) => unknown };

export function createControl(parts: ControlParts): Control {
  const { world, sessions, faults, log } = parts;

  const calls: Calls = {
    advance: ({ ms }) => {
      parts.advance(ms);
      return { nowMs: world.nowMs };
    },
    "mark-price": (body) => {
      const market = marketNamed(world, body.symbol);
      market.held = body.hold;
      const oracle = body.oraclePrice ?? body.price;
      if (oracle !== undefined) {
        market.oracleTicks = ticksOf(market, oracle, "oraclePrice");
        market.oracle = market.oracleTicks;
      }
      if (body.price !== undefined) {
        market.bookBasis = 0;
        market.perpBasis = 0;
        setMark(world, market, ticksOf(market, body.price, "price"));
        noteMoment(market, world.nowMs);
        follow(world, [market]);
      }
      return truth(world, undefined).markets.find((it) => it.symbol === market.spec.symbol);
    },
    "funding-rate": ({ symbol, ratePercentage }) => {
      const market = marketNamed(world, symbol);
      market.pinnedRate = ratePercentage === null ? null : Number(ratePercentage) / 100;
      return { symbol: market.spec.symbol, ratePercentage };
    },
    market: ({ symbol, status, session, nextTransitionMs }) => {
      const market = marketNamed(world, symbol);
      if (status !== undefined) market.status = status;
      if (session !== undefined || nextTransitionMs !== undefined) {
        if (!market.spec.commodity)
          throw new BadCall(`symbol: ${symbol} has no sessions: it is no commodity`);
        const now = sessionNow(market, world.nowMs);
        const nextMs =
          nextTransitionMs === undefined ? null : nextTransitionMs && world.nowMs + nextTransitionMs;
        market.session = { state: session ?? now.state, nextMs };
      }
      world.exchangeSequence += 1;
      return { symbol: market.spec.symbol, status: market.status, session: market.session };
    },
    position: (body) => {
      const it = accountFor(body);
      const market = marketNamed(world, body.symbol);
      setPositionTo(it, market, body);
      follow(world, [market]);
      return accountTruth(world, it);
    },
    collateral: (body) => {
      const it = accountFor(body);
      const amount = lotsOf(body.amount, usdDecimals, "amount");
      transact(world, (tx) => moveExternally(world, tx, it, amount - it.collateral));
      follow(world, []);
      return accountTruth(world, it);
    },
    "spot-collateral": (body) => {
      if (body.subaccountIndex !== 0) throw new BadCall("subaccountIndex: spot collateral stands in 0 only");
      const it = accountFor(body);
      const balance = lotsOf(body.balance, spotDecimals, "balance");
      if (balance < 0n) throw new BadCall("balance: must not be negative");
      it.spot = balance;
      const market = world.markets.get(spotMarket);
      if (market) noteHolder(market, it);
      transact(world, (tx) => void tx.touch(it));
      follow(world, []);
      return accountTruth(world, it);
    },
    order: (body) => {
      const it = accountFor(body);
      const market = marketNamed(world, body.symbol);
      const lots = lotsOf(body.size, market.spec.baseLotsDecimals, "size");
      if (lots <= 0n) throw new BadCall("size: must be above 0");
      const priceTicks = ticksOf(market, body.price, "price");
      const { side, reduceOnly, restedMs } = body;
      const order = transact(world, (tx) =>
        placeOrder(tx, market, it, { side, priceTicks, lots, reduceOnly, restedMs }),
      );
      follow(world, [market]);
      return { orderSequenceNumber: order.sequence, status: order.status };
    },
    rights: (body) => {
      const it = accountFor(body);
      it.lostRights = new Set(body.lost);
      transact(world, (tx) => {
        tx.touch(it).rights = true;
      });
      return { lost: body.lost };
    },
    twap: (body) => {
      const it = accountFor(body);
      const market = marketNamed(world, body.symbol);
      const lots = lotsOf(body.size, market.spec.baseLotsDecimals, "size");
      if (lots < BigInt(body.parts)) throw new BadCall("size: must be one lot a part at least");
      isolation(it, market);
      const { id } = beginTwap(world, market, it, { ...body, lots });
      follow(world, [], () => workTwaps(world));
      return { parentTwapId: id };
    },
    notification: (body) => {
      const { notificationType, title, source } = body;
      const data = body.data ?? null;
      const letter = { notificationType, title, body: body.body, data };
      if (source === "admin") return { id: announce(world, letter) };
      if (source === "general") return { id: tell(world, walletFor(body), letter) };
      const it = accountFor(body);
      const id = world.nextNotificationId;
      transact(world, (tx) =>
        eventNotification(world, tx, it, tx.next(), notificationType, {
          data:
            typeof data === "object" && data !== null
              ? (data as Record<string, unknown>)
              : usualEventData(world, it, notificationType),
          details: body.details ?? null,
        }),
      );
      return { id };
    },
    session: (body) => sessions.force(walletFor(body).authority, body.action),
    role: (body) => {
      const { authority } = walletFor(body);
      sessions.setRole(authority, body.role);
      return { authority, role: body.role };
    },
    exchange: (body) => {
      for (const name of ["active", "gated", "withdrawalsAvailable"] as const) {
        const value = body[name];
        if (value !== undefined) world.exchange[name] = value;
      }
      world.exchangeSequence += 1;
      return world.exchange;
    },
    fault: (body) =>
      faults.add({
        path: body.path,
        method: body.method ?? null,
        times: body.times ?? null,
        status: body.status ?? null,
        error: body.error ?? null,
        delayMs: body.delayMs,
        retryAfter: body.retryAfter ?? null,
        body: body.body,
        drop: body.drop === true ? "request" : body.drop === false ? null : (body.drop ?? null),
        omit: body.omit,
        set: body.set,
      }),
    trader: ({ name, authority }) => parts.newTrader(name, authority),
  };

  /** The account takes size and entry; the house takes what that leaves, at the same value. */
  function setPositionTo(it: Account, market: Market, body: Body<"position">): void {
    const { symbol, baseLotsDecimals } = market.spec;
    const lots = lotsOf(body.size, baseLotsDecimals, "size");
    if (lots !== 0n) isolation(it, market);
    const old = it.positions.get(symbol);
    const entry = body.entryPrice ?? undefined;
    const quote =
      entry === undefined
        ? -lots * BigInt(market.markTicks) * market.tickSize
        : scaledRound(
            -lots * lotsOf(entry, priceDecimals(market), "entryPrice"),
            usdDecimals - priceDecimals(market) - baseLotsDecimals,
          );
    const triggers: Trigger[] = [];
    if (lots !== 0n) {
      for (const [kind, price] of [
        ["stopLoss", body.stopLossPrice],
        ["takeProfit", body.takeProfitPrice],
      ] as const) {
        if (price !== undefined)
          triggers.push(triggerFor(kind, lots, ticksOf(market, price, `${kind}Price`)));
      }
    }
    transact(world, (tx) => {
      const { house } = world;
      settleFunding(tx, market, it);
      settleFunding(tx, market, house);
      const held = house.positions.get(symbol);
      const houseLots = (held?.baseLots ?? 0n) - (lots - (old?.baseLots ?? 0n));
      const houseQuote = (held?.virtualQuoteLots ?? 0n) - (quote - (old?.virtualQuoteLots ?? 0n));
      setPosition(tx, market, house, houseLots, houseQuote);
      if (lots === 0n && old) old.virtualQuoteLots = 0n;
      setPosition(tx, market, it, lots, lots === 0n ? 0n : quote);
      if (triggers.length > 0) setTriggers(tx, market, it, triggers);
    });
  }

  function walletFor(body: { authority?: string | undefined; trader?: string | undefined }): Wallet {
    for (const wallet of world.wallets.values()) {
      if (body.authority !== undefined ? wallet.authority === body.authority : wallet.name === body.trader) {
        return wallet;
      }
    }
    if (body.authority === undefined && body.trader === undefined) {
      throw new BadCall("authority: required (or trader, the trader's name)");
    }
    throw new BadCall(`no such trader: ${body.authority ?? body.trader}; POST /sim/trader makes one`);
  }

  function accountFor(
    body: Pick<Body<"collateral">, "authority" | "trader" | "pdaIndex" | "subaccountIndex">,
  ) {
    return openAccount(world, walletFor(body), body.pdaIndex, body.subaccountIndex);
  }

  function call(name: string, raw: unknown): unknown {
    if (!Object.hasOwn(controlBodies, name)) {
      throw new BadCall(`no such control call: ${name}; there are ${controlCalls.join(", ")}`);
    }
    const which = name as ControlCall;
    const parsed = controlBodies[which].safeParse(raw ?? {}, { error: plainWords });
    if (!parsed.success) {
      throw new BadCall(
        parsed.error.issues.map((it) => `${it.path.join(".") || "the body"}: ${it.message}`).join("; "),
      );
    }
    return (calls[which] as (body: unknown) => unknown)(parsed.data);
  }

  async function answer(request: ControlRequest): Promise<Reply> {
    const { method, path, query, body } = request;
    const name = path.slice("/sim/".length);
    const ok = (value: unknown): Reply => ({ status: 200, text: JSON.stringify(value ?? {}) });
    if (name === "state") {
      return method === "GET" ? ok(truth(world, query.get("authority") ?? undefined)) : other("GET");
    }
    if (name === "requests") {
      if (method === "GET") return ok(log.query(query.get("path") ?? undefined));
      if (method !== "DELETE") return other("GET, DELETE");
      log.clear();
      return ok({});
    }
    if (name === "fault" && method === "GET") return ok(faults.list());
    if (name === "fault" && method === "DELETE") {
      faults.clear();
      return ok([]);
    }
    if (!Object.hasOwn(controlBodies, name)) return errorReply(404, `No such control call: ${name}`);
    if (method !== "POST") return other(name === "fault" ? "GET, POST, DELETE" : "POST");
    try {
      return ok(await call(name, body));
    } catch (error) {
      if (error instanceof BadCall) return errorReply(400, error.message);
      throw error;
    }
  }

  return { call, answer };
}

const other = (allow: string): Reply => errorReply(405, "Not possible here", { Allow: allow });

function marketNamed(world: World, symbol: string): Market {
  const market = world.markets.get(symbol.toUpperCase());
  if (!market)
    throw new BadCall(`no such market: ${symbol}; there are ${[...world.markets.keys()].join(", ")}`);
  return market;
}

function lotsOf(text: string, decimals: number, name: string): bigint {
  const value = parseDecimal(text, decimals);
  if (value === undefined)
    throw new BadCall(`${name}: must be a decimal with at most ${decimals} fractional digits`);
  return value;
}

/** Fractional digits that a price of the market may have: a tick may be smaller than a micro-dollar. */
const priceDecimals = ({ spec }: Market): number => usdDecimals + Math.max(0, -spec.baseLotsDecimals);

/** @throws {BadCall} where the account cannot hold a position in the market */
function isolation(it: Account, { spec: { symbol, isolatedOnly } }: Market): void {
  if (isolatedOnly && it.subaccount === 0)
    throw new BadCall(`${symbol} is held in isolated subaccounts only: give a subaccountIndex above 0`);
  if (it.subaccount > 0 && [...it.positions.keys()].some((held) => held !== symbol))
    throw new BadCall(`an isolated subaccount holds one position: close the other one first`);
}

/** The nearest tick to a price in USD. */
function ticksOf(market: Market, price: string, name: string): number {
  lotsOf(price, priceDecimals(market), name);
  const ticks = Number(ticksNearest(price, market.spec));
  if (ticks < 1 || ticks > 2 ** 32 - 1) throw new BadCall(`${name}: out of range`);
  return ticks;
}
