/** Incidents: a crash over many wallets is few messages that each add something, and no account of it is told late or not at all. */
import fs from "node:fs";
import { describe, expect, test } from "vitest";
import { dangerOf } from "../../src/alerts/incidents/danger.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import type { ReplayedMessage } from "../../src/replay/delivery.ts";
import { accountOf, Crash, capacities, minute, near, second, symbols } from "./crash.ts";
import { type Harness, mainWallet, marketConfig, position, prices, rulesOf, subaccount } from "./harness.ts";

const shipped = ["liquidation-risk", "margin", "drawdown"]
  .map((name) => fs.readFileSync(`rules/${name}.yaml`, "utf8").replace(/^[\s\S]*?^rules:$/m, ""))
  .join("\n");

const isCritical = ({ kind, alert }: ReplayedMessage["covers"][number]) =>
  alert.severity === "critical" && (kind === "fired" || kind === "rose");
/** `main/0.0/SOL` of each critical beginning in a message. */
const begun = ({ covers }: ReplayedMessage) => covers.filter(isCritical).map(({ alert }) => alert.subject);

test("the shipped rules about distance, margin and loss form incidents, and no other", () => {
  const files = fs.readdirSync("rules").filter((name) => !name.endsWith(".test.yaml"));
  const conditions = files.flatMap((name) => rulesOf(fs.readFileSync(`rules/${name}`, "utf8")).conditions);
  const dangers = conditions.flatMap((rule) => {
    const danger = dangerOf(rule);
    return danger === null ? [] : [[rule.name, danger] as const];
  });
  const [distance, tier, other] = [
    { isDistance: true, isTier: false },
    { isDistance: false, isTier: true },
    { isDistance: false, isTier: false },
  ];
  expect(Object.fromEntries(dangers)).toEqual({
    ...{ LiquidationNear: distance, AccountLiquidationNear: distance },
    ...{ NearLiquidationAfterHours: distance, WhaleNearLiquidation: distance },
    ...{ OrdersMayBeCancelled: tier, AccountLiquidatable: tier },
    ...{
      MarginHigh: other,
      Drawdown: other,
      LosingFast: other,
      DailyLoss: other,
    },
  });
});

describe("a crash over twelve wallets of three positions", () => {
  const seeds = process.env.SEED === undefined ? [1, 2, 3, 4, 5, 6] : [Number(process.env.SEED)];
  test.each(seeds)("is few messages that name each account in time; SEED=%d", (seed) => {
    const random = seededRandom(seed);
    const crash = new Crash(
      Array.from({ length: 12 }, () => {
        const sizes = symbols.map(() => 8 + 30 * random());
        const notional = 100 * sizes.reduce((sum, size) => sum + size, 0);
        // Liquidated after a joint fall by 15.5 % to 19.5 %.
        return { sizes, collateral: notional * (0.18 + 0.04 * random()) };
      }),
      { rules: `rules:\n${shipped}` },
    );
    crash.pass(30 * second);
    const fromMs = crash.harness.nowMs;
    // Down by 15 % within two minutes, each market in its own steps.
    const marks: Record<string, number> = { SOL: 100, BTC: 100, ETH: 100 };
    for (let passed = 0; passed < 120 * second; passed += second) {
      crash.harness.pass(second);
      const symbol = symbols[Math.floor(random() * 3)]!;
      marks[symbol] = marks[symbol]! * (1 - 0.0083 * random());
      crash.look(marks);
    }
    crash.pass(10 * second);
    const critical = crash.harness.all
      .flatMap(({ alertChanges }) => alertChanges)
      .filter((change) => change.atMs >= fromMs && isCritical(change));
    const accounts = new Map<string, number>();
    for (const { alert, atMs } of critical) {
      const account = accountOf(alert.subject);
      if (!accounts.has(account)) accounts.set(account, atMs);
    }
    expect(accounts.size).toBeGreaterThan(6);
    for (const receiver of ["chat", "mail"]) {
      const loud = crash
        .notifying(receiver, fromMs)
        .filter(({ covers }) => covers.some(({ alert }) => alert.severity === "critical"));
      expect(loud.length).toBeLessThanOrEqual(accounts.size + 4);
      for (const [account, atMs] of accounts) {
        const first = loud.find(({ covers }) =>
          covers.some((change) => isCritical(change) && accountOf(change.alert.subject) === account),
        );
        expect(first, `${account} in a notifying message`).toBeDefined();
        expect(first!.atMs - atMs, account).toBeLessThanOrEqual(6 * second);
      }
      // Each change is in one message.
      const told = crash.of(receiver).flatMap(({ covers }) => covers.map(({ id }) => id));
      expect(new Set(told).size).toBe(told.length);
    }
  });
});

/** One market, one position a wallet: liquidation at these marks. */
const longs = (...collateral: readonly number[]) =>
  collateral.map((usd) => ({ collateral: usd, sizes: [10, 0, 0] }));

/** SOL is critical at a mark of 90, BTC when it is below 99.5 beside. */
const twoNear = { collateral: 199, sizes: [10, 8, 0] };

describe("an incident", () => {
  test("begins at once, and gathers accounts that follow for 1, 2, 4 and 5 s", () => {
    // 10 SOL from 100, maintenance 3.33 %: critical below 86.0, 84.9, 83.9, 82.8, 82.3 and 81.7.
    const crash = new Crash(longs(210, 220, 230, 240, 245, 250));
    crash.pass(10 * second);
    const fromMs = crash.harness.nowMs;
    for (const [atMs, mark] of [
      [0, 85.9],
      [2, 84.8],
      [4, 83.8],
      [7, 82.7],
      [12, 82.2],
      [18, 81.6],
    ] as const) {
      crash.pass(fromMs + atMs * second - crash.harness.nowMs);
      crash.look({ SOL: mark });
    }
    crash.pass(10 * second);
    const loud = crash.notifying("chat", fromMs).filter((message) => begun(message).length > 0);
    expect(loud.map(({ atMs }) => (atMs - fromMs) / second)).toEqual([0, 3, 6, 11, 17, 23]);
    expect(loud.map((message) => begun(message).map(accountOf))).toEqual(
      [1, 2, 3, 4, 5, 6].map((n) => [`mm-${n}/0.0`]),
    );
  });

  test("tells a further position of an account quietly", () => {
    const crash = new Crash([twoNear]);
    crash.pass(10 * second);
    const fromMs = crash.harness.nowMs;
    crash.look({ SOL: 90 });
    crash.pass(3 * second);
    expect(crash.notifying("chat", fromMs).map(begun)).toEqual([["mm-1/0.0/SOL"]]);
    const quietFromMs = crash.harness.nowMs;
    crash.look({ BTC: 99.4 });
    crash.pass(20 * second);
    expect(crash.notifying("chat", quietFromMs).flatMap(begun)).toEqual([]);
    expect(crash.of("chat", quietFromMs).flatMap(begun)).toEqual(["mm-1/0.0/BTC"]);
  });

  test("is reminded of once in its interval, whatever the number of its alerts", () => {
    const crash = new Crash(longs(190, 190, 190));
    crash.pass(10 * second);
    crash.look({ SOL: 86 });
    crash.pass(10 * second);
    const fromMs = crash.harness.nowMs;
    crash.pass(16 * minute);
    const loud = crash.notifying("chat", fromMs);
    expect(loud.map(({ covers }) => new Set(covers.map(({ kind }) => kind)))).toEqual(
      loud.map(() => new Set(["reminder"])),
    );
    expect(loud).toHaveLength(3);
    // Each names all that fires.
    for (const { covers } of loud)
      expect(new Set(covers.map(({ alert }) => accountOf(alert.subject))).size).toBe(3);
  });

  test("escalates once for an account, whatever the number of its alerts", () => {
    const escalate = [{ after: "5m", receivers: ["phone"] }];
    const crash = new Crash([twoNear, ...longs(190)], {
      routing: { receivers: ["mail"], escalate },
      remind: { critical: "never" },
    });
    crash.pass(10 * second);
    crash.look({ SOL: 83 });
    crash.pass(30 * second);
    crash.look({ BTC: 99.4 });
    crash.pass(6 * minute);
    const alerts = crash.harness.changes.filter(({ kind, atMs }) => kind === "escalated" && atMs > 0);
    expect(alerts.length).toBeGreaterThan(2);
    const told = crash.notifying("phone");
    expect(
      new Set(told.flatMap(({ covers }) => covers.map(({ alert }) => accountOf(alert.subject)))),
    ).toEqual(new Set(["mm-1/0.0", "mm-2/0.0"]));
    expect(told).toHaveLength(1);
  });

  test("ends in one message when the last of it recovered", () => {
    const crash = new Crash(longs(250, 240));
    crash.pass(10 * second);
    crash.look({ SOL: 81 });
    crash.pass(10 * second);
    const fromMs = crash.harness.nowMs;
    crash.look({ SOL: 100 });
    crash.pass(3 * minute);
    const ended = ({ covers }: ReplayedMessage) => covers.some(({ kind }) => kind === "ended");
    const mails = crash.of("mail", fromMs).filter(ended);
    expect(mails).toHaveLength(1);
    expect(new Set(mails[0]!.covers.map(({ alert }) => alert.wallet))).toEqual(new Set(["mm-1", "mm-2"]));
    expect(crash.notifying("chat", fromMs).filter(ended)).toHaveLength(1);
  });

  test("of another desk is another one, and a program is told each alert by itself", () => {
    const crash = new Crash(longs(190, 190), {
      routing: { receivers: ["chat", "hook"], incidentBy: ["wallet"] },
    });
    crash.pass(10 * second);
    const fromMs = crash.harness.nowMs;
    crash.look({ SOL: 86 });
    crash.pass(second);
    const keys = (receiver: string) =>
      new Set(
        crash.harness.all
          .flatMap(({ deliveryItems: owed }) => owed)
          .filter((item) => item.receiver === receiver && item.owedAtMs >= fromMs)
          .map(({ groupKey }) => groupKey),
      );
    expect([...keys("chat")].filter((key) => key?.startsWith("incident/"))).toHaveLength(2);
    expect([...keys("hook")].filter((key) => key?.startsWith("incident/"))).toEqual([]);
    const items = crash.harness.all
      .flatMap(({ deliveryItems: owed }) => owed)
      .filter(({ severity }) => severity === "critical");
    const told = (receiver: string) => items.filter((item) => item.receiver === receiver);
    // It is told which of them belong together all the same.
    expect(told("hook").map(({ incident }) => incident)).toEqual(
      told("chat").map(({ groupKey }) => groupKey),
    );
  });

  test("is one for each account where a receiver wants that: six at once are six messages, and none is folded", () => {
    const crash = new Crash([{ ...twoNear, collateral: 190 }, ...longs(190, 190, 190, 190, 190)], {
      routing: { receivers: ["alarm", "chat"] },
    });
    crash.pass(10 * second);
    const fromMs = crash.harness.nowMs;
    crash.look({ SOL: 86, BTC: 99.4 });
    crash.pass(second);
    const accountsOf = (messages: readonly ReplayedMessage[]) =>
      messages.map(({ covers }) => [...new Set(covers.map(({ alert }) => accountOf(alert.subject)))]);
    const begun = crash.notifying("alarm", fromMs);
    expect(accountsOf(begun).sort()).toEqual([1, 2, 3, 4, 5, 6].map((n) => [`mm-${n}/0.0`]));
    expect(begun.map(({ folded }) => folded)).toEqual(begun.map(() => null));
    expect(begun.find(({ covers }) => covers.length === 2)!.covers[0]!.alert.wallet).toBe("mm-1");
    // Each is reminded of, and ends, by itself.
    const laterMs = crash.harness.nowMs;
    crash.pass(6 * minute);
    expect(accountsOf(crash.notifying("alarm", laterMs)).sort()).toEqual(accountsOf(begun).sort());
    const endMs = crash.harness.nowMs;
    crash.set("mm-2", { collateral: 2_000 });
    crash.pass(minute);
    const ended = crash.notifying("alarm", endMs).filter(({ covers }) => covers[0]!.kind === "ended");
    expect(accountsOf(ended)).toEqual([["mm-2/0.0"]]);
    expect(
      crash.notifying("chat", endMs).flatMap(({ covers }) => covers.map(({ kind }) => kind)),
    ).not.toContain("ended");
  });

  test("goes on after a restart: an account that it named is not named as new", () => {
    const crash = new Crash([twoNear]);
    crash.pass(10 * second);
    crash.look({ SOL: 90 });
    crash.pass(10 * second);
    const { harness } = crash;
    const keys = (one: Harness) =>
      new Set(one.all.flatMap(({ deliveryItems: owed }) => owed.flatMap(({ groupKey }) => groupKey ?? [])));
    const [incident] = [...keys(harness)].filter((key) => key.startsWith("incident/"));
    const after = harness.restarted({
      rules: `rules:\n${near}`,
      wallets: [{ ...mainWallet, name: "mm-1" }],
      routing: { receivers: ["chat", "mail"] },
      capacities,
    });
    after.config(...symbols.map((symbol) => marketConfig(symbol)));
    after.mark(prices(90), prices(99.4, "BTC"), prices(100, "ETH"));
    after.account([subaccount(199, [position(10, 100), position(8, 100, "BTC")])], "mm-1");
    after.pass(10 * second);
    const owed = after.all
      .flatMap((one) => one.deliveryItems)
      .filter(({ severity }) => severity === "critical");
    expect(owed.length).toBeGreaterThan(1);
    for (const item of owed) expect(item).toMatchObject({ groupKey: incident, quiet: true });
  });
});

test("a reminder does not call for a level that no longer holds and only waits to fall", () => {
  const falling = near.replace("keepFiringFor: 0s", "keepFiringFor: 1m");
  const crash = new Crash(longs(190), {
    rules: `rules:\n${falling}`,
    remind: { critical: { every: "30s" } },
  });
  crash.pass(10 * second);
  crash.look({ SOL: 86 });
  crash.pass(10 * second);
  // A warning from here on.
  crash.look({ SOL: 90 });
  const fromMs = crash.harness.nowMs;
  crash.pass(2 * minute);
  expect(crash.harness.changes.filter(({ atMs }) => atMs > fromMs).map(({ kind }) => kind)).toEqual(["fell"]);
});

test("a further alert of an account that somebody takes care of calls", () => {
  const crash = new Crash([twoNear]);
  crash.pass(10 * second);
  crash.look({ SOL: 90 });
  crash.pass(10 * second);
  const { harness } = crash;
  const { alert } = harness.changes.findLast(({ alert: one }) => one.severity === "critical")!;
  harness.see({ kind: "acknowledged", atMs: harness.nowMs, alert, by: "ann", comment: "" });
  const fromMs = harness.nowMs;
  crash.look({ BTC: 99.4 });
  crash.pass(10 * second);
  expect(crash.notifying("chat", fromMs).flatMap(begun)).toEqual(["mm-1/0.0/BTC"]);
});
