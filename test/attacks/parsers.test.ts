/**
 * Every parser of foreign bytes on hostile inputs, each in a process of its own with little memory: it ends with a result or an error that
 * it declares, within a second, and without 100 MB.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { inputs, report, seed } from "./measure.ts";
import { parsers } from "./parsers.ts";

const worker = fileURLToPath(new URL("parser-worker.ts", import.meta.url));
/** The heap of a process that loaded the parsers, and 100 MB. */
const heapMb = 180;
const mostMb = 100;
/** On a machine that does nothing else it is less by far. */
const mostMs = 1_000;
/** For a thousand inputs. */
const patienceMs = 300_000;

test.each(Object.entries(parsers))(
  `%s (seed ${seed})`,
  { timeout: 6 * 3_600_000 },
  async (name, { share = 1, takesAll = false }) => {
    const count = Math.max(
      200,
      Math.round(inputs(2_000, 1_000_000) * (process.env.PERPWATCH_ATTACKS === "all" ? 1 : share)),
    );
    const args = [
      `--max-old-space-size=${heapMb}`,
      "--expose-gc",
      "--disable-warning=ExperimentalWarning",
      worker,
      name,
      "0",
      String(count),
      String(seed),
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
    expect({
      status,
      signal,
      said: said.filter((line) => !line.startsWith("{")),
      errors,
      last,
    }).toMatchObject({
      ...{ status: 0, signal: null, said: [] },
    });
    const tally = JSON.parse(said.at(-1)!);
    report({
      attack: `parser: ${name}`,
      inputs: count,
      ...tally,
      peakMb: Math.max(tally.peakMb, tally.mostMb),
    });
    expect(tally.longestMs, tally.longestInput).toBeLessThan(mostMs);
    expect(tally.mostMb, tally.largestInput).toBeLessThan(mostMb);
    // Memory that stays after a collection belongs to no input.
    expect(tally.peakMb).toBeLessThan(mostMb);
    if (!takesAll) expect(tally.refused).toBeGreaterThan(0);
  },
);
