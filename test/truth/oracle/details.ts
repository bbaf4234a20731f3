/** Lines of context of a message, name and value, against the truth. */
import type { Alert } from "../../../src/domain/alerts/alert.ts";
import { claimProblem } from "./claim.ts";
import type { HedgeFigures } from "./hedges.ts";
import { type Claim, claimsOf, money, percent } from "./predicate.ts";
import { missing } from "./rules/liquidation.ts";
import { around, endsOf, profitOf } from "./rules/wallet.ts";
import { accountOf, symbolOf, type View } from "./view.ts";

type Row = readonly [name: string, value: string];
type Claims = Parameters<typeof claimsOf>[1];
/** The claims about rows, by their names. */
type Table = Readonly<Record<string, Claims>>;

/** No market is taken to move less in a day, a fraction. */
const leastMove = 0.01;
/** A joint figure of many positions, USD. */
const cent = 0.01;
const wholes = new Map<string, RegExp>();

function whole(pattern: string): RegExp {
  const found = wholes.get(pattern) ?? new RegExp(`^${pattern}$`);
  wholes.set(pattern, found);
  return found;
}

const words = /^(.+)$/;
/** `60 SOL` */
const sized = /^([\d,.]*\d)(?: \w+)?$/;
/** A tier that has no row. */
const safeTier = "safe";
/** Rows about how an alert was judged, which no figure of the exchange decides. */
const ofJudging = /^(?:History|Comment|Account's figures)$/;

/** Rows of an alert about a condition that are not true. @param isFresh all that it rests on was read lately: no row is left out */
export function detailProblems(
  view: View,
  alert: Alert,
  details: readonly Row[],
  isFresh: boolean,
): readonly string[] {
  const table = tableOf(view, alert);
  const wrong = details.flatMap(([name, value]) => {
    if (name === "Judged by")
      return alert.summary.includes(`(${value})`) ? [] : [`${name} ${value} is not what its summary says`];
    return rowProblems(table, [name, value]);
  });
  if (!isFresh) return wrong;
  const names = details.map(([name]) => name);
  const left = Object.entries(table).flatMap(([name, claims]) =>
    names.includes(name) ||
    optional.has(name) ||
    claims.every(([, , truth]) => truth === undefined || truth === safeTier)
      ? []
      : [`the row "${name}" is left out`],
  );
  return [...wrong, ...left];
}

/** Rows that are there at times only: a profit may not be known, and a hedge is not broken by something each time. */
const optional: ReadonlySet<string> = new Set(["PnL since watched", "Broken by"]);

/** Rows of an alert about an event that are not true. */
export function eventRowProblems(truths: Rows, details: readonly Row[]): readonly string[] {
  const table: Table = Object.fromEntries(
    Object.entries(truths).map(([name, [truth, room = 0]]) => [
      name,
      [[name, name === "Size" ? sized : words, truth, room]],
    ]),
  );
  return details.flatMap((row) => rowProblems(table, row));
}

/** The values in rows of an alert about an event, by their names, give or take; undefined: nobody knows it. */
export type Rows = Readonly<Record<string, readonly [truth: number | string | undefined, room?: number]>>;

function rowProblems(table: Table, [name, value]: Row): readonly string[] {
  if (ofJudging.test(name)) return [];
  const own = table[name];
  if (own === undefined) return [`nothing is known of a row "${name}"`];
  const claims: readonly Claim[] = claimsOf({ summary: value, description: "" }, own);
  return claims.length === 0 ? [`${name} ${value} is not understood`] : claims.flatMap(claimProblem);
}

function tableOf(view: View, alert: Alert): Table {
  const { subject } = alert;
  if (subject.startsWith("pair/")) return ofPair(view, subject.slice("pair/".length));
  if (symbolOf(subject) !== "")
    return { ...ofPosition(view, subject), ...ofAccount(view, accountOf(subject)) };
  if (subject.includes("/")) return ofAccount(view, subject);
  return view.wallets.has(subject) ? ofWallet(view, subject, alert) : {};
}

/** A distance is known to this. */
const tinyShare = 1e-6;

/** Undefined: too near to tell. */
function priceWord(distance: number): string | undefined {
  if (Math.abs(distance) < tinyShare) return undefined;
  if (distance <= 0) return "passed";
  return Number.isFinite(distance) ? "a price" : "none";
}

function ofPosition(view: View, subject: string): Table {
  const own = view.position(subject)?.figures;
  const marked = view.marked(subject)?.figures;
  const liquidation = own && (own.liquidation ?? missing(own.side));
  const row = (name: string, pattern: string, truth: number | string | undefined) =>
    [name, whole(pattern), truth] as const;
  return {
    Position: [
      row("side", "(long|short) .*", marked?.side),
      row("size", String.raw`\w+ ([\d,.]*\d) \w+.*`, marked && Math.abs(marked.size)),
      row("symbol", String.raw`\w+ \S+ (\w+).*`, symbolOf(subject)),
      row("notional", String.raw`.*\(${money}\)`, marked?.notional),
    ],
    "Mark price": [row("mark", money, marked?.mark)],
    "Liquidation price": [
      row("liquidation price", money, own && own.distance < -tinyShare ? Number.NaN : liquidation),
      row("liquidation price", "(none|passed)", own && priceWord(own.distance)),
    ],
    Distance: [
      row("distance", `${percent}(?:, \\S+ daily moves?)?`, own?.distance),
      row(
        "daily moves",
        String.raw`.*, ([\d,.]*\d) daily moves?`,
        own && own.distance / dailyMove(view, subject),
      ),
    ],
    "Unrealized PnL": [row("unrealized PnL", money, own?.unrealized)],
  };
}

/** The daily move of a market by its newest candles, a fraction; NaN: not known. */
function dailyMove(view: View, subject: string): number {
  return Math.max(view.dailyMoves.get(symbolOf(subject)) ?? Number.NaN, leastMove);
}

function ofAccount(view: View, account: string): Table {
  const figures = view.account(account);
  return {
    "Margin ratio": [["margin ratio", whole(String.raw`${percent} \(liquidation at 100%\)`), figures?.ratio]],
    Equity: [["equity", whole(money), figures?.equity]],
    "Free collateral": [["free collateral", whole(money), figures?.free]],
    "Exchange's risk tier": [
      [
        "tier",
        /^([^(]+?)(?: \(.+\))?$/,
        figures?.tier.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
      ],
    ],
  };
}

function ofWallet(view: View, wallet: string, text: Alert): Table {
  const now = view.money.now(wallet);
  const profit = now?.stated
    ? profitOf(around(now.profit, cent + view.money.room(wallet)), endsOf(text, view.money.unreadUsd(wallet)))
    : ([undefined] as const);
  return {
    Equity: [["equity", whole(money), now?.equity]],
    "PnL since watched": [["PnL", whole(money), ...profit]],
  };
}

function legClaims({ text, size }: HedgeFigures["legs"][number]): Claims {
  const leg = `(?:^|, )${text.replaceAll(".", "\\.")}`;
  const side = size === 0 ? "flat" : size > 0 ? "long" : "short";
  return [
    [text, new RegExp(`${leg} (flat|long|short)`), side],
    [`${text}'s size`, new RegExp(`${leg} (?:long|short) ([\\d,.]*\\d)`), Math.abs(size)],
  ];
}

function ofPair(view: View, name: string): Table {
  const figures = view.hedges.figures(name);
  const mark = view.mark(view.hedges.plan(name).symbol);
  const naked = figures?.naked ?? 0;
  const side = naked === 0 ? "nothing" : naked > 0 ? "long" : "short";
  return {
    Legs: figures ? figures.legs.flatMap(legClaims) : [["legs", words, undefined]],
    Naked: [
      ["naked side", /^(\w+)/, figures && side],
      ["naked size", /^\w+ ([\d,.]*\d)/, Math.abs(naked)],
      ["naked notional", new RegExp(`\\(${money}\\)$`), mark && Math.abs(naked) * mark],
    ],
    Imbalance: [["imbalance", whole(percent), figures?.imbalance]],
    "Broken by": [["broken by", words, undefined]],
  };
}
