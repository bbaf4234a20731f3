/** Registration, referral activation, and instructions for the ledger. Nothing here moves funds by itself. */
import { get, group, post } from "../endpoint.ts";
import { body } from "../params.ts";
import { MAX_POSITIONS, MIN_MAX_POSITIONS } from "../program.ts";
import {
  buildRegister,
  instruction,
  referralActivation,
  referralActivationPermission,
  sendRegister,
  sponsoredActivation,
} from "../records/onboarding.ts";
import { one, rowsOf } from "../reply.ts";

const traderAuthority = body.key("The wallet to register.", { required: true });
const txFeePayer = body.key("Who pays the transaction's fee.", { required: true });
const maxPositions = body.integer("Room for positions.", {
  min: MIN_MAX_POSITIONS,
  max: MAX_POSITIONS,
  default: MAX_POSITIONS,
});
const transaction = body.string("base64 of the transaction, signed by the wallet.", { required: true });
const onlyZero = { min: 0, max: 0 } as const;
const ticks = (what: string) => body.integer(`${what}, in ticks.`, { min: 0, unit: "ticks" });
const usd = (what: string) => body.number(`${what}, in USD.`, { min: 0, unit: "USD" });

export const onboardingEndpoints = group("onboarding", {
  buildRegisterIxs: post("/v1/exchange/build-register-ixs", {
    summary: "Instructions that register a wallet's first trader account.",
    params: { traderAuthority, txFeePayer, maxPositions },
    reply: one(buildRegister),
    errors: [400],
    safeToRetry: true,
  }),
  sendRegisterIxs: post("/v1/exchange/send-register-ixs", {
    summary: "Checks a registration transaction, has the onboarder sign it, and sends it.",
    notes: ["Registration only ever creates subaccount 0 of PDA index 0."],
    params: {
      transaction,
      traderAuthority,
      txFeePayer,
      maxPositions,
      traderPdaIndex: body.integer("Has to be 0.", onlyZero),
      traderSubaccountIndex: body.integer("Has to be 0.", onlyZero),
    },
    reply: one(sendRegister),
    errors: [400],
  }),
  activateReferralTx: post("/v1/referral/activate-tx", {
    summary: "Activates a trader account with a referral code, by a signed transaction.",
    params: {
      referralCode: body.string("The code.", { required: true, wire: "referral_code" }),
      traderAuthority: body.key("The wallet.", { required: true, wire: "trader_authority" }),
      traderPdaIndex: body.integer("Which account family.", { min: 0, max: 255, wire: "trader_pda_index" }),
      traderSubaccountIndex: body.integer("Which subaccount.", {
        min: 0,
        max: 255,
        wire: "trader_subaccount_index",
      }),
      recentBlockhash: body.string("Blockhash of the transaction.", {
        required: true,
        wire: "recent_blockhash",
      }),
      transaction,
    },
    session: "required",
    reply: one(referralActivation),
    errors: [400, 401, 403, 409],
  }),
  activationPermission: get("/v1/referral/activation-permission", {
    summary: "Accounts that a referral activation has to name.",
    reply: one(referralActivationPermission),
  }),
  placeStopLossOrder: post("/v1/ix/place-stop-loss-order", {
    summary:
      "Instructions that set a stop loss or take profit on a position. Nothing is placed until they are sent.",
    notes: ["Give each price in ticks or in USD, not both."],
    params: {
      authority: body.key("The wallet.", { required: true }),
      traderPdaIndex: body.integer("Which account family.", { min: 0, max: 255, required: true }),
      symbol: body.string("The market.", { required: true }),
      side: body.choice("Side of the closing order: a short is closed by bid.", ["bid", "ask"], {
        required: true,
      }),
      numBaseLots: body.integer("Size in base lots.", { min: 0, unit: "base lots" }),
      quantity: body.number("Size in units, instead.", { min: 0, unit: "base units" }),
      stopLossTriggerPriceInTicks: ticks("Mark price at which the stop loss goes"),
      stopLossTriggerPrice: usd("Mark price at which the stop loss goes"),
      stopLossExecutionPriceInTicks: ticks("Worst price of the stop loss order"),
      stopLossExecutionPrice: usd("Worst price of the stop loss order"),
      takeProfitTriggerPriceInTicks: ticks("Mark price at which the take profit goes"),
      takeProfitTriggerPrice: usd("Mark price at which the take profit goes"),
      takeProfitExecutionPriceInTicks: ticks("Worst price of the take profit order"),
      takeProfitExecutionPrice: usd("Worst price of the take profit order"),
      orderKind: body.string("ioc or limit."),
      traderSubaccountIndex: body.integer("Which subaccount.", { min: 0, max: 255 }),
      isIsolated: body.boolean("The position is in an isolated subaccount."),
      positionAuthority: body.key("Delegate over the position."),
      feePayer: body.key("Who pays the transaction's fee."),
      flightBuilderAuthority: body.key("Builder routing: the builder."),
      flightFeeCollectorTrader: body.key("Builder routing: who collects its fee."),
    },
    constraints: [
      { kind: "anyOf", params: ["numBaseLots", "quantity"] },
      ...["stopLossTrigger", "stopLossExecution", "takeProfitTrigger", "takeProfitExecution"].map(
        (price) => ({ kind: "exclusive", params: [`${price}PriceInTicks`, `${price}Price`] }) as const,
      ),
    ],
    session: "required",
    reply: rowsOf(instruction),
    errors: [400, 401, 403],
    safeToRetry: true,
  }),
});

const removal = "use activateReferralTx; removal was announced for 2026-06-30";
const authority = body.key("The wallet.", { required: true });
const refusals = [400, 401, 403, 409, 429, 504];

export const deprecatedEndpoints = group("deprecated", {
  activateReferral: post("/v1/referral/activate", {
    summary: "Sponsored activation with a referral code.",
    params: { authority, referralCode: body.string("The code.", { required: true, wire: "referral_code" }) },
    reply: one(sponsoredActivation),
    errors: refusals,
    deprecated: removal,
  }),
  activateInvite: post("/v1/invite/activate", {
    summary: "Sponsored activation with an invitation.",
    params: { authority, code: body.string("The invitation.", { required: true }) },
    reply: one(sponsoredActivation),
    errors: refusals,
    deprecated: removal,
  }),
});
