/**
 * Registration, and activation by a referral. The exchange builds instructions, and later adds its onboarder's
 * signature to a transaction that equals its own; others are refused with the reason.
 *
 *   400 malformed, broken bounds, another transaction    401, 403 the session    409 done already
 */
import {
  type Handlers,
  instructionRecord,
  onboardInstruction,
  registerInstruction,
  type ServerArgsFor,
} from "../../../contract/index.ts";
import { permissionAccount, programAccounts } from "../../ledger/accounts.ts";
import { transact } from "../../ledger/transaction.ts";
import type { Account, World } from "../../state.ts";
import { openAccount, openWallet } from "../../world.ts";
import { Refusal } from "../sessions.ts";
import { type Context, NotFound } from "./context.ts";
import { exchangeAccounts } from "./exchange.ts";

/** Valid referral codes, compared without case. */
const referralCodes = new Set(["EXAMPLE", "PERPWATCH"]);

const bad = (code: string, why: string) => new NotFound(why, 400, code);
const already = () =>
  new NotFound("The trader is registered and onboarded already", 409, "already_onboarded");

/** The default trader account of a wallet; undefined before its registration. */
function firstAccount(world: World, authority: string): Account | undefined {
  return world.accounts.get(world.deriveAddress(authority, 0, 0));
}

/** The instructions of a registration or an activation in the present world. */
function instructionsFor(
  world: World,
  parts: { authority: string; feePayer: string; maxPositions: number; cosigner?: string | undefined },
) {
  const { authority, feePayer, maxPositions, cosigner } = parts;
  const traderAccount = world.deriveAddress(authority, 0, 0);
  const includeRegisterTrader = firstAccount(world, authority) === undefined;
  const register = registerInstruction({
    ...programAccounts,
    ...{ payer: feePayer, authority, traderAccount, maxPositions },
  });
  const onboard = onboardInstruction({
    ...programAccounts,
    traderOnboarder: world.ledger.onboarder.address,
    permissionAccount,
    traderAccount,
    cosigner,
  });
  return {
    traderAccount,
    includeRegisterTrader,
    instructions: includeRegisterTrader ? [register, onboard] : [onboard],
  };
}

async function sendRegister(args: ServerArgsFor<"sendRegisterIxs">, { world }: Context) {
  const { traderAuthority, txFeePayer, maxPositions } = args;
  checkPayer(world, txFeePayer);
  if (firstAccount(world, traderAuthority)?.onboarded) throw already();
  const wanted = instructionsFor(world, { authority: traderAuthority, feePayer: txFeePayer, maxPositions });
  const { checkTransaction, submit } = await import("../../ledger/onboarding-transaction.ts");
  const transaction = checkTransaction(
    args.transaction,
    { feePayer: txFeePayer, instructions: wanted.instructions },
    world,
  );
  return {
    signature: submit(world, transaction),
    traderPda: wanted.traderAccount,
    traderOnboarder: world.ledger.onboarder.address,
    txFeePayer,
    maxPositions,
    includeRegisterTrader: wanted.includeRegisterTrader,
  };
}

async function activate(args: ServerArgsFor<"activateReferralTx">, { world, session }: Context) {
  const { traderAuthority, referralCode } = args;
  if (session?.wallet !== traderAuthority) throw new Refusal(403, "insufficient_role");
  if ((args.traderPdaIndex ?? 0) !== 0 || (args.traderSubaccountIndex ?? 0) !== 0)
    throw bad(
      "default_account_only",
      "Only the default trader account (PDA index 0, subaccount 0) is activated",
    );
  checkCode(referralCode);
  const common = { trader_pda: world.deriveAddress(traderAuthority, 0, 0), referral_code: referralCode };
  if (firstAccount(world, traderAuthority)?.onboarded) return { ...common, status: "already_activated" };
  const { checkTransaction, feePayerOf, requestedPositions, submit } = await import(
    "../../ledger/onboarding-transaction.ts"
  );
  const feePayer = feePayerOf(args.transaction);
  checkPayer(world, feePayer);
  const { instructions } = instructionsFor(world, {
    authority: traderAuthority,
    feePayer,
    maxPositions: requestedPositions(args.transaction),
    // The authority has to sign, whoever pays.
    cosigner: feePayer === traderAuthority ? undefined : traderAuthority,
  });
  const { recentBlockhash } = args;
  const transaction = checkTransaction(args.transaction, { feePayer, instructions, recentBlockhash }, world);
  return { ...common, signature: submit(world, transaction), status: "activated" };
}

function checkPayer(world: World, feePayer: string): void {
  if (feePayer === world.ledger.onboarder.address)
    throw bad("fee_payer_not_allowed", "The fee payer must not be the onboarder");
}

function checkCode(code: string): void {
  if (!referralCodes.has(code.toUpperCase()))
    throw bad("unknown_referral_code", "There is no such referral code");
}

/** Activates the account completely, paid by the exchange. */
function sponsored(world: World, authority: string, code: string) {
  checkCode(code);
  const known = firstAccount(world, authority);
  if (known?.onboarded) throw already();
  transact(world, (tx) => {
    const wallet = openWallet(world, `registered-${world.nextUserId}`, authority, false);
    const account = openAccount(world, wallet, 0, 0);
    account.onboarded = true;
    tx.touch(account).rights = true;
  });
  return { trader_pda: world.deriveAddress(authority, 0, 0) };
}

export const onboardingAnswers = {
  buildRegisterIxs: ({ traderAuthority, txFeePayer, maxPositions }, { world }) => {
    checkPayer(world, txFeePayer);
    if (firstAccount(world, traderAuthority)?.onboarded) throw already();
    const { traderAccount, includeRegisterTrader, instructions } = instructionsFor(world, {
      authority: traderAuthority,
      feePayer: txFeePayer,
      maxPositions,
    });
    return {
      instructions: instructions.map(instructionRecord),
      traderPda: traderAccount,
      traderOnboarder: world.ledger.onboarder.address,
      txFeePayer,
      maxPositions,
      includeRegisterTrader,
    };
  },
  sendRegisterIxs: sendRegister,
  activationPermission: (_args, { world }) => ({
    trader_onboarder: world.ledger.onboarder.address,
    permission_account: permissionAccount,
    risk_authority: exchangeAccounts.currentAuthorities.riskAuthority,
  }),
  activateReferralTx: activate,
  activateReferral: ({ authority, referralCode }, { world }) => sponsored(world, authority, referralCode),
  activateInvite: ({ authority, code }, { world }) => sponsored(world, authority, code),
} satisfies Partial<Handlers<Context>>;
