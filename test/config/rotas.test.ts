/** Rotas in a configuration: people, zones and calendars, and the place of each mistake. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { onDuty } from "../../src/channels/rota/plan.ts";
import { settingsFromText } from "../../src/daemon/settings.ts";
import { type ConfigFolder, configFolder, rest } from "./config-folder.ts";

const page = readFileSync(new URL("../../docs/channels/rota.md", import.meta.url), "utf8");
const calendar = /```ics\n(.*?)```/s.exec(page)![1]!;

/** A configuration with a rota `oncall` of the channels anna and ben. */
const config = (oncall: string) =>
  rest.replace(
    /^channels:.*$/m,
    `channels:\n  anna: { type: console }\n  ben: { type: console }\n  oncall: { type: rota, ${oncall} }`,
  );
const read = (oncall: string, at: ConfigFolder) =>
  settingsFromText(config(oncall), { file: "config.yaml", folder: at.path, env: {} });

function problems(oncall: string, at: ConfigFolder): string[] {
  const result = read(oncall, at);
  if ("settings" in result) return [];
  return result.problems.map(({ file, line, path, message, nearest }) =>
    [`${file.replace(`${at.path}/`, "")}:${line}`, path, message, nearest].filter(Boolean).join(" | "),
  );
}

test("the calendar of the page names who is on duty, a week each", () => {
  using at = configFolder();
  at.write("oncall.ics", calendar);
  const result = read("people: [anna, ben], timezone: Europe/Berlin, calendar: ./oncall.ics", at);
  if ("problems" in result) throw new Error(result.problems.map(({ message }) => message).join("\n"));
  const plan = result.settings.rotas.oncall!;
  const times = ["2026-11-30T08:00Z", "2026-12-07T07:59Z", "2026-12-07T08:00Z", "2027-06-07T07:00Z"];
  expect(times.map((time) => onDuty(plan, Date.parse(time)))).toEqual(["anna", "anna", "ben", "ben"]);
  expect(onDuty(plan, Date.parse("2026-11-30T07:59Z"))).toBe(null);
});

test.each([
  ["people: [anna, bem], turn: 'Mon 09:00'", /channels\.oncall\.people\[1\].*"bem" is no channel.*ben$/],
  ["people: [anna, oncall], turn: 'Mon 09:00'", /people\[1\].*"oncall" is no channel/],
  ["people: [anna], turn: 'Mon 09:00', timezone: Europe/Berlim", /timezone.*time zone.*Europe\/Berlin$/],
  [
    "people: [anna], turn: 'Mon 09:00', overrides: [{ person: ben, from: 2026-01-01, to: 2026-01-02 }]",
    /overrides\[0\]\.person.*"ben" is no person of this rota/,
  ],
  [
    "people: [anna], turn: 'Mon 09:00', overrides: [{ person: anna, from: 2026-01-02, to: 2026-01-02 }]",
    /overrides\[0\]\.to.*after from/,
  ],
  ["people: [anna], calendar: ./none.ics", /channels\.oncall\.calendar.*none\.ics does not exist/],
  ["people: [anna], turn: 'Mon 09:00', templates: { title: x }", /templates.*channel of whoever is on duty/],
])("%s is a mistake at its place", (oncall, expected) => {
  using at = configFolder();
  expect(problems(oncall, at)).toEqual([expect.stringMatching(expected)]);
});

test("a mistake in a calendar is reported with the line of its file", () => {
  using at = configFolder();
  at.write("oncall.ics", calendar.replace("SUMMARY:ben", "SUMMARY:zoe").replace("INTERVAL=2", "BYMONTH=2"));
  expect(problems("people: [anna, ben], timezone: Europe/Berlin, calendar: ./oncall.ics", at)).toEqual([
    "oncall.ics:9 | RRULE: BYMONTH is not understood",
    "oncall.ics:13 | SUMMARY names nobody of people (anna, ben)",
  ]);
});

test("a digest to a rota of which a person takes alerts alone is refused", () => {
  using at = configFolder();
  const text = config("people: [anna, ben], turn: 'Mon 09:00'");
  const key = "k".repeat(32);
  const problemsOf = (whole: string) => {
    const result = settingsFromText(whole, { file: "config.yaml", folder: at.path, env: {} });
    return "problems" in result ? result.problems.map(({ path, message }) => `${path}: ${message}`) : [];
  };
  const digest = "digest: { receivers: [oncall] }\n";
  expect(problemsOf(text + digest)).toEqual([]);
  const pager = text.replace("ben: { type: console }", `ben: { type: pagerduty, routingKey: ${key} }`);
  expect(problemsOf(pager + digest)).toEqual([
    "digest.receivers[0]: oncall leads to ben, which takes alerts and no digest",
  ]);
});
