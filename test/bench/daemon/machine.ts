/** The machine of the measurement, and what else it was doing. */
import { spawnSync } from "node:child_process";
import os from "node:os";

export interface Machine {
  readonly cores: number;
  readonly model: string;
  readonly node: string;
  readonly platform: string;
  readonly memoryGiB: number;
  /** True if processes can be held on one core each. */
  readonly pinned: boolean;
}

export function machine(): Machine {
  const cpus = os.cpus();
  return {
    cores: cpus.length,
    model: cpus[0]?.model.trim() ?? "unknown",
    node: process.version,
    platform: `${os.platform()}-${os.arch()} ${os.release()}`,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    pinned: cpus.length > 1 && spawnSync("taskset", ["-c", "0", "true"]).status === 0,
  };
}

/** Runnable processes, averaged over the last minute. */
export function load(): number {
  return os.loadavg()[0] ?? 0;
}
