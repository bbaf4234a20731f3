/** account.yaml but for its rules about events. */
import type { Event } from "../../../../src/domain/event.ts";
import { windowClaims } from "../duration.ts";
import { tickUsd } from "../margin.ts";
import { claimsOf, type Ease, minuteMs, money, type Predicate, percent } from "../predicate.ts";
import type { OrderTruth } from "../truth.ts";
import type { View } from "../view.ts";

const hourMs = 60 * minuteMs;
const stuckAfterMs = 72 * hourMs;
/** Sums in doubles, of amounts that the exchange rounds. */
const cent = 0.01;

/** The least number of withdrawals within an hour, and of cancelled orders within ten minutes. */
const leastMany = 3;

/** A rule that holds while so many events lie within a time that ends now. */
function manyWithin(
  rule: string,
  terms: {
    readonly severity: "warning" | "critical";
    readonly windowMs: number;
    readonly source: string;
    readonly forMs: number;
    readonly kind: Event["kind"];
    readonly counts: (event: Event) => boolean;
    readonly subjects: (view: View) => readonly string[];
    readonly claims: (
      view: View,
      subject: string,
      events: readonly Event[],
    ) => Parameters<typeof claimsOf>[1];
  },
): Predicate {
  const windowMs = (view: View): number => view.terms.windowMs(rule, terms.windowMs);
  const within = (view: View, subject: string, atMs: number): readonly Event[] =>
    view.seen.events.of(subject, terms.kind, windowMs(view), atMs).filter(terms.counts);
  return {
    rule,
    ...{ forMs: terms.forMs, keepMs: 0 },
    reads: [terms.source],
    onlyNamesPositions: true,
    subjects: terms.subjects,
    levels: (view, subject) => {
      const on = within(view, subject, view.nowMs).length >= leastMany;
      return [{ severity: terms.severity, on, off: !on }];
    },
    turns: (view, fromMs, toMs) =>
      terms.subjects(view).some((subject) => {
        const ends = (atMs: number) => within(view, subject, atMs).length;
        return ends(fromMs) !== ends(toMs);
      }),
    claims: (view, subject, text) => [
      ...claimsOf(text, terms.claims(view, subject, within(view, subject, view.nowMs))),
      ...windowClaims(text, windowMs(view)),
    ],
  };
}

const manyWithdrawals = manyWithin("ManyWithdrawals", {
  ...{ severity: "warning", windowMs: hourMs, source: "collateral", kind: "collateral", forMs: 0 },
  counts: ({ fields }) => fields.eventType === "withdrawal",
  subjects: (view) => view.ownWallets(),
  claims: (_, __, withdrawals) => [
    ["withdrawals", /: (\d+)\s+withdrawals/, withdrawals.length],
    [
      "withdrawals",
      /: (fewer than three)\s+withdrawals/,
      withdrawals.length < leastMany ? "fewer than three" : String(withdrawals.length),
    ],
    [
      "sum",
      new RegExp(`Together ${money}`),
      -withdrawals.reduce((sum, { fields }) => sum + Number(fields.amountUsd), 0),
      cent,
    ],
  ],
});

function ordersLeft({ seen }: View, account: string): string | undefined {
  const orders = seen.accounts.get(account)?.orders.length;
  return orders === 0 ? "none" : orders?.toString();
}

/** The deposit that lifts an account to its cancel margin, rounded up, USD. */
const shortfallOf = (
  figures: { readonly cancel: number; readonly effective: number } | undefined,
): number | undefined => figures && Math.max(0, figures.cancel - figures.effective) * 1.00001 + cent;

/** After the last order was cancelled for a while; undefined: nobody knows. */
function marginLeft(view: View, account: string): string | undefined {
  const tier = view.account(account)?.tier;
  if (tier === undefined) return undefined;
  return tier === "safe" || tier === "atRisk" ? "," : ", but margin is still short:";
}

const riskEngineClearsOrders = manyWithin("RiskEngineClearsOrders", {
  ...{ severity: "critical", windowMs: 10 * minuteMs, source: "notifications", kind: "notification" },
  forMs: 2_000,
  counts: ({ fields }) => fields.type === "risk_engine_cancel_order",
  subjects: (view) => view.accounts(),
  claims: (view, account, cancelled) => [
    ["cancelled", /cancelled (\d+) orders/, cancelled.length],
    [
      "state",
      /(risk engine cancelled|risk engine has stopped|no order is left to cancel)/,
      cancelled.length >= leastMany
        ? "risk engine cancelled"
        : view.seen.accounts.get(account)?.orders.length === 0
          ? "no order is left to cancel"
          : "risk engine has stopped",
    ],
    ["margin ratio", new RegExp(`margin ratio ${percent}`), view.account(account)?.ratio],
    [
      "what is left of the margin",
      /(,(?: but margin is still short:)?) margin ratio/,
      marginLeft(view, account),
    ],
    [
      "shortfall",
      new RegExp(`a deposit of ${money} ends only the cancelling`),
      shortfallOf(view.account(account)),
      2 * cent,
    ],
    ["orders left", /; (\d+|none)(?: orders?| of them) (?:is|are)\s+left/, ordersLeft(view, account)],
  ],
});

/** The orders of an account that rest for too long; null: it cannot be told of all of them. */
function stuckIn(view: View, account: string, ease: Ease): readonly OrderTruth[] | null {
  const { orders } = view.seen;
  const state = view.seen.accounts.get(account)!;
  const opening = state.orders.filter(({ reduceOnly }) => !reduceOnly);
  if (ease < 0 && opening.some((order) => orders.isUnaged(state, order))) return null;
  return opening.filter((order) => orders.ageMs(state, order) > stuckAfterMs);
}

const orderStuck: Predicate = {
  rule: "OrderStuck",
  ...{ forMs: 0, keepMs: 0 },
  subjects: (view) => view.accounts(),
  levels: (view, account, ease) => {
    // Sizes and prices of orders are told with the figures of their account.
    if (!view.account(account)) return undefined;
    const stuck = stuckIn(view, account, ease);
    const on = stuck !== null && stuck.length > 0;
    return [{ severity: "info", on, off: stuck !== null && !on }];
  },
  claims: (view, account, text) => {
    const stuck = stuckIn(view, account, 1)!;
    const usd = stuck.reduce((sum, { symbol, priceTicks, lots }) => {
      const rules = view.seen.rules.get(symbol)!;
      return sum + (priceTicks * tickUsd(rules) * Number(lots)) / 10 ** rules.baseLotsDecimals;
    }, 0);
    return claimsOf(text, [
      ["orders", /: (\d+|no) orders? ha(?:s|ve)\s+rested/, stuck.length === 0 ? "no" : String(stuck.length)],
      ["sum", new RegExp(`Together ${money}`), usd],
    ]);
  },
};

export const accountRules: readonly Predicate[] = [manyWithdrawals, riskEngineClearsOrders, orderStuck];
