/**
 * The tick: one observation in, one Changes value out. No I/O, no clock, no chance: the same observations in the same
 * order give the same Changes, live, in a rule test, in a backtest or in a simulation.
 *
 *   observation ──► facts (accounts, markets, wallets) ──► windows ──► rules ──► alerts ──► owed items, acknowledgements
 *
 * Its state is changed in place; the caller commits what it returns before anything that follows from it is done, and
 * feeds it a `time` observation at `nextDeadlineMs()` and at least once a second.
 */
import type { Alert, AlertChange, RuleState } from "../domain/alert.ts";
import type { Changes } from "../domain/changes.ts";
import type { Event } from "../domain/event.ts";
import type { DaemonFigures, Observation, Source, Tick } from "../domain/observation.ts";
import type { WatchStatus } from "../domain/status.ts";
import { type AccountRef, parseSubject } from "../domain/subject.ts";
import { unreachable } from "../domain/unreachable.ts";
import type { Env, Facts } from "../rules/index.ts";
import { type AccountEntry, Accounts } from "./accounts.ts";
import { AlertBook, type AlertIds, type LiveAlert } from "./alert-book.ts";
import { Blindness, blindRule, unreachableRule } from "./blind.ts";
import { ChannelAlerts, channelRule } from "./channel-alerts.ts";
import { Conditions, windowsOf } from "./conditions.ts";
import { Deadlines } from "./deadlines.ts";
import { type Ask, Draft } from "./draft.ts";
import { Endings } from "./endings.ts";
import { EventWindows } from "./event-windows.ts";
import { eventFacts, Happenings } from "./happenings.ts";
import { type MarketEntry, Markets } from "./markets.ts";
import { marketChanges, statusChange } from "./own-events.ts";
import { parseSeries, Series } from "./series.ts";
import { endingPatienceMs, type WatchedWallet, type WatchSettings } from "./settings.ts";
import { watchStatus } from "./status.ts";
import { newFacts, SubjectNode } from "./subjects.ts";
import { Throttles, throttlePrefix } from "./throttles.ts";
import { compareWithView } from "./view-check.ts";
import {
  newWallet,
  restoreWallet,
  sumAccounts,
  type WalletEntry,
  walletFlow,
  walletFlowsRead,
  walletKeepPrefix,
  walletSeen,
} from "./wallets.ts";

/** What one observation led to. */
export interface Outcome {
  readonly changes: Changes;
  /** Readings to make at once. */
  readonly asks: readonly Ask[];
  /** For the log: what a person who reads it should know, each told once. */
  readonly notes: readonly string[];
}

/** What history knew at the start. */
export interface Remembered {
  readonly ids: AlertIds;
  readonly ruleStates: readonly RuleState[];
  /** Alerts that fire, and the newest event alerts. */
  readonly alerts: readonly Alert[];
  /** Every change of the alerts that fire, and those that throttles hold. */
  readonly alertChanges: readonly AlertChange[];
  /** Who was told of each alert that fires. */
  readonly told: ReadonlyMap<number, readonly string[]>;
  readonly keep: ReadonlyMap<string, string>;
}

export const nothingRemembered: Remembered = {
  ids: { alert: 0, change: 0, owed: 0 },
  ruleStates: [],
  alerts: [],
  alertChanges: [],
  told: new Map(),
  keep: new Map(),
};

/** Accounts that have not appeared by then start with what is seen from there on. */
const recallKeptMs = 600_000;

export class Watch {
  readonly #settings: WatchSettings;
  readonly #nodes = new Map<string, SubjectNode>();
  readonly #wallets = new Map<string, WalletEntry>();
  readonly #markets = new Markets();
  readonly #accounts: Accounts;
  readonly #exchange: SubjectNode;
  readonly #daemon: SubjectNode;
  readonly #deadlines = new Deadlines();
  readonly #alerts: AlertBook;
  readonly #conditions: Conditions;
  readonly #happenings: Happenings;
  readonly #eventWindows: EventWindows;
  readonly #endings: Endings;
  readonly #blindness: Blindness;
  readonly #channels: ChannelAlerts;
  readonly #throttles: Throttles;
  readonly #series: Series;
  /** States of accounts whose first answer after the start is still to come. */
  readonly #unclaimedAlerts = new Map<
    string,
    { readonly state: RuleState; readonly live: LiveAlert | null }
  >();
  /** Samples of before the start, for subjects that are still to appear. */
  readonly #recall = new Recall();
  readonly #reportedMismatches = new Set<string>();
  #notes: string[] = [];
  #draft: Draft;
  #startedMs: number;
  #viewMismatches = 0;
  #nowMs: number;

  constructor(settings: WatchSettings, remembered: Remembered, nowMs: number) {
    this.#settings = settings;
    this.#startedMs = nowMs;
    this.#nowMs = nowMs;
    this.#draft = new Draft(nowMs);
    const draft = (): Draft => this.#draft;
    const wallet = (name: string): WatchedWallet | undefined => this.#wallets.get(name)?.wallet;
    const deadlines = this.#deadlines;
    this.#exchange = this.#world("exchange");
    this.#daemon = this.#world("daemon");
    this.#exchange.env.daemon = this.#daemon.facts;
    this.#alerts = new AlertBook({
      ids: { ...remembered.ids },
      routing: settings.routing,
      remind: settings.remind,
      deadlines,
      draft,
    });
    const alerts = this.#alerts;
    this.#blindness = new Blindness({
      alerts,
      deadlines,
      draft,
      wallet,
      lastSeenMs: (source, name) => this.#lastSeenMs(source, name),
    });
    this.#channels = new ChannelAlerts(alerts);
    this.#throttles = new Throttles({ alerts, deadlines, draft });
    this.#endings = new Endings({
      alerts,
      deadlines,
      draft,
      release: (row, into) => this.#conditions.released(row, into),
    });
    this.#conditions = new Conditions({
      ruleSet: settings.ruleSet,
      timezone: settings.timezone,
      wallet,
      owner: (node, path) => this.#owner(node, path.scope, path.symbol),
      alerts,
      deadlines,
      draft,
      onSight: (instance, into) => this.#blindness.note(instance, into),
      onRecovered: (instance, live, text, into) => {
        const subject = instance.node.subject;
        if (subject.scope !== "position" && subject.scope !== "trader") {
          alerts.end(into, live, "recovered", text);
          return;
        }
        const account = this.#accounts.get(subject);
        this.#endings.end(into, {
          live,
          row: null,
          account: subject,
          symbol: subject.scope === "position" ? subject.symbol : null,
          fallback: "recovered",
          text,
          suspicious: account !== undefined && into.atMs - account.shrunkAtMs < endingPatienceMs,
        });
      },
    });
    this.#eventWindows = new EventWindows(
      settings.ruleSet,
      (event, atMs) => this.#eventEnv(event, eventFacts(event, atMs), atMs),
      (event) => this.#subaccountOf(event),
    );
    this.#happenings = new Happenings({
      ruleSet: settings.ruleSet,
      acknowledge: settings.acknowledge,
      alerts,
      throttles: this.#throttles,
      wallet,
      env: (event, facts) => this.#eventEnv(event, facts, this.#draft.atMs),
    });
    this.#series = new Series(settings.ruleSet);
    this.#accounts = new Accounts(this.#markets, {
      trader: (ref, first) => this.#traderNode(ref, first),
      position: (account, symbol, side, first) => this.#positionNode(account, symbol, side, first),
      gone: (node, account, symbol, why) => this.#gone(node, account, symbol, why),
    });
    for (const one of settings.wallets) this.#addWallet(one);
    this.#restore(remembered);
    for (const node of [this.#exchange, this.#daemon]) this.#conditions.attach(node, this.#draft);
    for (const entry of this.#wallets.values()) this.#conditions.attach(entry.node, this.#draft);
  }

  /** When time alone may change something next, ms; null when nothing is due. */
  nextDeadlineMs(): number | null {
    return this.#deadlines.nextMs();
  }

  /** Takes one observation, then works off the deadlines that have come. An observation never moves time back. */
  observe(observation: Observation): Outcome {
    const atMs = Math.max(observation.atMs, this.#nowMs);
    this.#nowMs = atMs;
    // What the construction and the restore decided leaves with the first observation.
    const draft = new Draft(atMs);
    for (const key in draft.changes) {
      const name = key as keyof Changes;
      (draft.changes[name] as unknown[]).push(...this.#draft.changes[name]);
      (this.#draft.changes[name] as unknown[]).length = 0;
    }
    this.#draft = draft;
    this.#notes = [];
    this.#take(observation, draft);
    this.#deadlines.run(atMs);
    if (atMs - this.#startedMs > recallKeptMs) this.#recall.clear();
    const outcome = { changes: draft.changes, asks: draft.asks, notes: this.#notes };
    this.#draft = new Draft(atMs);
    return outcome;
  }

  status(nowMs: number): WatchStatus {
    return watchStatus({
      atMs: nowMs,
      startedMs: this.#startedMs,
      wallets: this.#wallets.values(),
      accountsOf: (name) => this.#accounts.ofWallet(name),
      markets: this.#markets,
      exchange: this.#exchange.facts,
      alerts: this.#alerts,
      nodes: this.#nodes.values(),
      rules: this.#settings.ruleSet.conditions.length + this.#settings.ruleSet.events.length,
      viewMismatches: this.#viewMismatches,
      blind: this.#blindness.list(),
    });
  }

  /** Margin ratio of a wallet's worst account; what decides how often it is asked. Null while unknown. */
  marginRatio(wallet: string): number | null {
    let worst: number | null = null;
    for (const account of this.#accounts.ofWallet(wallet)) {
      const ratio = account.node.facts.values.marginRatio;
      if (typeof ratio === "number" && !Number.isNaN(ratio)) worst = Math.max(worst ?? 0, ratio);
    }
    return worst;
  }

  /** How far back each event kind is looked at by rules, ms: what has to be read from history at a start. */
  get eventSpans(): ReadonlyMap<Event["kind"], number> {
    return this.#eventWindows.spans;
  }

  /** How far back rules look over samples, ms; 0 when none does. */
  get longestWindowMs(): number {
    let longest = 0;
    for (const rule of [...this.#settings.ruleSet.conditions, ...this.#settings.ruleSet.events]) {
      for (const spec of rule.windows) {
        if (spec.path.kind !== "field") continue;
        longest = Math.max(longest, spec.windowMs === "today" ? 86_400_000 : spec.windowMs);
      }
    }
    return longest;
  }

  /** Feeds a stored tick to the windows, before the first observation. Ticks of one owner come oldest first. */
  rememberTick(tick: Tick): void {
    this.#recall.tick(tick);
  }

  /** The past is read: subjects that exist already get theirs now, the others when they appear. */
  rememberingDone(): void {
    for (const node of this.#nodes.values()) this.#recall.replay(node, this.#settings.timezone);
  }

  /** Feeds a stored event to the windows, before the first observation. */
  rememberEvent(event: Event): void {
    if (!this.#eventWindows.keep(event, this.#nowMs)) return;
    for (const entry of this.#wallets.values()) this.#eventWindows.feed(entry.node, event, this.#nowMs);
    this.#eventWindows.feed(this.#exchange, event, this.#nowMs);
  }

  #take(observation: Observation, draft: Draft): void {
    switch (observation.kind) {
      case "accounts":
        this.#takeAccounts(observation, draft);
        return;
      case "prices":
        this.#takePrices(observation, draft);
        return;
      case "marketConfig":
        this.#takeConfig(observation, draft);
        return;
      case "fundingRate": {
        const market = this.#marketNode(observation.symbol);
        this.#markets.takeRate(observation.symbol, observation.ratePerHour, observation.atMs);
        market.windows?.feed(draft.atMs, { fundingRate: observation.ratePerHour });
        draft.changes.ticks.push(
          this.#series.fundingRate(market.facts.values.symbol as string, observation.ratePerHour, draft.atMs),
        );
        this.#blindness.seen("fundingRates", null, draft);
        this.#conditions.judgeNode(market, "fundingRates", draft);
        this.#judgeAccounts("fundingRates", draft, (account) =>
          account.positions.has(observation.symbol.toUpperCase()),
        );
        return;
      }
      case "exchangeStatus":
        this.#takeStatus(observation, draft);
        return;
      case "traderView":
        this.#takeView(observation);
        return;
      case "events":
        this.#takeEvents(observation, draft);
        return;
      case "backfill":
        for (const tick of observation.ticks) draft.changes.ticks.push(tick);
        return;
      case "failed": {
        const { kind: _, ...failure } = observation;
        draft.changes.failedReads.push(failure);
        this.#blindness.failed(failure);
        return;
      }
      case "session": {
        const entry = this.#wallets.get(observation.wallet);
        if (!entry) return;
        entry.signedIn = observation.signedIn;
        entry.sessionDetail = observation.detail;
        entry.node.facts.values.signedIn = observation.signedIn;
        this.#conditions.judgeNode(entry.node, null, draft);
        return;
      }
      case "daemon":
        this.#daemonFacts(observation.figures);
        this.#conditions.judgeNode(this.#daemon, null, draft);
        return;
      case "channel":
        this.#channels.take(observation, draft);
        this.#daemon.facts.values.brokenChannels = this.#channels.broken;
        this.#conditions.judgeNode(this.#daemon, null, draft);
        return;
      case "acknowledged": {
        const { alert, by, comment } = observation;
        this.#alerts.acknowledge(draft, this.#alerts.live.get(alert.id)?.alert ?? alert, by, comment);
        return;
      }
      case "started":
        draft.changes.milestones.push({
          atMs: draft.atMs,
          kind: "started",
          value: JSON.stringify({ version: observation.version, lastAliveMs: observation.lastAliveMs }),
        });
        return;
      case "stopped":
        draft.changes.milestones.push({ atMs: draft.atMs, kind: "stopped", value: "{}" });
        return;
      case "time":
        return;
      default:
        unreachable(observation);
    }
  }

  #takeAccounts(seen: Observation & { readonly kind: "accounts" }, draft: Draft): void {
    const entry = this.#wallets.get(seen.wallet);
    if (!entry) return;
    const told = this.#accounts.take(seen);
    if (told === null) return;
    for (const account of told) this.#accounts.assess(account);
    sumAccounts(entry, this.#accounts.ofWallet(seen.wallet));
    walletSeen(entry, seen.pdaIndex, seen.slot, draft.atMs);
    this.#blindness.seen("traderState", seen.wallet, draft);
    for (const account of told) {
      draft.changes.ticks.push(this.#series.account(account, draft.atMs));
      account.node.windows?.feed(draft.atMs, account.node.facts.values);
      for (const position of account.positions.values())
        position.node.windows?.feed(draft.atMs, position.node.facts.values);
    }
    for (const account of told) this.#judgeAccount(account, "traderState", draft);
    this.#conditions.judgeNode(entry.node, "traderState", draft);
    this.#endUnclaimed(seen.wallet, seen.pdaIndex, draft);
  }

  #takePrices(seen: Observation & { readonly kind: "prices" }, draft: Draft): void {
    const moved = new Set<string>();
    const entries: MarketEntry[] = [];
    for (const prices of seen.markets) {
      const node = this.#marketNode(prices.symbol);
      if (this.#markets.takePrices(prices, draft.atMs)) moved.add(prices.symbol.toUpperCase());
      entries.push(this.#markets.entry(prices.symbol));
      node.windows?.feed(draft.atMs, node.facts.values);
    }
    draft.changes.ticks.push(this.#series.markets(entries, draft.atMs));
    this.#blindness.seen("markets", null, draft);
    for (const market of entries)
      this.#conditions.judgeNode(this.#marketNode(market.symbol), "markets", draft);
    for (const account of this.#accounts.all()) {
      if (this.#accounts.dependsOn(account, moved)) this.#accounts.assess(account);
      else this.#accounts.refreshAges(account);
      this.#judgeAccount(account, "markets", draft);
    }
    for (const entry of this.#wallets.values()) {
      sumAccounts(entry, this.#accounts.ofWallet(entry.wallet.name));
      this.#conditions.judgeNode(entry.node, "markets", draft);
    }
  }

  #takeConfig(seen: Observation & { readonly kind: "marketConfig" }, draft: Draft): void {
    for (const config of seen.markets) {
      const node = this.#marketNode(config.symbol);
      const before = this.#markets.entry(config.symbol).config;
      const events = before ? marketChanges(before, config, draft.atMs) : [];
      this.#markets.takeConfig(config, draft.atMs);
      if (!before || events.length > 0) {
        draft.changes.facts.push({
          atMs: draft.atMs,
          owner: node.name,
          name: "config",
          value: exactJson(config),
        });
      }
      for (const event of events) this.#happened(event, draft);
      this.#conditions.judgeNode(node, "marketConfig", draft);
    }
    this.#blindness.seen("marketConfig", null, draft);
    for (const account of this.#accounts.all()) {
      this.#accounts.assess(account);
      this.#judgeAccount(account, "marketConfig", draft);
    }
  }

  #takeStatus(seen: Observation & { readonly kind: "exchangeStatus" }, draft: Draft): void {
    const values = this.#exchange.facts.values;
    const event = statusChange(values, seen, draft.atMs);
    values.active = seen.active;
    values.gated = seen.gated;
    values.withdrawalsAvailable = seen.withdrawalsAvailable;
    this.#exchange.seen("exchangeStatus", draft.atMs);
    this.#blindness.seen("exchangeStatus", null, draft);
    if (event) {
      const { active, gated, withdrawalsAvailable } = seen;
      const value = JSON.stringify({ active, gated, withdrawalsAvailable });
      draft.changes.facts.push({ atMs: draft.atMs, owner: "exchange", name: "status", value });
      if (event !== "first") this.#happened(event, draft);
    }
    this.#conditions.judgeNode(this.#exchange, "exchangeStatus", draft);
    this.#judgeAccounts("exchangeStatus", draft, () => true);
  }

  #takeView(seen: Observation & { readonly kind: "traderView" }): void {
    const { view } = seen;
    const spot =
      view.spotNotionalUsd === null || view.spotDiscountedUsd === null
        ? null
        : { notionalUsd: view.spotNotionalUsd, discountedUsd: view.spotDiscountedUsd };
    const account = this.#accounts.takeView(seen.wallet, view, seen.atMs, spot);
    if (!account) return;
    const differences = compareWithView(account, this.#markets);
    if (differences.length === 0) {
      this.#reportedMismatches.delete(account.name);
      return;
    }
    this.#viewMismatches++;
    if (this.#reportedMismatches.has(account.name)) return;
    this.#reportedMismatches.add(account.name);
    this.#notes.push(`${account.name}: our risk and the exchange's differ: ${differences.join("; ")}`);
  }

  #takeEvents(seen: Observation & { readonly kind: "events" }, draft: Draft): void {
    const entry = seen.wallet === null ? undefined : this.#wallets.get(seen.wallet);
    // A liquidation that an inbox page brings along goes first, so that its notification is matched with it.
    const events = [...seen.events].sort(
      (a, b) => Number(b.kind === "liquidation") - Number(a.kind === "liquidation"),
    );
    for (const event of events) {
      if (entry && event.kind === "collateral") walletFlow(entry, event, draft);
      this.#happened(event, draft);
    }
    if (seen.cursor) draft.changes.cursors.push(seen.cursor);
    if (!entry) return;
    this.#blindness.seen(seen.source, seen.wallet, draft);
    entry.node.seen(seen.source, draft.atMs);
    if (seen.unacked !== undefined) {
      entry.unacked = seen.unacked;
      entry.node.facts.values.unacked = seen.unacked;
    }
    if (seen.source === "collateral" && walletFlowsRead(entry, draft.atMs, draft)) {
      const values = entry.node.facts.values;
      draft.changes.ticks.push(this.#series.wallet(entry.wallet.name, values, draft.atMs));
      entry.node.windows?.feed(draft.atMs, values);
    }
    if (seen.source === "liquidations") this.#endings.read(draft, entry.wallet.name);
    this.#conditions.judgeNode(entry.node, seen.source, draft);
    if (seen.events.length > 0) {
      for (const account of this.#accounts.ofWallet(entry.wallet.name))
        this.#judgeAccount(account, null, draft);
    }
  }

  /** One new event: windows first, so that a rule which counts it sees it. */
  #happened(event: Event, draft: Draft): void {
    if (this.#eventWindows.keep(event, draft.atMs)) {
      for (const node of this.#nodes.values()) this.#eventWindows.feed(node, event, draft.atMs);
    }
    if (event.kind === "liquidation" && event.wallet !== null && event.fields.role === "liquidatee") {
      for (const account of this.#meant(event)) {
        this.#endings.liquidated(draft, account, event.symbol, event.happenedMs);
      }
    }
    this.#happenings.take(event, draft);
  }

  /** The accounts that an event can be about: its own, or every one of the wallet's where it names none. */
  #meant(event: Event): AccountRef[] {
    const { wallet, pdaIndex, subaccount } = event;
    if (wallet === null) return [];
    if (pdaIndex !== null && subaccount !== null) return [{ wallet, pdaIndex, subaccount }];
    return [...this.#accounts.ofWallet(wallet)].map((account) => account.ref);
  }

  #judgeAccount(account: AccountEntry, source: Source | null, draft: Draft): void {
    for (const position of account.positions.values())
      this.#conditions.judgeNode(position.node, source, draft);
    this.#conditions.judgeNode(account.node, source, draft);
  }

  #judgeAccounts(source: Source, draft: Draft, which: (account: AccountEntry) => boolean): void {
    for (const account of this.#accounts.all())
      if (which(account)) this.#judgeAccount(account, source, draft);
  }

  #daemonFacts(figures: DaemonFigures): void {
    const values = this.#daemon.facts.values;
    values.lag = figures.lagMs;
    values.loopLag = figures.loopLagMs;
    values.failedPolls = figures.failedPolls;
    values.blindWallets = this.#blindness.blindWallets;
    values.clockOffset = figures.clockOffsetMs;
    values.streamConnected = figures.streamConnected;
    values.budgetUsed = figures.budgetUsed;
    values.undelivered = figures.undelivered;
    values.oldestUndelivered = figures.oldestUndeliveredMs;
    values.databaseBytes = figures.databaseBytes;
    values.authFailures = figures.authFailures;
    values.deadMessages = figures.deadMessages;
    values.badRecords = figures.badRecords;
    values.brokenChannels = this.#channels.broken;
  }

  #lastSeenMs(source: Source, wallet: string | null): number | null {
    if (wallet !== null) return this.#wallets.get(wallet)?.node.facts.seenMs[source] ?? null;
    if (source === "markets") return this.#markets.pricesAtMs;
    if (source === "marketConfig") return this.#markets.configAtMs;
    return this.#exchange.facts.seenMs[source] ?? null;
  }

  // Subjects -------------------------------------------------------------------------------------------------------

  #world(scope: "exchange" | "daemon"): SubjectNode {
    const facts = newFacts();
    const node = new SubjectNode({ scope }, facts, this.#env({}), "", true);
    if (scope === "exchange") node.env.exchange = facts;
    else node.env.daemon = facts;
    this.#nodes.set(node.name, node);
    return node;
  }

  /** Surroundings of a subject; the world's own facts are looked up late, since they are made first. */
  #env(own: Partial<Pick<Env, "position" | "trader" | "wallet" | "market">>): Env {
    return {
      nowMs: this.#nowMs,
      exchange: this.#exchange?.facts ?? newFacts(),
      daemon: this.#daemon?.facts ?? newFacts(),
      markets: (symbol) => this.#markets.entries.get(symbol.toUpperCase())?.facts,
      window: () => Number.NaN,
      ...own,
    };
  }

  #eventEnv(event: Event, facts: Facts, nowMs: number): Env {
    const entry = event.wallet === null ? undefined : this.#wallets.get(event.wallet);
    const symbol = event.symbol?.toUpperCase();
    const subaccount = event.subaccount ?? this.#subaccountOf(event);
    const account =
      event.wallet !== null && subaccount !== null
        ? this.#accounts.get({ wallet: event.wallet, pdaIndex: event.pdaIndex ?? 0, subaccount })
        : undefined;
    const env = this.#env({});
    env.nowMs = nowMs;
    env.event = facts;
    env.wallet = entry?.node.facts;
    env.trader = account?.node.facts;
    env.market = symbol === undefined ? undefined : this.#markets.entries.get(symbol)?.facts;
    env.position = symbol === undefined ? undefined : account?.positions.get(symbol)?.node.facts;
    return env;
  }

  /** The subaccount that a row without one belongs to: the only one that holds the symbol; null where unclear. */
  #subaccountOf(event: Event): number | null {
    if (event.wallet === null) return null;
    if (event.symbol === null) return null;
    const holding = this.#accounts.holding(event.wallet, event.pdaIndex, event.symbol);
    return holding.length === 1 ? holding[0]!.ref.subaccount : null;
  }

  #addWallet(wallet: WatchedWallet): void {
    const facts = newFacts();
    const node = new SubjectNode(
      { scope: "wallet", wallet: wallet.name },
      facts,
      this.#env({ wallet: facts }),
      "",
      true,
    );
    this.#nodes.set(node.name, node);
    this.#wallets.set(wallet.name, newWallet(wallet, node));
  }

  #marketNode(symbol: string): SubjectNode {
    const entry = this.#markets.entry(symbol);
    const known = this.#nodes.get(`market/${entry.symbol}`);
    if (known) return known;
    const node = new SubjectNode(
      { scope: "market", symbol: entry.symbol },
      entry.facts,
      this.#env({ market: entry.facts }),
      "",
      this.#markets.pricesAtMs === null || this.#markets.configAtMs === null,
    );
    this.#adopt(node);
    return node;
  }

  #traderNode(ref: AccountRef, first: boolean): SubjectNode {
    const facts = newFacts();
    const wallet = this.#wallets.get(ref.wallet)?.node.facts;
    const env = this.#env({ trader: facts, ...(wallet ? { wallet } : {}) });
    const node = new SubjectNode({ scope: "trader", ...ref }, facts, env, "", first);
    this.#adopt(node);
    return node;
  }

  #positionNode(account: AccountEntry, symbol: string, side: "long" | "short", first: boolean): SubjectNode {
    const facts = newFacts();
    const market = this.#marketNode(symbol).facts;
    const wallet = this.#wallets.get(account.ref.wallet)?.node.facts;
    const env = this.#env({
      position: facts,
      trader: account.node.facts,
      market,
      ...(wallet ? { wallet } : {}),
    });
    const node = new SubjectNode({ scope: "position", ...account.ref, symbol }, facts, env, side, first);
    this.#adopt(node);
    return node;
  }

  #adopt(node: SubjectNode): void {
    this.#nodes.set(node.name, node);
    this.#conditions.attach(node, this.#draft);
    if (node.first) this.#recall.replay(node, this.#settings.timezone);
    this.#eventWindows.replay(node, this.#draft.atMs);
  }

  /** The node whose series a path means: the subject, an ancestor of it, or a market by name. */
  #owner(node: SubjectNode, scope: string, symbol: string | null): SubjectNode | undefined {
    if (symbol !== null) return this.#marketNode(symbol);
    if (node.subject.scope === scope) return node;
    const subject = node.subject;
    switch (scope) {
      case "market":
        return "symbol" in subject ? this.#marketNode(subject.symbol) : undefined;
      case "wallet":
        return "wallet" in subject ? this.#wallets.get(subject.wallet)?.node : undefined;
      case "trader":
        return "subaccount" in subject ? this.#accounts.get(subject)?.node : undefined;
      case "exchange":
        return this.#exchange;
      case "daemon":
        return this.#daemon;
      default:
        return undefined;
    }
  }

  #gone(node: SubjectNode, account: AccountEntry, symbol: string | null, why: "closed" | "flipped"): void {
    const draft = this.#draft;
    this.#nodes.delete(node.name);
    this.#conditions.detach(node, draft, (live, row) =>
      this.#endings.end(draft, {
        live,
        row,
        account: account.ref,
        symbol,
        fallback: why,
        text: null,
        suspicious: true,
      }),
    );
  }

  // Restart --------------------------------------------------------------------------------------------------------

  #restore(remembered: Remembered): void {
    const draft = this.#draft;
    const lives = new Map<number, LiveAlert>();
    for (const alert of remembered.alerts) {
      if (alert.state !== "firing") continue;
      const own = remembered.alertChanges.filter((change) => change.alertId === alert.id);
      const told = own.filter(
        (change) => change.kind === "fired" || change.kind === "rose" || change.kind === "reminder",
      );
      let reminders = 0;
      for (const change of told) reminders = change.kind === "reminder" ? reminders + 1 : 0;
      lives.set(
        alert.id,
        this.#alerts.restore(alert, remembered.told.get(alert.id) ?? [], told.at(-1), reminders),
      );
    }
    this.#happenings.restore(remembered.alerts);
    const changes = new Map(remembered.alertChanges.map((change) => [change.id, change]));
    for (const [name, value] of remembered.keep) {
      if (name.startsWith(throttlePrefix)) this.#throttles.restore(name, value, changes);
      const wallet = name.startsWith(walletKeepPrefix)
        ? name.slice(walletKeepPrefix.length, -"/profit".length)
        : null;
      const entry = wallet === null ? undefined : this.#wallets.get(wallet);
      if (entry) restoreWallet(entry, value);
    }
    const rules = new Set(this.#settings.ruleSet.conditions.map((rule) => rule.name));
    const claimed = new Set<number>();
    for (const state of remembered.ruleStates) {
      const live = state.alertId === null ? null : (lives.get(state.alertId) ?? null);
      if (live) claimed.add(live.alert.id);
      const subject = parseSubject(state.subject);
      const row = { rule: state.rule, subject: state.subject };
      if (!rules.has(state.rule)) {
        if (live) this.#alerts.end(draft, live, "ruleChanged", null);
        this.#conditions.released(row, draft);
      } else if (!subject || ("wallet" in subject && !this.#wallets.has(subject.wallet))) {
        if (live) this.#alerts.end(draft, live, "noLongerWatched", null);
        this.#conditions.released(row, draft);
      } else {
        this.#conditions.restore(state, live);
        if (subject.scope === "position" || subject.scope === "trader") {
          this.#unclaimedAlerts.set(`${state.rule}\n${state.subject}`, { state, live });
        }
      }
    }
    for (const [id, live] of lives) {
      if (claimed.has(id)) continue;
      const { rule, wallet } = live.alert;
      if (wallet !== null && !this.#wallets.has(wallet))
        this.#alerts.end(draft, live, "noLongerWatched", null);
      else if (rule === blindRule || rule === unreachableRule) this.#blindness.restore(live);
      else if (rule === channelRule) this.#channels.restore(live);
      else this.#alerts.end(draft, live, "ruleChanged", null);
    }
  }

  /** After an account was read: what stood about parts of it that are no more ends now. */
  #endUnclaimed(wallet: string, pdaIndex: number, draft: Draft): void {
    for (const [key, { state, live }] of this.#unclaimedAlerts) {
      const subject = parseSubject(state.subject);
      if (!subject || !("pdaIndex" in subject) || subject.wallet !== wallet || subject.pdaIndex !== pdaIndex)
        continue;
      this.#unclaimedAlerts.delete(key);
      if (!this.#conditions.unclaimed(state)) continue;
      this.#conditions.forget(state);
      const row = { rule: state.rule, subject: state.subject };
      if (!live) this.#conditions.released(row, draft);
      else {
        const symbol = subject.scope === "position" ? subject.symbol : null;
        this.#endings.end(draft, {
          live,
          row,
          account: subject,
          symbol,
          fallback: "closed",
          text: null,
          suspicious: true,
        });
      }
    }
  }
}

/** Samples read from history before their subjects exist: held by owner until those appear. */
class Recall {
  readonly #ticks = new Map<string, Tick[]>();

  tick(tick: Tick): void {
    const list = this.#ticks.get(tick.owner);
    if (list) list.push(tick);
    else this.#ticks.set(tick.owner, [tick]);
  }

  clear(): void {
    this.#ticks.clear();
  }

  replay(node: SubjectNode, timezone: string): void {
    if (this.#ticks.size === 0) return;
    const { subject } = node;
    const owner =
      subject.scope === "market"
        ? ["markets", "fundingRates"]
        : subject.scope === "wallet"
          ? [subject.wallet]
          : "wallet" in subject
            ? [`${subject.wallet}/${subject.pdaIndex}.${subject.subaccount}`]
            : [];
    const symbol = "symbol" in subject ? subject.symbol : null;
    const windows = windowsOf(node, timezone);
    for (const name of owner) {
      for (const tick of this.#ticks.get(name) ?? []) {
        const values: Record<string, number> = {};
        let any = false;
        tick.series.forEach((series, index) => {
          const parsed = parseSeries(series);
          if (!parsed || parsed.scope !== subject.scope || parsed.symbol !== symbol) return;
          values[parsed.field] = tick.values[index]!;
          any = true;
        });
        // A position that was not there, or was on the other side, is another one: its windows start anew.
        const size = values.size;
        const other =
          subject.scope === "position" &&
          (!any || (size !== undefined && size > 0 !== (node.incarnation === "long")));
        if (other) windows.clear();
        else if (any) windows.feed(tick.atMs, values);
      }
    }
  }
}

function exactJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? part.toString() : part));
}
