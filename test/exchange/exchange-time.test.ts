import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import { ExchangeTime } from "../../src/exchange/exchange-time.ts";
import { retryAfterMs } from "../../src/exchange/requests/retry-after.ts";
import { FakeClock } from "../support/clock.ts";

/** Answers of an exchange whose clock is `aheadMs` ahead, each after `rttMs`. */
async function hear(clock: FakeClock, time: ExchangeTime, aheadMs: number, rttsMs: readonly number[]) {
  for (const rttMs of rttsMs) {
    const sentMs = clock.elapsedMs();
    await clock.advance(rttMs / 2);
    const date = new Date(clock.nowMs() + aheadMs).toUTCString();
    await clock.advance(rttMs / 2);
    time.sample(sentMs, clock.elapsedMs(), date);
    await clock.advance(730);
  }
}

describe("the exchange's clock", () => {
  test("is ours until something says otherwise", () => {
    const time = new ExchangeTime(new FakeClock(1_000));
    expect([time.known, time.offsetMs, time.nowMs()]).toEqual([false, 0, 1_000]);
  });

  test("is found to within a fifth of a second, whatever the offset and the round trips", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: -10_000_000, max: 10_000_000 }),
        fc.array(fc.integer({ min: 2, max: 300 }), { minLength: 20, maxLength: 40 }),
        async (aheadMs, rttsMs) => {
          const clock = new FakeClock("2026-01-01T00:00:00.123Z");
          const time = new ExchangeTime(clock);
          await hear(clock, time, aheadMs, rttsMs);
          expect(Math.abs(time.offsetMs + aheadMs)).toBeLessThanOrEqual(200);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("is agreed on by three answers, or by one and this machine's clock", async () => {
    const agreedAfter = async (aheadMs: number, wrongMs: readonly number[]) => {
      const clock = new FakeClock("2026-01-01T00:00:00.400Z");
      const time = new ExchangeTime(clock);
      const agreed: [boolean, number][] = [];
      for (const ms of wrongMs) {
        await hear(clock, time, aheadMs + ms, [50]);
        agreed.push([time.agreed, Math.round(time.agreedOffsetMs / 10_000) * 10_000]);
      }
      return agreed;
    };
    expect(await agreedAfter(0, [0])).toEqual([[true, 0]]);
    // The prices of a stream are of the exchange's time: a clock that is 20 s slow takes none of them.
    expect(await agreedAfter(20_000, [0])).toEqual([[false, -20_000]]);
    expect(await agreedAfter(70_000, [0, 0, 0])).toEqual([
      [false, 0],
      [false, 0],
      [true, -70_000],
    ]);
    expect(await agreedAfter(0, [70_000, 0])).toEqual([
      [false, 0],
      [true, 0],
    ]);
  });

  test("shows no noise while both agree", async () => {
    const clock = new FakeClock("2026-01-01T00:00:00.000Z");
    const time = new ExchangeTime(clock);
    await hear(clock, time, 0, Array(40).fill(40));
    expect(time.offsetMs).toBe(0);
  });

  test("a jump of our own wall clock shows at once", async () => {
    const clock = new FakeClock("2026-01-01T00:00:00.400Z");
    const time = new ExchangeTime(clock);
    await hear(clock, time, 0, Array(20).fill(50));
    clock.setWall(clock.nowMs() + 90_000);
    expect(time.offsetMs).toBeGreaterThan(89_500);
    expect(time.offsetMs).toBeLessThan(90_500);
  });

  test("a time more than a day off is reported once and not taken, until it is believable again", async () => {
    for (const wrongMs of [-2 * 86_400_000, 400 * 86_400_000]) {
      const clock = new FakeClock("2026-01-01T00:00:00.400Z");
      const refused: number[] = [];
      const time = new ExchangeTime(clock, 86_400_000, (offsetMs) => refused.push(offsetMs));
      await hear(clock, time, wrongMs, Array(20).fill(50));
      expect([time.known, time.offsetMs]).toEqual([false, 0]);
      expect(refused).toHaveLength(1);
      expect(Math.abs(refused[0]! + wrongMs)).toBeLessThan(2_000);
      await hear(clock, time, 30_000, Array(20).fill(50));
      expect(time.refusedOffsetMs).toBeNull();
      expect(Math.abs(time.offsetMs + 30_000)).toBeLessThan(1_000);
      await hear(clock, time, wrongMs, Array(20).fill(50));
      expect(refused).toHaveLength(2);
      expect(Math.abs(time.offsetMs + 30_000)).toBeLessThan(1_000);
    }
  });

  test.each([1, -1])(
    "a time that creeps away is followed for a day in all, whatever its steps: %i",
    async (way) => {
      const clock = new FakeClock("2026-01-01T00:00:00.400Z");
      const refused: number[] = [];
      const time = new ExchangeTime(clock, 86_400_000, (offsetMs) => refused.push(offsetMs));
      let aheadMs = 0;
      const creep = async (stepMs: number, answers: number) => {
        for (let n = 0; n < answers; n++) {
          aheadMs += way * stepMs;
          await hear(clock, time, aheadMs, [50]);
          expect(Math.abs(time.offsetMs)).toBeLessThanOrEqual(86_402_000);
        }
      };
      await creep(400, 300);
      expect(Math.abs(time.offsetMs)).toBeGreaterThan(115_000);
      // Each jump is believed in the end.
      for (let hour = 1; hour < 24; hour++) {
        aheadMs = way * hour * 3_600_000;
        await hear(clock, time, aheadMs, Array(45).fill(50));
      }
      expect(Math.abs(time.offsetMs)).toBeGreaterThan(22.9 * 3_600_000);
      aheadMs = way * 86_300_000;
      await hear(clock, time, aheadMs, Array(45).fill(50));
      await creep(400, 600);
      expect(refused).toHaveLength(1);
      for (let hour = 24; hour < 30; hour++)
        await hear(clock, time, way * hour * 3_600_000 + way * 300_000, Array(45).fill(50));
      expect(Math.abs(time.offsetMs)).toBeLessThanOrEqual(86_402_000);
    },
  );

  test("one server of four that is days off is not reported, all of them are", async () => {
    const clock = new FakeClock("2026-01-01T00:00:00.400Z");
    let refused = 0;
    const time = new ExchangeTime(clock, 86_400_000, () => refused++);
    for (let i = 0; i < 40; i++) await hear(clock, time, i % 4 === 3 ? 2 * 86_400_000 : 0, [50]);
    expect([time.offsetMs, refused, time.refusedOffsetMs]).toEqual([0, 0, null]);
    await hear(clock, time, 2 * 86_400_000, Array(20).fill(50));
    expect([time.offsetMs, refused]).toEqual([0, 1]);
  });

  test("a header that is no date changes nothing", () => {
    const time = new ExchangeTime(new FakeClock(0));
    time.sample(0, 1, "yesterday");
    expect(time.known).toBe(false);
  });
});

const hourMs = 3_600_000;

/** Answers of a server whose clock is `wrongMs` ahead of the true time, after the machine's clock was set or has slept. */
interface Phase {
  readonly answers: number;
  readonly everyMs?: number;
  readonly wrongMs?: number;
  /** The share of answers that come from that server, the first ones excepted. Default: all. */
  readonly share?: number;
  /** The first answers are all of that server. */
  readonly wrongFirst?: number;
  /** The machine's wall clock is set ahead by so much. */
  readonly setMs?: number;
  /** The machine sleeps for so long: its monotonic clock stands still. */
  readonly sleptMs?: number;
  /** Largest error of the corrected clock that is allowed after each answer; absent: any. */
  readonly alwaysMs?: number;
  /** Error of the corrected clock that is expected after the last answer. Default: none. */
  readonly errorMs?: number;
}

const settled: Phase = { answers: 20 };
const quarterWrong: Phase = { answers: 900, wrongMs: hourMs, share: 0.25, alwaysMs: 1_000 };

describe("whose time is believed", () => {
  test.each<[string, number, readonly Phase[]]>([
    // Columns: case, the machine's clock ahead of the true time at first, ms, what follows.
    ["one wrong answer is not", 0, [settled, { answers: 1, wrongMs: hourMs }]],
    ["three wrong answers are not", 0, [settled, { answers: 3, wrongMs: -30_000, alwaysMs: 1_000 }]],
    ["29 s of wrong answers are not", 0, [settled, { answers: 145, everyMs: 200, wrongMs: hourMs }]],
    [
      "fifteen wrong answers in two minutes are not",
      0,
      [settled, { answers: 15, everyMs: 8_000, wrongMs: hourMs }],
    ],
    ["a quarter of the servers, often asked, is not", 0, [{ ...quarterWrong, everyMs: 200 }]],
    ["a quarter of the servers, asked now and then, is not", 0, [{ ...quarterWrong, everyMs: 4_000 }]],
    ["a quarter of the servers, with a machine 3 h fast, is not", 3 * hourMs, [settled, quarterWrong]],
    [
      "an exchange whose clock is set is, after 30 s",
      0,
      [settled, { answers: 160, everyMs: 200, wrongMs: hourMs, errorMs: hourMs }],
    ],
    [
      "an exchange whose clock is set is, where it is asked seldom",
      0,
      [settled, { answers: 16, everyMs: 8_000, wrongMs: -hourMs, errorMs: -hourMs }],
    ],
    [
      "a difference of a second is, after three answers",
      0,
      [settled, { answers: 3, wrongMs: 1_500, errorMs: 1_500 }],
    ],
    [
      "the first answer is not where the machine and the second contradict it",
      0,
      [{ answers: 2, wrongMs: 20 * hourMs, share: 0, wrongFirst: 1 }],
    ],
    [
      "the first answer is corrected by the next three where the machine is wrong too",
      3 * hourMs,
      [{ answers: 4, wrongMs: hourMs, share: 0, wrongFirst: 1 }],
    ],
    [
      "a start with three wrong answers is corrected, though a quarter stays wrong",
      3 * hourMs,
      [{ answers: 120, wrongMs: hourMs, share: 0.25, wrongFirst: 3 }],
    ],
    [
      "a machine whose clock is set follows at once",
      0,
      [settled, { answers: 0, setMs: 90_000 }, { answers: 40, alwaysMs: 1_000 }],
    ],
    [
      "a machine whose clock is put right follows at once",
      -2 * hourMs,
      [settled, { answers: 0, setMs: 2 * hourMs }, { answers: 40, alwaysMs: 1_000 }],
    ],
    [
      "a machine that has slept is right after three answers",
      0,
      [settled, { answers: 3, sleptMs: hourMs }, { answers: 40, alwaysMs: 1_000 }],
    ],
    [
      "a machine that has slept is right after three answers, 3 h fast",
      3 * hourMs,
      [settled, { answers: 3, sleptMs: hourMs }, { answers: 40, alwaysMs: 1_000 }],
    ],
  ])("%s", async (_name, aheadMs, phases) => {
    const random = seededRandom(7);
    const clock = new FakeClock("2026-01-01T00:00:00.400Z");
    const time = new ExchangeTime(clock, 86_400_000);
    let trueAheadMs = -aheadMs;
    for (const { answers, everyMs = 1_000, wrongMs = 0, share = 1, wrongFirst = 0, ...phase } of phases) {
      clock.setWall(clock.nowMs() + (phase.setMs ?? 0) + (phase.sleptMs ?? 0));
      trueAheadMs -= phase.setMs ?? 0;
      const errorMs = () => -time.agreedOffsetMs - trueAheadMs;
      for (let n = 0; n < answers; n++) {
        const isWrong = n < wrongFirst || random() < share;
        const sentMs = clock.elapsedMs();
        await clock.advance(20 + random() * 80);
        const date = new Date(clock.nowMs() + trueAheadMs + (isWrong ? wrongMs : 0)).toUTCString();
        await clock.advance(20);
        time.sample(sentMs, clock.elapsedMs(), date);
        if (phase.alwaysMs !== undefined) expect(Math.abs(errorMs())).toBeLessThanOrEqual(phase.alwaysMs);
        await clock.advance(everyMs - (clock.elapsedMs() - sentMs));
      }
      expect(Math.abs(errorMs() - (phase.errorMs ?? 0))).toBeLessThanOrEqual(1_000);
    }
  });
});

test.each([
  [null, null],
  ["2", 2_000],
  ["0", 0],
  [" 1.25 ", 1_250],
  ["0.0001", 1],
  ["-3", null],
  ["1e3", null],
  ["soon", null],
  ["", null],
  ["99999999999", 300_000],
  ["Thu, 01 Jan 2026 00:00:10 GMT", 10_000],
  ["Wed, 31 Dec 2025 23:59:00 GMT", 0],
])("Retry-After %j is %s ms", (header, expected) => {
  expect(retryAfterMs(header, Date.parse("2026-01-01T00:00:00Z"))).toBe(expected);
});
