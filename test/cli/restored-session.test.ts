/**
 * A session that the exchange ended while the daemon was down: it is restored at the start, refused, and replaced at
 * once.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { startProgram } from "../support/program.ts";
import { type Desk, desk } from "./run.ts";

let simulator: Simulator;
let keys: Desk;
beforeAll(async () => {
  keys = desk();
  simulator = await startSimulator({ port: 0, traders: 1, walk: false, keysDir: keys.folder });
});
afterAll(async () => {
  await simulator.stop();
  keys[Symbol.dispose]();
});

test.each(["another world", "revoke"])("%s: the next sign-in comes at once", async (action) => {
  const { authority, keyFile } = simulator.traders[0]!;
  using place = desk();
  place.write(
    "config.yaml",
    [
      `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
      `wallets: [ { name: main, keyFile: ${keyFile} } ]`,
      "channels: { here: { type: console } }",
      "history: { path: ./p }",
      "dashboard: { listen: off }",
      "",
    ].join("\n"),
  );
  {
    await using first = startProgram(["start"], place);
    await first.line((line) => line.includes("signed in by message"));
    await first.end("SIGTERM");
  }
  if (action === "another world") {
    const port = Number(new URL(simulator.url).port);
    await simulator.stop();
    simulator = await startSimulator({ port, traders: 1, walk: false, keysDir: keys.folder });
  } else await simulator.call("session", { authority, action });
  await using daemon = startProgram(["start"], place);
  const atMs = async (fits: RegExp) => {
    const { time } = JSON.parse(await daemon.line((line) => fits.test(line))) as { time: string };
    return Date.parse(time);
  };
  const restoredMs = await atMs(/session restored/);
  // The first back-off of the stream alone would take longer.
  expect((await atMs(/signed in again after/)) - restoredMs).toBeLessThan(20_000);
  expect(await daemon.end("SIGTERM")).toMatchObject({ status: 0 });
});
