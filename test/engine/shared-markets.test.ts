/** Rows without a subaccount (hourly funding) where several accounts of a wallet hold the market, or held it one after another. */
import { describe, expect, test } from "vitest";
import type { SubaccountState } from "../../src/domain/account.ts";
import type { Event } from "../../src/domain/event.ts";
import { event, Harness, type HarnessOptions, position, startMs, subaccount } from "./harness.ts";

const rules = `
rules:
  - name: Position
    scope: position
    when: sumOver("funding.payment", "6h") < 0.0
    severity: warning
    summary: "p"
  - name: Trader
    scope: trader
    when: sumOver("funding.payment", "6h") < 0.0
    severity: warning
    summary: "t"
  - name: Wallet
    scope: wallet
    when: sumOver("funding.payment", "6h") < 0.0
    severity: warning
    summary: "w"
`;
const hourMs = 3_600_000;

const cross = (holds: boolean): SubaccountState => subaccount(5_000, holds ? [position(10, 150)] : []);
const isolated = (holds: boolean): SubaccountState =>
  subaccount(5_000, holds ? [position(5, 150)] : [], { subaccount: 1 });

function open(options: Partial<HarnessOptions> = {}): Harness {
  const harness = Harness.seeing({ rules, ...options }, 150);
  return harness;
}

function funding(harness: Harness, ...payments: readonly number[]): void {
  const events = payments.map((payment, i) =>
    event({
      kind: "funding",
      key: `${harness.nowMs} ${i}`,
      subaccount: null,
      happenedMs: harness.nowMs,
      seenMs: harness.nowMs,
      fields: { payment },
    }),
  );
  harness.events("funding", events);
}

/** The result of a rule's sum: its number, or `unknown`; `none`: there is no such subject. */
function sumOf(harness: Harness, rule: string, subject: string): number | string {
  const answer = harness.watch.explain(rule, subject, harness.nowMs);
  if (answer.kind !== "explained") return "none";
  const { unknown, parts } = answer.explanation;
  if (unknown !== null) return unknown.includes("another account") ? "unknown" : unknown;
  return Number(
    parts.find(({ text }) => text.startsWith("sumOver") && !text.includes("<"))?.value?.replace("$", ""),
  );
}

function sums(harness: Harness): Record<string, number | string> {
  harness.events("funding", []);
  return {
    wallet: sumOf(harness, "Wallet", "main"),
    cross: sumOf(harness, "Trader", "main/0.0"),
    isolated: sumOf(harness, "Trader", "main/0.1"),
    crossSol: sumOf(harness, "Position", "main/0.0/SOL"),
    isolatedSol: sumOf(harness, "Position", "main/0.1/SOL"),
  };
}

/** Events of earlier runs. */
const storedBefore = new WeakMap<Harness, readonly Event[]>();

/** The result of a start after this, a second later, and the stored events. */
function restarted(before: Harness): Harness {
  const after = open({ remembered: before.remembered, atMs: before.nowMs + 1_000 });
  after.slot = before.slot;
  const stored = [...(storedBefore.get(before) ?? []), ...before.all.flatMap((one) => one.events)];
  storedBefore.set(after, stored);
  for (const one of stored) after.watch.warmUp.rememberEvent(one);
  return after;
}

const both = [cross(true), isolated(true)];

describe("funding of a market that two accounts hold", () => {
  test("is known of the wallet, and unknown of each account and position", () => {
    const harness = open();
    harness.account(both);
    harness.pass(1_000);
    funding(harness, -1, -0.5);
    expect(sums(harness)).toEqual({
      wallet: -1.5,
      cross: "unknown",
      isolated: "unknown",
      crossSol: "unknown",
      isolatedSol: "unknown",
    });
    expect(harness.told).toEqual(["Wallet main fired warning"]);
  });

  test.each([false, true])("stays unknown when one of them is left; restart: %s", (restart) => {
    let harness = open();
    harness.account(both);
    harness.pass(1_000);
    funding(harness, -1, -0.5);
    harness.account([cross(true), isolated(false)]);
    if (restart) {
      harness = restarted(harness);
      harness.account([cross(true), isolated(false)]);
    }
    expect(sums(harness)).toMatchObject({
      wallet: -1.5,
      cross: "unknown",
      isolated: "unknown",
      crossSol: "unknown",
    });
    // An hour after the other one closed the next row is the survivor's alone.
    harness.pass(2 * hourMs);
    funding(harness, -0.25);
    expect(sums(harness)).toMatchObject({ cross: "unknown", crossSol: "unknown" });
    harness.pass(4 * hourMs + 120_000);
    harness.config();
    harness.mark(150);
    harness.account([cross(true), isolated(false)]);
    expect(sums(harness)).toMatchObject({ wallet: -0.25, cross: -0.25, isolated: 0, crossSol: -0.25 });
  });
});

test.each([false, true])(
  "an account is not charged for one that held the market before it; restart: %s",
  (restart) => {
    let harness = open();
    harness.account([cross(false), isolated(true)]);
    harness.pass(1_000);
    funding(harness, -0.5);
    harness.pass(2 * hourMs);
    harness.account([cross(false), isolated(false)]);
    if (restart) harness = restarted(harness);
    harness.account([cross(false), isolated(false)]);
    harness.pass(2 * hourMs);
    harness.account([cross(true), isolated(false)]);
    if (restart) {
      harness = restarted(harness);
      harness.account([cross(true), isolated(false)]);
    }
    expect(sums(harness)).toMatchObject({ wallet: -0.5, cross: 0, isolated: -0.5, crossSol: 0 });
  },
);

test("of a wallet with one account all of it is that one's, read before the account or after", () => {
  const harness = open();
  funding(harness, -1);
  harness.account([cross(true)]);
  expect(sums(harness)).toMatchObject({ wallet: -1, cross: -1, crossSol: -1 });
  funding(harness, -2);
  harness.account([cross(false)]);
  harness.pass(1_000);
  // The position was closed before its last row was read.
  funding(harness, -4);
  expect(sums(harness)).toMatchObject({ wallet: -7, cross: -7, crossSol: "none" });
  expect(harness.nowMs).toBe(startMs + 1_000);
});

test("an account in another market of the wallet has nothing to do with it", () => {
  const harness = open();
  harness.account([cross(true), subaccount(5_000, [position(5, 150, "BTC")], { subaccount: 1 })]);
  harness.pass(1_000);
  funding(harness, -1);
  expect(sums(harness)).toMatchObject({ cross: -1, crossSol: -1, isolated: 0 });
  expect(sumOf(harness, "Position", "main/0.1/BTC")).toBe(0);
});
