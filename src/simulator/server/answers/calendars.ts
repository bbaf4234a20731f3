/** Trading hours. The simulated commodities trade around the clock until a control call sets their session. */
import { createHash } from "node:crypto";
import type { Handlers } from "../../../contract/index.ts";
import type { Market, World } from "../../state.ts";
import { type Context, iso, marketOf, NotFound } from "./context.ts";

const id = "simulated_commodities";
const days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const allDay = { start: "00:00", end: "24:00" };
const calendar = {
  weeklySchedule: Object.fromEntries(
    days.map((day) => [
      day,
      { sessions: [{ ...allDay, mode: "EXTERNAL" }], activeHours: [allDay], inactiveHours: [] },
    ]),
  ),
  dateOverrides: {},
};
const rawJson = JSON.stringify(calendar);

const common = (world: World) => ({
  marketCalendarId: id,
  kind: "commodity",
  description: "Commodities of the simulator: always open",
  calendarUri: `https://example.com/calendars/${id}.json`,
  contentSha256: createHash("sha256").update(rawJson).digest("hex"),
  rawJson,
  loadedAt: iso(world.startMs),
  calendar,
});
const other = { open: "afterHours", afterHours: "open" } as const;

/** The state of a market's session at a time. */
export function sessionNow({ session }: Market, nowMs: number): Market["session"] {
  if (session.nextMs === null || nowMs < session.nextMs) return session;
  return { state: other[session.state], nextMs: null };
}

/**
 * Prices in ticks between which a commodity trades after hours: 1 / maximum leverage around the last oracle price. Null
 * in session.
 */
export function executionBand(
  market: Market,
  nowMs: number,
): { readonly min: number; readonly max: number } | null {
  if (!market.spec.commodity || sessionNow(market, nowMs).state === "open") return null;
  const radius = market.oracleTicks / market.spec.leverageTiers[0]!.maxLeverage;
  return { min: Math.ceil(market.oracleTicks - radius), max: Math.floor(market.oracleTicks + radius) };
}

function transition(world: World, market: Market | undefined) {
  const { state, nextMs } = market
    ? sessionNow(market, world.nowMs)
    : ({ state: "open", nextMs: null } as const);
  return {
    loadedAt: iso(world.startMs),
    utcNextTransition: nextMs === null ? null : iso(nextMs),
    nextMarketState: nextMs === null ? null : other[state],
    currentState: state,
  };
}

function calendarMarket(world: World, symbol: string): Market {
  const market = marketOf(world, symbol);
  if (!market.spec.commodity) throw new NotFound(`Market has no calendar: ${symbol}`);
  return market;
}

export const calendarAnswers = {
  nextMarketCalendarTransition: ({ symbol }, { world }) => {
    const { marketCalendarId, calendarUri } = common(world);
    const market = calendarMarket(world, symbol);
    return {
      market: market.spec.symbol,
      marketCalendarId,
      calendarUri,
      ...transition(world, market),
    };
  },
  nextCommodityMarketTransition: (_args, { world }) => {
    const market = [...world.markets.values()].find(({ spec }) => spec.commodity);
    return { market: id, ...transition(world, market) };
  },
  marketCalendar: ({ symbol }, { world }) => ({
    market: calendarMarket(world, symbol).spec.symbol,
    ...common(world),
  }),
  marketCalendarById: ({ marketCalendarId }, { world }) => {
    if (marketCalendarId !== id) throw new NotFound(`Calendar not found: ${marketCalendarId}`);
    return { ...common(world), s3Path: `calendars/${id}.json`, updatedAt: iso(world.startMs) };
  },
  commodityCalendar: (_args, { world }) => ({ market: id, loadedAt: iso(world.startMs), rawJson, calendar }),
} satisfies Partial<Handlers<Context>>;
