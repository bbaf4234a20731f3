/** The demo, used from another terminal in the same folder. */
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { announceDemo, findDemo } from "../../src/cli/start/demo-place.ts";
import { followLink } from "../support/page.ts";
import { startProgram } from "../support/program.ts";
import { desk, plainConfig, run } from "./run.ts";

test("commands without a configuration find the demo, as its messages say", { timeout: 90_000 }, async () => {
  using place = desk();
  await using demo = startProgram(["start"], place);
  const database = /database +(\S+)/.exec(await demo.line((line) => line.includes("database ")))![1]!;
  const watching = JSON.parse(await demo.line((line) => line.includes("watching main"))) as { time: string };
  const status = await run(["status", "--json"], place);
  expect(status.json()).toMatchObject({ running: true, watch: { wallets: [{ name: "main" }, {}, {}] } });
  expect(status.stderr).toMatch(/^there is no config\.yaml here; this is about the demo/);
  expect((await run(["check"], place)).stdout).toMatch(/a daemon runs with it/);

  // The page opens by the link that it prints, and by one that is asked for from the other terminal.
  const printed = await demo.line((line) => line.includes("/#login="));
  const asked = (await run(["page"], place)).stdout;
  const { origin } = new URL(printed.trim());
  expect((await fetch(`${origin}/api/v1/status`)).status).toBe(401);
  expect(await (await fetch(origin)).text()).toContain('<div id="login">');
  for (const link of [printed, asked]) {
    const headers = await followLink(link.trim());
    expect((await fetch(`${origin}/api/v1/status`, { headers })).status).toBe(200);
    await expect(followLink(link.trim())).rejects.toThrow("the link was refused: 401");
  }
  expect(demo.stderr.join()).not.toContain("#login=");

  const hint = /To stop the reminders[^:]*: (.*)/;
  const typed = hint.exec(await demo.line((line) => hint.test(line)))![1]!.split(" ");
  expect(typed.slice(2)).toEqual(["alerts", "ack", expect.stringMatching(/^\d+$/) as string]);
  const acknowledged = await run(typed.slice(2), place);
  expect(acknowledged.stdout).toMatch(/^alert \d+ (is|was) acknowledged/);
  expect((await run(["alerts", "--json"], place)).json()).toMatchObject({ running: true });

  // The initial scene is old enough that no clock takes it for a new event.
  const { events } = (
    await run(["history", "events", "--kind", "collateral", "--wallet", "main", "--json"], place)
  ).json() as { events: { happenedMs: number; fields: { amountUsd: number } }[] };
  const withdrawal = events.find(({ fields }) => fields.amountUsd < -1_000);
  expect(Date.parse(watching.time) - withdrawal!.happenedMs).toBeGreaterThan(9_000);
  expect(demo.stdout.filter((line) => line.includes("withdrawn"))).toEqual([]);

  const { path: used } = (status.json() as { database: { path: string } }).database;
  const second = place.write(
    "second.yaml",
    `${plainConfig.replace(/^history.*\n/m, "")}history: { path: ${used} }\n`,
  );
  const refused = await run(["start", "--config", second], place);
  expect(refused).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/another perpwatch \(process \d+\) runs with /),
  });

  // A file of that name is the configuration, whatever demo runs.
  place.write("config.yaml", "wallets: 3\n");
  expect((await run(["check"], place)).status).toBe(2);

  expect(await demo.end("SIGTERM")).toEqual({ status: 0, signal: null });
  expect(existsSync(database)).toBe(false);
  using elsewhere = desk();
  expect((await run(["status"], elsewhere)).stderr).toMatch(/there is no such configuration/);
});

test("without a terminal it prints each change of an alert once", { timeout: 90_000 }, async () => {
  using place = desk();
  await using demo = startProgram(["start"], place);
  await demo.line((line) => /^[A-Z].* warning: main: SOL long is/.test(line));
  await demo.end("SIGTERM");
  expect(demo.stdout.filter((line) => /^FIRING info: main: SOL long is/.test(line))).toHaveLength(1);
  expect(demo.stderr.filter((line) => line.includes("SOL long is"))).toEqual([]);
});

test("the place of a demo: a later one takes it, what is gone is not found", () => {
  using place = desk();
  const [first, second] = [place.write("first.yaml", ""), place.write("second.yaml", "")];
  const concealFirst = announceDemo(first)!;
  expect(findDemo()).toBe(first);
  const concealSecond = announceDemo(second)!;
  concealFirst();
  expect(findDemo()).toBe(second);
  // After a kill the link remains, and leads nowhere.
  rmSync(second);
  expect(findDemo()).toBeNull();
  const concealAgain = announceDemo(first)!;
  expect(findDemo()).toBe(first);
  concealAgain();
  concealSecond();
  expect(findDemo()).toBeNull();
});

/** Objects that another user could put in place of a demo's folder; each leads to a file of ours. */
const put: readonly [string, (folder: string, config: string, file: string) => void][] = [
  [
    "a folder that others may write",
    (folder, config) => {
      chmodSync(folder, 0o777);
      writeFileSync(config, "");
    },
  ],
  ["a folder that others may read", (folder) => chmodSync(folder, 0o750)],
  ["a link to a file in place of the file", (_folder, config, file) => relink(file, config)],
  [
    "a link to a folder in place of the folder",
    (folder, _config, file) => relink(path.dirname(file), folder),
  ],
  [
    "a folder in place of the file",
    (_folder, config) => {
      rmSync(config);
      mkdirSync(config);
    },
  ],
];
test.each(put)("%s is not the demo's", (_what, spoil) => {
  using place = desk();
  using other = desk();
  const config = place.write("config.yaml", "");
  const conceal = announceDemo(config)!;
  expect(findDemo()).toBe(config);
  spoil(place.folder, config, other.write("config.yaml", ""));
  expect(findDemo()).toBeNull();
  conceal();
});

test("what is another user's is not the demo's", () => {
  using place = desk();
  const config = place.write("config.yaml", "");
  // The test changes our user id instead of the owner of the files, which only root may change.
  const { getuid } = process;
  try {
    process.getuid = () => getuid!() + 1;
    const conceal = announceDemo(config)!;
    expect(findDemo()).toBeNull();
    conceal();
  } finally {
    process.getuid = getuid!;
  }
  const conceal = announceDemo(config)!;
  expect(findDemo()).toBe(config);
  conceal();
});

function relink(to: string, at: string): void {
  rmSync(at, { recursive: true });
  symlinkSync(to, at);
}
