/**
 * Requests to sign a transaction of the ledger: an onboarding, a stop loss. The allowed instructions follow from the
 * request. The signer parses the transaction from its bytes, which have to contain these instructions and nothing else.
 */
import { z } from "zod";
import { stopLossInstruction } from "../contract/index.ts";
import { isAddress, logAuthority, stopLossAddress, traderAddress } from "../wallet/address.ts";
import {
  activationInstructions,
  checkNotOwn,
  namedAccounts,
  type Reviewed,
  registrationInstructions,
} from "./review.ts";
import type { BandKnown } from "./stop-loss-band.ts";

const address = z.string().max(44).refine(isAddress, "expected an address");
const addresses = z.array(address).max(64).readonly();
const index = z.int().min(0).max(255);
/** Lots and ticks: integers, written as text in JSON. */
const whole = z.union([z.bigint(), z.string().regex(/^\d{1,19}$/)]).transform(BigInt);

const exchangeAccounts = z.strictObject({
  globalConfig: address,
  globalTraderIndex: addresses,
  activeTraderBuffer: addresses,
  perpAssetMap: address,
});

export const onboardingRequest = z.strictObject({
  authority: address,
  feePayer: address,
  maxPositions: z.int().min(0).max(100_000),
  registered: z.boolean(),
  accounts: exchangeAccounts,
  onboarder: address,
  permission: address,
  /** With a referral code, in the wallet's session: the wallet signs, also if another account pays. */
  activation: z.boolean(),
});

export type OnboardingRequest = z.infer<typeof onboardingRequest>;

/** Adds a signature to a transaction, base64, and returns it. */
export type SignOnboarding = (act: {
  readonly kind: "onboarding";
  readonly wire: string;
  readonly request: OnboardingRequest;
}) => Promise<string>;

export const stopLossRequest = z.strictObject({
  authority: address,
  feePayer: address,
  pdaIndex: index,
  subaccount: index,
  accounts: exchangeAccounts,
  market: address,
  spline: address,
  assetId: z.int().min(0).max(4_294_967_295),
  /** The market's account on the ledger, as the requester read it, and the mark, USD a unit. */
  known: z.strictObject({
    symbol: z.string().max(32),
    tickSize: z.int().min(1),
    baseLotsDecimals: z.int().min(-30).max(30),
    mark: z.number(),
    far: z.boolean(),
  }),
  order: z.strictObject({
    triggerTicks: whole,
    executionTicks: whole,
    baseLots: whole,
    side: z.enum(["bid", "ask"]),
    direction: z.enum(["below", "above"]),
    kind: z.enum(["ioc", "limit"]),
  }),
});

export type StopLossRequest = z.infer<typeof stopLossRequest>;

/** @throws {InstructionsRefused} when an account that the exchange names belongs to the wallet, or is no address */
export function allowedOnboarding(request: OnboardingRequest): Reviewed {
  const { onboarder, permission, activation, ...asked } = request;
  const named = { onboarder, account: permission };
  return activation ? activationInstructions(asked, named) : registrationInstructions(asked, named);
}

/** The values that the prices of a stop loss are checked against. */
export function bandOf({ market: address, assetId, known }: StopLossRequest): BandKnown {
  const { mark, far, ...scale } = known;
  return { market: { address, assetId, ...scale }, mark, far };
}

/** @throws {InstructionsRefused} as `allowedOnboarding` */
export function allowedStopLoss(request: StopLossRequest): Reviewed {
  const { authority, feePayer, pdaIndex, subaccount, accounts, market, spline, assetId, order } = request;
  const traderAccount = traderAddress(authority, { pdaIndex, subaccount });
  checkNotOwn({ market, spline, ...namedAccounts(accounts) }, [authority, feePayer, traderAccount]);
  const instruction = stopLossInstruction({
    logAuthority: logAuthority(),
    globalConfig: accounts.globalConfig,
    globalTraderIndex: accounts.globalTraderIndex,
    activeTraderBuffer: accounts.activeTraderBuffer,
    perpAssetMap: accounts.perpAssetMap,
    funder: feePayer,
    traderAccount,
    orderbook: market,
    spline,
    positionAuthority: authority,
    stopLossAccount: stopLossAddress(traderAccount, assetId),
    order,
  });
  return { feePayer, instructions: [instruction], signers: [...new Set([feePayer, authority])] };
}
