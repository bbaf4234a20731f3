import { expect, test } from "vitest";
import { planOf } from "./scenario.ts";
import { shrink } from "./shrink.ts";

test("what the violation does not need is left out", async () => {
  const plan = planOf(14);
  const needed = plan.world.deeds.find(({ kind }) => kind === "transfer")!;
  const trouble = plan.troubles.faults[1]!;
  const { plan: small, played } = await shrink(plan, async ({ world, troubles }) =>
    [world.deeds.includes(needed), troubles.faults.includes(trouble)].every((is) => is),
  );
  expect(small.world.deeds).toEqual([needed]);
  expect(small.troubles).toEqual({ ...plan.troubles, faults: [trouble], life: [] });
  expect(played).toBeLessThanOrEqual(120);
});
