/** The demo, asked from another terminal of the same folder. */
import { existsSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import { announceDemo, findDemo } from "../../src/cli/demo-place.ts";
import { startProgram } from "../support/program.ts";
import { desk, run } from "./run.ts";

test("commands without a configuration find the demo, as its messages say", { timeout: 90_000 }, async () => {
  using place = desk();
  await using demo = startProgram(["start"], place);
  const database = /database +(\S+)/.exec(await demo.line((line) => line.includes("database ")))![1]!;
  await demo.line((line) => line.includes("watching main"));
  const status = await run(["status", "--json"], place);
  expect(status.json()).toMatchObject({ running: true, watch: { wallets: [{ name: "main" }, {}, {}] } });
  expect(status.stderr).toMatch(/^there is no config\.yaml here; this is about the demo/);
  expect((await run(["check"], place)).stdout).toMatch(/a daemon runs with it/);

  const hint = "To stop the reminders: ";
  const typed = (await demo.line((line) => line.includes(hint))).split(hint)[1]!.split(" ");
  expect(typed.slice(2)).toEqual(["alerts", "ack", expect.stringMatching(/^\d+$/) as string]);
  const acknowledged = await run(typed.slice(2), place);
  expect(acknowledged.stdout).toMatch(/^alert \d+ (is|was) acknowledged/);
  expect((await run(["alerts", "--json"], place)).json()).toMatchObject({ running: true });

  // A file of that name is the configuration, whatever demo runs.
  place.write("config.yaml", "wallets: 3\n");
  expect((await run(["check"], place)).status).toBe(2);

  expect(await demo.end("SIGTERM")).toEqual({ status: 0, signal: null });
  expect(existsSync(database)).toBe(false);
  using elsewhere = desk();
  expect((await run(["status"], elsewhere)).stderr).toMatch(/there is no such configuration/);
});

test("the place of a demo: a later one takes it, what is gone is not found", () => {
  using place = desk();
  const [first, second] = [place.write("first.yaml", ""), place.write("second.yaml", "")];
  const concealFirst = announceDemo(first)!;
  expect(findDemo()).toBe(first);
  const concealSecond = announceDemo(second)!;
  concealFirst();
  expect(findDemo()).toBe(second);
  // Killed: the link stays, and leads nowhere.
  rmSync(second);
  expect(findDemo()).toBeNull();
  const concealAgain = announceDemo(first)!;
  expect(findDemo()).toBe(first);
  concealAgain();
  concealSecond();
  expect(findDemo()).toBeNull();
});
