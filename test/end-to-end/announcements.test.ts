/** One announcement in the inboxes of several wallets, through the whole daemon. */
import { expect, test, vi } from "vitest";
import type { InboxAudit } from "../../src/domain/inbox.ts";
import { every, type House, openHouse } from "../support/daemon.ts";

// An upper bound for slow machines: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

const maintenance = { source: "admin", notificationType: "maintenance", title: "Pause", body: "At six." };
const wallets = ["main", "other", "third"] as const;

async function audit(house: House): Promise<readonly InboxAudit[]> {
  const asked = house.ask("POST", "/api/v1/notifications/audit", {});
  const { audits } = (await house.clock.finish(asked)) as { readonly audits: readonly InboxAudit[] };
  await house.clock.advance(5_000);
  return audits;
}

test("it is sent once to each receiver and acknowledged for every wallet, across a restart too", async () => {
  await using house = await openHouse({ wallets: [...wallets] });
  const settings = {
    schedules: every("1s", ["traderState", "markets", "notifications"]),
    acknowledge: { audit: "off" },
  };
  const first = await house.start(settings);
  await house.clock.advance(5_000);
  await house.call("notification", maintenance);
  await house.clock.advance(30_000);
  expect(house.chats(/The exchange says: Pause/)).toHaveLength(1);
  for (const name of wallets) expect(await house.inbox(name)).toEqual({ acked: ["maintenance"], open: [] });

  await first.stop();
  await house.start(settings);
  await house.clock.advance(10_000);
  for (let round = 0; round < 2; round++)
    for (const { differences, left } of await audit(house)) expect([differences, left]).toEqual([[], []]);
  await house.clock.advance(30_000);
  expect(house.chats(/The exchange says: Pause/)).toHaveLength(1);
  expect(house.chats(/inbox differs/)).toEqual([]);
});

test("a wallet with a receiver of its own is notified there, and a copy that is read after a restart nowhere again", async () => {
  await using house = await openHouse({ wallets: [...wallets] });
  const settings = {
    schedules: every("1s", ["traderState", "markets", "notifications"]),
    acknowledge: { audit: "off" },
    routing: {
      receivers: ["chat"],
      routes: [{ match: { wallet: "other" }, receivers: ["chat", "mail"] }],
    },
  };
  const path = (name: string) => `/v1/traders/${house.trader(name).traderPda}/notifications`;
  const first = await house.start(settings);
  await house.clock.advance(5_000);
  // The third wallet's inbox cannot be read until after the restart.
  await house.call("fault", { path: path("third"), status: 503 });
  await house.call("notification", maintenance);
  await house.clock.advance(30_000);
  expect(house.chats(/The exchange says: Pause/)).toHaveLength(1);
  expect(house.subjects().filter((subject) => /Pause/.test(subject))).toHaveLength(1);
  expect(await house.inbox("third")).toEqual({ acked: [], open: ["maintenance"] });

  await first.stop();
  house.simulator.faults.clear();
  await house.start(settings);
  await house.clock.advance(60_000);
  for (const name of wallets) expect(await house.inbox(name)).toEqual({ acked: ["maintenance"], open: [] });
  expect(house.chats(/The exchange says: Pause/)).toHaveLength(1);
  expect(house.subjects().filter((subject) => /Pause/.test(subject))).toHaveLength(1);
});

test("an announcement of a kind that is not known is sent once and acknowledged for all by one word", async () => {
  await using house = await openHouse({ wallets: [...wallets] });
  await house.start({
    schedules: every("1s", ["traderState", "markets", "notifications"]),
    acknowledge: { audit: "off" },
    rules: ["shipped:margin"],
  });
  await house.clock.advance(5_000);
  await house.call("notification", { ...maintenance, notificationType: "full_moon" });
  await house.clock.advance(30_000);
  expect(house.chats(/not known here: full/)).toHaveLength(1);
  const [alert] = await house.read((store) => store.alerts({}));
  await house.ask("POST", `/api/v1/alerts/${alert!.id}/ack`, { by: "mara" });
  await house.clock.advance(5_000);
  for (const name of wallets) expect(await house.inbox(name)).toEqual({ acked: ["full_moon"], open: [] });
});
