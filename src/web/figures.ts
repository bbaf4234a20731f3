/** The figures of a status for Prometheus, and their names. */
import { setImmediate } from "node:timers/promises";
import { severities } from "../domain/alert.ts";
import type { Readiness } from "../domain/ports.ts";
import type { ChannelStatus, DaemonStatus, WalletStatus } from "../domain/status.ts";

/** Figures of one subject are handed one and the same object. */
export type Labels = Readonly<Record<string, string>>;

export interface Figure {
  readonly name: string;
  readonly help: string;
  readonly kind: "gauge" | "counter";
  readonly rows: { readonly at: Labels; readonly value: number }[];
}

const states: readonly DaemonStatus["state"][] = ["starting", "running", "degraded", "stopping"];

/** Wallets that are read off before others have their turn: a few ms. */
const walletsInOnePiece = 50;

/** The status is a value that nothing changes, so that what is read off it in pieces belongs together. */
export async function figuresOf(
  status: DaemonStatus,
  readiness: Readiness,
  nowMs: number,
): Promise<readonly Figure[]> {
  const sheet = new Sheet();
  daemonFigures(sheet, status, readiness);
  alertFigures(sheet, status);
  scheduleFigures(sheet, status, nowMs);
  streamFigures(sheet, status, nowMs);
  for (const channel of status.channels) channelFigures(sheet, channel);
  exchangeFigures(sheet, status);
  for (const [at, wallet] of status.watch.wallets.entries()) {
    walletFigures(sheet, wallet, nowMs);
    if (at % walletsInOnePiece === walletsInOnePiece - 1) await setImmediate();
  }
  return sheet.figures();
}

function daemonFigures(sheet: Sheet, status: DaemonStatus, { ready }: Readiness): void {
  const { watch, requests, acknowledgements, database } = status;
  sheet.gauge("build_info", "The version that runs; always 1", 1, { version: status.version });
  for (const state of states)
    sheet.gauge("state", "1 for the state that the daemon is in", status.state === state, { state });
  sheet.gauge("ready", "1 while every wallet has fresh data", ready);
  sheet.gauge("start_time_seconds", "When the daemon started, Unix time", status.startedMs / 1_000);
  sheet.gauge("last_tick_time_seconds", "When rules were last judged, Unix time", watch.atMs / 1_000);
  sheet.gauge("rules", "Rules that are loaded", watch.rules);
  sheet.counter(
    "view_mismatches_total",
    "Times that the exchange's own view of a trader differed from the risk computed here",
    watch.viewMismatches,
  );
  if (requests.ceilingPerSecond !== null)
    sheet.gauge("request_ceiling_per_second", "The configured ceiling", requests.ceilingPerSecond);
  sheet.gauge("request_rate_per_second", "The ceiling that the exchange allows now", requests.ratePerSecond);
  if (requests.granted)
    sheet.gauge(
      "request_rate_granted_since_seconds",
      "Since when this is the rate that the exchange grants, Unix time; absent while it refuses nothing",
      requests.granted.sinceMs / 1_000,
    );
  sheet.gauge("request_limit", "1 while the exchange refuses requests with 429", requests.limited != null);
  sheet.counter(
    "requests_refused_total",
    "Requests that the exchange refused with 429",
    requests.refused ?? 0,
  );
  sheet.gauge("request_budget_used_ratio", "Share of it in use, 0 to 1", requests.used);
  sheet.gauge("requests_waiting", "Requests that wait for the ceiling", requests.waiting);
  for (const state of ["waiting", "due", "confirmed", "left"] as const)
    sheet.gauge(
      "acknowledgements",
      "Notifications of the exchange, by where they stand",
      acknowledgements[state],
      {
        state,
      },
    );
  sheet.gauge("database_bytes", "Size of the database", database.bytes);
  sheet.gauge("database_waiting_commits", "Commits that the disk has not taken yet", database.waitingCommits);
  sheet.gauge("clock_offset_seconds", "Our clock less the exchange's", status.clockOffsetMs / 1_000);
  sheet.gauge("loop_lag_seconds", "How late timers run in this process", status.loopLagMs / 1_000);
}

function alertFigures(sheet: Sheet, { watch }: DaemonStatus): void {
  for (const severity of severities) {
    const count = (of: readonly { readonly severity: string }[]) =>
      of.filter((one) => one.severity === severity).length;
    sheet.gauge("alerts_firing", "Alerts that fire now", count(watch.firing), { severity });
    sheet.gauge("alerts_pending", "Conditions that hold, but not yet for long enough", count(watch.pending), {
      severity,
    });
  }
  for (const { rule, ...counts } of watch.ruleStates)
    for (const state of ["ok", "noData", "error"] as const)
      sheet.gauge("rule_state", "Subjects of a condition, by whether it can judge them", counts[state], {
        rule,
        state,
      });
  sheet.gauge(
    "alerts_shadow",
    "Alerts of rules in shadow mode that fire now, told to nobody",
    watch.shadow.length,
  );
  sheet.gauge("blind", "Things that cannot be seen now", watch.blind.length);
}

function scheduleFigures(sheet: Sheet, { schedules }: DaemonStatus, nowMs: number): void {
  for (const { source, wallet, everyMs, lastOkMs, failuresInRow } of schedules) {
    const at = { source, wallet: wallet ?? "" };
    sheet.gauge("schedule_interval_seconds", "How often this is read", everyMs / 1_000, at);
    if (lastOkMs !== null)
      sheet.gauge("schedule_age_seconds", "Time since it was last read", (nowMs - lastOkMs) / 1_000, at);
    sheet.gauge("schedule_failures_in_row", "Reads in a row that failed", failuresInRow, at);
  }
}

/** Nothing where streams are off: what is not wanted is not down. */
function streamFigures(sheet: Sheet, { streams }: DaemonStatus, nowMs: number): void {
  if (!streams) return;
  for (const one of streams.connections) {
    const at = { wallet: one.wallet ?? "" };
    sheet.gauge("stream_connected", "1 while the connection to the stream stands", one.connected, at);
    if (one.lastToldMs !== null) {
      const ageMs = nowMs - one.lastToldMs;
      sheet.gauge("stream_age_seconds", "Time since it last told anything", ageMs / 1_000, at);
    }
    sheet.gauge("stream_subscriptions", "What it is to tell of", one.subscriptions, at);
    sheet.gauge("stream_subscriptions_refused", "What the exchange would not tell of", one.refused, at);
    sheet.counter("stream_reconnects_total", "Times that it came back", one.reconnects, at);
    sheet.counter("stream_frames_total", "Frames that came", one.frames, at);
    sheet.counter("stream_bad_frames_total", "Frames that could not be read", one.badFrames, at);
  }
  const missed = "Changes of accounts, and notifications, that a poll told first and the stream never did";
  sheet.counter("stream_missed_total", missed, streams.missed);
}

function channelFigures(sheet: Sheet, channel: ChannelStatus): void {
  const at = { channel: channel.name, kind: channel.kind };
  sheet.gauge("channel_working", "1 while the channel can be used", channel.working, at);
  sheet.gauge("channel_waiting", "Deliveries that wait", channel.waiting, at);
  const oldestMs = channel.oldestWaitingMs ?? 0;
  sheet.gauge("channel_oldest_waiting_seconds", "How long the oldest has waited", oldestMs / 1_000, at);
  sheet.counter("channel_delivered_total", "Messages that arrived", channel.delivered, at);
  sheet.counter("channel_dead_total", "Messages that were given up", channel.dead, at);
  for (const [failure, times] of Object.entries(channel.failures))
    sheet.counter("channel_failures_total", "Attempts that failed", times, { ...at, failure });
}

function exchangeFigures(sheet: Sheet, { watch }: DaemonStatus): void {
  for (const [name, value] of Object.entries(watch.exchange))
    sheet.gauge(`exchange_${snake(name)}`, "1 for yes, as the exchange says", value);
  for (const market of watch.markets) sheet.all("market", market.figures, { symbol: market.symbol });
}

function walletFigures(sheet: Sheet, wallet: WalletStatus, nowMs: number): void {
  const ofWallet = { wallet: wallet.name };
  if (!wallet.watchOnly)
    sheet.gauge("wallet_signed_in", "1 while it has a working session", wallet.signedIn, ofWallet);
  if (wallet.seenMs !== null)
    sheet.gauge(
      "wallet_data_age_seconds",
      "Time since its trader state was read",
      (nowMs - wallet.seenMs) / 1_000,
      ofWallet,
    );
  // Its own count, and the figures of rules have one of the same name.
  sheet.all("wallet", { ...wallet.figures, unacked: wallet.unacked }, ofWallet);
  for (const account of wallet.accounts) {
    const ofAccount = { ...ofWallet, account: account.name };
    sheet.all("trader", account.figures, ofAccount);
    sheet.gauge("trader_orders", "Resting orders", account.orders, ofAccount);
    for (const position of account.positions)
      sheet.all("position", position.figures, { ...ofAccount, symbol: position.symbol });
  }
}

/** Collects rows under their names. */
class Sheet {
  readonly #figures = new Map<string, Figure>();
  readonly #names = new Map<string, string>();

  gauge(name: string, help: string, value: number | boolean | null, at: Labels = {}): void {
    this.#row("gauge", name, help, value, at);
  }

  counter(name: string, help: string, value: number, at: Labels = {}): void {
    this.#row("counter", name, help, value, at);
  }

  /** The figures that rules see of one subject. */
  all(scope: string, figures: Readonly<Record<string, number | null>>, at: Labels): void {
    for (const [name, value] of Object.entries(figures))
      if (value !== null)
        this.#row("gauge", this.#nameOf(scope, name), `${scope}.${name} of rules`, value, at);
  }

  figures(): readonly Figure[] {
    return [...this.#figures.values()];
  }

  /** A name is worked out once and not for each of thousands of positions. */
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
