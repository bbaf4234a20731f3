import { describe, expect, test } from "vitest";
import { eventName } from "../../src/domain/event.ts";
import type { Observation } from "../../src/domain/observation.ts";
import { CommitFailed } from "../../src/domain/ports.ts";
import { type Changes, noChanges } from "../../src/domain/stored/changes.ts";
import { IngestLoop } from "../../src/ingest/loop.ts";
import { Harness, notification, position, startMs, subaccount } from "../engine/harness.ts";
import { FakeClock } from "../support/clock.ts";

const rules = `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    summary: "near"
  - name: Filled
    on: notification
    when: event.type == "order_filled"
    severity: info
    summary: "filled"
`;

/** A store that accepts commits unless it is set to fail, and keeps them. */
class Disk {
  readonly batches: (readonly Changes[])[] = [];
  failing = false;
  reason: "full" | "busy" = "full";
  attempts = 0;

  async commit(batch: readonly Changes[]): Promise<void> {
    this.attempts++;
    if (this.failing) throw new CommitFailed(this.reason, `the disk is ${this.reason}`);
    this.batches.push(batch);
  }

  async knownEvents(keys: readonly { kind: "notification"; key: string }[]): Promise<ReadonlySet<string>> {
    const stored = new Set(
      this.changes.flatMap((one) => one.events).map((event) => eventName(event.kind, event.key)),
    );
    return new Set(keys.map(({ kind, key }) => eventName(kind, key)).filter((name) => stored.has(name)));
  }

  get changes(): readonly Changes[] {
    return this.batches.flat();
  }

  get recorded(): readonly Observation[] {
    return this.changes.flatMap((one) => one.observations);
  }
}

function loop() {
  const clock = new FakeClock(startMs);
  const disk = new Disk();
  const harness = new Harness({ rules });
  const committed: Changes[] = [];
  const stuck: Changes[] = [];
  const degraded: string[] = [];
  const broken: unknown[] = [];
  const ingest = new IngestLoop({
    watch: harness.watch,
    store: disk as never,
    clock,
    onCommitted: (changes) => committed.push(changes),
    onStuck: (changes) => stuck.push(changes),
    onAsk: () => {},
    onNote: () => {},
    onDegraded: (now, why) => degraded.push(`${now ? "degraded" : "well"}: ${why}`),
    onBroken: (error) => broken.push(error),
  });
  const accounts: Observation = {
    kind: "accounts",
    wallet: "main",
    pdaIndex: 0,
    atMs: startMs,
    slot: 10,
    slotIndex: 0,
    subaccounts: [subaccount(1_000, [position(100, 150)])],
  };
  const filled = (key: string): Observation => ({
    kind: "events",
    source: "notifications",
    wallet: "main",
    atMs: startMs,
    events: [notification(key, "order_filled")],
  });
  return { clock, disk, ingest, committed, stuck, degraded, broken, accounts, filled };
}

describe("the queue into the watch", () => {
  test("commits observations that arrive together in one transaction, and reports them afterwards", async () => {
    const { disk, ingest, committed, accounts, filled } = loop();
    await Promise.all([ingest.observe(accounts), ingest.observe(filled("n1")), ingest.observe(filled("n2"))]);
    expect(disk.batches).toHaveLength(1);
    expect(committed.flatMap((one) => one.events).map((event) => event.key)).toEqual(["n1", "n2"]);
  });

  test("accepts an event once: received twice at a time, or long after", async () => {
    const { disk, ingest, filled } = loop();
    await Promise.all([ingest.observe(filled("n1")), ingest.observe(filled("n1"))]);
    await ingest.observe(filled("n1"));
    expect(disk.changes.flatMap((one) => one.alerts)).toHaveLength(1);
  });

  test("lets time pass at least once a second, and exactly at a deadline", async () => {
    const { clock, disk, ingest, filled } = loop();
    ingest.start();
    await ingest.observe(filled("n1"));
    await clock.advance(5_000);
    // Nothing changed, so nothing was written, but the queue was processed.
    expect(disk.batches).toHaveLength(1);
    await ingest.stop();
    expect(disk.batches).toHaveLength(2);
    const times = disk.recorded.filter(({ kind }) => kind === "time").map(({ atMs }) => atMs - startMs);
    expect(times).toEqual([1_000, 2_000, 3_000, 4_000, 5_000]);
    expect(clock.pending).toBe(0);
  });

  test("holds what the disk does not take, in order, and writes it whole when it does", async () => {
    const { clock, disk, ingest, committed, degraded, filled } = loop();
    disk.failing = true;
    await ingest.observe(filled("n1"));
    await ingest.observe(filled("n2"));
    expect(committed).toEqual([]);
    await clock.advance(2_000);
    disk.failing = false;
    await clock.advance(5_000);
    expect(committed.flatMap((one) => one.events).map((event) => event.key)).toEqual(["n1", "n2"]);
    expect(disk.batches).toHaveLength(1);
    expect(degraded).toEqual([]);
  });

  test("hands over held changes after five seconds, each once, and reports the recovery", async () => {
    const { clock, disk, ingest, stuck, degraded, filled } = loop();
    disk.failing = true;
    await ingest.observe(filled("n1"));
    await clock.advance(4_000);
    expect(stuck).toEqual([]);
    await clock.advance(10_000);
    expect(stuck.flatMap((one) => one.events).map((event) => event.key)).toEqual(["n1"]);
    await ingest.observe(filled("n2"));
    expect(stuck.flatMap((one) => one.events).map((event) => event.key)).toEqual(["n1", "n2"]);
    expect(ingest.degraded).toBe(true);
    disk.failing = false;
    await clock.advance(10_000);
    expect(ingest.degraded).toBe(false);
    expect(degraded[0]).toBe("degraded: the disk is full");
    expect(degraded[1]).toMatch(/^well: \d+ observations are missing in the recording$/);
    expect(stuck).toHaveLength(2);
  });

  test("loses nothing while another process locks the database", async () => {
    const { clock, disk, ingest, degraded, filled } = loop();
    disk.failing = true;
    disk.reason = "busy";
    await ingest.observe(filled("n1"));
    await clock.advance(10_000);
    disk.failing = false;
    await clock.advance(10_000);
    await ingest.stop();
    expect(degraded).toEqual(["degraded: the disk is busy", "well: nothing was lost"]);
    expect(disk.recorded.map(({ kind }) => kind).slice(0, 2)).toEqual(["watching", "events"]);
    expect(disk.changes.flatMap((one) => one.milestones)).toEqual([]);
  });

  test("records what the watch was fed, in order, with what it led to", async () => {
    const { disk, ingest, accounts, filled } = loop();
    await Promise.all([
      ingest.observe(accounts),
      ingest.observe(filled("n1")),
      ingest.observe(filled("n1")),
      ingest.observe({ kind: "session", wallet: "main", atMs: startMs, signedIn: true, detail: "" }),
    ]);
    expect(disk.batches).toHaveLength(1);
    expect(disk.recorded).toEqual([
      { kind: "watching", atMs: startMs, reloaded: false },
      accounts,
      filled("n1"),
      // Already stored, and removed before the watch received it.
      { ...filled("n1"), events: [] },
      { kind: "session", wallet: "main", atMs: startMs, signedIn: true, detail: "" },
    ]);
    const again = new Harness({ rules });
    await ingest.replace(async () => again.watch);
    await ingest.observe(filled("n2"));
    expect(disk.recorded.slice(5)).toEqual([
      { kind: "watching", atMs: startMs, reloaded: false },
      filled("n2"),
    ]);
  });

  test("a full disk has room for pending deliveries first: the recording is dropped, and its gap is recorded", async () => {
    const { clock, disk, ingest, filled } = loop();
    await ingest.observe(filled("n1"));
    disk.failing = true;
    await ingest.observe(filled("n2"));
    await clock.advance(2_000);
    disk.failing = false;
    await clock.advance(5_000);
    await ingest.observe(filled("n3"));
    const kinds = disk.recorded.filter(({ kind }) => kind !== "time").map((one) => JSON.stringify(one));
    expect(kinds.some((text) => text.includes("n2"))).toBe(false);
    expect(kinds.at(-1)).toContain("n3");
    expect(disk.changes.flatMap((one) => one.events).map(({ key }) => key)).toEqual(["n1", "n2", "n3"]);
    const [gap] = disk.changes.flatMap((one) => one.milestones);
    expect(gap?.kind).toBe("recordingGap");
    expect(JSON.parse(gap?.value ?? "")).toMatchObject({ fromMs: startMs, lost: expect.any(Number) });
  });

  test("does not accept an event again that waits for its commit", async () => {
    const { clock, disk, ingest, filled } = loop();
    disk.failing = true;
    await ingest.observe(filled("n1"));
    await ingest.observe(filled("n1"));
    disk.failing = false;
    await clock.advance(5_000);
    expect(disk.changes.flatMap((one) => one.alerts)).toHaveLength(1);
  });

  test("lets go of samples, never of events, when far too much is held", async () => {
    const { clock, disk, ingest, degraded, accounts, filled } = loop();
    disk.failing = true;
    await ingest.observe(filled("n1"));
    for (let i = 0; i < 5_200; i++) await ingest.observe({ ...accounts, slot: 11 + i } as Observation);
    await clock.advance(10_000);
    // The limit, the event, and the first answer, which holds more than samples.
    expect(ingest.heldCommits).toBeLessThanOrEqual(5_002);
    disk.failing = false;
    await clock.advance(10_000);
    expect(disk.changes.flatMap((one) => one.events)).toHaveLength(1);
    expect(degraded.at(-1)).toMatch(
      /^well: \d+ samples were dropped, \d+ observations are missing in the recording$/,
    );
  });

  test("ends on what cannot be waited out", async () => {
    const { disk, ingest, broken, filled } = loop();
    disk.commit = () => Promise.reject(new TypeError("a bug"));
    await ingest.observe(filled("n1"));
    expect(broken).toHaveLength(1);
  });

  test("keeps what arrives while another watch is made for that one", async () => {
    const { disk, ingest, filled } = loop();
    await ingest.observe(filled("n1"));
    const quiet = new Harness({ rules: rules.replace("order_filled", "adl") });
    let ready = (): void => {};
    const replaced = ingest.replace(() => new Promise((resolve) => (ready = () => resolve(quiet.watch))));
    const waiting = ingest.observe(filled("n2"));
    await new Promise(setImmediate);
    expect(disk.changes.flatMap((one) => one.events)).toHaveLength(1);
    ready();
    await Promise.all([replaced, waiting]);
    expect(disk.changes.flatMap((one) => one.events)).toHaveLength(2);
    expect(disk.changes.flatMap((one) => one.alerts)).toHaveLength(1);
  });

  test("writes what is held once more when it stops", async () => {
    const { disk, ingest, filled } = loop();
    disk.failing = true;
    await ingest.observe(filled("n1"));
    disk.failing = false;
    await ingest.stop();
    expect(disk.changes.flatMap((one) => one.events)).toHaveLength(1);
  });
});

test("nothing was left out of a Changes value that holds nothing", () => {
  expect(Object.values(noChanges).every((part) => part.length === 0)).toBe(true);
});
