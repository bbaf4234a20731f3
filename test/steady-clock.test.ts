import { expect, test } from "vitest";
import { steadyClock } from "../src/daemon/steady-clock.ts";
import { FakeClock } from "./support/clock.ts";

test("the machine's time, less what it is off", async () => {
  const machine = new FakeClock("2026-01-01T00:00:00Z");
  const clock = steadyClock(machine);
  clock.follow({ agreedOffsetMs: 5_000 });
  expect(clock.nowMs()).toBe(machine.nowMs() - 5_000);
  await machine.advance(1_000);
  expect(clock.nowMs()).toBe(machine.nowMs() - 5_000);
});

test("a clock that was fast neither goes back nor stops, and is correct in the end", async () => {
  const machine = new FakeClock("2026-01-01T00:00:00Z");
  let offsetMs = 0;
  const clock = steadyClock(machine);
  clock.follow({
    get agreedOffsetMs() {
      return offsetMs;
    },
  });
  const startMs = clock.nowMs();
  offsetMs = 600_000;
  await machine.advance(10_000);
  expect(clock.nowMs() - startMs).toBe(5_000);
  await machine.advance(1_200_000);
  expect(clock.nowMs()).toBe(machine.nowMs() - 600_000);
});

test("times are whole milliseconds while a fast clock is corrected", async () => {
  const machine = new FakeClock("2026-01-01T00:00:00Z");
  let offsetMs = 0;
  const clock = steadyClock(machine);
  clock.follow({
    get agreedOffsetMs() {
      return offsetMs;
    },
  });
  const startMs = clock.nowMs();
  offsetMs = 600_000;
  const seen: number[] = [];
  for (let i = 0; i < 5; i++) {
    await machine.advance(1);
    seen.push(clock.nowMs() - startMs);
  }
  expect(seen).toEqual([0, 1, 1, 2, 2]);
});
