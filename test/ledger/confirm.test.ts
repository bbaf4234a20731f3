import { expect, test } from "vitest";
import { confirm } from "../../src/ledger/confirm.ts";
import { LedgerError, type SignatureStatus } from "../../src/ledger/rpc.ts";
import { FakeClock } from "../support/clock.ts";

type Answer = SignatureStatus | null | LedgerError;
const confirmed: SignatureStatus = { confirmation: "confirmed", error: null };
const processed: SignatureStatus = { confirmation: "processed", error: null };
const failed: SignatureStatus = { confirmation: "processed", error: '{"InstructionError":[0,{"Custom":1}]}' };
const down = new LedgerError("ledger: getSignatureStatuses: it cannot be reached");

/** Answers in order, the last one repeated; each reading of the height is one block higher. */
async function outcome(answers: readonly Answer[], { lastValid = 100n, height = 1n } = {}) {
  const clock = new FakeClock("2026-01-01T00:00:00Z");
  let asked = 0;
  let now = height;
  const ledger = {
    status: async () => {
      const answer = answers[Math.min(asked++, answers.length - 1)]!;
      if (answer instanceof LedgerError) throw answer;
      return answer;
    },
    blockHeight: async () => now++,
  };
  const result = await clock.finish(confirm(ledger, "signature", lastValid, clock));
  return { ...result, asked, seconds: Math.round(clock.elapsedMs() / 1_000) };
}

test("what is confirmed is confirmed, at once or later", async () => {
  expect(await outcome([confirmed])).toMatchObject({ kind: "confirmed", asked: 1, seconds: 0 });
  expect(await outcome([{ confirmation: "finalized", error: null }])).toMatchObject({ kind: "confirmed" });
  expect(await outcome([null, processed, down, confirmed])).toMatchObject({
    ...{ kind: "confirmed", asked: 4, seconds: 3 },
  });
});

test("a failure has its reason", async () => {
  expect(await outcome([null, failed])).toMatchObject({ kind: "failed", error: failed.error });
});

test("what the chain has passed by is over, once it was looked for again", async () => {
  expect(await outcome([null], { lastValid: 3n })).toMatchObject({ kind: "expired", asked: 5, seconds: 3 });
  // It was executed in the last block.
  expect(await outcome([null, confirmed], { height: 9n, lastValid: 8n })).toMatchObject({
    kind: "confirmed",
  });
  // A processed transaction does not expire at any height.
  expect(await outcome([processed, processed, confirmed], { height: 9n, lastValid: 8n })).toMatchObject({
    kind: "confirmed",
  });
});

test("ends with an unknown result when the ledger cannot be read", async () => {
  expect(await outcome([down])).toMatchObject({ kind: "unknown", detail: down.message, seconds: 120 });
  expect(await outcome([processed])).toMatchObject({ kind: "unknown", seconds: 120 });
});
