/** Bad input: the form of refusals, and 5,000 mutated requests and messages that must not cause a server error. */
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { fuzz } from "./fuzzing.ts";
import { ask, quiet } from "./support.ts";

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

test(`5,000 mutated requests and messages are answered, seed ${seed}`, { timeout: 58_000 }, async () => {
  await using simulator = await quiet({ traders: 3, walk: true, pastMs: 2 * 3_600_000 });
  const report = await fuzz(simulator, seed, 5_000);
  expect(report.requests + report.messages).toBe(5_000);
  // If most mutations failed at the first check, later checks would not be tested.
  for (const status of ["200", "400", "401", "403", "404", "405"])
    expect(report.statuses[status] ?? 0, `answers with ${status}`).toBeGreaterThan(20);
  for (const kind of ["data", "accepted", "refused"])
    expect(report.frames[kind], `frames: ${kind}`).toBeGreaterThan(100);
});

test("unknown paths, wrong methods, bodies that are too large or no JSON are refused in JSON", async () => {
  await using simulator = await quiet();
  const outcome = async (path: string, options: Parameters<typeof ask>[2] = {}) => {
    const { status, json, headers } = await ask(simulator, path, options);
    expect(headers.get("content-type")).toBe("application/json");
    expect(json.error).toBeTypeOf("string");
    return [status, headers.get("allow")];
  };
  for (const path of [
    "/",
    "/v1",
    "/v1/",
    "/v1/nothing",
    "/v2/view/exchange/status",
    "/v1/view/exchange/status/",
  ])
    expect(await outcome(path)).toEqual([404, null]);
  expect(await outcome("/v1/view/exchange/status", { method: "POST" })).toEqual([405, "GET"]);
  expect(await outcome("/v1/auth/refresh", { method: "DELETE" })).toEqual([405, "POST"]);
  const most = 1_048_576;
  const login = "/v1/auth/login/wallet";
  expect(await outcome(login, { raw: JSON.stringify("x".repeat(most)) })).toEqual([413, null]);
  // A body of the maximum size is parsed, and refused for its content.
  expect(await outcome(login, { raw: JSON.stringify("x".repeat(most - 2)) })).toEqual([400, null]);
  for (const raw of ["{", "nonsense", '{"a":}', "\u0000"])
    expect(await outcome(login, { raw })).toEqual([400, null]);
});

test("a stream message that is no JSON or names no channel is answered with an error, and the connection stays", async () => {
  await using simulator = await quiet();
  const socket = new WebSocket(`${simulator.url.replace("http", "ws")}/v1/ws`);
  const answers: { channel: string; error?: string; code?: number }[] = [];
  let heard = () => {};
  socket.on("message", (data) => {
    answers.push(JSON.parse(String(data)));
    heard();
  });
  const answer = async () => {
    while (answers.length === 0)
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
    return answers.shift();
  };
  await new Promise((resolve) => socket.once("open", resolve));
  const bad = [
    "no JSON",
    "",
    "null",
    "[]",
    "{}",
    '{"type":"subscribe"}',
    '{"type":"subscribe","subscription":{}}',
    '{"type":"subscribe","subscription":{"channel":"coffee"}}',
    '{"type":"subscribe","subscription":{"channel":"__proto__"}}',
    '{"type":"subscribe","subscription":{"channel":"traderState","authority":"abc","traderPdaIndex":0}}',
    '{"type":"subscribe","subscription":{"channel":"markPrice","symbol":"NONE"}}',
  ];
  for (const text of bad) {
    socket.send(text);
    expect(await answer(), text).toMatchObject({ channel: "error", error: expect.any(String), code: 400 });
  }
  socket.send(Buffer.from([0xff, 0xfe, 0x00]));
  expect(await answer()).toMatchObject({ channel: "error", code: 400 });
  socket.send('{"type":"subscribe","subscription":{"channel":"allMids"}}');
  expect(await answer()).toMatchObject({ channel: "subscriptionStatus", status: "subscribed" });
  expect(await answer()).toMatchObject({ channel: "allMids" });
  expect(socket.readyState).toBe(WebSocket.OPEN);
  socket.terminate();
});
