/**
 * Jobs that are due, by lane, in the order in which they became due. Of each lane only so many run at a time: what a run
 * holds is memory, and the exchange answers only so many requests at once.
 */
import type { Lane } from "../exchange/index.ts";
import { lanes } from "../exchange/index.ts";
import type { Job, Mode } from "./job.ts";

const MAX_RUNS = 256;

export class ReadyJobs {
  readonly #start: (job: Job, mode: Mode, lane: Lane) => Promise<void>;
  readonly #lanes = new Map(Object.values(lanes).map((lane) => [lane, { waiting: new Set<Job>(), runs: 0 }]));
  #stopped = false;

  /** @param start runs a job; its promise never rejects */
  constructor(start: (job: Job, mode: Mode, lane: Lane) => Promise<void>) {
    this.#start = start;
  }

  /** Starts a job that is due, or lets it wait; one that waits already takes its place in this lane. */
  put(job: Job, mode: Mode, lane: Lane): void {
    if (job.ready?.lane === lane) {
      job.ready = { lane, mode };
      return;
    }
    if (job.ready) this.#lanes.get(job.ready.lane)!.waiting.delete(job);
    job.ready = { lane, mode };
    this.#lanes.get(lane)!.waiting.add(job);
    this.#next(lane);
  }

  stop(): void {
    this.#stopped = true;
    for (const { waiting } of this.#lanes.values()) waiting.clear();
  }

  #next(name: Lane): void {
    const lane = this.#lanes.get(name)!;
    for (const job of lane.waiting) {
      if (lane.runs >= MAX_RUNS || this.#stopped) return;
      lane.waiting.delete(job);
      const { mode } = job.ready!;
      job.ready = null;
      lane.runs++;
      void this.#start(job, mode, name).finally(() => {
        lane.runs--;
        this.#next(name);
      });
    }
  }
}
