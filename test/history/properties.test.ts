/** Whatever sequence of commits was made, everything reads back the same: after packing, after a restart, in a reader. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { eventName } from "../../src/domain/event.ts";
import type { Tick } from "../../src/domain/observation.ts";
import { type Changes, changes } from "../../src/domain/stored/changes.ts";
import { type History, openStore } from "../../src/history/index.ts";
import { FakeClock } from "../support/clock.ts";
import * as example from "./examples.ts";
import { all, t0 } from "./examples.ts";
import { temporaryFolder } from "./folder.ts";

const owners = ["main/0.0", "main", "markets"];
const double = fc.double();
const timeMs = fc.integer({ min: t0, max: t0 + 50 });
const text = fc.string({ unit: "grapheme", maxLength: 12 });
const fields = fc.dictionary(text, fc.oneof(text, double, fc.boolean(), fc.constant(null)), { maxKeys: 4 });
const small = fc.integer({ min: 1, max: 6 });

const tick = fc.integer({ min: 0, max: 5 }).chain((width) =>
  fc.record({
    atMs: fc.oneof({ weight: 9, arbitrary: timeMs }, { weight: 1, arbitrary: fc.constant(t0 + 0.5) }),
    owner: fc.constantFrom(...owners),
    series: fc.constant(Array.from({ length: width }, (_, i) => `series[${i}].é`)),
    values: fc.array(double, { minLength: width, maxLength: width }),
  }),
);
const event = fc
  .record({
    kind: fc.constantFrom("notification", "fill", "funding"),
    key: fc.constantFrom("a", "b", "c", "d"),
    happenedMs: timeMs,
    slot: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    fields,
    // JSON has no -0.
    data: fc.jsonValue({ maxDepth: 3 }).map((value): unknown => JSON.parse(JSON.stringify(value))),
    backfilled: fc.boolean(),
    wallet: fc.constantFrom("main", null),
  })
  .map((parts) => example.event(parts as Parameters<typeof example.event>[0]));
const part: fc.Arbitrary<Changes> = fc
  .record(
    {
      ticks: fc.array(tick, { maxLength: 8 }),
      events: fc.array(event, { maxLength: 3 }),
      facts: fc.array(
        fc.record({
          atMs: timeMs,
          owner: fc.constantFrom(...owners),
          name: fc.constantFrom("x", "y"),
          value: text,
        }),
        { maxLength: 3 },
      ),
      alerts: fc.array(
        fc
          .record({ id: small, value: double, summary: text, state: fc.constantFrom("firing", "ended") })
          .map((parts) => example.alert(parts as Parameters<typeof example.alert>[0])),
        { maxLength: 3 },
      ),
      ruleStates: fc.array(
        fc
          .record({ subject: fc.constantFrom(...owners), sinceMs: double.filter(Number.isFinite) })
          .map(example.ruleState),
        { maxLength: 2 },
      ),
      ruleStatesGone: fc.array(
        fc.record({ rule: fc.constant(example.ruleState().rule), subject: fc.constantFrom(...owners) }),
        { maxLength: 1 },
      ),
      keep: fc.array(
        fc.record({ name: fc.constantFrom("p", "q"), value: fc.oneof(text, fc.constant(null)) }),
        { maxLength: 3 },
      ),
      payloads: fc.array(
        fc.record({ atMs: timeMs, source: text, wallet: fc.constant(null), body: text, problem: text }),
        { maxLength: 1 },
      ),
    },
    { requiredKeys: [] },
  )
  .map((parts) => changes(parts as Partial<Changes>));

/** The operations on a store: batches are committed, it is packed, closed and opened again. */
type Step = { do: "commit"; batch: Changes[] } | { do: "pack" } | { do: "reopen" };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("commit" as const), batch: fc.array(part, { maxLength: 3 }) }),
  },
  { weight: 2, arbitrary: fc.constant({ do: "pack" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "reopen" as const }) },
);

/** The same in plain memory: what has to come back. */
class Model {
  readonly ticks: Tick[] = [];
  readonly events = new Map<string, Changes["events"][number]>();
  readonly facts: Changes["facts"][number][] = [];
  readonly alerts = new Map<number, Changes["alerts"][number]>();
  readonly ruleStates = new Map<string, Changes["ruleStates"][number]>();
  readonly keep = new Map<string, string>();
  readonly payloads: Changes["payloads"][number][] = [];

  write(part: Changes): void {
    this.ticks.push(...part.ticks);
    this.facts.push(...part.facts);
    this.payloads.push(...part.payloads);
    for (const event of part.events) {
      const name = eventName(event.kind, event.key);
      if (!this.events.has(name)) this.events.set(name, event);
    }
    for (const alert of part.alerts) this.alerts.set(alert.id, alert);
    for (const { subject } of part.ruleStatesGone) this.ruleStates.delete(subject);
    for (const state of part.ruleStates) this.ruleStates.set(state.subject, state);
    for (const { name, value } of part.keep)
      value === null ? this.keep.delete(name) : this.keep.set(name, value);
  }

  async check(store: History): Promise<void> {
    const byTime = <T>(list: readonly T[], at: (item: T) => number) =>
      [...list].sort((a, b) => at(a) - at(b));
    for (const owner of owners) {
      const own = byTime(
        this.ticks.filter((item) => item.owner === owner),
        (item) => item.atMs,
      );
      expect(await all(store.ticks({ owner, fromMs: 0 }))).toEqual(own);
      const within = own.filter((item) => item.atMs >= t0 + 10 && item.atMs <= t0 + 30);
      expect(await all(store.ticks({ owner, fromMs: t0 + 10, toMs: t0 + 30 }))).toEqual(within);
    }
    expect(await store.tickOwners()).toEqual([...new Set(this.ticks.map((item) => item.owner))].sort());
    const events = [...this.events.values()];
    expect(await store.events({})).toHaveLength(events.length);
    for (const event of events) expect(await store.eventByKey(event.kind, event.key)).toEqual(event);
    const facts = byTime(this.facts, (item) => item.atMs);
    expect(await store.factHistory({})).toEqual(facts);
    const newest = new Map(facts.map((fact) => [`${fact.owner} ${fact.name}`, fact]));
    expect(new Set(await store.facts())).toEqual(new Set(newest.values()));
    expect(await store.alerts({})).toEqual([...this.alerts.values()].sort((a, b) => b.id - a.id));
    expect(new Set(await store.ruleStates())).toEqual(new Set(this.ruleStates.values()));
    expect(await store.keep()).toEqual(new Map([...this.keep].sort(([a], [b]) => (a < b ? -1 : 1))));
    expect(await store.payloads({})).toEqual(byTime(this.payloads, (item) => item.atMs));
  }
}

test("random commits, packings and restarts lose and change nothing", { timeout: 120_000 }, async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  console.log(`properties of the store: SEED=${seed}`);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      using folder = temporaryFolder();
      const path = folder.file();
      const clock = new FakeClock(t0);
      const model = new Model();
      // Nothing is too old for these times, whatever the clock of the store says.
      const open = () => openStore({ path, clock, retention: { samplesMs: null, payloadsMs: null } });
      let store = open();
      try {
        for (const step of steps) {
          if (step.do === "commit") {
            for (const part of step.batch) model.write(part);
            await store.commit(step.batch);
          } else if (step.do === "pack") {
            expect((await store.maintain(t0 + 10 * 3_600_000, 10_000)).finished).toBe(true);
          } else {
            await store.close();
            store = open();
          }
        }
        await model.check(store);
        const reader = openStore({ path, readonly: true });
        await model.check(reader);
        await reader.close();
      } finally {
        await store.close();
      }
    }),
    { seed, numRuns: 40 },
  );
});
