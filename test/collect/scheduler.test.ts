/** The runs of collectors: beats, deadlines, failures, asks, catching up. The collectors are the test's own. */
import { describe, expect, test } from "vitest";
import type { CollectedWallet, Collector, RunOutcome, WalletRun } from "../../src/collect/collector.ts";
import { Scheduler } from "../../src/collect/schedule/scheduler.ts";
import { scheduleSettings } from "../../src/collect/settings.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import type { Observation } from "../../src/domain/observation.ts";
import type { Source } from "../../src/domain/sources.ts";
import { type ExchangeClient, ExchangeError, lanes } from "../../src/exchange/index.ts";
import { FakeClock } from "../support/clock.ts";

interface Ran {
  readonly atMs: number;
  readonly source: Source;
  readonly wallet: string;
  readonly catchUp: boolean;
  readonly gap: boolean;
  readonly lane: number | undefined;
}

function rig(options: {
  readonly schedules?: object;
  readonly wallets?: number;
  readonly sources?: readonly Source[];
  /** Those whose runs find nothing to ask. */
  readonly idle?: readonly Source[];
  readonly requestsPerSecond?: number;
  readonly ratePerSecond?: () => number;
  readonly run?: (run: WalletRun, source: Source, nth: number) => Promise<RunOutcome>;
  readonly observe?: (observation: Observation) => Promise<void>;
  readonly marginRatio?: (wallet: string) => number | null;
}) {
  const clock = new FakeClock("2026-03-28T12:00:00Z");
  const ran: Ran[] = [];
  const observations: Observation[] = [];
  const log: string[] = [];
  const under = new Map<string, number>();
  let overlaps = 0;
  const collectors = (options.sources ?? ["traderState"]).map(
    (source): Collector => ({
      source,
      scope: "wallet",
      needsSession: false,
      async run(run) {
        const name = `${source} ${run.wallet.name}`;
        const lane = options.idle?.includes(source) ? undefined : run.call().lane;
        ran.push({
          atMs: clock.elapsedMs(),
          source,
          wallet: run.wallet.name,
          catchUp: run.catchUp,
          gap: run.gap,
          lane,
        });
        under.set(name, (under.get(name) ?? 0) + 1);
        if (under.get(name)! > 1) overlaps++;
        try {
          return (await options.run?.(run, source, ran.length)) ?? "done";
        } finally {
          under.set(name, under.get(name)! - 1);
        }
      },
    }),
  );
  const wallets: CollectedWallet[] = Array.from({ length: options.wallets ?? 1 }, (_, i) => ({
    name: `w${i}`,
    authority: "",
    watchOnly: false,
    pdaIndices: [0],
  }));
  const note = (_fields: object, message: string) => void log.push(message);
  const scheduler = new Scheduler({
    client: {} as ExchangeClient,
    collectors,
    wallets,
    settings: scheduleSettings.parse(options.schedules ?? { traderState: { every: "5s" } }),
    requestsPerSecond: options.requestsPerSecond ?? 1_000,
    ratePerSecond: options.ratePerSecond ?? (() => options.requestsPerSecond ?? 1_000),
    clock,
    random: seededRandom(9),
    observe: async (observation) => {
      await options.observe?.(observation);
      observations.push(observation);
    },
    marginRatio: options.marginRatio ?? (() => null),
    accounts: () => 1,
    log: { debug: () => {}, info: note, warn: note },
  });
  scheduler.start();
  return { clock, scheduler, ran, observations, log, overlaps: () => overlaps };
}

const gaps = (ran: readonly Ran[]) => ran.slice(1).map((one, i) => one.atMs - ran[i]!.atMs);
const unreachable = () =>
  new ExchangeError({ endpoint: "x", reason: "unreachable", what: "connection refused" });

describe("beats", () => {
  test("after its first turn each collector runs on its beat, without drift", async () => {
    const { clock, ran } = rig({
      run: (run) => clock.sleep(137).then(() => (run.catchUp ? "done" : "done")),
    });
    await clock.advance(60_000);
    const beats = gaps(ran).slice(1);
    expect(beats.length).toBeGreaterThan(9);
    for (const one of beats) expect(Math.abs(one - 5_000)).toBeLessThanOrEqual(10);
    expect(ran.at(-1)!.atMs - ran[1]!.atMs).toBeCloseTo(beats.length * 5_000, -2);
  });

  test("a run that takes longer than the interval is not overlapped, and holds up nobody else", async () => {
    const { clock, ran, overlaps } = rig({
      schedules: { traderState: { every: "1s" } },
      wallets: 3,
      run: (run) =>
        run.wallet.name === "w0" ? clock.sleep(2_300).then(() => "done" as const) : Promise.resolve("done"),
    });
    await clock.advance(30_000);
    expect(overlaps()).toBe(0);
    const of = (name: string) => ran.filter((one) => one.wallet === name).length;
    expect(of("w0")).toBeGreaterThanOrEqual(9);
    expect(of("w1")).toBeGreaterThanOrEqual(29);
    expect(of("w2")).toBeGreaterThanOrEqual(29);
  });

  test("first turns come within the ceiling, what risk needs first; later ones are spread over the interval", async () => {
    const { clock, ran } = rig({ wallets: 100, sources: ["fills", "traderState"], requestsPerSecond: 200 });
    await clock.advance(1_100);
    const first = ran.filter(
      (one, i) => ran.findIndex((it) => it.source === one.source && it.wallet === one.wallet) === i,
    );
    expect(first.length).toBe(200);
    expect(first.slice(0, 100).every((one) => one.source === "traderState")).toBe(true);
    for (const one of [0, 250, 500, 750]) {
      const inQuarter = first.filter(({ atMs }) => atMs >= one && atMs < one + 250).length;
      expect(inQuarter).toBeLessThanOrEqual(55);
    }
    await clock.advance(60_000);
    const states = ran.filter(
      ({ source, atMs }) => source === "traderState" && atMs > 40_000 && atMs <= 45_000,
    );
    expect(states.length).toBe(100);
    const perTenth = Array.from(
      { length: 10 },
      (_, i) => states.filter(({ atMs }) => Math.ceil((atMs - 40_000) / 500) === i + 1).length,
    );
    expect(Math.max(...perTenth)).toBeLessThan(25);
  });

  test("a wallet at risk is asked at its own interval and in the first lane, as long as it is", async () => {
    let ratio = 0.2;
    const { clock, ran } = rig({
      schedules: { traderState: { every: "5s", atRisk: "1s" } },
      marginRatio: () => ratio,
    });
    await clock.advance(20_000);
    expect(ran.at(-1)!.lane).toBe(lanes.state);
    ratio = 0.6;
    await clock.advance(10_000);
    const before = ran.length;
    await clock.advance(10_000);
    expect(ran.length - before).toBe(10);
    expect(ran.at(-1)!.lane).toBe(lanes.atRisk);
    ratio = 0.4;
    await clock.advance(10_000);
    const calm = ran.length;
    await clock.advance(20_000);
    expect(ran.length - calm).toBe(4);
  });

  test("when less may leave, everything is asked less often, what is urgent the least so; and back", async () => {
    let rate = 100;
    const { clock, ran } = rig({
      schedules: { traderState: { every: "1s" }, fills: { every: "1s" } },
      wallets: 10,
      sources: ["traderState", "fills"],
      requestsPerSecond: 100,
      ratePerSecond: () => rate,
    });
    const during = async (ms: number) => {
      const before = ran.length;
      await clock.advance(ms);
      const of = (source: Source) => ran.slice(before).filter((one) => one.source === source).length;
      return [of("traderState"), of("fills")] as const;
    };
    await during(30_000);
    expect(await during(60_000)).toEqual([600, 600]);
    rate = 10;
    await during(30_000);
    const [states, fills] = await during(600_000);
    expect(states).toBeGreaterThan(3_000);
    expect(states + fills).toBeLessThan(6_000);
    expect(fills).toBeGreaterThan(100);
    rate = 100;
    await during(300_000);
    expect(await during(60_000)).toEqual([600, 600]);
  });

  test("the daemon knows how late it is", async () => {
    const { clock, scheduler } = rig({ run: () => clock.sleep(12_000).then(() => "done") });
    await clock.advance(11_000);
    expect(scheduler.figures().lagMs).toBeGreaterThan(5_500);
    expect(scheduler.status()).toMatchObject([
      { source: "traderState", wallet: "w0", everyMs: 5_000, lastOkMs: null },
    ]);
  });
});

describe("deadlines", () => {
  test("a run that hangs is called off, told, and tried again, even if it does not listen", async () => {
    const { clock, ran, observations, log, scheduler } = rig({ run: () => new Promise(() => {}) });
    await clock.advance(16_000);
    expect(observations).toMatchObject([
      { kind: "failed", source: "traderState", wallet: "w0", reason: "timeout" },
    ]);
    expect(scheduler.figures().failedPolls).toBe(1);
    await clock.advance(10_000);
    expect(ran.length).toBe(2);
    await clock.advance(60_000);
    expect(log).toEqual(["traderState of w0 cannot be read: no answer within 15 s"]);
  });

  test("what a run brings after its deadline is not taken", async () => {
    let late: Error | undefined;
    const { clock, observations } = rig({
      run: async (run) => {
        await clock.sleep(18_000);
        await run.observe({ kind: "prices", atMs: 0, markets: [] }).catch((error: Error) => {
          late = error;
        });
        return "done";
      },
    });
    await clock.advance(19_000);
    expect(late?.message).toBe("the run is over");
    expect(observations.map((one) => one.kind)).toEqual(["failed"]);
  });

  test("storing is no part of the deadline", async () => {
    const { clock, observations, scheduler, log } = rig({
      observe: () => clock.sleep(20_000),
      run: async (run) => {
        await run.observe({ kind: "prices", atMs: 0, markets: [] });
        return "done";
      },
    });
    await clock.advance(21_000);
    expect(observations.map((one) => one.kind)).toEqual(["prices"]);
    // The exchange answered in time: that storing took so long is nothing that is wrong with it.
    expect(scheduler.status()).toMatchObject([{ lastFailure: null, failuresInRow: 0 }]);
    expect(log).toEqual([]);
  });

  test("what a run asks, or brings, after storing went beyond its deadline is not taken", async () => {
    for (const more of ["asks", "brings"] as const) {
      const { clock, observations, scheduler } = rig({
        observe: (observation) => (observation.kind === "failed" ? Promise.resolve() : clock.sleep(20_000)),
        run: async (run) => {
          await run.observe({ kind: "prices", atMs: 0, markets: [] });
          if (more === "asks") expect(run.call().signal?.aborted).toBe(true);
          else await run.observe({ kind: "prices", atMs: 1, markets: [] });
          return "done";
        },
      });
      await clock.advance(21_000);
      expect(observations.map((one) => one.kind)).toEqual(["prices", "failed"]);
      expect(scheduler.status()).toMatchObject([{ lastFailure: { reason: "timeout" } }]);
    }
  });
});

describe("scarcity", () => {
  test("of thousands that are due at once only so many run; the others follow in order, and more urgent lanes do not wait", async () => {
    let running = 0;
    let most = 0;
    const open: (() => void)[] = [];
    const { clock, ran, scheduler } = rig({
      schedules: { fills: { every: "10m" }, traderState: { every: "10m" } },
      wallets: 3_000,
      sources: ["fills", "traderState"],
      requestsPerSecond: 100_000,
      run: async (_run, source) => {
        if (source === "traderState") return "done";
        running++;
        most = Math.max(most, running);
        await new Promise<void>((resolve) => open.push(resolve));
        running--;
        return "done";
      },
    });
    await clock.advance(5_000);
    expect(most).toBe(256);
    const walletsOf = (name: Source) => [
      ...new Set(ran.filter(({ source }) => source === name).map(({ wallet }) => wallet)),
    ];
    expect(walletsOf("traderState")).toHaveLength(3_000);
    while (open.length > 0) {
      for (const end of open.splice(0)) end();
      await clock.settle();
    }
    expect(most).toBe(256);
    expect(walletsOf("fills")).toEqual(Array.from({ length: 3_000 }, (_, i) => `w${i}`));
    await scheduler.stop();
  });

  test("the deadline of a run stands still while it waits for the request budget", async () => {
    const { clock, ran, observations, scheduler } = rig({
      run: async (run, _source, nth) => {
        if (nth > 1) return "done";
        const { onWait, signal } = run.call();
        onWait!(true);
        await clock.sleep(120_000, signal);
        onWait!(false);
        await clock.sleep(4_000, signal);
        return "done";
      },
    });
    await clock.advance(130_000);
    expect(ran.length).toBeGreaterThan(1);
    expect(observations).toEqual([]);
    expect(scheduler.status()[0]!.failuresInRow).toBe(0);
    await scheduler.stop();
  });
});

describe("failures", () => {
  test("a source that fails is tried less and less, but critical ones every 30 s; each trouble is said once", async () => {
    let well = false;
    const { clock, ran, observations, log, scheduler } = rig({
      run: async () => {
        if (!well) throw unreachable();
        return "done";
      },
    });
    await clock.advance(300_000);
    const pauses = gaps(ran);
    expect(pauses[0]).toBeLessThanOrEqual(2_010);
    expect(pauses[1]).toBeGreaterThan(2_000);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(30_010);
    expect(pauses.at(-1)).toBeGreaterThan(20_000);
    expect(observations.filter((one) => one.kind === "failed").length).toBe(ran.length);
    expect(log).toEqual(["traderState of w0 cannot be read: x: connection refused"]);
    expect(scheduler.status()[0]).toMatchObject({
      failuresInRow: ran.length,
      lastFailure: { reason: "unreachable" },
    });

    well = true;
    const before = ran.length;
    await clock.advance(30_010);
    expect(log.length).toBe(2);
    expect(log[1]).toMatch(/^traderState of w0 can be read again, after 5m.* and 1\d failed reads$/);
    expect(ran[before]!.gap).toBe(true);
    await clock.advance(60_000);
    const later = ran.slice(before + 1);
    expect(later.length).toBeGreaterThanOrEqual(12);
    expect(later.every((one) => !one.gap)).toBe(true);
  });

  test("when the exchange is back, all that stayed away for its sake come soon", async () => {
    let well = false;
    const { clock, ran } = rig({
      wallets: 50,
      sources: ["traderState", "fills"],
      run: async () => {
        if (!well) throw unreachable();
        return "done";
      },
    });
    await clock.advance(600_000);
    well = true;
    const sinceMs = clock.elapsedMs();
    await clock.until(() => ran.at(-1)!.atMs > sinceMs);
    const backMs = clock.elapsedMs();
    await clock.advance(2_500);
    const back = ran.filter(({ atMs }) => atMs >= backMs);
    expect(new Set(back.map((one) => `${one.source} ${one.wallet}`)).size).toBe(100);
    // Not at one moment.
    expect(new Set(back.map(({ atMs }) => Math.floor(atMs / 100))).size).toBeGreaterThan(10);
  });

  test("an outage is one line and its end another, whatever was tried; the status knows it as well", async () => {
    let well = true;
    let why = "connect ECONNREFUSED 127.0.0.1:8977";
    const { clock, log, scheduler } = rig({
      wallets: 12,
      sources: ["traderState", "notifications", "fills"],
      run: async (_run, source) => {
        if (!well) throw new ExchangeError({ endpoint: source, reason: "unreachable", what: why });
        return "done";
      },
    });
    await clock.advance(15_000);
    expect(scheduler.outage).toBeNull();
    well = false;
    const atMs = clock.nowMs();
    await clock.advance(300_000);
    expect(log).toEqual([
      expect.stringMatching(
        /^the exchange cannot be reached \(since 12:00:\d\d UTC\): connect ECONNREFUSED 127.0.0.1:8977$/,
      ),
    ]);
    expect(scheduler.outage).toMatchObject({ reason: "unreachable", detail: why });
    expect(scheduler.outage!.sinceMs - atMs).toBeLessThan(5_100);
    expect(scheduler.figures().failingReads).toBe(`everything (${why})`);
    why = "connect ETIMEDOUT";
    await clock.advance(60_000);
    expect(log.length).toBe(1);
    well = true;
    await clock.advance(90_000);
    expect(log.slice(1)).toEqual([expect.stringMatching(/^the exchange is back after 6m/)]);
    expect(scheduler.outage).toBeNull();
  });

  test("what fails is named in words, with the status of the answer", async () => {
    const { clock, scheduler } = rig({
      wallets: 1,
      sources: ["traderState", "notifications"],
      run: async (_run, source) => {
        if (source === "traderState")
          throw new ExchangeError({ endpoint: source, reason: "refused", what: "503" });
        return "done";
      },
    });
    await clock.advance(20_000);
    expect(scheduler.figures().failingReads).toBe("positions and balances of w0 (HTTP 503)");
  });

  test("what fails while others are read says so by itself, and what lasts beyond an outage does so then", async () => {
    let down = false;
    const { clock, log, scheduler } = rig({
      wallets: 3,
      sources: ["traderState", "notifications"],
      run: async (run, source) => {
        if (source === "notifications" && run.wallet.name === "w1")
          throw new ExchangeError({ endpoint: source, reason: "refused", what: "403 insufficient_role" });
        if (down) throw unreachable();
        return "done";
      },
    });
    await clock.advance(20_000);
    expect(scheduler.figures().failingReads).toBe("notifications of w1 (HTTP 403 insufficient_role)");
    // Once, with what to do.
    expect(log).toEqual([
      expect.stringMatching(
        /^notifications of w1 cannot be read: notifications: 403 insufficient_role; .*own wallet.*authority alone$/,
      ),
    ]);
    down = true;
    await clock.advance(60_000);
    expect(log.slice(1)).toEqual([expect.stringMatching(/^the exchange cannot be reached/)]);
    down = false;
    await clock.advance(120_000);
    expect(log.slice(2)).toEqual([expect.stringMatching(/^the exchange is back/)]);
  });

  test("what failed before by itself makes no outage, however seldom the rest is asked", async () => {
    const { clock, log } = rig({
      sources: ["traderState", "notifications", "fills"],
      schedules: { fills: { every: "10m" } },
      run: async (_run, source) => {
        if (source !== "fills") throw new ExchangeError({ endpoint: source, reason: "refused", what: "400" });
        return "done";
      },
    });
    await clock.advance(1_800_000);
    // Taken for an outage until the third is read, and for what it is from then on.
    expect(log.slice(0, 2)).toEqual([
      expect.stringMatching(/^the exchange refuses every request/),
      expect.stringMatching(/^the exchange is back/),
    ]);
    expect(log.slice(2).sort()).toEqual([
      "notifications of w0 cannot be read: notifications: 400",
      "traderState of w0 cannot be read: traderState: 400",
    ]);
  });

  test("a run that had nothing to ask ends no outage", async () => {
    let down = false;
    const { clock, log } = rig({
      sources: ["traderState", "notifications", "pnl"],
      idle: ["pnl"],
      schedules: { pnl: { every: "10s" } },
      run: async (_run, source) => {
        if (down && source !== "pnl") throw unreachable();
        return "done";
      },
    });
    await clock.advance(20_000);
    down = true;
    await clock.advance(120_000);
    expect(log).toEqual([expect.stringMatching(/^the exchange cannot be reached/)]);
  });

  test("one failed read among many good ones is one line", async () => {
    const { clock, log } = rig({
      wallets: 2,
      run: async (_run, _source, nth) => {
        if (nth === 5) throw unreachable();
        return "done";
      },
    });
    await clock.advance(60_000);
    expect(log).toEqual([
      expect.stringMatching(/^traderState of w\d could not be read for [\d.]+m?s: x: connection refused$/),
    ]);
  });

  test("older pages that cannot be read are told once, stand in the status, and are told when they can", async () => {
    let well = false;
    const { clock, log, scheduler } = rig({
      run: async (run) => {
        if (!run.catchUp || well) return well ? "done" : "more";
        throw new ExchangeError({ endpoint: "x", reason: "server-error", what: "500" });
      },
    });
    await clock.advance(120_000);
    expect(log).toEqual(["older traderState of w0 cannot be read: x: 500"]);
    const [status] = scheduler.status();
    expect(status).toMatchObject({
      failuresInRow: 0,
      lastFailure: null,
      catchUpFailure: { reason: "server-error", detail: "x: 500" },
    });
    expect(status!.catchUpFailure!.times).toBeGreaterThan(5);
    well = true;
    await clock.advance(20_000);
    expect(log.slice(1)).toEqual([
      expect.stringMatching(/^older traderState of w0 can be read again, after/),
    ]);
    expect(scheduler.status()[0]!.catchUpFailure).toBeNull();
  });

  test("many wallets with one trouble are three lines and a count", async () => {
    let well = false;
    const { clock, log } = rig({
      wallets: 40,
      run: async () => {
        if (!well) throw unreachable();
        return "done";
      },
    });
    await clock.advance(120_000);
    expect(log.length).toBe(4);
    expect(log[3]).toBe("traderState cannot be read for more than 3 wallets: x: connection refused");
    well = true;
    await clock.advance(60_000);
    expect(log.length).toBe(8);
    expect(log[7]).toBe("traderState can be read again for all wallets");
  });

  test("another reason is said; the wait that the exchange asks for is kept, as far as it is bearable", async () => {
    const errors = [
      new ExchangeError({ endpoint: "x", reason: "rate-limited", what: "429", retryAfterMs: 20_000 }),
      new ExchangeError({ endpoint: "x", reason: "rate-limited", what: "429", retryAfterMs: 600_000 }),
      new ExchangeError({ endpoint: "x", reason: "server-error", what: "503" }),
    ];
    const { clock, ran, log } = rig({
      run: async (_run, _source, nth) => {
        const error = errors[nth - 1];
        if (error) throw error;
        return "done";
      },
    });
    await clock.advance(120_000);
    const pauses = gaps(ran);
    expect(pauses[0]).toBeGreaterThanOrEqual(20_000);
    expect(pauses[1]).toBeGreaterThanOrEqual(29_990);
    expect(pauses[1]).toBeLessThanOrEqual(30_010);
    expect(log).toEqual([
      "traderState of w0 cannot be read: x: 429",
      "traderState of w0 still cannot be read, now: x: 503",
      expect.stringContaining("can be read again"),
    ]);
  });

  test("the first answer after an outage, if it cannot be read, is asked for again at once", async () => {
    const { clock, ran } = rig({
      run: async (_run, _source, nth) => {
        if (nth <= 8) throw new ExchangeError({ endpoint: "x", reason: "server-error", what: "503" });
        if (nth <= 14) throw new ExchangeError({ endpoint: "x", reason: "bad-record", what: "no JSON" });
        return "done";
      },
    });
    await clock.advance(600_000);
    const pauses = gaps(ran).map((ms) => Math.round(ms / 1_000));
    expect(Math.min(...pauses.slice(5, 8))).toBeGreaterThanOrEqual(22);
    expect(pauses[8]).toBeLessThanOrEqual(2);
    // Answers that go on to be unreadable are asked for less and less often.
    expect(pauses[9]).toBeLessThanOrEqual(4);
    expect(Math.min(...pauses.slice(12, 14))).toBeGreaterThanOrEqual(22);
  });

  test("what fails for want of a session, which an alert tells of, counts as no failure of the read", async () => {
    let reason: "signed-out" | "server-error" = "signed-out";
    const { clock, ran, scheduler } = rig({
      run: async (_run, source) => {
        throw new ExchangeError({ endpoint: source, reason, what: reason });
      },
    });
    await clock.advance(120_000);
    expect(scheduler.figures(true)).toMatchObject({ failedPolls: 0, failingReads: "" });
    expect(scheduler.figures(false).failedPolls).toBe(ran.length);
    reason = "server-error";
    const before = ran.length;
    while (ran.length === before) await clock.advance(1_000);
    expect(scheduler.figures(true)).toMatchObject({
      failedPolls: 1,
      failingReads: "positions and balances of w0 (server-error)",
    });
    expect(scheduler.figures(false).failedPolls).toBe(ran.length);
  });

  test("when nothing can be stored, nothing is told of the exchange, and it is tried again", async () => {
    let full = true;
    const { clock, observations, scheduler } = rig({
      observe: async () => {
        if (full) throw new Error("database or disk is full");
      },
      run: async (run) => {
        await run.observe({ kind: "prices", atMs: 0, markets: [] });
        return "done";
      },
    });
    await clock.advance(20_000);
    expect(observations).toEqual([]);
    full = false;
    await clock.advance(40_000);
    expect(observations.every((one) => one.kind === "prices")).toBe(true);
    expect(observations.length).toBeGreaterThan(2);
    expect(scheduler.figures().failedPolls).toBe(0);
  });
});

describe("asks", () => {
  test("a turn that waits for the request budget gives way to what is asked for, and one that was sent does not", async () => {
    let isScarce = true;
    const ran: number[] = [];
    const { clock, scheduler } = rig({
      schedules: { fills: { every: "60s" } },
      sources: ["fills"],
      idle: ["fills"],
      run: async (run) => {
        const { lane, onWait, signal } = run.call();
        ran.push(lane!);
        if (isScarce && lane === lanes.rest) {
          onWait!(true);
          await new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
        }
        await clock.sleep(3_000);
        return "done";
      },
    });
    await clock.advance(5_000);
    expect(ran).toEqual([lanes.rest]);
    scheduler.ask("fills", "w0");
    await clock.advance(1_000);
    expect(ran).toEqual([lanes.rest, lanes.asked]);
    isScarce = false;
    // Until its next turn is under way.
    for (let i = 0; i < 600 && ran.length < 3; i++) await clock.advance(100);
    scheduler.ask("fills", "w0");
    await clock.advance(2_000);
    expect(ran).toEqual([lanes.rest, lanes.asked, lanes.rest]);
    await clock.advance(2_000);
    expect(ran).toEqual([lanes.rest, lanes.asked, lanes.rest, lanes.asked]);
  });

  test("a run that gave way to a more urgent one leaves it what it was to look for", async () => {
    let ratio = 0;
    const ran: { readonly lane: number; readonly gap: boolean }[] = [];
    const { clock, scheduler } = rig({
      schedules: { traderState: { every: "5s" }, notifications: { every: "10m" } },
      sources: ["traderState", "notifications"],
      idle: ["traderState", "notifications"],
      marginRatio: () => ratio,
      run: async (run, source) => {
        if (source === "traderState") return "done";
        const { lane, onWait, signal } = run.call();
        ran.push({ lane: lane!, gap: run.gap });
        if (ran.length !== 2) return "done";
        onWait!(true);
        return new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
      },
    });
    await clock.advance(5_000);
    scheduler.ask("notifications", "w0", true);
    await clock.advance(5_000);
    expect(ran.slice(1)).toEqual([{ lane: lanes.state, gap: true }]);
    // Its wallet comes to be at risk.
    ratio = 0.9;
    await clock.advance(10_000);
    scheduler.ask("notifications", "w0");
    await clock.advance(2_000);
    expect(ran.slice(2)).toEqual([{ lane: lanes.atRisk, gap: true }]);
  });

  test("asking runs now, once, however often it is asked; while a run is under way, once more", async () => {
    const { clock, ran, scheduler } = rig({
      schedules: { liquidations: { every: "10m" } },
      sources: ["liquidations"],
      run: () => clock.sleep(300).then(() => "done"),
    });
    await clock.advance(5_000);
    const before = ran.length;
    for (let i = 0; i < 5; i++) scheduler.ask("liquidations", "w0");
    await clock.advance(100);
    expect(ran.length - before).toBe(1);
    expect(ran.at(-1)!.lane).toBe(lanes.state);
    for (let i = 0; i < 5; i++) scheduler.ask("liquidations", "w0");
    await clock.advance(5_000);
    expect(ran.length - before).toBe(2);
    scheduler.ask("liquidations", "nobody");
    scheduler.ask("pnl", "w0");
  });

  test("asking all the time is a run a second", async () => {
    const { clock, ran, scheduler } = rig({
      schedules: { liquidations: { every: "10m" } },
      sources: ["liquidations"],
    });
    for (let i = 0; i < 100; i++) {
      scheduler.ask("liquidations", "w0");
      await clock.advance(100);
    }
    expect(ran.length).toBeLessThanOrEqual(11);
    expect(ran.length).toBeGreaterThanOrEqual(9);
  });
});

describe("catching up", () => {
  test("older pages are read in the last lane between turns, and give way to them", async () => {
    let slow = false;
    const { clock, ran, observations, overlaps } = rig({
      schedules: { fills: { every: "10s" } },
      sources: ["fills"],
      run: (run) =>
        run.catchUp && slow
          ? new Promise<RunOutcome>((_, reject) => {
              run.call().signal!.addEventListener("abort", () => reject(run.call().signal!.reason));
            })
          : Promise.resolve("more"),
    });
    await clock.advance(20_000);
    const caught = ran.filter((one) => one.catchUp);
    expect(caught.length).toBeGreaterThan(10);
    expect(caught.every((one) => one.lane === lanes.catchUp)).toBe(true);
    slow = true;
    const before = ran.filter((one) => !one.catchUp).length;
    await clock.advance(60_000);
    // Turns come on time although each page of the backlog hangs.
    expect(ran.filter((one) => !one.catchUp).length - before).toBe(6);
    expect(overlaps()).toBe(0);
    expect(observations).toEqual([]);
  });
});

describe("calendars", () => {
  const schedules = { funding: { cron: "0 30 2 * * *", timezone: "Europe/Berlin" } };

  test("a calendar is asked at the start, then at its times, late where the clocks jump over one", async () => {
    const { clock, ran } = rig({ schedules, sources: ["funding"] });
    const startMs = clock.nowMs();
    await clock.advance(2 * 86_400_000);
    expect(ran.map(({ atMs }) => new Date(startMs + atMs).toISOString())).toEqual([
      "2026-03-28T12:00:00.000Z",
      "2026-03-29T01:00:00.000Z",
      "2026-03-30T00:30:00.000Z",
    ]);
  });

  test("it runs when it is asked for, also just when the calendar is looked at again", async () => {
    const run = () => clock.sleep(3).then(() => "done" as const);
    const { clock, ran, scheduler } = rig({ schedules, sources: ["funding"], run });
    await clock.advance(60_005);
    scheduler.ask("funding", "w0");
    await clock.advance(5_000);
    expect(ran.length).toBe(2);
  });

  test("a time that our own clock is set over runs within a minute of it", async () => {
    const { clock, ran } = rig({ schedules, sources: ["funding"] });
    await clock.advance(3_600_000);
    clock.setWall(Date.parse("2026-03-29T04:00:00Z"));
    await clock.advance(61_000);
    expect(ran.length).toBe(2);
    await clock.advance(3_600_000);
    expect(ran.length).toBe(2);
  });
});

test("stopping calls off what is asked, lets be stored what was read, and then nothing runs", async () => {
  let stored = false;
  const { clock, scheduler, ran, observations } = rig({
    wallets: 2,
    observe: async () => {
      await clock.sleep(3_000);
      stored = true;
    },
    run: async (run) => {
      if (run.wallet.name === "w1") return new Promise(() => {});
      await run.observe({ kind: "prices", atMs: 0, markets: [] });
      return "done";
    },
  });
  await clock.advance(100);
  await clock.finish(scheduler.stop());
  expect(stored).toBe(true);
  expect(observations.map((one) => one.kind)).toEqual(["prices"]);
  const before = ran.length;
  await clock.advance(60_000);
  expect(ran.length).toBe(before);
  expect(clock.pending).toBe(0);
});
