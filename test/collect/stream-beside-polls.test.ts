/** News of the stream that waits to be handed on while a poll answers. */
import { expect, test } from "vitest";
import { StreamFeed, type StreamFeedOptions } from "../../src/collect/stream/feed.ts";
import { livePricesOf } from "../../src/collect/translate/market.ts";
import { type MarketStatsMessage, traderStateMessage } from "../../src/contract/index.ts";
import type { Observation } from "../../src/domain/observation.ts";
import { FakeClock } from "../support/clock.ts";

const authority = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";
const wallet = { name: "main", authority, watchOnly: true, pdaIndices: [0] };

function rig() {
  const clock = new FakeClock();
  const observed: Observation[] = [];
  const feed = new StreamFeed({
    ...{ wallets: [wallet], clock },
    ask: () => {},
    observe: async (one: Observation) => void observed.push(one),
    accounts: { take: () => [] },
    badRecords: { unknownWord: () => {} },
    book: { of: () => ({}) },
  } as unknown as StreamFeedOptions);
  return { clock, observed, feed };
}

test("a price that a poll told after it is not handed on", async () => {
  const { clock, observed, feed } = rig();
  const row = (markPrice: number) =>
    ({
      ...{ symbol: "SOL", timestamp: clock.nowMs(), markPrice, oraclePrice: markPrice },
      midPrice: null,
    }) as MarketStatsMessage & { readonly midPrice: null };
  const tell = (markPrice: number) =>
    feed.message(null, {
      kind: "message",
      channel: "marketStatsV2",
      message: { stats: [row(markPrice)] },
    });
  tell(150);
  await clock.advance(1);
  // After a hand-over there is a pause.
  tell(151);
  await clock.advance(1);
  const polled = feed.polledPrices([livePricesOf(row(152))], clock.elapsedMs());
  expect(polled.map(({ markPriceUsd }) => markPriceUsd)).toEqual([152]);
  await clock.advance(1_000);
  const handed = observed.flatMap((one) => (one.kind === "prices" ? one.markets : []));
  expect(handed.map(({ markPriceUsd }) => markPriceUsd)).toEqual([150]);
  await feed.stop();
});

test("states that a poll contains are not handed on once more, without its place in the slot", async () => {
  const { clock, observed, feed } = rig();
  const told = (slot: number, body: object) =>
    traderStateMessage.parse({ channel: "traderState", authority, traderPdaIndex: 0, slot, ...body });
  const row = (sequence: number) => ({ subaccountIndex: 0, sequence, collateral: String(sequence) });
  const polled = (slot: number, sequence: number) => {
    const { subaccounts } = told(slot, { messageType: "snapshot", subaccounts: [row(sequence)] });
    const snapshot = { subaccounts: subaccounts! };
    return feed.polledState(wallet, 0, { slot, slotIndex: 3, snapshot }, clock.elapsedMs());
  };
  const change = (slot: number, sequence: number) => {
    const message = told(slot, { messageType: "delta", deltas: [row(sequence)] });
    feed.message(null, { kind: "message", channel: "traderState", message });
  };
  polled(100, 5);
  change(101, 6);
  await clock.advance(1);
  change(102, 7);
  await clock.advance(1);
  expect(polled(102, 7)).toMatchObject({ slot: 102, slotIndex: 3, exact: true });
  await clock.advance(1_000);
  expect(observed).toMatchObject([{ kind: "accounts", slot: 101 }]);
  await feed.stop();
});
