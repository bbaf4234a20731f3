/**
 * The two ways of onboarding a wallet at the exchange, as steps with a person's consent between them:
 *
 *   plan: is there anything to do? ─► instructions, reviewed ─► their cost, simulated by the ledger
 *   ── consent ──
 *   send: new blockhash ─► assembled, reviewed again from its bytes ─► signed ─► sent by the exchange ─► confirmed
 *
 * A registration (no referral) needs no session; an activation needs the wallet's.
 */
import { type Client, PROGRAM_ID, type RecordFor, SYSTEM_KEY } from "../contract/index.ts";
import type { Clock } from "../domain/clock.ts";
import { traderAddress } from "../wallet/address.ts";
import { assembleTransaction, readTransaction, signatureOf } from "../wallet/ledger-transaction.ts";
import { type Confirmation, confirm } from "./confirm.ts";
import {
  activationInstructions,
  type ExchangeAccounts,
  InstructionsRefused,
  plainInstructions,
  type Reviewed,
  reviewRegistration,
  reviewTransaction,
} from "./review.ts";
import { type Ledger, LedgerError } from "./rpc.ts";
import type { OnboardingRequest, SignOnboarding } from "./signing.ts";

/** The calls, for any type of the client's options. */
export type OnboardingCalls<Options> = Pick<
  Client<Options>,
  | "traderState"
  | "exchangeKeys"
  | "buildRegisterIxs"
  | "sendRegisterIxs"
  | "activationPermission"
  | "activateReferralTx"
>;

export interface OnboardingParts<Options> {
  readonly client: OnboardingCalls<Options>;
  /** The options of every call; for an activation they carry the wallet's session. */
  readonly call: Options;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Returns true for a network failure after which the request may have arrived all the same. */
  readonly isLostReply: (error: unknown) => boolean;
}

export interface OnboardingOptions {
  readonly authority: string;
  readonly feePayer: string;
  readonly maxPositions: number;
  /** Null: without a referral. */
  readonly referralCode: string | null;
}

export interface Plan {
  readonly asked: OnboardingOptions;
  readonly reviewed: Reviewed;
  /** The request for the signers. */
  readonly request: OnboardingRequest;
  readonly traderAccount: string;
  readonly onboarder: string;
  readonly registered: boolean;
  readonly cost: Cost;
}

/** The expected cost of a transaction for its fee payer. */
export interface Cost {
  readonly lamports: bigint;
  readonly left: bigint;
}

export type Planned =
  | { readonly kind: "already"; readonly traderAccount: string }
  | ({ readonly kind: "plan" } & Plan);

export interface Sent {
  readonly signature: string | null;
  readonly confirmation: Confirmation;
  /** The exchange shows the trader as onboarded. */
  readonly active: boolean;
}

type Snapshot = RecordFor<"traderState">["snapshot"];

/** Bit of `flags`: the account may deposit. */
const mayDeposit = 16;

export function isOnboarded({ capabilities }: Pick<Snapshot, "capabilities">): boolean {
  const { state, flags } = capabilities;
  return (flags & mayDeposit) !== 0 || (state !== "cold" && state !== "uninitialized");
}

/**
 * Determines the instructions of an onboarding, and reviews them.
 * @throws {InstructionsRefused} when the exchange returns something other than what was requested
 * @throws {LedgerError} when the ledger cannot be read, expects a failure, or has another owner of the account
 */
export async function planOnboarding<Options>(
  parts: OnboardingParts<Options>,
  asked: OnboardingOptions,
): Promise<Planned> {
  const { client, call, ledger } = parts;
  const { authority, feePayer, maxPositions } = asked;
  const traderAccount = traderAddress(authority, { pdaIndex: 0, subaccount: 0 });
  const state = await client.traderState({ authority }, call);
  if (isOnboarded(state.snapshot)) return { kind: "already", traderAccount };
  const accounts = await client.exchangeKeys({}, call);
  const [existing, payer] = await ledger.accounts([traderAccount, feePayer]);
  // An address that received money before its account was created belongs to the system program.
  if (existing && existing.owner !== PROGRAM_ID && existing.owner !== SYSTEM_KEY)
    throw new LedgerError(`ledger: ${traderAccount} belongs to ${existing.owner}, not to the exchange`);
  const registered = existing?.owner === PROGRAM_ID;
  const wanted = { authority, feePayer, maxPositions, registered, accounts };
  const reviewed = await review(parts, asked, wanted);
  const transaction = assembleTransaction({
    feePayer,
    blockhash: (await ledger.latestBlockhash()).blockhash,
    instructions: plainInstructions(reviewed),
  });
  reviewTransaction(transaction, reviewed);
  const cost = await simulateCost(ledger, transaction.wire, feePayer, payer?.lamports ?? 0n);
  const { accounts: named } = reviewed.instructions.at(-1)!;
  const [onboarder, permission] = [named[3]!.pubkey, named[4]!.pubkey];
  const request = {
    ...{ authority, feePayer, maxPositions, registered, onboarder, permission },
    accounts: exchangeAccounts(accounts),
    activation: asked.referralCode !== null,
  };
  return { kind: "plan", asked, reviewed, request, traderAccount, onboarder, registered, cost };
}

async function review<Options>(
  { client, call }: OnboardingParts<Options>,
  asked: OnboardingOptions,
  wanted: Parameters<typeof reviewRegistration>[1],
): Promise<Reviewed> {
  const { authority, feePayer, maxPositions } = asked;
  if (asked.referralCode !== null) {
    const permission = await client.activationPermission({}, call);
    const { trader_onboarder: onboarder, permission_account: account } = permission;
    return activationInstructions(wanted, { onboarder, account });
  }
  const args = { traderAuthority: authority, txFeePayer: feePayer, maxPositions };
  const built = await client.buildRegisterIxs(args, call);
  const reviewed = reviewRegistration(built.instructions, wanted);
  if (
    built.traderOnboarder !== null &&
    built.traderOnboarder !== reviewed.instructions.at(-1)!.accounts[3]!.pubkey
  )
    throw new InstructionsRefused(["the onboarder that signs is not the one that the exchange names"]);
  return reviewed;
}

/** Simulates a transaction on the ledger. */
export async function simulateCost(
  ledger: Ledger,
  wire: string,
  feePayer: string,
  before: bigint,
): Promise<Cost> {
  const { error, logs, lamportsAfter } = await ledger.simulate(wire, [feePayer]);
  if (error !== null) {
    const last = logs.filter((line) => line.startsWith("Program log:")).at(-1);
    const why = last === undefined ? error : `${error}: ${last.slice("Program log:".length).trim()}`;
    throw new LedgerError(`ledger: the transaction would fail: ${why}`);
  }
  const left = lamportsAfter[0] ?? 0n;
  return { lamports: before - left, left };
}

/**
 * Signs and sends the planned transaction, and waits for its confirmation.
 * @param signers all local signers; the exchange's onboarder signs on its side
 * @throws {InstructionsRefused} when the transaction, parsed from its bytes, differs from the reviewed one
 */
export async function sendOnboarding<Options>(
  parts: OnboardingParts<Options>,
  plan: Plan,
  signers: readonly SignOnboarding[],
): Promise<Sent> {
  const { client, call, ledger, clock } = parts;
  const { asked, reviewed } = plan;
  const { authority, feePayer, maxPositions, referralCode } = asked;
  const lifetime = await ledger.latestBlockhash();
  const { blockhash } = lifetime;
  const unsigned = assembleTransaction({ feePayer, blockhash, instructions: plainInstructions(reviewed) });
  reviewTransaction(unsigned, reviewed);
  let { wire } = unsigned;
  for (const sign of signers) wire = await sign({ kind: "onboarding", wire, request: plan.request });
  const transaction = readTransaction(wire);
  // The fee payer's signature identifies the transaction, so that it can be found independent of the exchange's answer.
  const signature = signatureOf(transaction);
  try {
    if (referralCode === null) {
      const sent = await client.sendRegisterIxs(
        { transaction: transaction.wire, traderAuthority: authority, txFeePayer: feePayer, maxPositions },
        call,
      );
      if (sent.signature !== signature)
        return { ...otherSignature(sent.signature), active: await isActive(parts, authority, 1) };
    } else {
      const sent = await client.activateReferralTx(
        {
          referralCode,
          traderAuthority: authority,
          recentBlockhash: blockhash,
          transaction: transaction.wire,
        },
        call,
      );
      if (sent.status === "already_activated")
        return {
          signature: null,
          confirmation: { kind: "confirmed" },
          active: await isActive(parts, authority),
        };
      if (sent.signature !== null && sent.signature !== signature)
        return { ...otherSignature(sent.signature), active: await isActive(parts, authority, 1) };
    }
  } catch (error) {
    if (!parts.isLostReply(error)) throw error;
  }
  const confirmation = await confirm(ledger, signature!, lifetime.lastValidBlockHeight, clock);
  const active = confirmation.kind === "confirmed" && (await isActive(parts, authority));
  return { signature, confirmation, active };
}

/** Picks the accounts from the exchange's keys. */
export const exchangeAccounts = (from: ExchangeAccounts): ExchangeAccounts => ({
  globalConfig: from.globalConfig,
  globalTraderIndex: [...from.globalTraderIndex],
  activeTraderBuffer: [...from.activeTraderBuffer],
  perpAssetMap: from.perpAssetMap,
});

function otherSignature(signature: string): Pick<Sent, "signature" | "confirmation"> {
  const detail =
    "the exchange answered with the signature of another transaction than the one that was signed here";
  return { signature, confirmation: { kind: "unknown", detail } };
}

/** Polls until the exchange shows the trader as onboarded: it reads the ledger with some delay. */
async function isActive<Options>(
  { client, call, clock }: OnboardingParts<Options>,
  authority: string,
  attempts = 15,
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      if (isOnboarded((await client.traderState({ authority }, call)).snapshot)) return true;
    } catch {
      // The transaction is confirmed already; a failed read only delays the answer.
    }
    if (attempt >= attempts) return false;
    await clock.sleep(1_000);
  }
}
