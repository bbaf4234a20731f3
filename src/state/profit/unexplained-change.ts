/**
 * One change of an account's collateral that is not explained, and the part of it that records of the histories leave to explain. Pure.
 */
import { usdFromQuoteLots } from "../../margin/units.ts";
import type { Balance, BalanceChange, TakenSpots } from "./balance-change.ts";
import { pdaIndexOf } from "./slots.ts";

/** A liquidator that takes over a position keeps up to this share of its value. */
const takeoverSlack = 0.05;
/** Prices of fills are rounded: a share of their value. */
const roundingSlack = 0.0001;
/** A position whose market is not known is handed over at its entry value, which differs from that of the trade by up to this share. */
const namelessShare = 0.2;
/** Collateral in another asset is sold at a discount when it is liquidated: up to this share of its value. */
const saleSlack = 0.2;
/** The sides of a transfer are the same to this share of it, however rough the estimates are that stand in them. */
const transferSlack = 0.1;
/** Rough estimates tell a transfer only of a time as short as this, in slots: in a longer one there may be flows of any kind. */
const roughSlots = 50;
const centUsd = 0.01;
/** Amounts are multiples of 10⁻⁶ USD, read as doubles. */
export const exactUsd = 5e-7;
/** Every choice of so many fills of one slot is tried. */
export const maxTried = 10;
const maxTriedFlows = 3;
/** A slot is at most so long, ms. */
const maxSlotMs = 1_000;
/** The time of a slot is known to this, ms. */
const slotTimeMs = 60_000;

export interface Place {
  /** Name of the account. */
  readonly account: string;
  readonly slot: number;
  /** The place of its transaction within the slot. Absent: not known. */
  readonly index?: number;
}

/** A position that was handed over at its entry value. Units and value are positive. */
export interface Handed {
  /** Null: the record does not say. */
  readonly market: { readonly symbol: string; readonly units: number } | null;
  /** The side of the position; absent: the record does not say. */
  readonly side?: "long" | "short";
  readonly entryUsd: number;
  /** The change of the account's collateral. */
  readonly changeUsd: number;
}

/** A record of a history that moved an account's cash. Amounts are USD, positive: received. */
export type CashRecord = Place &
  /**
   * `afterUsd`: the account's collateral after it. Absent: the record does not say. `unshown`, `shown`: the state of its slot that was read
   * does not show it, or does, whatever collateral that has. `within`: it moved between accounts of one wallet.
   */
  (
    | {
        readonly kind: "flow";
        readonly usd: number;
        readonly afterUsd?: number;
        readonly unshown?: true;
        readonly shown?: true;
        readonly within?: true;
      }
    /** `units`: signed change of the size; `usd`: after fees. */
    | { readonly kind: "fill"; readonly symbol: string; readonly units: number; readonly usd: number }
    /** A liquidator took a position over, or counterparties closed it; `handed`: with its entry value. */
    | { readonly kind: "takeover"; readonly handed?: Handed }
    /** Collateral in another asset was liquidated: `units` of the asset were sold for `usd`. */
    | { readonly kind: "sale"; readonly assetIndex: number; readonly units: number; readonly usd: number }
  );

/** A payment of the funding history, which does not say for which account of a PDA index it is. */
export interface FundingRecord {
  readonly key: string;
  readonly pdaIndex: number;
  readonly symbol: string;
  /** Positive: received. */
  readonly usd: number;
  /** The end of its hour, ms. */
  readonly endMs: number;
}

export type FlowRecord = CashRecord & { readonly kind: "flow" };
export type FillRecord = CashRecord & { readonly kind: "fill" };
/** A record of the slot of a state that may have come after that state. */
export type LooseRecord = FillRecord | FlowRecord;

export interface OpenChange extends BalanceChange {
  readonly account: string;
  /** It happened after the first slot, and at the second at the latest. See `slotBefore` for the slot of its first state. */
  readonly fromSlot: number;
  readonly toSlot: number;
  /** The places within their slots up to which the states before and after it tell of the ledger. Absent: not known. */
  readonly fromIndex?: number | undefined;
  readonly toIndex?: number | undefined;
  /** The time at which it was seen, ms. */
  readonly atMs: number;
  /** The time at which its last state was seen, ms. Absent: it has one. */
  readonly untilMs?: number;
  /** Time of the newest reading of the collateral history without it, ms; before the first, when it was seen. */
  readonly readMs: number;
  /** Time of such readings, ms. */
  readonly waitedMs: number;
  /** The part that the collateral history explains. */
  readonly flowUsd: number;
  /** Collateral in other assets that was taken from the account: it was paid out, or sold. Absent: none was. */
  readonly taken?: TakenSpots;
  /** Both states are those of an account that is not there: nothing but records tells of it. */
  readonly unlisted?: boolean;
  /** The part of the flows that was reported as explained before more records came, USD. Absent: none. */
  readonly reportedUsd?: number;
  /** The parts of both that moved between accounts of the wallet, USD. Absent: none did. */
  readonly withinUsd?: number;
  readonly reportedWithinUsd?: number;
  /** Collateral of the state before, and of the flows of its slot that came after it, USD. Absent: not known. */
  readonly beforeUsd?: number;
  /** The state before is of the slot of the state after it. */
  readonly ofOneSlot?: boolean;
  /** Fills left it open: it was part of the profit until then. */
  readonly reopened?: boolean;
  /** Fills of its last slot of whose trades it shows nothing: they may have come after its last state. Absent: none. */
  readonly late?: readonly FillRecord[];
  /** A flow of other slots was taken for a part of it, by its amount alone. */
  readonly guessed?: boolean;
  /** A state of its slot shows what no trade of it explains: money was moved beside trades whose estimates could hide it. */
  readonly movedBeside?: boolean;
}

export type OpenPlace = Pick<
  OpenChange,
  "account" | "fromSlot" | "toSlot" | "fromIndex" | "toIndex" | "ofOneSlot" | "atMs"
>;

/** The amounts between which the flows lie that open changes are, USD; both 0: nothing is open. */
export interface OpenRange {
  /** At most so much came in; not negative. */
  readonly inUsd: number;
  /** At most so much went out; not positive. */
  readonly outUsd: number;
}

export const nothingOpen: OpenRange = { inUsd: 0, outUsd: 0 };

/** True if a record is of a change, or may be. */
export function isWithin(change: OpenPlace, record: Place): boolean {
  if (record.account !== change.account || isAfterLast(change, record)) return false;
  return isAfterFirst(change, record) ?? record.slot > change.fromSlot;
}

/** True if a record is known to have come after the state after a change. */
export function isAfterLast({ toSlot, toIndex }: OpenPlace, record: Place): boolean {
  return record.slot > toSlot || (record.slot === toSlot && isAfter(record, toIndex) === true);
}

/** The slot of the state before a change. */
export function slotBefore({
  fromSlot,
  toSlot,
  ofOneSlot = false,
}: Pick<OpenPlace, "fromSlot" | "toSlot" | "ofOneSlot">): number {
  return ofOneSlot ? toSlot : fromSlot;
}

/** True if a record is of the slot of the state before a change, and may have come after that state. */
export function isOfSlotBefore(change: OpenPlace, record: Place): boolean {
  return (
    record.account === change.account &&
    record.slot === slotBefore(change) &&
    isAfterFirst(change, record) === undefined &&
    !isAfterLast(change, record)
  );
}

/** True if a record of the slot of the state after a change may have come after that state. */
export function isOfSlotAfter({ account, toSlot, toIndex }: OpenPlace, record: Place): boolean {
  return record.account === account && record.slot === toSlot && isAfter(record, toIndex) === undefined;
}

/** True if a change contains another one of its account and slot: no record tells two states apart whose places are not known. */
export function contains(change: OpenChange, other: OpenChange): boolean {
  const { account, toSlot, fromIndex, ofOneSlot = false } = change;
  if (other.account !== account || other.toSlot !== toSlot) return false;
  return !ofOneSlot || fromIndex === undefined || other.fromIndex === fromIndex;
}

/** True if a record of the slot of a state came after that state; undefined: it is not known. @param index of the state */
export function isAfter(record: Place, index: number | undefined): boolean | undefined {
  return index === undefined || record.index === undefined ? undefined : record.index > index;
}

/** The same of the state before a change; undefined also where it is of another slot. */
function isAfterFirst(change: OpenPlace, record: Place): boolean | undefined {
  return record.slot === slotBefore(change) ? isAfter(record, change.fromIndex) : undefined;
}

/** Two changes of an account that end in one slot, as one: records do not tell which of them they belong to. */
export function joined(first: OpenChange, second: OpenChange): OpenChange {
  const traded: Record<string, OpenChange["traded"][string]> = { ...first.traded };
  let slackUsd = first.slackUsd + second.slackUsd;
  for (const [symbol, one] of Object.entries(second.traded)) {
    const known = traded[symbol];
    if (known === undefined) {
      traded[symbol] = one;
      continue;
    }
    const sizes = Math.abs(known.units) + Math.abs(one.units);
    slackUsd += (sizes * Math.abs(known.price - one.price)) / 2;
    const [price, slack] = [(known.price + one.price) / 2, Math.max(known.slack, one.slack)];
    traded[symbol] = { units: known.units + one.units, price, slack };
  }
  return {
    ...second,
    fromSlot: first.fromSlot,
    fromIndex: first.fromIndex,
    atMs: first.atMs,
    untilMs: second.atMs,
    cashUsd: first.cashUsd + second.cashUsd,
    traded,
    slackUsd,
    ...(first.unpriced || second.unpriced
      ? { unpriced: [...(first.unpriced ?? []), ...(second.unpriced ?? [])] }
      : {}),
    ...(first.gone || second.gone
      ? { gone: [...new Set([...(first.gone ?? []), ...(second.gone ?? [])])] }
      : {}),
    flowUsd: first.flowUsd + second.flowUsd,
    ...(first.reportedUsd === undefined ? {} : { reportedUsd: first.reportedUsd }),
    withinUsd: (first.withinUsd ?? 0) + (second.withinUsd ?? 0),
    reportedWithinUsd: first.reportedWithinUsd ?? 0,
    ...(first.beforeUsd === undefined ? {} : { beforeUsd: first.beforeUsd }),
    ofOneSlot: first.ofOneSlot ?? false,
    ...(first.movedBeside || second.movedBeside ? { movedBeside: true } : {}),
    ...(first.guessed || second.guessed ? { guessed: true } : {}),
    ...(first.late || second.late ? { late: [...(first.late ?? []), ...(second.late ?? [])] } : {}),
  };
}

/**
 * The fills that are the trades of a change and explain it, with payments of funding, or with flows that leave nothing beside them;
 * those that leave the least of it to explain; empty: none do. Fills that opened and closed a position are trades that it does not
 * show.
 */
export function fittingOf(
  open: OpenChange,
  loose: readonly LooseRecord[],
  payments: readonly FundingRecord[],
): readonly LooseRecord[] {
  const isFill = (one: LooseRecord): one is FillRecord => one.kind === "fill";
  const isShown = (one: LooseRecord): boolean => isFill(one) && open.traded[one.symbol] !== undefined;
  const fills = [...loose.filter((one) => isFill(one) && !isShown(one)), ...loose.filter(isShown)];
  const flows = loose.filter((one) => !isFill(one));
  let fitting: readonly LooseRecord[] = [];
  let leastUsd = Number.POSITIVE_INFINITY;
  for (const trades of subsetsOf(fills.slice(-maxTried))) {
    const untraded = trades.reduce(less, open);
    if (trades.length === 0) continue;
    if (trades.some((one) => isFill(one) && untraded.traded[one.symbol] !== undefined)) continue;
    const sums = fundingSums(untraded, payments);
    for (const paid of subsetsOf(flows.slice(-maxTriedFlows))) {
      const all = paid.reduce(less, untraded);
      const left = isExplained(all) ? all : (lessNearest(all, sums) ?? all);
      const usd = Math.abs(unexplainedUsd(left));
      const isFitting = paid.length === 0 ? isExplained(left) : usd <= centUsd;
      if (!isFitting || usd >= leastUsd) continue;
      fitting = [...trades, ...paid];
      leastUsd = usd;
    }
  }
  return fitting;
}

/**
 * A change less the funding that was settled with positions that are gone since, as payments of its time tell; null where none of them
 * explain it. Trades at estimated prices are too rough to tell that.
 */
export function lessFunding(open: OpenChange, payments: readonly FundingRecord[]): OpenChange | null {
  return lessNearest(open, fundingSums(open, payments));
}

/** Sums of all selections of the payments that may be a part of a change, USD. */
function fundingSums(open: OpenChange, payments: readonly FundingRecord[]): readonly number[] {
  const { gone, traded, account, unpriced, fromSlot, toSlot, atMs } = open;
  let sums: readonly number[] = [];
  if (gone === undefined || unpriced !== undefined || Object.keys(traded).length > 0) return sums;
  const pdaIndex = pdaIndexOf(account);
  const fromMs = atMs - (toSlot - fromSlot) * maxSlotMs - slotTimeMs;
  const toMs = atMs + slotTimeMs;
  const own = payments.filter(
    (one) =>
      one.pdaIndex === pdaIndex && gone.includes(one.symbol) && one.endMs >= fromMs && one.endMs <= toMs,
  );
  for (const { usd } of own.slice(-maxTried)) sums = [...sums, usd, ...sums.map((sum) => sum + usd)];
  return sums;
}

/** A change less the sum that leaves the least of it; null where that does not explain it. */
function lessNearest(open: OpenChange, sums: readonly number[]): OpenChange | null {
  let cashUsd = Number.POSITIVE_INFINITY;
  for (const sum of sums) {
    const usd = open.cashUsd - sum;
    if (Math.abs(usd) < Math.abs(cashUsd)) cashUsd = usd;
  }
  const left = { ...open, cashUsd };
  return isExplained(left) ? left : null;
}

/** All selections of some of them, the largest first, the empty one last. */
export function* subsetsOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let subset = (1 << all.length) - 1; subset >= 0; subset--)
    yield all.filter((_, index) => subset & (1 << index));
}

/** True if a balance is that of before a flow. @param usd flows between the two */
export function precedes({ collateralQuoteLots }: Balance, record: CashRecord, usd: number): boolean {
  return isOf(usdFromQuoteLots(collateralQuoteLots) + usd, record);
}

/** True if collateral, in USD, is that of before a flow. */
function isOf(collateralUsd: number, record: CashRecord): boolean {
  if (record.kind !== "flow" || record.afterUsd === undefined) return false;
  return Math.abs(collateralUsd - (record.afterUsd - record.usd)) <= exactUsd;
}

/** True if a flow of the slot of the state before a change came after that state. */
export function isFlowBefore(open: OpenChange, record: CashRecord): boolean {
  const { account, beforeUsd } = open;
  if (record.account !== account || record.slot !== slotBefore(open)) return false;
  const isLater = isAfterFirst(open, record);
  if (isLater !== undefined) return isLater && isWithin(open, record);
  if (record.kind === "flow" && record.shown) return false;
  return beforeUsd !== undefined && isOf(beforeUsd, record);
}

/** A flow of a size, USD, that came after the state before a change and before all others; undefined: that does not fit. */
export function firstFlowOf(
  { beforeUsd }: OpenChange,
  sizeUsd: number,
  afterUsd: number,
): number | undefined {
  if (beforeUsd === undefined) return undefined;
  return [sizeUsd, -sizeUsd].find((usd) => Math.abs(beforeUsd + usd - afterUsd) <= exactUsd);
}

export function sumOf(records: readonly CashRecord[]): number {
  return records.reduce((sum, one) => (one.kind === "flow" ? sum + one.usd : sum), 0);
}

export function isFlow({ kind }: CashRecord): boolean {
  return kind === "flow";
}

export function less(change: OpenChange, record: CashRecord): OpenChange {
  // The record tells of the money that was moved beside trades.
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
      // One without a size trades nothing at no price: its fee counts.
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
      // Rounding leaves something when fills add up to the whole trade.
      const isWhole = Math.abs(left) < Math.abs(units) * 1e-9;
      const traded = isWhole
        ? others
        : { ...others, [symbol]: { units: left, price, slack: known?.slack ?? roundingSlack, ...unshown } };
      const slackUsd = open.slackUsd + Math.abs(usd) * roundingSlack;
      // It may be the last of a position that no state shows, with which funding was settled.
      const gone = isWhole && known?.unshown ? { gone: [...new Set([...(open.gone ?? []), symbol])] } : {};
      const late = isLate ? { late: [...(open.late ?? []), record] } : {};
      return { ...open, cashUsd: open.cashUsd - usd, traded, slackUsd, ...gone, ...late };
    }
    case "takeover": {
      const handed = record.handed && lessHanded(open, record.handed);
      if (handed) return handed;
      // Money that came in beside it is none of it.
      if (unexplainedUsd(open) > 0) return open;
      return { ...open, slackUsd: open.slackUsd + tradedUsd(open) * takeoverSlack };
    }
    case "sale":
      return { ...open, cashUsd: open.cashUsd - record.usd, ...lessTaken(open, record) };
  }
}

/**
 * A change that is explained, less the fills of its last slot that it does not show, and these: they came after its last state.
 * A fill is its own estimate, so the change is explained without it as well.
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

/** True if a record states that a position was handed over, and a change shows that. */
export function isHandedIn(open: OpenChange, record: CashRecord): boolean {
  const handed = record.kind === "takeover" && record.handed;
  return handed ? lessHanded(open, handed) !== null : false;
}

/** True if a record states that collateral was sold, and a change shows that it is gone. */
export function isTakenIn({ taken }: OpenChange, record: CashRecord): boolean {
  return record.kind === "sale" && taken?.[record.assetIndex] !== undefined;
}

/** @returns null where the change has no such trade */
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

/** The only trade of a change that may be the handing over of a position of that side, by its value; null: there is none, or are several. */
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
 * Applies a stated takeover to a change that does not show it, as one does not that contains the opening of the position, too.
 * @param usually the side of the position where the record does not say it
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

/** @returns the part of the collateral in other assets that a sale leaves to explain */
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

/** The sides of transfers come to nothing: those first that come nearest to it. */
export function rangeOf(changes: readonly OpenChange[]): OpenRange {
  if (changes.length === 0) return nothingOpen;
  if (isTransfer(changes)) return nothingOpen;
  const left = new Set(changes);
  const pairs = changes.flatMap((one, index) =>
    changes.slice(index + 1).flatMap((other) => {
      const apartUsd = Math.abs(unexplainedUsd(one) + unexplainedUsd(other));
      return isTransfer([one, other]) ? [{ one, other, apartUsd }] : [];
    }),
  );
  for (const { one, other } of pairs.sort((a, b) => a.apartUsd - b.apartUsd)) {
    if (!left.has(one) || !left.has(other)) continue;
    left.delete(one);
    left.delete(other);
  }
  let inUsd = 0;
  let outUsd = 0;
  for (const one of left) {
    const usd = unexplainedUsd(one);
    const takenUsd = takenUsdOf(one);
    inUsd += Math.max(0, usd - takenUsd);
    outUsd += Math.min(0, usd) - takenUsd;
  }
  return { inUsd, outUsd };
}

/** True if these changes can be the sides of transfers between accounts: they are of one time, and come to nothing together. */
function isTransfer(changes: readonly OpenChange[]): boolean {
  let usd = 0;
  let slackUsd = 0;
  let movedUsd = 0;
  let fromSlot = Number.NEGATIVE_INFINITY;
  let toSlot = Number.POSITIVE_INFINITY;
  let mostSlots = 0;
  for (const one of changes) {
    if (takenUsdOf(one) > 0) return false;
    const own = unexplainedUsd(one);
    usd += own;
    movedUsd += Math.abs(own) / 2;
    slackUsd += slackOf(one);
    fromSlot = Math.max(fromSlot, one.fromSlot);
    toSlot = Math.min(toSlot, one.toSlot);
    mostSlots = Math.max(mostSlots, one.toSlot - one.fromSlot);
  }
  if (fromSlot >= toSlot) return false;
  // A trade is estimated at the mark of now, which may be far from that of its time where nothing was read for long.
  const roughUsd = mostSlots > roughSlots ? 0 : movedUsd * transferSlack;
  return Math.abs(usd) <= Math.min(slackUsd, centUsd + roughUsd);
}

export function takenUsdOf({ taken }: OpenChange): number {
  let usd = 0;
  if (taken !== undefined) for (const one of Object.values(taken)) usd += one.usd;
  return usd;
}

/** True if a sale of the collateral that was taken is about what came in. */
export function isLikeSale(open: OpenChange): boolean {
  // Fills leave nothing, as far as that can be: funding that is known roughly does not make up for a sale to the cent.
  const isExact = Object.keys(open.traded).length === 0 && Math.abs(unexplainedUsd(open)) <= centUsd;
  if (isExact) return false;
  const takenUsd = takenUsdOf(open);
  return Math.abs(unexplainedUsd(open) - takenUsd) <= slackOf(open) + takenUsd * saleSlack;
}

/** True if collateral that was taken was more likely sold than paid out, by the cash alone. */
export function isSale(open: OpenChange): boolean {
  const usd = unexplainedUsd(open);
  return isLikeSale(open) && Math.abs(usd - takenUsdOf(open)) < Math.abs(usd);
}

/** The part of a change that trades at their estimated prices do not explain, USD. */
export function unexplainedUsd({ cashUsd, traded }: OpenChange): number {
  let usd = cashUsd;
  for (const { units, price } of Object.values(traded)) usd += units * price;
  return usd;
}

export function slackOf(open: OpenChange): number {
  return centUsd + roughnessOf(open);
}

/** The amount by which the estimates of trades and funding in it may be wrong, USD. */
export function roughnessOf({ traded, slackUsd }: OpenChange): number {
  let usd = slackUsd;
  for (const { units, price, slack } of Object.values(traded)) usd += Math.abs(units) * price * slack;
  return usd;
}

function tradedUsd({ traded }: OpenChange): number {
  return Object.values(traded).reduce((sum, { units, price }) => sum + Math.abs(units) * price, 0);
}

export function isExplained(open: OpenChange): boolean {
  // Each trade is its own estimate: those that opened and closed a position explain nothing one by one.
  if (open.unlisted && Object.keys(open.traded).length > 0) return false;
  // Nor do they without what was paid in for them.
  if (open.unlisted && open.flowUsd === 0 && open.cashUsd !== 0) return false;
  // Money that came and went again leaves nothing; else the estimates of trades do not explain money moved beside them.
  const isMoved = open.movedBeside === true && Object.keys(open.traded).length > 0;
  return Math.abs(unexplainedUsd(open)) <= (isMoved ? centUsd : slackOf(open));
}
