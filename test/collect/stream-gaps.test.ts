/** Changes of accounts after one that the stream lost. */
import { expect, test } from "vitest";
import { StreamFeed, type StreamFeedOptions } from "../../src/collect/stream/feed.ts";
import { traderStateMessage } from "../../src/contract/index.ts";
import type { Observation } from "../../src/domain/observation.ts";
import { FakeClock } from "../support/clock.ts";

const authority = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";
const wallet = { name: "main", authority, watchOnly: true, pdaIndices: [0] };

function rig() {
  const clock = new FakeClock();
  const asked: string[] = [];
  const observed: Observation[] = [];
  const feed = new StreamFeed({
    ...{ wallets: [wallet], clock },
    ask: (source: string, name: string | null) => asked.push(`${source} ${name}`),
    observe: async (one: Observation) => void observed.push(one),
    accounts: { take: () => [] },
    badRecords: { unknownWord: () => {} },
  } as unknown as StreamFeedOptions);
  const told = (slot: number, body: object) =>
    feed.message(null, {
      kind: "message",
      channel: "traderState",
      message: traderStateMessage.parse({
        ...{ channel: "traderState", authority, traderPdaIndex: 0, slot, messageType: "delta" },
        ...body,
      }),
    });
  const change = (slot: number, sequence: number, subaccountIndex = 0) =>
    told(slot, { deltas: [{ subaccountIndex, sequence, collateral: String(sequence) }] });
  const polled = (slot: number, ...sequences: readonly number[]) => {
    const subaccounts = traderStateMessage.parse({
      ...{ channel: "traderState", authority, traderPdaIndex: 0, slot, messageType: "snapshot" },
      subaccounts: sequences.map((sequence, subaccountIndex) => {
        return { subaccountIndex, sequence, collateral: String(sequence) };
      }),
    }).subaccounts!;
    return feed.polledState(wallet, 0, { slot, slotIndex: 0, snapshot: { subaccounts } }, clock.elapsedMs());
  };
  return { clock, asked, observed, feed, change, polled };
}

test("an account is read until an answer fills the gap, and nothing is observed until then", async () => {
  const { clock, asked, observed, feed, change, polled } = rig();
  polled(100, 5);
  expect(asked).toEqual([]);
  change(103, 7);
  expect(asked).toEqual(["traderState main"]);
  await clock.advance(1_000);
  expect(observed).toEqual([]);
  // An answer of before the gap counts as it is, and the account is read again.
  expect(polled(101, 5)).toMatchObject({ subaccounts: [{ sequence: 5 }] });
  await clock.advance(5_000);
  expect(asked).toHaveLength(2);
  expect(polled(102, 6)).toMatchObject({ subaccounts: [{ sequence: 7 }] });
  await clock.advance(10_000);
  expect(asked).toHaveLength(2);
  change(104, 8);
  await clock.advance(1_000);
  expect(observed).toMatchObject([{ kind: "accounts", slot: 104, told: [0] }]);
  await feed.stop();
});

test("while no answer fills the gap, other accounts of the index are observed after five seconds", async () => {
  const { clock, observed, feed, change, polled } = rig();
  polled(100, 5, 9);
  change(103, 7);
  change(104, 10, 1);
  await clock.advance(4_900);
  expect(observed).toEqual([]);
  await clock.advance(200);
  expect(observed).toMatchObject([{ kind: "accounts", slot: 104, told: [1] }]);
  change(105, 11, 1);
  await clock.advance(5_100);
  expect(observed.at(-1)).toMatchObject({ slot: 105, told: [1] });
  await feed.stop();
});

test("five seconds count from the gap, not from one before it that was filled", async () => {
  const { clock, observed, feed, change, polled } = rig();
  polled(100, 5, 9);
  change(103, 7);
  await clock.advance(100);
  change(102, 6);
  await clock.advance(1_000);
  change(106, 9);
  change(107, 10, 1);
  await clock.advance(4_900);
  expect(observed.at(-1)).toMatchObject({ slot: 103, told: [0] });
  await clock.advance(200);
  expect(observed.at(-1)).toMatchObject({ slot: 107, told: [1] });
  await feed.stop();
});
