/** Days of local time: in some zones the clocks jump over midnight, so that a day begins later. */
import { expect, test } from "vitest";
import { CronSchedule } from "../../src/collect/schedule/calendar.ts";
import { dayOf } from "../../src/rules/index.ts";
import { Harness } from "../engine/harness.ts";

const quarterMs = 900_000;
const hourMs = 3_600_000;

/** Local date and time, `2026-09-06 01:00:00`. */
function clockOf(timezone: string): (ms: number) => string {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone: timezone,
    dateStyle: "short",
    timeStyle: "medium",
  });
  return (ms) => format.format(ms);
}

/** The moments from 2020 to 2035 at which the offset of a zone changes, to the minute. */
function changesOf(clock: (ms: number) => string): number[] {
  const offset = (ms: number): number => Date.parse(`${clock(ms).replace(" ", "T")}Z`) - ms;
  const stepMs = 5 * 24 * hourMs;
  const changes: number[] = [];
  for (let ms = Date.UTC(2020, 0, 1); ms < Date.UTC(2036, 0, 1); ms += stepMs) {
    let low = ms;
    let high = ms + stepMs;
    const before = offset(low);
    if (offset(high) === before) continue;
    while (high - low > 60_000) {
      const middle = Math.floor((low + high) / 120_000) * 60_000;
      if (offset(middle) === before) low = middle;
      else high = middle;
    }
    changes.push(high);
  }
  return changes;
}

test("days end and begin right around every change of every zone's clocks", { timeout: 120_000 }, () => {
  let checked = 0;
  const late = new Set<string>();
  // Hundreds of zones change alike.
  const alike = new Set<string>();
  for (const zone of Intl.supportedValuesOf("timeZone")) {
    const clock = clockOf(zone);
    const day = dayOf(zone);
    const changes = changesOf(clock);
    const name = changes.map((ms) => `${ms} ${clock(ms)}`).join();
    if (alike.has(name)) continue;
    alike.add(name);
    for (const change of changes) {
      let last = day(change - 50 * hourMs);
      for (let ms = change - 50 * hourMs; ms < change + 50 * hourMs; ms += quarterMs) {
        const now = day(ms);
        if (now.startMs > ms || now.endMs <= ms)
          throw new Error(`${zone} ${clock(ms)}: ${JSON.stringify(now)}`);
        if (now.startMs === last.startMs) continue;
        // One day follows on the other, and begins where the date becomes another one.
        expect(now.startMs, `${zone} ${clock(ms)}`).toBe(last.endMs);
        const [date, time] = clock(now.startMs).split(" ");
        expect(date! > clock(now.startMs - 1).split(" ")[0]!, `${zone} ${clock(now.startMs)}`).toBe(true);
        if (time !== "00:00:00") late.add(`${zone} ${date} ${time}`);
        expect(now.endMs - now.startMs).toBeGreaterThanOrEqual(21 * hourMs);
        expect(now.endMs - now.startMs).toBeLessThanOrEqual(27 * hourMs);
        // Asked out of order it says the same.
        expect(dayOf(zone)(now.endMs - 1)).toEqual(now);
        last = now;
        checked++;
      }
    }
  }
  expect(checked).toBeGreaterThan(1_000);
  expect([...late]).toEqual(
    expect.arrayContaining(["America/Santiago 2026-09-06 01:00:00", "America/Havana 2026-03-08 01:00:00"]),
  );
});

test.each([
  ["America/Santiago", "2026-09-06T04:00:00Z"],
  ["America/Coyhaique", "2024-09-08T04:00:00Z"],
  ["America/Havana", "2026-03-08T05:00:00Z"],
  ["Atlantic/Azores", "2026-03-29T01:00:00Z"],
])("in %s a watch goes through the day that has no midnight, and starts in it", (timezone, text) => {
  const changeMs = Date.parse(text);
  const rules = `
rules:
  - { name: Fees, scope: wallet, when: wallet.feesToday > 3.0, severity: info, summary: f }
  - { name: Fills, scope: wallet, when: 'countOver("fill", "today") > 0', severity: info, summary: f }
`;
  const startMs = changeMs - 90 * 60_000;
  let h = new Harness({ rules, timezone, atMs: startMs });
  for (let atMs = startMs; atMs < changeMs + 26 * hourMs; atMs += 600_000) {
    h.nowMs = atMs;
    h.see({ kind: "time", atMs });
    // As many times as it is started then.
    if (Math.abs(atMs - changeMs) <= hourMs)
      h = new Harness({ rules, timezone, atMs, remembered: h.remembered, reloaded: true });
  }
  expect(h.nowMs).toBeGreaterThan(changeMs + 25 * hourMs);
  const next = new CronSchedule("0 0 0 * * *", timezone).next(changeMs - 1);
  expect(next).toBe(dayOf(timezone)(changeMs).startMs);
});
