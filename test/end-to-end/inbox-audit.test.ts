/** The exchange's inbox held against what is known here, through the whole daemon. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import Database from "better-sqlite3";
import { expect, test, vi } from "vitest";
import type { InboxAudit } from "../../src/domain/inbox.ts";
import type { DaemonStatus } from "../../src/domain/status.ts";
import { every, type House, openHouse } from "../support/daemon.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 120_000 });

function temporaryFolder(): { readonly path: string } & Disposable {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-audit-"));
  return { path: folder, [Symbol.dispose]: () => fs.rmSync(folder, { recursive: true, force: true }) };
}

async function audit(house: House): Promise<InboxAudit> {
  const asked = house.ask("POST", "/api/v1/notifications/audit", { wallet: "main" });
  const { audits } = (await house.clock.finish(asked)) as { readonly audits: readonly InboxAudit[] };
  await house.clock.advance(5_000);
  return audits[0]!;
}

const brief = ({ differences }: InboxAudit) =>
  differences.map(({ kind, type, done, lasting }) => `${kind} ${type}: ${done}${lasting ? ", again" : ""}`);

/** A configuration in which polls find no notification before an audit does, and audits run when they are asked for. */
const auditedFirst = {
  schedules: {
    ...every("1h", ["notifications"]),
    ...every("10s", ["traderState", "markets", "exchangeStatus"]),
  },
  acknowledge: { audit: "off" },
};

/** Sets the acknowledged state of a notification at the exchange, as if somebody else had done it or it had lost it. */
function setAcked(house: House, type: string, acked: boolean): void {
  for (const wallet of house.simulator.world.wallets.values())
    for (const one of wallet.notifications.all()) if (one.notificationType === type) one.acked = acked;
}

test("what differs is mended where it can be, and told when it lasts; what is left has a reason", async () => {
  await using house = await openHouse();
  await house.start(auditedFirst);
  await house.clock.advance(5_000);
  for (const notificationType of ["stop_loss_executed", "full_moon"])
    await house.call("notification", { trader: "main", notificationType });
  await house.clock.advance(70_000);
  expect(await house.inbox()).toEqual({ acked: [], open: ["stop_loss_executed", "full_moon"] });

  const found = await audit(house);
  expect(found).toMatchObject({ wallet: "main", failure: null, there: 2 });
  expect(brief(found).sort()).toEqual([
    "notStored full_moon: fetched",
    "notStored stop_loss_executed: fetched",
  ]);
  // They went the usual way: told, and only what is known here is acknowledged.
  const unknown = house.chats(/not known here: full/);
  expect(unknown).toHaveLength(1);
  expect(await house.inbox()).toEqual({ acked: ["stop_loss_executed"], open: ["full_moon"] });

  const calm = await audit(house);
  expect(brief(calm)).toEqual([]);
  expect(calm.left).toMatchObject([
    { type: "full_moon", why: expect.stringMatching(/^waits until a person acknowledges alert #\d+$/) },
  ]);

  // The exchange lost an acknowledgement, and takes no other for a while.
  setAcked(house, "stop_loss_executed", false);
  const path = `/v1/traders/${house.trader().traderPda}/notifications/ack/notifications`;
  await house.call("fault", { path, status: 400 });
  expect(brief(await audit(house))).toEqual(["ackedHereOnly stop_loss_executed: not yet"]);
  expect(house.chats(/InboxDiffers|inbox differs/)).toEqual([]);
  expect(brief(await audit(house))).toEqual(["ackedHereOnly stop_loss_executed: not yet, again"]);
  expect(
    house.chats(/FIRING warning: main: the exchange's inbox differs from what is known here/),
  ).toHaveLength(1);
  const status = (await house.ask("GET", "/api/v1/status")) as DaemonStatus;
  expect(status.inbox).toMatchObject({
    everyMs: null,
    audits: [{ wallet: "main", differences: 1, lasting: 1, left: 1, failure: null }],
  });
  house.simulator.faults.clear();
  expect(brief(await audit(house))).toEqual(["ackedHereOnly stop_loss_executed: acknowledged again, again"]);
  expect((await house.inbox()).acked).toEqual(["stop_loss_executed"]);
  expect(brief(await audit(house))).toEqual([]);
  // The new message says so, and the first one, which is marked.
  expect(house.chats(/RESOLVED: .*agree again/)).toHaveLength(1);
  expect(house.chats(/~~FIRING.*\n.*agree again/)).toHaveLength(1);

  // Somebody read it in the exchange's own page.
  setAcked(house, "full_moon", true);
  const elsewhere = "ackedThereOnly full_moon: recorded as acknowledged elsewhere";
  expect(brief(await audit(house))).toEqual([elsewhere]);
  const last = await audit(house);
  expect([brief(last), last.left]).toEqual([[], []]);
  const rows = await house.read((store) => store.acknowledgements({}));
  expect(rows.map(({ status: state, reason }) => [state, reason]).sort()).toEqual([
    ["confirmed", "acknowledged again"],
    ["confirmed", "acknowledged elsewhere"],
  ]);
});

test("a row that cannot be read in one of its lists was acknowledged by nobody", async () => {
  await using house = await openHouse();
  await house.start(auditedFirst);
  await house.clock.advance(5_000);
  await house.call("notification", { trader: "main", notificationType: "full_moon" });
  await house.clock.advance(70_000);
  await audit(house);
  expect(house.chats(/not known here: full/)).toHaveLength(1);
  // The newest page is as it is, and the list of what is unacknowledged has a row that nobody can read.
  const path = `/v1/traders/${house.trader().traderPda}/notifications`;
  await house.call("fault", { path, times: 1 });
  await house.call("fault", { path, times: 1, set: { "items.0.source": 1 } });
  expect(brief(await audit(house))).toEqual([]);
  expect((await house.read((store) => store.acknowledgements({}))).map(({ status }) => status)).toEqual([
    "waiting",
  ]);
  expect(brief(await audit(house))).toEqual([]);
  expect(await house.inbox()).toEqual({ acked: [], open: ["full_moon"] });
});

test("it runs by itself, and an inbox that cannot be read is no difference", async () => {
  await using house = await openHouse();
  await house.start({
    schedules: every("30s", ["traderState", "markets", "notifications"]),
    acknowledge: { audit: "1m" },
  });
  await house.clock.advance(70_000);
  const audits = async () => ((await house.ask("GET", "/api/v1/status")) as DaemonStatus).inbox?.audits;
  expect(await audits()).toMatchObject([{ wallet: "main", failure: null, differences: 0 }]);
  await house.call("fault", { path: "/v1/traders/*", status: 403 });
  const failed = await audit(house);
  expect(failed).toMatchObject({ differences: [], failure: expect.stringContaining("403") });
  await expect(house.ask("POST", "/api/v1/notifications/audit", { wallet: "nobody" })).rejects.toThrow("404");
});

test("an inbox that could not be read is read again minutes later, not with the next audit of all", async () => {
  await using house = await openHouse();
  await house.start({ ...auditedFirst, acknowledge: { audit: "1h" } });
  const path = "/v1/traders/*";
  await house.clock.advance(5_000);
  await house.call("fault", { path, status: 403 });
  await house.clock.advance(600_000);
  const audits = async () => ((await house.ask("GET", "/api/v1/status")) as DaemonStatus).inbox?.audits;
  expect(await audits()).toMatchObject([{ wallet: "main", failure: expect.stringContaining("403") }]);
  house.simulator.faults.clear();
  await house.clock.advance(310_000);
  expect(await audits()).toMatchObject([{ wallet: "main", failure: null }]);
});

test("while the database takes no commits nothing is compared with it", async () => {
  using folder = temporaryFolder();
  await using house = await openHouse({ databaseFolder: folder.path });
  await house.start({ acknowledge: { audit: "off" } });
  await house.clock.advance(5_000);
  // Somebody else holds its lock, while what is read is new to it.
  const shell = new Database(path.join(folder.path, "perpwatch.db"));
  shell.exec("BEGIN IMMEDIATE");
  await house.call("notification", { trader: "main", notificationType: "stop_loss_executed" });
  await house.clock.advance(120_000);
  for (let i = 0; i < 2; i++) {
    const found = await audit(house);
    expect(found.failure).toBe("history takes no commits now: what was read is not stored yet");
    await house.clock.advance(60_000);
  }
  shell.exec("ROLLBACK");
  shell.close();
  await house.clock.advance(60_000);
  expect(await audit(house)).toMatchObject({ failure: null, differences: [] });
  expect(house.chats(/inbox differs/)).toEqual([]);
});
