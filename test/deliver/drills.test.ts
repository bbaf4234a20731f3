/** Fire drills where history fails: nobody may take silence for success. */
import { expect, test } from "vitest";
import { Drills } from "../../src/deliver/drills.ts";
import type { Observation } from "../../src/domain/observation.ts";
import { changes } from "../../src/domain/stored/changes.ts";
import { FakeClock } from "../support/clock.ts";
import { Alerts } from "./support.ts";

test("a drill whose deliveries cannot be read fails when its time is over, and says why", async () => {
  const clock = new FakeClock("2026-11-21T03:41:18Z");
  const seen: Observation[] = [];
  const away = () => Promise.reject(new Error("the disk does not answer"));
  const drills: Drills = new Drills({
    ...{ clock, channels: ["chat"], withinMs: 60_000, newId: () => "x", nextMs: () => null },
    store: { deliveryItems: away, messages: away },
    observe: async (one) => {
      seen.push(one);
      if (one.kind !== "drill") return;
      const alert = new Alerts(clock).alert({ drill: true, event: true, eventKey: "drill:x" });
      drills.committed(changes({ alerts: [alert] }));
    },
  });
  expect(await drills.begin(["chat"], "the schedule", true)).toMatchObject({ alertId: 1 });
  drills.settled([1]);
  await clock.advance(61_000);
  const failure = "What became of it cannot be read: the disk does not answer";
  expect(seen.at(-1)).toMatchObject({ kind: "drilled", channels: [{ channel: "chat", failure }] });
  expect(drills.status().last).toMatchObject({ channels: [{ failure }] });
});
