/** Incidents with silences, acknowledgements, reloads and clocks that jump: what newly is critical calls, and reminders go on. */
import { describe, expect, test } from "vitest";
import type { ReplayedMessage } from "../../src/replay/delivery.ts";
import { accountOf, Crash, minute, near, second } from "./crash.ts";

/** One market, one position a wallet: with 210 USD critical below 86.0, a warning below 90.8; with 220 below 84.9. */
const longs = (...collateral: readonly number[]) =>
  collateral.map((usd) => ({ collateral: usd, sizes: [10, 0, 0] }));

/** Accounts that fire as critical in a message. */
const named = ({ covers }: ReplayedMessage) => [
  ...new Set(
    covers
      .filter(({ kind, alert }) => alert.severity === "critical" && kind !== "ended" && kind !== "fell")
      .map(({ alert }) => accountOf(alert.subject)),
  ),
];

describe("a silence", () => {
  test("in which an account recovered leaves nothing behind: it calls when it is critical anew", () => {
    const crash = new Crash(longs(210, 230));
    crash.pass(10 * second);
    crash.look({ SOL: 83.7 });
    crash.pass(10 * second);
    crash.silence("mm-1", minute);
    crash.set("mm-1", { collateral: 400 });
    crash.pass(70 * second);
    const fromMs = crash.harness.nowMs;
    crash.set("mm-1", { collateral: 210 });
    crash.pass(11 * second);
    expect(crash.notifying("chat", fromMs).flatMap(named)).toContain("mm-1/0.0");
  });

  test("of warnings does the same: what fell below critical in it calls when it rises", () => {
    const crash = new Crash(longs(210, 230));
    crash.pass(10 * second);
    crash.look({ SOL: 83.7 });
    crash.pass(10 * second);
    crash.silence(".*", 10 * minute, "warning");
    crash.set("mm-1", { collateral: 240 });
    crash.pass(20 * second);
    expect(crash.firing.find(({ alert }) => alert.wallet === "mm-1")!.alert.severity).toBe("warning");
    const fromMs = crash.harness.nowMs;
    crash.set("mm-1", { collateral: 210 });
    crash.pass(11 * second);
    expect(crash.notifying("chat", fromMs).flatMap(named)).toContain("mm-1/0.0");
  });

  test("in which an account rose to critical calls at its end, though the incident was reported just before", () => {
    const crash = new Crash(longs(210, 230));
    crash.pass(10 * second);
    crash.look({ SOL: 89 });
    crash.pass(10 * second);
    crash.silence("mm-1", minute);
    crash.pass(10 * second);
    crash.look({ SOL: 83.7 });
    crash.pass(30 * second);
    expect(crash.notifying("chat").flatMap(named)).toEqual(["mm-2/0.0"]);
    crash.pass(20 * second + 6 * second);
    expect(crash.notifying("chat").flatMap(named)).toEqual(["mm-2/0.0", "mm-1/0.0"]);
    expect(
      crash
        .notifying("chat")
        .at(-1)!
        .covers.map(({ kind }) => kind),
    ).toEqual(["rose"]);
  });
});

describe("the end of an alert that was held by a silence", () => {
  /** Group keys of what a receiver is owed from a time on. */
  const groups = (crash: Crash, receiver: string, fromMs: number) =>
    new Set(
      crash.harness.all
        .flatMap(({ deliveryItems: owed }) => owed)
        .filter((item) => item.receiver === receiver && item.owedAtMs >= fromMs)
        .map(({ groupKey }) => groupKey),
    );
  /** Two accounts are critical, and the first recovers under a silence. */
  const begun = (routing: object = { receivers: ["chat", "mail"] }, collateral = 2_000) => {
    const crash = new Crash(longs(210, 230), { routing });
    crash.pass(10 * second);
    const fromMs = crash.harness.nowMs;
    crash.look({ SOL: 83.7 });
    crash.pass(10 * second);
    crash.silence("mm-1", minute);
    crash.set("mm-1", { collateral });
    crash.pass(10 * second);
    return { crash, fromMs };
  };
  const incidentOf = (crash: Crash, receiver: string, fromMs: number) =>
    [...groups(crash, receiver, fromMs)].filter((key) => key?.startsWith("incident/"));

  test("is part of the one message at the end, over a restart, too", () => {
    const { crash } = begun();
    crash.restart();
    crash.pass(minute);
    const fromMs = crash.harness.nowMs;
    expect(crash.of("mail", fromMs)).toEqual([]);
    crash.set("mm-2", { collateral: 2_000 });
    crash.pass(2 * minute);
    const ends = crash.of("mail", fromMs);
    expect(ends.map(({ covers }) => covers.map(({ kind, alert }) => `${kind} ${alert.wallet}`))).toEqual([
      ["ended mm-1", "ended mm-2"],
    ]);
    expect(crash.notifying("chat", fromMs)).toHaveLength(1);
  });

  test.each(["chat", "mail"])("belongs to it when it is over, too: %s", (receiver) => {
    const { crash, fromMs } = begun();
    const incident = incidentOf(crash, receiver, fromMs);
    crash.set("mm-2", { collateral: 2_000 });
    crash.pass(20 * second);
    const endMs = crash.harness.nowMs;
    crash.pass(2 * minute);
    expect([...groups(crash, receiver, endMs)]).toEqual(incident);
    const [end, ...more] = crash.notifying(receiver, endMs);
    expect(more).toEqual([]);
    expect(end!.covers.map(({ kind, alert }) => `${kind} ${alert.wallet}`)).toEqual(["ended mm-1"]);
  });

  test("is of the same incident for a program that is told each alert by itself", () => {
    const { crash, fromMs } = begun({ receivers: ["chat", "hook"] });
    crash.pass(2 * minute);
    const items = crash.harness.all.flatMap(({ deliveryItems: owed }) => owed);
    const end = items.findLast(({ receiver }) => receiver === "hook")!;
    expect([end.incident]).toEqual(incidentOf(crash, "chat", fromMs));
  });

  test("leaves as what is better by now, and no longer critical, does", () => {
    const { crash, fromMs } = begun(undefined, 240);
    const incident = incidentOf(crash, "mail", fromMs);
    crash.set("mm-2", { collateral: 2_000 });
    crash.pass(20 * second);
    const endMs = crash.harness.nowMs;
    crash.pass(2 * minute);
    const items = crash.harness.all
      .flatMap(({ deliveryItems: owed }) => owed)
      .filter(({ owedAtMs }) => owedAtMs >= endMs);
    expect(items.map(({ receiver, severity }) => `${receiver} ${severity}`).sort()).toEqual([
      "chat warning",
      "mail warning",
    ]);
    expect([...groups(crash, "mail", endMs)]).toEqual(incident);
  });
});

describe("reminders", () => {
  test("reach a receiver once in an interval, whatever another is notified of meanwhile", () => {
    // Mail is told of all of them, chat of the first.
    const crash = new Crash(longs(210, 213, 216, 219), {
      routing: {
        ...{ receivers: ["mail"], incidentBy: [] },
        routes: [
          { match: { wallet: "mm-1" }, receivers: ["chat"], continue: true },
          { match: { wallet: { matches: ".*" } }, receivers: ["mail"] },
        ],
      },
    });
    crash.pass(10 * second);
    const fromMs = crash.harness.nowMs;
    crash.look({ SOL: 85.9 });
    for (const mark of [85.6, 85.3, 84.9]) {
      crash.pass(4 * minute);
      crash.look({ SOL: mark });
    }
    crash.pass(4 * minute);
    const times = crash.notifying("chat", fromMs).map(({ atMs }) => Math.round((atMs - fromMs) / second));
    expect(times).toEqual([0, 300, 600, 900]);
  });

  test("go on in one chat while a program is told each change", () => {
    const crash = new Crash(longs(210), { routing: { receivers: ["chat", "hook"] } });
    crash.pass(10 * second);
    const fromMs = crash.harness.nowMs;
    crash.look({ SOL: 85.9 });
    // 20 % worse each, and never half of what was shown.
    for (const [atMs, mark] of [
      [280, 84.9],
      [560, 84.5],
    ] as const) {
      crash.pass(fromMs + atMs * second - crash.harness.nowMs);
      crash.look({ SOL: mark });
    }
    crash.pass(6 * minute);
    const times = crash.notifying("chat", fromMs).map(({ atMs }) => (atMs - fromMs) / minute);
    const gaps = times.map((time, i) => time - (times[i - 1] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(5.2);
    expect(Math.min(...gaps.slice(1))).toBeGreaterThan(4.8);
  });

  test("and news go on after a start with a clock that was fast before", () => {
    const crash = new Crash(longs(210, 220, 240));
    crash.pass(10 * second);
    crash.look({ SOL: 85.5 });
    crash.pass(10 * second);
    crash.look({ SOL: 84.5 });
    crash.pass(second / 2);
    crash.restart(-60 * minute);
    crash.pass(10 * second);
    crash.look({ SOL: 82.6 });
    crash.pass(10 * second);
    const fromMs = crash.harness.nowMs;
    crash.pass(6 * minute);
    const owed = crash.harness.all
      .flatMap((one) => one.deliveryItems)
      .filter(({ receiver }) => receiver === "chat");
    const loud = owed.filter(({ severity, quiet }) => severity === "critical" && !quiet);
    expect(loud.length).toBeGreaterThan(0);
    for (const { owedAtMs, releaseAtMs = 0 } of loud)
      expect(releaseAtMs - owedAtMs).toBeLessThanOrEqual(5 * second);
    const reminded = crash.changes.filter(({ kind, atMs }) => kind === "reminder" && atMs > fromMs);
    const subjects = new Set(reminded.map(({ alert }) => alert.subject));
    expect([...subjects].filter((one) => one.startsWith("mm-"))).toHaveLength(3);
  });
});

test("what halves after the nearest one recovered calls", () => {
  const crash = new Crash(longs(210, 240), { rules: `rules:\n${near}` });
  crash.pass(10 * second);
  // The first at 0.4 %, the second at 3.9 %.
  crash.look({ SOL: 82.0 });
  crash.pass(10 * second);
  crash.set("mm-1", { collateral: 400 });
  crash.pass(20 * second);
  const fromMs = crash.harness.nowMs;
  crash.look({ SOL: 79.3 });
  crash.pass(10 * second);
  expect(crash.notifying("chat", fromMs).flatMap(named)).toContain("mm-2/0.0");
});
