/** The last check of a stop loss: prices are read from the bytes to be signed, and the market from its account. */
import { describe, expect, test } from "vitest";
import { type StopLossOrder, stopLossInstruction } from "../../src/contract/index.ts";
import { type MarketAccount, readMarketAccount } from "../../src/ledger/market-account.ts";
import { BadStopLoss, checkBand } from "../../src/ledger/stop-loss-band.ts";
import { addressOf, logAuthority } from "../../src/wallet/address.ts";
import { assembleTransaction, type LedgerInstruction } from "../../src/wallet/ledger-transaction.ts";

const program = "EtrnLzgbS7nMMy5fbD42kXiUzGg8XQzJ972Xtk1cjWih";
const key = (fill: number) => addressOf(new Uint8Array(32).fill(fill));
const market: MarketAccount = {
  address: key(9),
  ...{ symbol: "SOL", assetId: 0, tickSize: 100, baseLotsDecimals: 2 },
};
const long: StopLossOrder = {
  ...{ triggerTicks: 14_000n, executionTicks: 13_860n, baseLots: 100n },
  ...{ side: "ask", direction: "below", kind: "ioc" },
};
const short: StopLossOrder = {
  ...{ ...long, side: "bid", direction: "above" },
  ...{ triggerTicks: 16_000n, executionTicks: 16_160n },
};

function wireOf(order: StopLossOrder, beside: readonly LedgerInstruction[] = [], orderbook = market.address) {
  const { programId, accounts, data } = stopLossInstruction({
    ...{ logAuthority: logAuthority(), globalConfig: key(2), funder: key(1), traderAccount: key(3) },
    ...{ perpAssetMap: key(4), globalTraderIndex: [key(5), key(6)], activeTraderBuffer: [key(7)] },
    ...{ orderbook, spline: key(8), positionAuthority: key(1), stopLossAccount: key(10), order },
  });
  const instructions = [{ programId, accounts, data }, ...beside];
  return assembleTransaction({ feePayer: key(1), blockhash: key(11), instructions }).wire;
}
const check = (order: StopLossOrder, known: Partial<Parameters<typeof checkBand>[1]> = {}, wire?: string) =>
  checkBand(wire ?? wireOf(order), { market, mark: 150, far: false, ...known });

test("an order within the band is read from the bytes", () => {
  expect(check(long)).toEqual(long);
  expect(check(short)).toEqual(short);
  const widest = { ...long, triggerTicks: 7_500n, executionTicks: 6_000n };
  expect(check(widest)).toEqual(widest);
});

describe("refused", () => {
  const cases: [string, StopLossOrder, Parameters<typeof check>[1], RegExp][] = [
    ["a long's trigger at the mark", { ...long, triggerTicks: 15_000n }, {}, /not below the mark 150/],
    ["a short's trigger below it", { ...short, triggerTicks: 14_000n }, {}, /not above the mark/],
    [
      "a better execution price",
      { ...long, executionTicks: 14_001n },
      {},
      /execution price 140\.01 is above/,
    ],
    ["a take profit", { ...long, direction: "above", triggerTicks: 16_000n }, {}, /a take profit/],
    ["a trigger further than 50%", { ...long, triggerTicks: 7_499n }, {}, /50\.0% away from the mark/],
    ["a short's trigger further than 50%", { ...short, triggerTicks: 22_501n }, {}, /away from the mark/],
    ["an execution price further than 20%", { ...long, executionTicks: 11_199n }, {}, /20\.0% away from the/],
    ["an execution price of nothing", { ...long, executionTicks: 0n }, { far: true }, /factor of 10/],
    ["a tick that is ten times what was meant", long, { market: { ...market, tickSize: 10 } }, /90\.7% away/],
    ["a tick that is a hundredth", long, { market: { ...market, tickSize: 1 }, far: true }, /factor of 10/],
    ["a mark that is ten times too high", long, { mark: 1_500 }, /90\.7% away/],
    ["a mark that is a tenth", long, { mark: 15 }, /not below the mark/],
    ["a mark that is none", long, { mark: Number.NaN }, /no price/],
    ["a mark of zero", long, { mark: 0 }, /no price/],
    ["another market", long, { market: { ...market, address: key(12) } }, /names the market/],
    ["the largest ticks", { ...short, triggerTicks: 2n ** 64n - 1n }, { far: true }, /factor of 10/],
  ];
  test.each(cases)("%s", (_what, order, known, said) => {
    expect(() => check(order, known)).toThrow(BadStopLoss);
    expect(() => check(order, known)).toThrow(said);
  });

  test("what is far is signed on purpose only, and up to a factor of ten", () => {
    const far = { ...long, triggerTicks: 2_000n, executionTicks: 1_000n };
    expect(() => check(far)).toThrow(/these prices are far from the mark on purpose/);
    expect(check(far, { far: true })).toEqual(far);
  });

  test("a transaction that holds anything beside one stop loss", () => {
    const other: LedgerInstruction = { programId: key(13), accounts: [], data: new Uint8Array(1) };
    expect(() => check(long, {}, wireOf(long, [other]))).toThrow(/something else than one stop loss/);
    expect(() => check(long, {}, "AAAA")).toThrow(BadStopLoss);
    expect(() => check(long, {}, wireOf(long).slice(0, -4))).toThrow(BadStopLoss);
  });
});

describe("a market's account", () => {
  const head = (change: (data: Buffer) => void = () => {}) => {
    const data = Buffer.alloc(64);
    data.write("410128f1a60e56bc", "hex");
    data.writeInt8(-2, 9);
    data.writeUInt32LE(5, 32);
    data.write("PUMP", 40);
    data.writeBigUInt64LE(10n, 56);
    change(data);
    return { owner: program, data };
  };
  test("is read", () => {
    expect(readMarketAccount("a", head())).toEqual({
      ...{ address: "a", symbol: "PUMP", assetId: 5, tickSize: 10, baseLotsDecimals: -2 },
    });
  });
  test.each<[string, ReturnType<typeof head>, RegExp]>([
    ["another owner", { ...head(), owner: key(1) }, /belongs to/],
    ["fewer bytes", { ...head(), data: head().data.subarray(0, 63) }, /63 bytes/],
    ["another kind", head((data) => data.fill(0, 0, 1)), /another kind/],
    ["no symbol", head((data) => data.fill(0, 40, 56)), /no symbol/],
    ["a symbol that does not print", head((data) => data.write("\u001b[2J", 40)), /no symbol/],
    ["a symbol with more behind it", head((data) => data.write("X", 50)), /no symbol/],
    ["no tick size", head((data) => data.fill(0, 56, 64)), /tick size is 0/],
    ["a tick size without end", head((data) => data.fill(255, 56, 64)), /tick size is 18446744073709551615/],
    ["decimals without end", head((data) => data.writeInt8(-100, 9)), /decimals are -100/],
  ])("%s is refused", (_what, account, said) => {
    expect(() => readMarketAccount("a", account)).toThrow(said);
  });
});
