/** A watch that was restarted or reloaded gives the changes of one moment in the same order as one that was not. */
import { expect, test } from "vitest";
import {
  event,
  Harness,
  type HarnessOptions,
  marketConfig,
  notification,
  position,
  prices,
  startMs,
  subaccount,
} from "./harness.ts";

/** More than nine, so that numbers sort otherwise than their texts. */
const twelve = Array.from({ length: 12 }, (_, index) => index + 1);

type Way = "uninterrupted" | "reloaded" | "restarted";
const ways: readonly Way[] = ["uninterrupted", "reloaded", "restarted"];

function goOn(harness: Harness, options: HarnessOptions, way: Way): Harness {
  if (way === "restarted") return harness.restarted(options, 1);
  if (way === "reloaded") harness.reload(options);
  return harness;
}

const owed = (harness: Harness): string[] =>
  harness.all.flatMap((one) => one.deliveryItems).map(({ receiver, alertId }) => `${receiver} #${alertId}`);

test.each(ways)("what a silence held leaves in the order in which it came: %s", (way) => {
  const rules = `
rules:
  - { name: Filled, on: notification, when: event.type == "order_filled", severity: info, summary: filled }
`;
  const options: HarnessOptions = { rules };
  const before = new Harness(options);
  const times = { createdMs: startMs, startsMs: startMs, endsMs: startMs + 60_000 };
  const match = { rule: { in: ["Filled"] } };
  // The first one that holds is the reason that people see.
  for (const id of [9, 10]) {
    const silence = { id, match, upTo: "critical", author: "ann", comment: "", ...times } as const;
    before.see({ kind: "silenced", atMs: startMs, silence });
  }
  for (const number of twelve) {
    before.pass(1);
    before.events("notifications", [notification(`${number}`, "order_filled")]);
  }
  expect(before.owed).toEqual([]);
  const after = goOn(before, options, way);
  after.events("notifications", [notification("one more", "order_filled")]);
  const { heldBack } = after.watch;
  expect(heldBack.map(({ alertId }) => alertId)).toEqual([...twelve, 13]);
  expect(heldBack.at(-1)!.why).toBe("silence 9 of ann");
  after.pass(90_000);
  expect(owed(after)).toEqual([...twelve, 13].map((id) => `chat #${id}`));
});

test.each(ways)("alerts of one moment escalate in the order in which they fired: %s", (way) => {
  const rules = `
rules:
  - { name: Low, scope: market, when: market.markPrice < 100.0, severity: critical, for: 0s, noData: keep, summary: low }
`;
  const routing = { receivers: ["chat"], escalate: [{ after: "60s", receivers: ["boss"] }] };
  const options: HarnessOptions = { rules, routing };
  const symbols = twelve.map((number) => `M${number}`);
  const before = new Harness(options);
  before.config(...symbols.map((symbol, assetId) => marketConfig(symbol, { assetId })));
  before.mark(...symbols.map((symbol) => prices(50, symbol)));
  const fired = before.changes.map(({ alertId }) => alertId);
  expect(fired).toEqual(twelve);
  const after = goOn(before, options, way);
  after.pass(90_000);
  expect(owed(after).filter((one) => one.startsWith("boss"))).toEqual(fired.map((id) => `boss #${id}`));
});

test.each(ways)(
  "alerts of a position that was liquidated end in the order in which they fired: %s",
  (way) => {
    const rules = `
rules:
  - { name: Zulu, scope: position, when: position.size > 0.0, severity: critical, for: 0s, summary: zulu }
  - { name: Alpha, scope: position, when: position.size > 0.0, severity: critical, for: 0s, summary: alpha }
`;
    const options: HarnessOptions = { rules };
    const before = Harness.seeing(options, 150, [subaccount(5_000, [position(100, 150)])]);
    const fired = before.told.map((one) => one.split(" ")[0]);
    expect(fired.length).toBe(2);
    before.pass(5_000);
    before.account([subaccount(100, [])]);
    const { slot } = before;
    expect(before.told.length).toBe(2);
    const after = goOn(before, options, way);
    after.account([subaccount(100, [])]);
    after.pass(1_000);
    const fields = { kind: "market", role: "liquidatee", positionClosed: true };
    after.events("liquidations", [
      event({
        kind: "liquidation",
        key: "1",
        happenedMs: after.nowMs,
        seenMs: after.nowMs,
        slot,
        fields,
      }),
    ]);
    const ended = after.told.filter((one) => one.includes("ended"));
    expect(ended).toEqual(fired.map((name) => `${name} main/0.0/SOL ended critical liquidated`));
  },
);
