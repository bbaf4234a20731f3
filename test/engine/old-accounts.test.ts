/** Positions that are too old, and prices that are not: the last known positions are judged at the current marks. */
import { describe, expect, test } from "vitest";
import { event, figures, Harness, mainWallet, position, prices, startMs, subaccount } from "./harness.ts";

const near = (more = ""): string => `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < 0.15 }
      critical: { when: value < 0.05 }
    keepFiringFor: 0s
    summary: "{{ wallet.name }} {{ position.symbol }} is {{ percent(value) }} from liquidation"
${more}`;

/** 100 SOL long at 150, liquidated at 124.14: 17.2 % away. */
const held = [subaccount(3_000, [position(100, 150)])];

/** Prices every second, live; positions as long as `read`. */
function stream(h: Harness, ms: number, usd: number, read = false): void {
  for (let passed = 0; passed < ms; passed += 1_000) {
    if (passed % 5_000 === 0) h.config();
    if (passed % 5_000 === 0) h.mark(usd);
    if (read && passed % 5_000 === 0) h.account(held);
    h.pass(1_000);
  }
}

/** Tells that the stream is connected, or is not. */
function connected(h: Harness, streamConnected: boolean): void {
  h.see({ kind: "daemon", atMs: h.nowMs, figures: { ...figures, streamConnected } });
}

function begun(rules = near()): Harness {
  const h = new Harness({ rules });
  stream(h, 20_000, 150, true);
  return h;
}

/** Accounts are as old as a standstill of the process, after which the stream, still connected, brings another price. */
function afterStandstill(): Harness {
  const h = begun();
  connected(h, true);
  stream(h, 15_000, 150);
  h.nowMs += 30_000;
  h.config();
  h.see({ kind: "prices", atMs: h.nowMs, markets: [prices(126)], live: true });
  return h;
}

const own = (h: Harness) =>
  h.changes.filter(({ alert, kind }) => alert.rule === "Near" && kind !== "reminder");
const told = (h: Harness) => own(h).map(({ kind, alert }) => `${kind} ${alert.severity}`);

describe("positions that are too old", () => {
  test("fire at the current marks, labelled with their age; what lacks data is reported beside it", () => {
    const h = begun();
    stream(h, 25_000, 150);
    expect(h.told).toEqual([]);
    stream(h, 1_000, 140);
    expect(told(h)).toEqual(["fired warning"]);
    const { alert, details, atMs } = own(h)[0]!;
    expect(atMs - startMs).toBe(45_000);
    expect(alert.summary).toBe("main SOL is 11.3% from liquidation (positions as of 12:00:15 UTC, 30s old)");
    expect(details[0]).toEqual(["Judged by", "positions as of 12:00:15 UTC, 30s old"]);
    expect(alert.dataAtMs).toBe(startMs + 15_000);
    stream(h, 60_000, 140);
    expect(h.told.filter((line) => line.startsWith("Blind"))).toEqual(["Blind main fired critical"]);
  });

  test("raise an alert, and never lower or end it", () => {
    const h = begun();
    stream(h, 5_000, 140, true);
    expect(told(h)).toEqual(["fired warning"]);
    stream(h, 60_000, 140);
    stream(h, 5_000, 128);
    expect(told(h)).toEqual(["fired warning", "rose critical"]);
    expect(own(h)[1]!.alert.summary).toMatch(
      /3\.02% from liquidation \(positions as of 12:00:20 UTC, 1m 5s old\)$/,
    );
    stream(h, 60_000, 140);
    stream(h, 600_000, 190);
    expect(told(h)).toEqual(["fired warning", "rose critical"]);
    // Read again, it is judged as ever.
    stream(h, 5_000, 140, true);
    expect(told(h).slice(2)).toEqual(["fell warning"]);
    expect(own(h)[2]!.alert.summary).toBe("main SOL is 11.3% from liquidation");
    stream(h, 5_000, 190, true);
    expect(told(h).slice(3)).toEqual(["ended warning"]);
  });

  test("a reminder and the status state their age", () => {
    const h = begun();
    stream(h, 5_000, 126, true);
    stream(h, 6 * 60_000, 126);
    const reminder = h.changes.find(({ alert, kind }) => alert.rule === "Near" && kind === "reminder")!;
    expect(reminder.alert.summary).toMatch(/\(positions as of 12:00:20 UTC, 5m old\)$/);
    const firing = h.watch.status(h.nowMs).firing.find(({ rule }) => rule === "Near")!;
    expect(firing.summary).toMatch(/\(positions as of 12:00:20 UTC, 6m \d+s old\)$/);
  });

  test("figures that moved with the marks since they could be judged are as of the positions, in the status, too", () => {
    const loss = `
rules:
  - name: Loss
    scope: wallet
    when: wallet.equity < 2500.0 && wallet.unacked < 5
    severity: critical
    for: 0s
    summary: "equity {{ usd(wallet.equity) }}"`;
    const h = begun(loss);
    h.see({ kind: "events", source: "notifications", wallet: "main", atMs: h.nowMs, events: [], unacked: 0 });
    stream(h, 10_000, 140, true);
    expect(h.told).toEqual(["Loss main fired critical"]);
    stream(h, 60_000, 135);
    const [firing] = h.watch.status(h.nowMs).firing.filter(({ rule }) => rule === "Loss");
    expect(firing).toMatchObject({
      summary: "equity $1,500.00 (positions as of 12:00:25 UTC, 1m 5s old)",
      textAtMs: h.nowMs,
    });
  });

  test("count for the time that a condition has to hold", () => {
    const h = begun(near().replace("keepFiringFor: 0s", "keepFiringFor: 0s\n    for: 30s"));
    stream(h, 60_000, 150);
    stream(h, 29_000, 128);
    expect(told(h)).toEqual([]);
    stream(h, 5_000, 128);
    expect(told(h)).toEqual(["fired critical"]);
  });

  test("a condition that is on its way is not put back by them", () => {
    const h = begun(near().replace("keepFiringFor: 0s", "keepFiringFor: 0s\n    for: 40s"));
    stream(h, 20_000, 128, true);
    stream(h, 11_000, 128);
    stream(h, 120_000, 190);
    expect(told(h)).toEqual([]);
    // Thirty seconds were known before.
    stream(h, 9_000, 128, true);
    expect(told(h)).toEqual([]);
    stream(h, 3_000, 128, true);
    expect(told(h)).toEqual(["fired critical"]);
  });

  const unstopped = (): string => `
rules:
  - name: Near
    scope: position
    when: "!position.hasStopLoss && position.notional > 10000.0"
    severity: warning
    for: 5m
    keepFiringFor: 0s
    summary: "{{ position.symbol }} has no stop loss"`;

  test("are nothing that a new reading counts: nobody saw what was held meanwhile", () => {
    const h = begun(unstopped());
    stream(h, 40_000, 150, true);
    stream(h, 4 * 60_000, 150);
    // A minute was read before, and fifteen seconds more until that was too old.
    stream(h, 3 * 60_000 + 40_000, 150, true);
    expect(told(h)).toEqual([]);
    stream(h, 20_000, 150, true);
    expect(told(h)).toEqual(["fired warning"]);
    expect(own(h)[0]!.alert.summary).toBe("SOL has no stop loss");
  });

  test("fire as long as they are not read again, with the time that was read before", () => {
    const h = begun(unstopped());
    stream(h, 40_000, 150, true);
    stream(h, 4 * 60_000 + 4_000, 150);
    expect(told(h)).toEqual([]);
    stream(h, 2_000, 150);
    expect(told(h)).toEqual(["fired warning"]);
    expect(own(h)[0]!.alert.summary).toMatch(
      /^SOL has no stop loss \(positions as of 12:00:55 UTC, 4m 10s old\)$/,
    );
  });

  test("begin anew where they do not hold in between", () => {
    const h = begun(near().replace("keepFiringFor: 0s", "keepFiringFor: 0s\n    for: 30s"));
    stream(h, 30_000, 150);
    for (const usd of [128, 150, 128, 150]) stream(h, 20_000, usd);
    expect(told(h)).toEqual([]);
    stream(h, 35_000, 128);
    expect(told(h)).toEqual(["fired critical"]);
  });

  test("fire at the level that holds, below one that was on its way when they were read", () => {
    const h = begun(near().replace("keepFiringFor: 0s", "keepFiringFor: 0s\n    for: 30s"));
    stream(h, 10_000, 128, true);
    stream(h, 20_000, 128);
    stream(h, 35_000, 140);
    expect(told(h)).toEqual(["fired warning"]);
    stream(h, 600_000, 160);
    expect(told(h)).toEqual(["fired warning"]);
  });

  test("leave no time behind for a restart", () => {
    const before = begun(unstopped());
    stream(before, 40_000, 150, true);
    stream(before, 4 * 60_000, 150);
    const { remembered, nowMs } = before;
    const h = new Harness({ rules: unstopped(), remembered, atMs: nowMs + 1_000 });
    stream(h, 3 * 60_000 + 40_000, 150, true);
    expect(told(h)).toEqual([]);
    stream(h, 20_000, 150, true);
    expect(told(h)).toEqual(["fired warning"]);
  });

  test("are not judged where prices are too old, too, or nothing but the account is read", () => {
    const h = begun(`
rules:
  - name: Near
    scope: trader
    when: trader.collateral < 3100.0 && now > timestamp("2026-01-05T12:00:40Z")
    severity: critical
    summary: poor
  - name: Near2
    scope: position
    when: position.liquidationDistance < 0.2 && now > timestamp("2026-01-05T12:00:40Z")
    severity: critical
    summary: near
`);
    h.pass(300_000);
    expect(h.told.filter((line) => line.startsWith("Near"))).toEqual([]);
  });

  test("are not judged in the moment after the process stood still", () => {
    const h = begun();
    h.nowMs += 8 * 3_600_000;
    h.see({ kind: "time", atMs: h.nowMs });
    h.config();
    h.mark(126);
    h.pass(1_000);
    h.account([subaccount(3_000, [])]);
    stream(h, 60_000, 126);
    expect(told(h)).toEqual([]);
  });

  test("are not judged in the moment in which prices are read again after an outage", () => {
    const h = begun();
    h.pass(120_000);
    h.config();
    h.mark(126);
    h.pass(1_000);
    h.mark(126);
    h.account([subaccount(3_000, [])]);
    stream(h, 10_000, 126);
    expect(told(h)).toEqual([]);
  });

  test("are judged after an outage when the account is still not read seconds after prices are", () => {
    const h = begun();
    h.pass(120_000);
    stream(h, 4_000, 126);
    expect(told(h)).toEqual([]);
    stream(h, 1_000, 126);
    expect(told(h)).toEqual(["fired critical"]);
    expect(own(h)[0]!.alert.summary).toMatch(/ \(positions as of 12:00:15 UTC, 2m 10s old\)$/);
  });

  test("are judged at the first price after a quiet time of a stream that is connected", () => {
    const h = begun();
    connected(h, true);
    h.pass(60_000);
    h.config();
    h.see({ kind: "prices", atMs: h.nowMs, markets: [prices(126)], live: true });
    expect(told(h)).toEqual(["fired critical"]);
    expect(own(h)[0]!.alert.summary).toMatch(/ \(positions as of 12:00:15 UTC, 1m 5s old\)$/);
  });

  test("are not judged at the first price after a standstill of the process, though the stream is connected", () => {
    const h = afterStandstill();
    h.pass(2_000);
    h.account([subaccount(3_000, [])]);
    stream(h, 10_000, 126);
    expect(told(h)).toEqual([]);
  });

  test("are judged seconds after a standstill of the process, though the stream is connected and brings nothing more", () => {
    const h = afterStandstill();
    h.pass(5_000);
    expect(told(h)).toEqual(["fired critical"]);
  });

  test("are not judged at the first price of a stream that is connected again", () => {
    const h = begun();
    connected(h, false);
    h.pass(60_000);
    h.config();
    h.see({ kind: "prices", atMs: h.nowMs, markets: [prices(126)], live: true });
    h.pass(1_000);
    h.mark(126);
    h.account([subaccount(3_000, [])]);
    stream(h, 10_000, 126);
    expect(told(h)).toEqual([]);
  });

  test("are judged seconds after they became too old although no other price comes", () => {
    const h = begun();
    connected(h, true);
    stream(h, 15_000, 150);
    h.see({ kind: "prices", atMs: h.nowMs, markets: [prices(126)], live: true });
    expect(told(h)).toEqual([]);
    h.pass(5_000);
    expect(told(h)).toEqual(["fired critical"]);
  });

  test("are not judged by a timer that the account's answer overtakes", () => {
    const h = begun(near().replace("keepFiringFor: 0s", "keepFiringFor: 0s\n    for: 5s"));
    stream(h, 60_000, 150);
    h.mark(126);
    // The answer comes a moment after the five seconds are over, and before anybody looked.
    h.nowMs += 5_010;
    h.account([subaccount(3_000, [])]);
    stream(h, 10_000, 126);
    expect(told(h)).toEqual([]);
  });

  test("stand in no message that does not state their age", () => {
    const h = new Harness({
      rules: `
rules:
  - name: Near
    scope: position
    when: sumOver("funding.payment", "24h") < -1.0
    severity: info
    summary: "paid {{ usd(-sumOver('funding.payment', '24h')) }}, {{ usd(position.notional) }}"
`,
    });
    stream(h, 20_000, 150, true);
    const paid = (key: string) =>
      h.events("funding", [
        event({
          kind: "funding",
          key,
          happenedMs: h.nowMs,
          fields: { payment: -5, size: 100, side: "long" },
        }),
      ]);
    h.pass(60_000);
    paid("f1");
    expect(own(h).map(({ alert, details }) => [alert.summary, details])).toEqual([["paid $5.00, –", []]]);
    stream(h, 5_000, 160);
    const now = () => h.watch.status(h.nowMs).firing.find(({ rule }) => rule === "Near")!;
    expect(now().summary).toBe("paid $5.00, $16,000.00 (positions as of 12:00:15 UTC, 1m 10s old)");
  });

  test("stand with their age in texts of a rule that does not rest on them", () => {
    const h = begun(`
rules:
  - name: Near
    scope: position
    value: market.markPrice / market.oraclePrice
    levels: { warning: { when: market.markPrice < 145.0 } }
    for: 0s
    keepFiringFor: 0s
    summary: "mark {{ price(market.markPrice) }}: you hold {{ usd(position.notional) }}"
`);
    stream(h, 25_000, 150);
    stream(h, 5_000, 140);
    expect(told(h)).toEqual(["fired warning"]);
    const { alert, details } = own(h)[0]!;
    expect(alert.summary).toBe("mark $140.00: you hold $14,000.00 (positions as of 12:00:15 UTC, 30s old)");
    expect(details[0]).toEqual(["Judged by", "positions as of 12:00:15 UTC, 30s old"]);
    stream(h, 5_000, 150);
    expect(own(h)[1]!.alert.summary).toBe(
      "mark $150.00: you hold $15,000.00 (positions as of 12:00:15 UTC, 35s old)",
    );
    h.account(held);
    stream(h, 5_000, 140, true);
    expect(own(h)[2]!.alert.summary).toBe("mark $140.00: you hold $14,000.00");
  });

  test("are not known after a restart, and the alert goes on", () => {
    const before = begun();
    stream(before, 40_000, 150);
    stream(before, 5_000, 140);
    expect(told(before)).toEqual(["fired warning"]);
    const { remembered, nowMs } = before;
    const after = new Harness({ rules: near(), remembered, atMs: nowMs + 1_000 });
    stream(after, 60_000, 126);
    expect(told(after)).toEqual([]);
    stream(after, 5_000, 150, true);
    expect(told(after)).toEqual(["ended warning"]);
  });

  test("end with a wallet that is no longer watched", () => {
    const before = begun();
    stream(before, 40_000, 150);
    stream(before, 5_000, 140);
    const { remembered, nowMs } = before;
    const other = { ...mainWallet, name: "other" };
    const after = new Harness({
      rules: near(),
      wallets: [other],
      remembered,
      atMs: nowMs + 1_000,
      reloaded: true,
    });
    after.pass(1_000);
    expect(after.told).toContain("Near main/0.0/SOL ended warning noLongerWatched");
  });
});

/** A level that reads the account beside the position, as the shipped rule has it. */
const joint = (): string =>
  near().replace(
    "critical: { when: value < 0.05 }",
    `critical:
        when: value < 0.05 || (trader.adverseMoveToLiquidation < 0.05 && trader.positions.all(other, other.liquidationDistance >= value))
        resolveWhen: value > 0.06 && trader.adverseMoveToLiquidation > 0.06`,
  );

test.each([
  ["its own figures", near()],
  ["the account's, too", joint()],
])("a position that is gone when it is read again ends with the figures that it last had: %s", (_, rules) => {
  const h = begun(rules);
  stream(h, 5_000, 140, true);
  stream(h, 40_000, 128);
  expect(told(h)).toEqual(["fired warning", "rose critical"]);
  h.account([subaccount(3_000, [])]);
  stream(h, 90_000, 128);
  expect(told(h).slice(2)).toEqual(["ended critical"]);
  expect(own(h)[2]!.alert.ending).toBe("closed");
  expect(own(h)[2]!.alert.summary).toContain("3.02% from liquidation");
});

test.each([
  ["its own figures", near()],
  ["the account's, too", joint()],
])("and where the prices are too old as well: %s", (_, rules) => {
  const h = begun(rules);
  stream(h, 5_000, 140, true);
  stream(h, 40_000, 128);
  h.pass(60_000);
  h.account([subaccount(3_000, [])]);
  h.pass(90_000);
  expect(told(h).slice(2)).toEqual(["ended critical"]);
  expect(own(h)[2]!.alert.summary).toContain("from liquidation");
  expect(own(h)[2]!.alert.summary).not.toContain("–");
});
