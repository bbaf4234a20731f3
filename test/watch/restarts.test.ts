import { expect, test } from "vitest";
import { Harness, position, subaccount } from "./harness.ts";

const near = `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < 0.10, resolveWhen: value > 0.12 }
      critical: { when: value < 0.05 }
    for: 0s
    keepFiringFor: 0s
    summary: "{{ wallet.name }}: {{ position.symbol }} {{ percent(value) }}"
`;

/** 100 SOL long at 150 with 1000 USD: liquidated at 144.83; at 150 that is 3.45 % away. */
const endangered = [subaccount(1_000, [position(100, 150)])];

function seen(rules = near, accounts = endangered): Harness {
  const harness = new Harness({ rules });
  harness.config();
  harness.mark(150);
  harness.account(accounts);
  return harness;
}

function again(before: Harness, rules = near): Harness {
  return new Harness({ rules, remembered: before.remembered, atMs: before.nowMs + 1_000 });
}

test("the end of a position that flipped leaves the state of the new one alone", () => {
  const before = seen();
  const short = [subaccount(1_000, [position(-100, 150)])];
  before.account(short);
  before.live(20_000, short, 150);
  expect(before.told.at(-1)).toBe("Near main/0.0/SOL ended critical flipped");
  const after = again(before);
  after.live(20_000, short, 150);
  expect(after.told).toEqual([]);
});
