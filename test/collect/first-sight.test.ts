/** The time at which a wallet is first watched, which parts its past from news, on machines whose clocks are wrong. */
import { describe, expect, test } from "vitest";
import type { CollectedWallet } from "../../src/collect/collector.ts";
import { EventPublisher } from "../../src/collect/paging/event-publisher.ts";
import { walletEvent } from "../../src/collect/translate/event.ts";
import type { Event } from "../../src/domain/event.ts";
import type { Observation } from "../../src/domain/observation.ts";
import { FakeClock } from "../support/clock.ts";
import { MemoryStore } from "./rig.ts";

const wallet: CollectedWallet = { name: "main", authority: "A", watchOnly: false, pdaIndices: [0] };

describe("the time at which a wallet is first watched", () => {
  const hourMs = 3_600_000;

  /** @param fastMs this machine's clock less the exchange's   @param first as stored by an earlier start, exchange's time less now */
  function watched(fastMs: number, firstMs: number | null = null) {
    const clock = new FakeClock("2026-03-01T12:00:00Z");
    const startMs = clock.nowMs() - fastMs;
    const { promise, resolve } = Promise.withResolvers<void>();
    const time = {
      ...{ agreed: false, agreement: promise, errorMs: 0 },
      nowMs: () => clock.nowMs() - fastMs + time.errorMs,
    };
    const stored = new Map<string, string>();
    if (firstMs !== null)
      for (const name of ["first/main", "first/main/0"])
        stored.set(name, `${startMs + firstMs} ${wallet.authority}`);
    const publisher = new EventPublisher(new MemoryStore(), [wallet], new Map(stored), clock, null, time);
    const seen: Event[] = [];
    const run = {
      ...{ wallet, nowMs: () => clock.nowMs() },
      observe: async (observation: Observation) => {
        if (observation.kind !== "events") return;
        seen.push(...observation.events);
        if (observation.cursor) stored.set(observation.cursor.name, observation.cursor.value);
      },
    };
    let events = 0;
    return {
      clock,
      time,
      /** First sights of the wallet itself and of its PDA index, ms after the start. */
      first: () =>
        ["first/main", "first/main/0"].map((name) => Number(stored.get(name)?.split(" ")[0]) - startMs),
      begin: () => publisher.begin([run]),
      agree: () => {
        time.agreed = true;
        resolve();
      },
      tell: (afterMs: number) => {
        const event = { key: `f${events++}`, happenedMs: startMs + afterMs, seenMs: 0, fields: {} };
        return publisher.publish(run, "fills", { events: [walletEvent("fill", wallet, event)] });
      },
      tellNothing: () => publisher.publish(run, "fills", { events: [] }),
      told: () => seen.map(({ backfilled }) => (backfilled ? "past" : "news")),
    };
  }

  test.each([
    // Columns: this machine's clock less the exchange's, the first sight stored before, an event, its kind, the first sight after it.
    ["of a clock that is right", 0, null, 5_000, "news", 0],
    ["of a clock that is right: the past", 0, null, -5_000, "past", 0],
    ["of a fast clock", 3 * hourMs, null, 5_000, "news", 0],
    ["of a fast clock: the past", 3 * hourMs, null, -5_000, "past", 0],
    ["of a slow clock", -3 * hourMs, null, 5_000, "news", 0],
    ["of a slow clock: the past", -3 * hourMs, null, -5_000, "past", 0],
    ["stored", 0, -hourMs, -5_000, "news", -hourMs],
    ["stored, with a slow clock", -3 * hourMs, -hourMs, -5_000, "news", -hourMs],
    ["stored, with a fast clock", 3 * hourMs, -hourMs, -2 * hourMs, "past", -hourMs],
    ["stored in the future", 0, 2 * hourMs, 5_000, "news", 0],
    ["stored in the future: the past", 0, 2 * hourMs, -5_000, "past", 0],
  ])("%s", async (_name, fastMs, storedMs, eventMs, expected, firstMs) => {
    const it = watched(fastMs, storedMs);
    await it.begin();
    await it.clock.advance(2_000);
    const telling = it.tell(eventMs);
    await it.clock.advance(2_000);
    expect(it.told()).toEqual([]);
    it.agree();
    await it.clock.finish(telling);
    expect(it.told()).toEqual([expected]);
    expect(it.first()).toEqual([firstMs, firstMs]);
  });

  test("is this machine's after 5 s without an agreement, and put right by a later one", async () => {
    const it = watched(3 * hourMs);
    await it.begin();
    expect(it.first()).toEqual([3 * hourMs, 3 * hourMs]);
    const telling = it.tell(1_000);
    await it.clock.advance(4_999);
    expect(it.told()).toEqual([]);
    await it.clock.advance(1);
    await telling;
    await it.tell(2_000);
    expect(it.told()).toEqual(["past", "past"]);
    it.agree();
    await it.tell(6_000);
    expect(it.told()).toEqual(["past", "past", "news"]);
    expect(it.first()).toEqual([0, 0]);
  });

  test("is put right where the time that was agreed on was ahead", async () => {
    const it = watched(0);
    it.agree();
    it.time.errorMs = hourMs;
    await it.tell(1_000);
    it.time.errorMs = 0;
    await it.tell(2_000);
    expect(it.told()).toEqual(["past", "news"]);
    expect(it.first()).toEqual([0, 0]);
  });

  test("is waited for by events alone", async () => {
    const it = watched(0);
    await it.tellNothing();
    expect(it.clock.pending).toBe(0);
  });
});
