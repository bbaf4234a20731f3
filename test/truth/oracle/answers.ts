/** The whole answers that reached the daemon: for each kind of data and wallet the newest ones, by when the exchange gave them. */
import type { World } from "../../../src/simulator/state.ts";
import type { EventLog } from "../log.ts";

interface Answer {
  readonly life: number;
  readonly atMs: number;
  readonly ofMs: number;
}

/** Kinds of data by the name of their schedule, with what their requests look like. */
const targets: readonly (readonly [schedule: string, target: RegExp])[] = [
  ["traderState", /^\/v1\/trader\/state\/(\w+)\?traderPdaIndex=(\d+)/],
  ["liquidations", /^\/v1\/users\/(\w+)\/liquidation-history\?pdaIndex=(\d+)/],
  ["markets", /^\/v1\/markets\/stats\/latest/],
  ["marketConfig", /^\/v1\/view\/exchange\/markets/],
  ["collateral", /^\/v1\/users\/(\w+)\/collateral-history\?limit=\d+()$/],
  // Inboxes are read by the addresses of accounts, new notifications and those that nobody acknowledged apart.
  ["notifications", /^\/v1\/traders\/(\w+)(?=\/notifications\?)(.*)$/],
  ["exchangeStatus", /^\/v1\/view\/exchange\/status/],
];

/** A turn of these asks for several lists and counts as a whole: lists of one turn do not stand in for those of another. */
const ofTurns: ReadonlySet<string> = new Set(["notifications"]);
/** The session was over: the same is asked again at once. */
const unauthorized = 401;

export class Answers {
  /** Times at which such a turn ended or a list of it was not to be had, by schedule and wallet. */
  readonly #breaksMs = new Map<string, number[]>();
  /** By schedule, wallet and PDA index, in the order of their arrival. */
  readonly #all = new Map<string, Answer[]>();

  constructor(log: EventLog, world: World) {
    const names = new Map(
      [...world.wallets.values()].flatMap(({ authority, name, accounts }) =>
        [authority, ...[...accounts.values()].map(({ address }) => address)].map(
          (one) => [one, name] as const,
        ),
      ),
    );
    /** The inbox with which each turn begins, and the answer before. */
    const turns = new Map<
      string,
      { readonly first: string; readonly last: string; readonly lastMs: number }
    >();
    for (const { target, status, garbled, life, atMs, ofMs } of log.of("asked")) {
      for (const [schedule, pattern] of targets) {
        const found = pattern.exec(target);
        if (!found) continue;
        const [, owner = "", index = ""] = found;
        const of = `${schedule} ${names.get(owner) ?? ""}`;
        const isWhole = status === 200 && garbled === null;
        if (ofTurns.has(schedule) && status !== unauthorized) {
          const turn = turns.get(of) ?? { first: owner, last: owner, lastMs: atMs };
          const breaks = this.#breaksMs.get(of) ?? [];
          if (owner === turn.first && turn.last !== owner) breaks.push(turn.lastMs);
          if (!isWhole) breaks.push(atMs);
          this.#breaksMs.set(of, breaks);
          turns.set(of, { ...turn, last: owner, lastMs: atMs });
        }
        if (!isWhole) continue;
        const key = `${of} ${owner} ${index}`;
        const answers = this.#all.get(key) ?? [];
        this.#all.set(key, answers);
        answers.push({ life, atMs, ofMs });
      }
    }
  }

  knows(schedule: string): boolean {
    return targets.some(([name]) => name === schedule);
  }

  /** True if anything was answered to a life of the daemon within some time. */
  anyWithin(life: number, fromMs: number, toMs: number): boolean {
    return [...this.#all.values()].some((answers) =>
      answers.some((one) => one.life === life && one.atMs >= fromMs && one.atMs <= toMs),
    );
  }

  /** The time up to which everything of this kind was answered, of all PDA indices that were ever asked. */
  completeTo(schedule: string, wallet: string, atMs: number): number {
    const of = `${schedule} ${wallet}`;
    const lists = [...this.#all].filter(([key]) => key.startsWith(`${of} `)).map(([, answers]) => answers);
    if (lists.length === 0) return Number.NEGATIVE_INFINITY;
    const between = (fromMs: number, toMs: number): number =>
      Math.min(
        ...lists.map((answers) =>
          Math.max(...answers.map((one) => (one.atMs > fromMs && one.atMs <= toMs ? one.ofMs : -Infinity))),
        ),
      );
    // Nothing in a turn fails that is whole.
    const breaks = [-Infinity, ...(this.#breaksMs.get(of) ?? []).filter((ms) => ms <= atMs), atMs];
    return Math.max(...breaks.slice(1).map((toMs, index) => between(breaks[index]!, toMs)));
  }
}
