/** Machines, and servers of the exchange, whose clocks are wrong: what the daemon does is by the true time. */
import { Pool } from "undici";
import { describe, expect, test, vi } from "vitest";
import type { HttpDispatcher } from "../../src/exchange/index.ts";
import type { StatusAnswer } from "../../src/web/index.ts";
import { type House, openHouse } from "../support/daemon.ts";

// An upper bound for slow machines: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

const hourMs = 3_600_000;
const jumpMs = 420_000;
const holding = { collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" };

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

/** Ways in which seven minutes are gone, or seem to be. */
const jumps: readonly (readonly [string, (house: House) => unknown])[] = [
  ["a machine's clock that is set ahead", ({ clock }) => clock.setWall(clock.nowMs() + jumpMs)],
  ["a machine's clock that is set back", ({ clock }) => clock.setWall(clock.nowMs() - jumpMs)],
  [
    "a machine that sleeps",
    (house) => {
      house.clock.setWall(house.clock.nowMs() + jumpMs);
      return house.call("advance", { ms: jumpMs });
    },
  ],
  ["a process that is stopped", ({ clock }) => clock.standStill(jumpMs)],
  ["an exchange whose clock is set ahead", (house) => house.call("advance", { ms: jumpMs })],
];

/** The daemon at the schedules of a configuration that names none. */
async function usual(): Promise<House> {
  const house = await openHouse({ wallets: ["main", "hedge"] });
  await house.hold(holding);
  await house.start({ schedules: {} });
  await house.clock.advance(60_000);
  return house;
}

/** Alerts about missing data that fire. */
const noData = (house: House) => {
  const ofIt = house.log.filter(({ rule }) => rule === "Blind" || rule === "ExchangeUnreachable");
  const ended = new Set(ofIt.filter(({ msg }) => msg.startsWith("resolved:")).map(({ alert }) => alert));
  return ofIt.filter(({ alert }) => !ended.has(alert)).map(({ msg }) => msg);
};

/** Lets nothing be read from now on. @returns seconds until the alert about it */
async function unread(house: House, meanwhile: () => unknown = () => {}): Promise<number> {
  await house.call("fault", { path: "/v1/*", drop: "request" });
  await meanwhile();
  const fromMs = house.clock.elapsedMs();
  await house.clock.until(() => noData(house).length > 0, 120_000);
  return (house.clock.elapsedMs() - fromMs) / 1_000;
}

/** Seconds from an outage to its alert where no clock jumps. */
let usually: number | undefined;

describe.each(jumps)("7 min of %s, at the usual schedules:", (name, jump) => {
  test("are told as not watched where nobody watched, and what is read again is not reported as missing", async () => {
    await using house = await usual();
    const fromMs = house.clock.nowMs();
    await jump(house);
    await house.clock.advance(60_000);
    const told = house.chats(/I was not watching/).map((chat) => JSON.stringify(chat));
    const isLost = name === "a machine that sleeps" || name === "a process that is stopped";
    expect(told).toHaveLength(isLost ? 1 : 0);
    if (isLost) {
      const [, from, lasted] = /watching from \S+ (\S+) UTC to \S+ UTC \(7m( \ds)?\)/.exec(told[0]!)!;
      expect([-1, 0].map((s) => new Date(fromMs + s * 1_000).toISOString().slice(11, 19))).toContain(from);
      expect([undefined, " 1s", " 2s", " 3s"]).toContain(lasted);
      expect(told[0]).toContain("Open positions then");
    }
    await house.clock.advance(240_000);
    expect(house.log.filter(({ rule }) => rule === "Blind")).toEqual([]);
  });

  test("an outage that begins meanwhile, and one that follows, are reported as soon as another one", async () => {
    usually ??= await (async () => {
      await using calm = await usual();
      return await unread(calm);
    })();
    await using house = await usual();
    expect(await unread(house, () => jump(house))).toBeLessThanOrEqual(usually);
    house.simulator.faults.clear();
    await house.clock.advance(420_000);
    expect(noData(house)).toEqual([]);
    expect(Math.abs((await unread(house)) - usually)).toBeLessThan(5);
  });

  test("nobody is reminded of a critical alert whose condition ended meanwhile", async () => {
    await using house = await usual();
    await house.bring("SOL", 0.03);
    await house.clock.advance(240_000);
    await house.call("mark-price", { symbol: "SOL", price: "150" });
    await jump(house);
    await house.clock.advance(120_000);
    const told = house.log.flatMap(({ msg }) => /^(\w+): main: SOL long is .* from liq/.exec(msg)?.[1] ?? []);
    expect(told).toEqual(["firing", "resolved"]);
  });
});

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

test("a machine 3 h fast signs in nobody and watches on: one alert names the difference, until the clock is set", async () => {
  await using house = await openHouse({ signerHasClock: true, wallets: ["main", "hedge"] });
  await house.hold(holding);
  house.clock.setWall(house.clock.nowMs() + 3 * hourMs);
  const { daemon } = await house.start();
  await house.clock.advance(20_000);
  const told = () => house.headlines().filter((line) => /No wallet signs in/.test(line));
  expect(told()).toEqual([expect.stringContaining("differ by 3h (this machine's is ahead)")]);
  expect(daemon.status().watch.wallets.map(({ signedIn }) => signedIn)).toEqual([false, false]);
  await house.bring("SOL", 0.03);
  await house.clock.advance(5_000);
  expect(house.chats(/SOL long is 3% from liquidation/)).toHaveLength(1);
  // Ten minutes on, no wallet has an alert of its own for it.
  await house.clock.advance(600_000);
  expect(house.headlines().filter((line) => /No data/.test(line))).toEqual([]);
  house.clock.setWall(house.clock.nowMs() - 3 * hourMs);
  await house.clock.advance(120_000);
  expect(daemon.status().watch.wallets.map(({ signedIn }) => signedIn)).toEqual([true, true]);
  expect(house.chats(/RESOLVED: Wallets sign the exchange's login text again/)).toHaveLength(1);
  expect(told().filter((line) => !/STILL/.test(line))).toHaveLength(1);
});

test("an exchange whose time creeps away gets no login signed beyond 5 min: one alert names the difference, until it is right", async () => {
  await using house = await openHouse({ signerHasClock: true, wallets: ["main", "hedge"] });
  await house.hold(holding);
  let creptMs = 240_000;
  const { daemon } = await house.start({}, undefined, { dispatcher: withDates(house, () => creptMs) });
  const signed = () => house.log.filter(({ msg }) => msg === "signed a login text").length;
  const signedIn = () => daemon.status().watch.wallets.map((wallet) => wallet.signedIn);
  const creep = async (seconds: number, stepMs: number) => {
    for (let second = 0; second < seconds; second++) {
      creptMs += stepMs;
      await house.clock.advance(1_000);
    }
  };
  await creep(20, 1_000);
  expect([signed(), signedIn()]).toEqual([2, [true, true]]);
  await creep(80, 1_500);
  // The daemon's own time has followed, step by step.
  expect((await nowOf(house)) - house.clock.nowMs()).toBeGreaterThan(330_000);
  for (const { authority } of house.simulator.traders)
    await house.call("session", { authority, action: "revoke" });
  await creep(60, 0);
  expect([signed(), signedIn()]).toEqual([2, [false, false]]);
  const told = () =>
    house.headlines().filter((line) => /No wallet signs in|a login is not signed/.test(line));
  expect(told().filter((line) => !/STILL/.test(line))).toEqual([
    expect.stringMatching(/differ by 6m.* \(this machine's is behind\)/),
  ]);
  expect(house.log.filter(({ rule }) => rule === "ClockOff")).not.toEqual([]);
  creptMs = 0;
  await house.clock.advance(150_000);
  expect(signedIn()).toEqual([true, true]);
  expect(house.chats(/RESOLVED: Wallets sign the exchange's login text again/)).toHaveLength(1);
});

describe("a wallet's first start", () => {
  /** An exchange an hour into its day, with a deposit in the past, and a machine whose clock is ahead of its. */
  async function opened(fastMs: number): Promise<House> {
    const house = await openHouse();
    await house.hold(holding);
    await house.call("advance", { ms: hourMs });
    house.clock.setWall(house.clock.nowMs() + hourMs + fastMs);
    return house;
  }

  /** Events stored, those of the past and those that rules were judged for. */
  const stored = (house: House) =>
    house.read(async (store) => {
      const events = [
        ...(await store.events({ kind: "collateral" })),
        ...(await store.events({ kind: "liquidation" })),
      ];
      const kinds = (past: boolean) =>
        events.filter(({ backfilled }) => backfilled === past).map(({ kind }) => kind);
      return { past: new Set(kinds(true)), news: new Set(kinds(false)) };
    });

  const liquidate = async (house: House): Promise<void> => {
    await house.bring("SOL", -0.01);
    await house.clock.advance(15_000);
  };

  const right = () => 0;
  test.each<[string, number, number, (n: number) => number]>([
    // Columns: case, the machine ahead of the exchange, ms, the first answer's delay, ms, error of an answer's time.
    ["on a machine whose clock is right", 0, 0, right],
    ["on a machine 3 h fast, with answers at once", 3 * hourMs, 0, right],
    ["on a machine 3 h fast, with late answers", 3 * hourMs, 2_000, right],
    ["on a machine 3 h slow, with late answers", -3 * hourMs, 2_000, right],
    ["with a first answer 20 h ahead", 0, 1_000, (n) => (n === 0 ? 20 * hourMs : 0)],
    [
      "with a first answer 3 h behind, on a machine 3 h fast",
      3 * hourMs,
      1_000,
      (n) => (n === 0 ? -3 * hourMs : 0),
    ],
  ])(
    "%s: what happens is reported, and what has happened is not",
    async (_name, fastMs, delayMs, wrongMs) => {
      await using house = await opened(fastMs);
      if (delayMs > 0) await house.call("fault", { path: "/v1/view/exchange/status", times: 1, delayMs });
      await house.start({}, undefined, { dispatcher: withDates(house, wrongMs) });
      await house.clock.advance(15_000);
      await liquidate(house);
      expect(await stored(house)).toEqual({ past: new Set(["collateral"]), news: new Set(["liquidation"]) });
      expect(house.chats(/liquidated/i)).not.toEqual([]);
    },
  );

  test("that saw no answer, on a machine 3 h fast, silences nothing after the next start", async () => {
    await using house = await opened(3 * hourMs);
    await house.call("fault", { path: "/v1/*", drop: "request" });
    const first = await house.start();
    await house.clock.advance(15_000);
    await first.stop();
    house.simulator.faults.clear();
    await house.start();
    await house.clock.advance(15_000);
    await liquidate(house);
    expect(await stored(house)).toEqual({ past: new Set(["collateral"]), news: new Set(["liquidation"]) });
    expect(house.chats(/liquidated/i)).not.toEqual([]);
  });

  test("that saw no answer for two minutes, on a machine 3 h fast: what happened meanwhile is reported", async () => {
    await using house = await opened(3 * hourMs);
    await house.call("fault", { path: "/v1/*", drop: "request" });
    await house.start();
    await house.clock.advance(60_000);
    await house.bring("SOL", -0.01);
    await house.clock.advance(60_000);
    house.simulator.faults.clear();
    await house.clock.advance(90_000);
    expect(await stored(house)).toEqual({ past: new Set(["collateral"]), news: new Set(["liquidation"]) });
    expect(house.chats(/liquidated/i)).not.toEqual([]);
  });
});
