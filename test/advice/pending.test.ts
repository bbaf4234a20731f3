/** Rules in `perpwatch whatif` that hold and do not fire yet: a level fires once it has held for `for`. */
import { expect, test } from "vitest";
import { Harness, position, subaccount } from "../engine/harness.ts";

const rules = `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < 0.40 }
      critical: { when: value < 0.20 }
    for: 30s
    keepFiringFor: 0s
    summary: "near"
`;
/** Long 100 SOL at 150 with 5,000: liquidated about 31 % below. */
const held = [subaccount(5_000, [position(100, 150)])];

function asked(h: Harness, ...prices: string[]) {
  const question = { wallet: "main", account: null, prices, depositUsd: 0, closes: [] };
  const outcome = h.watch.whatIf(question, h.nowMs);
  return outcome.kind === "done" ? outcome.answer.accounts[0]!.rules : outcome;
}

test("a level that holds states how long it has to hold on before it fires, a level that fires states 0", () => {
  const h = Harness.seeing({ rules }, 150, held);
  expect(asked(h)).toMatchObject([{ firing: null, before: "warning", firesInMs: { before: 30_000 } }]);
  h.live(10_000, held, 150);
  h.pass(2_000);
  // A level that holds now goes on counting; one that begins then waits for all of its `for`.
  expect(asked(h, "SOL=-1%")).toEqual([
    {
      ...{ rule: "Near", subject: "main/0.0/SOL", firing: null, before: "warning", after: "warning" },
      firesInMs: { before: 18_000, after: 18_000 },
    },
  ]);
  expect(asked(h, "SOL=-20%")).toMatchObject([
    { before: "warning", after: "critical", firesInMs: { before: 18_000, after: 30_000 } },
  ]);
  expect(asked(h, "SOL=+80%")).toMatchObject([{ after: null, firesInMs: { before: 18_000, after: null } }]);
  h.live(20_000, held, 150);
  expect(asked(h, "SOL=-20%")).toMatchObject([
    {
      ...{ firing: "warning", before: "warning", after: "critical" },
      firesInMs: { before: 0, after: 30_000 },
    },
  ]);
});
