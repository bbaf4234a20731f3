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

export class Answers {
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
    for (const { target, status, garbled, life, atMs, ofMs } of log.of("asked")) {
      if (status !== 200 || garbled !== null) continue;
      for (const [schedule, pattern] of targets) {
        const found = pattern.exec(target);
        if (!found) continue;
        const [, owner = "", index = ""] = found;
        const key = `${schedule} ${names.get(owner) ?? ""} ${owner} ${index}`;
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
    const newest = [...this.#all]
      .filter(([key]) => key.startsWith(`${schedule} ${wallet} `))
      .map(([, answers]) =>
        answers.reduce(
          (most, one) => (one.atMs <= atMs ? Math.max(most, one.ofMs) : most),
          Number.NEGATIVE_INFINITY,
        ),
      );
    return newest.length === 0 ? Number.NEGATIVE_INFINITY : Math.min(...newest);
  }
}
