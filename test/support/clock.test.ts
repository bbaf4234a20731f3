import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { request } from "undici";
import { describe, expect, test } from "vitest";
import { FakeClock } from "./clock.ts";

describe("FakeClock", () => {
  test("runs timers in the order in which they fall due, those they start included", async () => {
    const clock = new FakeClock("2026-01-01T00:00:00Z");
    const seen: string[] = [];
    const note = (name: string) => () => void seen.push(`${name}@${clock.elapsedMs()}`);
    clock.after(30, note("c"));
    clock.after(10, () => {
      note("a")();
      clock.after(5, note("b"));
    });
    clock.after(10, note("a2"));
    const cancel = clock.after(12, note("never"));
    clock.after(40, note("later"));
    cancel();
    await clock.advance(30);
    expect(seen).toEqual(["a@10", "a2@10", "b@15", "c@30"]);
    expect(clock.nowMs()).toBe(Date.parse("2026-01-01T00:00:00Z") + 30);
    expect([clock.pending, clock.nextInMs]).toEqual([1, 10]);
    expect([await clock.advanceToNext(), await clock.advanceToNext()]).toEqual([true, false]);
    expect(seen.at(-1)).toBe("later@40");
  });

  test("a sleep ends by time or by its signal", async () => {
    const clock = new FakeClock();
    const abort = new AbortController();
    const cut = clock.sleep(1_000, abort.signal).then(
      () => "slept",
      (reason: Error) => reason.message,
    );
    clock.after(500, () => abort.abort(new Error("enough")));
    expect(await clock.finish(cut)).toBe("enough");
    expect([clock.elapsedMs(), clock.pending]).toEqual([500, 0]);
    await clock.finish(clock.sleep(250));
    expect(clock.elapsedMs()).toBe(750);
    await expect(clock.sleep(1, abort.signal)).rejects.toThrow("enough");
    await expect(clock.finish(new Promise(() => {}))).rejects.toThrow("no timer waits");
  });

  test("time stands still while a request is under way, and moves while a server holds one on purpose", async () => {
    const clock = new FakeClock();
    const server = createServer(async (asked, answer) => {
      if (asked.url === "/held") await clock.sleep(3_000);
      else for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
      answer.end(String(clock.elapsedMs()));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const get = async (path: string) => (await request(base + path)).body.text();

    const answers: string[] = [];
    const poll = () =>
      void get("/quick").then((text) => {
        answers.push(text);
        clock.after(1_000, poll);
      });
    clock.after(1_000, poll);
    await clock.advance(5_000);
    expect(answers).toEqual(["1000", "2000", "3000", "4000", "5000"]);

    expect(await clock.finish(get("/held"))).toBe("8000");
    expect(answers).toEqual(["1000", "2000", "3000", "4000", "5000", "6000", "7000"]);
    server.close();
    server.closeAllConnections();
  });

  test("a busy hook stops time", async () => {
    let open = false;
    const clock = new FakeClock(0, { busy: () => open });
    const seen: number[] = [];
    clock.after(10, () => {
      open = true;
      setTimeout(() => {
        open = false;
        seen.push(clock.elapsedMs());
      }, 20);
    });
    clock.after(20, () => seen.push(clock.elapsedMs()));
    await clock.advance(20);
    expect(seen).toEqual([10, 20]);
  });
});

test("a machine that stands still for long is not a clock that is stuck; a busy one that never ends is", async () => {
  // Each look takes the processor for longer than the limit, as another process would.
  let looks = 0;
  const slow = new FakeClock(0, {
    stuckAfterMs: 20,
    busy: () => {
      const untilMs = performance.now() + 25;
      while (performance.now() < untilMs);
      return ++looks < 5;
    },
  });
  await slow.settle();
  expect(looks).toBeGreaterThanOrEqual(5);
  await expect(new FakeClock(0, { stuckAfterMs: 20, busy: () => true }).settle()).rejects.toThrow(/not idle/);
});
