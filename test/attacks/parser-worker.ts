/**
 * Runs one parser on inputs from a seed: `node parser-worker.ts NAME FROM COUNT SEED`. Prints `at N` now and then, and a line of JSON at
 * its end. Ends with 3 on an error that the parser does not declare, with the input.
 */
import { writeSync } from "node:fs";
import { chance } from "./hostile-values.ts";
import { parsers, stubFetch } from "./parsers.ts";

const [name = "", from = "0", count = "0", seed = "0"] = process.argv.slice(2);
const parser = parsers[name]!;
stubFetch();
const say = (line: string) => void writeSync(1, `${line}\n`);
/** Beyond this the input before is tried alone, MB. */
const suspectMb = 40;
/** Times are those of the processor: on a busy machine the others say nothing of an input. */
const tally = {
  ...{ accepted: 0, refused: 0, longestMs: 0, longestInput: "" },
  ...{ baseMb: 0, peakMb: 0, mostMb: 0, largestInput: "" },
};
const memory = () => {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1_048_576;
};
/** The memory that one input takes, MB. */
const alone = async (input: string | Uint8Array): Promise<number> => {
  (globalThis as { gc?: () => void }).gc?.();
  const before = memory();
  await Promise.resolve(input as never)
    .then(parser.run)
    .catch(() => {});
  return memory() - before;
};
const shown = (input: string | Uint8Array) =>
  typeof input === "string"
    ? JSON.stringify(input.slice(0, 2_000))
    : `hex ${Buffer.from(input).toString("hex").slice(0, 2_000)}`;

tally.baseMb = memory();
const first = Number(from);
for (let index = first; index < first + Number(count); index++) {
  // Each input has a seed of its own, so that one of them can be tried alone.
  const input = parser.input(chance((Number(seed) ^ Math.imul(index + 1, 0x9e3779b1)) >>> 0));
  if (index % 1_000 === 0) say(`at ${index}`);
  const start = process.threadCpuUsage();
  try {
    const found = await parser.run(input as never);
    if (found === false) tally.refused++;
    else tally.accepted++;
  } catch (error) {
    if (parser.mayThrow?.(error) !== true) {
      say(
        `undeclared ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\nof input ${index}: ${shown(input)}`,
      );
      process.exit(3);
    }
    tally.refused++;
  }
  const { user, system } = process.threadCpuUsage(start);
  const tookMs = (user + system) / 1_000;
  if (tookMs > tally.longestMs) {
    tally.longestMs = tookMs;
    tally.longestInput = `${index}: ${shown(input).slice(0, 300)}`;
  }
  if (memory() - tally.baseMb > suspectMb) {
    const mb = await alone(input);
    if (mb > tally.mostMb) {
      tally.mostMb = mb;
      tally.largestInput = `${index}: ${shown(input).slice(0, 300)}`;
    }
    (globalThis as { gc?: () => void }).gc?.();
    tally.peakMb = Math.max(tally.peakMb, memory() - tally.baseMb);
  }
}
if (({} as { polluted?: unknown }).polluted !== undefined) {
  say("undeclared the prototype of all objects was changed");
  process.exit(3);
}
say(JSON.stringify(tally));
