/** The steps of one incident: which changes of its alerts call, which are quiet, and when each leaves. */
import { describe, expect, test } from "vitest";
import {
  type Incident,
  isOpen,
  joinsForMs,
  newIncident,
  type Step,
  type Stepped,
  stepIncident,
} from "../../src/alerts/incidents/incident.ts";
import type { Alert, AlertChangeKind, Ending } from "../../src/domain/alerts/alert.ts";

const second = 1_000;
const atMs = 1_000_000;

interface Change extends Partial<Omit<Step, "change">> {
  readonly kind: AlertChangeKind;
  readonly id?: number;
  readonly value?: number;
  readonly severity?: Alert["severity"];
  readonly ending?: Ending;
}

function take(
  incident: Incident,
  { kind, id = 1, value = 0.04, severity = "critical", ending, ...more }: Change,
): Stepped {
  const alert = { id, severity, value, ending: ending ?? null, acknowledgedAtMs: null } as Alert;
  return stepIncident(incident, {
    ...{ change: { kind, alert }, account: `w${id}/0.0`, isDistance: true, isTier: false, voids: false },
    ...{ released: false, remindMs: 300 * second, edits: true, nowMs: atMs },
    isHeld: () => false,
    ...more,
  });
}

const began = (value = 0.04) => take(newIncident("incident/1", atMs), { kind: "fired", value }).incident;
const waits = ({ leaves }: Stepped, nowMs: number) =>
  leaves && `${leaves.quiet ? "quiet" : "calls"} after ${(leaves.atMs - nowMs) / second} s`;

/** Ms after the beginning at which the changes below come. */
const laterMs = atMs + 20 * second;
const later = (change: Change, incident = began()) =>
  waits(take(incident, { nowMs: laterMs, ...change }), laterMs);

test("the first critical alert leaves at once, that of a further account after a second", () => {
  expect(waits(take(newIncident("incident/1", atMs), { kind: "fired" }), atMs)).toBe("calls after 0 s");
  expect(later({ kind: "fired", id: 2 })).toBe("calls after 1 s");
});

describe("an alert of an account that was told", () => {
  const same = { account: "w1/0.0" };
  test.each<[string, Change, string]>([
    ["a further one is quiet", { kind: "fired", id: 2, value: 0.03, ...same }, "quiet after 5 s"],
    ["half the worst distance calls", { kind: "fired", id: 2, value: 0.02, ...same }, "calls after 1 s"],
    ["got worse, and not by half", { kind: "worsened", value: 0.021 }, "quiet after 5 s"],
    ["got worse by half", { kind: "worsened", value: 0.019 }, "calls after 1 s"],
    ["can be liquidated by its distance", { kind: "worsened", value: 0 }, "calls after 1 s"],
    [
      "can be liquidated by the exchange's word",
      { kind: "fired", id: 2, ...same, isTier: true },
      "calls after 1 s",
    ],
    ["voids an acknowledgement", { kind: "worsened", value: 0.035, voids: true }, "calls after 1 s"],
  ])("%s", (_, change, expected) => {
    expect(later(change)).toBe(expected);
  });

  test("half of next to nothing is no news", () => {
    expect(later({ kind: "worsened", value: 0.0001 }, began(0.004))).toBe("quiet after 5 s");
    expect(later({ kind: "worsened", value: 0 }, began(0.004))).toBe("calls after 1 s");
  });
});

describe("an end", () => {
  const two = () => take(began(), { kind: "fired", id: 2, nowMs: atMs + second }).incident;
  test.each<[Ending, string]>([
    ["liquidated", "calls after 0 s"],
    ["deleveraged", "calls after 0 s"],
    ["flipped", "calls after 0 s"],
    ["recovered", "quiet after 5 s"],
    ["closed", "quiet after 5 s"],
  ])("%s while another fires %s", (ending, expected) => {
    expect(later({ kind: "ended", ending }, two())).toBe(expected);
  });

  test("a recovery waits for the last one where nothing can be edited; the last one calls", () => {
    expect(later({ kind: "ended", ending: "recovered", edits: false }, two())).toBe("quiet after 1800 s");
    expect(later({ kind: "ended", ending: "recovered", edits: false })).toBe("calls after 0 s");
    expect(later({ kind: "fell", severity: "warning" })).toBe("calls after 0 s");
  });
});

test("a reminder calls once in its interval, and needs no word within it", () => {
  expect(later({ kind: "reminder" })).toBeNull();
  const nowMs = atMs + 300 * second;
  const first = take(began(), { kind: "reminder", nowMs });
  expect(waits(first, nowMs)).toBe("calls after 0 s");
  expect(waits(take(first.incident, { kind: "reminder", nowMs: nowMs + second }), nowMs)).toBeNull();
});

test("new members join until half an hour after the last critical one", () => {
  expect(isOpen(began(), atMs + joinsForMs)).toBe(true);
  expect(isOpen(began(), atMs + joinsForMs + 1)).toBe(false);
  const joined = take(began(), { kind: "fired", id: 2, nowMs: atMs + 60 * second }).incident;
  expect(isOpen(joined, atMs + joinsForMs + 1)).toBe(true);
});
