/**
 * Every parser of foreign bytes on hostile inputs, in a process with little memory: each input ends with a result or an error that the
 * parser declares, within a second, and without 100 MB. Each parser has a process of its own, in the sample each group.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { from, inputs, isSample, report, seed } from "./measure.ts";
import { groups } from "./parsers/index.ts";
import type { Parsers } from "./parsers/kinds.ts";

const worker = fileURLToPath(new URL("parser-worker.ts", import.meta.url));
/** The heap of a process that loaded the parsers, and 100 MB. */
const heapMb = 180;
const maxMb = 100;
/** On a machine that does nothing else it is less by far. */
const mostMs = 1_000;
/** Without a word of the worker, which has one every second or after an input. */
const patienceMs = 60_000;
const count = inputs(500, 1_000_000);

interface Tally {
  readonly name: string;
  readonly accepted: number;
  readonly refused: number;
  readonly longestMs: number;
  readonly longestInput: string;
  readonly maxMb: number;
  readonly largestInput: string;
  readonly peakMb: number;
}

/** @returns a tally of each parser */
async function tried(group: string, names: readonly string[]): Promise<readonly Tally[]> {
  const args = [
    `--max-old-space-size=${heapMb}`,
    "--expose-gc",
    "--disable-warning=ExperimentalWarning",
    ...[worker, group, names.join(","), String(from), String(count), String(seed)],
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let last = "nothing";
  let errors = "";
  const said: string[] = [];
  const isOver = () => child.kill("SIGKILL");
  let timer = setTimeout(isOver, patienceMs);
  createInterface({ input: child.stdout }).on("line", (line) => {
    clearTimeout(timer);
    timer = setTimeout(isOver, patienceMs);
    if (line.startsWith("at ")) last = line;
    else said.push(line);
  });
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    errors = (errors + part).slice(-2_000);
  });
  const [status, signal] = (await once(child, "close")) as [number | null, string | null];
  clearTimeout(timer);
  const other = said.filter((line) => !line.startsWith("{"));
  expect({ status, signal, said: other, errors, last }).toMatchObject({
    ...{ status: 0, signal: null, said: [] },
  });
  return said.map((line) => JSON.parse(line) as Tally);
}

function judge(tally: Tally, takesAll: boolean): void {
  const { name, accepted, refused, longestMs, maxMb: most } = tally;
  const peakMb = Math.max(tally.peakMb, most);
  report({ attack: `parser: ${name}`, inputs: count, accepted, refused, longestMs, peakMb });
  expect(accepted + refused, name).toBe(count);
  expect(longestMs, `${name}, input ${tally.longestInput}`).toBeLessThan(mostMs);
  expect(most, `${name}, input ${tally.largestInput}`).toBeLessThan(maxMb);
  // Memory that stays after a collection belongs to no input.
  expect(tally.peakMb, name).toBeLessThan(maxMb);
  expect(accepted, `${name} takes some`).toBeGreaterThan(0);
  if (!takesAll) expect(refused, `${name} refuses some`).toBeGreaterThan(0);
}

const all = await Promise.all(
  Object.entries(groups).map(async ([group, load]) => [group, (await load()).parsers] as const),
);
const runs: (readonly [string, string, Parsers])[] = all.flatMap(([group, parsers]) =>
  isSample
    ? [[`parsers of ${group}`, group, parsers] as const]
    : Object.entries(parsers).map(([name, one]) => [name, group, { [name]: one }] as const),
);

test.each(runs)(`%s (seed ${seed})`, { timeout: 6 * 3_600_000 }, async (_title, group, parsers) => {
  const names = Object.keys(parsers);
  const tallies = await tried(group, names);
  expect(tallies.map(({ name }) => name)).toEqual(names);
  for (const tally of tallies) judge(tally, parsers[tally.name]!.takesAll === true);
});
