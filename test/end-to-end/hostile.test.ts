/** An exchange whose answers are made to stop the daemon: it goes on, and what else they say is notified. */
import { expect, test, vi } from "vitest";
import { every, openHouse } from "../support/daemon.ts";

// An upper bound for slow machines: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

const schedules = every("1s", ["traderState", "markets", "notifications"]);
const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;

test.each([
  ["its data", "moonrise", `"data":${deep},"acked":false`],
  ["a field that it must have beside one that fits", "moonset", `"data":null,"acked":${deep}`],
])("a notification that nests %s without end costs no other, nor the daemon", async (_what, type, fields) => {
  await using house = await openHouse();
  await house.start({ schedules, rules: ["shipped:margin"] });
  await house.clock.advance(5_000);
  const path = `/v1/traders/${house.trader().traderPda}/notifications`;
  const head = `"source":"general","createdAt":${Math.floor(house.clock.nowMs() / 1_000)}`;
  const items = [
    `{${head},"id":7,"notificationType":"${type}",${fields}}`,
    `{${head},"id":8,"notificationType":"comet","data":null,"acked":false}`,
  ];
  await house.call("fault", { path, body: `{"items":[${items.join(",")}]}` });
  await house.clock.advance(10_000);
  expect(house.chats(/not known here: comet/)).toHaveLength(1);
  expect(house.chats(/not known here: moonrise/)).toHaveLength(type === "moonrise" ? 1 : 0);
  house.simulator.faults.clear();
  const later = { trader: "main", source: "general", notificationType: "eclipse" };
  await house.call("notification", later);
  await house.clock.advance(10_000);
  expect(house.chats(/not known here: eclipse/)).toHaveLength(1);
});
