/** The `schedules:` section, and what it asks of the exchange. */
import { expect, test } from "vitest";
import { demandOf, scheduleMs, scheduleSettings } from "../../src/collect/index.ts";
import { realSchedulesMs } from "../../src/collect/schedule/demand.ts";

const nowMs = Date.parse("2026-06-01T00:00:00Z");

test("an empty section has the usual schedules", () => {
  const settings = scheduleSettings.parse({});
  expect(settings.traderState).toEqual({ kind: "interval", everyMs: 5_000, atRiskMs: 1_000 });
  expect(settings.markets).toMatchObject({ everyMs: 2_000 });
  expect(scheduleMs(settings.marketConfig, nowMs)).toBe(8_000);
  expect(scheduleMs(settings.exchangeStatus, nowMs)).toBe(10_000);
});

test("durations, intervals at risk and calendars are read", () => {
  const settings = scheduleSettings.parse({
    traderState: { every: "1s" },
    funding: { cron: "0 1 * * * *", timezone: "Europe/Berlin" },
  });
  expect(settings.traderState).toEqual({ kind: "interval", everyMs: 1_000, atRiskMs: null });
  expect(settings.funding).toEqual({ kind: "calendar", cron: "0 1 * * * *", timezone: "Europe/Berlin" });
  expect(scheduleMs(settings.funding, nowMs)).toBe(3_600_000);
});

test.each([
  [{ traderStates: { every: "1s" } }, "", "traderStates"],
  [{ markets: { every: "1 s" } }, "markets.every", "duration"],
  [{ markets: { every: "50ms" } }, "markets.every", "100ms or more"],
  [{ markets: { every: "1s", atRisk: "1s" } }, "markets", "atRisk"],
  [{ markets: { cron: "nonsense" } }, "markets.cron", "cron expression"],
  [{ markets: { cron: "0 0 8 * * *", timezone: "Mars/Base" } }, "markets.cron", "no time zone"],
  [{ markets: "2s" }, "markets", "object"],
])("%j is refused where it is wrong", (value, path, message) => {
  const parsed = scheduleSettings.safeParse(value);
  const issues = parsed.error?.issues ?? [];
  expect(issues.map((one) => one.path.join("."))).toContain(path);
  expect(issues.map((one) => one.message).join()).toContain(message);
});

const wallet = { watchOnly: false, pdaIndices: [0], accounts: 2 };

test("demand under the ceiling leaves the schedules as they are", () => {
  const settings = scheduleSettings.parse({});
  const demand = demandOf({ settings, requestsPerSecond: 20, wallets: [wallet], markets: 4, nowMs });
  expect(demand.wantedPerSecond).toBeGreaterThan(1);
  expect(demand.wantedPerSecond).toBeLessThan(2);
  for (const one of demand.sources) expect(one.effectiveMs).toBe(one.everyMs);
});

test("demand above it stretches what is less urgent first, and nothing for ever", () => {
  const settings = scheduleSettings.parse({});
  const at = (wallets: number) =>
    demandOf({ settings, requestsPerSecond: 20, wallets: Array(wallets).fill(wallet), markets: 4, nowMs });
  const stretch = (demand: ReturnType<typeof at>, source: string) => {
    const one = demand.sources.find((it) => it.source === source)!;
    return one.effectiveMs / one.everyMs;
  };
  const some = at(60);
  expect(stretch(some, "traderState")).toBe(1);
  expect(stretch(some, "fills")).toBeGreaterThan(1.5);
  const many = at(1_000);
  expect(stretch(many, "traderState")).toBeGreaterThan(5);
  expect(stretch(many, "fills")).toBeGreaterThan(stretch(many, "traderState"));
  for (const demand of [some, many]) {
    const effective = demand.sources.reduce(
      (sum, one) => sum + (one.requestsPerSecond * one.everyMs) / one.effectiveMs,
      0,
    );
    expect(effective).toBeLessThanOrEqual(20 * 0.9 + 0.001);
  }
});

test("wallets at risk are counted at their own interval, and are not stretched", () => {
  const settings = scheduleSettings.parse({});
  const calm = demandOf({ settings, requestsPerSecond: 20, wallets: [wallet], nowMs });
  const risky = demandOf({ settings, requestsPerSecond: 20, wallets: [{ ...wallet, atRisk: true }], nowMs });
  expect(risky.wantedPerSecond - calm.wantedPerSecond).toBeCloseTo(1 - 1 / 5, 6);
});

test("the market list and the exchange's status keep their pace under any ceiling, and their figures for long", () => {
  const wallet = { watchOnly: false, pdaIndices: [0] };
  const settings = scheduleSettings.parse({});
  const input = { settings, requestsPerSecond: 1, wallets: Array(12).fill(wallet), nowMs };
  const { sources } = demandOf(input);
  const of = (name: string) => sources.find(({ source }) => source === name)!;
  expect(of("traderState").effectiveMs).toBeGreaterThan(10_000);
  expect(of("marketConfig")).toMatchObject({ everyMs: 8_000, effectiveMs: 8_000 });
  expect(of("exchangeStatus")).toMatchObject({ everyMs: 10_000, effectiveMs: 10_000 });
  expect(realSchedulesMs(input)).toMatchObject({ marketConfig: 600_000, exchangeStatus: 30_000 });
  const often = scheduleSettings.parse({ marketConfig: { every: "200ms" } });
  const shares = demandOf({ ...input, settings: often }).sources;
  const effectiveMs = (name: string) => shares.find(({ source }) => source === name)!.effectiveMs;
  expect(effectiveMs("marketConfig")).toBeGreaterThan(7_000);
  expect(effectiveMs("exchangeStatus")).toBe(10_000);
  const seldom = scheduleSettings.parse({ marketConfig: { every: "1h" } });
  expect(realSchedulesMs({ ...input, settings: seldom }).marketConfig).toBe(3_600_000);
});
