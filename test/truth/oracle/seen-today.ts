/** Fees and funding of today, by the fills and payments that the daemon was told of. */
import type { Event } from "../../../src/domain/event.ts";
import type { Observation } from "../../../src/domain/observation.ts";

const dayMs = 86_400_000;
/** The clocks of a day may be set by so much. */
const setMs = 3 * 3_600_000;
/** Another day begins for all wallets within this, ms. */
const turnMs = 2_000;

type Sums = "fills" | "funding";

export class Today {
  /** By wallet, then by key: kept over lives, since the daemon keeps what it was told. */
  readonly #fills = new Map<string, Map<string, Event>>();
  readonly #funding = new Map<string, Map<string, Event>>();
  /** Times after which everything was told since the start, as `source wallet/index`; without an index of the whole wallet, ms. */
  readonly #coversMs = new Map<string, number>();
  readonly #indices: ReadonlyMap<string, readonly number[]>;
  /** Events of a time are not known. */
  #isLost = false;
  readonly #midnights = new Map<number, number>();

  /** @param indices PDA indices that are read, by wallet */
  constructor(indices: ReadonlyMap<string, readonly number[]>) {
    this.#indices = indices;
  }

  /** A daemon that begins reads its histories anew. */
  forget(): void {
    this.#coversMs.clear();
  }

  /** Some events of a time were not recorded. */
  lose(): void {
    this.#isLost = true;
  }

  /** @returns true if it tells of something new */
  take({ source, wallet, pdaIndex, events, coversMs }: Observation & { readonly kind: "events" }): boolean {
    if (wallet === null) return false;
    if (coversMs !== undefined) this.#coversMs.set(`${source} ${wallet}/${pdaIndex ?? ""}`, coversMs);
    let isNew = false;
    for (const event of events) {
      const all = event.kind === "fill" ? this.#fills : event.kind === "funding" ? this.#funding : null;
      if (all === null) continue;
      const known = all.get(wallet) ?? new Map<string, Event>();
      all.set(wallet, known.set(event.key, event));
      isNew = true;
    }
    return isNew || coversMs !== undefined;
  }

  /** USD, positive: paid; undefined: not all of today was told, or nobody knows it. */
  fees(wallet: string, nowMs: number, timezone: string): number | undefined {
    const fromMs = this.#toldFromMs("fills", wallet, nowMs, timezone);
    if (fromMs === undefined) return undefined;
    return sumOf(this.#fills.get(wallet), "fee", ({ happenedMs }) => happenedMs >= fromMs);
  }

  /** USD, positive: received; undefined as of `fees`. The hour that ends at midnight is of the day before. */
  funding(wallet: string, nowMs: number, timezone: string): number | undefined {
    const fromMs = this.#toldFromMs("funding", wallet, nowMs, timezone);
    if (fromMs === undefined) return undefined;
    return sumOf(this.#funding.get(wallet), "payment", ({ happenedMs }) => happenedMs > fromMs);
  }

  /** The beginning of the day; undefined: not all that happened since then was told. */
  #toldFromMs(source: Sums, wallet: string, nowMs: number, timezone: string): number | undefined {
    const fromMs = this.#midnightMs(nowMs, timezone);
    if (this.#isLost || nowMs - fromMs < turnMs) return undefined;
    const names = source === "fills" ? [""] : (this.#indices.get(wallet) ?? []);
    const isTold = names.every(
      (index) => (this.#coversMs.get(`${source} ${wallet}/${index}`) ?? Number.POSITIVE_INFINITY) < fromMs,
    );
    return isTold ? fromMs : undefined;
  }

  /** The first moment of a day. */
  #midnightMs(nowMs: number, timezone: string): number {
    const minute = Math.floor(nowMs / 60_000);
    const known = this.#midnights.get(minute);
    if (known !== undefined) return known;
    const format = new Intl.DateTimeFormat("en-CA", { timeZone: timezone });
    const today = format.format(minute * 60_000);
    // Days follow each other, however clocks are set.
    let [low, high] = [minute - (dayMs + setMs) / 60_000, minute];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (format.format(middle * 60_000) === today) high = middle;
      else low = middle;
    }
    this.#midnights.set(minute, high * 60_000);
    return high * 60_000;
  }
}

function sumOf(
  events: ReadonlyMap<string, Event> | undefined,
  field: string,
  counts: (event: Event) => boolean,
): number {
  return [...(events?.values() ?? [])]
    .filter(counts)
    .reduce((sum, { fields }) => sum + (typeof fields[field] === "number" ? fields[field] : 0), 0);
}
