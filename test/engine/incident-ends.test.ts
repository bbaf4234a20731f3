/** The end of an incident: few messages to each receiver, in the incident that their alerts began in, silenced accounts or not. */
import { describe, expect, test } from "vitest";
import type { ReplayedMessage } from "../../src/replay/delivery.ts";
import { Crash, minute, second } from "./crash.ts";

/** Critical below 86.0, 85.5, 85.3 and 84.9; a warning below 90.8 to 89.6. */
const longs = [210, 215, 217, 220].map((collateral) => ({ collateral, sizes: [10, 0, 0] }));

/** Four accounts are critical, of which the third is silenced. */
function begun(receivers: readonly string[] = ["mail", "chat", "hook"]): Crash {
  const crash = new Crash(longs, { routing: { receivers } });
  crash.pass(10 * second);
  crash.look({ SOL: 84 });
  crash.pass(10 * second);
  crash.silence("mm-3", 60 * minute);
  crash.pass(5 * second);
  return crash;
}

const words = ({ covers }: ReplayedMessage) => covers.map(({ kind, alert }) => `${kind} ${alert.wallet}`);
const itemsOf = (crash: Crash, receiver: string) =>
  crash.harness.all.flatMap(({ deliveryItems: owed }) => owed).filter((item) => item.receiver === receiver);
const toldEnds = ["ended mm-1", "ended mm-2", "ended mm-4"];

describe("the end of an incident with a silenced account", () => {
  test("is one message where the alerts were warnings for a while, and one says that nothing is critical", () => {
    const crash = begun();
    const fromMs = crash.harness.nowMs;
    crash.look({ SOL: 88 });
    crash.pass(minute);
    crash.look({ SOL: 100 });
    crash.pass(10 * minute);
    for (const receiver of ["mail", "chat"])
      expect(crash.of(receiver, fromMs).map(words), receiver).toEqual([
        ["fell mm-1", "fell mm-2", "fell mm-4"],
        toldEnds,
      ]);
    expect(crash.notifying("chat", fromMs)).toHaveLength(2);
  });

  test("waits for the last warning of it", () => {
    const crash = begun();
    crash.look({ SOL: 88 });
    crash.pass(minute);
    const fromMs = crash.harness.nowMs;
    for (const wallet of ["mm-1", "mm-2", "mm-4"]) {
      crash.set(wallet, { collateral: 2_000 });
      crash.pass(minute);
    }
    expect(crash.of("mail", fromMs).map(words)).toEqual([toldEnds]);
    expect(crash.notifying("chat", fromMs).map(words)).toEqual([["ended mm-4"]]);
  });

  test("does not wait for that account", () => {
    const crash = begun();
    const fromMs = crash.harness.nowMs;
    for (const wallet of ["mm-1", "mm-2", "mm-4"]) crash.set(wallet, { collateral: 2_000 });
    crash.pass(minute);
    expect(crash.of("mail", fromMs).map(words)).toEqual([toldEnds]);
    expect(crash.notifying("chat", fromMs).map(words)).toEqual([toldEnds]);
    const laterMs = crash.harness.nowMs;
    crash.set("mm-3", { collateral: 2_000 });
    crash.pass(70 * minute);
    for (const receiver of ["mail", "chat"])
      expect(crash.notifying(receiver, laterMs).map(words), receiver).toEqual([["ended mm-3"]]);
  });

  test("names the incident in each call of a program", () => {
    const crash = begun();
    crash.look({ SOL: 88 });
    crash.pass(minute);
    crash.look({ SOL: 100 });
    crash.pass(70 * minute);
    const [incident] = itemsOf(crash, "chat").flatMap(({ groupKey }) =>
      groupKey?.startsWith("incident/") ? [groupKey] : [],
    );
    const own = itemsOf(crash, "hook").filter(({ alertId }) =>
      crash.changes.some((change) => change.alertId === alertId && change.alert.rule === "Near"),
    );
    expect(own.length).toBeGreaterThan(10);
    for (const { id, incident: of, severity } of own) expect(of, `item ${id}, ${severity}`).toBe(incident);
  });
});

describe("a warning that outlives its incident's critical alerts", () => {
  const outlived = () => {
    const crash = new Crash([longs[0]!, { collateral: 300, sizes: [10, 0, 0] }], {
      routing: { receivers: ["mail", "chat"] },
    });
    crash.pass(10 * second);
    crash.look({ SOL: 85.9 });
    crash.pass(10 * second);
    crash.look({ SOL: 88 });
    crash.pass(10 * second);
    return crash;
  };

  test("is told by itself when it gets worse", () => {
    const crash = outlived();
    const fromMs = crash.harness.nowMs;
    crash.look({ SOL: 86.4 });
    crash.pass(10 * second);
    expect(crash.notifying("mail", fromMs).map(words)).toEqual([["worsened mm-1"]]);
    expect(crash.of("mail", fromMs)).toHaveLength(1);
  });

  test("calls at once when it is critical anew, in the same incident, hours later, too", () => {
    const crash = outlived();
    crash.pass(120 * minute);
    const fromMs = crash.harness.nowMs;
    crash.look({ SOL: 85.5 });
    crash.pass(second);
    expect(crash.notifying("mail", fromMs).map(words)).toEqual([["rose mm-1"]]);
    const keys = itemsOf(crash, "mail").flatMap(({ groupKey }) =>
      groupKey?.startsWith("incident/") ? [groupKey] : [],
    );
    expect(new Set(keys).size).toBe(1);
  });

  test("joins a later incident of others when it is critical anew", () => {
    const crash = outlived();
    crash.pass(120 * minute);
    crash.set("mm-2", { collateral: 180 });
    crash.pass(10 * second);
    const fromMs = crash.harness.nowMs;
    crash.look({ SOL: 85.5 });
    crash.pass(10 * second);
    const keyOf = (kind: string, wallet: string) =>
      itemsOf(crash, "mail").find(({ changeId }) =>
        crash.changes.some(
          (one) =>
            one.id === changeId &&
            one.kind === kind &&
            one.alert.wallet === wallet &&
            one.atMs > fromMs - minute,
        ),
      )?.groupKey;
    expect(keyOf("fired", "mm-2")).toMatch(/^incident/);
    expect(keyOf("rose", "mm-1")).toBe(keyOf("fired", "mm-2"));
  });
});
