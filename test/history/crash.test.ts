import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openStore } from "../../src/history/index.ts";
import { batch, owners } from "./crash-batch.ts";
import { all } from "./examples.ts";
import { temporaryFolder } from "./folder.ts";

const child = fileURLToPath(new URL("./crash-child.ts", import.meta.url));

/** Runs the child until it told of so many batches, then kills it. @returns the last number that it told */
async function runUntilKilled(file: string, batches: number): Promise<number> {
  const running = spawn(process.execPath, [child, file], { stdio: ["ignore", "pipe", "inherit"] });
  let told = "";
  let lines = 0;
  const ended = once(running, "exit");
  running.stdout.on("data", (bytes: Buffer) => {
    const text = bytes.toString();
    told += text;
    lines += text.split("\n").length - 1;
    if (lines >= batches) running.kill("SIGKILL");
  });
  const [, signal] = await ended;
  expect(signal).toBe("SIGKILL");
  return Number(told.trimEnd().split("\n").at(-1));
}

test("a process killed in the middle of commits and packings leaves whole batches only, and all that it told of", {
  timeout: 120_000,
}, async () => {
  using folder = temporaryFolder();
  const file = folder.file();
  // Near together and far apart, so that the kill falls into commits, packings, clearings and checkpoints.
  for (const batches of [1, 2, 5, 10, 11, 24, 50, 77]) {
    const told = await runUntilKilled(file, batches);
    const store = openStore({ path: file });
    const count = Number((await store.keep()).get("batch"));
    expect(count).toBeGreaterThanOrEqual(told);
    const wanted = Array.from({ length: count }, (_, i) => batch(i + 1));
    for (const owner of owners)
      expect(await all(store.ticks({ owner, fromMs: 0 }))).toEqual(
        wanted.flatMap((part) => part.ticks.filter((tick) => tick.owner === owner)),
      );
    expect(await store.events({})).toEqual(wanted.flatMap((part) => part.events));
    expect(await store.alertChanges({})).toEqual(wanted.flatMap((part) => part.alertChanges));
    expect(await store.deliveryItems({ open: true })).toEqual(wanted.flatMap((part) => part.deliveryItems));
    expect((await store.messages({})).length).toBe(wanted.flatMap((part) => part.messages).length);
    expect((await store.lastIds()).alert).toBe(count);
    expect(await store.facts()).toEqual(wanted.at(-1)?.facts);
    expect(await store.lastAliveMs()).toBeGreaterThan(Date.now() - 60_000);
    expect(await store.verify()).toEqual([]);
    await store.close();
  }
});
