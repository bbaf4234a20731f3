/** Plans of rotas: turns and calendars over changes of the clocks, overrides, gaps, overlaps; what a calendar may hold. */
import { describe, expect, test } from "vitest";
import { readCalendar } from "../../src/channels/rota/calendar.ts";
import {
  addressee,
  dutyPeriods,
  nextChangeMs,
  onDuty,
  planFaults,
  planOf,
  type RotaPlan,
} from "../../src/channels/rota/plan.ts";
import { rotaSettings } from "../../src/channels/rota/settings.ts";

const berlin = "Europe/Berlin";
const at = (text: string) => Date.parse(text);
const day = 86_400_000;

function plan(settings: object, calendar?: string): RotaPlan {
  const whole = rotaSettings.parse({
    ...{ type: "rota", people: ["anna", "ben"], ...(calendar === undefined ? {} : { calendar: "x.ics" }) },
    ...settings,
  });
  const read = calendar === undefined ? undefined : readCalendar(calendar, whole.people, berlin);
  expect(read?.mistakes ?? []).toEqual([]);
  return planOf(whole, berlin, read?.events);
}

/** `anna 2026-03-23T08:00Z`, for each duty period. */
const describePeriods = (of: RotaPlan, from: string, to: string) =>
  dutyPeriods(of, at(from), at(to)).map(
    ({ people, fromMs }) =>
      `${people.join("+") || "nobody"} ${new Date(fromMs).toISOString().replace(":00.000", "")}`,
  );

const event = (lines: readonly string[]) => ["BEGIN:VEVENT", ...lines, "END:VEVENT"];
const calendarOf = (...events: readonly (readonly string[])[]) =>
  ["BEGIN:VCALENDAR", "VERSION:2.0", ...events.flatMap(event), "END:VCALENDAR", ""].join("\r\n");
const weekly = (person: string, date: string, end: string) => [
  `SUMMARY:${person}`,
  `DTSTART;TZID=Europe/Berlin:${date}T090000`,
  `DTEND;TZID=Europe/Berlin:${end}T090000`,
  "RRULE:FREQ=WEEKLY;INTERVAL=2",
];

describe("turns", () => {
  test("begin at the same local time before and after the clocks change, in spring and in autumn", () => {
    const of = plan({ turn: "Mon 09:00", since: "2026-03-16" });
    expect(describePeriods(of, "2026-03-20T00:00Z", "2026-04-07T00:00Z")).toEqual([
      "anna 2026-03-20T00:00Z",
      "ben 2026-03-23T08:00Z",
      "anna 2026-03-30T07:00Z",
      "ben 2026-04-06T07:00Z",
    ]);
    expect(
      describePeriods(of, "2026-10-20T00:00Z", "2026-11-03T00:00Z").map((one) => one.split(" ")[1]),
    ).toEqual([...["2026-10-20T00:00Z", "2026-10-26T08:00Z", "2026-11-02T08:00Z"]]);
  });

  test("at a skipped local time begin with the clock change, at a repeated one with the first", () => {
    const of = plan({ turn: "Sun 02:30", since: "2026-03-01" });
    expect(nextChangeMs(of, at("2026-03-28T00:00Z"))).toBe(at("2026-03-29T01:00Z"));
    expect(nextChangeMs(of, at("2026-10-24T00:00Z"))).toBe(at("2026-10-25T00:30Z"));
  });

  test("each day, and from the last moment of one to the first of the next without a hole", () => {
    const of = plan({ turn: "20:15", since: "2026-03-27" });
    const ms = at("2026-03-29T18:15Z");
    expect([onDuty(of, at("2026-03-27T19:15Z")), onDuty(of, ms - 1), onDuty(of, ms)]).toEqual([
      "anna",
      "ben",
      "anna",
    ]);
    for (let from = at("2026-01-01T00:00Z"); from < at("2027-01-01T00:00Z"); from += 30 * day)
      expect(planFaults(of, from)).toEqual([]);
  });

  test("without a first day go by the weeks since 1970, before that day too", () => {
    const of = plan({ turn: "Mon 00:00", timezone: "UTC" });
    expect(onDuty(of, at("1970-01-05T00:00Z"))).toBe("anna");
    expect(onDuty(of, at("1970-01-04T23:59Z"))).toBe("ben");
    expect(onDuty(of, at("1970-01-12T00:00Z"))).toBe("ben");
  });

  test("one person has all of them", () => {
    const of = plan({ people: ["anna"], turn: "Mon 09:00" });
    expect(nextChangeMs(of, at("2026-03-20T00:00Z"))).toBe(null);
    expect(onDuty(of, at("2026-03-20T00:00Z"))).toBe("anna");
  });
});

describe("overrides", () => {
  test("take precedence over turns, in local time, as days, or as instants", () => {
    const of = plan({
      ...{ turn: "Mon 09:00", since: "2026-03-16", people: ["anna", "ben", "cleo"] },
      overrides: [
        { person: "cleo", from: "2026-03-24", to: "2026-03-25" },
        { person: "cleo", from: "2026-03-27 12:00", to: "2026-03-27T13:00:00Z" },
      ],
    });
    expect(describePeriods(of, "2026-03-23T08:00Z", "2026-03-28T00:00Z")).toEqual([
      "ben 2026-03-23T08:00Z",
      "cleo 2026-03-23T23:00Z",
      "ben 2026-03-24T23:00Z",
      "cleo 2026-03-27T11:00Z",
      "ben 2026-03-27T13:00Z",
    ]);
  });

  test("two people at once are a fault, one person twice is none", () => {
    const two = (second: string) =>
      plan({
        turn: "Mon 09:00",
        overrides: [
          { person: "anna", from: "2026-03-24", to: "2026-03-26" },
          { person: second, from: "2026-03-25", to: "2026-03-27" },
        ],
      });
    expect(planFaults(two("anna"), at("2026-03-23T00:00Z"))).toEqual([]);
    expect(planFaults(two("ben"), at("2026-03-23T00:00Z"))).toEqual([
      { people: ["ben", "anna"], fromMs: at("2026-03-24T23:00Z"), toMs: at("2026-03-25T23:00Z") },
    ]);
  });
});

describe("a calendar", () => {
  test("of weekly shifts meets itself over a change of the clocks", () => {
    const of = plan(
      {},
      calendarOf(weekly("anna", "20260316", "20260323"), weekly("ben", "20260323", "20260330")),
    );
    expect(describePeriods(of, "2026-03-20T00:00Z", "2026-04-07T00:00Z")).toEqual([
      "anna 2026-03-20T00:00Z",
      "ben 2026-03-23T08:00Z",
      "anna 2026-03-30T07:00Z",
      "ben 2026-04-06T07:00Z",
    ]);
    expect(planFaults(of, at("2026-03-20T00:00Z"))).toEqual([]);
    expect(onDuty(of, at("2036-03-20T00:00Z"))).toMatch(/anna|ben/);
  });

  test("has gaps and overlaps within the next 30 days, and none that lie further away", () => {
    const of = plan(
      {},
      calendarOf(
        ["SUMMARY:anna", "DTSTART:20260301T000000Z", "DTEND:20260310T000000Z"],
        ["SUMMARY:ben", "DTSTART:20260309T120000Z", "DTEND:20260320T000000Z"],
        ["SUMMARY:anna", "DTSTART:20260321T000000Z", "DTEND:20260410T000000Z"],
      ),
    );
    expect(planFaults(of, at("2026-03-02T00:00Z"))).toEqual([
      { people: ["ben", "anna"], fromMs: at("2026-03-09T12:00Z"), toMs: at("2026-03-10T00:00Z") },
      { people: [], fromMs: at("2026-03-20T00:00Z"), toMs: at("2026-03-21T00:00Z") },
    ]);
    // In a gap the next person gets the messages, after the last shift the last person.
    expect([onDuty(of, at("2026-03-20T06:00Z")), addressee(of, at("2026-03-20T06:00Z"))]).toEqual([
      null,
      "anna",
    ]);
    expect(addressee(of, at("2026-04-11T00:00Z"))).toBe("anna");
    expect(addressee(of, at("2027-04-11T00:00Z"))).toBe("anna");
  });

  test.each<[string, readonly string[], object]>([
    ["one", ["DTSTART:20260310T000000Z", "DTEND:20260320T000000Z"], {}],
    ["so many", ["DTSTART:20260301T000000Z", "DTEND:20260302T000000Z", "RRULE:FREQ=WEEKLY;COUNT=3"], {}],
    [
      "until",
      ["DTSTART:20260301T000000Z", "DTEND:20260302T000000Z", "RRULE:FREQ=DAILY;UNTIL=20260316T000000Z"],
      {},
    ],
    [
      "an override",
      ["DTSTART:20260201T000000Z", "DTEND:20260202T000000Z"],
      { overrides: [{ person: "ben", from: "2026-03-11", to: "2026-03-12" }] },
    ],
  ])("long after the last shift (%s) messages go to who had it", (_what, times, more) => {
    const anna = ["SUMMARY:anna", "DTSTART:20260301T000000Z", "DTEND:20260310T000000Z"];
    const of = plan(more, calendarOf(["SUMMARY:ben", ...times], anna));
    for (const time of ["2026-03-25T00:00Z", "2026-06-25T00:00Z", "2030-01-01T00:00Z"])
      expect(addressee(of, at(time))).toBe("ben");
  });

  test("takes whole days in the rota's zone, the last one not included, and folded lines", () => {
    const of = plan(
      {},
      [
        ...["BEGIN:VCALENDAR", "PRODID:-//x//y", "VERSION:2.0", "X-WR-CALNAME:on call", "BEGIN:VTIMEZONE"],
        ...["TZID:Europe/Berlin", "BEGIN:STANDARD", "DTSTART:19701025T030000"],
        ...["RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU", "END:STANDARD", "END:VTIMEZONE", "BEGIN:VEVENT"],
        ...["UID:1", "SUMMARY:an", " na", "DESCRIPTION:BEGIN:VEVENT\\nSUMMARY:ben", "STATUS:CONFIRMED"],
        ...["DTSTART;VALUE=DATE:20260328", "DTEND;VALUE=DATE:20260330", "BEGIN:VALARM", "TRIGGER:-PT1H"],
        ...["END:VALARM", "END:VEVENT", "BEGIN:VEVENT", "SUMMARY:ben", "DTSTART;VALUE=DATE:20260330"],
        ...["END:VEVENT", "END:VCALENDAR"],
      ].join("\n"),
    );
    expect(describePeriods(of, "2026-03-27T00:00Z", "2026-04-01T00:00Z")).toEqual([
      "nobody 2026-03-27T00:00Z",
      "anna 2026-03-27T23:00Z",
      "ben 2026-03-29T22:00Z",
      "nobody 2026-03-30T22:00Z",
    ]);
  });

  test.each([
    ["COUNT=3", 3],
    ["COUNT=1;INTERVAL=1", 1],
    ["UNTIL=20260303T000000Z", 3],
    ["UNTIL=20260302T235959Z", 2],
  ])("a rule with %s ends after %i days", (limit, days) => {
    const shift = ["SUMMARY:anna", "DTSTART:20260301T000000Z", "DTEND:20260302T000000Z"];
    const of = plan({}, calendarOf([...shift, `RRULE:FREQ=DAILY;${limit}`]));
    const [first] = dutyPeriods(of, at("2026-03-01T00:00Z"), at("2026-04-01T00:00Z"));
    expect(first).toMatchObject({ people: ["anna"], toMs: at("2026-03-01T00:00Z") + days * day });
  });

  const good = ["SUMMARY:anna", "DTSTART:20260301T000000Z", "DTEND:20260302T000000Z"];
  test.each([
    ["a person whom the rota does not have", ["SUMMARY:zoe", ...good.slice(1)], 4, /names nobody/],
    ["nobody", good.slice(1), 3, /without SUMMARY/],
    ["no beginning", [good[0]!, good[2]!], 3, /without DTSTART/],
    ["no end", good.slice(0, 2), 5, /needs DTEND/],
    ["an end before its beginning", [...good.slice(0, 2), "DTEND:20260301T000000Z"], 6, /after DTSTART/],
    ["a day and a time", [...good.slice(0, 2), "DTEND;VALUE=DATE:20260302"], 6, /both/],
    [
      "a time without a zone",
      [good[0]!, "DTSTART:20260301T000000", "DTEND:20260302T000000"],
      5,
      /has no zone/,
    ],
    ["a zone that is none", [good[0]!, "DTSTART;TZID=W. Europe:20260301T000000", good[2]!], 5, /TZID/],
    ["a date that is none", [good[0]!, "DTSTART:20260231T000000Z", good[2]!], 5, /expected a time/],
    ["an exception", [...good, "EXDATE:20260301T000000Z"], 7, /EXDATE is not understood/],
    ["a replaced shift", [...good, "RECURRENCE-ID:20260301T000000Z"], 7, /RECURRENCE-ID/],
    ["a duration", [...good.slice(0, 2), "DURATION:P1D"], 6, /DURATION/],
    ["a cancelled event", [...good, "STATUS:CANCELLED"], 7, /CANCELLED/],
    ["two summaries", [...good, "SUMMARY:ben"], 7, /twice/],
    ["months", [...good, "RRULE:FREQ=MONTHLY"], 7, /DAILY or WEEKLY/],
    ["two weekdays", [...good, "RRULE:FREQ=WEEKLY;BYDAY=SU,MO"], 7, /BYDAY/],
    ["another weekday", [...good, "RRULE:FREQ=WEEKLY;BYDAY=MO"], 7, /BYDAY/],
    ["both limits", [...good, "RRULE:FREQ=DAILY;COUNT=2;UNTIL=20260401T000000Z"], 7, /either/],
    ["an end in local time", [...good, "RRULE:FREQ=DAILY;UNTIL=20260401T000000"], 7, /UNTIL/],
    ["no interval", [...good, "RRULE:FREQ=DAILY;INTERVAL=0"], 7, /INTERVAL/],
    ["a part of a rule", [...good, "RRULE:FREQ=DAILY;BYHOUR=9"], 7, /BYHOUR is not understood/],
    ["no property", [...good, "hello"], 7, /NAME:value/],
    [
      "shifts that overlap themselves",
      [good[0]!, "DTSTART:10000101T000000Z", "DTEND:99990101T000000Z", "RRULE:FREQ=DAILY"],
      7,
      /lasts longer than the time between/,
    ],
  ])("with %s is a mistake that names the line", (_what, lines, line, message) => {
    const { mistakes } = readCalendar(calendarOf(lines), ["anna", "ben"], berlin);
    expect(mistakes).toEqual([{ line, message: expect.stringMatching(message) }]);
  });

  test.each([
    ["", 1, /no event/],
    ["BEGIN:VCALENDAR\nEND:VCALENDAR\n", 1, /no event/],
    ["BEGIN:VCALENDAR\nBEGIN:VTODO\nEND:VTODO\nEND:VCALENDAR\n", 2, /VTODO/],
    ["BEGIN:VCARD\nEND:VCARD\n", 1, /expected BEGIN:VCALENDAR/],
    ["BEGIN:VCALENDAR\nVERSION:1.0\nEND:VCALENDAR\n", 2, /VERSION/],
    [calendarOf(good).replace("VERSION:2.0", "METHOD:CANCEL"), 2, /CANCEL/],
    [`${calendarOf(good).replace("END:VCALENDAR\r\n", "")}`, 7, /END:VCALENDAR is missing/],
    ["BEGIN:VCALENDAR\nEND:VEVENT\n", 2, /expected END:VCALENDAR/],
  ])("that is none is told: %j", (text, line, message) => {
    const [first] = readCalendar(text, ["anna", "ben"], berlin).mistakes;
    expect(first).toEqual({ line, message: expect.stringMatching(message) });
  });

  test.each([
    ["RRULE:FREQ=DAILY;COUNT=2", 200, /200 events that repeat/],
    ["DESCRIPTION:once", 5_000, /5000 events/],
  ])("has no more events with %s than its bound", (line, most, message) => {
    const of = (count: number) =>
      readCalendar(calendarOf(...Array(count).fill([...good, line])), ["anna"], "UTC");
    expect(of(most).mistakes).toEqual([]);
    expect(of(most + 1).mistakes).toEqual([{ line: 3 + most * 6, message: expect.stringMatching(message) }]);
  });

  test("reports contents in printable lines of bounded length", () => {
    const rest = `\u001b[2J${"x".repeat(100_000)}`;
    for (const line of [`STATUS:${rest}`, `RRULE:${rest}`, `DTSTART;TZID=${rest}:20260301T000000`]) {
      const lines = [good[0]!, line, ...good.slice(line.startsWith("DTSTART") ? 2 : 1)];
      const [first] = readCalendar(calendarOf(lines), ["anna"], berlin).mistakes;
      expect(first?.message.length).toBeLessThanOrEqual(300);
      expect(first?.message).not.toContain("\u001b");
    }
  });

  test("reads any text to its end, within a bound of mistakes", () => {
    const text = `BEGIN:VCALENDAR\n${"hello\n".repeat(1_000)}END:VCALENDAR\n`;
    expect(readCalendar(text, ["anna"], berlin).mistakes.length).toBe(20);
  });
});

test.each([
  [{}, /either turn/],
  [{ turn: "Mon 09:00", calendar: "x.ics" }, /either turn/],
  [{ turn: "Monday 9am" }, /weekday and a time/],
  [{ turn: "Mon 24:00" }, /weekday and a time/],
  [{ turn: "Mon 09:00", since: "2026-02-31" }, /expected a date/],
  [{ turn: "Mon 09:00", people: [] }, /./],
  [{ turn: "Mon 09:00", people: ["anna", "anna"] }, /once/],
  [{ calendar: "x.ics", since: "2026-03-01" }, /own dates/],
  [{ turn: "Mon 09:00", overrides: [{ person: "anna", from: "tomorrow", to: "2026-03-01" }] }, /local time/],
])("settings %j are refused", (settings, message) => {
  const read = rotaSettings.safeParse({ type: "rota", people: ["anna", "ben"], ...settings });
  expect(read.error?.issues.map((one) => one.message).join("\n")).toMatch(message);
});
