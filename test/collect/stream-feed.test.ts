/** The stream beside the polls: real sockets, a line in between that loses, doubles and turns frames round. */
import { describe, expect, test } from "vitest";
import { type FrameFilter, FrameLine } from "../support/frame-line.ts";
import { SlowLine } from "../support/slow-line.ts";
import { Rig } from "./rig.ts";
import { StreamRig, seldom } from "./stream-rig.ts";

/** A filter for changes of trader states; everything else passes. */
const deltas =
  (act: (text: string, n: number, forward: (text: string) => void) => void): FrameFilter =>
  (text, forward) => {
    if (!text.includes('"messageType":"delta"')) forward(text);
    else act(text, seen++, forward);
  };
let seen = 0;

describe("between polls a minute apart", () => {
  test("prices, accounts and the status come at once, of just what they tell", async () => {
    await using own = await StreamRig.start();
    const asked = own.rig.asked("/v1/*");
    await own.mark(151.5);
    expect(await own.until("the mark", () => own.marks(true).includes(151.5))).toBeLessThanOrEqual(500);
    const prices = own.booted.of("prices").filter((one) => one.live);
    expect(prices.at(-1)!.markets.map((row) => row.symbol)).toEqual(["SOL"]);
    await own.deposit(12_345);
    expect(
      await own.until("the deposit", () => own.cross.collateral === 12_345_000_000n),
    ).toBeLessThanOrEqual(500);
    expect(own.booted.of("accounts").at(-1)).toMatchObject({ told: [0], wallet: "main", pdaIndex: 0 });
    expect(own.rig.asked("/v1/*")).toBe(asked);
    await own.rig.call("exchange", { gated: true });
    await own.until("the status", () => own.booted.of("exchangeStatus").at(-1)?.gated === true, 500);
    own.expectForward();
  });

  test("a market that is told of all the time is observed at its newest, once for all that came together", async () => {
    await using own = await StreamRig.start();
    const before = own.booted.of("prices").length;
    for (let i = 1; i <= 400; i++) {
      await own.mark(150 + i / 100);
      if (i % 4 === 0) await own.pass(50);
    }
    await own.until("the last", () => own.marks(true).at(-1) === 154, 2_000);
    const observed = own.booted.of("prices").length - before;
    // 100 groups of four: the first of a group at once, the others after the pause.
    expect(observed).toBeGreaterThan(90);
    expect(observed).toBeLessThanOrEqual(210);
  });

  test("while nothing can be stored, what comes waits as its newest state and nothing more", async () => {
    await using own = await StreamRig.start();
    let free = () => {};
    const held = new Promise<void>((resolve) => {
      free = resolve;
    });
    let waiting = 0;
    own.rig.observe = () => {
      waiting++;
      return held;
    };
    for (let i = 1; i <= 200; i++) {
      await own.mark(150 + i / 100);
      await own.deposit(10_000 + i);
      if (i % 10 === 0) await own.pass(50);
    }
    // One handing on is under way, its price and its account, and maybe a poll: not the 400 that happened.
    expect(waiting).toBeLessThanOrEqual(5);
    free();
    own.rig.observe = async () => {};
    await own.until(
      "the newest",
      () => own.marks(true).at(-1) === 152 && own.cross.collateral === 10_200_000_000n,
    );
    own.expectForward();
  });

  test("a notification is told once: by itself, and not again by the inbox, which is read soon after", async () => {
    await using own = await StreamRig.start();
    const inbox = own.rig.asked("/v1/traders/*");
    // The price takes its turn first; the inbox, which the notification asks for, must not be read before the pause ends.
    await own.rig.call("fault", { path: "/v1/traders/*", delayMs: 100 });
    await own.mark(170);
    await own.until("told", () => own.booted.events("notification").length > 0, 500);
    expect(
      own.booted.of("events").find((one) => one.source === "notifications" && one.events.length > 0),
    ).toMatchObject({
      source: "notifications",
      live: true,
    });
    await own.until("the inbox", () => own.rig.asked("/v1/traders/*") > inbox, 1_500);
    await own.pass(2_000);
    const keys = own.booted.events().map(({ kind, key }) => `${kind} ${key}`);
    expect(new Set(keys).size).toBe(keys.length);
    const unacked = own.booted.of("events").findLast((one) => one.unacked !== undefined)!.unacked;
    expect(unacked).toBe(own.booted.events("notification").length);
  });

  test("of a liquidation that cannot be read in it the inbox tells, which is asked at once", async () => {
    await using own = await StreamRig.start();
    const { authority } = own;
    own.line.through = (text, forward) =>
      forward(text.replace(/"(?:baseLotsFilled|baseLotsClosed|baseLotsTransferred)":"[^"]*"/g, '"torn":{}'));
    await own.rig.call("collateral", { authority, amount: "1000" });
    await own.rig.call("position", { authority, symbol: "SOL", size: "50", entryPrice: "150" });
    await own.mark(142);
    await own.until("told", () => own.booted.events("liquidation").length > 0, 3_000);
    const items = own.booted.events("notification").flatMap(({ inbox }) => inbox ?? []);
    const liquidations = items.filter(({ notificationType }) => notificationType === "liquidation");
    expect(liquidations).not.toEqual([]);
    expect(liquidations.filter(({ liquidationKey }) => liquidationKey === null)).toEqual([]);
  });

  test("of a sale of collateral that cannot be read in it the inbox tells, which is asked at once", async () => {
    await using own = await StreamRig.start();
    own.line.through = (text, forward) =>
      forward(text.replace(/"liquidationSize":"[^"]*"/g, '"liquidationSize":{}'));
    const { authority } = own;
    const notificationType = "spot_collateral_liquidation";
    await own.rig.call("notification", { authority, source: "event", notificationType });
    await own.until("told", () => own.booted.events("notification").length > 0, 3_000);
    expect(own.booted.events("notification")).toMatchObject([
      { data: { liquidationSize: expect.any(String) } },
    ]);
  });

  test("a sale of collateral that cannot be read in it is told as it is where the inbox is not read either", async () => {
    await using own = await StreamRig.start();
    own.line.through = (text, forward) =>
      forward(text.replace(/"liquidationSize":"[^"]*"/g, '"liquidationSize":{}'));
    await own.rig.call("fault", { path: "/v1/traders/*", status: 503 });
    const { authority } = own;
    const notificationType = "spot_collateral_liquidation";
    await own.rig.call("notification", { authority, source: "event", notificationType });
    await own.pass(44_000);
    expect(own.booted.events("notification")).toEqual([]);
    await own.until("told", () => own.booted.events("notification").length > 0, 2_000);
    own.rig.simulator.faults.clear();
    await own.pass(30_000);
    expect(own.booted.events("notification")).toMatchObject([{ data: { liquidationSize: {} } }]);
  });

  test("an inbox that does not show yet what cannot be read in the stream is asked for it again", async () => {
    await using own = await StreamRig.start();
    own.line.through = (text, forward) =>
      forward(text.replace(/"liquidationSize":"[^"]*"/g, '"liquidationSize":{}'));
    await own.rig.call("fault", { path: "/v1/traders/*", set: { items: [] } });
    const { authority } = own;
    const notificationType = "spot_collateral_liquidation";
    await own.rig.call("notification", { authority, source: "event", notificationType });
    await own.pass(5_000);
    own.rig.simulator.faults.clear();
    await own.until("told", () => own.booted.events("notification").length > 0, 15_000);
    expect(own.booted.events("notification")).toMatchObject([
      { data: { liquidationSize: expect.any(String) } },
    ]);
  });

  test("a pause of a market is read as soon as the stream tells that something changed", async () => {
    await using own = await StreamRig.start();
    const status = () =>
      own.booted
        .of("marketConfig")
        .at(-1)
        ?.markets.find(({ symbol }) => symbol === "SOL")?.status;
    await own.rig.call("market", { symbol: "SOL", status: "paused" });
    expect(await own.until("paused", () => status() === "paused")).toBeLessThanOrEqual(2_000);
    await own.rig.call("market", { symbol: "SOL", status: "active" });
    expect(await own.until("active", () => status() === "active")).toBeLessThanOrEqual(7_000);
    const asked = own.rig.asked("/v1/view/exchange/markets");
    await own.rig.call("exchange", { gated: true });
    await own.pass(8_000);
    expect(own.rig.asked("/v1/view/exchange/markets")).toBe(asked);
  });

  test("an announcement, whose id may not last, is told by the inbox, at once", async () => {
    await using own = await StreamRig.start();
    await own.rig.call("notification", { source: "admin", notificationType: "admin", title: "T", body: "B" });
    await own.until("told", () => own.booted.events("notification").length > 0, 3_000);
    await own.pass(1_000);
    expect(own.booted.events("notification")).toHaveLength(1);
    expect(own.booted.of("events").find((one) => one.events.length > 0)!.live).toBeUndefined();
  });

  test("the inbox is read seldom while its notifications come by themselves, and as usual when they do not", async () => {
    await using own = await StreamRig.start({
      schedules: { ...seldom, notifications: { every: "5s", whenStreaming: "1m" } },
    });
    const asked = () => own.rig.asked("/v1/traders/*");
    await own.pass(6_000);
    const from = asked();
    await own.pass(30_000);
    expect(asked() - from).toBeLessThanOrEqual(1);
    await own.rig.call("fault", { path: "/v1/ws", status: 503 });
    await own.line[Symbol.asyncDispose]();
    await own.pass(20_000);
    expect(asked() - from).toBeGreaterThanOrEqual(4);
    expect(own.booted.log.filter((one) => one.message.includes("not connected")).length).toBe(2);
  });
});

describe("frames that are lost, doubled and turned round", () => {
  test("a lost change shows at the next one, and is made up for over HTTP", async () => {
    await using own = await StreamRig.start();
    const first = seen;
    own.line.through = deltas((text, n, forward) => {
      if (n !== first) forward(text);
    });
    await own.deposit(9_000);
    await own.pass(1_000);
    expect(own.cross).not.toEqual(own.truth);
    const asked = own.rig.asked("/v1/trader/state/*");
    await own.rig.call("position", {
      authority: own.authority,
      symbol: "ETH",
      size: "1",
      entryPrice: "3000",
    });
    await own.until("asked", () => own.rig.asked("/v1/trader/state/*") > asked, 1_500);
    await own.until("the truth", () => own.cross.sequence === own.truth.sequence, 1_500);
    expect(own.cross).toEqual(own.truth);
    own.expectForward();
  });

  test("one that nothing follows is found by the polls, counted, and the subscription begun anew", async () => {
    await using own = await StreamRig.start({ schedules: { ...seldom, traderState: { every: "5s" } } });
    let snapshots = 0;
    const swallow = deltas(() => {});
    own.line.through = (text, forward) => {
      if (text.includes('"messageType":"snapshot"')) snapshots++;
      swallow(text, forward);
    };
    await own.deposit(9_000);
    await own.until("the poll", () => own.cross.collateral === 9_000_000_000n, 6_000);
    await own.until("counted", () => own.booted.collectors.streams()!.missed === 1, 6_000);
    expect(own.booted.log.filter((one) => one.message.includes("left out a change"))).toHaveLength(1);
    await own.until("a snapshot anew", () => snapshots === 1, 1_000);
    own.line.through = (text, forward) => forward(text);
    await own.deposit(9_500);
    await own.until("streamed again", () => own.cross.collateral === 9_500_000_000n, 1_000);
    await own.pass(11_000);
    expect(own.booted.collectors.streams()!.missed).toBe(1);
    own.expectForward();
  });

  test("doubled and turned round, changes lead to the truth and never back", async () => {
    await using own = await StreamRig.start();
    let back: (() => void) | null = null;
    own.line.through = deltas((text, n, forward) => {
      if (n % 3 === 0) {
        back = () => forward(text);
        return;
      }
      forward(text);
      forward(text);
      back?.();
      back = null;
    });
    for (let i = 1; i <= 30; i++) {
      await own.deposit(9_000 + i);
      await own.pass(100);
    }
    own.line.through = (text, forward) => forward(text);
    await own.deposit(9_900);
    await own.until("the truth", () => own.cross.sequence === own.truth.sequence, 7_000);
    expect(own.cross).toEqual(own.truth);
    own.expectForward();
  });

  test("a frame that cannot be read is counted, told with channel and field, and its account is asked for", async () => {
    await using own = await StreamRig.start();
    const first = seen;
    own.line.through = deltas((text, n, forward) =>
      forward(n === first ? text.replace(/"sequence":\d+/, '"sequence":"many"') : text),
    );
    await own.deposit(9_000);
    await own.until("the truth all the same", () => own.cross.collateral === 9_000_000_000n, 2_000);
    expect(own.booted.collectors.figures().badRecords).toBe(1);
    expect(own.booted.log.map((one) => one.message).join("\n")).toMatch(
      /stream traderState.*deltas\[0\]\.sequence/,
    );
    expect(own.booted.kept.map((one) => one.endpoint)).toEqual(["stream traderState"]);
  });

  test.each([
    ["far", 9_999_999_999],
    ["near", 10],
  ])("a price from the %s future holds back none of those that follow", async (_how, ahead) => {
    await using own = await StreamRig.start();
    let spoiled = false;
    own.line.through = (text, forward) => {
      if (spoiled || !text.includes('"channel":"marketStatsV2"')) return forward(text);
      spoiled = true;
      forward(text.replace(/"timestamp":(\d+)/, (_all, now) => `"timestamp":${Number(now) + ahead}`));
    };
    await own.mark(151);
    // What is lost with it is asked for.
    await own.until("151 over HTTP", () => own.marks().includes(151), 2_000);
    expect(own.marks(true)).not.toContain(151);
    await own.mark(152);
    await own.until("the next", () => own.marks(true).at(-1) === 152, 1_000);
  });

  test("before the list of markets was answered, a price that is ahead of our clock is no bad record", async () => {
    let told = 0;
    let line: FrameLine | undefined;
    await using rig = await Rig.start({
      schedules: seldom,
      streams: async (url) => {
        line = await FrameLine.to(url);
        line.through = (text, forward) => {
          if (text.includes('"channel":"marketStatsV2","stats"')) told++;
          forward(text.replace(/"timestamp":(\d+)/g, (_all, now) => `"timestamp":${Number(now) + 11}`));
        };
        return line.url;
      },
    });
    await rig.call("fault", { path: "/v1/view/exchange/markets", status: 503 });
    const { collectors } = await rig.boot();
    await using _line = line!;
    for (let passed = 0; passed < 5_000 || told === 0; passed += 50) {
      await rig.clock.advance(50);
      await new Promise((next) => setTimeout(next, 1));
    }
    expect(collectors.figures().badRecords).toBe(0);
  });

  test("each change of the exchange's status is told, however soon the next one comes", async () => {
    await using own = await StreamRig.start();
    const from = own.booted.of("exchangeStatus").length;
    const held: (() => void)[] = [];
    own.line.through = (text, forward) => {
      if (text.includes('"exchangeStatus"')) held.push(() => forward(text));
      else forward(text);
    };
    for (const gated of [true, false, true]) {
      await own.rig.call("exchange", { gated });
      await own.pass(500);
    }
    const told = () => own.booted.of("exchangeStatus").slice(from);
    const polled = told().length;
    expect(held.length).toBe(3);
    for (const forward of held) forward();
    await own.until("all three", () => told().length >= polled + 3, 2_000);
    const live = told().slice(polled, polled + 3);
    expect(live.map((one) => one.gated)).toEqual([true, false, true]);
    // What happens at one moment would be taken for one event.
    expect(new Set(live.map((one) => one.atMs)).size).toBe(3);
  });

  test("accounts of others are none of ours", async () => {
    await using own = await StreamRig.start();
    own.line.through = deltas((text, _n, forward) =>
      forward(text.replaceAll(own.authority, "CkXEUDLBWDUB13JT3QhE6yovoR1A3n5MsREkbqm58JxM")),
    );
    const before = own.booted.of("accounts").length;
    await own.deposit(9_000);
    await own.pass(1_000);
    expect(own.booted.of("accounts").length).toBe(before);
  });
});

describe("polls and the stream", () => {
  test("an answer that was long under way takes nothing back", async () => {
    let slow: SlowLine | undefined;
    await using own = await StreamRig.start({
      schedules: {
        ...seldom,
        traderState: { every: "5s" },
        markets: { every: "5s" },
        exchangeStatus: { every: "5s" },
      },
      line: async (url, clock) => {
        slow = await SlowLine.to(url, clock);
        return slow.url;
      },
    });
    await using line = slow!;
    line.delayMs = 2_000;
    const from = own.marks().length;
    for (let i = 1; i <= 40; i++) {
      await own.deposit(9_000 + i);
      await own.mark(152 + i / 10);
      await own.pass(500);
    }
    // Something changes while an answer that does not know of it is under way.
    const asked = own.rig.asked("/v1/view/exchange/status");
    await own.until("a question", () => own.rig.asked("/v1/view/exchange/status") > asked, 6_000);
    await own.rig.call("exchange", { gated: true });
    await own.pass(3_000);
    line.delayMs = 0;
    await own.pass(8_000);
    own.expectForward();
    const marks = own.marks().slice(from);
    const rises = marks.slice(marks.indexOf(152.1));
    expect(rises).toEqual([...rises].sort((a, b) => a - b));
    expect(own.cross).toEqual(own.truth);
    const gated = own.booted.of("exchangeStatus").map((one) => one.gated);
    expect(gated.slice(gated.indexOf(true))).not.toContain(false);
    // Polls went on all the while, and counted as what they are.
    expect(own.booted.of("accounts").filter((one) => one.told === undefined).length).toBeGreaterThanOrEqual(
      4,
    );
  });

  test("after a connection was lost all is told anew and read over HTTP once", async () => {
    await using own = await StreamRig.start();
    await own.pass(12_000);
    const asked = (path: string) => own.rig.asked(path);
    const before = ["/v1/trader/state/*", "/v1/markets/stats/latest", "/v1/traders/*"].map(asked);
    own.line.cut();
    await own.deposit(8_777);
    await own.mark(151);
    await own.until("back", () => own.booted.collectors.streams()!.streams.connected, 5_000);
    await own.until(
      "the truth",
      () => own.cross.collateral === 8_777_000_000n && own.marks().includes(151),
      2_000,
    );
    await own.pass(2_000);
    const after = ["/v1/trader/state/*", "/v1/markets/stats/latest", "/v1/traders/*"].map(asked);
    expect(after.map((count, index) => count - before[index]!)).toEqual([1, 1, expect.any(Number)]);
    expect(after[2]).toBeGreaterThan(before[2]!);
    // Back within seconds, it is not worth a word.
    expect(own.booted.log.filter((one) => one.message.includes("stream"))).toEqual([]);
  });

  test("many wallets are read again one after another, those at risk first", async () => {
    await using own = await StreamRig.start({
      traders: 12,
      requestsPerSecond: 40,
      marginRatio: (wallet) => (wallet === "trader-9" ? 0.7 : 0.1),
    });
    await own.pass(25_000);
    own.line.cut();
    const from = own.rig.asked("/v1/trader/state/*");
    await own.until("back", () => own.booted.collectors.streams()!.streams.common.connected, 5_000);
    const until = own.rig.clock.elapsedMs();
    await own.until("all read", () => own.rig.asked("/v1/trader/state/*") - from >= 12, 10_000);
    const [first] = own.rig.simulator.requests.query("/v1/trader/state/*").requests.slice(from);
    expect(first!.path).toContain(
      own.rig.simulator.traders.find((one) => one.name === "trader-9")!.authority,
    );
    // A quarter of 40 a second.
    expect(own.rig.clock.elapsedMs() - until).toBeGreaterThanOrEqual(900);
  });

  test("a stream that is open and tells nothing while prices move is not believed, and makes nothing fresh", async () => {
    await using own = await StreamRig.start({ schedules: { ...seldom, markets: { every: "5s" } } });
    own.line.through = () => {};
    const live = own.marks(true).length;
    const made = own.line.made;
    for (let i = 1; i <= 13; i++) {
      await own.mark(150 + i / 10);
      await own.pass(5_000);
    }
    expect(own.marks(true).length).toBe(live);
    expect(own.line.made).toBeGreaterThan(made);
    expect(own.marks().at(-1)).toBeCloseTo(151.3);
  });

  test("notifications that it does not tell although it is open are counted, asked for, and polled as without it", async () => {
    await using own = await StreamRig.start({
      schedules: { ...seldom, notifications: { every: "5s", whenStreaming: "30s" } },
    });
    await own.pass(15_000);
    const missed = () => own.booted.collectors.streams()!.missed;
    const subscribed = () =>
      own.line.asked.filter((text) => /"subscribe".*"notifications"/.test(text)).length;
    const polls = async (ms: number) => {
      const before = own.booted.of("events").filter((one) => one.source === "notifications" && !one.live);
      await own.pass(ms);
      const after = own.booted.of("events").filter((one) => one.source === "notifications" && !one.live);
      return after.length - before.length;
    };
    expect(await polls(30_000)).toBeLessThanOrEqual(2);
    const before = subscribed();
    own.line.through = (text, forward) => {
      if (!text.includes('"channel":"notification"')) forward(text);
    };
    await own.mark(170);
    await own.until("found out", () => missed() > 0, 62_000);
    const found = missed();
    expect(found).toBe(own.booted.events("notification").length);
    expect(subscribed()).toBe(before + 1);
    expect(await polls(30_000)).toBeGreaterThanOrEqual(5);
    // Counted once, and said.
    expect(missed()).toBe(found);
    expect(own.booted.log.filter(({ message }) => /did not deliver/.test(message))).toHaveLength(1);
    own.line.through = (text, forward) => forward(text);
    const { authority } = own;
    await own.rig.call("notification", {
      ...{ authority, source: "general", notificationType: "account", body: "x" },
    });
    await own.pass(35_000);
    expect(await polls(60_000)).toBeLessThanOrEqual(3);
    expect(missed()).toBe(found);
  });

  test("where markets stand still, silence is no reason to doubt", async () => {
    await using own = await StreamRig.start({ schedules: { ...seldom, markets: { every: "5s" } } });
    const made = own.line.made;
    await own.pass(100_000);
    expect(own.line.made).toBe(made);
    expect(own.booted.collectors.streams()!.streams.connected).toBe(true);
  });
});
