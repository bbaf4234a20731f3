/** Answers that are garbled or changed on their way, and those that something on the way gives. */
import { expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import { garble } from "./garble.ts";
import type { Told, Venue } from "./line.ts";
import { changedOnTheWay, refusalOnTheWay } from "./on-the-way.ts";
import { type Fault, Weather } from "./weather.ts";

const venue = {
  time: { nowMs: 0 },
  walletIn: (text: string) => /w\d/.exec(text)?.[0] ?? null,
} as unknown as Venue;
const told = (text: string): Told => ({ status: 200, headers: {}, text, whole: true }) as Told;
const span = { fromMs: 0, toMs: 100 };
const weatherOf = (fault: Fault): Weather => new Weather([fault], () => 50);

test("what is cut is no JSON, and what has a wrong field is, with one field of an impossible type", () => {
  const random = seededRandom(1);
  const text = JSON.stringify({ slot: 1, rows: [{ price: "1.5", side: null }, 7], empty: {} });
  const found = new Set<string>();
  for (let i = 0; i < 40; i++) {
    const bad = garble(text, random)!;
    found.add(bad.garbled === "cut" ? "cut" : bad.text);
    if (bad.garbled === "cut") expect(() => JSON.parse(bad.text)).toThrow();
    else expect(bad.text.split('{"garbled":true}')).toHaveLength(2);
  }
  // Each of its four leaves comes up.
  expect(found.size).toBe(5);
  expect(garble("", random)).toBeNull();
});

test("values of a wallet are off, and nothing else is", () => {
  const weather = weatherOf({ ...span, kind: "equityOff", wallets: ["w1"], share: 0.5 });
  const answer = (target: string, text: string) =>
    changedOnTheWay(told(text), { target, body: "" }, { venue, weather, random: () => 0 }).told.text;
  const values = JSON.stringify([{ endTime: 1, value: 200 }]);
  expect(answer("/v1/traders/w1/portfolio-values?x", values)).toBe(
    JSON.stringify([{ endTime: 1, value: 300 }]),
  );
  expect(answer("/v1/traders/w2/portfolio-values?x", values)).toBe(values);
  expect(answer("/v1/traders/w1/pnl?x", values)).toBe(values);
});

test("sign-ins of a wallet are refused, and one kind of reads fails", () => {
  const status = (fault: Fault, target: string, body = "") =>
    refusalOnTheWay({ target, body }, venue, weatherOf(fault))?.status ?? null;
  const signIns: Fault = { ...span, kind: "signInsRefused", wallets: ["w1"], status: 403 };
  expect(status(signIns, "/v1/auth/login/wallet", '{"wallet_pubkey":"w1"}')).toBe(403);
  expect(status(signIns, "/v1/auth/login/wallet", '{"wallet_pubkey":"w2"}')).toBeNull();
  expect(status(signIns, "/v1/auth/nonce?wallet_pubkey=w1")).toBeNull();
  const part: Fault = { ...span, kind: "partErrors", part: "candles", status: 503 };
  expect(status(part, "/v1/candles/SOL?x")).toBe(503);
  expect(status(part, "/v1/view/orderbook/SOL")).toBeNull();
});
