/** The content of a digest: a title, and tables of names and values. Pure. */

import { severities } from "../../domain/alerts/alert.ts";
import type { MessageContent } from "../../domain/alerts/delivery.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { formatPercent } from "../../domain/text/number-text.ts";
import { formatTime } from "../../domain/text/time-text.ts";
import { type DigestFigures, nearLiquidation, type WalletDigest } from "./gather.ts";

export interface DigestOccasion {
  readonly sender: string;
  /** IANA name. */
  readonly timezone: string;
  /** The due time of a digest that leaves late, ms. */
  readonly missedMs: number | null;
}

type Row = readonly [string, string];
const money = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
  currencySign: "standard",
});
/** `$1,234.50`, `-$3.00`; with a sign for a change. */
const usd = (value: number): string => money.format(value === 0 ? 0 : value);
const signed = (value: number): string => (value > 0 ? `+${usd(value)}` : usd(value));
const maybe = (value: number | null, how = usd): string => (value === null ? "not known" : how(value));
/** Maximum wallets in a table; the rest is in the sums. */
const maxWallets = 20;

export function digestContent(all: DigestFigures, occasion: DigestOccasion): MessageContent {
  const figures = { ...all, wallets: all.wallets.filter(({ stranger }) => !stranger) };
  const strangers = all.wallets.filter(({ stranger }) => stranger);
  return {
    kind: "digest",
    severity: "info",
    resolved: false,
    title: titleOf(figures),
    items: [],
    sections: [
      about(figures, occasion),
      section("Equity and profit", moneyRows(figures)),
      section("Funding, fees and fills", flows(figures)),
      ...(strangers.length === 0
        ? []
        : [section("Watched, not your own", strangers.slice(0, maxWallets).map(moneyRow))]),
      section("Alerts", alerts(figures)),
      section("Deliveries", deliveries(figures)),
      section("Open risks", risks(figures, occasion.timezone)),
    ],
    sender: occasion.sender,
  };
}

const section = (title: string, rows: readonly Row[]) => ({ title, rows });

function titleOf({ wallets, alerts, fromMs, toMs }: DigestFigures): string {
  const firing = severities.reduce((sum, severity) => sum + alerts[severity].firing, 0);
  const state = firing === 0 ? "nothing fires" : `${firing} alert${firing === 1 ? "" : "s"} firing`;
  const change = total(wallets, "equityChange");
  const of = change === null ? "" : ` (${signed(change)})`;
  const equity = wallets.length === 0 ? "" : `equity ${maybe(total(wallets, "equity"))}${of}, `;
  return `Digest of ${formatDurationMs(toMs - fromMs)}: ${equity}${state}`;
}

function about(
  { fromMs, toMs, unwatched, beganMs, cut }: DigestFigures,
  { timezone, missedMs }: DigestOccasion,
) {
  const rows: Row[] = [["Period", `${formatTime(fromMs, timezone)} to ${formatTime(toMs, timezone)}`]];
  if (missedMs !== null)
    rows.push([
      `Sent late: it was due ${formatTime(missedMs, timezone)}, when perpwatch was not running.`,
      "",
    ]);
  if (beganMs !== null)
    rows.push(["Not watched", `before ${formatTime(beganMs, timezone)}, when watching began`]);
  for (const summary of unwatched) rows.push(["Not watched", summary]);
  if (unwatched.length === 0 && beganMs === null) rows.push(["Not watched", "at no time that is known of"]);
  if (cut) rows.push(["There was more than could be counted: sums and counts are at least these.", ""]);
  return section("About", rows);
}

type Money = Pick<WalletDigest, "name" | "equity" | "equityChange" | "pnl" | "pnlChange" | "pnlToday">;

function moneyRow({ name, equity, equityChange, pnl, pnlChange, pnlToday }: Money): Row {
  const profit = `profit in this period ${maybe(pnlChange, signed)}, today ${maybe(pnlToday, signed)}, since watched ${maybe(pnl, signed)}`;
  return [name, `${maybe(equity)} (${maybe(equityChange, signed)}), ${profit}`];
}

function moneyRows({ wallets }: DigestFigures): Row[] {
  if (wallets.length === 0) return [["No wallet of your own is watched.", ""]];
  const rows = wallets.slice(0, maxWallets).map(moneyRow);
  if (wallets.length === 1) return rows;
  const all = {
    name: "All wallets",
    equity: total(wallets, "equity"),
    equityChange: total(wallets, "equityChange"),
    pnl: total(wallets, "pnl"),
    pnlChange: total(wallets, "pnlChange"),
    pnlToday: total(wallets, "pnlToday"),
  };
  return [...rows, moneyRow(all)];
}

function flows({ wallets }: DigestFigures): Row[] {
  const add = (field: "fundingReceived" | "fundingPaid" | "fees" | "fills" | "volume") =>
    wallets.reduce((sum, one) => sum + one[field], 0);
  return [
    ["Funding received", usd(add("fundingReceived"))],
    ["Funding paid", usd(-add("fundingPaid"))],
    ["Fees", usd(add("fees"))],
    ["Fills", `${add("fills")}, ${usd(add("volume"))} in all`],
  ];
}

function alerts({ alerts, drills }: DigestFigures): Row[] {
  const rows = severities.toReversed().map((severity): Row => {
    const { fired, ended, firing } = alerts[severity];
    return [severity, `${fired} fired, ${ended} ended, ${firing} still firing`];
  });
  return drills === 0 ? rows : [...rows, ["Fire drills", `${drills}, in which nothing happened`]];
}

function deliveries({ channels }: DigestFigures): Row[] {
  return channels.map(({ name, delivered, dead, waiting }): Row => {
    const parts = [
      `${delivered} delivered`,
      `${dead} given up`,
      ...(waiting > 0 ? [`${waiting} waiting`] : []),
    ];
    return [name, parts.join(", ")];
  });
}

function risks({ positions, blind, unacked }: DigestFigures, timezone: string): Row[] {
  const rows: Row[] = positions.map(({ name, distance }) => [
    name,
    `${formatPercent(distance)} from liquidation`,
  ]);
  for (const { what, sinceMs } of blind)
    rows.push([`No data: ${what}`, `since ${formatTime(sinceMs, timezone)}`]);
  for (const { wallet, count } of unacked)
    rows.push([`Notifications of ${wallet}`, `${count} not acknowledged at the exchange`]);
  return rows.length > 0
    ? rows
    : [
        [
          `No position within ${formatPercent(nearLiquidation)} of liquidation, no data missing, nothing to acknowledge.`,
          "",
        ],
      ];
}

/** Returns null if one of them is unknown. */
function total(
  wallets: readonly WalletDigest[],
  field: "equity" | "equityChange" | "pnl" | "pnlChange" | "pnlToday",
): number | null {
  let sum = 0;
  for (const one of wallets) {
    const value = one[field];
    if (value === null) return null;
    sum += value;
  }
  return wallets.length === 0 ? null : sum;
}
