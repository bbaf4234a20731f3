import { describe, expect, test } from "vitest";
import { type SubaccountSnapshot, traderState, traderStateMessage } from "../../src/contract/index.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { IMPOSSIBLE_SLOT } from "../../src/exchange/stream/ledger-slots.ts";
import { TraderMirror } from "../../src/exchange/stream/trader-mirror.ts";

type Json = Record<string, unknown>;

const authority = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";
const trigger = { triggerPriceTicks: "15800", executionPriceTicks: "15958", side: "bid", kind: "ioc" };
const position = (lots: number, sequence = 1, extra: Json = {}): Json => ({
  positionSequenceNumber: String(sequence),
  basePositionLots: String(lots),
  basePositionUnits: String(lots / 100),
  entryPriceTicks: "15000",
  entryPriceUsd: "150",
  virtualQuotePositionLots: "1",
  unsettledFundingQuoteLots: "0",
  accumulatedFundingQuoteLots: "0",
  ...extra,
});
const order = (sequence: number, left = 5, size = 5): Json => ({
  orderSequenceNumber: String(sequence),
  side: "bid",
  orderType: "limit",
  priceTicks: "14000",
  priceUsd: "140",
  sizeRemainingLots: String(left),
  initialSizeLots: String(size),
  reduceOnly: false,
  status: "active",
});

/** Rows as the contract reads them. */
function rows(...list: Json[]): readonly SubaccountSnapshot[] {
  const capability = { immediate: true };
  const capabilities = Object.fromEntries(
    [
      "placeLimitOrder",
      "placeMarketOrder",
      "riskIncreasingTrade",
      "riskReducingTrade",
      "depositCollateral",
      "withdrawCollateral",
    ].map((name) => [name, capability]),
  );
  const snapshot = {
    version: 1,
    capabilities: { flags: 0, state: "active", capabilities },
    makerFeeOverrideMultiplier: 1,
    takerFeeOverrideMultiplier: 1,
    subaccounts: list,
  };
  return traderState.parse({ authority, traderPdaIndex: 0, slot: 1, slotIndex: 0, snapshot }).snapshot
    .subaccounts;
}
const row = (subaccountIndex: number, sequence: number, extra: Json = {}): Json => ({
  subaccountIndex,
  sequence,
  collateral: String(sequence * 1_000),
  ...extra,
});
const message = (slot: number, body: Json) =>
  traderStateMessage.parse({ authority, traderPdaIndex: 0, slot, messageType: "delta", ...body });
const delta = (slot: number, ...deltas: Json[]) => message(slot, { deltas });
const whole = (slot: number, ...subaccounts: Json[]) =>
  message(slot, { messageType: "snapshot", subaccounts });

/** A mirror that one poll told of at slot 100. */
function polled(...list: Json[]) {
  const mirror = new TraderMirror();
  const poll = (slot: number, of: Json[], askedMs = 1_000, atMs = askedMs + 10) =>
    mirror.takePoll({ slot, slotIndex: 3 }, rows(...of), { askedMs, atMs }, true);
  expect(poll(100, list, 0).mirrored?.received).toBeNull();
  return { mirror, poll };
}
const sequences = (of: { readonly subaccounts: readonly SubaccountSnapshot[] } | null) =>
  of?.subaccounts.map((one) => [one.subaccountIndex, one.sequence]);

describe("the place of a poll in its slot", () => {
  const at = (mirror: TraderMirror, slotIndex: number, ...list: Json[]) =>
    mirror.takePoll({ slot: 100, slotIndex }, rows(...list), { askedMs: 2_000, atMs: 2_010 }, true).mirrored;

  test("is that of all that it told of", () => {
    const { mirror } = polled(row(0, 5), row(1, 9));
    expect(at(mirror, 4, row(0, 6), row(1, 9))).toMatchObject({ slot: 100, slotIndex: 4, exact: true });
  });

  test("is not that of what the stream told after it", () => {
    const { mirror } = polled(row(0, 5), row(1, 9));
    mirror.takeMessage(delta(100, { subaccountIndex: 1, sequence: 10, collateral: "5" }), 1_500);
    expect(at(mirror, 4, row(0, 6), row(1, 9))).toMatchObject({ exact: false });
  });

  test("is not that of an account that it does not list yet", () => {
    const { mirror } = polled(row(0, 5));
    mirror.takeMessage(delta(100, { subaccountIndex: 1, sequence: 1, collateral: "5" }), 1_500);
    expect(at(mirror, 4, row(0, 6))).toMatchObject({ exact: false });
  });

  test("is not that of messages that were held until it came", () => {
    const { mirror } = polled(row(0, 5));
    mirror.takeMessage(delta(100, { subaccountIndex: 0, sequence: 7, collateral: "5" }), 1_500);
    expect(at(mirror, 4, row(0, 6))).toMatchObject({ exact: false });
  });

  test("is not that of an answer that is older than one of its slot", () => {
    const { mirror } = polled(row(0, 5));
    expect(at(mirror, 2, row(0, 5))?.exact ?? false).toBe(false);
  });

  test("is not known of what the stream tells", () => {
    const { mirror } = polled(row(0, 5));
    const { mirrored } = mirror.takeMessage(
      delta(101, { subaccountIndex: 0, sequence: 6, collateral: "5" }),
      1_500,
    );
    expect(mirrored).toMatchObject({ exact: false });
  });
});

describe("a change", () => {
  test("takes the new head, replaces and removes rows, and tells of its own subaccount alone", () => {
    const trade = { takeProfitId: "tp", trigger, status: "active" };
    const { mirror } = polled(
      row(0, 5, {
        positions: [{ symbol: "SOL", ...position(100, 1, { takeProfitTriggers: [trade] }) }],
        triggers: [{ symbol: "SOL", takeProfitTriggers: [trade] }],
        orders: [{ symbol: "SOL", orders: [order(7), order(8)] }],
        spotCollaterals: [{ assetIndex: 1, symbol: "SOL", balance: "5", decimals: 9 }],
      }),
      row(1, 9),
    );
    const { mirrored, doubt } = mirror.takeMessage(
      delta(101, {
        subaccountIndex: 0,
        sequence: 6,
        collateral: "77",
        positions: [
          { symbol: "sol", change: "updated", position: position(50, 2, { takeProfitTriggers: [trade] }) },
          { symbol: "BTC", change: "updated", position: position(-3) },
          { symbol: "ETH", change: "updated" },
        ],
        triggers: [{ symbol: "SOL", change: "closed" }],
        orders: [{ symbol: "SOL", orders: [{ ...order(7), change: "closed" }, order(9, 2), order(8, 1)] }],
      }),
      1_000,
    );
    expect(doubt).toBeNull();
    expect(mirrored).toMatchObject({ slot: 101, slotIndex: 0, received: [0] });
    const [cross, other] = mirrored!.subaccounts;
    expect(cross).toMatchObject({ sequence: 6, collateral: 77n, triggers: [] });
    expect(cross!.spotCollaterals).toHaveLength(1);
    expect(cross!.positions.map((one) => [one.symbol.toUpperCase(), one.basePositionLots])).toEqual([
      ["SOL", 50n],
      ["BTC", -3n],
    ]);
    // What the position says of its triggers in the form of old is over, too.
    expect(cross!.positions[0]!.takeProfitTriggers).toEqual([]);
    expect(cross!.orders[0]!.orders.map((one) => [one.orderSequenceNumber, one.sizeRemainingLots])).toEqual([
      ["8", 1n],
      ["9", 2n],
    ]);
    expect(other!.sequence).toBe(9);
    const last = mirror.takeMessage(
      delta(102, {
        subaccountIndex: 0,
        sequence: 7,
        collateral: "1",
        spotCollaterals: [],
        positions: [{ symbol: "BTC", change: "closed" }],
        orders: [
          {
            symbol: "SOL",
            orders: [
              { ...order(8, 0), change: "closed" },
              { ...order(9), change: "closed" },
            ],
          },
        ],
      }),
      1_100,
    );
    expect(last.doubt).toBeNull();
    expect(last.mirrored!.subaccounts[0]).toMatchObject({ orders: [], spotCollaterals: [] });
    expect(last.mirrored!.subaccounts[0]!.positions).toHaveLength(1);
  });

  test("of a subaccount that is not known begins with an empty one", () => {
    const { mirror } = polled(row(0, 5));
    const taken = mirror.takeMessage(delta(101, { subaccountIndex: 2, sequence: 1, collateral: "5" }), 1_000);
    expect(taken).toMatchObject({ doubt: null, mirrored: { received: [2] } });
    expect(sequences(taken.mirrored)).toEqual([
      [0, 5],
      [2, 1],
    ]);
  });

  test("that was told before, twice, or out of order changes nothing", () => {
    const { mirror } = polled(row(0, 5));
    const change = (sequence: number) =>
      delta(101, { subaccountIndex: 0, sequence, collateral: `${sequence}` });
    expect(mirror.takeMessage(change(6), 1).mirrored).not.toBeNull();
    for (const sequence of [6, 5, 4]) {
      expect(mirror.takeMessage(change(sequence), 2)).toEqual({ mirrored: null, doubt: null, missed: 0 });
    }
    expect(mirror.takeMessage(change(7), 3).mirrored!.subaccounts[0]!.collateral).toBe(7n);
  });

  test("before anything whole is known is left alone", () => {
    const mirror = new TraderMirror();
    expect(mirror.takeMessage(delta(5, { subaccountIndex: 0, sequence: 1, collateral: "1" }), 0)).toEqual({
      mirrored: null,
      doubt: "a change before the whole",
      missed: 0,
    });
  });

  test.each<[string, Json, string]>([
    [
      "closes what is not there",
      { positions: [{ symbol: "ETH", change: "closed" }] },
      "the closing of a position that is not known",
    ],
    [
      "tells of a position as it was",
      { positions: [{ symbol: "SOL", change: "updated", position: position(1, 3) }] },
      "a position that is older than what is known",
    ],
    [
      "closes an order that is not there",
      { orders: [{ symbol: "SOL", orders: [{ ...order(99, 2), change: "closed" }] }] },
      "the closing of an order that is not known",
    ],
  ])("that %s is a reason to look, and is taken all the same", (_, body, doubt) => {
    const { mirror } = polled(row(0, 5, { positions: [{ symbol: "SOL", ...position(1, 4) }] }));
    const taken = mirror.takeMessage(
      delta(101, { subaccountIndex: 0, sequence: 6, collateral: "1", ...body }),
      1_000,
    );
    expect(taken.doubt).toBe(doubt);
    expect(taken.mirrored!.received).toEqual([0]);
  });
});

describe("a change whose sequence jumps", () => {
  const change = (slot: number, sequence: number, subaccountIndex = 0) =>
    delta(slot, { subaccountIndex, sequence, collateral: String(sequence) });
  const held = { mirrored: null, doubt: "a sequence that jumps", missed: 0 };

  test("is held with all that follow, until a poll fills the hole", () => {
    const { mirror, poll } = polled(row(0, 5), row(1, 9));
    for (const message of [change(103, 8), change(104, 9), change(105, 10, 1)])
      expect(mirror.takeMessage(message, 1_000)).toEqual(held);
    expect(sequences(mirror.now())).toEqual([
      [0, 5],
      [1, 9],
    ]);
    // A poll of before the hole is true of its slot, and a reason to ask again.
    const early = poll(101, [row(0, 6), row(1, 9)], 2_000);
    expect(early).toMatchObject({ doubt: held.doubt, mirrored: { received: null, slot: 101 } });
    expect(sequences(early.mirrored)?.[0]).toEqual([0, 6]);
    expect(mirror.holding).toBe(true);
    const { mirrored, doubt } = poll(102, [row(0, 7), row(1, 9)], 3_000);
    expect({ doubt, received: mirrored?.received, slot: mirrored?.slot }).toEqual({
      doubt: null,
      received: null,
      slot: 105,
    });
    expect(sequences(mirrored)).toEqual([
      [0, 9],
      [1, 10],
    ]);
    expect(mirror.holding).toBe(false);
    expect(mirror.takeMessage(change(106, 10), 4_000)).toMatchObject({
      doubt: null,
      mirrored: { received: [0] },
    });
  });

  test("holds those of other subaccounts for five seconds", () => {
    const { mirror } = polled(row(0, 5), row(1, 9));
    for (const message of [change(103, 7), change(104, 10, 1)]) mirror.takeMessage(message, 1_000);
    expect(mirror.takeOverdue(5_900)).toEqual(held);
    expect(mirror.takeOverdue(6_000)).toMatchObject({
      doubt: held.doubt,
      mirrored: { received: [1], slot: 104 },
    });
    expect(sequences(mirror.now())).toEqual([
      [0, 5],
      [1, 10],
    ]);
    expect(mirror.holding).toBe(true);
  });

  test("holds those of others for five seconds, however many of one are held", () => {
    const { mirror } = polled(row(0, 5), row(1, 9));
    for (let i = 0; i < 250; i++) mirror.takeMessage(change(103 + i, 7 + i), 1_000 + i * 20);
    mirror.takeMessage(change(400, 10, 1), 5_990);
    expect(mirror.takeOverdue(6_000).mirrored).toMatchObject({ received: [1], slot: 400 });
  });

  test("is merged in order once the missing one arrives, also within a slot", () => {
    for (const slot of [102, 103]) {
      const { mirror } = polled(row(0, 5), row(1, 9));
      mirror.takeMessage(change(103, 7), 1_000);
      mirror.takeMessage(change(104, 10, 1), 1_000);
      const { mirrored, doubt } = mirror.takeMessage(change(slot, 6), 1_100);
      expect(doubt).toBeNull();
      expect(mirrored).toMatchObject({ received: [0, 1], slot: 104 });
      expect(sequences(mirrored)).toEqual([
        [0, 7],
        [1, 10],
      ]);
    }
  });

  test("of one subaccount holds the others of its message", () => {
    const { mirror } = polled(row(0, 5), row(1, 9));
    const [one, other] = [
      { subaccountIndex: 0, sequence: 7, collateral: "1" },
      { subaccountIndex: 1, sequence: 10, collateral: "2" },
    ];
    expect(mirror.takeMessage(delta(103, one, other), 1_000)).toEqual(held);
    expect(sequences(mirror.takeMessage(whole(104, row(0, 7), row(1, 10)), 1_100).mirrored)).toEqual([
      [0, 7],
      [1, 10],
    ]);
  });

  test("is dropped once a whole answer of a later slot includes it", () => {
    const { mirror, poll } = polled(row(0, 5));
    mirror.takeMessage(change(103, 3, 4), 1_000);
    expect(poll(104, [row(0, 5)], 2_000)).toMatchObject({ doubt: null, mirrored: { received: null } });
    expect(mirror.holding).toBe(false);
    // Nor is a message that a poll overtook one that the stream owes.
    mirror.takeMessage(change(105, 8), 2_500);
    expect(poll(106, [row(0, 8)], 3_000)).toMatchObject({ doubt: null, missed: 0 });
    expect(poll(107, [row(0, 8)], 4_000)).toMatchObject({ missed: 0 });
  });

  test("holds only so many messages", () => {
    const { mirror, poll } = polled(row(0, 5));
    for (let i = 0; i < 1_000; i++) mirror.takeMessage(change(200 + i, 100 + i), 1_000);
    expect(sequences(poll(150, [row(0, 99)], 2_000).mirrored)).toEqual([[0, 99]]);
    expect(sequences(poll(1_198, [row(0, 1_098)], 3_000).mirrored)).toEqual([[0, 1_099]]);
    expect(mirror.holding).toBe(false);
  });
});

describe("a poll", () => {
  test("that is older than what the stream told does not take it back", () => {
    const { mirror, poll } = polled(row(0, 5), row(1, 5));
    mirror.takeMessage(delta(110, { subaccountIndex: 0, sequence: 6, collateral: "1" }), 500);
    poll(110, [row(0, 6), row(1, 5)], 4_000);
    const late = poll(105, [row(0, 5), row(1, 6)], 9_000);
    expect(sequences(late.mirrored)).toEqual([
      [0, 6],
      [1, 6],
    ]);
    // Of the one it told something, of the other it knew less.
    expect(late.mirrored).toMatchObject({ received: [1], slot: 110 });
    expect(poll(104, [row(0, 5), row(1, 5)], 14_000).mirrored).toBeNull();
  });

  test("counts as whole where the stream told more while it was under way", () => {
    const { mirror, poll } = polled(row(0, 5));
    mirror.takeMessage(delta(110, { subaccountIndex: 0, sequence: 6, collateral: "1" }), 1_005);
    expect(poll(105, [row(0, 5)], 1_000, 1_010).mirrored).toMatchObject({
      received: null,
      slot: 110,
      subaccounts: [{ sequence: 6 }],
    });
  });

  test("that is a little behind counts as whole with what the stream told since the poll before", () => {
    const { mirror, poll } = polled(row(0, 5), row(1, 5));
    poll(108, [row(0, 5), row(1, 5)], 1_000);
    mirror.takeMessage(delta(110, { subaccountIndex: 0, sequence: 6, collateral: "1" }), 5_900);
    mirror.takeMessage(delta(110, { subaccountIndex: 2, sequence: 1, collateral: "1" }), 5_900);
    const { mirrored } = poll(109, [row(0, 5), row(1, 5)], 6_000);
    expect(mirrored).toMatchObject({ received: null, slot: 110 });
    expect(sequences(mirrored)).toEqual([
      [0, 6],
      [1, 5],
      [2, 1],
    ]);
    // But an answer of long ago proves nothing, whatever the stream tells of one subaccount.
    mirror.takeMessage(delta(300, { subaccountIndex: 0, sequence: 7, collateral: "1" }), 10_900);
    expect(poll(110, [row(0, 5), row(1, 5)], 11_000).mirrored?.received).not.toBeNull();
  });

  test("sees a busy account whole at least every other time, although it is always a little behind", () => {
    const random = seededRandom(4);
    for (const lagMs of [500, 1_000, 1_500, 2_500])
      for (const everyMs of [700, 1_300, 3_100]) {
        const mirror = new TraderMirror();
        const slotAt = (ms: number) => 10_000 + Math.floor(ms / 400);
        const sequenceAt = (ms: number) => 1 + Math.floor(ms / everyMs);
        mirror.takeMessage(whole(slotAt(0), row(0, 1), row(1, 5)), 0);
        let longestMs = 0;
        let wholeMs = 0;
        let received = 1;
        let nextMs = 100;
        for (let ms = 50; ms < 300_000; ms += 50) {
          const sequence = sequenceAt(ms);
          if (sequence > received)
            mirror.takeMessage(delta(slotAt(ms), { subaccountIndex: 0, sequence, collateral: "1" }), ms);
          received = sequence;
          if (ms < nextMs + 100) continue;
          const wasMs = Math.max(0, nextMs + 50 - lagMs);
          const { mirrored } = mirror.takePoll(
            { slot: slotAt(wasMs), slotIndex: 0 },
            rows(row(0, sequenceAt(wasMs)), row(1, 5)),
            { askedMs: nextMs, atMs: ms },
            true,
          );
          expect(sequences(mirrored)?.[0]?.[1] ?? received).toBe(received);
          if (mirrored !== null && mirrored.received === null) {
            longestMs = Math.max(longestMs, ms - wholeMs);
            wholeMs = ms;
          }
          nextMs = ms + 4_400 + Math.floor(random() * 20) * 50;
        }
        expect({ lagMs, everyMs, longestMs: Math.max(longestMs, 300_000 - wholeMs) }).toSatisfy(
          (seen: { longestMs: number }) => seen.longestMs <= 11_000,
        );
      }
  });

  test("that knows more is taken, and what the stream still owes at the next one was missed", () => {
    const { mirror, poll } = polled(row(0, 5));
    expect(poll(101, [row(0, 6)])).toMatchObject({ missed: 0, mirrored: { received: null } });
    expect(poll(102, [row(0, 6)])).toMatchObject({ missed: 1 });
    expect(poll(103, [row(0, 6)])).toMatchObject({ missed: 0 });
    // Told late is told.
    expect(poll(104, [row(0, 7)])).toMatchObject({ missed: 0 });
    mirror.takeMessage(delta(104, { subaccountIndex: 0, sequence: 7, collateral: "1" }), 5_000);
    expect(poll(105, [row(0, 7)])).toMatchObject({ missed: 0 });
    // And nobody owes anything over a lost connection.
    poll(106, [row(0, 8)]);
    mirror.lost();
    expect(poll(107, [row(0, 8)])).toMatchObject({ missed: 0 });
  });

  test("removes what it does not list, unless the stream told of it later", () => {
    const { mirror, poll } = polled(row(0, 5), row(1, 5));
    expect(sequences(poll(101, [row(0, 5)]).mirrored)).toEqual([[0, 5]]);
    mirror.takeMessage(delta(110, { subaccountIndex: 2, sequence: 1, collateral: "1" }), 1_005);
    expect(sequences(poll(105, [row(0, 6)], 1_000).mirrored)).toEqual([
      [0, 6],
      [2, 1],
    ]);
  });

  test("of an exchange that counts from the start again is believed the second time", () => {
    const { poll } = polled(row(0, 500));
    expect(poll(101, [row(0, 2)])).toMatchObject({ mirrored: null, doubt: "a sequence that went back" });
    expect(sequences(poll(102, [row(0, 2)]).mirrored)).toEqual([[0, 2]]);
  });
});

describe("a snapshot of the stream", () => {
  test("replaces everything, and nothing that is newer", () => {
    const { mirror } = polled(row(0, 5), row(1, 5));
    expect(mirror.takeMessage(whole(105, row(0, 7)), 1_000).mirrored).toMatchObject({
      received: null,
      slot: 105,
    });
    expect(mirror.takeMessage(whole(104, row(0, 6)), 1_000).mirrored).toBeNull();
  });

  test("of an account that is not cold cannot be empty", () => {
    const { mirror, poll } = polled(row(0, 5));
    expect(mirror.takeMessage(whole(105), 1_000)).toMatchObject({
      mirrored: null,
      doubt: "an empty snapshot of an account that is not cold",
    });
    // Nor before anything is known of it; once a poll said so, it can.
    const unknown = new TraderMirror();
    expect(unknown.takeMessage(whole(105), 1_000)).toMatchObject({ mirrored: null });
    expect(poll(106, []).mirrored).toMatchObject({ subaccounts: [] });
    expect(mirror.takeMessage(whole(107), 1_000)).toMatchObject({
      mirrored: { subaccounts: [], received: null },
      doubt: null,
    });
  });

  test("of an account that holds spot collateral cannot be empty either", () => {
    const balance = { assetIndex: 7, symbol: "SOL", balance: "5", decimals: 9 };
    const { mirror } = polled(row(0, 5, { collateral: "0", spotCollaterals: [balance] }));
    expect(mirror.takeMessage(whole(105), 1_000).mirrored).toBeNull();
  });

  test("far ahead of the ledger is not taken, so that it cannot hold back what is true", () => {
    const { mirror, poll } = polled(row(0, 5));
    expect(mirror.takeMessage(whole(9_000_000_000, row(0, 99)), 1_000)).toMatchObject({
      mirrored: null,
      doubt: "a slot that cannot be",
    });
    expect(poll(101, [row(0, 6)]).mirrored).toMatchObject({ slot: 101, received: null });
  });
});

test("what is handed out does not change afterwards", () => {
  const { mirror, poll } = polled(row(0, 5, { positions: [{ symbol: "SOL", ...position(1, 4) }] }));
  const { mirrored } = poll(101, [row(0, 5, { positions: [{ symbol: "SOL", ...position(1, 4) }] })]);
  const before = JSON.stringify(mirrored, (_, value) => (typeof value === "bigint" ? String(value) : value));
  const body = { positions: [{ symbol: "SOL", change: "closed" }] };
  mirror.takeMessage(delta(102, { subaccountIndex: 0, sequence: 6, collateral: "9", ...body }), 2_000);
  expect(JSON.stringify(mirrored, (_, value) => (typeof value === "bigint" ? String(value) : value))).toBe(
    before,
  );
});

describe("a poll far ahead of the ledger", () => {
  const alone = (mirror: TraderMirror, slot: number, askedMs: number) =>
    mirror.takePoll({ slot, slotIndex: 0 }, rows(row(0, 5)), { askedMs, atMs: askedMs + 50 }, false);

  test.each([9_000_000_000, Number.MAX_SAFE_INTEGER])(
    "(slot %i) holds back none that follow",
    (impossible) => {
      const mirror = new TraderMirror();
      for (let i = 0; i < 3; i++)
        expect(alone(mirror, 1_000_000 + 12 * i, 5_000 * i).mirrored).not.toBeNull();
      // Twice the same is no ledger that goes on.
      for (const askedMs of [15_000, 20_000])
        expect(alone(mirror, impossible, askedMs)).toEqual({
          mirrored: null,
          doubt: IMPOSSIBLE_SLOT,
          missed: 0,
        });
      for (let i = 5; i < 20; i++)
        expect(alone(mirror, 1_000_000 + 12 * i, 5_000 * i).mirrored).not.toBeNull();
    },
  );

  test("is believed once the next one goes on from it", () => {
    const mirror = new TraderMirror();
    alone(mirror, 1_000_000, 0);
    expect(alone(mirror, 9_000_000, 5_000).mirrored).toBeNull();
    expect(alone(mirror, 9_000_012, 10_000).mirrored).toMatchObject({ slot: 9_000_012, received: null });
    expect(alone(mirror, 9_000_024, 15_000).doubt).toBeNull();
  });
});
