/** The demo, asked from another terminal of the same folder. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
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

test("a demo leaves nothing behind that would be taken for one", async () => {
  using place = desk();
  await using demo = startProgram(["start"], place);
  await demo.line((line) => line.includes("watching main"));
  await demo.end("SIGKILL");
  const after = await run(["status"], place);
  // What a kill left is asked, and said not to answer; the next demo takes the place.
  expect(after.stderr).toMatch(/the daemon is not running|no such configuration/);
  await using again = startProgram(["start"], place);
  await again.line((line) => line.includes("watching main"));
  expect((await run(["status", "--json"], place)).json()).toMatchObject({ running: true });
});
