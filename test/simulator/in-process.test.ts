/** A simulator without a port: requests and streams of this process are answered as over sockets. */
import { expect, test } from "vitest";
import { startSimulator } from "../../src/simulator/index.ts";
import { FakeClock } from "../support/clock.ts";

const open = (options = {}) =>
  startSimulator({ clock: new FakeClock(), walk: false, traders: 1, port: null, ...options });
const get = { method: "GET", headers: {}, body: null };

test("answers are those of the port", async () => {
  await using inside = await open();
  await using outside = await open({ port: 0 });
  expect(inside.url).toBe("");
  for (const target of ["/v1/exchange/status", "/v1/nothing", "/v1/markets/stats/latest?symbol=NONE"]) {
    const told = await inside.ask({ ...get, target });
    const answer = await fetch(`${outside.url}${target}`);
    expect(told).toMatchObject({ status: answer.status, text: await answer.text(), whole: true });
    for (const name of ["date", "content-type", "content-length"])
      expect(told?.headers[name], name).toBe(answer.headers.get(name));
  }
});

test("a body is read", async () => {
  await using inside = await open();
  const ask = (body: string) =>
    inside.ask({ ...get, method: "POST", target: "/sim/trader", body }).then((told) => told?.status);
  expect(await ask('{"name":"new"}')).toBe(200);
  expect(await ask("{")).toBe(400);
  expect(inside.traders.map(({ name }) => name)).toContain("new");
});

test("faults cut answers off", async () => {
  await using inside = await open();
  const target = "/v1/exchange/status";
  await inside.call("fault", { path: target, times: 1, drop: "request" });
  await inside.call("fault", { path: target, times: 1, drop: "body" });
  expect(await inside.ask({ ...get, target })).toBeNull();
  const half = await inside.ask({ ...get, target });
  const whole = await inside.ask({ ...get, target });
  expect(half?.whole).toBe(false);
  expect(whole?.text.startsWith(half!.text)).toBe(true);
  expect(half!.text.length).toBeLessThan(whole!.text.length);
});

test("a stream", async () => {
  await using inside = await open();
  const told: string[] = [];
  const socket = {
    ...{ readyState: 1, bufferedAmount: 0 },
    send: (text: string) => void told.push(text),
    ...{ ping: () => {}, close: () => {}, terminate: () => {} },
  };
  const visit = await inside.enter({ target: "/v1/ws", headers: {} }, socket);
  visit.text(JSON.stringify({ type: "subscribe", subscription: { channel: "allMids" } }));
  expect(told.map((text) => JSON.parse(text).channel)).toEqual(["subscriptionStatus", "allMids"]);
  visit.ended();
  await inside.call("mark-price", { symbol: "SOL", price: "100" });
  expect(told).toHaveLength(2);
  const headers = { "sec-websocket-protocol": "phoenix-jwt, none" };
  await expect(inside.enter({ target: "/v1/ws", headers }, socket)).rejects.toMatchObject({ status: 401 });
});
