/** Rules in shadow mode count the messages that the same rules send live. */
import { expect, test } from "vitest";
import { remindSettings } from "../../src/alerts/reminders/remind.ts";
import { routingSettings } from "../../src/alerts/routing/route.ts";
import type { Alert, AlertChange } from "../../src/domain/alerts/alert.ts";
import { Journal } from "../../src/replay/journal.ts";
import { shadowReport } from "../../src/replay/shadow.ts";
import {
  Harness,
  mainWallet,
  notification,
  position,
  rulesOf,
  startMs,
  subaccount,
} from "../engine/harness.ts";

const rules = (mode: string) => `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < 0.3 }
      critical: { when: value < 0.1 }
    for: 0s
    keepFiringFor: 5s
    mode: ${mode}
    summary: "{{ wallet.name }} {{ position.symbol }} {{ percent(value) }}"
  - name: Filled
    on: notification
    when: event.type == "order_filled"
    severity: info
    throttle: 20s
    mode: ${mode}
    summary: filled
`;

const wallets = ["main", "second", "third", "fourth", "fifth"].map((name) => ({ ...mainWallet, name }));

/** The same observations for both modes. */
function lived(mode: string, routing: Record<string, unknown>): Harness {
  const harness = new Harness({
    rules: rules(mode),
    wallets,
    routing,
    // A rule in shadow mode sends no reminders.
    remind: { warning: "never", critical: "never", worseBy: 0 },
  });
  const all = (usd: number, seconds: number) => {
    harness.config();
    for (let second = 0; second < seconds; second += 5) {
      harness.mark(usd);
      for (const { name } of wallets) {
        harness.nowMs++;
        harness.account([subaccount(2_500, [position(60, 150)])], name);
      }
      harness.pass(5_000);
    }
  };
  all(150, 10);
  all(135, 10);
  for (const key of ["a", "b", "c"]) {
    harness.events("notifications", [notification(key, "order_filled")]);
    harness.pass(3_000);
  }
  all(112, 10);
  all(150, 40);
  return harness;
}

test.each([
  { groupBy: ["wallet"] },
  { groupBy: [] },
  { groupBy: ["wallet"], stormFold: 1, groupInterval: "20s" },
  { groupBy: ["rule"], groupWait: "0s", groupInterval: "0s" },
  {
    groupBy: ["wallet"],
    stormFold: 10,
    routes: [{ match: { severity: "critical" }, receivers: ["loud", "you"] }],
  },
])("by routes %j", async (more) => {
  const routing = { receivers: ["you"], ...more };
  const live = lived("live", routing);
  const parsed = routingSettings.parse(routing);
  const journal = new Journal({ stormFold: parsed.stormFold });
  for (const changes of live.all)
    journal.take(changes, Math.max(...changes.deliveryItems.map(({ owedAtMs }) => owedAtMs), 0));
  journal.delivery.finish();
  const sent = (rule: string) =>
    journal.messages.filter(({ changes }) => changes.some(({ alert }) => alert.rule === rule)).length;

  const shadow = lived("shadow", routing);
  const alerts = new Map<number, Alert>(
    shadow.all.flatMap((changes) => changes.alerts.map((alert) => [alert.id, alert])),
  );
  const changes = shadow.all.flatMap(({ alertChanges }) => alertChanges);
  const store = {
    alerts: async () => [...alerts.values()].filter((alert) => alert.shadow === true).reverse(),
    alertChanges: async ({ alertId }: { readonly alertId?: number }): Promise<readonly AlertChange[]> =>
      changes.filter((change) => change.alertId === alertId),
  };
  const report = await shadowReport(
    store,
    rulesOf(rules("shadow"), wallets),
    { routing: parsed, remind: remindSettings.parse({}) },
    startMs,
  );
  const counted = Object.fromEntries(report.rules.map(({ rule, messages }) => [rule, messages]));
  expect(counted).toEqual({ Near: sent("Near"), Filled: sent("Filled") });
  expect(sent("Near")).toBeGreaterThan(1);
  expect(sent("Filled")).toBe(2);
});
