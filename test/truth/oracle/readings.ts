/** Times at which each kind of data was last read in a life of the daemon, by its clock. */
import type { Observation } from "../../../src/domain/observation.ts";
import { isTold, type Life } from "./lives.ts";

/** An answer to each PDA index of a wallet makes a reading of it. Null: one was not read since the start. Undefined: not known. */
export type ReadMs = number | null | undefined;

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Step {
  readonly atMs: number;
  readonly readMs: ReadMs;
}

/** Kinds of observations that come from the exchange. */
const answers: ReadonlySet<string> = new Set([
  ...["accounts", "prices", "marketConfig", "collateralAssets", "fundingRate", "depth", "external"],
  ...["exchangeStatus", "traderView", "portfolio", "events", "backfill"],
]);

/** The name under which readings of the rules of collateral assets are kept: the second list of the schedule of market rules. */
export const assetRules = "collateral asset rules";

/** The name under which readings of anything are kept. */
const anything = "anything";

export class Readings {
  readonly #steps = new Map<string, Step[]>();
  readonly #parts = new Map<string, Map<number, number>>();
  readonly #indices: ReadonlyMap<string, readonly number[]>;
  /** Everything was forgotten: at the start, or in a time that is not recorded. */
  #forgotten: readonly { readonly atMs: number; readonly readMs: null | undefined }[] = [];
  startedMs: number | undefined;

  /** @param indices PDA indices that are read, by wallet */
  constructor({ told }: Life, indices: ReadonlyMap<string, readonly number[]>) {
    this.#indices = indices;
    let nowMs = Number.NEGATIVE_INFINITY;
    for (const one of told) {
      if (!isTold(one)) {
        this.#forget(one.toMs, undefined);
        continue;
      }
      const { observation } = one;
      // The daemon takes no time for an earlier one than before.
      nowMs = Math.max(nowMs, observation.atMs);
      this.#take(observation, nowMs);
    }
  }

  /** The last readings of a source up to a time; more than one where answers came in that very moment. */
  at(source: string, wallet: string, atMs: number): readonly ReadMs[] {
    return this.#at(`${source} ${wallet}`, atMs);
  }

  /** The same of the rules of collateral assets. */
  assetRulesAt(atMs: number): readonly ReadMs[] {
    return this.#at(assetRules, atMs);
  }

  /** The same of anything at all. */
  anyAt(atMs: number): readonly ReadMs[] {
    return this.#at(anything, atMs);
  }

  /** Times up to `toMs` in which a source was not read for longer than it may be; what nobody knows counts as such. */
  stale(source: string, wallet: string, limitMs: number, toMs: number): readonly Span[] {
    return this.#stale(`${source} ${wallet}`, limitMs, toMs);
  }

  /** The same of the rules of collateral assets. */
  staleAssetRules(limitMs: number, toMs: number): readonly Span[] {
    return this.#stale(assetRules, limitMs, toMs);
  }

  #stale(name: string, limitMs: number, toMs: number): readonly Span[] {
    const steps = [...this.#forgotten, ...(this.#steps.get(name) ?? [])]
      .filter((one) => one.atMs <= toMs)
      .sort((a, b) => a.atMs - b.atMs);
    return steps.map(({ atMs, readMs }, index) => {
      const untilMs = steps[index + 1]?.atMs ?? toMs;
      return {
        fromMs: Math.min(untilMs, Math.max(atMs, (readMs ?? atMs - limitMs) + limitMs)),
        toMs: untilMs,
      };
    });
  }

  #at(name: string, atMs: number): readonly ReadMs[] {
    const steps = [...this.#forgotten, ...(this.#steps.get(name) ?? [])]
      .filter((one) => one.atMs <= atMs)
      .sort((a, b) => a.atMs - b.atMs);
    const now = steps.filter((one) => one.atMs === atMs);
    return [...steps.slice(0, steps.length - now.length).slice(-1), ...now].map(({ readMs }) => readMs);
  }

  #forget(atMs: number, readMs: null | undefined): void {
    this.#forgotten = [...this.#forgotten, { atMs, readMs }];
    this.#parts.clear();
  }

  #take(observation: Observation, atMs: number): void {
    if (answers.has(observation.kind)) this.#note(anything, atMs, atMs);
    switch (observation.kind) {
      case "watching":
        if (!observation.reloaded) this.startedMs ??= atMs;
        if (!observation.wentOn) this.#forget(atMs, observation.reloaded ? undefined : null);
        return;
      case "calendar":
        if (observation.nextTransitionMs !== null) this.#note(anything, atMs, atMs);
        return;
      case "accounts":
        if (observation.told === undefined)
          this.#part("traderState", observation.wallet, observation.pdaIndex, atMs);
        return;
      case "prices":
        if (!observation.live) this.#note("markets ", atMs, atMs);
        for (const { symbol } of observation.markets) this.#note(`markets ${symbol}`, atMs, atMs);
        return;
      case "marketConfig":
        this.#note("marketConfig ", atMs, atMs);
        for (const { symbol } of observation.markets) this.#note(`marketConfig ${symbol}`, atMs, atMs);
        return;
      case "collateralAssets":
        this.#note(assetRules, atMs, atMs);
        return;
      case "events": {
        const { source, wallet, pdaIndex, live, past, wholeMs = atMs } = observation;
        // Older rows do not say that there is nothing newer, and an inbox nothing of the others.
        if (wallet === null || live || past || wholeMs === null) return;
        if (pdaIndex === undefined) this.#note(`${source} ${wallet}`, atMs, wholeMs);
        else this.#part(source, wallet, pdaIndex, atMs);
        return;
      }
      default:
    }
  }

  #part(source: string, wallet: string, index: number, atMs: number): void {
    const name = `${source} ${wallet}`;
    const parts = this.#parts.get(name) ?? new Map<number, number>();
    this.#parts.set(name, parts.set(index, atMs));
    const times = this.#indices.get(wallet)!.map((one) => parts.get(one));
    const known = times.flatMap((ms) => ms ?? []);
    if (known.length < times.length) return;
    this.#note(name, atMs, Math.min(...known));
  }

  #note(name: string, atMs: number, readMs: number): void {
    const steps = this.#steps.get(name) ?? [];
    this.#steps.set(name, steps);
    steps.push({ atMs, readMs });
  }
}
