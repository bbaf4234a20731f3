/** The simulator follows the exchange's contract: records, errors, tokens, limits, books after hours. */
import { decodeJwt } from "jose";
import { describe, expect, test } from "vitest";
import { EVENT_DATA, eventData } from "../../src/contract/index.ts";
import { ask, quiet, read, signIn, sim } from "./support.ts";

test.each(Object.keys(EVENT_DATA))("a notification of %s without data fits the contract", async (type) => {
  await using simulator = await quiet();
  await sim(simulator, "notification", { trader: "main", notificationType: type });
  const { access_token } = await signIn(simulator);
  const path = `/v1/traders/${simulator.traders[0]!.traderPda}/notifications?unackedOnly=true`;
  const [item] = (await read(simulator, "notifications", path, access_token)).items;
  expect(item.notificationType).toBe(type);
  expect(eventData(item)?.type).toBe(type);
});

test("both tokens are JWTs, and a refresh token is no access token", async () => {
  await using simulator = await quiet();
  const { access_token, refresh_token } = await signIn(simulator);
  const [access, refresh] = [decodeJwt(access_token), decodeJwt(refresh_token)];
  expect(refresh.sid).toBe(access.sid);
  expect(refresh.exp! - refresh.iat!).toBe(30 * 86_400);
  const answer = await ask(simulator, "/v1/auth/logout", { method: "POST", bearer: refresh_token });
  expect([answer.status, answer.json]).toEqual([401, { error: "invalid_access_token" }]);
});

test("who is signed in has twice the limit of others", async () => {
  await using simulator = await quiet({ requestsPerSecond: 5 });
  const { access_token: bearer } = await signIn(simulator);
  const granted = async (options: { readonly bearer?: string }) => {
    await sim(simulator, "advance", { ms: 10_000 });
    let count = 0;
    while ((await ask(simulator, "/v1/view/exchange/status", options)).status === 200) count++;
    return count;
  };
  expect(await granted({})).toBe(5);
  expect(await granted({ bearer })).toBe(10);
  expect(await granted({ bearer: "none" })).toBe(5);
});

describe("a commodity after hours", () => {
  const path = "/v1/view/orderbook/GOLD";

  test("has a book within its execution band, unless all of it is asked for", async () => {
    await using simulator = await quiet();
    const place = { trader: "main", symbol: "GOLD", subaccountIndex: 1, side: "bid", size: "0.1" };
    await sim(simulator, "order", { ...place, price: "1500" });
    const sizes = async (query: string) => {
      const { bids, asks } = await read(simulator, "orderbook", `${path}${query}`);
      return [bids.at(-1)[0], bids.length, asks.length];
    };
    const open = await sizes("");
    expect(open[0]).toBe(1_500);
    expect(await sizes("?bypass_execution_band=true")).toEqual(open);
    const config = async () =>
      (await read(simulator, "market", "/v1/view/exchange/market/GOLD")).commodityMetadata;
    expect((await config()).executionPriceBand).toBeNull();

    await sim(simulator, "market", { symbol: "GOLD", session: "afterHours" });
    const { executionPriceBand: band } = await config();
    // Leverage is at most 10: a tenth around 2,411.60.
    expect([Number(band.min.ui), Number(band.max.ui)]).toEqual([2_170.5, 2_652.7]);
    const within = await sizes("");
    expect(within[0]).toBeGreaterThan(2_170);
    expect(within[1]).toBe((open[1] as number) - 1);
    expect(await sizes("?bypass_execution_band=true")).toEqual(open);
  });
});
