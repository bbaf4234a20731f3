/**
 * Jobs that are due, by lane, in order of due time. The number of running jobs in each lane is limited: a run holds
 * memory, and the exchange answers a limited number of requests at once.
 */
import type { Lane } from "../../exchange/index.ts";
import { lanes } from "../../exchange/index.ts";
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

  /** Starts a due job, or queues it; a queued job moves to this lane. */
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
