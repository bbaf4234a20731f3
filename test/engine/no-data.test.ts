/** No-data alerts: one for each outage, with what is missing, its cause, and what is at stake. */
import { describe, expect, test } from "vitest";
import { render } from "../../src/channels/message.ts";
import type { CollateralAsset } from "../../src/domain/account.ts";
import type { FailureCause, FailureReason } from "../../src/domain/observation.ts";
import type { Source } from "../../src/domain/sources.ts";
import {
  figures,
  Harness,
  type HarnessOptions,
  mainWallet,
  marketConfig,
  position,
  prices,
  startMs,
  subaccount,
} from "./harness.ts";

const near = `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    summary: "near"
`;

/** 100 SOL long at 150: 31 % and 17.2 % from liquidation. */
const far = [subaccount(5_000, [position(100, 150)])];
const closer = [subaccount(3_000, [position(100, 150)])];

const owing = subaccount(-2_000, [], { subaccount: 1 });
/** It owes more than its 2 SOL are worth, which can be sold any time. */
const pledged = subaccount(-2_000, [], {
  subaccount: 1,
  spotCollaterals: [{ assetIndex: 7, symbol: "SOL", balance: 2_000_000_000n, decimals: 9 }],
});
const sold = { ...pledged, spotCollaterals: [{ ...pledged.spotCollaterals[0]!, balance: 0n }] };
const sol: CollateralAsset = {
  ...{ assetIndex: 7, symbol: "SOL", decimals: 9, perpAssetId: 1, maxGlobalBalance: 10n ** 15n },
  ...{ minMarginDiscountBps: 1_000, maxMarginDiscountBps: 3_000 },
};

const wallets = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    ...mainWallet,
    name: `w${index + 1}`,
    authority: `${mainWallet.authority.slice(0, -2)}${10 + index}`,
  }));
const twelve = wallets(12);
const names = twelve.map(({ name }) => name);

class World extends Harness {
  readonly #names: readonly string[];

  constructor(options: Partial<HarnessOptions> = {}) {
    super({ rules: near, ...options });
    this.#names = (options.wallets ?? [mainWallet]).map(({ name }) => name);
  }

  /** Every 5 s everything is read; reads of the positions of `failing` fail. Prices are as long as `priced` says so. */
  read(
    ms: number,
    failing: readonly string[] = [],
    accounts = far,
    detail = "traderState: 503 unavailable",
  ): void {
    for (let passed = 0; passed < ms; passed += 5_000) {
      this.config();
      this.mark(150);
      for (const name of this.#names)
        if (failing.includes(name)) this.fail("traderState", name, "server-error", detail);
        else this.account(accounts, name);
      this.pass(5_000);
    }
  }

  /** Every read of the exchange fails. */
  nothing(
    ms: number,
    reason: FailureReason = "unreachable",
    detail = "connect ECONNREFUSED 127.0.0.1:1",
  ): void {
    for (let passed = 0; passed < ms; passed += 5_000) {
      this.fail("markets", null, reason, `latestMarketsStats: ${detail}`);
      this.fail("marketConfig", null, reason, `markets: ${detail}`);
      for (const name of this.#names) this.fail("traderState", name, reason, `traderState: ${detail}`);
      this.pass(5_000);
    }
  }

  fail(
    source: Source,
    wallet: string | null,
    reason: FailureReason,
    detail: string,
    cause?: FailureCause,
  ): void {
    const more = cause === undefined ? {} : { cause };
    this.see({
      kind: "failed",
      atMs: this.nowMs,
      symbol: null,
      ...{ source, wallet, reason, detail },
      ...more,
    });
  }

  /** Summaries of what fires, as the status shows them. */
  get firing(): string[] {
    return this.watch.status(this.nowMs).firing.map(({ summary }) => summary);
  }

  get summaries(): string[] {
    return this.changes.map(({ kind, alert }) => `${alert.rule} ${kind} ${alert.severity}: ${alert.summary}`);
  }
}

describe("one outage is one alert", () => {
  test("that widens from four wallets to everything, narrows and ends in place", () => {
    const world = new World({ wallets: twelve });
    world.read(20_000);
    const four = names.slice(0, 4);
    world.read(120_000, four);
    world.nothing(300_000);
    world.read(120_000, four);
    // As severe as before: what it says changes, and nobody is told.
    expect(world.firing).toEqual([
      "w1 SOL long was 31% from liquidation 9m 5s ago, mark unchanged since. No data on 4 of 12 wallets for 9m 5s: no positions and balances since 12:00:15 UTC (HTTP 503)",
    ]);
    world.read(60_000);
    expect(world.summaries).toEqual([
      "Blind fired warning: w1 SOL long was 31% from liquidation 45s ago, mark unchanged since. No data on 4 of 12 wallets for 45s: no positions and balances since 12:00:15 UTC (HTTP 503)",
      "ExchangeUnreachable worsened warning: w1 SOL long was 31% from liquidation 2m 45s ago. No data on 12 of 12 wallets for 45s: no read of the exchange succeeds since 12:02:15 UTC (connection refused)",
      expect.stringMatching(
        /^ExchangeUnreachable ended warning: The exchange answers again: positions and balances of 12 wallets, after 9m /,
      ),
    ]);
    expect(new Set(world.changes.map(({ alertId }) => alertId)).size).toBe(1);
  });

  test("that narrows untold is not worse with fewer wallets than were told of, and is with a new silence", () => {
    const world = new World({ wallets: twelve });
    world.read(20_000);
    world.read(120_000, names.slice(0, 4));
    world.nothing(300_000);
    world.read(120_000, names.slice(0, 4));
    const told = world.changes.length;
    world.read(120_000, names.slice(0, 8));
    expect(world.told.slice(told)).toEqual([]);
    world.nothing(120_000);
    expect(world.summaries.slice(told)).toEqual([
      expect.stringMatching(
        /^ExchangeUnreachable worsened warning: .* on 12 of 12 wallets .*: no read of the exchange/,
      ),
    ]);
  });

  test("also where one wallet is watched and everything fails", () => {
    const world = new World();
    world.read(20_000);
    world.nothing(600_000);
    world.read(60_000);
    expect(world.told).toEqual(["Blind main fired warning", "Blind main ended warning recovered"]);
    expect(world.changes[0]!.alert.labels).toEqual({ desk: "alpha", source: "traderState" });
    expect(world.changes[0]!.alert.summary).toMatch(/no read of the exchange succeeds since 12:00:15 UTC/);
  });

  test("that ends only once its rules can be judged: what comes back piece by piece is no end in between", () => {
    const world = new World();
    world.read(20_000);
    world.nothing(120_000);
    const told = world.told.length;
    // Positions first, prices five minutes later.
    for (let passed = 0; passed < 300_000; passed += 5_000) {
      world.account(far);
      world.fail("markets", null, "server-error", "latestMarketsStats: 503");
      world.pass(5_000);
    }
    expect(world.told.slice(told)).toEqual([]);
    expect(world.firing).toEqual([expect.stringMatching(/No data .*: no prices .*\(HTTP 503\)$/)]);
    world.read(10_000);
    expect(world.told.slice(told)).toEqual(["Blind main ended warning recovered"]);
  });

  test.each([
    [3, ["Blind w1", "Blind w2", "Blind w3"]],
    [4, ["Blind exchange"]],
  ])("%i wallets without data", (count, alerts) => {
    const world = new World({ wallets: twelve });
    world.read(20_000);
    world.read(300_000, names.slice(0, count));
    expect(world.told).toEqual(alerts.map((one) => `${one} fired warning`));
  });

  test.each([
    [3, "Blind exchange"],
    [4, "ExchangeUnreachable exchange"],
  ])("nothing answers, and %i wallets are watched", (count, alert) => {
    const world = new World({ wallets: wallets(count) });
    world.read(20_000);
    world.nothing(300_000);
    expect(world.told).toEqual([`${alert} fired warning`]);
  });

  test("goes on over a restart, and ends when the last wallet is read", () => {
    const before = new World({ wallets: twelve });
    before.read(20_000);
    before.read(120_000, names.slice(0, 4));
    expect(before.told).toEqual(["Blind exchange fired warning"]);
    const { remembered, nowMs } = before;
    const after = new World({ wallets: twelve, remembered, atMs: nowMs + 1_000 });
    after.read(300_000, names.slice(0, 2));
    expect(after.told).toEqual([]);
    after.read(5_000, names.slice(0, 1));
    expect(after.told).toEqual([]);
    after.read(5_000);
    expect(after.told).toEqual(["Blind exchange ended warning recovered"]);
    expect([...after.remembered.keep.keys()].filter((name) => name.startsWith("noData/"))).toEqual([]);
  });

  test("that lists more wallets than it was reported with is reported again, not for each of them", () => {
    const world = new World({ wallets: twelve });
    world.read(20_000);
    for (let count = 4; count <= 12; count++) world.read(30_000, names.slice(0, count));
    world.read(60_000, names);
    const counts = world.summaries.map((one) =>
      /^Blind (\w+) .* on (\d+) of 12/.exec(one)?.slice(1).join(" "),
    );
    expect(counts).toEqual(["fired 5", "worsened 9", "worsened 12"]);
  });

  test("an end beside wallets that are still unread does not say that there is nothing to do", () => {
    const world = new World({ wallets: twelve });
    world.read(20_000);
    world.read(120_000, names.slice(0, 2));
    world.read(60_000, names.slice(1, 2));
    const change = world.changes.at(-1)!;
    expect(world.told.at(-1)).toBe("Blind w1 ended warning recovered");
    expect(change.details).toContainEqual(["Still without data", "w2"]);
    const item = { change, lead: "" };
    const content = { kind: "alerts", items: [item], resolved: true, title: "", sender: "x" } as const;
    const message = { id: "1", severity: "warning", sealedAtMs: change.atMs, content };
    const [block] = render(message as never).blocks;
    expect(block!.now).toEqual(["What this alert listed is read again. Other data are still missing."]);
  });
});

describe("outages within two minutes of each other", () => {
  const unavailable = (world: World, ms: number) => world.nothing(ms, "server-error", "503 unavailable");
  const limited = (world: World, ms: number) => world.nothing(ms, "rate-limited", "429");
  const unreachable = (world: World, ms: number) => world.nothing(ms);
  /** Changes of no-data alerts with the second at which each came, after the end of what was missing: `ended +0`. */
  const played = (
    world: World,
    ...outages: readonly ((world: World, ms: number) => void)[]
  ): readonly string[] => {
    world.read(20_000);
    return outages.map((outage) => {
      outage(world, 120_000);
      const [endedMs, told] = [world.nowMs, world.changes.length];
      world.read(50_000);
      return world.changes
        .slice(told)
        .map(({ kind, atMs }) => `${kind} +${(atMs - endedMs) / 1_000}`)
        .join(", ");
    });
  };

  test("with another cause each end with the first answers", () => {
    for (const count of [1, 3, 12]) {
      const world = new World({ wallets: wallets(count) });
      expect(played(world, unavailable, unreachable, limited)).toEqual(["ended +0", "ended +0", "ended +0"]);
      expect(world.changes.map(({ kind }) => kind)).toEqual([1, 2, 3].flatMap(() => ["fired", "ended"]));
    }
  });

  test("of some wallets, of all and of requests end with the first answers", () => {
    const world = new World({ wallets: twelve });
    const some = () => world.read(120_000, names.slice(0, 4));
    expect(played(world, some, unreachable, limited)).toEqual(["ended +0", "ended +0", "ended +0"]);
  });

  test("with a cause that was there before are one that comes and goes: read for 30 s, then for 60 s", () => {
    const again = new World({ wallets: twelve });
    expect(played(again, unreachable, unreachable, unreachable)).toEqual(["ended +0", "ended +30", ""]);
    const inTurn = new World({ wallets: twelve });
    expect(played(inTurn, unreachable, unavailable, unreachable, unavailable)).toEqual([
      ...["ended +0", "ended +0", "ended +30", ""],
    ]);
    // No answer in time and no connection are one cause.
    const timedOut = new World({ wallets: twelve });
    const slow = () => timedOut.nothing(120_000, "timeout", "no whole answer in time");
    expect(played(timedOut, unreachable, slow)).toEqual(["ended +0", "ended +30"]);
  });

  test("are compared by the cause of the first of them also for data that were missing after others", () => {
    const cancels = `
  - { name: Cancels, scope: trader, when: 'trader.equity < 1.0 || countOver("notification", "10m") >= 3.0', severity: critical, summary: cancels }`;
    const world = new World({ rules: near.trimEnd() + cancels });
    const read = (ms: number, inbox: boolean) => {
      for (let passed = 0; passed < ms; passed += 5_000) {
        if (inbox) world.events("notifications", []);
        else world.fail("notifications", "main", "unreachable", "connect ECONNREFUSED 127.0.0.1:1");
        world.read(5_000);
      }
    };
    const seconds = () => world.changes.map(({ kind, atMs }) => `${kind} ${(atMs - startMs) / 1_000}`);
    read(20_000, true);
    world.nothing(120_000);
    read(15_000, false);
    read(40_000, true);
    expect(seconds().slice(1)).toEqual(["ended 155"]);
    read(80_000, false);
    read(40_000, true);
    expect(seconds().slice(2)).toEqual(["fired 235.001", "ended 305"]);
  });

  test("with another cause each end with the first answers of data that were missing for a part of the second only", () => {
    const cancels = `
  - { name: Cancels, scope: trader, staleAfter: 40s, when: 'countOver("notification", "10m") >= 3.0', severity: critical, summary: cancels }`;
    const rules = near.trimEnd() + cancels;
    const run = (reloadAfterMs: number): readonly string[] => {
      const world = new World({ rules, wallets: twelve });
      const read = (ms: number) => {
        for (let passed = 0; passed < ms; passed += 5_000) {
          for (const name of names) world.events("notifications", [], name);
          world.read(5_000);
        }
      };
      const nothing = (ms: number, reason: FailureReason) => {
        for (let passed = 0; passed < ms; passed += 5_000) {
          for (const name of names) world.fail("notifications", name, reason, "no answer");
          if (passed === reloadAfterMs && reason === "rate-limited") world.reload({ rules, wallets: twelve });
          world.nothing(5_000, reason);
        }
      };
      read(20_000);
      nothing(120_000, "unreachable");
      read(50_000);
      nothing(65_000, "rate-limited");
      read(40_000);
      return world.changes.map(({ kind, atMs }) => `${kind} ${(atMs - startMs) / 1_000}`);
    };
    const plain = run(-1);
    expect(plain.filter((one) => one.startsWith("ended"))).toEqual(["ended 140", "ended 255"]);
    for (let ms = 0; ms < 65_000; ms += 5_000) expect(run(ms), `reload after ${ms} ms`).toEqual(plain);
  });

  test("are told alike over a reload at any step", () => {
    const run = (reloadAt: number): readonly string[] => {
      const world = new World({ wallets: twelve });
      let step = 0;
      const maybe = () => {
        if (++step === reloadAt) world.reload({ rules: near, wallets: twelve });
      };
      world.read(20_000);
      for (const first of ["server-error", "unreachable", "server-error"] as const) {
        for (let i = 0; i < 8; i++) {
          // An exchange that comes back may answer with 503 first.
          world.nothing(10_000, i < 6 ? first : "server-error", "no answer");
          maybe();
        }
        for (let i = 0; i < 5; i++) {
          world.read(10_000);
          maybe();
        }
      }
      return world.changes.map(({ kind, atMs }) => `${kind} ${(atMs - startMs) / 1_000}`);
    };
    const plain = run(0);
    expect(plain.filter((one) => one.startsWith("ended"))).toEqual(["ended 100", "ended 230", "ended 390"]);
    for (let at = 1; at <= 39; at++) expect(run(at), `reload at step ${at}`).toEqual(plain);
  });
});

test("a market that is known to have no calendar is no answer of the exchange", () => {
  const world = new World({ wallets: twelve });
  world.read(20_000);
  world.nothing(60_000);
  for (let passed = 0; passed < 60_000; passed += 5_000) {
    const open = { sessionState: "open", nextTransitionMs: null } as const;
    world.see({ kind: "calendar", atMs: world.nowMs, symbol: "SOL", ...open });
    world.nothing(5_000);
    expect(world.firing).toEqual([
      expect.stringMatching(/: no read of the exchange succeeds since 12:00:15 UTC/),
    ]);
  }
});

test("an end names all kinds of data that came back, and what fires now of the wallets that it listed", () => {
  const cheap = `
  - { name: Cheap, scope: market, when: market.markPrice < 1.0, for: 0s, severity: critical, summary: cheap }`;
  const world = new World({ rules: near.trimEnd() + cheap });
  const endangered = [subaccount(800, [position(100, 150)])];
  world.read(20_000, [], endangered);
  world.nothing(120_000);
  world.read(5_000, [], endangered);
  const end = world.changes.find(({ kind }) => kind === "ended")!;
  expect(end.alert.summary).toBe(
    "The exchange answers again: prices; positions and balances of wallet main, after 2m 5s",
  );
  expect(end.alert.description).toBe(
    "While this lasted, the rules that read it could not be judged: they neither fired nor resolved.",
  );
  expect(end.details).toContainEqual(["Firing now", "critical: near (#1)"]);
  const content = {
    kind: "alerts",
    items: [{ change: end, lead: "" }],
    resolved: true,
    title: "",
    sender: "x",
  };
  const message = { id: "1", severity: "warning", sealedAtMs: end.atMs, content };
  expect(render(message as never).blocks[0]!.now).toEqual([
    "What this alert listed is read again. Look at what fires now.",
  ]);
});

describe("what is missing", () => {
  test("is the price of one market, not the positions, where that market has no price", () => {
    const world = new World();
    const both = [subaccount(9_000, [position(100, 150), position(1, 3_000, "ETH")])];
    const read = (ms: number, ...marks: (number | ReturnType<typeof prices>)[]) => {
      for (let passed = 0; passed < ms; passed += 5_000) {
        world.config(marketConfig(), marketConfig("ETH", { assetId: 2 }));
        world.mark(...marks);
        world.account(both);
        world.pass(5_000);
      }
    };
    read(60_000, 150);
    expect(world.told).toEqual(["Blind exchange fired critical"]);
    const { alert, details } = world.changes[0]!;
    expect(alert.summary).toBe(
      "main ETH long was at an unknown distance from liquidation 5s ago. No data for 30s: no prices of ETH from the exchange ever since the start (not in the answers)",
    );
    expect(details).toContainEqual([
      "Not read",
      "prices of ETH (schedule markets): not in the answers, last read never",
    ]);
    // The exchange answers: neither the network nor its status page has anything to do with it.
    expect(alert.description).toMatch(/Look at the exchange itself if you hold risk there\.$/);
    expect(alert.description).not.toMatch(/network|status page/);
    read(5_000, 150, prices(3_000, "ETH"));
    expect(world.told.slice(1)).toEqual(["Blind exchange ended critical recovered"]);
  });

  test("is the list of collateral assets, where that of markets is read", () => {
    const world = new World();
    const backed = [
      subaccount(9_000, [position(100, 150)], {
        spotCollaterals: [{ assetIndex: 2, symbol: "SOL", balance: 5n, decimals: 9 }],
      }),
    ];
    for (let passed = 0; passed < 60_000; passed += 5_000) {
      world.config();
      world.fail("marketConfig", null, "bad-record", "collateralAssets: 220 characters that are no JSON");
      world.mark(150);
      world.account(backed);
      world.pass(5_000);
    }
    expect(world.told).toEqual(["Blind exchange fired critical"]);
    const { alert, details } = world.changes[0]!;
    expect(alert.summary).toMatch(
      / no collateral asset rules from the exchange ever since the start \(unreadable record\)$/,
    );
    expect(details).toContainEqual([
      "Not read",
      "collateral asset rules (schedule marketConfig): unreadable record, last read never",
    ]);
  });

  const since = { sinceMs: startMs + 20_000, untilMs: startMs + 80_000 };
  test.each<[string, FailureReason, string, FailureCause?]>([
    ["HTTP 503", "server-error", "traderState: 503 unavailable"],
    ["HTTP 403", "refused", "traderState: 403 user_only"],
    ["timed out", "timeout", "traderState: no whole answer in time"],
    ["connection refused", "unreachable", "traderState: connect ECONNREFUSED 127.0.0.1:443"],
    ["host name not found", "unreachable", "traderState: getaddrinfo ENOTFOUND api.example"],
    [
      "connection closed",
      "unreachable",
      "session: main waits before it tries again (authNonce: UND_ERR_SOCKET)",
    ],
    ["unreadable record", "bad-record", "traderState: snapshot.slot: expected a number"],
    ["rate limited (HTTP 429)", "rate-limited", "traderState: 429"],
    [
      "rate limited since 12:00:20 UTC, next request at 12:01:20 UTC",
      "rate-limited",
      "traderState: 429",
      { kind: "rateLimited", ...since },
    ],
  ])("has the cause %s", (words, reason, detail, cause) => {
    const world = new World();
    world.read(20_000);
    for (let passed = 0; passed < 60_000; passed += 5_000) {
      world.config();
      world.mark(150);
      world.fail("traderState", "main", reason, detail, cause);
      world.pass(5_000);
    }
    expect(world.summaries[0]).toMatch(/no positions and balances since 12:00:15 UTC \(/);
    expect(world.summaries[0]!.endsWith(`(${words})`), world.summaries[0]).toBe(true);
  });

  test("is that of the reads that fail still where the stream told of a price meanwhile", () => {
    const world = new World();
    world.read(20_000);
    const { nowMs: sinceMs } = world;
    for (let passed = 0; passed < 120_000; passed += 5_000) {
      world.config();
      world.account(far);
      if (passed === 5_000)
        world.fail("markets", null, "rate-limited", "latestMarketsStats: 429 rate_limited", {
          kind: "rateLimited",
          sinceMs,
          untilMs: sinceMs + 10_000,
        });
      if (passed === 50_000)
        world.see({ kind: "prices", atMs: world.nowMs, markets: [prices(150)], live: true });
      world.pass(5_000);
    }
    // One price ends nothing: 30 s later they are missing again.
    expect(world.changes.map(({ kind }) => kind)).toEqual(["fired"]);
    expect(world.firing[0]).toMatch(/ no prices from the exchange .* \(rate limited since 12:00:20 UTC\)$/);
  });

  test.each(["config", "prices", "streamed prices"])(
    "states the distance by the first %s after the reading, whatever the mark did since",
    (later) => {
      const world = new World();
      if (later === "config") world.mark(150);
      else world.config();
      world.account(far);
      world.pass(2_000);
      const streamed = (mark: number): void =>
        void world.see({ kind: "prices", atMs: world.nowMs, markets: [prices(mark)], live: true });
      if (later === "config") world.config();
      else if (later === "prices") world.mark(150);
      else streamed(150);
      // Answers then repeat a price that the stream told already.
      if (later === "streamed prices") streamed(149);
      for (let passed = 0; passed < 60_000; passed += 5_000) {
        world.config();
        world.mark(149);
        world.pass(5_000);
      }
      expect(world.summaries[0]).toMatch(
        /^Blind fired \w+: main SOL long was 31% from liquidation \d+s ago, mark down 0.667% since\./,
      );
    },
  );

  test("is not that answers are too slow where none ever came", () => {
    const world = new World({
      rules: near.replace(
        "position.liquidationDistance < 0.05",
        "position.notional > 1.0 && wallet.pnl < 0.0",
      ),
    });
    const read = (ms: number, accounts: typeof far) => {
      for (let passed = 0; passed < ms; passed += 5_000) {
        world.config();
        world.mark(150);
        world.account(accounts);
        world.pass(5_000);
      }
    };
    read(60_000, far);
    read(30_000, [subaccount(5_000, [])]);
    read(60_000, far);
    expect(world.summaries.length).toBeGreaterThan(1);
    for (const one of world.summaries) expect(one).not.toContain("too slow");
  });

  test("is one rate limit with the newest time of its next request, in the future or left out", () => {
    const world = new World({ wallets: wallets(2) });
    world.read(20_000);
    const sinceMs = world.nowMs;
    const limited = (source: Source, wallet: string | null, untilMs: number) =>
      world.fail(source, wallet, "rate-limited", "the exchange limits requests", {
        kind: "rateLimited",
        sinceMs,
        untilMs,
      });
    limited("traderState", "w1", sinceMs + 20_000);
    limited("markets", null, sinceMs + 60_000);
    world.pass(50_000);
    const during = world.firing.at(-1)!;
    expect(during.match(/rate limited since/g)).toHaveLength(1);
    expect(during).toContain("(rate limited since 12:00:20 UTC, next request at 12:01:20 UTC)");
    world.pass(20_000);
    expect(world.firing.at(-1)!).toContain("(rate limited since 12:00:20 UTC)");
    for (const change of world.changes) expect(change.alert.summary).not.toMatch(/unchanged since/);
  });

  test.each<[string, FailureReason, RegExp]>([
    [
      "429",
      "rate-limited",
      /refuses requests with 429.*lower exchange\.requestsPerSecond, or look for other programs/,
    ],
    ["503 unavailable", "server-error", /The exchange can be reached: see its status page\./],
    ["connect ECONNREFUSED 127.0.0.1:1", "unreachable", /Check the network of this machine/],
  ])("of all reads, with %s, states what helps", (detail, reason, advice) => {
    const world = new World();
    world.read(20_000);
    world.nothing(90_000, reason, detail);
    const { description } = world.changes.at(-1)!.alert;
    expect(description).toMatch(advice);
    expect(/network/.test(description)).toBe(reason === "unreachable");
  });

  test("ends for a rule about accounts that counts events, though nothing new happened", () => {
    const rules = `
rules:
  - name: Cancels
    scope: trader
    when: countOver("notification", "10m") >= 3.0
    severity: critical
    summary: cancels
`;
    const world = new World({ rules });
    const read = (ms: number, inbox: boolean) => {
      for (let passed = 0; passed < ms; passed += 5_000) {
        if (inbox) world.events("notifications", []);
        world.read(5_000);
      }
    };
    read(20_000, true);
    read(60_000, false);
    expect(world.told).toEqual(["Blind main fired warning"]);
    read(5_000, true);
    expect(world.told.slice(1)).toEqual(["Blind main ended warning recovered"]);
  });

  test("are answers that come more slowly than they grow old: one alert while that lasts", () => {
    const world = new World();
    world.read(20_000);
    const slowly = (times: number) => {
      for (let i = 0; i < times; i++) {
        for (let passed = 0; passed < 40_000; passed += 5_000) {
          world.config();
          world.mark(150);
          world.pass(5_000);
        }
        world.account(far);
      }
    };
    slowly(12);
    expect(world.told).toEqual(["Blind main fired warning"]);
    expect(world.summaries[0]).toMatch(/\(answers too slow\)$/);
    world.read(25_000);
    expect(world.told.slice(1)).toEqual([]);
    expect(world.firing).toEqual([
      expect.stringMatching(
        /No data now and then on wallet main: positions and balances \(answers too slow\), read again since 12:08:20 UTC$/,
      ),
    ]);
    world.read(10_000);
    expect(world.told.slice(1)).toEqual(["Blind main ended warning recovered"]);
    expect(world.changes.at(-1)!.details).toContainEqual(["Until", "2026-01-05 12:08:20 UTC"]);
  });
});

test("a read that waits while requests are limited is not read because of that, though it did not fail itself", () => {
  const world = new World();
  world.read(20_000);
  const cause = { kind: "rateLimited", sinceMs: world.nowMs - 5_000, untilMs: world.nowMs + 90_000 } as const;
  for (let passed = 0; passed < 60_000; passed += 5_000) {
    const failed = { kind: "failed", source: "liquidations", wallet: "main", symbol: null } as const;
    world.see({ ...failed, atMs: world.nowMs, reason: "rate-limited", detail: "429 rate_limited", cause });
    world.config();
    world.mark(150);
    world.pass(5_000);
  }
  expect(world.told).toEqual(["Blind main fired warning"]);
  expect(world.summaries[0]).toMatch(/positions and balances.*\(rate limited since /);
});

describe("what is at stake", () => {
  const silent = (world: World, ms: number, markUsd: number | null) => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      world.config();
      if (markUsd !== null) world.mark(markUsd);
      world.pass(5_000);
    }
  };
  const volatility = (world: World, dailyVolatility: number, externalPriceUsd = 150) =>
    world.see({ kind: "external", atMs: world.nowMs, symbol: "SOL", externalPriceUsd, dailyVolatility });

  test.each([
    ["far in daily moves that are not known", far, null, "warning"],
    ["near in daily moves that are not known", closer, null, "critical"],
    ["far in daily moves of its market", closer, 0.05, "warning"],
    ["near in daily moves of its market", far, 0.11, "critical"],
    ["near in a market that stood still", [subaccount(800, [position(100, 150)])], 0, "critical"],
    ["far beside an account that owes money and holds nothing", [...far, owing], null, "warning"],
    ["far beside one that owes money and whose collateral was sold", [...far, sold], null, "warning"],
    ["far beside one that owes money and has collateral to sell", [...far, pledged], null, "critical"],
  ] as const)("decides how severe it is: a position that was %s", (_, accounts, daily, severity) => {
    const world = new World({ rules: near.replace("< 0.05", "< 0.001") });
    if (daily !== null) volatility(world, daily);
    world.see({ kind: "collateralAssets", atMs: world.nowMs, assets: [sol] });
    world.read(20_000, [], [...accounts]);
    silent(world, 60_000, 150);
    expect(world.told).toEqual([`Blind main fired ${severity}`]);
  });

  test("is led by the position that is nearest to liquidation", () => {
    const world = new World({ wallets: wallets(3), rules: near.replace("< 0.05", "< 0.001") });
    world.read(20_000);
    world.account(closer, "w2");
    world.nothing(60_000);
    expect(world.summaries.at(-1)).toMatch(/ critical: w2 SOL long was 17\.2% from liquidation /);
  });

  test("leads the text, with how far its price has moved since", () => {
    const world = new World();
    world.read(20_000);
    silent(world, 60_000, 153);
    expect(world.summaries[0]).toMatch(
      /^Blind fired warning: main SOL long was 31% from liquidation 45s ago, mark up 2% since\. No data on wallet main/,
    );
  });

  test("is by the newest mark, too, where none comes any more", () => {
    const world = new World();
    world.read(20_000);
    world.config();
    world.mark(140);
    silent(world, 60_000, null);
    // Three daily moves are 30 %: it was 31 %, and is 26 %.
    expect(world.summaries[0]).toMatch(
      /^Blind fired critical: main SOL long was 31% from liquidation 45s ago, mark down 6\.67% since, at its last reading; 26\.1% from liquidation at the worst price since\. No data/,
    );
  });

  test("is critical once however often the mark goes back", () => {
    const world = new World();
    world.read(20_000);
    for (let round = 0; round < 20; round++) {
      silent(world, 60_000, 153);
      silent(world, 30_000, 147);
    }
    expect(world.told.filter((one) => !one.includes("reminder"))).toEqual([
      "Blind main fired warning",
      "Blind main rose critical",
    ]);
  });

  test("is led by the last mark where another source, which still answers, told an older price", () => {
    const world = new World({ everyMs: { candles: 60_000 } });
    world.read(20_000);
    silent(world, 15_000, 150);
    world.config();
    volatility(world, 0.1, 150);
    world.pass(1_000);
    world.mark(140);
    silent(world, 60_000, null);
    expect(world.summaries[0]).toContain("mark down 6.67% since, at its last reading");
  });

  test("is critical once however often the value of what an account owes with goes back", () => {
    const world = new World({ rules: near.replace("< 0.05", "< 0.001") });
    world.see({ kind: "collateralAssets", atMs: world.nowMs, assets: [sol] });
    const debt = { ...pledged, collateralQuoteLots: -220_000_000n };
    world.read(20_000, [], [...far, debt]);
    for (let round = 0; round < 10; round++) {
      silent(world, 60_000, 130);
      silent(world, 60_000, 150);
    }
    expect(world.told.filter((one) => !one.includes("reminder"))).toEqual(["Blind main fired critical"]);
  });

  test("stays critical over a reload, and in the alert that gathers more wallets", () => {
    const options = { rules: near, wallets: wallets(5) };
    const world = new World(options);
    world.read(20_000, [], far);
    const other = (names: readonly string[], priceUsd: number, ms: number) => {
      for (let passed = 0; passed < ms; passed += 5_000) {
        volatility(world, 0.05, priceUsd);
        for (const { name } of options.wallets) if (names.includes(name)) world.account(far, name);
        world.pass(5_000);
      }
    };
    // Marks are missing, and other venues show a price near the liquidation of the first wallet for a moment.
    other([], 105, 60_000);
    const critical = world.told.filter((one) => one.includes("critical"));
    expect(critical).toHaveLength(1);
    other([], 150, 10_000);
    world.reload(options);
    other([], 150, 120_000);
    expect(world.told.filter((one) => one.includes("fell"))).toEqual([]);
  });

  test("is a position that could not be liquidated at its last reading, and is near at a mark since", () => {
    const world = new World({ rules: near.replace("< 0.05", "< 0.001") });
    const markets = (etherUsd: number) => {
      world.config(marketConfig(), marketConfig("ETH", { assetId: 2 }));
      world.mark(prices(150), prices(etherUsd, "ETH"));
    };
    // 10 ETH cover all that 100 SOL may lose, and no longer once they are worth little.
    const covered = subaccount(0, [position(100, 150)], {
      spotCollaterals: [{ assetIndex: 8, symbol: "ETH", balance: 10_000_000_000n, decimals: 9 }],
    });
    world.see({
      ...{ kind: "collateralAssets", atMs: world.nowMs },
      assets: [{ ...sol, assetIndex: 8, symbol: "ETH", perpAssetId: 2 }],
    });
    for (let passed = 0; passed < 20_000; passed += 5_000) {
      markets(3_000);
      world.account([covered]);
      world.pass(5_000);
    }
    for (let passed = 0; passed < 60_000; passed += 5_000) {
      markets(450);
      world.pass(5_000);
    }
    expect(world.summaries[0]).toMatch(
      /^Blind fired critical: main SOL long had no liquidation price 45s ago, mark unchanged since; 2\d\.\d+% from liquidation at the worst price since\. /,
    );
  });

  test("is the distance of the last reading, not of one before it, where that is not known", () => {
    const world = new World();
    world.read(20_000);
    const unpriced = {
      ...far[0]!,
      spotCollaterals: [{ assetIndex: 9, symbol: "XYZ", balance: 1_000n, decimals: 6 }],
    };
    world.account([unpriced]);
    silent(world, 60_000, 150);
    expect(world.summaries[0]).toMatch(/was at an unknown distance from liquidation/);
  });

  test("is no position of a stranger, whom no rule about missing data judges", () => {
    const own = near.replace("severity:", 'select: { watch: "" }\n    severity:');
    const stranger = { ...wallets(1)[0]!, name: "whale", labels: { watch: "whale" } };
    const world = new World({
      rules: own.replace("< 0.05", "< 0.001"),
      wallets: [{ ...mainWallet, labels: {} }, stranger],
    });
    for (let passed = 0; passed < 20_000; passed += 5_000) {
      world.config();
      world.mark(150);
      world.account(far);
      world.account(closer, "whale");
      world.pass(5_000);
    }
    silent(world, 60_000, null);
    expect(world.summaries[0]).toMatch(/^Blind fired warning: main SOL long was 31% from liquidation/);
    expect(world.told).toEqual([expect.stringContaining("fired warning")]);
  });

  test("prices of other venues tell it where marks are missing, too", () => {
    const world = new World();
    world.read(20_000);
    for (let passed = 0; passed < 60_000; passed += 5_000) {
      volatility(world, 0.05, 153);
      world.pass(5_000);
    }
    expect(world.summaries[0]).toMatch(
      /was 31% from liquidation 45s ago, price \(other venues\) up 2% since\./,
    );
  });

  test("is near by the price of other venues where marks are missing", () => {
    const world = new World();
    world.read(20_000);
    for (let passed = 0; passed < 60_000; passed += 5_000) {
      volatility(world, 0.05, 105);
      world.pass(5_000);
    }
    // Liquidation is at 103.49.
    expect(world.summaries[0]).toMatch(
      /^Blind fired critical: .* was 31% from liquidation 45s ago, price \(other venues\) down 30% since; 1\.4\d% from liquidation at the worst price since\. /,
    );
  });

  test("is led by a mark that has not moved before an older price of other venues", () => {
    const world = new World({ everyMs: { candles: 60_000 } });
    world.read(20_000);
    silent(world, 15_000, 150);
    world.config();
    volatility(world, 0.1, 142);
    world.pass(1_000);
    world.mark(150);
    silent(world, 60_000, null);
    expect(world.summaries[0]).not.toContain("other venues");
  });

  test("is nothing where positions and prices are read", () => {
    const rules = `
rules:
  - { name: Sold, on: liquidation, severity: critical, summary: sold }
`;
    const world = new World({ rules });
    world.read(20_000, [], closer);
    world.read(60_000, [], closer);
    expect(world.told).toEqual(["Blind main fired warning"]);
    expect(world.summaries[0]).toMatch(
      /: No data on wallet main for .*: no liquidation history ever since the start$/,
    );
  });
});

test("an alert on prices that come and go does not end while they are missing, with positions that are missing, too", () => {
  const h = new World();
  const others = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      h.config();
      h.account(far);
      h.pass(5_000);
    }
  };
  h.read(60_000);
  others(60_000);
  h.read(10_000);
  others(60_000);
  expect(h.told).toEqual([
    "Blind exchange fired warning",
    "Blind exchange ended warning recovered",
    "Blind exchange fired warning",
  ]);
  // They are read for a moment, and then nothing is.
  h.read(5_000);
  h.pass(120_000);
  expect(h.told.filter((one) => one.includes("ended"))).toHaveLength(1);
  h.read(120_000);
  expect(h.told.at(-1)).toMatch(/ended .* recovered$/);
});

test("what else the rules of a gap lack is at risk as well", () => {
  const rules = `${near}
  - { name: Loss, scope: wallet, when: wallet.pnl < -9000.0, severity: warning, noData: alert, summary: loss }
`;
  const two = wallets(2);
  const world = new World({ rules, wallets: two, remind: { critical: { every: "1m" } } });
  const unread = (): void => {
    for (const { name } of two) world.fail("collateral", name, "server-error", "collateral: 503");
  };
  for (const { name } of two) world.events("collateral", [], name);
  world.read(60_000, [], far);
  // A change that the collateral history would explain.
  for (let ms = 0; ms < 120_000; ms += 5_000) {
    world.read(5_000, [], closer);
    unread();
  }
  const blind = () => world.changes.filter(({ alert }) => alert.rule === "Blind");
  expect(blind().map(({ alert }) => alert.severity)).toEqual(["warning", "warning"]);
  for (const outage of [80_000, 120_000]) {
    for (let ms = 0; ms < outage; ms += 5_000) {
      world.nothing(5_000);
      unread();
    }
    world.read(1, [], closer);
  }
  for (const { alert, details } of blind()) {
    const lacks = details.some(([name, text]) => name === "Not read" && text.startsWith("positions"));
    if (lacks)
      expect([alert.severity, alert.description]).toEqual([
        "critical",
        expect.not.stringContaining("Positions and prices are read."),
      ]);
  }
});

test("a rule about the daemon that is due right after a no-data alert fired knows of it", () => {
  const failing = `${near}
  - { name: Failing, scope: daemon, when: daemon.failedPolls > 4.0 && daemon.noDataAlerts == 0.0, for: 35s, severity: info, summary: failing }`;
  for (let ms = 0; ms < 60_000; ms += 1_000) {
    const world = new World({ rules: failing });
    world.read(20_000);
    world.pass(ms);
    // Its figures come once: the alert fires before the rule is due, or after it.
    world.see({ kind: "daemon", atMs: world.nowMs, figures: { ...figures, failedPolls: 5 } });
    world.pass(90_000);
    const [blind, failed] = ["Blind", "Failing"].map(
      (rule) => world.changes.find((one) => one.kind === "fired" && one.alert.rule === rule)?.atMs,
    );
    expect(blind).toBeDefined();
    if (failed !== undefined) expect(failed).toBeLessThanOrEqual(blind!);
  }
});
