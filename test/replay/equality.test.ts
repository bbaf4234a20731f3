/**
 * A backtest over the recording of a live run gives exactly the alerts that the live run gave: whatever was observed, with
 * reads that failed, starts after stops and crashes, and reloads in it. The live side is the real queue and the real store.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { SubaccountState } from "../../src/domain/account.ts";
import type { AlertChange } from "../../src/domain/alert.ts";
import type { Clock } from "../../src/domain/clock.ts";
import type { Observation, Source } from "../../src/domain/observation.ts";
import type { History } from "../../src/history/index.ts";
import { openStore } from "../../src/history/index.ts";
import { IngestLoop } from "../../src/ingest/loop.ts";
import { rememberedWatch } from "../../src/ingest/remember.ts";
import { backtest } from "../../src/replay/backtest.ts";
import { temporaryFolder } from "../history/folder.ts";
import {
  event,
  marketConfig,
  notification,
  position,
  prices,
  settingsOf,
  startMs,
  subaccount,
} from "../watch/harness.ts";

const rules = `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      info: { when: value < 0.5, resolveWhen: value > 0.55 }
      warning: { when: value < 0.3 }
      critical: { when: value < 0.15, resolveWhen: value > 0.2 }
    for: 4s
    keepFiringFor: 10s
    summary: "{{ wallet.name }} {{ position.symbol }} {{ position.side }} {{ percent(value) }} at {{ price(position.markPrice) }}"
    description: "{{ usd(trader.equity) }}, {{ duration(wallet.dataAge) }} old"
  - name: Falls
    scope: market
    when: change("market.markPrice", "30s") < -10.0
    severity: warning
    for: 0s
    keepFiringFor: 5s
    summary: "{{ market.symbol }} fell by {{ amount(change(\\"market.markPrice\\", \\"30s\\")) }}"
  - name: Shrinks
    scope: trader
    when: drawdown("trader.equity", "1m") > 0.1
    severity: critical
    for: 2s
    summary: "{{ trader.name }} lost {{ percent(drawdown(\\"trader.equity\\", \\"1m\\")) }}"
  - name: Pays
    scope: wallet
    when: sumOver("funding.payment", "1m") < -5.0
    severity: info
    for: 0s
    keepFiringFor: 0s
    summary: "{{ wallet.name }} paid {{ usd(sumOver(\\"funding.payment\\", \\"1m\\")) }}"
  - name: Poorer
    scope: wallet
    value: wallet.pnl
    levels:
      warning: { when: value < -400.0 }
      critical: { when: value < -1200.0, resolveWhen: value > -800.0 }
    for: 2s
    keepFiringFor: 6s
    noData: keep
    summary: "{{ wallet.name }} {{ usd(value) }} of {{ usd(wallet.netDeposits) }}"
  - name: Sinking
    scope: wallet
    when: change("wallet.pnl", "30s") < -300.0 || drawdown("wallet.pnl", "5m") > 0.1
    severity: info
    noData: keep
    summary: "{{ usd(wallet.pnl) }}"
  - name: Filled
    on: notification
    when: event.type == "order_filled"
    severity: info
    throttle: 20s
    summary: "{{ event.symbol }} filled"
  - name: Lost
    on: liquidation
    when: event.role == "liquidatee"
    severity: critical
    summary: "{{ wallet.name }} lost {{ event.symbol }}, margin {{ percent(trader.marginRatio) }}"
  - name: Shut
    scope: exchange
    when: "!exchange.active"
    severity: warning
    for: 3s
    summary: shut
`;

const settings = settingsOf({
  rules,
  routing: {
    receivers: ["all"],
    routes: [{ match: { severity: "critical" }, receivers: ["loud", "all"] }],
  },
  remind: { critical: { every: "20s", acknowledgedFor: "1m" } },
});

type Step =
  | { readonly do: "pass"; readonly ms: number; readonly failing: readonly Source[] }
  | { readonly do: "mark"; readonly usd: number; readonly live: boolean }
  | { readonly do: "hold"; readonly size: number; readonly collateral: number; readonly sequence: number }
  | {
      readonly do: "events";
      readonly kind: "fill" | "funding" | "filled" | "liquidation" | "collateral";
      readonly key: number;
    }
  | { readonly do: "status"; readonly active: boolean }
  | { readonly do: "acknowledge" }
  | { readonly do: "reload" }
  | { readonly do: "restart"; readonly downMs: number; readonly crash: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("pass" as const),
      ms: fc.integer({ min: 100, max: 25_000 }),
      failing: fc.oneof(
        { weight: 4, arbitrary: fc.constant([]) },
        {
          weight: 1,
          arbitrary: fc.subarray(["traderState", "markets", "notifications"] as Source[], { minLength: 1 }),
        },
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("mark" as const),
      usd: fc.integer({ min: 90, max: 190 }),
      live: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("hold" as const),
      size: fc.constantFrom(0, 20, -20, 60, 100),
      collateral: fc.integer({ min: 500, max: 6_000 }),
      sequence: fc.integer({ min: 1, max: 2 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("events" as const),
      kind: fc.constantFrom(
        ...(["fill", "funding", "filled", "liquidation", "collateral", "collateral"] as const),
      ),
      key: fc.integer({ min: 1, max: 6 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("status" as const), active: fc.boolean() }) },
  { weight: 1, arbitrary: fc.constant({ do: "acknowledge" as const }) },
  { weight: 2, arbitrary: fc.constant({ do: "reload" as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("restart" as const),
      downMs: fc.integer({ min: 1, max: 90_000 }),
      crash: fc.boolean(),
    }),
  },
);

/** Levels, a crash and a stop while something fires, a failed read, events, an acknowledgement, a reload. */
const eventful: Step[] = [
  { do: "mark", usd: 128, live: false },
  { do: "pass", ms: 12_000, failing: [] },
  { do: "events", kind: "filled", key: 1 },
  { do: "events", kind: "filled", key: 2 },
  { do: "restart", downMs: 70_000, crash: true },
  { do: "pass", ms: 9_000, failing: [] },
  { do: "acknowledge" },
  { do: "mark", usd: 121, live: true },
  { do: "pass", ms: 25_000, failing: ["traderState"] },
  { do: "events", kind: "funding", key: 6 },
  { do: "reload" },
  { do: "status", active: false },
  { do: "pass", ms: 60_000, failing: [] },
  { do: "restart", downMs: 5_000, crash: false },
  { do: "hold", size: 0, collateral: 1_500, sequence: 1 },
  { do: "events", kind: "liquidation", key: 1 },
  { do: "pass", ms: 80_000, failing: ["markets"] },
];

/** The daemon without its edges: the queue, the watch and the database, and a world that answers. */
class Live {
  readonly #file: string;
  readonly #clock: Clock;
  #store: History;
  #loop!: IngestLoop;
  nowMs = startMs;
  #slot = 1;
  #usd = 150;
  #held = { size: 60, collateral: 2_000, sequence: 1 };

  constructor(file: string) {
    this.#file = file;
    this.#clock = {
      nowMs: () => this.nowMs,
      elapsedMs: () => this.nowMs - startMs,
      // Time is fed by hand.
      after: () => () => {},
      sleep: () => Promise.resolve(),
    };
    this.#store = openStore({ path: file });
  }

  async start(lastAliveMs: number | null): Promise<void> {
    const watch = await rememberedWatch(settings, this.#store, this.nowMs);
    this.#loop = new IngestLoop({
      watch,
      store: this.#store,
      clock: this.#clock,
      onCommitted: () => {},
      onStuck: () => {},
      onAsk: () => {},
      onNote: () => {},
      onDegraded: () => {},
      onBroken: (error) => {
        throw error;
      },
    });
    await this.#see({ kind: "started", atMs: this.nowMs, version: "1", lastAliveMs });
  }

  async #see(...observations: readonly Observation[]): Promise<void> {
    await Promise.all(observations.map((one) => this.#loop.observe(one)));
    await this.#loop.settled();
  }

  async #answers(failing: readonly Source[]): Promise<void> {
    const { nowMs: atMs } = this;
    const failed = (source: Source, wallet: string | null): Observation => ({
      kind: "failed",
      source,
      wallet,
      symbol: null,
      atMs,
      reason: "timeout",
      detail: "no answer",
    });
    const read = (source: Source): Observation => ({
      kind: "events",
      source,
      wallet: "main",
      atMs,
      events: [],
    });
    const market = failing.includes("markets")
      ? failed("markets", null)
      : ({ kind: "prices", atMs, markets: [prices(this.#usd)] } as const);
    await this.#see(
      { kind: "marketConfig", atMs, markets: [marketConfig()] },
      market,
      failing.includes("traderState") ? failed("traderState", "main") : this.#accounts(),
      failing.includes("notifications") ? failed("notifications", "main") : read("notifications"),
      read("liquidations"),
      read("funding"),
      read("collateral"),
      { kind: "exchangeStatus", atMs, active: this.#active, gated: false, withdrawalsAvailable: true },
    );
  }

  #active = true;
  /** The parts of the last state of the account that the next one shares while it is held. */
  #shown: { readonly of: object; readonly shared: Partial<SubaccountState> } | null = null;
  /** Collateral before the newest change of it. */
  #before = 0;

  #accounts(): Observation {
    this.#slot += 10;
    const { size, collateral, sequence } = this.#held;
    const positions = size === 0 ? [] : [{ ...position(size, 150), sequence: String(sequence) }];
    const state = subaccount(collateral, positions, { sequence: this.#slot });
    // An answer shares with the one before what is the same, as the collector has it.
    if (this.#shown?.of === this.#held) Object.assign(state, this.#shown.shared);
    else {
      const { positions, orders, spotCollaterals } = state;
      this.#shown = { of: this.#held, shared: { positions, orders, spotCollaterals } };
    }
    return {
      kind: "accounts",
      wallet: "main",
      pdaIndex: 0,
      atMs: this.nowMs,
      slot: this.#slot,
      slotIndex: 0,
      subaccounts: [state],
    };
  }

  async run(one: Step): Promise<void> {
    const { nowMs: atMs } = this;
    switch (one.do) {
      case "pass": {
        const untilMs = this.nowMs + one.ms;
        while (this.nowMs < untilMs) {
          const dueMs = this.#loop.watch.nextDeadlineMs() ?? untilMs;
          this.nowMs = Math.min(untilMs, this.nowMs + 1_000, Math.max(dueMs, this.nowMs + 1));
          await this.#see({ kind: "time", atMs: this.nowMs });
          if (Math.floor(this.nowMs / 4_000) !== Math.floor((this.nowMs - 1_000) / 4_000))
            await this.#answers(one.failing);
        }
        return;
      }
      case "mark":
        this.#usd = one.usd;
        return this.#see({
          kind: "prices",
          atMs,
          markets: [prices(one.usd)],
          ...(one.live ? { live: true } : {}),
        });
      case "hold":
        this.#before = this.#held.collateral;
        this.#held = one;
        return this.#see(this.#accounts());
      case "events":
        return this.#see(this.#event(one.kind, one.key));
      case "status":
        this.#active = one.active;
        return this.#see({
          kind: "exchangeStatus",
          atMs,
          active: one.active,
          gated: false,
          withdrawalsAvailable: true,
        });
      case "acknowledge": {
        const [alert] = await this.#store.alerts({ limit: 1 });
        if (alert) await this.#see({ kind: "acknowledged", atMs, alert, by: "me", comment: "" });
        return;
      }
      case "reload":
        return this.#loop.replace((before) =>
          rememberedWatch({ ...settings, reloaded: true }, this.#store, this.nowMs, before),
        );
      case "restart":
        if (!one.crash) {
          await this.#see({ kind: "stopped", atMs });
          await this.#loop.stop();
        }
        await this.#store.close();
        this.nowMs += one.downMs;
        this.#store = openStore({ path: this.#file });
        return this.start(atMs);
    }
  }

  #event(kind: (Step & { do: "events" })["kind"], key: number): Observation {
    const { nowMs: atMs } = this;
    const common = { key: `${kind} ${key}`, happenedMs: atMs - 500, seenMs: atMs, slot: this.#slot };
    const of = (source: Source, told: ReturnType<typeof event>): Observation => ({
      kind: "events",
      source,
      wallet: "main",
      atMs,
      events: [told],
    });
    switch (kind) {
      case "fill":
        return of("fills", event({ kind, ...common, fields: { side: "ask", price: this.#usd, size: 1 } }));
      case "funding":
        return of(
          "funding",
          event({ kind, ...common, fields: { payment: -key, rate: 0.001, size: 1, side: "long" } }),
        );
      case "collateral": {
        const fields = { eventType: "deposit", amountUsd: this.#held.collateral - this.#before };
        return of("collateral", event({ kind, ...common, symbol: null, fields }));
      }
      case "filled":
        return of("notifications", notification(common.key, "order_filled", common));
      case "liquidation":
        return of(
          "liquidations",
          event({ kind, ...common, fields: { kind: "market", role: "liquidatee", positionClosed: true } }),
        );
    }
  }

  async end(): Promise<{ changes: readonly AlertChange[]; owed: readonly string[] }> {
    await this.#loop.stop();
    const changes = await this.#store.alertChanges({});
    const owed = await this.#store.owed({});
    await this.#store.close();
    return { changes, owed: owed.map(({ receiver, changeId }) => `${changeId} ${receiver}`) };
  }
}

/** All that a change says, but for the numbers by which rows are known. */
function said({ kind, atMs, alert, details, happenedMs, stands, quietIfAcknowledged }: AlertChange) {
  const { id: _, ...rest } = alert;
  return { kind, atMs, alert: rest, details, happenedMs, stands, quietIfAcknowledged };
}

test("a backtest over the recording gives the alerts of the live run", { timeout: 240_000 }, async () => {
  let alerts = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      using folder = temporaryFolder();
      const live = new Live(folder.file());
      await live.start(null);
      await live.run({ do: "pass", ms: 6_000, failing: [] });
      for (const one of steps) await live.run(one);
      const was = await live.end();
      const history = openStore({ path: folder.file(), readonly: true });
      try {
        const ran = await backtest({
          settings,
          rulesFor: () => settings.ruleSet,
          history,
          fromMs: startMs,
          toMs: live.nowMs + 1,
        });
        expect(ran.periods.map(({ resolution }) => resolution)).toEqual(["raw"]);
        expect(ran.journal.changes.map(said)).toEqual(was.changes.map(said));
        const told = ran.journal.messages.flatMap(({ receiver, changes }) =>
          changes.map(({ id }) => `${id} ${receiver}`),
        );
        expect(told.sort()).toEqual([...was.owed].sort());
        alerts += was.changes.length;
      } finally {
        await history.close();
      }
    }),
    { numRuns: Number(process.env.RUNS ?? 12), examples: [[eventful]] },
  );
  // Runs in which nothing happens prove nothing; one of them is known to be eventful.
  expect(alerts).toBeGreaterThan(15);
});
