/**
 * The last check of a stop loss before a signature. Prices are read from the transaction's bytes, in ticks of the
 * market's account on the ledger, and have to lie in a band around the mark. Pure; no price that the caller states is
 * used, except the mark.
 *
 * The mark is the caller's, so a caller whose mark and market account are wrong in the same proportion is not detected.
 */
import { PROGRAM_ID, priceText, readStopLoss, type StopLossOrder } from "../contract/index.ts";
import type { MarketScale } from "../domain/market-scale.ts";
import { BadTransaction, readTransaction } from "../wallet/ledger-transaction.ts";
import { farSentence } from "./far-sentence.ts";
import type { MarketAccount } from "./market-account.ts";

/** An error in the order that the user can correct, or a transaction that is no such order. */
export class BadStopLoss extends Error {
  override readonly name = "BadStopLoss";
}

/** Maximum distance, as a share, of the trigger from the mark and of the execution price from the trigger. */
const maxShare = { trigger: 0.5, execution: 0.2 } as const;
/** Maximum factor between two prices, which no option disables. */
const maxFactor = 10;
/** The index of the market among the accounts of a stop loss, counted from the end. */
const marketFromEnd = -5;

export interface BandKnown {
  /** As read from the ledger. */
  readonly market: MarketAccount;
  /** USD a unit. */
  readonly mark: number;
  /** The user wrote `farSentence`. */
  readonly far: boolean;
}

/**
 * @param wire base64 of the transaction to be signed
 * @returns the order in it
 * @throws {BadStopLoss} unless it is one plausible stop loss of this market
 */
export function checkBand(wire: string, known: BandKnown): StopLossOrder {
  const order = parseOrder(wire, known.market);
  checkPrices(order, known);
  return order;
}

/** @throws {BadStopLoss} unless the prices of an order are plausible */
export function checkPrices(
  order: StopLossOrder,
  { market, mark, far }: Pick<BandKnown, "mark" | "far"> & { readonly market: MarketScale },
): void {
  if (!(mark > 0 && Number.isFinite(mark))) throw new BadStopLoss(`the mark price is no price: ${mark}`);
  const trigger = Number(priceText(order.triggerTicks, market));
  const execution = Number(priceText(order.executionTicks, market));
  const isLong = order.side === "ask";
  if (order.direction !== (isLong ? "below" : "above"))
    throw new BadStopLoss("the transaction sets a take profit, no stop loss");
  const [position, side, better] = isLong ? ["long", "below", "above"] : ["short", "above", "below"];
  if (isLong ? trigger >= mark : trigger <= mark)
    throw new BadStopLoss(
      `the trigger ${trigger} is not ${side} the mark ${mark}: the stop loss of a ${position} stands ${side} it, or it goes off at once`,
    );
  checkDistance("the trigger", trigger, "the mark", mark, maxShare.trigger, far);
  if (isLong ? execution > trigger : execution < trigger)
    throw new BadStopLoss(
      `the execution price ${execution} is ${better} the trigger ${trigger}: the order would find nobody once it goes off`,
    );
  checkDistance("the execution price", execution, "the trigger", trigger, maxShare.execution, far);
}

function checkDistance(
  name: string,
  price: number,
  fromName: string,
  from: number,
  share: number,
  far: boolean,
): void {
  const away = Math.abs(price - from) / from;
  const isWithinFactor = price * maxFactor >= from && price <= from * maxFactor;
  if (isWithinFactor && (far || away <= share)) return;
  const found = `${name} ${price} is ${(away * 100).toFixed(1)}% away from ${fromName} ${from}`;
  if (!isWithinFactor)
    throw new BadStopLoss(`${found}, more than a factor of ${maxFactor}: no such stop loss is signed`);
  throw new BadStopLoss(
    `${found}; ${share * 100}% are the most. Where that is meant: --far "${farSentence}"`,
  );
}

function parseOrder(wire: string, market: MarketAccount): StopLossOrder {
  let transaction: ReturnType<typeof readTransaction>;
  try {
    transaction = readTransaction(wire);
  } catch (error) {
    if (!(error instanceof BadTransaction)) throw error;
    throw new BadStopLoss(error.message);
  }
  const [only, ...others] = transaction.instructions;
  const order = only !== undefined && only.programId === PROGRAM_ID ? readStopLoss(only.data) : null;
  if (order === null || others.length > 0)
    throw new BadStopLoss("the transaction is something else than one stop loss");
  const at = only?.accounts.at(marketFromEnd)?.pubkey;
  if (at !== market.address)
    throw new BadStopLoss(
      `the transaction names the market ${at}, and not ${market.address} (${market.symbol})`,
    );
  return order;
}
