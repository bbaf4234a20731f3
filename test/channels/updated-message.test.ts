/** The first message of an incident with later updates. */
import { expect, test } from "vitest";
import { withUpdates } from "../../src/channels/message/updated-message.ts";
import { render } from "../../src/channels/message.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { atMs, change, message } from "./messages.ts";

const incident = { id: "I1" };
const of = (id: number, ms: number): AlertChange => {
  const advice = [{ account: `w${id}/0.0`, line: `Sell ${id} SOL.`, clears: true as const }];
  const subject = `w${id}/0.0/SOL`;
  return change(
    "fired",
    { id, subject, description: "Now: add collateral." },
    { id: ms + id, atMs: atMs + ms, advice },
  );
};
const nowOf = (sent: Parameters<typeof render>[0]) =>
  render(sent).blocks.map(({ alertId, description }) => `${alertId} ${description}`);

test("amounts of long before the newest of an edited message are left out", () => {
  const sent = message([of(1, 0)], { content: { incident } });
  const soon = message([of(2, 30_000)], { content: { incident } });
  expect(nowOf(withUpdates(sent, [soon]))).toEqual(["1 Now: sell 1 SOL.", "2 Now: sell 2 SOL."]);
  const later = message([of(2, 30_001)], { content: { incident } });
  expect(nowOf(withUpdates(sent, [later]))).toEqual(["1 Now: add collateral.", "2 Now: sell 2 SOL."]);
  expect(nowOf(sent)).toEqual(["1 Now: sell 1 SOL."]);
});
