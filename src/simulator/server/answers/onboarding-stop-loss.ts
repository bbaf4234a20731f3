/** Builds instructions that set a stop loss or a take profit on a position. They take effect when they are executed. */
import {
  type Handlers,
  instructionRecord,
  type ServerArgsFor,
  type StopLossOrder,
  stopLossInstruction,
} from "../../../contract/index.ts";
import { baseLotsFromUnits, ticksFromUsd } from "../../../margin/units.ts";
import type { Position } from "../../accounts/position.ts";
import { abs } from "../../decimals.ts";
import { stopLossParts } from "../../ledger/accounts.ts";
import type { Market } from "../../state.ts";
import { Refusal } from "../sessions.ts";
import { type Context, marketOf, NotFound } from "./context.ts";

type Args = ServerArgsFor<"placeStopLossOrder">;

const bad = (why: string, code = "invalid_order") => new NotFound(why, 400, code);

export const stopLossAnswers = {
  placeStopLossOrder: (args, { world, session }) => {
    if (session?.wallet !== args.authority) throw new Refusal(403, "insufficient_role");
    const market = marketOf(world, args.symbol);
    const { traderPdaIndex, traderSubaccountIndex = 0 } = args;
    const account = world.accounts.get(
      world.deriveAddress(args.authority, traderPdaIndex, traderSubaccountIndex),
    );
    const position = account?.positions.get(market.spec.symbol);
    if (!account || !position) throw bad(`There is no position in ${market.spec.symbol}`, "no_position");
    if (args.isIsolated !== undefined && args.isIsolated !== traderSubaccountIndex > 0)
      throw bad("isIsolated: isolated positions are those of subaccounts above 0");
    if (args.flightBuilderAuthority !== undefined || args.flightFeeCollectorTrader !== undefined)
      throw bad("Builder routing is not offered here");
    const orders = ordersOf(args, market, position);
    return orders.map((order) =>
      instructionRecord(
        stopLossInstruction({
          ...stopLossParts(account, market),
          funder: args.feePayer ?? args.authority,
          positionAuthority: args.positionAuthority ?? args.authority,
          order,
        }),
      ),
    );
  },
} satisfies Partial<Handlers<Context>>;

function ordersOf(args: Args, market: Market, position: Position): StopLossOrder[] {
  const held = abs(position.baseLots);
  const closing = position.baseLots > 0n ? "ask" : "bid";
  if (args.side !== closing)
    throw bad(`side: a ${closing === "ask" ? "long" : "short"} is closed by ${closing}`);
  if (args.numBaseLots !== undefined && args.quantity !== undefined)
    throw bad("numBaseLots, quantity: give one of the two");
  const asked = args.numBaseLots ?? baseLotsFromUnits(args.quantity ?? 0, market.spec);
  const baseLots = BigInt(Math.round(asked));
  if (baseLots <= 0n || baseLots > held)
    throw bad(`The size has to be above 0 and at most ${held} base lots`);
  const { orderKind = "ioc" } = args;
  if (orderKind !== "ioc" && orderKind !== "limit") throw bad("orderKind: ioc or limit");
  const orders: StopLossOrder[] = [];
  for (const which of ["stopLoss", "takeProfit"] as const) {
    const trigger = ticksOf(market, args[`${which}TriggerPriceInTicks`], args[`${which}TriggerPrice`]);
    const execution = ticksOf(market, args[`${which}ExecutionPriceInTicks`], args[`${which}ExecutionPrice`]);
    if (trigger === undefined && execution === undefined) continue;
    if (trigger === undefined || execution === undefined)
      throw bad(`${which}: a trigger price and an execution price belong together`);
    if (trigger === 0n || execution === 0n) throw bad(`${which}: a price has to be above 0`);
    const falling = (which === "stopLoss") === (closing === "ask");
    orders.push({
      triggerTicks: trigger,
      executionTicks: execution,
      baseLots,
      side: closing,
      direction: falling ? "below" : "above",
      kind: orderKind,
    });
  }
  if (orders.length === 0) throw bad("Neither a stop loss nor a take profit is asked for");
  return orders;
}

/** The nearest tick to a price in USD, unless ticks are stated. */
function ticksOf(market: Market, ticks: number | undefined, usd: number | undefined): bigint | undefined {
  if (ticks !== undefined) return BigInt(ticks);
  if (usd === undefined) return undefined;
  return BigInt(ticksFromUsd(usd, market.spec));
}
