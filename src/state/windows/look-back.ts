/** The periods that rules look back over, and the series that they read: the data to read from history at a start. */
import type { Scope } from "../../domain/subject.ts";
import { type RuleSet, rawUpToMs } from "../../rules/index.ts";
import { isProfit } from "../needs.ts";
import { parseSeries } from "./series.ts";

/** Look-back periods, ms, with the time for which a sample from before a window stays valid. */
export interface Reach {
  /** Period of the longest window. */
  readonly spanMs: number;
  /**
   * Period of the longest window that keeps single samples. Longer windows keep minutes, and may be fed minutes.
   */
  readonly samplesMs: number;
}

const [minuteMs, dayMs] = [60_000, 86_400_000];
const nothing: Reach = { spanMs: 0, samplesMs: 0 };

export class LookBack {
  readonly #reaches = new Map<Scope, Reach>();
  readonly #fields = new Set<string>();
  /** By the series of a profit whose drawdown is read, the series that the drawdown is measured against. */
  readonly falls = new Map<string, string>();

  constructor({ conditions, events, values }: Pick<RuleSet, "conditions" | "events" | "values">) {
    for (const { windows } of [...conditions, ...events, ...values]) {
      for (const { path, windowMs, staleAfterMs } of windows) {
        if (path.kind !== "field") continue;
        const spanMs = (windowMs === "today" ? 2 * dayMs : windowMs) + staleAfterMs;
        const samplesMs = windowMs !== "today" && windowMs <= rawUpToMs ? spanMs : 0;
        const known = this.of(path.scope);
        this.#reaches.set(path.scope, {
          spanMs: Math.max(known.spanMs, spanMs),
          samplesMs: Math.max(known.samplesMs, samplesMs),
        });
        for (const field of [path.field, path.companion])
          if (field !== null) this.#fields.add(`${path.scope}.${field}`);
        if (path.companion !== null && isProfit(path))
          this.falls.set(`${path.scope}.${path.field}`, `${path.scope}.${path.companion}`);
      }
    }
    // These give the profit of times at which it was not known (see profit-gaps.ts).
    for (const field of this.#fields.has("wallet.pnl") ? ["wallet.equity", "wallet.netDeposits"] : [])
      this.#fields.add(field);
    // A position that is missing in a sample of a whole account, or has changed sides, is another position.
    for (const field of this.#fields.size > 0 ? ["trader.collateral", "position.size"] : [])
      this.#fields.add(field);
  }

  of(...scopes: readonly Scope[]): Reach {
    const reaches = scopes.map((scope) => this.#reaches.get(scope) ?? nothing);
    return {
      spanMs: Math.max(...reaches.map(({ spanMs }) => spanMs)),
      samplesMs: Math.max(...reaches.map(({ samplesMs }) => samplesMs)),
    };
  }

  /** The longest period of all scopes, extended to the beginning of its minute, ms; 0: no rule looks back over samples. */
  get maxSpanMs(): number {
    const maxSpan = Math.max(0, ...[...this.#reaches.values()].map(({ spanMs }) => spanMs));
    return maxSpan === 0 ? 0 : maxSpan + minuteMs;
  }

  /** True if windows need a series. */
  isWanted(series: string): boolean {
    const parsed = parseSeries(series);
    return parsed !== null && this.#fields.has(`${parsed.scope}.${parsed.field}`);
  }
}
