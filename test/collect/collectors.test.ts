/** Collecting from the simulator, end to end: what is asked, when, and what is made of it. */
import { expect, test } from "vitest";
import { Rig } from "./rig.ts";

test("everything is asked once within two seconds of the start, what risk needs first", async () => {
  await using rig = await Rig.start();
  const daemon = await rig.boot();
  await rig.clock.advance(2_000);
  const kinds = daemon.observations.map((one) => one.kind);
  expect(daemon.of("failed")).toEqual([]);
  expect(kinds.slice(0, 3).sort()).toEqual(["accounts", "marketConfig", "prices"]);
  for (const kind of ["accounts", "marketConfig", "prices", "exchangeStatus", "traderView", "events"])
    expect(kinds).toContain(kind);
  expect(daemon.collectors.status().every((one) => one.failuresInRow === 0)).toBe(true);
});
