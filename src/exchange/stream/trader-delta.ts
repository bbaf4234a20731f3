/** Applies the changes of a trader-state message to a subaccount. */
import type { SubaccountDelta, SubaccountSnapshot } from "../../contract/index.ts";

export function emptySubaccount(subaccountIndex: number): SubaccountSnapshot {
  return {
    subaccountIndex,
    sequence: 0,
    collateral: 0n,
    capabilities: null,
    cooldownStatus: null,
    spotCollaterals: [],
    positions: [],
    orders: [],
    splines: [],
    triggers: [],
  };
}

type Lists = Pick<SubaccountSnapshot, "positions" | "triggers" | "orders" | "splines">;

/** Returns a subaccount after a change, as a new value. Misfit: the sign of a missing earlier change; null: none. */
export function applied(
  before: SubaccountSnapshot,
  delta: SubaccountDelta,
): { readonly row: SubaccountSnapshot; readonly misfit: string | null } {
  const misfits: string[] = [];
  const lists: Lists = {
    positions: positionsAfter(before, delta, misfits),
    triggers: triggersAfter(before, delta),
    orders: ordersAfter(before, delta, misfits),
    splines: splinesAfter(before, delta),
  };
  const row: SubaccountSnapshot = {
    ...before,
    ...lists,
    sequence: delta.sequence,
    collateral: delta.collateral,
    capabilities: delta.capabilities ?? before.capabilities,
    cooldownStatus: delta.cooldownStatus ?? before.cooldownStatus,
    spotCollaterals: delta.spotCollaterals ?? before.spotCollaterals,
  };
  return { row, misfit: misfits[0] ?? null };
}

function positionsAfter(before: SubaccountSnapshot, delta: SubaccountDelta, misfits: string[]) {
  const positions = new Map(before.positions.map((one) => [one.symbol.toUpperCase(), one]));
  for (const { symbol, change, position } of delta.positions) {
    const key = symbol.toUpperCase();
    const known = positions.get(key);
    if (change === "closed") {
      if (!known) misfits.push("the closing of a position that is not known");
      positions.delete(key);
    } else if (position !== null) {
      if (known && older(position.positionSequenceNumber, known.positionSequenceNumber))
        misfits.push("a position that is older than what is known");
      positions.set(key, { symbol, ...position });
    }
  }
  // Positions contain triggers too, in a deprecated form: the list's changes apply to both.
  for (const { symbol, change, triggers } of delta.triggers) {
    const known = positions.get(symbol.toUpperCase());
    if (!known || (change !== "closed" && triggers === null)) continue;
    positions.set(symbol.toUpperCase(), {
      ...known,
      ...noTriggers,
      ...(change === "closed" ? {} : triggers),
    });
  }
  return [...positions.values()];
}

const noTriggers = {
  takeProfitTriggers: [],
  stopLossTriggers: [],
  conditionalTakeProfitTriggers: [],
  conditionalStopLossTriggers: [],
};

function triggersAfter(before: SubaccountSnapshot, delta: SubaccountDelta) {
  const triggers = new Map(before.triggers.map((one) => [one.symbol.toUpperCase(), one]));
  for (const { symbol, change, triggers: body } of delta.triggers) {
    if (change === "closed") triggers.delete(symbol.toUpperCase());
    else if (body !== null) triggers.set(symbol.toUpperCase(), { symbol, ...body });
  }
  return [...triggers.values()];
}

function ordersAfter(before: SubaccountSnapshot, delta: SubaccountDelta, misfits: string[]) {
  const bySymbol = new Map(before.orders.map((one) => [one.symbol.toUpperCase(), one]));
  for (const { symbol, orders } of delta.orders) {
    const key = symbol.toUpperCase();
    const rows = new Map(bySymbol.get(key)?.orders.map((one) => [one.orderSequenceNumber, one]));
    for (const { change, ...order } of orders) {
      const number = order.orderSequenceNumber;
      if (change !== "closed") rows.set(number, order);
      else if (!rows.delete(number) && order.sizeRemainingLots < order.initialSizeLots && !order.isStopLoss)
        if (order.sizeRemainingLots !== 0n)
          // An order that opened and closed between two messages is filled or has its whole size left.
          misfits.push("the closing of an order that is not known");
    }
    if (rows.size === 0) bySymbol.delete(key);
    else bySymbol.set(key, { symbol, orders: [...rows.values()] });
  }
  return [...bySymbol.values()];
}

function splinesAfter(before: SubaccountSnapshot, delta: SubaccountDelta) {
  const keyOf = (symbol: string, midTicks: bigint | undefined) => `${symbol.toUpperCase()} ${midTicks ?? ""}`;
  const splines = new Map(before.splines.map((one) => [keyOf(one.symbol, one.midPriceTicks), one]));
  for (const { symbol, change, spline } of delta.splines) {
    if (spline !== null && change !== "closed") {
      splines.set(keyOf(symbol, spline.midPriceTicks), { symbol, ...spline });
    } else if (change === "closed") {
      if (spline !== null) splines.delete(keyOf(symbol, spline.midPriceTicks));
      else
        for (const [key, one] of [...splines])
          if (one.symbol.toUpperCase() === symbol.toUpperCase()) splines.delete(key);
    }
  }
  return [...splines.values()];
}

/** Compares sequence numbers, which reach 2^64 and are texts. */
function older(one: string, other: string): boolean {
  if (!/^\d+$/.test(one) || !/^\d+$/.test(other)) return false;
  return BigInt(one) < BigInt(other);
}
