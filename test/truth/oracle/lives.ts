/** The lives of the daemon as they were committed: what each was told, in that order, and what it decided. */
import type { AlertChange } from "../../../src/domain/alert.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import type { EventLog } from "../log.ts";

export interface Told {
  readonly observation: Observation;
  /** True wall time of its commit, ms. */
  readonly committedMs: number;
}

export interface Life {
  readonly number: number;
  readonly told: readonly Told[];
  readonly changes: readonly (AlertChange & { readonly committedMs: number })[];
}

export function livesOf(log: EventLog): readonly Life[] {
  const lives = new Map<number, { told: Told[]; changes: (AlertChange & { committedMs: number })[] }>();
  const killed = new Set<number>();
  for (const entry of log.entries) {
    if (entry.kind === "life" && entry.text === "is killed") killed.add(entry.life);
    // The next life knows of it only if it was written before the files were copied.
    if (entry.kind !== "committed" || killed.has(entry.life)) continue;
    const life = lives.get(entry.life) ?? { told: [], changes: [] };
    lives.set(entry.life, life);
    const committedMs = entry.atMs;
    for (const observation of entry.changes.observations) life.told.push({ observation, committedMs });
    for (const change of entry.changes.alertChanges) life.changes.push({ ...change, committedMs });
  }
  return [...lives].map(([number, life]) => ({ number, ...life }));
}
