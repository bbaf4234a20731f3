/**
 * The desk: a simulated exchange over real sockets, a cable to it that can be cut, the daemon as a process, a webhook that
 * keeps what was sent, and a recording of the truth. The exchange's clock begins a little before midnight.
 *
 * The daemon's clock is moved to the exchange's, so that profits of the day have a midnight to begin at. Prices stand still
 * but for what the scenes do to them.
 */
import { mkdirSync, mkdtempSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { transfer } from "../../src/simulator/accounts/collateral.ts";
import { setTriggers } from "../../src/simulator/accounts/orders.ts";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { transact } from "../../src/simulator/ledger/transaction.ts";
import type { Account, CollateralMove } from "../../src/simulator/state.ts";
import { Cable } from "./cable.ts";
import { DeskDaemon } from "./daemon.ts";
import { Receiver } from "./receiver.ts";
import { readMoment, Trace, tick } from "./truth.ts";
import { startPrices, wallets } from "./wallets.ts";

/** A time in which something cannot be read. */
export interface Trouble {
  /** `outage`: no connection at all. `refused`: 503. `limited`: 429. `down`: the daemon itself is not there. */
  readonly kind: "outage" | "refused" | "limited" | "down";
  /** None: all. */
  readonly wallets: readonly string[] | null;
  readonly fromMs: number;
  toMs: number;
}

/** A time in which the collateral history of a wallet does not show yet what happened. */
export interface LateHistory {
  readonly wallet: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** USD, signed. */
  readonly amount: number;
}

export interface Deed {
  readonly atMs: number;
  readonly text: string;
}

export interface SceneTime {
  readonly name: string;
  readonly fromMs: number;
  toMs: number;
}

export interface DeskOptions {
  readonly checkout: string;
  readonly seed: number;
  readonly say: (line: string) => void;
  /** From the beginning to midnight, ms. */
  readonly beforeMidnightMs: number;
}

/** The exchange's clock begins a little before. */
export const midnightMs = Date.parse("2026-03-03T00:00:00Z");
/** Percent an hour, of every market: above 0, as on the exchange, so that its unit shows. */
export const usualRate = "0.001";
const sampleMs = 100;

export class Desk {
  readonly simulator: Simulator;
  readonly cable: Cable;
  readonly receiver: Receiver;
  readonly daemon: DeskDaemon;
  readonly trace = new Trace();
  readonly troubles: Trouble[] = [];
  readonly lateHistories: LateHistory[] = [];
  /** All deposits and withdrawals, with when the history shows them. */
  readonly flows: LateHistory[] = [];
  readonly deeds: Deed[] = [];
  readonly announcements: Deed[] = [];
  readonly scenes: SceneTime[] = [];
  readonly folder: string;
  readonly say: (line: string) => void;
  /** The time at which the daemon first said that it watches, ms. */
  startedMs = Number.NaN;
  /** The longest time by which this script's own timers were late, ms. */
  worstLagMs = 0;
  readonly #spotPaid = new Map<string, number>();
  readonly #lateByMs = new Map<string, number>();
  #dirty = true;
  #sampling = true;

  /** Spot collateral, SOL: what is paid in or taken out is no profit and no loss. */
  async spot(wallet: string, units: number): Promise<void> {
    const { world } = this.simulator;
    const before = Number(this.account(wallet).spot ?? 0n) / 1e9;
    const usd = (units - before) * world.markets.get("SOL")!.oracleTicks * tick.SOL!;
    this.#spotPaid.set(wallet, (this.#spotPaid.get(wallet) ?? 0) + usd);
    await this.call("spot-collateral", { trader: wallet, balance: String(units) });
    this.note(`${wallet}: ${units} SOL of spot collateral, ${before} before`);
  }

  private constructor(parts: Pick<Desk, "simulator" | "cable" | "receiver" | "daemon" | "folder" | "say">) {
    this.simulator = parts.simulator;
    this.cable = parts.cable;
    this.receiver = parts.receiver;
    this.daemon = parts.daemon;
    this.folder = parts.folder;
    this.say = parts.say;
    this.simulator.world.listeners.add(() => {
      this.#dirty = true;
    });
  }

  static async open({ checkout, seed, say, beforeMidnightMs }: DeskOptions): Promise<Desk> {
    const folder = mkdtempSync(path.join(os.tmpdir(), "perpwatch-desk-"));
    mkdirSync(path.join(folder, "keys"));
    const simulator = await startSimulator({
      seed,
      traders: 0,
      startMs: midnightMs - beforeMidnightMs,
      // A day of prices before, which then stand still.
      walk: true,
      activity: false,
      keysDir: path.join(folder, "keys"),
    });
    const shiftMs = simulator.nowMs() - Date.now();
    const now = () => Date.now() + shiftMs;
    for (const [symbol, price] of Object.entries(startPrices)) {
      await simulator.call("mark-price", { symbol, price: String(price) });
      await simulator.call("funding-rate", { symbol, ratePercentage: usualRate });
    }
    for (const { name, accounts } of wallets) {
      await simulator.call("trader", { name });
      for (const { collateral, holdings, ...place } of accounts) {
        await simulator.call("collateral", { trader: name, ...place, amount: String(collateral) });
        for (const { symbol, size, stop } of holdings) {
          const stopLossPrice = stop === undefined ? {} : { stopLossPrice: String(stop) };
          await simulator.call("position", {
            trader: name,
            ...place,
            symbol,
            size: String(size),
            ...stopLossPrice,
          });
        }
      }
    }
    const cable = await Cable.to(simulator.url);
    const receiver = await Receiver.start(now);
    const keyFiles = new Map(simulator.traders.map(({ name, keyFile }) => [name, keyFile!]));
    const hookUrl = receiver.url;
    const daemon = new DeskDaemon({
      checkout,
      folder,
      exchangeUrl: cable.url,
      hookUrl,
      keyFiles,
      shiftMs,
      now,
    });
    const desk = new Desk({ simulator, cable, receiver, daemon, folder, say });
    for (const { name, spot } of wallets) if (spot !== undefined) await desk.spot(name, spot);
    return desk;
  }

  now(): number {
    return this.simulator.nowMs();
  }

  /** Starts the daemon for the first time, and the recording of the truth. */
  async start(): Promise<void> {
    this.sample();
    void this.#record();
    await this.daemon.start();
    this.startedMs = this.now();
    this.note("the daemon watches");
  }

  async #record(): Promise<void> {
    for (let expected = performance.now(); this.#sampling; ) {
      expected = performance.now() + sampleMs;
      await sleep(sampleMs);
      this.worstLagMs = Math.max(this.worstLagMs, performance.now() - expected);
      this.now();
      if (this.#dirty) this.sample();
    }
  }

  /** Writes down what the exchange holds now. */
  sample(): void {
    this.#dirty = false;
    this.trace.moments.push(readMoment(this.simulator.world, this.now(), this.#spotPaid));
  }

  /** Writes down an act of the script. */
  note(text: string): void {
    this.deeds.push({ atMs: this.now(), text });
    this.say(`${time(this.now())}    ${text}`);
  }

  async pause(ms: number): Promise<void> {
    await sleep(ms);
  }

  // ── the exchange ────────────────────────────────────────────────────────────────────────────────────────────────

  async price(symbol: string, price: number): Promise<void> {
    await this.simulator.call("mark-price", { symbol, price: price.toFixed(4) });
    this.sample();
  }

  /** Moves marks in a straight line to multiples of what they are now, a step each so many ms. */
  async move(factors: Readonly<Record<string, number>>, overMs: number, stepMs = 1_000): Promise<void> {
    const from = this.trace.moments.at(-1)!.marks;
    this.note(
      `marks move by ${Object.entries(factors)
        .map(([symbol, one]) => `${symbol} ${((one - 1) * 100).toFixed(1)} %`)
        .join(", ")} within ${overMs / 1_000} s`,
    );
    const steps = Math.max(1, Math.round(overMs / stepMs));
    const began = performance.now();
    for (let n = 1; n <= steps; n++) {
      await sleep(Math.max(0, began + n * stepMs - performance.now()));
      for (const [symbol, factor] of Object.entries(factors))
        await this.price(symbol, from[symbol]! * (1 + (factor - 1) * (n / steps)));
    }
  }

  /** Moves marks to prices. */
  async moveTo(prices: Readonly<Record<string, number>>, overMs: number, stepMs = 1_000): Promise<void> {
    const { marks } = this.trace.moments.at(-1)!;
    const factors = Object.entries(prices).map(
      ([symbol, price]) => [symbol, price / marks[symbol]!] as const,
    );
    await this.move(Object.fromEntries(factors), overMs, stepMs);
  }

  /** An announcement of the exchange to every wallet. */
  async announce(title: string): Promise<void> {
    this.announcements.push({ atMs: this.now(), text: title });
    await this.call("notification", { source: "admin", notificationType: "maintenance", title });
    this.note(`announcement: ${title}`);
  }

  async call(name: string, body: object): Promise<void> {
    await this.simulator.call(name, body);
    this.sample();
  }

  account(wallet: string, place = "0.0"): Account {
    const { authority } = this.simulator.traders.find(({ name }) => name === wallet)!;
    return this.simulator.world.wallets.get(authority)!.accounts.get(place)!;
  }

  /** A deposit (positive) or a withdrawal (negative), USD. */
  async flow(wallet: string, amount: number, place = "0.0"): Promise<void> {
    const [pdaIndex, subaccountIndex] = place.split(".").map(Number);
    const after = this.account(wallet, place).collateral + BigInt(Math.round(amount * 1e6));
    const lateMs = this.#lateByMs.get(wallet);
    const fromMs = this.now();
    this.flows.push({ wallet, fromMs, toMs: fromMs + (lateMs ?? 0), amount });
    if (lateMs !== undefined) this.lateHistories.push({ wallet, fromMs, toMs: fromMs + lateMs, amount });
    await this.call("collateral", { trader: wallet, pdaIndex, subaccountIndex, amount: decimal(after) });
    this.note(`${wallet}/${place}: ${amount > 0 ? "deposit" : "withdrawal"} of $${Math.abs(amount)}`);
  }

  /** Moves money between two accounts of a wallet, USD. */
  transfer(wallet: string, from: string, to: string, amount: number): void {
    const lots = BigInt(Math.round(amount * 1e6));
    transact(this.simulator.world, (tx) =>
      transfer(tx, this.account(wallet, from), this.account(wallet, to), lots),
    );
    this.sample();
    this.note(`${wallet}: transfer of $${amount} from ${from} to ${to}`);
  }

  /** The collateral history of a wallet shows what happens from now on so much later. */
  delayHistory(wallet: string, lateMs: number): void {
    const { collateral } = this.account(wallet).wallet;
    this.#lateByMs.set(wallet, lateMs);
    const journal = collateral as { push(row: CollateralMove): void };
    const push = Object.getPrototypeOf(collateral).push as (row: CollateralMove) => void;
    journal.push = (row) => void setTimeout(() => push.call(collateral, row), lateMs);
  }

  /** Takes the stop losses and take profits of a wallet's cross account away. */
  loseStops(wallet: string): void {
    const account = this.account(wallet);
    transact(this.simulator.world, (tx) => {
      for (const symbol of account.positions.keys())
        setTriggers(tx, this.simulator.world.markets.get(symbol)!, account, []);
    });
    this.sample();
    this.note(`${wallet}: no stop loss any more`);
  }

  /** Statistics over HTTP have a mark of 0 for each market, until the faults are cleared. */
  zeroMarks(): void {
    const markets = [...this.simulator.world.markets.keys()];
    const set = Object.fromEntries(markets.map((_, index) => [`markets.${index}.mark_price`, 0]));
    this.simulator.faults.add({ ...noFault, path: "/v1/markets/stats/latest", set });
    this.note("statistics say that marks are 0");
  }

  // ── troubles ────────────────────────────────────────────────────────────────────────────────────────────────────

  #begin(kind: Trouble["kind"], of: readonly string[] | null): Trouble {
    const trouble = { kind, wallets: of, fromMs: this.now(), toMs: Number.POSITIVE_INFINITY };
    this.troubles.push(trouble);
    return trouble;
  }

  async outage(during: () => Promise<void>): Promise<void> {
    this.note("the exchange is gone");
    const trouble = this.#begin("outage", null);
    this.cable.cut();
    await during();
    this.cable.mend();
    trouble.toMs = this.now();
    this.note("the exchange is back");
  }

  /** 503 for everything that names one of these wallets or their accounts. */
  async refuse(names: readonly string[], during: () => Promise<void>): Promise<void> {
    this.note(`503 for ${names.join(", ")}`);
    const trouble = this.#begin("refused", names);
    for (const name of names) {
      const { wallet } = this.account(name);
      const accounts = [...wallet.accounts.values()].map(({ address }) => address);
      for (const key of [wallet.authority, ...accounts])
        for (const path of ["trader/state/", "trader/", "traders/", "users/", "view/trader/"])
          this.simulator.faults.add({ ...noFault, path: `/v1/${path}${key}*`, status: 503 });
    }
    await during();
    this.simulator.faults.clear();
    trouble.toMs = this.now();
    this.note("no more 503");
  }

  /** 429 for every request; streams that are open stay so. */
  async limit(during: () => Promise<void>): Promise<void> {
    this.note("429 for everything");
    const trouble = this.#begin("limited", null);
    this.simulator.faults.add({
      ...noFault,
      path: "/v1/*",
      status: 429,
      error: "rate_limited",
      retryAfter: "1",
    });
    await during();
    this.simulator.faults.clear();
    trouble.toMs = this.now();
    this.note("no more 429");
  }

  /** SIGKILL, and a new start after so long. */
  async restart(afterMs: number): Promise<void> {
    this.note("SIGKILL");
    const trouble = this.#begin("down", null);
    await this.daemon.kill();
    await sleep(afterMs);
    await this.daemon.start();
    trouble.toMs = this.now();
    this.note("the daemon watches again");
  }

  reload(changed: boolean): void {
    this.note(`SIGHUP with ${changed ? "a changed" : "an unchanged"} file`);
    this.daemon.reload(changed);
  }

  async close(): Promise<void> {
    this.#sampling = false;
    await this.daemon.kill("SIGTERM");
    await this.receiver.close();
    this.cable.close();
    await this.simulator.stop();
  }
}

const noFault = {
  method: null,
  times: null,
  status: null,
  error: null,
  delayMs: 0,
  retryAfter: null,
  body: undefined,
  drop: null,
  omit: [] as string[],
  set: {} as Record<string, unknown>,
} as const;

const decimal = (lots: bigint): string => {
  const digits = String(lots < 0n ? -lots : lots).padStart(7, "0");
  return `${lots < 0n ? "-" : ""}${digits.slice(0, -6)}.${digits.slice(-6)}`;
};

/** `00:04:12.3`, the exchange's time. */
export const time = (ms: number): string =>
  Number.isFinite(ms) ? new Date(ms).toISOString().slice(11, 21) : "–";
