/** A start says for how long nobody watched. */
import { describe, expect, test } from "vitest";
import { Harness, mainWallet, position, startMs, subaccount } from "./harness.ts";

const rules = `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    summary: "near"
`;
const two = [subaccount(9_000, [position(100, 150), position(1, 60_000, "BTC")])];
const none = [subaccount(9_000, [])];

function watched(accounts: typeof two): Harness {
  const harness = Harness.seeing({ rules }, 150, accounts);
  return harness;
}

/** A start `downMs` after history was last written. */
function start(before: Harness | null, downMs: number, of: object = {}): Harness {
  const atMs = (before?.nowMs ?? startMs) + downMs;
  const harness = new Harness({ rules, atMs, ...(before ? { remembered: before.remembered } : {}), ...of });
  const lastAliveMs = before?.nowMs ?? null;
  harness.see({ kind: "started", atMs, version: "1", lastAliveMs });
  return harness;
}

/** The history after one run and then another. */
function recorded(first: Harness, second: Harness): Harness {
  const both = new Harness({ rules, atMs: second.nowMs });
  both.all.push(...first.all, ...second.all);
  return both;
}

describe("a start after a time in which nobody watched", () => {
  test("says from when to when, as a warning where positions were open, and names them", () => {
    const later = start(watched(two), 432_000);
    expect(later.told).toEqual(["NotWatched daemon fired warning"]);
    const { alert, details } = later.changes[0]!;
    expect(alert.summary).toBe("I was not watching from 2026-01-05 12:00:00 UTC to 12:07:12 UTC (7m 12s)");
    expect(details).toEqual([["Open positions then", "main/0.0/BTC, main/0.0/SOL"]]);
    expect(alert).toMatchObject({ event: true, state: "ended", wallet: null });
    expect(later.owed).toEqual(["chat: NotWatched daemon fired warning"]);
    later.pass(24 * 3_600_000);
    expect(later.told.filter((line) => line.startsWith("NotWatched"))).toHaveLength(1);
  });

  test("is an info where none was, and gives both dates when it was long", () => {
    const before = watched(two);
    before.account(none);
    const later = start(before, 26 * 3_600_000);
    expect(later.told).toEqual(["NotWatched daemon fired info"]);
    expect(later.changes[0]!.alert.summary).toBe(
      "I was not watching from 2026-01-05 12:00:00 UTC to 2026-01-06 14:00:00 UTC (1d 2h)",
    );
    expect(later.changes[0]!.details).toEqual([]);
  });

  test.each([
    ["a short one", 59_000, true],
    ["the first start of all", 3_600_000, false],
  ])("says nothing after %s", (_, downMs, known) => {
    expect(start(known ? watched(two) : null, downMs).told).toEqual([]);
  });

  test("a position that went unseen, or whose wallet is watched no more, does not count at the start after", () => {
    const first = watched(two);
    const seen = start(first, 10_000);
    seen.account([subaccount(9_000, [position(100, 150)])]);
    const next = start(recorded(first, seen), 120_000);
    expect(next.changes[0]!.details).toEqual([["Open positions then", "main/0.0/SOL"]]);

    const left = start(first, 120_000, { wallets: [{ ...mainWallet, name: "other" }] });
    expect(left.told).toEqual(["NotWatched daemon fired info"]);
    const kept = [...recorded(first, left).remembered.keep.keys()];
    expect(kept.filter((name) => name.startsWith("position/"))).toEqual([]);
  });

  test("what was open counts as long as nobody could look, over two starts", () => {
    const first = watched(two);
    expect(start(recorded(first, start(first, 10_000)), 120_000).told).toEqual([
      "NotWatched daemon fired warning",
    ]);
  });
});
