/** A signer with the key in this process. This is the only place where a wallet's key signs. */
import { formatDurationMs } from "../domain/text/duration.ts";
import { InstructionsRefused, type Reviewed, reviewTransaction } from "../ledger/review.ts";
import { allowedOnboarding, allowedStopLoss, bandOf } from "../ledger/signing.ts";
import { sessionInfo } from "../wallet/seal.ts";
import { BadChallenge, memoOfChallenge, signChallenge } from "../wallet/transaction.ts";
import type { WalletKey } from "../wallet/wallet-key.ts";
import { hashOf } from "./hash.ts";
import { FormRefused, type LoginForms } from "./login-forms.ts";
import { type SigningAct, SigningRefused, type WalletSigner } from "./signer.ts";

/** A signature that was made or refused. */
export interface SignatureEntry {
  readonly act: SigningAct["kind"];
  /** Base58. */
  readonly wallet: string;
  /** By `hashOf`. */
  readonly hash: string;
  /** The reason of the refusal; null: it was signed. */
  readonly refused: string | null;
}

/**
 * Maximum difference between the exchange's time, which the client states, and this machine's, ms. Times in a text are
 * within 15 minutes of the exchange's, so this adds to their limit.
 */
const maxClockDifferenceMs = 5 * 60_000;

export interface LocalSignerOptions {
  readonly forms: LoginForms;
  /** This machine's time, ms; null: the exchange is simulated and may have any time. */
  readonly nowMs?: (() => number) | null;
  readonly onSignature?: (entry: SignatureEntry) => void;
  /** True: only logins are signed. */
  readonly loginsOnly?: boolean;
  /** Returns true if a wallet may pay for a transaction of this authority. Left out: for any. */
  readonly mayPayFor?: (authority: string) => boolean;
  /** The permitted login method of a wallet. Left out: either. */
  readonly loginOf?: (address: string) => "message" | "transaction" | undefined;
}

/**
 * Refusals by error name, because importing two of the classes would load the ledger's library. Any other error is a
 * failure of the program or disk.
 */
const refusals: ReadonlySet<string> = new Set([
  ...["BadChallenge", "InstructionsRefused", "BadStopLoss", "BadTransaction"],
]);

export function localSigner(key: WalletKey, options: LocalSignerOptions): WalletSigner {
  return {
    address: key.address,
    sessionKey: async () => key.deriveKey(sessionInfo),
    async sign(act) {
      const record = (refused: string | null) =>
        options.onSignature?.({ act: act.kind, wallet: key.address, hash: hashOf(act), refused });
      try {
        const signed = await signatureOf(key, act, options);
        record(null);
        return signed;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        const isRefusal = error instanceof Error && refusals.has(error.name);
        record(isRefusal ? reason : `failed: ${reason}`);
        if (!isRefusal) throw error;
        throw new SigningRefused(reason, error instanceof FormRefused ? "perpwatch wallet trust" : "");
      }
    },
  };
}

async function signatureOf(key: WalletKey, act: SigningAct, options: LocalSignerOptions): Promise<string> {
  const { address } = key;
  if (options.loginsOnly === true && !act.kind.startsWith("login"))
    throw new InstructionsRefused(["the daemon's signer signs logins and nothing else"]);
  switch (act.kind) {
    case "login text": {
      const { text, nonceId, nowMs } = act;
      checkLoginMethod("message", address, options);
      checkClocks(nowMs, options);
      await options.forms.check({ text, nonceId, address, nowMs });
      return key.signText(text);
    }
    case "login transaction": {
      const { unsigned, nonceId, nowMs } = act;
      checkLoginMethod("transaction", address, options);
      checkClocks(nowMs, options);
      const text = memoOfChallenge(address, unsigned, nonceId);
      await options.forms.check({ text, nonceId, address, nowMs }, "memo");
      return signChallenge(key, unsigned, nonceId);
    }
    case "onboarding":
      checkParty(key, act.request, options);
      return signReviewed(key, act.wire, allowedOnboarding(act.request));
    case "stop loss": {
      checkParty(key, act.request, options);
      const allowed = allowedStopLoss(act.request);
      const { checkBand } = await import("../ledger/stop-loss-band.ts");
      checkBand(act.wire, bandOf(act.request));
      return signReviewed(key, act.wire, allowed);
    }
  }
}

function checkLoginMethod(
  method: "message" | "transaction",
  address: string,
  { loginOf }: LocalSignerOptions,
): void {
  const required = loginOf?.(address);
  if (required !== undefined && required !== method)
    throw new BadChallenge(`this wallet signs in by ${required}, and not by ${method}`);
}

function checkClocks(exchangeMs: number, { nowMs = null }: LocalSignerOptions): void {
  const aheadMs = nowMs === null ? 0 : nowMs() - exchangeMs;
  if (Math.abs(aheadMs) <= maxClockDifferenceMs) return;
  const difference = formatDurationMs(Math.abs(aheadMs));
  throw new BadChallenge(
    `the clocks of this machine and of the exchange differ by ${difference} (this machine's is ${aheadMs > 0 ? "ahead" : "behind"}); ` +
      `wallets sign in up to a difference of ${formatDurationMs(maxClockDifferenceMs)}`,
  );
}

/** Checks that a wallet signs for itself or pays for an authority that it may pay for. */
function checkParty(
  { address }: WalletKey,
  { authority, feePayer }: { readonly authority: string; readonly feePayer: string },
  { mayPayFor = () => true }: LocalSignerOptions,
): void {
  if (address === authority || (address === feePayer && mayPayFor(authority))) return;
  throw new InstructionsRefused([`${address} has no part in what ${authority} does`]);
}

async function signReviewed(key: WalletKey, wire: string, allowed: Reviewed): Promise<string> {
  if (!allowed.signers.includes(key.address))
    throw new InstructionsRefused([`${key.address} does not have to sign it`]);
  const { readTransaction, signTransaction } = await import("../wallet/ledger-transaction.ts");
  const transaction = readTransaction(wire);
  reviewTransaction(transaction, allowed);
  return signTransaction(transaction, key).wire;
}
