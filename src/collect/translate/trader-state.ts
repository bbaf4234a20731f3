/**
 * Translates a trader state into domain types. Exact integers stay exact.
 *
 * Most of an account equals the previous answer (its orders, its triggers). These parts reuse the previous objects:
 * each new object has to be kept, collected, and compared by the recording.
 */
import {
  type ConditionalTrigger,
  type SubaccountSnapshot,
  TRADER_STATES,
  type Trigger,
  type TriggerRow,
} from "../../contract/index.ts";
import type {
  Capability,
  OrderState,
  PositionState,
  SubaccountState,
  TriggerState,
} from "../../domain/account.ts";
import { type OnUnknownWord, wordOf } from "../anomalies/known-words.ts";

const noTriggers: readonly TriggerState[] = [];
const nothingListed: ReadonlyMap<string, TriggerRow> = new Map();

/** @param before the previous translation of the same account */
export function subaccountState(
  row: SubaccountSnapshot,
  onUnknown: OnUnknownWord,
  before?: SubaccountState,
): SubaccountState {
  // Most accounts have no triggers.
  const triggers =
    row.triggers.length === 0
      ? nothingListed
      : new Map(row.triggers.map((one) => [one.symbol.toUpperCase(), one]));
  const positions: PositionState[] = [];
  for (const position of row.positions) {
    // A row of size 0 is no position.
    if (position.basePositionLots === 0n) continue;
    positions.push({
      symbol: position.symbol,
      baseLots: position.basePositionLots,
      virtualQuoteLots: position.virtualQuotePositionLots,
      unsettledFundingQuoteLots: position.unsettledFundingQuoteLots,
      accumulatedFundingQuoteLots: position.accumulatedFundingQuoteLots,
      sequence: position.positionSequenceNumber,
      triggers: shared(
        triggersOf(position, triggers.size === 0 ? undefined : triggers.get(position.symbol.toUpperCase())),
        before?.positions[positions.length]?.triggers,
      ),
    });
  }
  const orders = row.orders.flatMap(({ symbol, orders }) =>
    orders.map((order) => orderState(symbol, order, onUnknown)),
  );
  const state: SubaccountState = {
    subaccount: row.subaccountIndex,
    sequence: row.sequence,
    collateralQuoteLots: row.collateral,
    spotCollaterals:
      row.spotCollaterals.length === 0
        ? noSpot
        : shared(row.spotCollaterals.map(spotState), before?.spotCollaterals),
    lifecycle: wordOf(TRADER_STATES, row.capabilities?.state ?? "active", "state", onUnknown),
    capabilities: sameAsBefore(row.capabilities?.capabilities as Capabilities | undefined),
    positions: shared(positions, before?.positions),
    orders: shared(orders, before?.orders),
  };
  return before !== undefined && isSame(state, before) ? before : state;
}

/**
 * Reuses unchanged members, and the whole list if all are unchanged. A new list has exact capacity: each account keeps
 * its newest state.
 */
function shared<T extends object>(list: readonly T[], before: readonly T[] | undefined): readonly T[] {
  if (list.length === 0) return before?.length === 0 ? before : list;
  if (before === undefined) return list.slice();
  const members = list.map((one, i) => {
    const last = before[i];
    return last !== undefined && isSame(one, last) ? last : one;
  });
  return members.length === before.length && members.every((one, i) => one === before[i]) ? before : members;
}

/** Returns true if two objects have the same fields, and share their nested parts. */
function isSame<T extends object>(one: T, other: T): boolean {
  for (const field in one) if (one[field] !== other[field]) return false;
  return true;
}

const noSpot: SubaccountState["spotCollaterals"] = [];

function spotState({
  assetIndex,
  symbol,
  balance,
  decimals,
}: SubaccountSnapshot["spotCollaterals"][number]): SubaccountState["spotCollaterals"][number] {
  return { assetIndex, symbol, balance, decimals };
}

type Capabilities = Readonly<Record<string, Capability>>;

let lastCapabilities: Capabilities = {};

/**
 * Returns a shared object if possible: nearly all accounts have the same capabilities in every answer, which saves
 * memory and garbage collection.
 */
function sameAsBefore(found: Capabilities | undefined): Capabilities {
  if (found === undefined) return noCapabilities;
  let count = 0;
  let same = true;
  for (const name in found) {
    count++;
    const [one, before] = [found[name]!, lastCapabilities[name]];
    if (before?.immediate !== one.immediate || before.viaColdActivation !== one.viaColdActivation)
      same = false;
  }
  if (same && count === Object.keys(lastCapabilities).length) return lastCapabilities;
  lastCapabilities = { ...found };
  return lastCapabilities;
}

const noCapabilities: Capabilities = {};

type OrderRowOf = SubaccountSnapshot["orders"][number]["orders"][number];

function orderState(symbol: string, row: OrderRowOf, onUnknown: OnUnknownWord): OrderState {
  if (row.side !== "bid" && row.side !== "ask") onUnknown("orders.side", row.side);
  return {
    symbol,
    sequence: row.orderSequenceNumber,
    // There is no third side; any value other than `bid` counts as the other.
    side: row.side === "bid" ? "bid" : "ask",
    kind: row.conditionalKind ?? row.orderType,
    priceTicks: row.priceTicks,
    remainingLots: row.sizeRemainingLots,
    initialLots: row.initialSizeLots,
    reduceOnly: row.reduceOnly,
    stopLoss: row.isStopLoss,
    status: row.status,
  };
}

/**
 * Returns the triggers. They are in a list of their own, and in the position in a deprecated form: servers write one of
 * them or both. One that is in both is one trigger.
 */
function triggersOf(position: TriggerRow, listed: TriggerRow | undefined): readonly TriggerState[] {
  if (!hasTriggers(position) && (listed === undefined || !hasTriggers(listed))) return noTriggers;
  const found = new Map<string, TriggerState>();
  for (const row of listed ? [listed, position] : [position]) {
    if (!hasTriggers(row)) continue;
    for (const trigger of rowTriggers(row)) {
      const key = `${trigger.kind} ${trigger.id}`;
      if (!found.has(key)) found.set(key, trigger);
    }
  }
  return [...found.values()];
}

/** Most positions have none, and each position is checked in every answer. */
function hasTriggers(row: TriggerRow): boolean {
  return (
    row.takeProfitTriggers.length > 0 ||
    row.stopLossTriggers.length > 0 ||
    row.conditionalTakeProfitTriggers.length > 0 ||
    row.conditionalStopLossTriggers.length > 0
  );
}

function rowTriggers(row: TriggerRow): TriggerState[] {
  return [
    ...row.takeProfitTriggers.map((one) => plain("takeProfit", one.takeProfitId, one.trigger, one.status)),
    ...row.stopLossTriggers.map((one) => plain("stopLoss", one.stopLossId, one.trigger, one.status)),
    ...row.conditionalTakeProfitTriggers.map((one) =>
      conditional("takeProfit", one.conditionalTakeProfitId, one.trigger, one.status),
    ),
    ...row.conditionalStopLossTriggers.map((one) =>
      conditional("stopLoss", one.conditionalStopLossId, one.trigger, one.status),
    ),
  ];
}

function plain(kind: TriggerState["kind"], id: string, trigger: Trigger, status: string): TriggerState {
  return {
    kind,
    id,
    triggerPriceTicks: trigger.triggerPriceTicks,
    executionPriceTicks: trigger.executionPriceTicks,
    side: trigger.side === "bid" ? "bid" : "ask",
    maxSizeLots: null,
    percent: null,
    status,
  };
}

function conditional(
  kind: TriggerState["kind"],
  id: string,
  trigger: ConditionalTrigger,
  status: string,
): TriggerState {
  return {
    ...plain(kind, id, trigger, status),
    maxSizeLots: trigger.usePercent ? null : trigger.maxSizeLots,
    percent: trigger.usePercent ? trigger.percent : null,
  };
}
