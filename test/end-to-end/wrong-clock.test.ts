/** Machines, and servers of the exchange, whose clocks are wrong: what the daemon does is by the true time. */
import { Pool } from "undici";
import { expect, test, vi } from "vitest";
import type { StatusAnswer } from "../../src/dashboard/index.ts";
import type { HttpDispatcher } from "../../src/exchange/index.ts";
import { type House, openHouse } from "../support/daemon.ts";

// An upper bound for slow machines: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

const hourMs = 3_600_000;
const holding = { collateral: "5000", symbol: "SOL", size: "10", entryPrice: "150" };

/** Carries requests to the house's exchange. @param wrongMs added to the `Date` of the nth answer */
function withDates({ simulator }: House, wrongMs: (n: number) => number): HttpDispatcher {
  const pool = new Pool(simulator.url);
  let answers = 0;
  return {
    dispatch: (options, handler) =>
      pool.dispatch(options, {
        onRequestStart: (...args) => handler.onRequestStart?.(...args),
        onResponseStart(controller, status, headers, message) {
          const date = new Date(Date.parse(String(headers.date)) + wrongMs(answers++)).toUTCString();
          handler.onResponseStart?.(controller, status, { ...headers, date }, message);
        },
        onResponseData: (...args) => handler.onResponseData?.(...args),
        onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
        onResponseError: (...args) => handler.onResponseError?.(...args),
      }),
    destroy: () => pool.destroy(),
  };
}

const nowOf = async (house: House): Promise<number> =>
  ((await house.ask("GET", "/api/v1/status")) as StatusAnswer).nowMs;

test.each([
  ["the first answer", 0, (n: number) => (n === 0 ? 20 * hourMs : 0)],
  ["the first answer, on a machine that is fast,", 3 * hourMs, (n: number) => (n === 0 ? 20 * hourMs : 0)],
  ["each fourth answer", 0, (n: number) => (n % 4 === 0 ? hourMs : 0)],
  ["a server that all requests go to for 20 s", 0, (n: number) => (n > 30 && n < 60 ? hourMs : 0)],
])("%s with a wrong time moves the daemon's clock by nothing", async (_name, fastMs, wrongMs) => {
  await using house = await openHouse();
  await house.hold(holding);
  const trueMs = () => house.clock.nowMs() - fastMs;
  house.clock.setWall(house.clock.nowMs() + fastMs);
  await house.start({}, undefined, { dispatcher: withDates(house, wrongMs) });
  for (let n = 0; n < 30; n++) {
    expect(Math.abs((await nowOf(house)) - trueMs())).toBeLessThan(1_500);
    await house.clock.advance(2_000);
  }
});

test("a wrong first answer that no second one contradicts in time moves the daemon's clock by nothing", async () => {
  await using house = await openHouse();
  await house.hold(holding);
  await house.call("fault", { path: "/v1/view/exchange/status", delayMs: 1_000 });
  await house.start({}, undefined, { dispatcher: withDates(house, (n) => (n === 0 ? 20 * hourMs : 0)) });
  await house.clock.advance(10_000);
  expect(Math.abs((await nowOf(house)) - house.clock.nowMs())).toBeLessThan(1_500);
});

test.each([
  ["is set ahead", 2 * hourMs, 0],
  ["goes on after a sleep", 2 * hourMs, 2 * hourMs],
])(
  "a machine's clock that %s moves the daemon's to the true time within 3 s",
  async (_name, wallMs, sleptMs) => {
    await using house = await openHouse();
    await house.hold(holding);
    await house.start();
    await house.clock.advance(30_000);
    const beforeMs = house.clock.nowMs();
    house.clock.setWall(beforeMs + wallMs);
    if (sleptMs > 0) await house.call("advance", { ms: sleptMs });
    await house.clock.advance(3_000);
    expect(Math.abs((await nowOf(house)) - (beforeMs + sleptMs + 3_000))).toBeLessThan(1_500);
  },
);

test("ages in the status, and times of silences, are by the corrected clock", async () => {
  await using house = await openHouse();
  const behindMs = 5_400_000;
  await house.call("advance", { ms: behindMs });
  await house.hold({ collateral: "5000", symbol: "SOL", size: "10", entryPrice: "150" });
  await house.start();
  await house.clock.advance(30_000);
  const { nowMs, startedMs, schedules } = (await house.ask("GET", "/api/v1/status")) as StatusAnswer;
  expect(Math.abs(nowMs - house.clock.nowMs() - behindMs)).toBeLessThan(5_000);
  expect(nowMs - startedMs).toBeGreaterThan(25_000);
  const { lastOkMs } = schedules.find(({ source }) => source === "traderState")!;
  expect(lastOkMs).toBeLessThanOrEqual(nowMs);
  expect(await house.ask("GET", "/api/v1/silences")).toMatchObject({ nowMs });
});
