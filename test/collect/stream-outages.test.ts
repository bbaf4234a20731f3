/** The log about streams that are lost: once, only of what lasts, and not beside an outage of the exchange. */
import { expect, test } from "vitest";
import { StreamOutages } from "../../src/collect/stream/outages.ts";
import { FakeClock } from "../support/clock.ts";

function rig() {
  const clock = new FakeClock("2026-03-28T12:00:00Z");
  const log: string[] = [];
  const state = { down: false };
  const say = (_fields: object, text: string) => void log.push(text);
  const outages = new StreamOutages(
    clock,
    { debug: () => {}, info: say, warn: say },
    () => state.down,
    () => 10_000,
  );
  return { clock, log, outages, state };
}

test("what comes back soon is not told, what lasts is told once, and its end", async () => {
  const { clock, log, outages } = rig();
  outages.down("main", "the connection broke", "lost");
  await clock.advance(10_000);
  outages.up("main");
  await clock.advance(60_000);
  expect(log).toEqual([]);
  outages.down("main", "the connection broke", "lost");
  outages.down("main", "connect ECONNREFUSED", "lost");
  await clock.advance(60_000);
  expect(log).toEqual(["the stream of main is not connected, and polls go on: connect ECONNREFUSED"]);
  outages.up("main");
  expect(log.slice(1)).toEqual(["the stream of main is connected again after 1m"]);
});

test("while the exchange is down its own line is enough; what is lost beyond that is told then", async () => {
  const { clock, log, outages, state } = rig();
  state.down = true;
  for (const wallet of [null, "main"]) outages.down(wallet, "connect ECONNREFUSED", "lost");
  await clock.advance(120_000);
  state.down = false;
  outages.up("main");
  expect(log).toEqual([]);
  await clock.advance(30_000);
  expect(log).toEqual(["the stream is not connected, and polls go on: connect ECONNREFUSED"]);
});

test("of many that are lost together one line stands for all", async () => {
  const { clock, log, outages } = rig();
  const wallets = [null, ..."abcdefgh"];
  for (const wallet of wallets) outages.down(wallet, "connect ECONNREFUSED", "lost");
  await clock.advance(60_000);
  expect(log).toEqual(["9 streams are not connected, and polls go on: connect ECONNREFUSED"]);
  for (const wallet of wallets) outages.up(wallet);
  expect(log.slice(1)).toEqual(["all streams are connected again"]);
});

test("what waits for a session is told by nobody here, and from then on when something else is wrong", async () => {
  const { clock, log, outages } = rig();
  outages.down("main", "main is still signing in", "signed-out");
  await clock.advance(1_200_000);
  expect(log).toEqual([]);
  outages.down("main", "the connection broke", "lost");
  await clock.advance(15_000);
  expect(log).toEqual(["the stream of main is not connected, and polls go on: the connection broke"]);
});

test("a stream that the exchange refuses is told once, with what that means", async () => {
  const { clock, log, outages } = rig();
  for (let minute = 0; minute < 20; minute++) {
    outages.down("main", "403 forbidden", "refused");
    await clock.advance(60_000);
  }
  const refused =
    "the exchange refuses the stream of main: 403 forbidden; notifications are polled every 10s";
  expect(log).toEqual([refused]);
  outages.up("main");
  expect(log.slice(1)).toEqual(["the stream of main is connected again after 20m"]);
});

test("a stream that was lost and is refused when it comes back is told as that, too, and no more", async () => {
  const { clock, log, outages } = rig();
  for (const why of ["lost", "refused", "lost", "refused"] as const) {
    outages.down("main", why, why);
    await clock.advance(30_000);
  }
  expect(log).toEqual([
    "the stream of main is not connected, and polls go on: lost",
    "the exchange refuses the stream of main: refused; notifications are polled every 10s",
  ]);
});
