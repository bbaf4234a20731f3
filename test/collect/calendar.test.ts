/** Cron schedules in time zones, on ordinary days and on the two that are not. */
import cron from "node-cron";
import { describe, expect, test } from "vitest";
import { CronSchedule, cronProblem } from "../../src/collect/schedule/calendar.ts";
import { scheduleMs } from "../../src/collect/settings.ts";

function times(expression: string, zone: string, from: string, count: number): string[] {
  const schedule = new CronSchedule(expression, zone);
  const found: string[] = [];
  let at: number | null = Date.parse(from);
  while (found.length < count && at !== null) {
    at = schedule.next(at);
    found.push(at === null ? "never" : new Date(at).toISOString().replace(".000Z", "Z"));
  }
  return found;
}

test.each([
  ["0 0 8 * * *", "UTC", "2026-06-01T08:00:00Z", ["2026-06-02T08:00:00Z", "2026-06-03T08:00:00Z"]],
  ["0 0 8 * * *", "UTC", "2026-06-01T07:59:59.999Z", ["2026-06-01T08:00:00Z"]],
  ["*/15 * * * * *", "UTC", "2026-12-31T23:59:50Z", ["2027-01-01T00:00:00Z", "2027-01-01T00:00:15Z"]],
  ["0 30 9 * * 1-5", "America/New_York", "2026-06-05T14:00:00Z", ["2026-06-08T13:30:00Z"]],
  ["0 0 0 1 * *", "Asia/Kolkata", "2026-06-15T00:00:00Z", ["2026-06-30T18:30:00Z"]],
  ["0 0 12 29 2 *", "UTC", "2026-01-01T00:00:00Z", ["2028-02-29T12:00:00Z"]],
  ["5 8 * * *", "UTC", "2026-06-01T00:00:00Z", ["2026-06-01T08:05:00Z"]],
] as const)("%s in %s after %s", (expression, zone, from, wanted) => {
  expect(times(expression, zone, from, wanted.length)).toEqual(wanted);
});

describe("the day that loses an hour", () => {
  test("a time that is jumped over runs when the clocks have jumped, not never", () => {
    expect(times("0 30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3)).toEqual([
      "2026-03-28T01:30:00Z",
      "2026-03-29T01:00:00Z",
      "2026-03-30T00:30:00Z",
    ]);
  });
  test("a schedule of every half hour goes on every half hour", () => {
    expect(times("0 */30 * * * *", "Europe/Berlin", "2026-03-29T00:10:00Z", 3)).toEqual([
      "2026-03-29T00:30:00Z",
      "2026-03-29T01:00:00Z",
      "2026-03-29T01:30:00Z",
    ]);
  });
});

describe("the day that has an hour twice", () => {
  test("a time that comes twice runs once", () => {
    expect(times("0 30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2)).toEqual([
      "2026-10-25T00:30:00Z",
      "2026-10-26T01:30:00Z",
    ]);
  });
  test("a schedule of every half hour goes through both", () => {
    expect(times("0 */30 * * * *", "Europe/Berlin", "2026-10-25T00:10:00Z", 4)).toEqual([
      "2026-10-25T00:30:00Z",
      "2026-10-25T01:00:00Z",
      "2026-10-25T01:30:00Z",
      "2026-10-25T02:00:00Z",
    ]);
  });
});

test("a schedule that is asked again and again leaves nothing behind", () => {
  const before = cron.getTasks().size;
  const schedule = { kind: "calendar", cron: "0 0 9 * * 1-5", timezone: "Europe/Berlin" } as const;
  const monday = Date.parse("2026-06-01T00:00:00Z");
  for (let i = 0; i < 3; i++) expect(scheduleMs(schedule, monday)).toBe(86_400_000);
  expect(cron.getTasks().size).toBe(before);
});

test.each([
  ["* * *", "UTC", /not a cron expression/],
  ["0 0 25 * * *", "UTC", /not a cron expression/],
  ["0 0 9 1 jan mon-frifrifrifrifrifri", "UTC", /names nine letters/],
  ["0 0-99999999999 * * * *", "UTC", /at most four digits/],
  ["*/0 * * * * *", "UTC", /steps begin at 1/],
  ["@daily", "UTC", /six parts/],
  ["0 0 8 * * *", "Europe/Nowhere", /no time zone/],
])("%s in %s is refused", (expression, zone, problem) => {
  expect(cronProblem(expression, zone)).toMatch(problem);
  expect(() => new CronSchedule(expression, zone)).toThrow(problem);
});
