/**
 * Parts shared by sections of the page, with their thresholds. The function is sent to the browser as source text, so
 * its body may not refer to anything outside of it, except types.
 */
import type { StatusAnswer } from "../api.ts";
import type { Wire } from "../wire.ts";
import type { Format, Safe } from "./format.ts";

export type Answer = Wire<StatusAnswer>;
export type Wallet = Answer["watch"]["wallets"][number];
export type Account = Wallet["accounts"][number];
export type Position = Account["positions"][number];
export type Tone = "ok" | "warning" | "critical" | "quiet";
export type Parts = ReturnType<typeof createParts>;

/** State of the connection to the daemon. */
export interface Connection {
  /** The daemon's current time, ms, extrapolated from its last answer. */
  readonly nowMs: number;
  /** Time since its last answer, ms. */
  readonly silentMs: number;
  /** Null while it answers; else the last failure. */
  readonly failure: string | null;
}

export function createParts(format: Format) {
  const { html, numeric, plural } = format;
  const rank: Record<string, number> = { critical: 2, warning: 1, info: 0 };
  const rankOf = (severity: string) => rank[severity] ?? 0;
  const maxWallets = 60;
  const maxRows = 40;
  const none = html``;

  const when = (condition: boolean, part: () => Safe): Safe => (condition ? part() : none);
  const badge = (tone: string, text: string) => html`<span class="badge ${tone}">${text}</span>`;
  const more = (left: number, what: string) =>
    when(left > 0, () => html`<p class="more">and ${plural(left, what)} more, less urgent</p>`);

  /** A bar that is full at 1. An SVG, because the page's policy permits no style attributes. */
  const bar = (tone: Tone, share: number, label: string) => {
    const width = Math.round(Math.min(1, Math.max(0, share)) * 1_000) / 10;
    return html`<svg class="bar ${tone}" role="img" aria-label="${label}"><rect class="track" width="100%" height="100%" rx="3"/><rect class="fill" width="${width}%" height="100%" rx="3"/></svg>`;
  };

  const distanceOf = (position: Position) => numeric(position.figures.liquidationDistance);
  const ratioOf = (account: Account) => numeric(account.figures.marginRatio);
  const distanceTone = (distance: number | null): Tone =>
    distance === null ? "quiet" : distance < 0.05 ? "critical" : distance < 0.1 ? "warning" : "ok";
  const ratioTone = (ratio: number | null): Tone =>
    ratio === null ? "quiet" : ratio >= 0.8 ? "critical" : ratio >= 0.5 ? "warning" : "ok";

  /** Trader state is old if its age exceeds three intervals and ten seconds. */
  function staleness(status: Answer, connection: Connection) {
    const every = new Map<string, number>();
    for (const schedule of status.schedules)
      if (schedule.source === "traderState" && schedule.wallet !== null)
        every.set(schedule.wallet, numeric(schedule.everyMs) ?? 0);
    return (wallet: Wallet) => {
      const seenMs = numeric(wallet.seenMs);
      const ageMs = seenMs === null ? null : connection.nowMs - seenMs;
      return { ageMs, old: ageMs === null || ageMs > Math.max(10_000, 3 * (every.get(wallet.name) ?? 0)) };
    };
  }

  /** Figures are old if the age of their oldest input exceeds three intervals and ten seconds. */
  function ages(status: Answer, connection: Connection) {
    const every = new Map<string | null, number>();
    for (const { source, wallet, everyMs } of status.schedules)
      if (source === "traderState" || source === "markets") every.set(wallet, numeric(everyMs) ?? 0);
    return (of: { readonly seenMs: Position["seenMs"] }, wallet: string) => {
      const seenMs = numeric(of.seenMs);
      const ageMs = seenMs === null ? null : Math.max(0, connection.nowMs - seenMs);
      const longest = Math.max(every.get(wallet) ?? 0, every.get(null) ?? 0);
      return { ageMs, old: ageMs === null || ageMs > Math.max(10_000, 3 * longest) };
    };
  }

  /** The reason why the notifications of a signed-in wallet are refused; empty if they are not. */
  function refusedInbox(status: Answer, wallet: Wallet): string {
    const inbox = status.schedules.find(
      (one) => one.source === "notifications" && one.wallet === wallet.name,
    );
    const failure = (numeric(inbox?.failuresInRow) ?? 0) > 0 ? inbox!.lastFailure : null;
    return failure?.reason === "refused" ? failure.detail.replace(/^\w+: /, "") : "";
  }

  /** Compares numbers; a difference of two infinities would be NaN. */
  function compare(a: number, b: number): number {
    return a === b ? 0 : a < b ? -1 : 1;
  }

  return {
    rankOf,
    maxWallets,
    maxRows,
    none,
    when,
    badge,
    more,
    bar,
    distanceOf,
    ratioOf,
    distanceTone,
    ratioTone,
    staleness,
    ages,
    refusedInbox,
    compare,
  };
}
