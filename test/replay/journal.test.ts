/** The messages of a replay that count as sent. */
import { expect, test } from "vitest";
import type { Alert } from "../../src/domain/alerts/alert.ts";
import { changes } from "../../src/domain/stored/changes.ts";
import { Journal } from "../../src/replay/journal.ts";

const atMs = 1_000_000;

test("what an incident adds quietly is edited where the channel can, and a message elsewhere", () => {
  const journal = new Journal({ stormFold: 3, capacities: new Map([["chat", { edits: true }]]) });
  const take = (id: number, quiet: boolean) => {
    const alert = { id, rule: "Near", subject: "main/0.0/SOL", severity: "critical", event: false } as Alert;
    journal.take(
      changes({
        alertChanges: [
          { id, alertId: id, kind: "fired", atMs: atMs + id, alert, details: [], happenedMs: null },
        ],
        deliveryItems: ["chat", "mail"].map((receiver, index) => ({
          ...{ id: 2 * id + index, changeId: id, alertId: id, receiver, severity: "critical" },
          ...{ owedAtMs: atMs + id, groupKey: "incident/1", status: "owed", messageId: null },
          ...(quiet ? { quiet: true } : {}),
        })),
      }),
      atMs + id,
    );
    journal.delivery.finish();
  };
  take(1, false);
  take(2, true);
  expect(journal.messages.map(({ receiver }) => receiver)).toEqual(["chat", "mail", "chat", "mail"]);
  expect(journal.sent.map(({ receiver }) => receiver)).toEqual(["chat", "mail", "mail"]);
});
