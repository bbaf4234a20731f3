/** The table of what counts as handled. */
import { describe, expect, test } from "vitest";
import { isHandled } from "../../src/deliver/index.ts";
import type { AckWord, DeliveryStatus } from "../../src/domain/alerts/delivery.ts";

/** Alerts by id: whether a person acknowledged, and where its items stand. An alert without a row is not recorded. */
type World = Readonly<
  Record<number, { readonly acked?: boolean; readonly items?: readonly DeliveryStatus[] }>
>;

function handled(word: AckWord, rules: readonly (readonly number[])[], world: World): boolean {
  return isHandled(
    { word, rules: rules.map((alertIds, index) => ({ rule: `R${index}`, alertIds })) },
    {
      alert: (id) => (world[id] ? { acknowledgedAtMs: world[id].acked ? 1 : null } : undefined),
      items: (id) => (world[id]?.items ?? []).map((status) => ({ status })),
    },
  );
}

describe("whenDelivered", () => {
  const cases: readonly (readonly [string, boolean, readonly (readonly number[])[], World])[] = [
    ["one item, delivered", true, [[1]], { 1: { items: ["delivered"] } }],
    ["one item, owed", false, [[1]], { 1: { items: ["owed"] } }],
    ["one item, sealed", false, [[1]], { 1: { items: ["sealed"] } }],
    ["one item, dead: nobody was told", false, [[1]], { 1: { items: ["dead"] } }],
    ["one receiver told, the other dead", true, [[1]], { 1: { items: ["delivered", "dead"] } }],
    ["one receiver told, the other not yet", false, [[1]], { 1: { items: ["delivered", "owed"] } }],
    ["nothing owed (held, muted, no receiver)", false, [[1]], { 1: { items: [] } }],
    ["an alert that is not recorded", false, [[1]], {}],
    ["an alert that is not recorded beside one that is", false, [[1, 2]], { 1: { items: ["delivered"] } }],
    [
      "two alerts of a rule, one delivered, one dead",
      true,
      [[1, 2]],
      { 1: { items: ["delivered"] }, 2: { items: ["dead"] } },
    ],
    ["two alerts of a rule, one with nothing owed", false, [[1, 2]], { 1: { items: ["delivered"] }, 2: {} }],
    [
      "two rules, both delivered",
      true,
      [[1], [2]],
      { 1: { items: ["delivered"] }, 2: { items: ["delivered"] } },
    ],
    ["two rules, one dead", false, [[1], [2]], { 1: { items: ["delivered"] }, 2: { items: ["dead"] } }],
    ["two rules, one waits", false, [[1], [2]], { 1: { items: ["delivered"] }, 2: { items: ["sealed"] } }],
    ["no rule", false, [], {}],
    ["a rule without alerts", false, [[]], {}],
    ["a person's word does not stand for a delivery", false, [[1]], { 1: { acked: true, items: ["owed"] } }],
  ];
  test.each(cases)("%s: %s", (_name, expected, rules, world) => {
    expect(handled("whenDelivered", rules, world)).toBe(expected);
  });
});

describe("whenAcknowledged", () => {
  const cases: readonly (readonly [string, boolean, readonly (readonly number[])[], World])[] = [
    ["acknowledged by a person", true, [[1]], { 1: { acked: true } }],
    ["delivered only", false, [[1]], { 1: { items: ["delivered"] } }],
    ["one of two alerts", false, [[1, 2]], { 1: { acked: true }, 2: {} }],
    ["one of two rules", false, [[1], [2]], { 1: { acked: true }, 2: {} }],
    ["all of two rules", true, [[1], [2]], { 1: { acked: true }, 2: { acked: true } }],
    ["an alert that is not recorded", false, [[1]], {}],
    ["no rule", false, [], {}],
  ];
  test.each(cases)("%s: %s", (_name, expected, rules, world) => {
    expect(handled("whenAcknowledged", rules, world)).toBe(expected);
  });
});

test("always is handled, never is not, whatever else is so", () => {
  expect(handled("always", [], {})).toBe(true);
  expect(handled("always", [[1]], { 1: { items: ["owed"] } })).toBe(true);
  expect(handled("never", [[1]], { 1: { acked: true, items: ["delivered"] } })).toBe(false);
});
