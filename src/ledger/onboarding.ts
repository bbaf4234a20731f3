/**
 * The two ways onto the exchange, as steps that a caller takes with a person's consent between them:
 *
 *   plan: is there anything to do? ─► instructions, reviewed ─► what it costs, foreseen by the ledger
 *   ── consent ──
 *   send: new blockhash ─► assembled, reviewed again from its bytes ─► signed ─► sent by the exchange ─► confirmed
 *
 * A registration (no referral) needs nobody's session; an activation needs the wallet's.
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

/** The calls, whatever the client's own options are. */
export type Calls<Options> = Pick<
  Client<Options>,
  | "traderState"
  | "exchangeKeys"
  | "buildRegisterIxs"
  | "sendRegisterIxs"
  | "activationPermission"
  | "activateReferralTx"
>;

export interface OnboardingParts<Options> {
  readonly client: Calls<Options>;
  /** The options of every call; those of an activation are made in the wallet's session. */
  readonly call: Options;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** A network failure after which the request may have arrived all the same. */
  readonly isLostReply: (error: unknown) => boolean;
}

export interface Asked {
  readonly authority: string;
  readonly feePayer: string;
  readonly maxPositions: number;
  /** Null: without a referral. */
  readonly referralCode: string | null;
}

export interface Plan {
  readonly asked: Asked;
  readonly reviewed: Reviewed;
  /** For those who sign. */
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
 * Finds out what there is to do, and reviews it.
 * @throws {InstructionsRefused} when the exchange hands out something else than what was asked for
 * @throws {LedgerError} when the ledger cannot be asked, foresees a failure, or knows the account differently
 */
export async function planOnboarding<Options>(
  parts: OnboardingParts<Options>,
  asked: Asked,
): Promise<Planned> {
  const { client, call, ledger } = parts;
  const { authority, feePayer, maxPositions } = asked;
  const traderAccount = traderAddress(authority, { pdaIndex: 0, subaccount: 0 });
  const state = await client.traderState({ authority }, call);
  if (isOnboarded(state.snapshot)) return { kind: "already", traderAccount };
  const accounts = await client.exchangeKeys({}, call);
  const [stands, payer] = await ledger.accounts([traderAccount, feePayer]);
  // Anybody can send a little money to an address before there is an account: it belongs to the system program then.
  if (stands && stands.owner !== PROGRAM_ID && stands.owner !== SYSTEM_KEY)
    throw new LedgerError(`ledger: ${traderAccount} belongs to ${stands.owner}, not to the exchange`);
  const registered = stands?.owner === PROGRAM_ID;
  const wanted = { authority, feePayer, maxPositions, registered, accounts };
  const reviewed = await review(parts, asked, wanted);
  const transaction = assembleTransaction({
    feePayer,
    blockhash: (await ledger.latestBlockhash()).blockhash,
    instructions: plainInstructions(reviewed),
  });
  reviewTransaction(transaction, reviewed);
  const cost = await foresee(ledger, transaction.wire, feePayer, payer?.lamports ?? 0n);
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
  asked: Asked,
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

/** Asks the ledger for the effects of a transaction. */
export async function foresee(ledger: Ledger, wire: string, feePayer: string, before: bigint): Promise<Cost> {
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
 * Signs and sends what was planned, and waits for it.
 * @param signers all who sign here; the exchange's onboarder signs there
 * @throws {InstructionsRefused} when the transaction, read from its bytes, is not what was reviewed
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
  // The fee payer's signature names the transaction, so that it can be looked for whatever the exchange answers.
  const signature = signatureOf(transaction);
  try {
    if (referralCode === null) {
      const sent = await client.sendRegisterIxs(
        { transaction: transaction.wire, traderAuthority: authority, txFeePayer: feePayer, maxPositions },
        call,
      );
      if (sent.signature !== signature)
        return { ...foreign(sent.signature), active: await isActive(parts, authority, 1) };
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
        return { ...foreign(sent.signature), active: await isActive(parts, authority, 1) };
    }
  } catch (error) {
    if (!parts.isLostReply(error)) throw error;
  }
  const confirmation = await confirm(ledger, signature!, lifetime.lastValidBlockHeight, clock);
  const active = confirmation.kind === "confirmed" && (await isActive(parts, authority));
  return { signature, confirmation, active };
}

/** The accounts alone, of all that the exchange says about itself. */
export const exchangeAccounts = (from: ExchangeAccounts): ExchangeAccounts => ({
  globalConfig: from.globalConfig,
  globalTraderIndex: [...from.globalTraderIndex],
  activeTraderBuffer: [...from.activeTraderBuffer],
  perpAssetMap: from.perpAssetMap,
});

function foreign(signature: string): Pick<Sent, "signature" | "confirmation"> {
  const detail =
    "the exchange answered with the signature of another transaction than the one that was signed here";
  return { signature, confirmation: { kind: "unknown", detail } };
}

/** The exchange reads the ledger with some delay. */
async function isActive<Options>(
  { client, call, clock }: OnboardingParts<Options>,
  authority: string,
  attempts = 15,
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      if (isOnboarded((await client.traderState({ authority }, call)).snapshot)) return true;
    } catch {
      // What was confirmed stays confirmed; that the exchange shows it is only looked for.
    }
    if (attempt >= attempts) return false;
    await clock.sleep(1_000);
  }
}
