/** Times at which everything about a wallet could be read: the daemon watches, and no trouble stands between it and the exchange. */
import type { Outcome } from "../scenario.ts";

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A session that ends is begun anew within this, ms. */
const signInMs = 20_000;
const exchangeFaults: ReadonlySet<string> = new Set([
  "outage",
  "limited",
  "errors",
  "slow",
  "cutOff",
  "framesLost",
  "framesTwice",
  "framesLate",
  "halfOpen",
  "historiesLate",
]);

export class Clear {
  readonly #troubles: readonly (Span & { readonly wallets: readonly string[] | null })[];
  readonly #lives: readonly Span[];
  readonly #endMs: number;

  constructor({ plan, log, endMs }: Outcome) {
    this.#endMs = endMs;
    const beginMs = log.entries[0]!.atMs;
    const { faults, life } = plan.troubles;
    const at = (ms: number) => beginMs + ms;
    this.#troubles = [
      ...faults
        .filter(({ kind }) => exchangeFaults.has(kind))
        .map((fault) => ({
          fromMs: at(fault.fromMs),
          toMs: at(fault.toMs) + (fault.kind === "historiesLate" ? fault.mostMs : 0),
          wallets: fault.kind === "errors" || fault.kind === "historiesLate" ? fault.wallets : null,
        })),
      ...plan.world.deeds.flatMap((deed) =>
        deed.kind === "session"
          ? [{ fromMs: at(deed.atMs), toMs: at(deed.atMs) + signInMs, wallets: [deed.wallet] }]
          : [],
      ),
      ...life
        .filter(({ kind }) => kind === "streamsBreak" || kind === "clock")
        .map(({ atMs }) => ({ fromMs: at(atMs), toMs: at(atMs), wallets: null })),
    ];
    const lives: Span[] = [];
    for (const { atMs, kind, ...entry } of log.entries) {
      if (kind !== "life" || !("text" in entry)) continue;
      if (entry.text === "watches") lives.push({ fromMs: atMs, toMs: endMs });
      else if (["is killed", "is told to stop"].includes(entry.text) && lives.length > 0)
        lives.push({ fromMs: lives.pop()!.fromMs, toMs: atMs });
    }
    this.#lives = lives;
  }

  /** Since when the daemon watches for the first time. */
  get watchedFromMs(): number {
    return this.#lives[0]?.fromMs ?? this.#endMs;
  }

  /** True if everything about a wallet (null: about the exchange) could be read all the time. */
  all(fromMs: number, toMs: number, wallet: string | null): boolean {
    return (
      this.#lives.some((life) => life.fromMs <= fromMs && toMs <= life.toMs) &&
      !this.#troubles.some(
        (one) =>
          one.fromMs <= toMs &&
          one.toMs >= fromMs &&
          (one.wallets === null || wallet === null || one.wallets.includes(wallet)),
      )
    );
  }

  /** End of the first time of this length that is clear, at or after a moment; null: there is none before the end. */
  after(atMs: number, lengthMs: number, wallet: string | null): number | null {
    const starts = [
      atMs,
      ...this.#lives.map(({ fromMs }) => fromMs),
      ...this.#troubles.map(({ toMs }) => toMs + 1),
    ]
      .filter((ms) => ms >= atMs)
      .sort((a, b) => a - b);
    const start = starts.find((ms) => ms + lengthMs <= this.#endMs && this.all(ms, ms + lengthMs, wallet));
    return start === undefined ? null : start + lengthMs;
  }
}
