/** The recording returns the input of the watch as it was: generated observations of every kind and of unknown ones. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Observation } from "../../src/domain/observation.ts";
import { changes } from "../../src/domain/stored/changes.ts";
import { openStore } from "../../src/history/index.ts";
import { RecordingReader } from "../../src/history/recording/recording-reader.ts";
import { RecordingWriter } from "../../src/history/recording/recording-writer.ts";
import { FakeClock } from "../support/clock.ts";
import * as example from "./examples.ts";
import { all, t0 } from "./examples.ts";
import { temporaryFolder } from "./folder.ts";

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);

/** Texts of JSON that tell everything apart that has to come back: the order of keys, undefined, bigints, -0, NaN. */
function exact(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : `${value}`;
  if (value === undefined) return "undefined";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(exact).join()}]`;
  const parts = Object.keys(value).map((key) => `${JSON.stringify(key)}:${exact(Reflect.get(value, key))}`);
  return `{${parts.join()}}`;
}

const text = fc.oneof(
  fc.constantFrom("SOL", "BTC", "main", "", "active", "__proto__"),
  fc.string({ unit: "grapheme", maxLength: 8 }),
  // Halves of surrogate pairs, too.
  fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    maxLength: 4,
  }),
  fc.string({ minLength: 60, maxLength: 80 }),
);
const number = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.integer({ min: -70, max: 70 }),
  fc.integer({ min: -1_000_000, max: 1_000_000 }).map((whole) => whole / 100),
  fc.maxSafeInteger().map((whole) => whole / 1e6),
  fc.constantFrom(0, -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2 ** 51, -(2 ** 51)),
);
const bigint = fc.oneof(
  fc.bigInt({ min: -10_000n, max: 10_000n }),
  fc.bigInt({ min: -(2n ** 52n), max: 2n ** 52n }),
  fc.bigInt(),
);
const scalar = fc.oneof(text, number, bigint, fc.boolean(), fc.constantFrom(null, undefined));
/** Anything that an observation of some later kind may hold. */
const anything = fc.letrec((again) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.array(again("value"), { maxLength: 4 }),
    fc.dictionary(text, again("value"), { maxKeys: 4 }),
  ),
})).value;

const timeMs = fc.oneof(fc.integer({ min: t0, max: t0 + 100_000 }), fc.constant(t0 + 0.25));
const symbol = fc.constantFrom("SOL", "BTC", "ETH");
const position = fc.record({
  symbol,
  baseLots: bigint,
  virtualQuoteLots: bigint,
  unsettledFundingQuoteLots: bigint,
  sequence: fc.constantFrom("1", "2"),
  triggers: fc.array(fc.record({ kind: text, id: text, percent: fc.option(number) }), { maxLength: 2 }),
});
const order = fc.record({
  symbol,
  sequence: fc.constantFrom("7", "8", "9"),
  remainingLots: bigint,
  side: text,
});
const subaccount = fc.record({
  subaccount: fc.nat({ max: 2 }),
  sequence: fc.nat(),
  collateralQuoteLots: bigint,
  lifecycle: fc.constantFrom("active", "cold"),
  capabilities: fc.dictionary(text, fc.record({ immediate: fc.boolean(), viaColdActivation: fc.boolean() }), {
    maxKeys: 2,
  }),
  positions: fc.array(position, { maxLength: 3 }),
  orders: fc.array(order, { maxLength: 4 }),
});
const known = fc.oneof(
  fc.record(
    {
      kind: fc.constant("accounts"),
      wallet: fc.constantFrom("main", "other"),
      pdaIndex: fc.nat({ max: 1 }),
      atMs: timeMs,
      slot: fc.nat(),
      subaccounts: fc.array(subaccount, { maxLength: 3 }),
      told: fc.array(fc.nat({ max: 2 }), { maxLength: 2 }),
    },
    { requiredKeys: ["kind", "wallet", "pdaIndex", "atMs", "slot", "subaccounts"] },
  ),
  fc.record({
    kind: fc.constant("prices"),
    atMs: timeMs,
    markets: fc.array(fc.record({ symbol, markPriceUsd: number, midPriceUsd: fc.option(number) }), {
      maxLength: 4,
    }),
  }),
  fc.record({
    kind: fc.constant("events"),
    source: fc.constantFrom("fills", "notifications"),
    wallet: fc.constantFrom("main", null),
    atMs: timeMs,
    events: fc.array(
      fc.record({ key: text, data: anything }).map((parts) => example.event(parts)),
      { maxLength: 3 },
    ),
    cursor: fc.option(fc.record({ name: text, value: text }), { nil: undefined }),
  }),
  fc.record({ kind: fc.constant("time"), atMs: timeMs }),
  fc.record({ kind: fc.constant("watching"), atMs: timeMs, reloaded: fc.boolean() }),
);
const later = fc
  .tuple(timeMs, fc.constantFrom("figures", "novel"), fc.dictionary(text, anything, { maxKeys: 6 }))
  .map(([atMs, kind, rest]) =>
    Object.assign(
      Object.fromEntries([
        ["kind", kind],
        ["atMs", atMs],
      ]),
      { rest },
    ),
  );
const observation = fc
  .oneof({ weight: 3, arbitrary: known }, { weight: 1, arbitrary: later })
  .map((one) => one as unknown as Observation);

describe("what is recorded is what was seen", () => {
  test("observations of every kind, each after any other", () => {
    console.log(`recording: SEED=${seed}`);
    fc.assert(
      fc.property(fc.array(observation, { maxLength: 30 }), (observations) => {
        const writer = new RecordingWriter();
        const reader = new RecordingReader();
        for (const one of observations) {
          writer.write(one);
          const [read, ...more] = reader.read(Buffer.from(writer.take()));
          expect(more).toEqual([]);
          expect(exact(read?.observation)).toBe(exact(one));
        }
      }),
      { seed, numRuns: 400 },
    );
  });

  test("who was not told of and is told of again as before", () => {
    const prices = (...symbols: string[]) =>
      ({
        kind: "prices",
        atMs: t0,
        markets: symbols.map((symbol) => ({ symbol, markPriceUsd: 3 })),
      }) as unknown as Observation;
    const told = [
      prices("SOL", "BTC"),
      prices("SOL"),
      prices("SOL", "BTC"),
      prices("BTC"),
      prices("BTC", "SOL"),
    ];
    const writer = new RecordingWriter();
    for (const one of told) writer.write(one);
    const read = [...new RecordingReader().read(writer.take())].map(({ observation }) => observation);
    expect(read).toEqual(told);
  });

  test("through a file, with packings, retention and restarts between, from any point on", {
    timeout: 60_000,
  }, async () => {
    type Step = { do: "commit"; batch: Observation[][] } | { do: "reopen" } | { do: "keep" } | { do: "fail" };
    const step: fc.Arbitrary<Step> = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constant("commit" as const),
          batch: fc.array(fc.array(observation, { maxLength: 6 }), { maxLength: 3 }),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          { do: "reopen" as const },
          { do: "keep" as const },
          { do: "fail" as const },
        ),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
        using folder = temporaryFolder();
        const path = folder.file();
        const open = () => openStore({ path, clock: new FakeClock(t0), retention: { payloadsMs: null } });
        const fed: Observation[] = [];
        let store = open();
        for (const step of steps) {
          if (step.do === "commit") {
            await store.commit(step.batch.map((observations) => changes({ observations })));
            fed.push(...step.batch.flat());
          } else if (step.do === "keep") await store.maintain(t0 + 100_000, 10_000);
          else if (step.do === "fail") {
            const broken = changes({
              observations: fed.slice(-3),
              ticks: [example.tick({ values: [1] })],
            });
            await expect(store.commit([broken])).rejects.toThrow(RangeError);
          } else {
            await store.close();
            store = open();
          }
        }
        const reader = openStore({ path, readonly: true });
        for (const from of [store, reader]) {
          const read = await all(from.recording({ fromMs: 0 }));
          expect(read.map(exact)).toEqual(fed.map(exact));
          if (fed.length > 0) expect((await from.recorded())?.toMs).toBeDefined();
          else expect(await from.recorded()).toBeNull();
        }
        await reader.close();
        await store.close();
      }),
      { seed, numRuns: 40 },
    );
  });
});
