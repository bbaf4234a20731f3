/**
 * Times at which everything about a wallet could be read, and what follows from it be written: the daemon watches, no trouble stands
 * between it and the exchange, and its disk takes commits.
 */
import type { Outcome } from "../scenario.ts";
import type { Fault } from "../weather.ts";

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A session that ends is begun anew within this, ms. */
const signInMs = 20_000;
/** Sign-ins that were refused again and again are tried again within this, ms. */
const signInAgainMs = 75_000;
const troubling: ReadonlySet<string> = new Set([
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
  "signInsRefused",
  "sessionsRevoked",
  "garbled",
  "streamsDown",
  "partErrors",
  // Decisions of that time are committed later.
  "diskFull",
]);
/** Commits that a full disk held up are written within this after it, ms. */
const heldMs = 6_000;

export class Clear {
  readonly #troubles: readonly (Span & { readonly wallets: readonly string[] | null })[];
  readonly #standstills: readonly Span[];
  readonly #lives: readonly Span[];
  readonly #endMs: number;

  constructor({ plan, log, endMs }: Outcome) {
    this.#endMs = endMs;
    const beginMs = log.entries[0]!.atMs;
    const { faults, life } = plan.troubles;
    const at = (ms: number) => beginMs + ms;
    this.#troubles = [
      ...faults
        .filter(({ kind }) => troubling.has(kind))
        .map((fault) => ({
          fromMs: at(fault.fromMs),
          toMs: at(fault.toMs) + lastsOnMs(fault),
          wallets: "wallets" in fault ? fault.wallets : null,
        })),
      ...plan.world.deeds.flatMap((deed) =>
        deed.kind === "session"
          ? [{ fromMs: at(deed.atMs), toMs: at(deed.atMs) + signInMs, wallets: [deed.wallet] }]
          : [],
      ),
      ...life
        .filter(({ kind }) => kind === "streamsBreak" || kind === "clock" || kind === "stall")
        .map((event) => ({
          fromMs: at(event.atMs),
          toMs: at(event.atMs) + (event.kind === "stall" ? event.ms : 0),
          wallets: null,
        })),
    ];
    this.#standstills = [
      ...life.flatMap((event) =>
        event.kind === "stall" ? [{ fromMs: at(event.atMs), toMs: at(event.atMs) + event.ms }] : [],
      ),
      ...faults
        .filter(({ kind }) => kind === "diskFull")
        .map((fault) => ({ fromMs: at(fault.fromMs), toMs: at(fault.toMs) + heldMs })),
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

  /** True if the process ran and its disk took what it wrote, all the time. */
  works(fromMs: number, toMs: number): boolean {
    return !this.#standstills.some((one) => one.fromMs <= toMs && one.toMs >= fromMs);
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

/** The time for which a fault is felt after its end, ms. */
function lastsOnMs(fault: Fault): number {
  if (fault.kind === "historiesLate") return fault.mostMs;
  if (fault.kind === "diskFull") return heldMs;
  return fault.kind === "signInsRefused" || fault.kind === "sessionsRevoked" ? signInAgainMs : 0;
}
