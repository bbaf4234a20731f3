import fs from "node:fs";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { AccessEntry } from "../../src/domain/access.ts";
import { eventName } from "../../src/domain/event.ts";
import { changes } from "../../src/domain/stored/changes.ts";
import { openStore } from "../../src/history/index.ts";
import { FakeClock } from "../support/clock.ts";
import * as example from "./examples.ts";
import { all, everything, t0 } from "./examples.ts";
import { temporaryFolder } from "./folder.ts";

test("what is committed is read back the same, by the writer, by a reader beside it and after a restart", async () => {
  using folder = temporaryFolder();
  const written = everything();
  const writer = openStore({ path: folder.file() });
  await writer.commit([written]);
  const reader = openStore({ path: folder.file(), readonly: true });
  const check = async (store: typeof writer) => {
    expect(await all(store.ticks({ owner: "main/0.0", fromMs: 0 }))).toEqual(written.ticks);
    expect(await store.tickOwners()).toEqual(["main/0.0"]);
    expect(await store.facts()).toEqual(written.facts);
    expect(await store.factHistory({})).toEqual(written.facts);
    expect(await store.events({})).toEqual(written.events);
    expect(await store.eventByKey("notification", "312:4:0:1:2")).toEqual(written.events[0]);
    expect(await store.failedReads({})).toEqual(written.failedReads);
    expect(await store.milestones()).toEqual(written.milestones);
    expect(await store.payloads({})).toEqual(written.payloads);
    expect(await store.alerts({})).toEqual(written.alerts);
    expect(await store.alertChanges({})).toEqual(written.alertChanges);
    expect(await store.ruleStates()).toEqual(written.ruleStates);
    expect(await store.deliveryItems({})).toEqual(written.deliveryItems);
    expect(await store.messages({})).toEqual(written.messages);
    expect(await store.acknowledgements({})).toEqual(written.acknowledgements);
    expect(await store.cursors()).toEqual(new Map([["funding/main", "abc"]]));
    expect(await store.keep()).toEqual(new Map([["sum/funding", "12.5"]]));
    expect(await store.lastIds()).toEqual({ alert: 1, change: 1, item: 1 });
    expect(await store.verify()).toEqual([]);
  };
  await check(writer);
  await check(reader);
  await reader.close();
  await writer.close();
  const again = openStore({ path: folder.file() });
  await check(again);
  await again.close();
});

test("a new store is empty, with ids at zero and never alive", async () => {
  using folder = temporaryFolder();
  const store = openStore({ path: folder.file() });
  expect(await store.lastIds()).toEqual({ alert: 0, change: 0, item: 0 });
  expect(await store.lastAliveMs()).toBeNull();
  expect(await store.load("main")).toBeNull();
  expect(await store.eventByKey("fill", "none")).toBeNull();
  expect(await all(store.ticks({ owner: "main/0.0", fromMs: 0 }))).toEqual([]);
  expect(await store.tickOwners()).toEqual([]);
  expect(await store.sizeBytes()).toBeGreaterThan(0);
  await store.commit([]);
  await store.commit([changes({})]);
  expect(await store.lastAliveMs()).toBeNull();
  await store.close();
});

test("rows are whole and the newest wins; closed ones are out of the open questions", async () => {
  using folder = temporaryFolder();
  await inStore(folder.file(), async (store) => {
    const change = example.alertChange({ id: 2, kind: "ended" });
    await store.commit([
      everything(),
      changes({
        alerts: [
          example.alert({ state: "ended", ending: "recovered", endedAtMs: t0 + 9 }),
          example.alert({ id: 2 }),
        ],
        alertChanges: [change],
        ruleStatesGone: [{ rule: "liquidationNear", subject: "main/0.0/SOL" }],
        ruleStates: [example.ruleState({ rule: "margin" })],
        deliveryItems: [
          example.owedItem({ status: "delivered", messageId: "m" }),
          example.owedItem({ id: 2, alertId: 2, status: "sealed", messageId: "n" }),
          example.owedItem({ id: 3, alertId: 2, status: "dead" }),
        ],
        messages: [
          example.message({ status: "delivered", receipt: "99" }),
          example.message({ id: "n", alertIds: [2, 1], sealedAtMs: t0 + 5 }),
        ],
        acknowledgements: [
          example.acknowledgement({ status: "confirmed", confirmedAtMs: t0 + 7 }),
          example.acknowledgement({
            key: "b",
            wallet: "other",
            status: "due",
            dueAtMs: t0,
            rules: [{ rule: "r", alertIds: [7, 2] }],
          }),
        ],
        keep: [{ name: "sum/funding", value: null }],
        cursors: [{ name: "funding/main", value: "abd" }],
      }),
    ]);
    const ids = (rows: readonly { readonly id: number | string }[]) => rows.map((row) => row.id);
    expect(ids(await store.alerts({}))).toEqual([2, 1]);
    expect(ids(await store.alerts({ limit: 1 }))).toEqual([2]);
    expect(ids(await store.alerts({ state: "firing" }))).toEqual([2]);
    expect(ids(await store.alerts({ ids: [1, 77] }))).toEqual([1]);
    expect((await store.alerts({ ids: [1] }))[0]?.ending).toBe("recovered");
    expect(ids(await store.alertChanges({ alertId: 1 }))).toEqual([1, 2]);
    expect(await store.alertChanges({ ids: [2] })).toEqual([change]);
    expect((await store.ruleStates()).map((state) => state.rule)).toEqual(["margin"]);
    expect(ids(await store.deliveryItems({ open: true }))).toEqual([2]);
    expect(ids(await store.deliveryItems({ open: false }))).toEqual([1, 3]);
    expect(ids(await store.deliveryItems({ alertIds: [1] }))).toEqual([1]);
    expect(ids(await store.messages({ open: true }))).toEqual(["n"]);
    expect(ids(await store.messages({ alertIds: [1] }))).toEqual([example.message().id, "n"]);
    expect(ids(await store.messages({ alertIds: [2] }))).toEqual(["n"]);
    expect(ids(await store.messages({ ids: ["n"] }))).toEqual(["n"]);
    expect((await store.acknowledgements({ open: true })).map((row) => row.key)).toEqual(["b"]);
    expect((await store.acknowledgements({ wallet: "main" }))[0]?.status).toBe("confirmed");
    expect((await store.acknowledgements({ keys: ["b", "c"] })).map((row) => row.key)).toEqual(["b"]);
    expect((await store.acknowledgements({ alertIds: [2, 9] })).map((row) => row.key)).toEqual(["b"]);
    expect(await store.acknowledgements({ alertIds: [9] })).toEqual([]);
    expect(await store.keep()).toEqual(new Map());
    expect((await store.cursors()).get("funding/main")).toBe("abd");
    expect(await store.lastIds()).toEqual({ alert: 2, change: 2, item: 3 });
  });
});

test("an event that is stored is left as it is, and known by kind and key together", async () => {
  using folder = temporaryFolder();
  await inStore(folder.file(), async (store) => {
    const first = example.event({ kind: "funding", key: "a" });
    await store.commit([changes({ events: [first, example.event({ kind: "fill", key: "b" })] })]);
    await store.commit([changes({ events: [{ ...first, fields: { changed: true } }] })]);
    expect(await store.eventByKey("funding", "a")).toEqual(first);
    const asked = (["funding", "fill"] as const).flatMap((kind) => ["a", "b"].map((key) => ({ kind, key })));
    expect(await store.knownEvents(asked)).toEqual(
      new Set([eventName("funding", "a"), eventName("fill", "b")]),
    );
    expect(await store.knownEvents([])).toEqual(new Set());
  });
});

test("an announcement that an earlier version stored for all wallets is known for each of them", async () => {
  using folder = temporaryFolder();
  await inStore(folder.file(), async (store) => {
    await store.commit([
      changes({ events: [example.event({ kind: "notification", key: "notification:admin:7" })] }),
    ]);
    const keys = ["notification:admin:KeyA:7", "notification:admin:KeyB:7", "notification:admin:KeyA:8"];
    const known = await store.knownEvents(keys.map((key) => ({ kind: "notification", key })));
    expect([...known].filter((name) => /Key/.test(name))).toEqual([
      "notification/notification:admin:KeyA:7",
      "notification/notification:admin:KeyB:7",
    ]);
  });
});

test("events come by time of happening, then by their order inside the exchange, and by what is asked", async () => {
  using folder = temporaryFolder();
  await inStore(folder.file(), async (store) => {
    const make = (key: string, happenedMs: number, slotIndex: number, wallet: string | null = "main") =>
      example.event({ key, happenedMs, slotIndex, wallet, data: null, inbox: null });
    await store.commit([
      changes({ events: [make("c", 20, 0), make("b", 10, 2), make("a", 10, 1, null), make("d", 30, 0)] }),
      changes({ events: [{ ...make("o", 15, 0), kind: "order" }] }),
    ]);
    const keys = async (query: Parameters<typeof store.events>[0]) =>
      (await store.events(query)).map((event) => event.key).join("");
    expect(await keys({})).toBe("abocd");
    expect(await keys({ newestFirst: true, limit: 2 })).toBe("dc");
    expect(await keys({ kind: "order" })).toBe("o");
    expect(await keys({ wallet: null })).toBe("a");
    expect(await keys({ wallet: "main", fromMs: 10, toMs: 20 })).toBe("boc");
  });
});

test("a fact learned late is kept in the history and does not displace a newer one", async () => {
  using folder = temporaryFolder();
  await inStore(folder.file(), async (store) => {
    const fact = (atMs: number, value: string) => ({ atMs, owner: "market/SOL", name: "status", value });
    await store.commit([changes({ facts: [fact(20, '"b"'), fact(10, '"a"'), fact(20, '"c"')] })]);
    expect(await store.facts("market/SOL")).toEqual([fact(20, '"c"')]);
    expect(await store.facts("market/ETH")).toEqual([]);
    expect((await store.factHistory({ owner: "market/SOL", fromMs: 10 })).map((row) => row.value)).toEqual([
      '"a"',
      '"b"',
      '"c"',
    ]);
  });
});

test("the last sign of life is what was observed last, by the corrected clock, also for the next process", async () => {
  using folder = temporaryFolder();
  const clock = new FakeClock(t0);
  const store = openStore({ path: folder.file(), clock });
  await store.commit([changes({ keep: [{ name: "x", value: "1" }] })]);
  expect(await store.lastAliveMs()).toBe(t0);
  await store.commit([changes({ observations: [{ kind: "time", atMs: t0 + 20_000 }] })]);
  await clock.advance(1_234);
  await store.commit([changes({ keep: [{ name: "x", value: "2" }] })]);
  await store.close();
  const reader = openStore({ path: folder.file(), readonly: true });
  expect(await reader.lastAliveMs()).toBe(t0 + 20_000);
  await reader.close();
});

test("sessions are bytes by wallet", async () => {
  using folder = temporaryFolder();
  await inStore(folder.file(), async (store) => {
    await store.save("main", new Uint8Array([1, 2, 3]));
    await store.save("main", new Uint8Array([0, 255, 7]));
    await store.save("other", new Uint8Array([9]));
    await store.remove("other");
    expect(await store.load("main")).toEqual(new Uint8Array([0, 255, 7]));
    expect(await store.load("other")).toBeNull();
  });
});

test("sessions and tokens of the listener outlive a restart; rows that perpwatch did not write open nothing", async () => {
  using folder = temporaryFolder();
  const store = openStore({ path: folder.file() });
  const token: AccessEntry = {
    ...{ hash: "a".repeat(64), kind: "token", name: "grafana", rights: "read" },
    ...{ createdMs: t0, expiresMs: t0 + 1_000, usedMs: null },
  };
  const session = {
    ...token,
    hash: "b".repeat(64),
    kind: "session",
    name: "link",
    createdMs: t0 + 1,
  } as const;
  await store.saveAccess(session);
  await store.saveAccess(token);
  await store.saveAccess({ ...token, usedMs: t0 + 5 });
  await store.saveAccess({ ...token, hash: "c".repeat(64) });
  await store.removeAccess("c".repeat(64));
  await store.close();
  const db = new Database(folder.file());
  const odd = [
    "('x', 'token', 'odd-hash', 'act', 1, NULL, NULL)",
    `('${"1".repeat(64)}', 'token', 'odd-rights', 'all', 1, NULL, NULL)`,
    `('${"2".repeat(64)}', 'token', 'odd name', 'read', 1, NULL, NULL)`,
    `('${"3".repeat(64)}', 'link', 'odd-kind', 'read', 1, NULL, NULL)`,
    `('${"4".repeat(64)}', 'session', 'link', 'act', 1, 2, NULL)`,
    `('${"5".repeat(64)}', 'session', 'link', 'read', 1, NULL, NULL)`,
    `('${"6".repeat(64)}', 'session', 'odd-name', 'read', 1, 2, NULL)`,
  ];
  db.exec(`INSERT INTO access VALUES ${odd.join(", ")}`);
  db.close();
  const again = openStore({ path: folder.file() });
  expect(await again.accessEntries()).toEqual([
    ...odd.map(() => null),
    { ...token, usedMs: t0 + 5 },
    session,
  ]);
  await again.close();
});

test("a mistake of the program throws as it is and writes nothing of its batch", async () => {
  using folder = temporaryFolder();
  await inStore(folder.file(), async (store) => {
    await store.commit([everything()]);
    const twice = changes({
      keep: [{ name: "half", value: "1" }],
      ticks: [example.tick({ owner: "new", series: ["new"], values: [1] })],
      alertChanges: [example.alertChange()],
    });
    await expect(store.commit([twice])).rejects.toMatchObject({ code: "SQLITE_CONSTRAINT_PRIMARYKEY" });
    const uneven = changes({
      keep: [{ name: "half", value: "1" }],
      ticks: [example.tick({ values: [1] })],
    });
    await expect(store.commit([uneven])).rejects.toThrow(RangeError);
    expect((await store.keep()).has("half")).toBe(false);
    expect(await store.tickOwners()).toEqual(["main/0.0"]);
    // Names that were taken back with it are stored anew, and not mixed up with those that came in their place.
    const others = ["other", "new"].map((owner) => example.tick({ owner, series: [owner], values: [2] }));
    await store.commit([changes({ ticks: others })]);
    for (const tick of others)
      expect(await all(store.ticks({ owner: tick.owner, fromMs: 0 }))).toEqual([tick]);
  });
});

test("a closed store and a reader refuse to write", async () => {
  using folder = temporaryFolder();
  const store = openStore({ path: folder.file() });
  const reader = openStore({ path: folder.file(), readonly: true });
  await expect(reader.commit([everything()])).rejects.toMatchObject({ problem: "readonly" });
  await reader.close();
  await store.close();
  await store.close();
  await expect(store.commit([everything()])).rejects.toMatchObject({ problem: "closed" });
  await expect(store.alerts({})).rejects.toMatchObject({ problem: "closed" });
  expect(fs.existsSync(`${folder.file()}-wal`)).toBe(false);
});

async function inStore(
  path: string,
  run: (store: ReturnType<typeof openStore>) => Promise<void>,
): Promise<void> {
  const store = openStore({ path });
  try {
    await run(store);
  } finally {
    await store.close();
  }
}
