/** Opening hours. The simulated commodities trade around the clock, and say so. */
import { createHash } from "node:crypto";
import type { Handlers } from "../../contract/index.ts";
import type { World } from "../state.ts";
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
const transition = (world: World) => ({
  loadedAt: iso(world.startMs),
  utcNextTransition: null,
  nextMarketState: null,
  currentState: "open",
});

function calendarMarket(world: World, symbol: string): string {
  const { spec } = marketOf(world, symbol);
  if (!spec.commodity) throw new NotFound(`Market has no calendar: ${symbol}`);
  return spec.symbol;
}

export const calendarAnswers = {
  nextMarketCalendarTransition: ({ symbol }, { world }) => {
    const { marketCalendarId, calendarUri } = common(world);
    return { market: calendarMarket(world, symbol), marketCalendarId, calendarUri, ...transition(world) };
  },
  nextCommodityMarketTransition: (_args, { world }) => ({ market: id, ...transition(world) }),
  marketCalendar: ({ symbol }, { world }) => ({ market: calendarMarket(world, symbol), ...common(world) }),
  marketCalendarById: ({ marketCalendarId }, { world }) => {
    if (marketCalendarId !== id) throw new NotFound(`Calendar not found: ${marketCalendarId}`);
    return { ...common(world), s3Path: `calendars/${id}.json`, updatedAt: iso(world.startMs) };
  },
  commodityCalendar: (_args, { world }) => ({ market: id, loadedAt: iso(world.startMs), rawJson, calendar }),
} satisfies Partial<Handlers<Context>>;
