/** Failed reads of each schedule in a row, as far as what was recorded tells. */
import type { Observation } from "../../../../src/domain/observation.ts";
import type { Range } from "./tally.ts";

/** No read is tried less often than this, ms. */
const triedWithinMs = 330_000;
/** The report of a read that waits for the end of a rate limit: it was not sent, so it did not fail. */
const waitsDetail = "the exchange limits requests";
/** Answers of before a fault may still be under way. */
const settledMs = 12_000;

interface Row {
  /** Times of the failures, ms. */
  readonly atMs: number[];
  /** The time of the last failure, or of the last report that it waits, ms. */
  lastMs: number;
  /** The time at which some of it was read last, ms. */
  partMs: number;
  /** A run since the last failure read the list of markets: that of assets may be read with it. */
  listed: boolean;
}

/** The schedule that an observation shows to have worked; null: it may be only a part of what is read, or streamed. */
function workedOf(observation: Observation): string | null {
  switch (observation.kind) {
    case "prices":
      return observation.live ? null : "markets ";
    case "marketConfig":
    case "collateralAssets":
      return "marketConfig ";
    case "portfolio":
      return `portfolio ${observation.wallet}`;
    default:
      return null;
  }
}

/** Kinds of reads of which every run asks something. */
const always: ReadonlySet<string> = new Set(["portfolio", "funding", "fundingRates"]);

export class Failures {
  readonly #rows = new Map<string, Row>();

  take(observation: Observation, atMs: number): void {
    if (observation.kind === "failed" && observation.symbol === null) {
      const key = `${observation.source} ${observation.wallet ?? ""}`;
      const row = this.#rows.get(key) ?? { atMs: [], lastMs: atMs, partMs: 0, listed: false };
      this.#rows.set(key, row);
      row.lastMs = atMs;
      if (observation.detail === waitsDetail) return;
      row.atMs.push(atMs);
      row.listed = false;
      return;
    }
    const worked = workedOf(observation);
    const known = this.#rows.get(worked ?? "");
    if (known && observation.kind === "marketConfig" && !known.listed) known.listed = true;
    else if (worked !== null) this.#rows.delete(worked);
    if (observation.kind !== "events") return;
    // A history that is read page by page may fail after its first page.
    const row = this.#rows.get(`${observation.source} ${observation.wallet ?? ""}`);
    if (row) row.partMs = atMs;
  }

  /** @param failing a kind of reads that fails whatever is tried, and since when */
  inARow(atMs: number, failing: { readonly source: string; readonly fromMs: number } | null): Range {
    let [low, high] = [0, 0];
    for (const [key, row] of this.#rows) {
      if (atMs - row.lastMs > triedWithinMs) continue;
      high = Math.max(high, row.atMs.length);
      const [source = ""] = key.split(" ");
      if (failing?.source !== source || !always.has(source)) continue;
      const fromMs = Math.max(failing.fromMs + settledMs, row.partMs);
      low = Math.max(low, row.atMs.filter((ms) => ms > fromMs && ms < atMs).length);
    }
    return { low, high };
  }
}
