/** The day before, told to the windows of a watch: for its last hour each sample, before that the last one of each minute. */
import type { Random } from "../../../src/domain/clock.ts";
import type { Tick } from "../../../src/domain/observation.ts";
import type { Watch } from "../../../src/engine/watch.ts";

const everyMs = 5_000;
const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

/**
 * Every figure follows one walk of the marks.
 * @param newest of each account, from its first answer
 * @param untilMs the time of that answer
 */
export function tellPast(watch: Watch, newest: readonly Tick[], untilMs: number, random: Random): void {
  const times: number[] = [];
  for (let atMs = untilMs - dayMs; atMs < untilMs - hourMs; atMs += minuteMs)
    times.push(Math.floor(atMs / minuteMs) * minuteMs + minuteMs - everyMs);
  for (let atMs = untilMs - hourMs; atMs < untilMs; atMs += everyMs) times.push(atMs);
  let walk = 1;
  const walked = times.map((atMs) => {
    walk *= 1 + (random() - 0.5) * (atMs < untilMs - hourMs ? 1e-3 : 3e-4);
    return { atMs, walk };
  });
  for (const { owner, series, values } of newest) {
    // Into the windows alone: what history has of it does not matter here.
    const ticks = walked.map((at) => ({
      atMs: at.atMs,
      owner,
      series,
      values: values.map((value) => value * at.walk * (1 + random() * 1e-6)),
    }));
    watch.observe({
      kind: "backfill",
      source: "portfolio",
      atMs: untilMs,
      wallet: owner.split("/", 1)[0] ?? "",
      ticks,
    });
  }
}
