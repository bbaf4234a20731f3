/** Gathers the content of a digest from history and the watch's status. */
import { type Alert, type Severity, severities, worstSeverityOf } from "../../domain/alerts/alert.ts";
import type { Message } from "../../domain/alerts/delivery.ts";
import type { Event, EventKind } from "../../domain/event.ts";
import type { Store } from "../../domain/ports.ts";
import type { DaemonStatus } from "../../domain/status.ts";

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface WalletDigest {
  readonly name: string;
  /** True for a followed trader (label `watch: whale`): listed separately, in no sum. */
  readonly stranger: boolean;
  /** USD; null: unknown. */
  readonly equity: number | null;
  /** Change since the first known value in the span. */
  readonly equityChange: number | null;
  /** Since the wallet was first watched. */
  readonly pnl: number | null;
  readonly pnlChange: number | null;
  readonly pnlToday: number | null;
  /** Signed sums over the span, USD: received is positive, paid negative. */
  readonly fundingReceived: number;
  readonly fundingPaid: number;
  readonly fees: number;
  readonly fills: number;
  readonly volume: number;
}

export interface DigestFigures extends Span {
  readonly wallets: readonly WalletDigest[];
  /** Fired and ended by the worst level of each alert, firing by the current one. Without fire drills. */
  readonly alerts: Readonly<Record<Severity, { fired: number; ended: number; firing: number }>>;
  /** Fire drills in the span. */
  readonly drills: number;
  readonly channels: readonly {
    readonly name: string;
    readonly delivered: number;
    readonly dead: number;
    readonly waiting: number;
  }[];
  /** Own positions near liquidation, nearest first. */
  readonly positions: readonly { readonly name: string; readonly distance: number }[];
  readonly blind: readonly { readonly what: string; readonly sinceMs: number }[];
  readonly unacked: readonly { readonly wallet: string; readonly count: number }[];
  /** Sentences about times without a running watch. */
  readonly unwatched: readonly string[];
  /** The time at which watching began, if within the span, ms. */
  readonly beganMs: number | null;
  /** True if a limit cut the rows: figures are lower bounds. */
  readonly cut: boolean;
}

/** Maximum rows of one query; the digest states that more exist. */
const maxRows = 100_000;
const maxPositions = 5;
/** Distance from which a position does not count as near liquidation, as a share of the price. */
export const nearLiquidation = 0.5;
/** Maximum age of the equity at the beginning, before the span, ms. */
const beforeMs = 3_600_000;
/** Maximum span that is read by the minute, ms; longer ones are read by the hour. */
const byMinuteMs = 2 * 86_400_000;

export async function gatherDigest(
  span: Span,
  store: Pick<Store, "events" | "alerts" | "messages" | "rollups" | "ticks" | "milestones">,
  status: DaemonStatus,
): Promise<DigestFigures> {
  const { fromMs, toMs } = span;
  const eventsOf = (kind: EventKind) =>
    store.events({ kind, fromMs, toMs, limit: maxRows, newestFirst: true });
  const fills = await eventsOf("fill");
  const funding = await eventsOf("funding");
  const alerts = await store.alerts({ shadow: false, limit: maxRows });
  const messages = await store.messages({ sealedFromMs: fromMs });
  const beganMs = (await store.milestones("started"))[0]?.atMs ?? null;
  const wallets: WalletDigest[] = [];
  for (const { name, figures, labels } of status.watch.wallets) {
    const first = await firstKnown(name, span, store);
    const equity = known(figures.equity);
    const own = (events: readonly Event[]) => events.filter(({ wallet }) => wallet === name);
    const payments = own(funding).map(({ fields }) => numberOf(fields.payment));
    const trades = own(fills);
    wallets.push({
      name,
      stranger: isStranger(labels),
      equity,
      equityChange: less(equity, first.equity),
      pnl: known(figures.pnl),
      pnlChange: less(known(figures.pnl), first.pnl),
      pnlToday: known(figures.pnlToday),
      fundingReceived: sum(payments.filter((payment) => payment > 0)),
      fundingPaid: sum(payments.filter((payment) => payment < 0)),
      fees: sum(trades.map(({ fields }) => numberOf(fields.fee))),
      fills: trades.length,
      volume: sum(trades.map(({ fields }) => numberOf(fields.notional))),
    });
  }
  return {
    ...span,
    wallets,
    alerts: bySeverity(
      alerts.filter(({ drill }) => !drill),
      span,
    ),
    drills: alerts.filter(({ drill, firedAtMs }) => drill && within(firedAtMs, span)).length,
    channels: status.channels.map(({ name, waiting }) => ({ name, waiting, ...countOf(messages, name) })),
    positions: status.watch.wallets
      .filter(({ labels }) => !isStranger(labels))
      .flatMap(({ accounts }) => accounts.flatMap(({ positions }) => positions))
      .flatMap(({ name, figures: { liquidationDistance } }) => {
        const distance = known(liquidationDistance);
        return distance === null || distance > nearLiquidation ? [] : [{ name, distance }];
      })
      .sort((a, b) => a.distance - b.distance)
      .slice(0, maxPositions),
    blind: status.watch.blind.map(({ wallet, source, sinceMs }) => ({
      what: wallet === null ? source : `${wallet}, ${source}`,
      sinceMs,
    })),
    unacked: status.watch.wallets.flatMap(({ name, unacked }) =>
      unacked === null || unacked === 0 ? [] : [{ wallet: name, count: unacked }],
    ),
    unwatched: alerts
      .filter(({ rule, firedAtMs }) => rule === "NotWatched" && within(firedAtMs, span))
      .map(({ summary }) => summary)
      .slice(0, 10),
    beganMs: beganMs !== null && within(beganMs, span) ? beganMs : null,
    cut: [fills, funding, alerts].some(({ length }) => length >= maxRows),
  };
}

/**
 * Returns a wallet's equity and profit at the beginning of the span: the newest until then, or the first after that.
 * Roll-ups give it, except for the bucket of the beginning or of the wallet's first reading: for that one the samples
 * do.
 */
async function firstKnown(
  owner: string,
  { fromMs, toMs }: Span,
  store: Pick<Store, "rollups" | "ticks">,
): Promise<{ readonly equity: number | null; readonly pnl: number | null }> {
  const resolution = toMs - fromMs <= byMinuteMs ? "minute" : "hour";
  const wanted = (series: string) => series === "wallet.equity" || series === "wallet.pnl";
  const query = { owner, toMs, wanted };
  const found = { equity: new Beginning(fromMs), pnl: new Beginning(fromMs) };
  const reached = new Set<keyof typeof found>();
  let [beginMs, endMs] = [Number.POSITIVE_INFINITY, 0];
  for await (const { atMs, series, stats } of store.rollups({
    ...query,
    resolution,
    fromMs: fromMs - beforeMs,
  })) {
    for (const field of ["equity", "pnl"] as const) {
      const one = stats[series.indexOf(`wallet.${field}`)];
      if (one === undefined || one.count === 0) continue;
      found[field].take(one.last, one.lastMs);
      if (one.lastMs <= fromMs) continue;
      // The first bucket of the field that reaches into the span.
      if (!reached.has(field)) {
        reached.add(field);
        beginMs = Math.min(beginMs, atMs);
        endMs = Math.max(endMs, one.lastMs);
      }
    }
    if (reached.size === 2) break;
  }
  if (endMs > 0) {
    for await (const { atMs, series, values } of store.ticks({ ...query, fromMs: beginMs, toMs: endMs })) {
      for (const field of ["equity", "pnl"] as const) {
        const value = known(values[series.indexOf(`wallet.${field}`)]);
        if (value !== null) found[field].take(value, atMs);
      }
    }
  }
  return { equity: found.equity.value, pnl: found.pnl.value };
}

/** The newest value at or before a time; if there is none, the first after it. */
class Beginning {
  readonly #fromMs: number;
  #atMs = Number.NaN;
  value: number | null = null;

  constructor(fromMs: number) {
    this.#fromMs = fromMs;
  }

  take(value: number, atMs: number): void {
    const isBefore = atMs <= this.#fromMs;
    const wasBefore = this.#atMs <= this.#fromMs;
    const isBetter = isBefore ? !wasBefore || atMs >= this.#atMs : !wasBefore && atMs < this.#atMs;
    if (this.value !== null && !isBetter) return;
    this.value = value;
    this.#atMs = atMs;
  }
}

function bySeverity(alerts: readonly Alert[], span: Span): DigestFigures["alerts"] {
  const count = (severity: Severity) => {
    const own = alerts.filter((alert) => worstSeverityOf(alert) === severity);
    return {
      fired: own.filter(({ firedAtMs }) => within(firedAtMs, span)).length,
      ended: own.filter(({ endedAtMs, event }) => !event && endedAtMs !== null && within(endedAtMs, span))
        .length,
      firing: alerts.filter(
        (alert) => alert.severity === severity && alert.state === "firing" && !alert.event,
      ).length,
    };
  };
  return Object.fromEntries(
    severities.map((severity) => [severity, count(severity)]),
  ) as DigestFigures["alerts"];
}

function countOf(messages: readonly Message[], receiver: string): { delivered: number; dead: number } {
  const own = messages.filter((message) => message.receiver === receiver);
  return {
    delivered: own.filter(({ status }) => status === "delivered").length,
    dead: own.filter((message) => message.status === "dead" && !isReportedLater(message)).length,
  };
}

/** Returns true if later messages contain everything in this message. */
function isReportedLater({ content, itemIds }: Message): boolean {
  return content.kind === "alert" && itemIds.length === 0;
}

const isStranger = (labels: Readonly<Record<string, string>>): boolean => labels.watch === "whale";
const within = (ms: number, { fromMs, toMs }: Span): boolean => ms > fromMs && ms <= toMs;
const known = (value: number | null | undefined): number | null =>
  typeof value === "number" && Number.isFinite(value) ? value : null;
const less = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a - b);
const numberOf = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) ? value : 0;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
