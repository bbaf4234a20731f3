/** Events at the exchange that the shipped rules tell of, with what a message about each has to say. */
import type { Alert } from "../../../src/domain/alerts/alert.ts";
import type { Liquidation, Market, Notification, Wallet, World } from "../../../src/simulator/state.ts";
import { isWhale } from "../names.ts";
import type { Outcome } from "../scenario.ts";
import type { Rows } from "./details.ts";
import { type Claim, claimsOf, money, type Text } from "./predicate.ts";

/** The parts of an alert by which it is known what it tells of. */
export type EventPublisher = Pick<Alert, "subject" | "eventKey" | "summary">;

export interface Happened {
  readonly rule: string;
  /** Null: of the exchange. */
  readonly wallet: string | null;
  /** Subject of its alert. */
  readonly subject: string;
  /** True wall time, ms. */
  readonly atMs: number;
  /** It is an observation of the daemon's that tells of it: word of it is committed with that. */
  readonly isObserved?: boolean;
  /** For people. */
  readonly what: string;
  /** True if an alert tells of it. @param happenedMs as the alert has it */
  readonly isIn: (alert: EventPublisher, happenedMs: number | null) => boolean;
  readonly claims: (text: Text) => readonly Claim[];
  /** Its lines of context; left out: it has none. */
  readonly rows?: Rows;
}

/** Rules of notifications, by type. */
export const ruleOfType: Readonly<Record<string, string>> = {
  spot_collateral_liquidation: "SpotCollateralLiquidated",
  risk_engine_cancel_order: "OrderCancelledByRiskEngine",
  stop_loss_executed: "StopLossExecuted",
  conditional_order_executed: "StopLossExecuted",
  order_filled: "OrderFilled",
  stop_loss_order_placed: "StopLossPlaced",
};

const units = (lots: bigint, decimals: number): number => Math.abs(Number(lots)) / 10 ** decimals;

/** USD from which a stranger's position is large, where nothing else is said. */
const usuallyAbove = 100_000;

/** Times of notifications are whole seconds. */
const secondMs = 1_000;

export function happenedIn({ plan, simulator, log }: Outcome): readonly Happened[] {
  const { world } = simulator;
  const found: Happened[] = [];
  const keys = new Map<string, string>();
  const announced = new Set<number>();
  for (const { notifications } of log.of("ledger"))
    for (const one of notifications) keys.set(`${one.wallet} ${one.id}`, one.key);
  for (const wallet of world.wallets.values()) {
    const terms = plan.world.wallets.find(({ name }) => name === wallet.name);
    if (!terms) continue;
    if (isWhale(terms))
      found.push(...whaleLiquidations(wallet, world, terms.limits?.whaleAbove ?? usuallyAbove));
    else found.push(...withdrawals(wallet), ...liquidations(wallet, world));
    // Nobody can read the inbox of another's wallet.
    if (terms.watchOnly) continue;
    for (const one of wallet.notifications.all()) {
      const key = keys.get(`${wallet.name} ${one.id}`);
      const event = key === undefined ? null : notified(wallet, one, key, world);
      // An announcement to all is one, whoever reads it.
      if (!event || (one.source === "admin" && announced.has(one.id))) continue;
      if (one.source === "admin") announced.add(one.id);
      found.push(event);
    }
  }
  return found.filter(({ subject }) => isRead(plan.world.wallets, subject)).sort((a, b) => a.atMs - b.atMs);
}

/** A configuration may name the PDA indices that are read. */
function isRead(wallets: Outcome["plan"]["world"]["wallets"], subject: string): boolean {
  const [name, place] = subject.split("/");
  const { pdaIndices } = wallets.find((one) => one.name === name)!;
  return place === undefined || pdaIndices.length === 1 || pdaIndices.includes(Number(place.split(".")[0]));
}

/** USD of a tick. */
const tickOf = ({ spec }: Market): number => (spec.tickSize * 10 ** spec.baseLotsDecimals) / 1e6;

function sideOf(detail: Liquidation["detail"]): string | undefined {
  return detail.kind === "market_order" ? detail.side.toLowerCase() : undefined;
}

/** As titles have it. */
function partOf(detail: Liquidation["detail"]): string | undefined {
  return detail.kind === "market_order" ? (detail.positionClosed ? "" : " in part") : undefined;
}

/** The change of collateral of the account that it happened to, USD; undefined: nobody tells it. */
function costOf(role: Liquidation["role"], detail: Liquidation["detail"]): number | undefined {
  if (detail.kind === "market_order") return undefined;
  if (detail.kind === "backstop") return Number(detail.liquidateeChange) / 1e6;
  return Number(role === "adl_in_profit" ? detail.inProfitChange : detail.atLossChange) / 1e6;
}

/** @param quote USD @param tick USD */
function rowsOf(
  role: Liquidation["role"],
  detail: Liquidation["detail"],
  size: number,
  quote: number,
  tick: number,
): Rows {
  return {
    Side: [sideOf(detail)],
    Size: [size],
    Price: [detail.kind === "backstop" ? undefined : quote / size, tick / 2],
    Notional: [quote],
    "Collateral change": [costOf(role, detail)],
  };
}

function withdrawals({ name, authority, collateral }: Wallet): readonly Happened[] {
  return collateral
    .all()
    .flatMap(({ type, amount, collateralAfter, atMs, account, ...place }): Happened[] => {
      const [out, left] = [Number(amount) / 1e6, Number(collateralAfter) / 1e6];
      if (type !== "withdrawal" || out < 100 || !(out > 0.25 * (left + out))) return [];
      const { pdaIndex, subaccount } = account;
      const { slot, slotIndex, eventIndex } = place;
      return [
        {
          rule: "UnusualWithdrawal",
          wallet: name,
          subject: `${name}/${pdaIndex}.${subaccount}`,
          atMs,
          what: `withdrawal of ${out}`,
          isIn: ({ eventKey }) =>
            eventKey ===
            `collateral:collateral:${authority}:${pdaIndex}:${subaccount}:${slot}:${slotIndex}:${eventIndex}`,
          rows: { Amount: [-out] },
          claims: (text) =>
            claimsOf(text, [
              ["amount", new RegExp(`${money} withdrawn`), out],
              ["left", new RegExp(`${money} of collateral left`), left],
            ]),
        },
      ];
    });
}

function liquidations(
  { name, liquidations: all }: Wallet,
  { markets }: Outcome["simulator"]["world"],
): readonly Happened[] {
  return all.all().flatMap(({ account, symbol, role, detail, atMs }): Happened[] => {
    // The caller of a deleveraging lost nothing.
    if (account === null || role === "adl_caller") return [];
    const market = markets.get(symbol)!;
    const size = units(detail.lots, market.spec.baseLotsDecimals);
    const quote = Math.abs(Number(detail.kind === "adl" ? detail.closeValue : detail.quoteLots)) / 1e6;
    const position = `${name}/${account.pdaIndex}.${account.subaccount}/${symbol}`;
    return [
      {
        rule: detail.kind === "adl" ? "AutoDeleveraged" : "Liquidated",
        wallet: name,
        subject: position,
        atMs,
        what: `${role} of ${size} ${symbol}`,
        // The inbox and the history name it in ways of their own.
        isIn: ({ subject }, happenedMs) =>
          position.startsWith(subject) &&
          happenedMs !== null &&
          (happenedMs === atMs || happenedMs === Math.floor(atMs / secondMs) * secondMs),
        rows: rowsOf(role, detail, size, quote, tickOf(market)),
        claims: (text) =>
          claimsOf(text, [
            ["notional", new RegExp(`LIQUIDATED \\S+(?: long| short)?(?: in part)?, ${money}`), quote],
            ["notional", new RegExp(`auto-deleveraged: \\S+ \\w+ \\(${money}\\)`), quote],
            ["symbol", /LIQUIDATED (\w+)/, symbol],
            ["symbol", /: (\w+)(?: long| short)?\s+auto-deleveraged/, symbol],
            ["symbol", /auto-deleveraged: \S+ (\w+)/, symbol],
            ["side", /LIQUIDATED \w+ (long|short)/, sideOf(detail)],
            ["size", /auto-deleveraged: ([\d,.]*\d)/, size],
            ["part", /LIQUIDATED \w+(?: long| short)?( in part)/, partOf(detail)],
            [
              "price",
              new RegExp(`LIQUIDATED.*, \\S+ at ${money}`),
              detail.kind === "backstop" ? undefined : quote / size,
              tickOf(market) / 2,
            ],
            [
              "rest",
              /(the position is closed|a part of the position is left)/,
              detail.kind === "market_order"
                ? detail.positionClosed
                  ? "the position is closed"
                  : "a part of the position is left"
                : undefined,
            ],
          ]),
      },
    ];
  });
}

/** @param above USD from which those of a stranger are told of */
function whaleLiquidations(
  { name, authority, liquidations: all }: Wallet,
  { markets }: World,
  above: number,
): readonly Happened[] {
  return all.all().flatMap(({ account, symbol, role, detail, atMs, ...place }): Happened[] => {
    if (account === null || role === "adl_caller") return [];
    const { spec } = markets.get(symbol)!;
    const tick = (spec.tickSize * 10 ** spec.baseLotsDecimals) / 1e6;
    const isAdl = detail.kind === "adl";
    const size = units(detail.lots, spec.baseLotsDecimals);
    const quote = Math.abs(Number(detail.kind === "adl" ? detail.closeValue : detail.quoteLots)) / 1e6;
    if (quote <= above) return [];
    const { slot, slotIndex, eventIndex } = place;
    const part = role === "adl_in_profit" ? "adl_counterparty" : "liquidatee";
    const key = `liquidation:${authority}:${slot}:${slotIndex}:${eventIndex}:${part}`;
    return [
      {
        rule: "WhaleLiquidated",
        wallet: name,
        subject: `${name}/${account.pdaIndex}.${account.subaccount}/${symbol}`,
        atMs,
        what: `${role} of ${size} ${symbol} for ${quote}`,
        isIn: ({ eventKey }) => eventKey === `liquidation:${key}`,
        rows: rowsOf(role, detail, size, quote, tick),
        claims: (text) => [
          {
            name: "what happened",
            text: /was (\S+) in ([^\s,]+)/.exec(text.summary)?.slice(1).join(" ") ?? text.summary,
            among: [`${isAdl ? "auto-deleveraged" : "liquidated"} ${symbol}`],
          },
          ...claimsOf(text, [
            ["notional", new RegExp(`, ${money}`), quote],
            ["price", new RegExp(` at ${money}`), quote / size, tick / 2],
          ]),
        ],
      },
    ];
  });
}

function notified({ name }: Wallet, one: Notification, key: string, { markets }: World): Happened | null {
  const { source, notificationType, createdMs, account, id } = one;
  const rule = source === "event" ? ruleOfType[notificationType] : "Announcement";
  if (rule === undefined) return null;
  const place = account ? `/${account.pdaIndex}.${account.subaccount}` : "";
  return {
    rule,
    wallet: name,
    subject: `${name}${place}`,
    atMs: createdMs,
    what: notificationType,
    isIn: ({ eventKey }) =>
      source === "admin"
        ? new RegExp(`^notification:notification:admin:.*:${id}$`).test(eventKey ?? "")
        : eventKey === `notification:${key}`,
    ...(source === "event" && { rows: orderRows(one, markets) }),
    claims: (text) => claimsOf(text, source === "event" ? figuresOf(one, markets) : wordsOf(one)),
  };
}

/** An order as a notification tells of it; undefined: its market is none of those of now. */
function orderOf({ data, account, notificationType }: Notification, markets: World["markets"]) {
  const fields = (data ?? {}) as Readonly<Record<string, string>>;
  const { symbol, side, baseLotsFilled, baseLotsReleased, quoteLotsFilled = 0, priceInTicks } = fields;
  const market = markets.get(symbol ?? "");
  if (!market || !account) return undefined;
  const size = units(BigInt(baseLotsFilled ?? baseLotsReleased ?? 0), market.spec.baseLotsDecimals);
  const price =
    notificationType === "risk_engine_cancel_order"
      ? Number(priceInTicks) * tickOf(market)
      : size > 0
        ? Math.abs(Number(quoteLotsFilled)) / 1e6 / size
        : undefined;
  return { symbol: symbol!, account, isBid: side === "bid", size, price, room: tickOf(market) / 2 };
}

function orderRows(one: Notification, markets: World["markets"]): Rows {
  const order = orderOf(one, markets);
  const side = order && (order.isBid ? "buy" : "sell");
  return {
    Side: [side],
    Size: [order?.size],
    Price: [order?.price, order?.room ?? 0],
    Notional: [undefined],
  };
}

type Figures = Parameters<typeof claimsOf>[1];

/** Titles and texts of announcements are told as they are. */
const wordsOf = ({ title, body }: Notification): Figures => [
  ["title", /^The exchange says: (.*)$/, title ?? ""],
  ["body", /^(?!The exchange )(.+)$/s, body ?? ""],
];

function figuresOf(one: Notification, markets: World["markets"]): Figures {
  const order = orderOf(one, markets);
  if (!order) return [];
  const { symbol, account, isBid, size, price, room } = order;
  const trigger = String(one.details?.triggerType ?? "stop or take profit").replace("_", " ");
  return [
    ["trigger", /: a ([\w ]+) was executed/, trigger],
    ["symbol", /(?:executed|placed|order) in (\w+)/, symbol],
    ["symbol", /(?:[Bb]ought|[Ss]old) [\d.,]+ (?!at )(\w+)/, symbol],
    ["side", /: (bought|sold) /, isBid ? "bought" : "sold"],
    ["size", /(?:[Bb]ought|[Ss]old) ([\d,.]*\d)/, size],
    // Printed to the tick.
    ["price", new RegExp(` at ${money}`), price, room],
    [
      "account",
      /cancelled to free margin: (\S+) fell/,
      `${account.wallet.name}/${account.pdaIndex}.${account.subaccount}`,
    ],
  ];
}
