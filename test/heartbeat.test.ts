/**
 * The dead man's switch against a real server, with a clock that the test advances; and the figures of the outbox that
 * it uses.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { Heartbeat, type HeartbeatOptions } from "../src/daemon/heartbeat.ts";
import { settingsFromText } from "../src/daemon/settings.ts";
import { rig } from "./deliver/support.ts";
import { FakeClock } from "./support/clock.ts";

const second = 1_000;
const minute = 60_000;

async function world({ failUrl = true } = {}) {
  const clock = new FakeClock("2026-03-01T12:00:00Z");
  const called: string[] = [];
  const state = {
    answer: 200 as number | "hang up",
    turns: true,
    reads: true,
    waitingSinceMs: null as number | null,
    lost: 0,
  };
  const server = createServer((request, response) => {
    called.push(request.url ?? "");
    if (state.answer === "hang up") response.destroy();
    else response.writeHead(state.answer).end("ok");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const log: string[] = [];
  let [turnedMs, readMs] = [clock.elapsedMs(), clock.nowMs()];
  const critical = (): ReturnType<HeartbeatOptions["critical"]> => {
    const { waitingSinceMs, lost } = state;
    return { waitingSinceMs, lost };
  };
  const heartbeat = new Heartbeat({
    settings: {
      url: `${base}/beat/s3cret`,
      failUrl: failUrl ? `${base}/fail/s3cret` : null,
      everyMs: minute,
    },
    clock,
    log: {
      info: (_fields, text) => void log.push(`info ${text}`),
      warn: (_fields, text) => void log.push(`warn ${text}`),
    },
    turnedMs: () => turnedMs,
    readMs: () => readMs,
    critical,
  });
  heartbeat.start();
  return {
    ...{ clock, called, log, state, heartbeat },
    /** Advances time in checks of 5 s, and waits for each call, whose answer comes over a socket. */
    async pass(ms: number) {
      for (const endMs = clock.elapsedMs() + ms; clock.elapsedMs() < endMs; ) {
        if (state.turns) turnedMs = clock.elapsedMs() + 1;
        if (state.reads) readMs = clock.nowMs() + 1;
        await clock.advance(5 * second);
        await heartbeat.settled();
      }
    },
    async [Symbol.asyncDispose]() {
      await heartbeat.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("beats while the loop turns and something is read, and stays away otherwise", async () => {
  await using it = await world();
  await it.pass(5 * second);
  expect(it.called).toEqual(["/beat/s3cret"]);
  await it.pass(3 * minute);
  expect(it.called).toHaveLength(4);
  it.state.reads = false;
  await it.pass(5 * minute);
  // A reading before the last call does not count.
  expect(it.called).toHaveLength(4);
  expect(it.heartbeat.status().withheld).toBe("nothing was read from the exchange since the last one");
  it.state.reads = true;
  await it.pass(10 * second);
  expect(it.called).toHaveLength(5);
  it.state.turns = false;
  await it.pass(5 * minute);
  // The loop had turned once more since.
  expect(it.called).toHaveLength(6);
  expect(it.heartbeat.status().withheld).toBe("the loop has not turned since the last one");
  it.state.turns = true;
  await it.pass(10 * second);
  expect(it.called).toHaveLength(7);
  expect(it.heartbeat.status()).toMatchObject({ withheld: null, failure: null, failToldMs: null });
  expect(it.log).toEqual([
    "warn no heartbeat: nothing was read from the exchange since the last one",
    "info the heartbeat goes on",
    "warn no heartbeat: the loop has not turned since the last one",
    "info the heartbeat goes on",
  ]);
});

test("its own failures are said once, without the address, and it goes on trying", async () => {
  await using it = await world();
  it.state.answer = 503;
  await it.pass(3 * minute);
  expect(it.called.length).toBeGreaterThanOrEqual(3);
  expect(it.heartbeat.status()).toMatchObject({ lastOkMs: null, failure: "answered 503" });
  it.state.answer = "hang up";
  await it.pass(2 * minute);
  expect(it.heartbeat.status().failure).toMatch(/^unreachable \(/);
  it.state.answer = 204;
  await it.pass(minute);
  expect(it.heartbeat.status()).toMatchObject({ failure: null, failingSinceMs: null });
  expect(it.log).toEqual([
    "warn the heartbeat cannot be sent: answered 503",
    "info the heartbeat can be sent again",
  ]);
  expect(JSON.stringify([it.log, it.heartbeat.status()])).not.toContain("s3cret");
});

test("a critical message that no channel can send for a minute is reported at once, then hourly", async () => {
  await using it = await world();
  await it.pass(10 * second);
  const beats = it.called.length;
  it.state.waitingSinceMs = it.clock.nowMs();
  await it.pass(55 * second);
  expect(it.called.filter((url) => url.startsWith("/fail"))).toEqual([]);
  it.state.answer = 500;
  await it.pass(10 * second);
  it.state.answer = 200;
  await it.pass(10 * second);
  const fails = () => it.called.filter((url) => url === "/fail/s3cret").length;
  // A rejected call is repeated at once.
  const first = fails();
  expect(first).toBeGreaterThan(1);
  await it.pass(50 * minute);
  expect(fails()).toBe(first);
  await it.pass(12 * minute);
  expect(fails()).toBe(first + 1);
  // There is no regular call meanwhile, which the service would take for an all-clear.
  expect(it.called.filter((url) => url.startsWith("/beat")).length).toBeLessThanOrEqual(beats + 1);
  it.state.waitingSinceMs = null;
  await it.pass(5 * second);
  expect(it.called.at(-1)).toBe("/beat/s3cret");
  // A dead message is reported once.
  it.state.lost = 1;
  await it.pass(10 * second);
  expect(fails()).toBe(first + 2);
  await it.pass(3 * minute);
  expect(fails()).toBe(first + 2);
  expect(it.called.at(-1)).toBe("/beat/s3cret");
});

test("without a failUrl one that was given up keeps the heartbeat away for an hour, and is the past then", async () => {
  await using it = await world({ failUrl: false });
  await it.pass(minute);
  const beats = it.called.length;
  it.state.lost = 1;
  await it.pass(55 * minute);
  expect(it.called).toHaveLength(beats);
  expect(it.heartbeat.status().withheld).toBe("a critical message was given up, and nobody got it");
  // Otherwise a daemon that died after that could not be detected.
  await it.pass(10 * minute);
  expect(it.called.length).toBeGreaterThan(beats + 3);
  expect(it.heartbeat.status().withheld).toBeNull();
  it.state.lost = 2;
  await it.pass(5 * minute);
  expect(it.heartbeat.status().withheld).not.toBeNull();
});

test("the outbox states since when a critical message is undelivered", async () => {
  await using one = await rig();
  const { alerts } = one;
  one.far.answer = () => ({ status: 503 });
  await one.owe(alerts.step("fired", alerts.alert({ severity: "warning" })));
  await one.owe(
    alerts.step("fired", alerts.alert({ drill: true, event: true, state: "ended" }), ["chat"], "drill/x"),
  );
  await one.clock.settle();
  expect(one.outbox.critical()).toEqual({ waitingSinceMs: null, lost: 0 });
  const atMs = one.clock.nowMs();
  await one.owe(alerts.step("fired", alerts.alert()));
  await one.clock.advance(minute);
  expect(one.outbox.critical()).toEqual({ waitingSinceMs: atMs, lost: 0 });
  await one.restart();
  expect(one.outbox.critical()).toEqual({ waitingSinceMs: atMs, lost: 0 });
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(10 * minute);
  expect(one.outbox.critical()).toEqual({ waitingSinceMs: null, lost: 0 });
  one.far.answer = () => ({ status: 400 });
  await one.owe(alerts.step("fired", alerts.alert()));
  await one.clock.advance(minute);
  expect(one.outbox.critical()).toEqual({ waitingSinceMs: null, lost: 1 });
});

test("addresses are checked, and no mistake shows one", () => {
  const rest =
    "channels: { here: { type: console } }\nwallets: [{ name: m, authority: GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD }]\n";
  const read = (section: string) =>
    settingsFromText(`${rest}heartbeat: ${section}`, { file: null, folder: "/", env: {} });
  const good = read('{ url: "https://hc.example/s3cret" }');
  expect("settings" in good && good.settings.heartbeat).toEqual({
    ...{ url: "https://hc.example/s3cret", failUrl: null, everyMs: minute },
  });
  for (const section of [
    '{ url: "ftp://s3cret" }',
    "{ url: s3cret, every: 1s }",
    "{ every: 1m }",
    "{ url: 7, fail: s3cret }",
  ]) {
    const wrong = read(section);
    const problems = "problems" in wrong ? wrong.problems : [];
    expect(problems.length, section).toBeGreaterThan(0);
    for (const { path, message } of problems) {
      expect(path).toMatch(/^heartbeat/);
      expect(message).not.toContain("s3cret");
    }
  }
});
