import type { Changes } from "../../src/domain/stored/changes.ts";
import { changes } from "../../src/domain/stored/changes.ts";
import * as example from "./examples.ts";
import { t0 } from "./examples.ts";

export const owners = ["main/0.0", "other/0.1", "markets"];

/** Ticks that every batch writes for each owner. */
export const ticksEach = 7;

/** A batch that touches every table, all of it telling its number. */
export function batch(number: number): Changes {
  const atMs = t0 + number * 1_000;
  return changes({
    ticks: owners.flatMap((owner) =>
      Array.from({ length: ticksEach }, (_, i) =>
        example.tick({ owner, atMs: atMs + i, values: [number, i, number / 3] }),
      ),
    ),
    facts: [{ atMs, owner: "main/0.0", name: "n", value: `${number}` }],
    events: [example.event({ key: `${number}`, happenedMs: atMs })],
    alerts: [example.alert({ id: number })],
    alertChanges: [example.alertChange({ id: number, alertId: number })],
    // Every other batch is one that must reach the platter before its commit returns.
    deliveryItems:
      number % 2 === 0 ? [example.owedItem({ id: number, changeId: number, alertId: number })] : [],
    messages: number % 2 === 0 ? [example.message({ id: `m${number}`, alertIds: [number] })] : [],
    payloads: [{ atMs, source: "funding", wallet: null, body: `body ${number}`, problem: "p" }],
  });
}
