/** The table of the past's cost. */
import { table } from "../daemon/tables.ts";
import type { SpaceResult } from "./space.ts";
import type { StartResult } from "./start.ts";
import type { TidyResult } from "./tidy.ts";

const whole = (value: number): string => Math.round(value).toLocaleString("en-US");
const tenths = (value: number): string => value.toFixed(1);

export function spaceTable(result: SpaceResult): string {
  return table(
    `History of ${whole(result.wallets)} wallets, ${whole(result.polls)} answers of ${whole(result.payloadBytes)} bytes each`,
    ["", "bytes on disk", "µs to record", "µs to read back"],
    [
      ["recorded answer", tenths(result.bytesAPayload), tenths(result.changedUs), tenths(result.readUs)],
      ["  in which nothing changed", tenths(result.bytesUnchanged), tenths(result.unchangedUs), ""],
      [`raw sample (of ${whole(result.samples)})`, tenths(result.bytesASample), "", ""],
      ["  its minutes and hours", tenths(result.rollupBytesASample), "", ""],
    ],
  );
}

export function startTable(result: StartResult): string {
  const seconds = (ms: number): string => (ms / 1_000).toFixed(2);
  const { openMs, rememberedMs, readyMs } = result;
  const times = table(
    `Start with ${whole(result.samples)} samples on disk (${whole(result.fileMiB)} MiB): ${whole(result.wallets)} wallets, 20 rules, 2 over 24 h, 4 over 1 h`,
    ["", "s"],
    [
      ["opening the database", seconds(openMs)],
      ["reading what the windows need", seconds(rememberedMs - openMs)],
      ["judging the first answers", seconds(readyMs - rememberedMs)],
      ["ready to judge after", seconds(readyMs)],
    ],
  );
  return `${times}\nProcessor time ${seconds(result.cpuMs)} s, worst stall ${whole(result.worstStallMs)} ms, memory ${whole(result.rssMiB)} MiB.`;
}

export function tidyTable({ samples, stages }: TidyResult): string {
  return table(
    `Retention and roll-up of ${whole(samples)} samples, commits going on: the longest that anything else waits`,
    ["", "took", "event loop held", "of it processor", "commits", "longest commit"],
    stages.map((one) => [
      one.stage,
      ...[one.tookMs, one.longestMs, one.longestCpuMs].map((ms) => `${whole(ms)} ms`),
      whole(one.commits),
      `${tenths(one.longestCommitMs)} ms`,
    ]),
  );
}
