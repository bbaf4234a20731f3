/**
 * Runs parsers of a group on inputs from a seed: `node parser-worker.ts GROUP NAME[,NAME…] FROM COUNT SEED`. Prints `at NAME N` now and
 * then, and a line of JSON for each parser. Ends with 3 on an error that a parser does not declare, with the input.
 */
import { writeSync } from "node:fs";
import { chance, sizeOf } from "./hostile-values.ts";
import { groups } from "./parsers/index.ts";
import type { Input, Parser } from "./parsers/kinds.ts";

/** Inputs between two looks at the memory, which takes longer than a small input. */
const batchSize = 50;
/** Beyond this the inputs of a batch are tried again, MB. */
const suspectMb = 40;
const sayEveryMs = 1_000;

const say = (line: string) => void writeSync(1, `${line}\n`);
const collect = () => (globalThis as { gc?: () => void }).gc?.();
const mb = 1_048_576;
const memory = () => {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / mb;
};
const highestRss = () => process.resourceUsage().maxRSS / 1_024;
const shown = (input: Input) =>
  typeof input === "string"
    ? JSON.stringify(input.slice(0, 2_000))
    : `hex ${Buffer.from(input).toString("hex").slice(0, 2_000)}`;

class Trial {
  readonly #name: string;
  readonly #parser: Parser;
  readonly #seed: number;
  readonly #baseMb: number;
  #rssMb: number;
  #saidMs = 0;
  /** Times are those of the processor: on a busy machine the others say nothing of an input. */
  readonly tally = {
    ...{ accepted: 0, refused: 0, longestMs: 0, longestInput: "" },
    ...{ peakMb: 0, maxMb: 0, largestInput: "" },
  };

  constructor(name: string, parser: Parser, seed: number) {
    this.#name = name;
    this.#parser = parser;
    this.#seed = seed;
    collect();
    this.#baseMb = memory();
    this.#rssMb = highestRss();
  }

  /** Each input has a seed of its own, so that one of them can be tried alone. */
  #input(index: number): Input {
    return this.#parser.input(chance((this.#seed ^ Math.imul(index + 1, 0x9e3779b1)) >>> 0, sizeOf(index)));
  }

  async run(from: number, count: number): Promise<void> {
    for (let first = from; first < from + count; first += batchSize) {
      if (performance.now() - this.#saidMs > sayEveryMs) {
        this.#saidMs = performance.now();
        say(`at ${this.#name} ${first}`);
      }
      const indices = Array.from({ length: Math.min(batchSize, from + count - first) }, (_, i) => first + i);
      for (const index of indices) await this.#one(index);
      // The next turn of the loop frees whatever a parser left for it.
      await new Promise(setImmediate);
      await this.#weigh(indices);
    }
  }

  async #one(index: number): Promise<void> {
    const input = this.#input(index);
    const { tally } = this;
    const start = process.threadCpuUsage();
    try {
      const found = await this.#parser.run(input as never);
      if (found === false) tally.refused++;
      else tally.accepted++;
    } catch (error) {
      if (this.#parser.mayThrow?.(error) !== true) {
        const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
        say(`undeclared ${text}\nof input ${index} of ${this.#name}: ${shown(input)}`);
        process.exit(3);
      }
      tally.refused++;
    }
    const { user, system } = process.threadCpuUsage(start);
    const tookMs = (user + system) / 1_000;
    if (tookMs <= tally.longestMs) return;
    tally.longestMs = tookMs;
    tally.longestInput = `${index}: ${shown(input).slice(0, 300)}`;
  }

  /** Looks whether an input of a batch may have taken much, and if so, which. */
  async #weigh(indices: readonly number[]): Promise<void> {
    const grewMb = highestRss() - this.#rssMb;
    this.#rssMb += Math.max(0, grewMb);
    if (memory() - this.#baseMb < suspectMb && grewMb < suspectMb) return;
    await this.#again(indices);
    collect();
    this.tally.peakMb = Math.max(this.tally.peakMb, memory() - this.#baseMb);
  }

  async #again(indices: readonly number[]): Promise<void> {
    collect();
    const before = memory();
    for (const index of indices)
      await Promise.resolve(this.#input(index) as never)
        .then(this.#parser.run)
        .catch(() => {});
    const grewMb = memory() - before;
    if (grewMb >= suspectMb && indices.length > 1) {
      const half = Math.ceil(indices.length / 2);
      await this.#again(indices.slice(0, half));
      await this.#again(indices.slice(half));
    } else if (grewMb > this.tally.maxMb) {
      this.tally.maxMb = grewMb;
      this.tally.largestInput = `${indices.join(" ")}: ${shown(this.#input(indices[0]!)).slice(0, 300)}`;
    }
  }
}

const [group = "", names = "", from = "0", count = "0", seed = "0"] = process.argv.slice(2);
const { parsers } = await groups[group]!();
for (const name of names === "" ? Object.keys(parsers) : names.split(",")) {
  const start = process.cpuUsage();
  const trial = new Trial(name, parsers[name]!, Number(seed));
  await trial.run(Number(from), Number(count));
  if (({} as { polluted?: unknown }).polluted !== undefined) {
    say(`undeclared ${name} changed the prototype of all objects`);
    process.exit(3);
  }
  say(JSON.stringify({ name, seconds: process.cpuUsage(start).user / 1e6, ...trial.tally }));
}
process.exit(0);
