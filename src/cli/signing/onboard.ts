/** `perpwatch onboard`: creates a wallet's trader account and obtains its capabilities. */
import type { Command } from "commander";
import { onboardedCapabilities } from "../../contract/instructions.ts";
import { MAX_POSITIONS, MIN_MAX_POSITIONS } from "../../contract/program.ts";
import type { WalletSettings } from "../../daemon/settings.ts";
import { systemClock } from "../../domain/clock.ts";
import type { ExchangeError } from "../../exchange/errors.ts";
import type { OnboardingParts, Plan, Sent } from "../../ledger/onboarding.ts";
import {
  type Cli,
  CommandFailed,
  type CommonOptions,
  declare,
  declareGroup,
  defaultConfig,
  hint,
  print,
  printJson,
} from "../command.ts";
import { commandLineOf } from "../terminal/command-line.ts";
import { consent } from "../terminal/consent.ts";
import { paintFor, shortAddress } from "../terminal/print.ts";
import { integerFrom } from "../terminal/values.ts";
import { accountRows, closing, facts, feePayerOf, openLedger, signOut, walletNamed } from "./ledger.ts";
import type { Signing } from "./signing.ts";

interface Options extends CommonOptions {
  readonly wallet?: string;
  readonly feePayer?: string;
  readonly maxPositions: number;
  readonly yes?: boolean;
  readonly referral?: string;
}

/** Time limit of one request with its retries; the exchange waits for the ledger when it sends. */
const patienceMs = 60_000;

export function onboardCommand(program: Command, cli: Cli): void {
  const group = declareGroup(
    program,
    "onboard",
    "make a wallet's trader account on the exchange, and activate it",
    ["onboard register --wallet main", "onboard activate --wallet main --referral CODE"],
  );
  const common = (command: Command) =>
    command
      .option("--wallet <name>", "whose; needed when more than one is configured")
      .option("--fee-payer <file>", "key file of who pays, when the wallet itself does not")
      .option(
        "--max-positions <n>",
        `room for positions (${MIN_MAX_POSITIONS} to ${MAX_POSITIONS}), fixed for ever`,
        integerFrom(MIN_MAX_POSITIONS, MAX_POSITIONS),
        MAX_POSITIONS,
      )
      .option("--yes", "sign and send without asking");
  const about =
    "Shows what will be signed and asks before anything is. Instructions that the exchange builds are checked account by\n" +
    "account and byte by byte; the ledger (ledger.rpcUrl) foresees what it costs. Nothing is done twice: a wallet that is\n" +
    "onboarded already is left alone.";
  common(
    declare(group, {
      usage: "register",
      summary: "register a wallet and onboard it, without a referral",
      about: `${about} The wallet itself need not sign: with --fee-payer also a\nwatch-only one is registered.`,
      examples: [
        "onboard register --wallet main",
        "onboard register --wallet cold --fee-payer ./keys/payer.json --yes",
      ],
    }),
  ).action((options: Options) => onboard(cli, options));
  common(
    declare(group, {
      usage: "activate",
      summary: "activate a wallet with a referral code, in its own session",
      about: `${about} The wallet signs, whoever pays.`,
      examples: [
        "onboard activate --wallet main --referral CODE",
        "onboard activate --referral CODE --fee-payer ./keys/payer.json",
      ],
    }).requiredOption("--referral <code>", "the referral code"),
  ).action((options: Options) => onboard(cli, options));
}

async function onboard(cli: Cli, options: Options): Promise<void> {
  const { withSigning } = await import("./signing.ts");
  await withSigning(cli, options.config, options, (signing) => onboardWith(cli, options, signing));
}

async function onboardWith(cli: Cli, options: Options, signing: Signing): Promise<void> {
  const { settings } = await signing.load();
  const wallet = walletNamed(settings, options.wallet);
  const referralCode = options.referral ?? null;
  if (referralCode !== null && wallet.key === null)
    throw new CommandFailed(
      `${wallet.name} has no key here: an activation is signed by the wallet itself`,
      2,
    );
  const payer = await feePayerOf(wallet, signing);
  const ledger = await openLedger(settings);
  const { planOnboarding, sendOnboarding } = await import("../../ledger/onboarding.ts");
  const { memorySessions, withExchange } = await import("../standalone.ts");
  await withExchange(settings, memorySessions(), async (exchange) => {
    const parts = {
      client: exchange.client,
      call: { deadlineMs: patienceMs, ...(wallet.key === null ? {} : { wallet: wallet.name }) },
      ledger,
      clock: systemClock(),
      isLostReply: (error) => isLostReply(cli, error),
    } satisfies OnboardingParts<object>;
    try {
      const asked = {
        authority: wallet.authority,
        feePayer: payer.address,
        maxPositions: options.maxPositions,
        referralCode,
      };
      const plan = await planOnboarding(parts, asked);
      if (plan.kind === "already") {
        const result = {
          wallet: wallet.name,
          authority: wallet.authority,
          traderAccount: plan.traderAccount,
        };
        const unused = referralCode === null ? {} : { referralUsed: false };
        if (options.json) return printJson(cli, { ...result, result: "already", signature: null, ...unused });
        print(cli, `${wallet.name} is onboarded already; its trader account is ${plan.traderAccount}`);
        if (referralCode !== null)
          print(cli, `Nothing was sent, and the referral code ${referralCode} was not used.`);
        return;
      }
      const show = options.json === true ? hint : print;
      show(cli, summary(plan, wallet, new URL(settings.exchange.baseUrl).host, cli, options.json === true));
      await consent(cli, "\nThis will be signed and sent.", options.yes === true);
      const own = referralCode === null || payer.address === wallet.authority ? [] : [wallet.key!];
      const signers = [payer, ...own].map((key) => key.sign);
      printResult(cli, options, wallet, plan, await sendOnboarding(parts, plan, signers));
    } finally {
      await signOut(exchange, wallet);
    }
  });
}

/** The command to type. */
function checkOnline(cli: Cli, { config }: Options): string {
  return commandLineOf(cli, config === defaultConfig ? null : config)("check --online");
}

const lost: readonly ExchangeError["reason"][] = ["timeout", "unreachable", "bad-record", "server-error"];

/** Returns true if the request may have arrived although there was no usable answer. */
function isLostReply(cli: Cli, error: unknown): boolean {
  if (!(error instanceof Error && "sent" in error && "reason" in error)) return false;
  const { sent, reason, message } = error as ExchangeError;
  if (!sent || !lost.includes(reason)) return false;
  hint(cli, `${message}\nIt may have been sent all the same: looking for the transaction on the ledger …`);
  return true;
}

function summary(plan: Plan, wallet: WalletSettings, host: string, cli: Cli, onErr: boolean): string {
  const paint = paintFor(onErr ? cli.err : cli.out);
  const { asked, reviewed, traderAccount, onboarder, registered } = plan;
  const names = new Map([
    [wallet.authority, wallet.name],
    [onboarder, "the exchange's onboarder, signs there"],
  ]);
  if (!names.has(asked.feePayer)) names.set(asked.feePayer, "pays");
  const steps = reviewed.instructions.map((instruction, index) => {
    const what =
      instruction.kind === "register"
        ? `register trader account ${traderAccount}\n     of ${asked.authority} (PDA index 0, subaccount 0), room for ${asked.maxPositions} positions`
        : `let the exchange's onboarder give it its capabilities:\n     ${onboardedCapabilities.map((it) => it.name).join(", ")}`;
    return [`  ${index + 1}. ${what}`, ...accountRows(instruction)].join("\n");
  });
  const already = registered ? "\n  (the trader account is on the ledger already)" : "";
  return [
    paint("bold", `One transaction for ${wallet.name} (${shortAddress(wallet.authority)}):`) + already,
    ...steps,
    facts(
      [
        ["program", reviewed.instructions[0]!.programId],
        ...closing(reviewed, plan.cost, names),
        ["sent by", `the exchange, ${host}`],
        ...(asked.referralCode === null ? [] : [["referral", asked.referralCode] as const]),
      ],
      paint,
    ),
  ].join("\n");
}

/** @throws {CommandFailed} unless the account is onboarded */
function printResult(cli: Cli, options: Options, wallet: WalletSettings, plan: Plan, sent: Sent): void {
  const { signature, confirmation, active } = sent;
  const result = options.referral === undefined ? "registered" : "activated";
  const known = {
    wallet: wallet.name,
    authority: wallet.authority,
    traderAccount: plan.traderAccount,
    signature,
  };
  switch (confirmation.kind) {
    case "confirmed":
      if (options.json) printJson(cli, { ...known, result, active });
      else {
        print(cli, `\n${wallet.name} is ${result}: ${plan.traderAccount}`);
        if (signature !== null) print(cli, `confirmed as ${signature}`);
      }
      if (!active)
        hint(cli, `The exchange does not show it yet; see again in a while: ${checkOnline(cli, options)}`);
      return;
    case "failed":
      throw new CommandFailed(`the ledger executed it, and it failed: ${confirmation.error}`, 1, known);
    case "expired":
      throw new CommandFailed(
        "it was not executed in time and cannot be any more; nothing happened. Try again",
        1,
        known,
      );
    case "unknown":
      throw new CommandFailed(
        `nobody can say whether it was executed (${confirmation.detail}). Before trying again, look for ${signature}`,
        1,
        known,
      );
  }
}
