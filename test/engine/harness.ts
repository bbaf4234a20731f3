/** A watch on one small world, driven observation by observation. Everything that it decides is kept for the test. */
import assert from "node:assert/strict";
import { acknowledgeSettings } from "../../src/alerts/acknowledge.ts";
import { remindSettings } from "../../src/alerts/reminders/remind.ts";
import { inhibitSettings } from "../../src/alerts/routing/inhibit.ts";
import { routingSettings } from "../../src/alerts/routing/route.ts";
import type {
  MarketConfig,
  MarketPrices,
  OrderState,
  PositionState,
  SubaccountState,
} from "../../src/domain/account.ts";
import type { Alert, AlertChange, RuleState } from "../../src/domain/alerts/alert.ts";
import { type Event, eventName } from "../../src/domain/event.ts";
import type { DaemonFigures, Observation } from "../../src/domain/observation.ts";
import { type Source, sources } from "../../src/domain/sources.ts";
import type { Changes, FactChange } from "../../src/domain/stored/changes.ts";
import { type FactKind, factName } from "../../src/domain/stored/facts.ts";
import { factKinds } from "../../src/engine/fact-kinds.ts";
import { keptKinds } from "../../src/engine/kept-kinds.ts";
import { nothingRemembered, type Remembered } from "../../src/engine/remembered.ts";
import type { WatchSettings } from "../../src/engine/settings.ts";
import { Watch } from "../../src/engine/watch.ts";
import { keptEvent } from "../../src/evaluate/events/held-events.ts";
import { formatProblem, loadRules, type RuleSet } from "../../src/rules/index.ts";
import type { WatchedPair, WatchedWallet } from "../../src/state/wallets/watched.ts";

export const startMs = Date.UTC(2026, 0, 5, 12);

export const scheduleMs = Object.fromEntries(sources.map((source) => [source, 5_000])) as Record<
  Source,
  number
>;

export const mainWallet: WatchedWallet = {
  name: "main",
  authority: "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD",
  labels: { desk: "alpha" },
  limits: {},
  watchOnly: false,
};

export function rulesOf(
  text: string,
  wallets: readonly WatchedWallet[] = [mainWallet],
  everyMs: Record<Source, number> = scheduleMs,
): RuleSet {
  const loaded = loadRules({
    files: [{ name: "test.yaml", text }],
    overrides: {},
    scheduleMs: everyMs,
    wallets,
    timezone: "UTC",
  });
  if ("problems" in loaded) throw new Error(loaded.problems.map(formatProblem).join("\n"));
  return loaded.ruleSet;
}

/** SOL as in the contract's examples: ticks of 0.01 USD, lots of 0.01 SOL, 15× leverage, maintenance 50 %. */
export function marketConfig(symbol = "SOL", over: Partial<MarketConfig> = {}): MarketConfig {
  return {
    symbol,
    assetId: 1,
    status: "active",
    tickSize: 100,
    baseLotsDecimals: 2,
    takerFee: 0.00035,
    makerFee: 0,
    leverageTiers: [{ maxLeverage: 15, maxSizeBaseLots: 10_000_000n, limitOrderRiskFactorBps: 6_000 }],
    riskFactors: {
      maintenance: 5_000,
      backstop: 2_000,
      highRisk: 1_000,
      upnl: 10_000,
      upnlForWithdrawals: 100,
      cancelOrder: 7_500,
    },
    fundingIntervalSeconds: 3_600,
    openInterestCapBaseLots: 1_000_000_000n,
    isolatedOnly: false,
    maxLiquidationSizeBaseLots: 10_000_000n,
    maxFundingRatePercent: 0.2,
    commodityStatus: null,
    ...over,
  };
}

/** Figures of a daemon at rest. */
export const figures: DaemonFigures = {
  host: "desk",
  failingReads: "",
  waitingChannels: "",
  refusedWallets: "",
  signingWallets: 1,
  signedOutWallets: 0,
  loginTextRefused: "",
  signerUnavailable: "",
  lagMs: 0,
  loopLagMs: 0,
  failedPolls: 0,
  clockOffsetMs: 0,
  streamConnected: true,
  budgetUsed: 0,
  rateLimited: false,
  undelivered: 0,
  oldestUndeliveredMs: 0,
  databaseBytes: 0,
  authFailures: 0,
  repeatedAuthFailures: 0,
  deadMessages: 0,
  badRecords: 0,
};

export function prices(markPriceUsd: number, symbol = "SOL"): MarketPrices {
  return {
    symbol,
    exchangeMs: startMs,
    markPriceUsd,
    oraclePriceUsd: markPriceUsd,
    openInterestUnits: 100_000,
    dayVolumeUsd: 1e6,
    prevDayMarkPriceUsd: markPriceUsd,
    statedFundingRate: 0,
  };
}

/** A position of `size` units at `entry` USD. */
export function position(size: number, entry: number, symbol = "SOL"): PositionState {
  const lots = BigInt(Math.round(size * 100));
  return {
    symbol,
    baseLots: lots,
    virtualQuoteLots: -BigInt(Math.round(size * entry * 1e6)),
    unsettledFundingQuoteLots: 0n,
    accumulatedFundingQuoteLots: 0n,
    sequence: "1",
    triggers: [],
  };
}

export function subaccount(
  collateralUsd: number,
  positions: readonly PositionState[],
  over: Partial<SubaccountState> = {},
): SubaccountState {
  return {
    subaccount: 0,
    sequence: 1,
    collateralQuoteLots: BigInt(Math.round(collateralUsd * 1e6)),
    spotCollaterals: [],
    lifecycle: "active",
    capabilities: {},
    positions,
    orders: [] as OrderState[],
    ...over,
  };
}

export function event(over: Partial<Event> & Pick<Event, "kind" | "key">): Event {
  return {
    wallet: "main",
    pdaIndex: 0,
    subaccount: 0,
    symbol: "SOL",
    happenedMs: startMs,
    seenMs: startMs,
    slot: 1,
    slotIndex: 0,
    eventIndex: 0,
    fields: {},
    data: null,
    backfilled: false,
    inbox: null,
    notificationKey: null,
    ...over,
  };
}

export function notification(key: string, notificationType: string, over: Partial<Event> = {}): Event {
  const item = {
    type: "event",
    slot: 1,
    slotIndex: 0,
    instructionIndex: 0,
    eventIndex: 0,
    recipientIndex: 0,
  } as const;
  return event({
    kind: "notification",
    key,
    fields: { source: "event", type: notificationType },
    inbox: {
      source: "event",
      notificationType,
      traderPubkey: "6JMzcBHW9QMNkeXGLvD37tn4Y5gMrBiBTBVkUp6WEVye",
      item,
      acked: false,
      liquidationKey: null,
    },
    ...over,
  });
}

export interface HarnessOptions {
  readonly rules: string | RuleSet;
  readonly wallets?: readonly WatchedWallet[];
  readonly acknowledge?: object;
  readonly inhibit?: unknown;
  readonly routing?: object;
  readonly remind?: object;
  readonly remembered?: Remembered;
  readonly channels?: readonly string[];
  readonly capacities?: WatchSettings["capacities"];
  readonly atMs?: number;
  readonly reloaded?: boolean;
  readonly timezone?: string;
  readonly pairs?: readonly WatchedPair[];
  readonly named?: WatchSettings["named"];
  readonly advice?: WatchSettings["advice"];
  readonly drills?: boolean;
  /** Schedules that are not of 5 s. */
  readonly everyMs?: Partial<Record<Source, number>>;
}

/** Settings of a watch with the defaults of tests: one wallet, one receiver, UTC. */
export function settingsOf(options: HarnessOptions): WatchSettings {
  const wallets = options.wallets ?? [mainWallet];
  return {
    wallets,
    ruleSet: typeof options.rules === "string" ? rulesOf(options.rules, wallets) : options.rules,
    routing: routingSettings.parse(options.routing ?? { receivers: ["chat"] }),
    inhibit: inhibitSettings.parse(options.inhibit ?? []),
    remind: remindSettings.parse(options.remind ?? {}),
    acknowledge: acknowledgeSettings.parse(options.acknowledge ?? {}),
    scheduleMs: { ...scheduleMs, ...options.everyMs },
    timezone: options.timezone ?? "UTC",
    ...(options.capacities ? { capacities: options.capacities } : {}),
    ...(options.channels ? { channels: options.channels } : {}),
    ...(options.reloaded ? { reloaded: true } : {}),
    ...(options.pairs ? { pairs: options.pairs } : {}),
    ...(options.named ? { named: options.named } : {}),
    ...(options.advice ? { advice: options.advice } : {}),
    ...(options.drills === undefined ? {} : { drills: options.drills }),
  };
}

export class Harness {
  watch: Watch;
  readonly all: Changes[] = [];
  /** The alert changes of the first so many of them. */
  #gathered: { of: number; readonly changes: AlertChange[] } = { of: 0, changes: [] };
  readonly asks: string[] = [];
  readonly notes: string[] = [];
  readonly #before: Remembered;
  nowMs: number;
  slot = 1;

  constructor(options: HarnessOptions) {
    this.#before = options.remembered ?? nothingRemembered;
    this.nowMs = options.atMs ?? startMs;
    this.watch = new Watch(settingsOf(options), this.#before, this.nowMs);
  }

  /** A harness that has read the market, with this mark, and the account. */
  static seeing(options: HarnessOptions, markUsd: number, subaccounts?: readonly SubaccountState[]): Harness {
    const harness = new Harness(options);
    harness.config();
    harness.mark(markUsd);
    if (subaccounts) harness.account(subaccounts);
    return harness;
  }

  /** The start after this run, with what a store would give back to it. */
  restarted(options: HarnessOptions, afterMs = 1_000): Harness {
    const after = new Harness({ ...options, remembered: this.remembered, atMs: this.nowMs + afterMs });
    after.slot = this.slot;
    return after;
  }

  /** Goes on with other rules or settings, as at a reload. */
  reload(options: HarnessOptions): void {
    const settings = settingsOf({ ...options, reloaded: true });
    this.watch = new Watch(settings, this.remembered, this.nowMs, this.watch);
  }

  see(observation: Observation): Changes {
    // Nobody writes into what a watch is fed: the recording holds on to it, and answers share what is the same.
    freeze(observation);
    const { changes, asks, notes } = this.watch.observe(observation);
    this.notes.push(...notes.map((note) => note.text));
    this.all.push(changes);
    for (const ask of asks) this.asks.push(`${ask.source} ${ask.wallet}`);
    return changes;
  }

  /** Lets time pass second by second, as the live loop does at least. */
  pass(ms: number): void {
    const untilMs = this.nowMs + ms;
    while (this.nowMs < untilMs) {
      this.nowMs = Math.min(
        untilMs,
        this.nowMs + 1_000,
        Math.max(this.nowMs + 1, this.watch.nextDeadlineMs() ?? untilMs),
      );
      this.see({ kind: "time", atMs: this.nowMs });
    }
  }

  account(subaccounts: readonly SubaccountState[], wallet = "main"): Changes {
    this.slot += 10;
    const { nowMs: atMs, slot } = this;
    return this.see({ kind: "accounts", wallet, pdaIndex: 0, atMs, slot, slotIndex: 0, subaccounts });
  }

  mark(...usd: readonly (number | MarketPrices)[]): Changes {
    const markets = usd.map((one) => (typeof one === "number" ? prices(one) : one));
    return this.see({ kind: "prices", atMs: this.nowMs, markets });
  }

  config(...markets: readonly MarketConfig[]): Changes {
    return this.see({
      kind: "marketConfig",
      atMs: this.nowMs,
      markets: markets.length > 0 ? markets : [marketConfig()],
    });
  }

  events(
    source: Source,
    events: readonly Event[],
    wallet: string | null = "main",
    of: { readonly pdaIndex?: number; readonly past?: boolean; readonly coversMs?: number } = {},
  ): Changes {
    return this.see({ kind: "events", source, wallet, atMs: this.nowMs, events, ...of });
  }

  /** Fresh answers of everything that risk and endings read, every `everyMs`, for `ms`. */
  live(ms: number, subaccounts: readonly SubaccountState[], markUsd: number, everyMs = 5_000): void {
    for (let passed = 0; passed < ms; passed += everyMs) {
      this.pass(everyMs);
      this.config();
      this.mark(markUsd);
      this.account(subaccounts);
      this.events("liquidations", []);
    }
  }

  /** `rule subject kind severity[ ending]`, in order. */
  get told(): string[] {
    return this.changes.map(describe);
  }

  /** All so far, in a list of the caller's own. */
  get changes(): AlertChange[] {
    if (this.all.length < this.#gathered.of) this.#gathered = { of: 0, changes: [] };
    for (; this.#gathered.of < this.all.length; this.#gathered.of++)
      this.#gathered.changes.push(...this.all[this.#gathered.of]!.alertChanges);
    return [...this.#gathered.changes];
  }

  get owed(): string[] {
    const byId = new Map(this.changes.map((change) => [change.id, change]));
    return this.all
      .flatMap((one) => one.deliveryItems)
      .map((item) => `${item.receiver}: ${describe(byId.get(item.changeId)!)}`);
  }

  get acknowledgements(): string[] {
    return this.all
      .flatMap((one) => one.acknowledgements)
      .map((ack) => `${ack.key} ${ack.word} ${ack.status}`);
  }

  /** The state that a store would give back to the next start, in a store's order. */
  get remembered(): Remembered {
    const before = this.#before;
    const alerts = new Map<number, Alert>(before.alerts.map((alert) => [alert.id, alert]));
    const states = new Map<string, RuleState>(
      before.ruleStates.map((state) => [`${state.rule}\n${state.subject}`, state]),
    );
    const keep = new Map(before.keep);
    const facts = new Map(before.facts);
    const told = new Map(before.notified);
    const ids = { ...before.ids };
    for (const one of this.all) {
      for (const alert of one.alerts) alerts.set(alert.id, alert);
      for (const gone of one.ruleStatesGone) states.delete(`${gone.rule}\n${gone.subject}`);
      for (const state of one.ruleStates) states.set(`${state.rule}\n${state.subject}`, state);
      for (const { name, value } of one.keep) {
        if (value === null) keep.delete(name);
        else keep.set(name, readBack(name, value));
      }
      for (const fact of one.facts) facts.set(factName(fact.owner, fact.name), readFact(fact));
      for (const { alertId, receiver, severity } of one.deliveryItems)
        told.set(alertId, new Map(told.get(alertId)).set(receiver, severity));
      for (const alert of one.alerts) ids.alert = Math.max(ids.alert, alert.id);
      for (const change of one.alertChanges) ids.change = Math.max(ids.change, change.id);
      for (const item of one.deliveryItems) ids.item = Math.max(ids.item, item.id);
    }
    const events = this.all.flatMap((one) => one.events);
    return {
      ids,
      ruleStates: [...states].sort(byName).map(([, state]) => state),
      alerts: [...alerts.values()],
      alertChanges: [...before.alertChanges, ...this.changes],
      notified: told,
      keep: new Map([...keep].sort(byName)),
      liquidations: [...before.liquidations, ...events.filter(({ kind }) => kind === "liquidation")],
      held: [...before.held, ...events].filter(({ kind, key }) =>
        keep.has(keptEvent.name(eventName(kind, key))),
      ),
      facts,
    };
  }
}

export function describe(change: AlertChange): string {
  const { alert } = change;
  const ending = change.kind === "ended" ? ` ${alert.ending}` : "";
  return `${alert.rule} ${alert.subject} ${change.kind} ${alert.severity}${ending}`;
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const part of Object.values(value)) freeze(part);
}

/** Asserts that a fact is of one kind, which writes the text again that it has read. @returns the text */
function readFact(fact: FactChange): string {
  const kinds = factKinds.filter((kind) => kind.is(fact));
  assert.equal(kinds.length, 1, fact.name);
  const kind: FactKind<unknown> = kinds[0]!;
  assert.equal(kind.textOf(kind.read(fact.owner, fact.value)), fact.value);
  return fact.value;
}

/** Holds that a kept value is of one kind, which reads it. */
function readBack(name: string, value: string): string {
  const kinds = keptKinds.filter((kind) => kind.keyOf(name) !== null);
  assert.equal(kinds.length, 1, name);
  kinds[0]!.read(name, value);
  return value;
}
