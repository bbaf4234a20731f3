/**
 * Commits counted batches to the database of its first argument as fast as it can, packing in between, until it is
 * killed. Says the number of each batch once it is committed.
 */
import fs from "node:fs";
import { changes } from "../../src/domain/stored/changes.ts";
import { openStore } from "../../src/history/index.ts";
import { batch } from "./crash-batch.ts";

const store = openStore({
  path: process.argv[2] as string,
  retention: { samplesMs: null, payloadsMs: null, failedReadsMs: null },
});
let number = Number((await store.keep()).get("batch") ?? 0);
for (;;) {
  number++;
  await store.commit([batch(number), changes({ keep: [{ name: "batch", value: `${number}` }] })]);
  fs.writeSync(1, `${number}\n`);
  // Far in the future, so that all of the log is due; and in the middle of a packing as often as at its end.
  if (number % 5 === 0) await store.maintain(Date.now() + 86_400_000, number % 2 === 0 ? 1_000 : 0);
}
