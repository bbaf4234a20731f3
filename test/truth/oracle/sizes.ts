/** Sizes of positions as answers told them, over all lives of the daemon: what rules that look back at a size compare with. */
import type { Observation } from "../../../src/domain/observation.ts";
import type { Seen } from "./seen.ts";
import type { Truth } from "./truth.ts";
import { accountOf, symbolOf } from "./view.ts";

interface Sample {
  /** The daemon's clock, ms. */
  readonly atMs: number;
  /** Signed, base lots. */
  readonly lots: bigint;
  /** True before the market list was read: until then nobody knows how large a lot is. */
  readonly early: boolean;
}

interface Gap {
  readonly fromMs: number;
  readonly toMs: number;
  readonly aheadMs: number;
}

interface Past {
  /** Another one is another position. */
  readonly sequence: number;
  readonly samples: Sample[];
}

/** A size of before that may count. */
export interface Then {
  readonly lots: bigint;
  /** False: it may be too old to count. */
  readonly sure: boolean;
}

/** Longer than any window. */
const keptMs = 5 * 60_000;
/** An age at which no sample counts any more, ms. */
const oldestMs = 60_000;
/** After a longer time without answers the one before may have been too old to count, ms. */
const pauseMs = 5_000;
/** Times are kept in whole ms. */
const roundedMs = 1;

export class Sizes {
  readonly #seen: Seen;
  readonly #wallets: ReadonlySet<string>;
  readonly #past = new Map<string, Past>();
  /** Times of which nothing is known. */
  readonly #gaps: Gap[] = [];
  readonly #truth: Truth;

  /** @param wallets those whose sizes are asked for */
  constructor(seen: Seen, truth: Truth, wallets: readonly string[]) {
    this.#seen = seen;
    this.#truth = truth;
    this.#wallets = new Set(wallets);
  }

  /** Takes in what was just answered of accounts. */
  note({ wallet, pdaIndex, subaccounts, told, atMs }: Observation & { readonly kind: "accounts" }): void {
    if (!this.#wallets.has(wallet)) return;
    const prefix = `${wallet}/${pdaIndex}.`;
    const named = told ?? subaccounts.map(({ subaccount }) => subaccount);
    for (const account of named.map((subaccount) => prefix + subaccount)) {
      const positions = this.#seen.accounts.get(account)?.positions ?? [];
      for (const subject of [...this.#past.keys()])
        if (
          subject.startsWith(`${account}/`) &&
          !positions.some(({ symbol }) => subject === `${account}/${symbol}`)
        )
          this.#past.delete(subject);
      for (const { symbol, sequence, baseLots } of positions) {
        const subject = `${account}/${symbol}`;
        const before = this.#past.get(subject);
        const past = before?.sequence === sequence ? before : { sequence, samples: [] };
        this.#past.set(subject, past);
        past.samples.push({ atMs, lots: baseLots, early: !this.#seen.readMs.has("marketConfig") });
        while (past.samples[0]!.atMs < atMs - keptMs) past.samples.shift();
      }
    }
  }

  /** The answers of a time are not known. @param aheadMs by which the daemon's clock, which times it, is ahead */
  lose({ fromMs, toMs }: Pick<Gap, "fromMs" | "toMs">, aheadMs: number): void {
    this.#gaps.push({ fromMs, toMs, aheadMs });
  }

  /** True if from one time to another what counts so long before became another size, or came to be known again. */
  turns(fromMs: number, toMs: number, backMs: number): boolean {
    if (this.#gaps.some((gap) => gap.fromMs <= toMs - backMs && gap.toMs + oldestMs >= fromMs - backMs))
      return true;
    return [...this.#past.values()].some(({ samples }) =>
      samples.some(
        ({ atMs, lots }, index) =>
          atMs + backMs + roundedMs >= fromMs &&
          atMs + backMs - roundedMs <= toMs &&
          (samples[index - 1]?.lots !== lots || atMs - samples[index - 1]!.atMs > pauseMs),
      ),
    );
  }

  /** The sizes that may have counted at a time; none: it was not there, or was not seen for too long. @param freshMs surely young enough */
  at(subject: string, atMs: number, freshMs: number): readonly Then[] {
    const samples = this.#past.get(subject)?.samples ?? [];
    const after = samples.findIndex((one) => one.atMs > atMs);
    const gap = this.#gaps.findLast(({ fromMs }) => fromMs <= atMs);
    // Between the last answer before a gap and the first one after it there may have been others.
    if (gap && !samples.some((one) => one.atMs > gap.toMs && one.atMs <= atMs))
      return [
        samples.findLast((one) => one.atMs <= atMs),
        samples[after],
        ...this.#within(gap, subject),
      ].flatMap((one) => (one === undefined ? [] : [{ lots: one.lots, sure: false }]));
    const index = samples.findLastIndex((one) => one.atMs <= atMs);
    const found = [samples[index], samples.find((one) => Math.abs(one.atMs - atMs) <= roundedMs)];
    return found.flatMap((one) =>
      one === undefined || atMs - one.atMs > oldestMs
        ? []
        : [{ lots: one.lots, sure: index >= 0 && !one.early && atMs - one.atMs <= freshMs }],
    );
  }

  /** The sizes that a position had in a gap: the daemon may have seen each of them. */
  #within({ fromMs, toMs, aheadMs }: Gap, subject: string): readonly { readonly lots: bigint }[] {
    const states = this.#truth.accounts.get(accountOf(subject)) ?? [];
    return states
      .filter(({ ofMs }) => ofMs + aheadMs >= fromMs - oldestMs && ofMs + aheadMs <= toMs)
      .flatMap(({ positions }) => {
        const found = positions.find(({ symbol }) => symbol === symbolOf(subject));
        return found === undefined ? [] : [{ lots: found.baseLots }];
      });
  }
}
