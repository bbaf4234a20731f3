/**
 * Signing as one wallet. Acts are typed and each is checked before it is signed, by whoever holds the key: in this process (local.ts),
 * or in a process of its own (client.ts), which has the same checks.
 */
import { z } from "zod";
import { onboardingRequest, stopLossRequest } from "../ledger/signing.ts";

/** Longest text or transaction of an act, characters; the checks of each have closer bounds. */
const maxCharacters = 4_096;
const content = z.string().max(maxCharacters);
/** The exchange's time, ms. */
const nowMs = z.number().min(0).max(8_640_000_000_000_000);

/** Everything that a wallet signs. `wire` is a transaction in base64, signed by others or by nobody yet. */
export const signingAct = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("login text"), text: content, nonceId: content, nowMs }),
  z.strictObject({ kind: z.literal("login transaction"), unsigned: content, nonceId: content, nowMs }),
  z.strictObject({ kind: z.literal("onboarding"), wire: content, request: onboardingRequest }),
  z.strictObject({ kind: z.literal("stop loss"), wire: content, request: stopLossRequest }),
]);

export type SigningAct = z.infer<typeof signingAct>;

export interface WalletSigner {
  /** Base58. */
  readonly address: string;
  /**
   * @returns a login text's signature in base58; a transaction with this wallet's signature, in base64
   * @throws {SigningRefused} when it is not what this wallet may sign
   * @throws {SignerUnavailable} when the key is locked or its process cannot be reached
   */
  sign(act: SigningAct): Promise<string>;
  /** True: the address is known, and the key is not at hand. */
  readonly isClosed?: boolean;
  /** 32 bytes that only this wallet's key leads to, for its stored sessions. @throws {SignerUnavailable} */
  sessionKey(): Promise<Uint8Array>;
}

/** Nothing was signed, and nothing will be as long as the same is asked for. */
export class SigningRefused extends Error {
  override readonly name = "SigningRefused";
  /** Empty, or the command that tells more. */
  readonly see: string;

  constructor(message: string, see = "") {
    super(message);
    this.see = see;
  }
}

/** Nothing can be signed now. */
export class SignerUnavailable extends Error {
  override readonly name = "SignerUnavailable";
}
