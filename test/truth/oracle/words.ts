/** Words of texts that are a statement: whose position it is, of which side, and which of two things a text says of it. */
import { claimProblem } from "./claim.ts";
import type { Text, Word } from "./predicate.ts";
import { stopsOf } from "./rules/stop-loss.ts";
import { accountOf, symbolOf, type View, walletOf } from "./view.ts";

/** One of two phrases stands in a summary. `is`: the first is true; undefined: nobody knows. */
interface Branch {
  readonly yes: string;
  readonly no: string;
  readonly is: boolean | undefined;
}

/** Nearer to 0 than this a distance may be on either side of it. */
const tiny = 1e-5;
const liquidatable: ReadonlySet<string> = new Set(["liquidatable", "backstopLiquidatable", "highRisk"]);

export function wordProblems(view: View, rule: string, subject: string, text: Text): readonly string[] {
  const branch = branches[rule]?.(view, subject);
  return [...namesIn(view, subject, text), ...(branch ? branchIn(branch, text) : [])].flatMap(claimProblem);
}

/** A text about a wallet, an account or a position names it, with the side of the position. */
function namesIn(view: View, subject: string, { summary }: Text): readonly Word[] {
  const wallet = walletOf(subject);
  if (!view.wallets.has(wallet)) return [];
  const symbol = symbolOf(subject);
  const named = (name: string, text: string): Word => ({
    ...{ name, among: [text] },
    text: summary.split(/[\s:,]+/).includes(text) ? text : summary,
  });
  const side = view.marked(subject)?.figures.side;
  const told = new RegExp(`\\b${symbol} (long|short)\\b`).exec(summary)?.[1];
  return [
    ...(symbol === "" && subject.includes("/") ? [] : [named("wallet", wallet)]),
    ...(symbol === "" && subject.includes("/") ? [named("account", accountOf(subject))] : []),
    ...(symbol === "" ? [] : [named("symbol", symbol)]),
    ...(symbol === "" || told === undefined || side === undefined
      ? []
      : [{ name: "side", text: told, among: [side] }]),
  ];
}

function branchIn({ yes, no, is }: Branch, { summary }: Text): readonly Word[] {
  const told = summary.includes(yes) ? yes : summary.includes(no) ? no : summary;
  return [{ name: "state", text: told, among: is === undefined ? [yes, no] : [is ? yes : no] }];
}

const branches: Readonly<Record<string, (view: View, subject: string) => Branch>> = {
  LiquidationNear: (view, subject) => ({
    ...{ yes: "can be liquidated now", no: " from liquidation" },
    is: isGone(view.position(subject)?.figures.distance),
  }),
  AccountLiquidationNear: (view, subject) => ({
    ...{ yes: "can be liquidated now", no: "from liquidation if every position moves" },
    is: isGone(view.account(subject)?.adverse),
  }),
  AccountLiquidatable: (view, subject) => {
    const tier = view.account(subject)?.tier;
    return {
      ...{ yes: "can be liquidated now", no: "is not liquidatable any more" },
      is: tier === undefined ? undefined : liquidatable.has(tier),
    };
  },
  OrdersMayBeCancelled: (view, subject) => {
    const tier = view.account(subject)?.tier;
    const orders = view.seen.accounts.get(subject)?.orders.length ?? 0;
    return {
      yes: "may cancel orders",
      no:
        orders === 0
          ? "no orders are left"
          : liquidatable.has(tier ?? "")
            ? "more than the orders is at stake now"
            : "no order is at risk of being cancelled any more",
      is: tier === undefined ? undefined : tier === "cancellable" && orders > 0,
    };
  },
  StopLossMissing: (view, subject) => {
    const held = view.position(subject);
    return {
      ...{ yes: "has no stop loss", no: "" },
      // One that is small needs none.
      is: held === undefined || stopsOf(held).length === 0 ? undefined : false,
    };
  },
  MarketAfterHours: (view, subject) => {
    const state = view.seen.markets.sessions.get(symbolOf(subject))?.state;
    return {
      ...{ yes: "is after hours", no: "is in session again" },
      is: state === undefined ? undefined : state === "afterHours",
    };
  },
  TradingHalted: ({ seen }) => ({
    ...{ yes: "is halted", no: "has resumed", is: seen.exchange ? !seen.exchange.active : undefined },
  }),
  ExchangeGated: ({ seen }) => ({ yes: "restricted", no: "open again", is: seen.exchange?.gated }),
  WithdrawalsOff: ({ seen }) => ({
    ...{ yes: "available again", no: "not available", is: seen.exchange?.withdrawalsAvailable },
  }),
  StreamDown: ({ seen: { daemon } }) => ({
    ...{ yes: "is connected again", no: "is not connected" },
    is: daemon.isOld ? undefined : daemon.figures?.streamConnected,
  }),
};

/** True for a distance of nothing; undefined: not known, or too near to tell. */
function isGone(distance: number | undefined): boolean | undefined {
  return distance === undefined || Math.abs(distance) < tiny ? undefined : distance < 0;
}
