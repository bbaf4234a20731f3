import { describe, expect, test } from "vitest";
import { acknowledgeSettings, acknowledgeWord } from "../../src/alerts/acknowledge.ts";
import {
  isBeyond,
  isWorse,
  type Notified,
  nextReminderMs,
  notifiedWith,
  remindSettings,
} from "../../src/alerts/reminders/remind.ts";
import { routingSettings, waysFor } from "../../src/alerts/routing/route.ts";
import type { Alert, Severity } from "../../src/domain/alerts/alert.ts";
import type { AckWord } from "../../src/domain/alerts/delivery.ts";

describe("routes", () => {
  const routing = routingSettings.parse({
    receivers: ["chat"],
    routes: [
      { match: { rule: "Noise" }, receivers: ["log"], continue: true },
      { match: { severity: ["warning", "critical"], wallet: "mm-1" }, receivers: ["desk"] },
      { match: { severity: "critical" }, receivers: ["chat", "mail"] },
    ],
  });

  test.each<[Record<string, string>, string[]]>([
    [{ severity: "info" }, ["chat"]],
    [{ severity: "critical" }, ["chat", "mail"]],
    [{ severity: "critical", wallet: "mm-1" }, ["desk"]],
    [{ severity: "critical", rule: "Noise" }, ["log", "chat", "mail"]],
    [{ severity: "info", rule: "Noise" }, ["log"]],
  ])("%j goes to %j", (labels, receivers) => {
    expect(waysFor(routing, labels).flatMap((way) => way.receivers)).toEqual(receivers);
  });
});

describe("reminders", () => {
  const settings = remindSettings.parse({});
  const alert = (severity: Severity, acknowledgedAtMs: number | null = null): Alert => ({
    id: 1,
    rule: "r",
    subject: "main",
    wallet: "main",
    symbol: null,
    labels: {},
    severity,
    state: "firing",
    event: false,
    sinceMs: 0,
    firedAtMs: 0,
    endedAtMs: null,
    ending: null,
    alreadySo: false,
    summary: "",
    description: "",
    runbook: null,
    value: null,
    dataAtMs: 0,
    acknowledgedBy: acknowledgedAtMs === null ? null : "ann",
    acknowledgedAtMs,
    eventKey: null,
  });
  const minute = 60_000;

  test.each<[string, Alert, number, number | null]>([
    ["critical: every 5 minutes", alert("critical"), 0, 5 * minute],
    ["critical, the fourth time: still every 5 minutes", alert("critical"), 3, 5 * minute],
    ["critical, acknowledged: when that lapses", alert("critical", 2 * minute), 0, 62 * minute],
    ["warning: after an hour", alert("warning"), 0, 60 * minute],
    ["warning: doubling", alert("warning"), 2, 240 * minute],
    ["warning: up to 8 hours", alert("warning"), 9, 480 * minute],
    ["warning, acknowledged: never", alert("warning", minute), 0, null],
    ["info: never", alert("info"), 0, null],
    ["an event: never", { ...alert("critical"), event: true }, 0, null],
  ])("%s", (_, of, count, dueMs) => {
    expect(nextReminderMs(of, { notifiedAtMs: 0, count }, settings)).toBe(dueMs);
  });

  test.each<[string, number | null, number | null, boolean, boolean]>([
    ["a distance that shrank by a fifth", 0.1, 0.08, true, true],
    ["a distance that shrank by less", 0.1, 0.085, true, false],
    ["a distance that grew", 0.1, 0.2, true, false],
    ["a ratio that grew by more than a fifth", 0.5, 0.61, false, true],
    ["a ratio that fell", 0.5, 0.4, false, false],
    ["nothing told yet", null, 0.4, false, false],
    ["a value that is not known now", 0.4, null, false, false],
  ])("worse: %s", (_, told, value, falling, worse) => {
    expect(isWorse(told, value, falling, 0.2)).toBe(worse);
  });

  test.each<[string, number, number, boolean, number, boolean]>([
    ["a fifth of what was left", 0.8, 0.8401, false, 1, true],
    ["less than that", 0.8, 0.8399, false, 1, false],
    ["towards a worst value below", 10, 8.9, true, 5, true],
    ["less than that below", 10, 9.1, true, 5, false],
    ["just before it, by a twentieth of the value", 0.99, 1.041, false, 1, true],
    ["just before it, by less", 0.99, 1.039, false, 1, false],
    ["beyond it, by a twentieth", 1.2, 1.261, false, 1, true],
    ["beyond it, by less", 1.2, 1.259, false, 1, false],
    ["better", 0.9, 0.85, false, 1, false],
  ])("worse than told, with a worst value: %s", (_, told, value, falling, worst, worse) => {
    expect(isWorse(told, value, falling, 0.2, worst)).toBe(worse);
  });

  test.each<[string, readonly number[], number, boolean]>([
    ["a fifth above", [10], 12, true],
    ["less than that", [10], 11.9, false],
    ["a fifth below", [10], 8, true],
    ["between two that were notified", [10, 20], 15, false],
    ["above both, by a fifth of the larger", [10, 20], 24, true],
    ["below both, by less than that", [10, 20], 8, false],
    ["the other sign", [10], -10, true],
    ["nothing before", [0], 0.001, true],
    ["nothing before and now", [0], 0, false],
    ["infinite now", [10], Number.POSITIVE_INFINITY, true],
    ["still infinite", [Number.POSITIVE_INFINITY], Number.POSITIVE_INFINITY, false],
    ["no longer infinite", [Number.POSITIVE_INFINITY], 10, true],
    ["beyond the finite one of two", [Number.POSITIVE_INFINITY, 10], 8, true],
  ])("outside of what was notified: %s", (_, notified, value, beyond) => {
    const all = notified.reduce<Notified | null>((before, one) => notifiedWith(one, before), null);
    expect(isBeyond(all!, value, 0.2)).toBe(beyond);
  });
});

describe("what it takes until a notification is handled", () => {
  test.each<[string, object, string, (AckWord | null)[], AckWord]>([
    ["the default", {}, "adl", [null], "whenDelivered"],
    ["never, by the configuration", { notifications: "never" }, "adl", [null], "never"],
    [
      "the type's word",
      { types: { liquidation: "whenAcknowledged" } },
      "liquidation",
      [null],
      "whenAcknowledged",
    ],
    ["the rule's own word wins", { types: { adl: "never" } }, "adl", ["always"], "always"],
    ["the strictest of several", {}, "adl", ["always", "whenAcknowledged", null], "whenAcknowledged"],
    ["a type that is called like what every object has", {}, "constructor", [null], "whenDelivered"],
    ["never is the strictest", {}, "adl", ["never", "whenAcknowledged"], "never"],
  ])("%s", (_, settings, type, words, word) => {
    expect(acknowledgeWord(acknowledgeSettings.parse(settings), type, words)).toBe(word);
  });
});
