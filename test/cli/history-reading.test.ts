/** Without a daemon, reading works from the database; changes do not. */
import path from "node:path";
import { describe, expect, test } from "vitest";
import { changes } from "../../src/domain/stored/changes.ts";
import { openStore } from "../../src/history/index.ts";
import { acknowledgement, alert, alertChange, event, message, owedItem, t0 } from "../history/examples.ts";
import { desk, plainConfig, run } from "./run.ts";

const key = "notification:event:312:4:0:1:2";
const hint = "the daemon is not running; this is what it left in its database\n";

/** A folder with a configuration, and a database that a daemon left. */
async function left() {
  const place = desk();
  place.write("config.yaml", plainConfig);
  const store = openStore({ path: path.join(place.folder, "perpwatch") });
  await store.commit([
    changes({
      alerts: [
        alert(),
        alert({
          id: 2,
          rule: "MarginHigh",
          subject: "other/0.0",
          wallet: "other",
          severity: "warning",
          firedAtMs: t0 + 5,
        }),
        alert({ id: 3, state: "ended", ending: "closed", endedAtMs: t0 + 60_000, firedAtMs: t0 + 9 }),
        alert({
          ...{
            id: 4,
            rule: "Fell",
            wallet: null,
            severity: "warning",
            worstSeverity: "critical",
            state: "ended",
          },
          ...{ ending: "recovered", endedAtMs: t0 + 60_000, summary: "SOL is 17 % from liquidation" },
          worst: { severity: "critical", value: 0.0257, summary: "SOL is 2.57 % from liquidation", atMs: t0 },
        }),
        alert({ id: 5, rule: "Falls", wallet: null, severity: "info", worstSeverity: "warning" }),
      ],
      alertChanges: [alertChange()],
      deliveryItems: [owedItem({ status: "sealed", messageId: message().id })],
      messages: [message({ attempts: 1, lastFailure: "unreachable" })],
      events: [event({ key }), event({ key: "notification:event:9:9:9:9:9", happenedMs: t0 })],
      acknowledgements: [acknowledgement({ key: "notification:event:9:9:9:9:9", status: "confirmed" })],
    }),
  ]);
  await store.close();
  return place;
}

test("status shows the alerts that were firing and the pending deliveries", async () => {
  using place = await left();
  const people = await run(["status"], place);
  expect(people).toMatchObject({ status: 1, stderr: hint });
  expect(people.stdout).toContain("outbox: 1 item owed, 1 message not delivered (unreachable)");
  expect(people.stdout).toMatch(/Firing when it stopped\n.*\n +1 +critical .*\n +2 +warning/);
  const json = await run(["status", "--json"], place);
  expect(json.json()).toMatchObject({ running: false, owed: 1, firing: [{ id: 5 }, { id: 2 }, { id: 1 }] });
});

describe("alerts", () => {
  const cases: [args: string[], ids: number[]][] = [
    [[], [5, 4, 3, 2, 1]],
    [["--firing"], [5, 2, 1]],
    [
      ["--wallet", "main"],
      [3, 1],
    ],
    [["--rule", "MarginHigh"], [2]],
    [["--severity", "critical", "--firing"], [1]],
    [["--limit", "1"], [5]],
    [
      ["--severity", "critical"],
      [4, 3, 1],
    ],
    [
      ["--severity", "warning"],
      [5, 2],
    ],
    [["--severity", "warning", "--firing"], [2]],
    [["--severity", "info", "--firing"], [5]],
    [["--severity", "critical", "--limit", "1"], [4]],
  ];
  test("narrow as with a daemon", async () => {
    using place = await left();
    for (const [args, ids] of cases) {
      const { alerts } = (await run(["alerts", ...args, "--json"], place)).json() as {
        alerts: { id: number }[];
      };
      expect(
        alerts.map(({ id }) => id),
        args.join(" "),
      ).toEqual(ids);
    }
  });

  test("of a name that nothing has there are none, and it is said", async () => {
    using place = await left();
    const { status, stdout, stderr } = await run(["alerts", "--rule", "Blnd", "--wallet", "mian"], place);
    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: "No alerts.\n",
      stderr:
        `${hint}warning: no rule is called Blnd (did you mean Blind?); it may have been removed\n` +
        "warning: no wallet is called mian (did you mean main?); it may have been removed\n",
    });
    // The rule was removed, but is in history.
    expect((await run(["alerts", "--rule", "MarginHigh"], place)).stderr).toBe(hint);
  });

  test("show their worst text", async () => {
    using place = await left();
    const { stdout } = await run(["alerts"], { ...place, columns: 150 });
    expect(stdout).toMatch(/ 4 .* critical → warning +resolved +Fell .*SOL is 2\.57 % from liquidation\n/);
    const story = (await run(["alerts", "show", "4"], place)).stdout;
    expect(story).toMatch(/^#4 critical → warning: SOL is 2\.57 % from liquidation\n/);
    expect(story).toContain("\nat its end: SOL is 17 % from liquidation\n");
    expect(stdout).toMatch(/ 5 .* info \(was warning\) +firing.* +Falls /);
    expect((await run(["alerts", "show", "3"], place)).stdout).toContain("#3 critical: ");
  });

  test("have their story", async () => {
    using place = await left();
    const shown = await run(["alerts", "show", "1"], { ...place, columns: 150 });
    // Control characters in texts do not reach the terminal.
    expect(shown.stdout).toContain(String.raw`“ünï” \u0000 text`);
    expect(shown.stdout).toMatch(/FIRING critical +SOL is 3 % from liquidation +mark price: 101.25/);
    expect(shown.stdout).toMatch(/^discord +fired .*trying again .*: unreachable +1 attempt/m);
    expect(await run(["alerts", "show", "99"], place)).toMatchObject({
      status: 1,
      stderr: `${hint}perpwatch: there is no alert 99\n`,
    });
  });
});

test("notifications are listed", async () => {
  using place = await left();
  const all = (await run(["notifications", "--json"], place)).json();
  expect(all).toMatchObject({
    running: false,
    notifications: [{ acknowledgement: { status: "confirmed" } }, { event: { key } }],
  });
  const open = (await run(["notifications", "--unacked", "--json"], place)).json() as {
    notifications: unknown[];
  };
  expect(open.notifications).toMatchObject([{ event: { key } }]);
});

describe("commands that need a daemon exit 1 with that reason", () => {
  const cases = [
    [["alerts", "ack", "1"]],
    [["notifications", "ack", key, "--wallet", "main"]],
    [["notifications", "ack", key]],
  ];
  test.each(cases)("%j", async (args) => {
    using place = desk();
    place.write("config.yaml", plainConfig);
    const ran = await run([...args, "--json"], place);
    expect(ran.status).toBe(1);
    expect(ran.json()).toEqual({
      error: expect.stringMatching(
        new RegExp(
          `^the daemon is not running \\(nobody answers at ${path.join(place.folder, "perpwatch.sock")}\\): start it with node \\S+main\\.ts start$`,
        ),
      ) as string,
      running: false,
    });
  });
});

test("a database that is not there, or not ours, is said and left alone", async () => {
  using place = desk();
  place.write("config.yaml", plainConfig);
  const missing = await run(["alerts"], place);
  expect(missing).toMatchObject({ status: 1, stdout: "" });
  expect(missing.stderr).toMatch(
    /^perpwatch: the daemon is not running, and its database cannot be read: .*there is no history yet/,
  );
  place.write("perpwatch", "not a database, but long enough to look like a file of some kind\n".repeat(20));
  const foreign = await run(["status"], place);
  expect(foreign.stderr).toMatch(/cannot be read: .*is not a database/);
  expect(foreign.stderr).not.toMatch(/^\s+at /m);
});
