/** A source that answers again after it was too old, with nothing new. */
import { expect, test } from "vitest";
import { Harness, position, subaccount } from "./harness.ts";

test("rules over events of accounts and positions are judged again when their source is read, also without a new event", () => {
  const harness = new Harness({
    rules: `
rules:
  - name: ManyCancelled
    scope: trader
    severity: warning
    summary: many
    when: countOver("notification", "10m", "notification.type == 'risk_engine_cancel_order'") >= 3.0
  - name: ManyFills
    scope: position
    severity: warning
    summary: many
    when: countOver("fill", "10m") >= 100.0
`,
  });
  const states = [subaccount(10_000, [position(1, 150)])];
  const blind = () =>
    harness.watch.status(harness.nowMs).unjudged.map(({ rule, source }) => `${rule} ${source}`);
  harness.config();
  harness.mark(150);
  harness.account(states);
  harness.events("notifications", []);
  harness.events("fills", []);
  harness.live(10_000, states, 150);
  expect(blind()).toEqual([]);
  harness.live(120_000, states, 150);
  expect(blind().sort()).toEqual(["ManyCancelled notifications", "ManyFills fills"]);
  harness.events("notifications", []);
  expect(blind()).toEqual(["ManyFills fills"]);
  harness.events("fills", []);
  expect(blind()).toEqual([]);
});
