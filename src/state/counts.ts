/**
 * Counts of the daemon that rules look back over. Counts of a process begin at 0 with each start, which a window over a start
 * would take for a decrease. So the counts of earlier runs are stored and added.
 */

import { z } from "zod";
import type { DaemonFigures } from "../domain/observation.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import { KeptKind, type KeptValues, keptNumber } from "../domain/stored/kept.ts";

const names = ["authFailures", "repeatedAuthFailures", "badRecords"] as const;

/** Refusals of earlier runs are shown for this long, ms. */
const namedForMs = 900_000;

const maxNamed = 5;

/** The names of all wallets whose sign-ins or sessions were refused, and the time of the last refusal, ms. */
interface Refused {
  readonly names: string;
  readonly atMs: number;
}

type Counted = Pick<DaemonFigures, (typeof names)[number]>;

const number = keptNumber.exactOptional();

/** Counts that an earlier version did not have are absent. */
export const keptCounts: KeptKind<Partial<Counted> & { readonly refused?: Refused }> = new KeptKind(
  "daemon/counts",
  z.object({
    authFailures: number,
    repeatedAuthFailures: number,
    badRecords: number,
    // -∞ is stored as null: no refusal.
    refused: z
      .object({ names: z.string(), atMs: keptNumber.nullable() })
      .transform(({ names, atMs }) => ({ names, atMs: atMs ?? Number.NEGATIVE_INFINITY }))
      .exactOptional(),
  }),
);

const none: Counted = { authFailures: 0, repeatedAuthFailures: 0, badRecords: 0 };

const nobody: Refused = { names: "", atMs: Number.NEGATIVE_INFINITY };

export class Counts {
  /** The counts of earlier runs. */
  readonly #before: Counted;
  #kept: Counted;
  readonly #refusedBefore: Refused;
  #refused: Refused;

  /** @param keep values stored at the start */
  constructor(keep: KeptValues) {
    const { refused = nobody, ...counts } = keptCounts.get(keep, "") ?? {};
    this.#before = { ...none, ...counts };
    this.#kept = this.#before;
    this.#refusedBefore = this.#refused = refused;
  }

  /** @returns the counts over all runs */
  take(ofThisRun: Counted & Pick<DaemonFigures, "refusedWallets">, builder: ChangesBuilder): Counted {
    const now: { -readonly [Name in keyof Counted]: number } = { ...none };
    for (const name of names) now[name] = this.#before[name] + ofThisRun[name];
    if (names.every((name) => now[name] === this.#kept[name])) return now;
    if (now.authFailures > this.#kept.authFailures)
      this.#refused = { names: this.#refusedOf(ofThisRun, builder.atMs).join(", "), atMs: builder.atMs };
    this.#kept = now;
    keptCounts.put("", { ...now, refused: this.#refused }, builder);
    return now;
  }

  /** @returns names for display: of this run, and of earlier runs while these are within the look-back period of rules */
  refusedWallets(ofThisRun: Pick<DaemonFigures, "refusedWallets">, nowMs: number): string {
    const names = this.#refusedOf(ofThisRun, nowMs);
    const more = names.length - maxNamed;
    return `${names.slice(0, maxNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  }

  #refusedOf({ refusedWallets }: Pick<DaemonFigures, "refusedWallets">, nowMs: number): readonly string[] {
    const { names, atMs } = this.#refusedBefore;
    const all = nowMs - atMs > namedForMs ? [refusedWallets] : [names, refusedWallets];
    return [...new Set(all.flatMap((one) => (one === "" ? [] : one.split(", "))))].sort();
  }
}
