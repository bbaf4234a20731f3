/** The rest of a change after a record of a history is applied. Pure. */

import type { OpenChange } from "../changes/open-change.ts";
import { unexplainedUsd } from "../changes/unexplained-amount.ts";
import type { CashRecord, FillRecord, Handed } from "./cash-record.ts";
import { isFlowBefore, isOfSlotAfter } from "./record-order.ts";

/** Maximum share of its value that a liquidator keeps of a position. */
const takeoverSlack = 0.05;
/** Rounding of the prices of fills, a share of their value. */
const roundingSlack = 0.0001;
/** Maximum difference between entry value and trade for a position whose market is not known, a share of the value. */
const namelessShare = 0.2;

export function less(change: OpenChange, record: CashRecord): OpenChange {
  // The record is about the money that was moved besides trades.
  const open = change.movedBeside && record.kind !== "fill" ? { ...change, movedBeside: false } : change;
  switch (record.kind) {
    case "flow": {
      const within = record.within ? { withinUsd: (open.withinUsd ?? 0) + record.usd } : {};
      const flowUsd = open.flowUsd + record.usd;
      const left = { ...open, ...within, cashUsd: open.cashUsd - record.usd, flowUsd };
      const { beforeUsd } = open;
      return beforeUsd !== undefined && isFlowBefore(open, record)
        ? { ...left, beforeUsd: beforeUsd + record.usd }
        : left;
    }
    case "fill": {
      const { symbol, units, usd } = record;
      const isLate = isOfSlotAfter(open, record) && open.traded[symbol] === undefined;
      // A fill without a size trades nothing; only its fee counts.
      if (units === 0 || open.unpriced?.includes(symbol))
        return {
          ...open,
          cashUsd: open.cashUsd - usd,
          slackUsd: open.slackUsd + Math.abs(usd) * roundingSlack,
        };
      const { [symbol]: known, ...others } = open.traded;
      const left = (known?.units ?? 0) - units;
      const price = known?.price ?? Math.abs(usd / units);
      const unshown = known === undefined || known.unshown ? { unshown: true } : {};
      // Fills that add up to the whole trade leave a rounding error.
      const isWhole = Math.abs(left) < Math.abs(units) * 1e-9;
      const traded = isWhole
        ? others
        : { ...others, [symbol]: { units: left, price, slack: known?.slack ?? roundingSlack, ...unshown } };
      const slackUsd = open.slackUsd + Math.abs(usd) * roundingSlack;
      // It may be the last fill of a position that no state shows, with which funding was settled.
      const gone = isWhole && known?.unshown ? { gone: [...new Set([...(open.gone ?? []), symbol])] } : {};
      const late = isLate ? { late: [...(open.late ?? []), record] } : {};
      return { ...open, cashUsd: open.cashUsd - usd, traded, slackUsd, ...gone, ...late };
    }
    case "takeover": {
      const handed = record.handed && lessHanded(open, record.handed);
      if (handed) return handed;
      // Money that was paid in is not part of it.
      if (unexplainedUsd(open) > 0) return open;
      return { ...open, slackUsd: open.slackUsd + tradedUsd(open) * takeoverSlack };
    }
    case "sale":
      return { ...open, cashUsd: open.cashUsd - record.usd, ...lessTaken(open, record) };
  }
}

/**
 * Subtracts fills of the last slot that an explained change does not show, and returns them: they are later than its last
 * state. The price of a fill is its own estimate, so the change is explained without them as well.
 */
export function lessLate(open: OpenChange): readonly [left: OpenChange, late: readonly FillRecord[]] {
  const { late, ...others } = open;
  let left: OpenChange = others;
  const after: FillRecord[] = [];
  for (const record of late ?? []) {
    const { [record.symbol]: known, ...traded } = left.traded;
    if (known === undefined || Math.abs(known.units + record.units) >= Math.abs(record.units) * 1e-9)
      continue;
    const slackUsd = left.slackUsd - Math.abs(record.usd) * roundingSlack;
    left = { ...left, traded, slackUsd, cashUsd: left.cashUsd + record.usd };
    after.push(record);
  }
  return [left, after];
}

/** True if a record states the transfer of a position, and a change shows it. */
export function isHandedIn(open: OpenChange, record: CashRecord): boolean {
  const handed = record.kind === "takeover" && record.handed;
  return handed ? lessHanded(open, handed) !== null : false;
}

/** True if a record states a sale of collateral, and a change shows that the collateral was removed. */
export function isTakenIn({ taken }: OpenChange, record: CashRecord): boolean {
  return record.kind === "sale" && taken?.[record.assetIndex] !== undefined;
}

/** @returns null if the change has no such trade */
function lessHanded(open: OpenChange, handed: Handed): OpenChange | null {
  const market = handed.market ?? marketOf(open, handed);
  if (market === null) return null;
  const { symbol, units } = market;
  const { side, entryUsd, changeUsd } = handed;
  const { [symbol]: known, ...others } = open.traded;
  if (known === undefined || Math.abs(known.units) < units * (1 - 1e-9)) return null;
  const sign = Math.sign(known.units);
  if (side !== undefined && sign !== (side === "long" ? -1 : 1)) return null;
  const left = known.units - sign * units;
  const traded = Math.abs(left) < units * 1e-9 ? others : { ...others, [symbol]: { ...known, units: left } };
  return { ...open, cashUsd: open.cashUsd - changeUsd + sign * entryUsd, traded };
}

/** The only trade of a change that matches a transferred position of that side by its value; null: none or several. */
function marketOf({ traded }: OpenChange, { side, entryUsd }: Handed): Handed["market"] {
  const found = Object.entries(traded).filter(
    ([, { units, price }]) =>
      (side === undefined || units < 0 === (side === "long")) &&
      Math.abs(Math.abs(units * price) - entryUsd) <= entryUsd * namelessShare,
  );
  const [first] = found;
  if (first === undefined || found.length > 1) return null;
  return { symbol: first[0], units: Math.abs(first[1].units) };
}

/**
 * Applies a takeover to a change that does not show it, such as one that contains the opening of the position as well.
 * @param usually the side of the position if the record does not state it
 */
export function unshownLess(open: OpenChange, record: CashRecord, usually: "long" | "short"): OpenChange {
  if (record.kind !== "takeover" || !record.handed?.market) return open;
  const { side = usually, entryUsd, changeUsd } = record.handed;
  const { symbol, units } = record.handed.market;
  const sign = side === "long" ? -1 : 1;
  const {
    price,
    slack,
    units: known,
  } = open.traded[symbol] ?? {
    ...{ price: entryUsd / units, slack: roundingSlack, units: 0 },
  };
  return {
    ...open,
    cashUsd: open.cashUsd - changeUsd + sign * entryUsd,
    traded: { ...open.traded, [symbol]: { units: known - sign * units, price, slack } },
  };
}

/** @returns the part of the collateral in other assets that remains unexplained after a sale */
function lessTaken(
  { taken = {} }: OpenChange,
  { assetIndex, units }: CashRecord & { readonly kind: "sale" },
): Pick<OpenChange, "taken"> {
  const { [assetIndex]: known, ...others } = taken;
  if (known === undefined) return {};
  const left = known.units - units;
  if (left <= known.units * 1e-9) return { taken: others };
  return { taken: { ...others, [assetIndex]: { units: left, usd: (known.usd * left) / known.units } } };
}

function tradedUsd({ traded }: OpenChange): number {
  return Object.values(traded).reduce((sum, { units, price }) => sum + Math.abs(units) * price, 0);
}
