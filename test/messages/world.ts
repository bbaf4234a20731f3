/** A made-up exchange in memory, read every five seconds by a watch with the rules that ship: the figures are computed as live. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { OrderState, PositionState, SubaccountState, TriggerState } from "../../src/domain/account.ts";
import type { AlertChange, Severity } from "../../src/domain/alerts/alert.ts";
import type { Event } from "../../src/domain/event.ts";
import type { Observation } from "../../src/domain/observation.ts";
import type { Changes } from "../../src/domain/stored/changes.ts";
import type { Watch } from "../../src/engine/watch.ts";
import { formatProblem, loadRules } from "../../src/rules/index.ts";
import type { WatchedWallet } from "../../src/state/wallets/watched.ts";
import {
  event,
  Harness,
  type HarnessOptions,
  mainWallet,
  marketConfig,
  position,
  prices,
  scheduleMs,
  subaccount,
} from "../engine/harness.ts";
import { packs } from "./judged.ts";

export const startMs = Date.UTC(2026, 10, 21, 3, 40);
export const second = 1_000;
export const minute = 60 * second;
/** All is read so often, ms. */
const everyMs = 5 * second;

const walletOf = (name: string, labels: Readonly<Record<string, string>>): WatchedWallet =>
  name === "whale"
    ? { ...mainWallet, name, labels: { watch: "whale" }, watchOnly: true }
    : { ...mainWallet, name, labels };

/** Read of each wallet, from the beginning. */
const histories = ["liquidations", "fills", "collateral", "funding", "notifications", "orders"] as const;

export interface Holding {
  /** USD. */
  readonly collateral: number;
  /** By symbol: units (negative: short) and the entry price, USD. */
  readonly positions?: Readonly<Record<string, readonly [size: number, entry: number]>>;
  readonly stops?: readonly { readonly at: number; readonly size?: number }[];
  /** Bids of one unit each at these prices, USD. */
  readonly bids?: readonly number[];
}

interface Market {
  /** USD. */
  readonly mark: number;
  /** The price on other venues, USD; default: the mark. */
  readonly elsewhere?: number;
  /** A fraction an hour. */
  readonly ratePerHour?: number;
  readonly status?: string;
  readonly session?: readonly [state: string, nextMs: number];
  /** USD of bids and of asks near the mid price. */
  readonly depth?: readonly [bids: number, asks: number];
  /** A fraction. */
  readonly dailyMove?: number;
}

/** An alert that fires beside another one. */
export interface Standing {
  readonly id: number;
  readonly severity: Severity;
  readonly summary: string;
  /** Its condition no longer holds. */
  readonly gone?: boolean;
  /** Its value is better than where its level begins. */
  readonly until?: string;
}

interface WorldOptions extends Pick<HarnessOptions, "atMs" | "routing" | "capacities"> {
  readonly labels?: Readonly<Record<string, string>>;
  /** Default: all that ship. */
  readonly pack?: string;
}

/** A harness that notes with each change what else fires then, by the figures of that moment. */
class Noted extends Harness {
  readonly standing = new Map<number, readonly Standing[]>();
  readonly #firing = new Set<number>();

  override see(observation: Observation): Changes {
    const changes = super.see(observation);
    const firing = this.#firing;
    for (const { alert } of changes.alertChanges)
      alert.state === "firing" ? firing.add(alert.id) : firing.delete(alert.id);
    for (const { id, alertId } of changes.alertChanges)
      this.standing.set(
        id,
        [...firing].flatMap((other) => {
          const present = other === alertId ? null : this.watch.present(other, this.nowMs);
          return present === null || present.severity === "info" ? [] : [{ id: other, ...present }];
        }),
      );
    return changes;
  }
}

export class World {
  readonly #harness: Noted;
  readonly #markets = new Map<string, Market>();
  readonly #accounts = new Map<string, SubaccountState[]>();

  /** @param accounts by wallet: all there are   @param options of the watch; `labels` are those of every wallet */
  constructor(
    markets: Readonly<Record<string, Market>>,
    accounts: Readonly<Record<string, Holding>>,
    { labels = {}, pack = "", ...options }: WorldOptions = {},
  ) {
    const wallets = Object.keys(accounts).map((name) => walletOf(name, labels));
    const files = readdirSync(packs)
      .filter((name) => name.endsWith(".yaml") && !name.endsWith(".test.yaml") && name.startsWith(pack))
      .map((name) => ({ name, text: readFileSync(path.join(packs, name), "utf8") }));
    const loaded = loadRules({ files, overrides: {}, scheduleMs, wallets, timezone: "UTC" });
    if ("problems" in loaded) throw new Error(loaded.problems.map(formatProblem).join("\n"));
    this.#harness = new Noted({
      rules: loaded.ruleSet,
      wallets,
      atMs: startMs,
      ...options,
      pairs: accounts.hedge ? [{ name: "basis", legs: ["main/SOL", "hedge/SOL"], tolerance: 0.02 }] : [],
    });
    for (const [symbol, market] of Object.entries(markets)) this.#markets.set(symbol, market);
    for (const [wallet, holding] of Object.entries(accounts)) this.#hold(wallet, holding);
    this.#read();
  }

  get nowMs(): number {
    return this.#harness.nowMs;
  }

  /** All that was decided. */
  get all(): readonly Changes[] {
    return this.#harness.all;
  }

  /** The other alerts that fired at each change, by the change's id. */
  get standing(): ReadonlyMap<number, readonly Standing[]> {
    return this.#harness.standing;
  }

  get watch(): Watch {
    return this.#harness.watch;
  }

  get changes(): readonly AlertChange[] {
    return this.#harness.changes;
  }

  /** Changes the world, which is read at once. */
  set(
    markets: Readonly<Record<string, Partial<Market>>>,
    accounts: Readonly<Record<string, Holding>> = {},
  ): this {
    for (const [symbol, market] of Object.entries(markets))
      this.#markets.set(symbol, { ...this.#markets.get(symbol)!, ...market });
    for (const [wallet, holding] of Object.entries(accounts)) this.#hold(wallet, holding);
    this.#read();
    return this;
  }

  pass(ms: number): this {
    const untilMs = this.nowMs + ms;
    while (this.nowMs < untilMs) {
      this.#harness.pass(Math.min(everyMs, untilMs - this.nowMs));
      this.#read();
    }
    return this;
  }

  /** Time passes without a reading. */
  wait(ms: number): this {
    this.#harness.pass(ms);
    return this;
  }

  /** An event that was just told of. @param agoMs since it happened */
  happens(
    of: Partial<Event> & Pick<Event, "kind" | "key">,
    source: Parameters<Harness["events"]>[0],
    agoMs: number,
  ): this {
    const wallet = of.wallet ?? "main";
    const { nowMs, slot } = this.#harness;
    this.#harness.events(
      source,
      [event({ wallet, happenedMs: nowMs - agoMs, seenMs: nowMs, slot, ...of })],
      wallet,
    );
    return this;
  }

  /** Somebody acknowledges the newest firing alert of a rule. @param wallet default: any */
  acknowledge(rule: string, by: string, wallet?: string): this {
    const alert = this.changes
      .map((change) => change.alert)
      .findLast((one) => one.rule === rule && (wallet === undefined || one.wallet === wallet))!;
    this.#harness.see({ kind: "acknowledged", atMs: this.nowMs, alert, by, comment: "" });
    return this;
  }

  #hold(wallet: string, { collateral, positions = {}, stops = [], bids = [] }: Holding): void {
    const held = Object.entries(positions).map(
      ([symbol, [size, entry]]): PositionState => ({
        ...position(size, entry, symbol),
        triggers: stops.map(
          ({ at, size: most }, index): TriggerState => ({
            kind: "stopLoss",
            id: String(index),
            triggerPriceTicks: BigInt(Math.round(at * 100)),
            executionPriceTicks: BigInt(Math.round(at * (size > 0 ? 98 : 102))),
            side: size > 0 ? "ask" : "bid",
            maxSizeLots: most === undefined ? null : BigInt(most * 100),
            percent: null,
            status: "active",
          }),
        ),
      }),
    );
    const orders = bids.map(
      (price, index): OrderState => ({
        ...{ symbol: "SOL", sequence: String(index), side: "bid", kind: "limit", status: "active" },
        ...{ priceTicks: BigInt(price * 100), remainingLots: 100n, initialLots: 100n },
        ...{ reduceOnly: false, stopLoss: false },
      }),
    );
    this.#accounts.set(wallet, [subaccount(collateral, held, { orders })]);
  }

  #read(): void {
    const h = this.#harness;
    const markets = [...this.#markets];
    h.config(...markets.map(([symbol, { status = "active" }]) => marketConfig(symbol, { status })));
    h.mark(
      ...markets.map(([symbol, { mark, ratePerHour = 0 }]) => ({
        ...prices(mark, symbol),
        exchangeMs: h.nowMs,
        statedFundingRate: ratePerHour,
      })),
    );
    for (const [
      symbol,
      { mark, elsewhere = mark, ratePerHour = 0, session, depth = [1e6, 1e6], dailyMove = 0.05 },
    ] of markets) {
      const [sessionState, nextTransitionMs] = session ?? ["open", null];
      const of = { symbol, atMs: h.nowMs };
      h.see({ kind: "fundingRate", ...of, ratePerHour, exchangeMs: h.nowMs });
      h.see({ kind: "external", ...of, externalPriceUsd: elsewhere, dailyVolatility: dailyMove });
      h.see({ kind: "calendar", ...of, sessionState, nextTransitionMs });
      h.see({
        ...{ kind: "depth", ...of },
        ...{ bid: mark - 0.02, ask: mark + 0.02, bidDepth50BpsUsd: depth[0], askDepth50BpsUsd: depth[1] },
      });
    }
    for (const [wallet, subaccounts] of this.#accounts) {
      h.account(subaccounts, wallet);
      for (const source of histories) h.events(source, [], wallet, { pdaIndex: 0, coversMs: 0 });
    }
  }
}
