/** Emergencies on Pushover in the whole daemon, over outages. */
import { expect, test, vi } from "vitest";
import { openHouse } from "../support/daemon.ts";
import { Pushover } from "../support/pushover.ts";
import { startService } from "../support/service.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 180_000 });

const token = "aTokenNeverToBeShown0123456789";
const user = "uKeyNeverToBeShownAnywhere0123";

test("what was acknowledged in an outage longer than the emergency counts at the start", async () => {
  await using house = await openHouse();
  const phone = new Pushover({ token, user, nowMs: () => house.clock.nowMs() });
  await using far = await startService(phone.dialect, { sends: ({ path }) => path.includes("/receipts/") });
  const sections = {
    channels: {
      alarm: { type: "pushover", token, userKey: user, apiUrl: far.url, emergency: { expire: "30m" } },
    },
    rules: ["shipped:liquidation-risk"],
  };
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const first = await house.start(sections);
  await house.bring("SOL", 0.03);
  await house.clock.advance(10_000);
  const emergency = phone.pushes.items.find(({ priority }) => priority === 2)!;
  await first.stop();
  phone.acknowledge(emergency, "pixel");
  await house.clock.advance(5 * 3_600_000);

  const { daemon } = await house.start(sections);
  await house.clock.advance(15_000);
  const acknowledged = daemon.status().watch.firing.filter(({ severity }) => severity === "critical");
  expect(acknowledged.length).toBeGreaterThan(0);
  for (const { acknowledgedBy } of acknowledged) expect(acknowledgedBy).toBe("pixel (pushover uKeyN…)");
});
