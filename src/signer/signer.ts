/**
 * Signing for one wallet. Acts are typed, and the process that holds the key checks each before it signs: this process
 * (local.ts), or another (client.ts) with the same checks.
 */
import { z } from "zod";
import { onboardingRequest, stopLossRequest } from "../ledger/signing.ts";

/** Maximum length of an act's text or transaction, characters; the checks of each have lower limits. */
const maxCharacters = 4_096;
const content = z.string().max(maxCharacters);
/** The exchange's time, ms. */
const nowMs = z.number().min(0).max(8_640_000_000_000_000);

/** Everything that a wallet signs. `wire` is a transaction in base64, which may have signatures of others. */
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
   * @returns the signature of a login text in base58, or a transaction with this wallet's signature in base64
   * @throws {SigningRefused} if this wallet may not sign it
   * @throws {SignerUnavailable} if the key is locked or its process is not reachable
   */
  sign(act: SigningAct): Promise<string>;
  /** True: the address is known but the key is not available. */
  readonly isClosed?: boolean;
  /** Returns 32 bytes derived from this wallet's key, for its stored sessions. @throws {SignerUnavailable} */
  sessionKey(): Promise<Uint8Array>;
}

/** The act was refused, and will be refused again. */
export class SigningRefused extends Error {
  override readonly name = "SigningRefused";
  /** The command that shows more; empty: none. */
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
