/** Registration, referral activation and the instructions that the exchange builds. */
import { z } from "zod";
import { flag, int, key, listOf, maybe, type Output, record, text, word } from "../fields.ts";

/** An instruction of the ledger. The caller puts it in a transaction, signs and sends it. */
export const instruction = record({
  programId: key,
  keys: listOf(record({ pubkey: key, isSigner: flag, isWritable: flag })),
  /** Bytes. */
  data: z.array(z.int().min(0).max(255)),
});
export type Instruction = Output<typeof instruction>;

export const buildRegister = record({
  instructions: listOf(instruction),
  traderPda: maybe(key),
  traderOnboarder: maybe(key),
  txFeePayer: maybe(key),
  maxPositions: maybe(int),
  includeRegisterTrader: maybe(flag),
});
export type BuildRegister = Output<typeof buildRegister>;

export const sendRegister = record({
  signature: text,
  traderPda: key,
  traderOnboarder: maybe(key),
  txFeePayer: maybe(key),
  maxPositions: maybe(int),
  includeRegisterTrader: maybe(flag),
});
export type SendRegister = Output<typeof sendRegister>;

export const referralActivation = record({
  signature: maybe(text),
  trader_pda: key,
  status: word(["activated", "submitted", "already_activated"]),
  referral_code: maybe(text),
});
export type ReferralActivation = Output<typeof referralActivation>;

export const referralActivationPermission = record({
  trader_onboarder: key,
  permission_account: key,
  risk_authority: maybe(key),
});
export type ReferralActivationPermission = Output<typeof referralActivationPermission>;

/** Reply of the two deprecated activations. */
export const sponsoredActivation = record({ trader_pda: key });
export type SponsoredActivation = Output<typeof sponsoredActivation>;
