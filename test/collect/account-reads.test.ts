/** Accounts' data that are read only where a rule needs it, from the simulator over real sockets. */
import { expect, test } from "vitest";
import { orderName } from "../../src/domain/account.ts";
import type { Observation } from "../../src/domain/observation.ts";
import { Harness, mainWallet, rulesOf } from "../engine/harness.ts";
import { Rig } from "./rig.ts";

const minute = 60_000;
const quarter = 15 * minute;
/** The rig's clock begins at noon of this day. */
const midnight = Date.UTC(2026, 2, 1);
const none = { orderAges: () => false, equityCheck: () => false, midnightMs: () => null };
const portfolioOnly = { portfolio: { every: "1m" } };

function askedValues(rig: Rig): number {
  const { counts } = rig.simulator.requests.query(undefined);
  const ours = Object.entries(counts).filter(([path]) => path.endsWith("/portfolio-values"));
  return ours.reduce((sum, [, count]) => sum + Number(count), 0);
}

test("portfolio values are asked for only where a rule reads what they bring, and are those of whole quarters", async () => {
  let wanted = false;
  await using rig = await Rig.start({ needs: { ...none, equityCheck: () => wanted } });
  const daemon = await rig.boot(portfolioOnly);
  await rig.clock.advance(3 * minute);
  const asked = askedValues(rig);
  await rig.clock.advance(5 * minute);
  expect(askedValues(rig)).toBe(asked);
  expect(daemon.of("portfolio")).toEqual([]);
  expect(
    daemon.collectors.demand().sources.find((one) => one.source === "portfolio")!.requestsPerSecond,
  ).toBe(0);
  wanted = true;
  await rig.clock.advance(12 * minute);
  const told = daemon.of("portfolio");
  expect(told.length).toBeGreaterThan(9);
  const equities = new Map(
    daemon.of("traderView").map(({ view }) => [view.subaccount, view.portfolioValueUsd]),
  );
  for (const one of told) {
    expect(one.midnight).toBe(undefined);
    expect(one.values.length).toBe(daemon.of("accounts").at(-1)!.subaccounts.length);
    for (const { ofMs, subaccount, valueUsd } of one.values) {
      expect(ofMs % quarter).toBe(0);
      expect(one.atMs - ofMs).toBeLessThan(2 * quarter);
      expect(ofMs).toBeLessThanOrEqual(one.atMs);
      // Marks stand still here; only funding moves it.
      expect(Math.abs(valueUsd / equities.get(subaccount)! - 1)).toBeLessThan(0.001);
    }
  }
  expect(daemon.failed("portfolio")).toEqual([]);
});

test.each([
  ["was there at midnight", 24 * 60 * minute, true],
  ["began after midnight", 120 * minute, false],
  ["began in this quarter", 0, false],
])("the equity of midnight of a wallet that %s is asked for once", async (_, pastMs, there) => {
  let missing: number | null = midnight;
  await using rig = await Rig.start({ simulator: { pastMs }, needs: { ...none, midnightMs: () => missing } });
  rig.observe = async (one) => {
    if (one.kind === "portfolio" && one.midnight) missing = null;
  };
  // The exchange answers later than it is asked: what is now there ends before its own now.
  await rig.call("fault", { path: "/v1/traders/*", delayMs: 100 });
  const daemon = await rig.boot(portfolioOnly);
  await rig.clock.advance(2 * minute);
  const [told, ...more] = daemon.of("portfolio");
  expect(more).toEqual([]);
  const { subaccounts } = daemon.of("accounts")[0]!;
  expect(told!.midnight).toMatchObject({
    startMs: midnight,
    accounts: subaccounts.map(({ subaccount }) => `main/0.${subaccount}`),
  });
  if (there) expect(told!.midnight!.usd).toBeGreaterThan(100);
  else expect(told!.midnight!.usd).toBe(0);
});

test("orders that rest are asked for at each start where a rule asks for their age, with the time they were placed", async () => {
  await using rig = await Rig.start({ needs: { ...none, orderAges: () => true } });
  const { authority } = rig.main;
  const order = { authority, symbol: "SOL", side: "bid", price: "20", size: "0.5" };
  const placedMs = rig.clock.nowMs();
  const { orderSequenceNumber } = (await rig.call("order", order)) as { orderSequenceNumber: string };
  for (let start = 0; start < 2; start++) {
    await rig.clock.advance(10 * minute);
    const daemon = await rig.boot();
    await rig.clock.advance(minute);
    const told = daemon.of("events").flatMap((one) => one.resting ?? []);
    const name = orderName("SOL", orderSequenceNumber, "bid");
    const ours = told.filter((one) => one.order === name);
    expect(ours).toHaveLength(1);
    expect(Math.abs(ours[0]!.placedMs - placedMs)).toBeLessThan(1_000);
    // Stored by the first start, it is no news to the second.
    expect(daemon.events("order").some((one) => (one.data as { order: string }).order === name)).toBe(
      start === 0,
    );
    await daemon.stop();
  }
});

test("the figures of the day follow the exchange, from a start in the middle of it on", async () => {
  const rules = `
rules:
  - { name: Lost, scope: wallet, when: wallet.pnlToday < -1000000.0, severity: info, summary: "{{ wallet.feesToday }} {{ wallet.fundingToday }}" }
  - { name: Compared, scope: daemon, when: daemon.equityMismatch >= 0.0, severity: info, summary: s }
  - { name: Differs, scope: daemon, when: daemon.equityMismatch > 0.01, severity: warning, summary: s }
`;
  let watch: Harness["watch"] | null = null;
  const needs = {
    orderAges: () => watch!.needs.orderAges,
    equityCheck: () => watch!.needs.equityCheck,
    midnightMs: (wallet: string) => watch!.midnightMs(wallet),
  };
  await using rig = await Rig.start({ simulator: { pastMs: 24 * 60 * minute }, needs });
  const { authority } = rig.main;
  const wallets = [{ ...mainWallet, authority, pdaIndices: [0] }];
  const harness = new Harness({ rules: rulesOf(rules, wallets), wallets, atMs: rig.clock.nowMs() });
  watch = harness.watch;
  rig.observe = async (one: Observation) => void harness.see(one);
  await rig.boot({ portfolio: { every: "1m" }, collateral: { every: "10s" }, funding: { every: "1m" } });
  const figures = () => watch!.status(rig.clock.nowMs()).wallets[0]!.figures;
  await rig.clock.advance(3 * minute);
  const before = figures();
  expect(before.pnlToday).toBeTypeOf("number");
  expect(before.feesToday).toBeTypeOf("number");
  expect(before.fundingToday).toBeTypeOf("number");

  // Money that comes in is no profit.
  const { subaccounts } = { subaccounts: watch.status(rig.clock.nowMs()).wallets[0]!.accounts };
  const collateral = subaccounts[0]!.figures.collateral!;
  await rig.call("collateral", { authority, amount: (collateral + 500).toFixed(6) });
  await rig.clock.advance(3 * minute);
  const paidIn = figures();
  expect(paidIn.equity! - before.equity!).toBeCloseTo(500, 0);
  expect(Math.abs(paidIn.pnlToday! - before.pnlToday!)).toBeLessThan(1);

  // What marks move is.
  const status = () => watch!.status(rig.clock.nowMs());
  const mark = status().markets.find((one) => one.symbol === "SOL")!.figures.markPrice!;
  const price = (mark * 1.02).toFixed(2);
  await rig.call("order", { authority, symbol: "SOL", side: "bid", price, size: "1" });
  await rig.clock.advance(3 * minute);
  const held = figures();
  expect(held.feesToday!).toBeGreaterThan(before.feesToday!);
  const { size } = status().wallets[0]!.accounts[0]!.positions.find((one) => one.symbol === "SOL")!.figures;
  await rig.call("mark-price", { symbol: "SOL", price: (mark - 1).toFixed(2) });
  await rig.clock.advance(3 * minute);
  expect((figures().pnlToday! - held.pnlToday!) / size!).toBeCloseTo(-1, 1);

  await rig.clock.advance(6 * minute);
  expect(harness.told.filter((one) => one.includes("daemon"))).toEqual(["Compared daemon fired info"]);
});
