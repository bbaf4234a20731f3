/** `rota`, and what `check` says about plans with gaps. */
import { expect, test } from "vitest";
import { desk, plainConfig, run } from "./run.ts";

const day = 86_400_000;
const stamp = (ms: number) => `${new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, "")}Z`;

const event = (person: string, fromMs: number, toMs: number) =>
  [
    "BEGIN:VEVENT",
    `SUMMARY:${person}`,
    `DTSTART:${stamp(fromMs)}`,
    `DTEND:${stamp(toMs)}`,
    "END:VEVENT",
  ].join("\n");
const calendarOf = (...events: readonly string[]) =>
  ["BEGIN:VCALENDAR", ...events, "END:VCALENDAR", ""].join("\n");

const withRota = (rota: string) =>
  plainConfig.replace(
    /^channels:.*$/m,
    `channels: { here: { type: console }, anna: { type: console }, ben: { type: console }, oncall: { type: rota, people: [anna, ben], timezone: UTC, ${rota} } }`,
  );

test("a gap and an overlap within 30 days are mistakes of check; later ones are none", async () => {
  using place = desk();
  place.write("config.yaml", withRota("calendar: ./oncall.ics"));
  const nowMs = Date.now();
  const whole = event("anna", nowMs - day, nowMs + 31 * day);
  place.write("oncall.ics", calendarOf(whole));
  expect(await run(["check"], place)).toMatchObject({ status: 0 });

  place.write("oncall.ics", calendarOf(event("anna", nowMs - day, nowMs + 20 * day)));
  const gap = await run(["check"], place);
  expect(gap).toMatchObject({ status: 2, stdout: "" });
  const fromDay = new Date(nowMs + 20 * day).toISOString().slice(0, 10);
  expect(gap.stderr).toMatch(
    new RegExp(`config\\.yaml:\\d+:\\d+: channels\\.oncall: nobody is on duty from \\w+ ${fromDay}`),
  );

  place.write("oncall.ics", calendarOf(whole, event("ben", nowMs + 5 * day, nowMs + 6 * day)));
  const overlap = await run(["check", "--json"], place);
  expect(overlap.status).toBe(2);
  expect(overlap.json()).toMatchObject({
    problems: [
      { path: "channels.oncall", message: expect.stringMatching(/ben and anna are on duty at once/) },
    ],
  });
  const iso = (ms: number) => new Date(ms).toISOString().replace(/\.\d+/, "");
  place.write(
    "config.yaml",
    withRota(
      `calendar: ./oncall.ics, overrides: [{ person: ben, from: "${iso(nowMs + 5 * day - 60_000).replace(/:\d\dZ/, ":00Z")}", to: "${iso(nowMs + 6 * day + 60_000).replace(/:\d\dZ/, ":00Z")}" }]`,
    ),
  );
  expect(await run(["check"], place)).toMatchObject({ status: 0 });
});

test("it prints who is on duty and the next turns, whatever secrets of channels are missing", async () => {
  using place = desk();
  place.write(
    "config.yaml",
    withRota('turn: "00:00", since: 2020-01-01').replace(
      "here: { type: console }",
      `here: { type: slack, token: "\${NOT_SET}", channel: C0123456789 }`,
    ),
  );
  const today = Math.floor(Date.now() / day) * day;
  const [now, next] = ((today - Date.UTC(2020, 0, 1)) / day) % 2 === 0 ? ["anna", "ben"] : ["ben", "anna"];
  const { status, stdout } = await run(["rota"], place);
  expect(status).toBe(0);
  const lines = stdout.split("\n");
  expect(lines[0]).toBe(`oncall: ${now} is on duty`);
  expect(lines.slice(2, 4).map((line) => line.trim().split(/ +/).slice(0, 2))).toEqual([
    [now, "now"],
    [next, expect.stringMatching(/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)$/)],
  ]);
  const json = await run(["rota", "oncall", "--json"], place);
  const { rotas } = json.json() as { rotas: { turns: object[] }[] };
  expect(rotas).toMatchObject([
    { name: "oncall", timezone: "UTC", onDuty: now, messagesGoTo: now, faults: [] },
  ]);
  expect(rotas[0]!.turns.slice(0, 2)).toMatchObject([
    { people: [now] },
    { people: [next], from: new Date(today + day).toISOString() },
  ]);
});

test("in a gap it names the receivers", async () => {
  using place = desk();
  const nowMs = Date.now();
  place.write("config.yaml", withRota("calendar: ./oncall.ics"));
  place.write("oncall.ics", calendarOf(event("ben", nowMs + day, nowMs + 90 * day)));
  const { stdout, status } = await run(["rota"], place);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^oncall: nobody is on duty; messages go to ben\n/);
  expect(stdout).toMatch(/nobody is on duty from /);
});

test("an unknown rota and a mistake in one are reported", async () => {
  using place = desk();
  place.write("config.yaml", plainConfig);
  expect(await run(["rota"], place)).toMatchObject({ status: 2, stderr: expect.stringMatching(/is a rota/) });
  place.write("config.yaml", withRota('turn: "Mon 09:00"'));
  expect(await run(["rota", "oncal"], place)).toMatchObject({
    ...{ status: 2, stderr: expect.stringMatching(/no rota is called oncal; there are oncall/) },
  });
  place.write("config.yaml", withRota('turn: "Monday"'));
  expect(await run(["rota"], place)).toMatchObject({
    ...{ status: 2, stderr: expect.stringMatching(/channels\.oncall\.turn/) },
  });
});

test("a test message and an online check use the channel of the person on duty", async () => {
  using place = desk();
  place.write("config.yaml", withRota('turn: "Mon 09:00"'));
  const { stdout } = await run(["rota", "--json"], place);
  const [{ onDuty }] = (JSON.parse(stdout) as { rotas: [{ onDuty: string }] }).rotas;
  const sent = await run(["channels", "test", "oncall"], place);
  expect(sent).toMatchObject({ status: 0, stdout: expect.stringContaining("This is a test.") });
  expect(sent.stdout + sent.stderr).toContain(`${onDuty}: `);
});
