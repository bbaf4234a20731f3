/** Converts a status to Prometheus metrics. */
import { setImmediate } from "node:timers/promises";
import { severities } from "../../domain/alerts/alert.ts";
import type { Readiness } from "../../domain/ports.ts";
import type { ChannelStatus, DaemonStatus, WalletStatus } from "../../domain/status.ts";

/** Metrics of one subject share one labels object. */
export type Labels = Readonly<Record<string, string>>;

export interface Figure {
  readonly name: string;
  readonly help: string;
  readonly kind: "gauge" | "counter";
  readonly rows: { readonly at: Labels; readonly value: number }[];
}

const states: readonly DaemonStatus["state"][] = ["starting", "running", "degraded", "stopping"];

/** Wallets that are processed before other work gets a turn: a few ms. */
const walletsPerTurn = 50;

/**
 * Returns the metrics of a status. The status is immutable, so metrics that are computed in several turns are
 * consistent.
 */
export async function figuresOf(
  status: DaemonStatus,
  readiness: Readiness,
  nowMs: number,
): Promise<readonly Figure[]> {
  const metrics = new MetricSet();
  daemonFigures(metrics, status, readiness);
  alertFigures(metrics, status);
  scheduleFigures(metrics, status, nowMs);
  streamFigures(metrics, status, nowMs);
  for (const channel of status.channels) channelFigures(metrics, channel);
  exchangeFigures(metrics, status);
  for (const [at, wallet] of status.watch.wallets.entries()) {
    walletFigures(metrics, wallet, nowMs);
    if (at % walletsPerTurn === walletsPerTurn - 1) await setImmediate();
  }
  return metrics.figures();
}

function daemonFigures(metrics: MetricSet, status: DaemonStatus, { ready }: Readiness): void {
  const { watch, requests, acknowledgements, database } = status;
  metrics.gauge("build_info", "The version that runs; always 1", 1, { version: status.version });
  for (const state of states)
    metrics.gauge("state", "1 for the state that the daemon is in", status.state === state, { state });
  metrics.gauge("ready", "1 while every wallet has fresh data", ready);
  metrics.gauge("start_time_seconds", "When the daemon started, Unix time", status.startedMs / 1_000);
  metrics.gauge("last_tick_time_seconds", "When rules were last judged, Unix time", watch.atMs / 1_000);
  metrics.gauge("rules", "Rules that are loaded", watch.rules);
  metrics.counter(
    "view_mismatches_total",
    "Times that the exchange's own view of a trader differed from the risk computed here",
    watch.viewMismatches,
  );
  if (requests.ceilingPerSecond !== null)
    metrics.gauge("request_ceiling_per_second", "The configured ceiling", requests.ceilingPerSecond);
  metrics.gauge(
    "request_rate_per_second",
    "The ceiling that the exchange allows now",
    requests.ratePerSecond,
  );
  if (requests.granted)
    metrics.gauge(
      "request_rate_granted_since_seconds",
      "Since when this is the rate that the exchange grants, Unix time; absent while it refuses nothing",
      requests.granted.sinceMs / 1_000,
    );
  metrics.gauge("request_limit", "1 while the exchange refuses requests with 429", requests.limited != null);
  metrics.counter(
    "requests_refused_total",
    "Requests that the exchange refused with 429",
    requests.refused ?? 0,
  );
  metrics.gauge("request_budget_used_ratio", "Share of it in use, 0 to 1", requests.used);
  metrics.gauge("requests_waiting", "Requests that wait for the ceiling", requests.waiting);
  for (const state of ["waiting", "due", "confirmed", "left"] as const)
    metrics.gauge("acknowledgements", "Notifications of the exchange, by state", acknowledgements[state], {
      state,
    });
  metrics.gauge("database_bytes", "Size of the database", database.bytes);
  metrics.gauge(
    "database_waiting_commits",
    "Commits that the disk has not taken yet",
    database.waitingCommits,
  );
  metrics.gauge("clock_offset_seconds", "Our clock less the exchange's", status.clockOffsetMs / 1_000);
  metrics.gauge("loop_lag_seconds", "How late timers run in this process", status.loopLagMs / 1_000);
}

function alertFigures(metrics: MetricSet, { watch }: DaemonStatus): void {
  for (const severity of severities) {
    const count = (of: readonly { readonly severity: string }[]) =>
      of.filter((one) => one.severity === severity).length;
    metrics.gauge("alerts_firing", "Alerts that fire now", count(watch.firing), { severity });
    metrics.gauge(
      "alerts_pending",
      "Conditions that hold, but not yet for long enough",
      count(watch.pending),
      {
        severity,
      },
    );
  }
  for (const { rule, ...counts } of watch.ruleStates)
    for (const state of ["ok", "noData", "error"] as const)
      metrics.gauge("rule_state", "Subjects of a condition, by the state of its judgement", counts[state], {
        rule,
        state,
      });
  metrics.gauge(
    "alerts_shadow",
    "Firing alerts of rules in shadow mode, which are not sent",
    watch.shadow.length,
  );
  metrics.gauge("blind", "Sources without data", watch.blind.length);
}

function scheduleFigures(metrics: MetricSet, { schedules }: DaemonStatus, nowMs: number): void {
  for (const { source, wallet, everyMs, lastOkMs, failuresInRow } of schedules) {
    const at = { source, wallet: wallet ?? "" };
    metrics.gauge("schedule_interval_seconds", "How often this is read", everyMs / 1_000, at);
    if (lastOkMs !== null)
      metrics.gauge("schedule_age_seconds", "Time since it was last read", (nowMs - lastOkMs) / 1_000, at);
    metrics.gauge("schedule_failures_in_row", "Reads in a row that failed", failuresInRow, at);
  }
}

/** No metrics if streams are off, since they are not down then. */
function streamFigures(metrics: MetricSet, { streams }: DaemonStatus, nowMs: number): void {
  if (!streams) return;
  for (const one of streams.connections) {
    const at = { wallet: one.wallet ?? "" };
    metrics.gauge("stream_connected", "1 while connected to the stream", one.connected, at);
    if (one.lastToldMs !== null) {
      const ageMs = nowMs - one.lastToldMs;
      metrics.gauge("stream_age_seconds", "Time since the stream last sent anything", ageMs / 1_000, at);
    }
    metrics.gauge("stream_subscriptions", "Subscriptions of the connection", one.subscriptions, at);
    metrics.gauge("stream_subscriptions_refused", "Subscriptions that the exchange refused", one.refused, at);
    metrics.counter("stream_reconnects_total", "Reconnections", one.reconnects, at);
    metrics.counter("stream_frames_total", "Frames received", one.frames, at);
    metrics.counter("stream_bad_frames_total", "Frames that could not be read", one.badFrames, at);
  }
  const missed = "Changes of accounts, and notifications, that a poll reported and the stream did not";
  metrics.counter("stream_missed_total", missed, streams.missed);
}

function channelFigures(metrics: MetricSet, channel: ChannelStatus): void {
  const at = { channel: channel.name, kind: channel.kind };
  metrics.gauge("channel_working", "1 while the channel can be used", channel.working, at);
  metrics.gauge("channel_waiting", "Deliveries that wait", channel.waiting, at);
  const oldestMs = channel.oldestWaitingMs ?? 0;
  metrics.gauge("channel_oldest_waiting_seconds", "How long the oldest has waited", oldestMs / 1_000, at);
  metrics.counter("channel_delivered_total", "Messages that arrived", channel.delivered, at);
  metrics.counter("channel_dead_total", "Messages that were not delivered", channel.dead, at);
  for (const [failure, times] of Object.entries(channel.failures))
    metrics.counter("channel_failures_total", "Attempts that failed", times, { ...at, failure });
}

function exchangeFigures(metrics: MetricSet, { watch }: DaemonStatus): void {
  for (const [name, value] of Object.entries(watch.exchange))
    metrics.gauge(`exchange_${snake(name)}`, "1 for yes, as the exchange says", value);
  for (const market of watch.markets) metrics.all("market", market.figures, { symbol: market.symbol });
}

function walletFigures(metrics: MetricSet, wallet: WalletStatus, nowMs: number): void {
  const ofWallet = { wallet: wallet.name };
  if (!wallet.watchOnly)
    metrics.gauge("wallet_signed_in", "1 while it has a working session", wallet.signedIn, ofWallet);
  if (wallet.seenMs !== null)
    metrics.gauge(
      "wallet_data_age_seconds",
      "Time since its trader state was read",
      (nowMs - wallet.seenMs) / 1_000,
      ofWallet,
    );
  // `unacked` is the wallet's own count; the rules' figures have one of the same name.
  metrics.all("wallet", { ...wallet.figures, unacked: wallet.unacked }, ofWallet);
  for (const account of wallet.accounts) {
    const ofAccount = { ...ofWallet, account: account.name };
    metrics.all("trader", account.figures, ofAccount);
    metrics.gauge("trader_orders", "Resting orders", account.orders, ofAccount);
    for (const position of account.positions)
      metrics.all("position", position.figures, { ...ofAccount, symbol: position.symbol });
  }
}

/** Collects metrics by name. */
class MetricSet {
  readonly #figures = new Map<string, Figure>();
  readonly #names = new Map<string, string>();

  gauge(name: string, help: string, value: number | boolean | null, at: Labels = {}): void {
    this.#row("gauge", name, help, value, at);
  }

  counter(name: string, help: string, value: number, at: Labels = {}): void {
    this.#row("counter", name, help, value, at);
  }

  /** Adds the figures of one subject that rules use. */
  all(scope: string, figures: Readonly<Record<string, number | null>>, at: Labels): void {
    for (const [name, value] of Object.entries(figures))
      if (value !== null)
        this.#row("gauge", this.#nameOf(scope, name), `${scope}.${name} of rules`, value, at);
  }

  figures(): readonly Figure[] {
    return [...this.#figures.values()];
  }

  /** A name is computed once, not for each of thousands of positions. */
  #nameOf(scope: string, name: string): string {
    const full = `${scope}.${name}`;
    let known = this.#names.get(full);
    if (known === undefined) {
      known = `${scope}_${snake(name)}`;
      this.#names.set(full, known);
    }
    return known;
  }

  #row(kind: Figure["kind"], name: string, help: string, value: number | boolean | null, at: Labels): void {
    if (value === null || Number.isNaN(value)) return;
    const full = `perpwatch_${name}`;
    let figure = this.#figures.get(full);
    if (!figure) {
      figure = { name: full, help, kind, rows: [] };
      this.#figures.set(full, figure);
    }
    figure.rows.push({ at, value: Number(value) });
  }
}

/** liquidationDistance → liquidation_distance */
function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
