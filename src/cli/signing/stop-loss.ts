/** `perpwatch stop-loss`: builds the transaction of a stop loss, checks it, explains it and prints it. */

import { type Command, InvalidArgumentError } from "commander";
import { decimalText } from "../../contract/amount.ts";
import type { WalletSettings } from "../../daemon/settings.ts";
import { formatPercent, formatPrice, formatUsd } from "../../domain/text/number-text.ts";
import { farSentence } from "../../ledger/far-sentence.ts";
import type { StopLossPlan } from "../../ledger/stop-loss.ts";
import { type Cli, CommandFailed, type CommonOptions, declare, hint, print, printJson } from "../command.ts";
import { consent } from "../terminal/consent.ts";
import { type Paint, paintFor, shortAddress } from "../terminal/print.ts";
import { integerFrom, oneOf } from "../terminal/values.ts";
import { accountRows, closing, facts, feePayerOf, openLedger, signOut, walletNamed } from "./ledger.ts";
import type { Signing } from "./signing.ts";

interface Options extends CommonOptions {
  readonly wallet?: string;
  readonly symbol: string;
  readonly triggerPrice: string;
  readonly executionPrice?: string;
  readonly slippage: number;
  readonly size?: string;
  readonly orderKind: "ioc" | "limit";
  readonly pdaIndex: number;
  readonly subaccount?: number;
  readonly feePayer?: string;
  readonly far?: string;
  readonly sign?: boolean;
  readonly yes?: boolean;
}

/** Time limit of one request to the exchange with its retries. */
const patienceMs = 20_000;

export function stopLossCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "stop-loss",
    summary: "build, check and explain the transaction that sets a stop loss; it is printed, never sent",
    about:
      "The exchange builds the instruction; each of its accounts and bytes is checked against what you ask for, and the\n" +
      "ledger (ledger.rpcUrl) foresees what it does. The explanation goes to standard error, the transaction (base64) to\n" +
      "standard output: unsigned, or with --sign signed by the keys here. Sending it is your own act, within about a minute.",
    examples: [
      "stop-loss --wallet main --symbol SOL --trigger-price 140",
      "stop-loss --symbol SOL --trigger-price 140 --execution-price 138.5 --size 10 --sign > transaction.txt",
    ],
  })
    .requiredOption("--symbol <symbol>", "the market of the position")
    .requiredOption("--trigger-price <usd>", "mark price at which it goes off")
    .option("--execution-price <usd>", "worst price of the closing order")
    .option("--slippage <percent>", "instead: so much worse than the trigger", percent, 1)
    .option("--size <units>", "how much to close; all of it when left out")
    .option(
      "--order-kind <kind>",
      "ioc: what cannot be filled at once is dropped; limit: it rests",
      oneOf(["ioc", "limit"]),
      "ioc",
    )
    .option("--wallet <name>", "whose; needed when more than one is configured")
    .option("--pda-index <n>", "which account family", integerFrom(0, 255), 0)
    .option(
      "--subaccount <n>",
      "which subaccount, when more than one holds the position",
      integerFrom(0, 100),
    )
    .option("--fee-payer <file>", "key file of who pays, when the wallet itself does not")
    .option("--far <sentence>", `needed for prices far from the mark: "${farSentence}"`, farFrom)
    .option("--sign", "sign with the keys here, after a typed yes")
    .option("--yes", "with --sign: sign without asking")
    .action((options: Options) => stopLoss(cli, options));
}

function percent(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d{1,2})?$/.test(text) && value < 100) return value;
  throw new InvalidArgumentError(
    "Expected a percentage from 0 to below 100, with at most two digits behind the point.",
  );
}

function farFrom(text: string): string {
  if (text === farSentence) return text;
  throw new InvalidArgumentError(`Expected the sentence "${farSentence}".`);
}

async function stopLoss(cli: Cli, options: Options): Promise<void> {
  const { withSigning } = await import("./signing.ts");
  await withSigning(cli, options.config, options, (signing) => stopLossWith(cli, options, signing));
}

async function stopLossWith(cli: Cli, options: Options, signing: Signing): Promise<void> {
  const { settings } = await signing.load();
  const wallet = walletNamed(settings, options.wallet);
  if (wallet.key === null)
    throw new CommandFailed(
      `${wallet.name} has no key here: the exchange builds this in the wallet's own session only`,
      2,
    );
  const payer = await feePayerOf(wallet, signing);
  const ledger = await openLedger(settings);
  const { planStopLoss } = await import("../../ledger/stop-loss.ts");
  const { BadStopLoss } = await import("../../ledger/stop-loss-band.ts");
  const { memorySessions, withExchange } = await import("../standalone.ts");
  const plan = await withExchange(settings, memorySessions(), async (exchange) => {
    const call = { deadlineMs: patienceMs, wallet: wallet.name };
    try {
      return await planStopLoss(
        { client: exchange.client, call, ledger },
        {
          authority: wallet.authority,
          feePayer: payer.address,
          pdaIndex: options.pdaIndex,
          subaccount: options.subaccount ?? null,
          symbol: options.symbol,
          triggerPrice: options.triggerPrice,
          executionPrice: options.executionPrice ?? null,
          slippagePercent: options.slippage,
          size: options.size ?? null,
          kind: options.orderKind,
          far: options.far !== undefined,
        },
      );
    } catch (error) {
      if (error instanceof BadStopLoss) throw new CommandFailed(error.message, 2);
      throw error;
    } finally {
      await signOut(exchange, wallet);
    }
  });
  hint(cli, await explained(plan, wallet, paintFor(cli.err)));
  let { wire } = plan.transaction;
  if (options.sign === true) {
    await consent(cli, "\nThis will be signed, and not sent.", options.yes === true);
    const own = payer.address === wallet.authority ? [] : [wallet.key];
    for (const key of [payer, ...own])
      wire = await key.sign({ kind: "stop loss", wire, request: plan.request });
  }
  if (options.json !== true) return print(cli, wire);
  const { order, market, subaccount, traderAccount, lifetime, cost } = plan;
  printJson(cli, {
    wallet: wallet.name,
    ...{ traderAccount, subaccount, symbol: market.symbol, order },
    ...{ mark: plan.mark, liquidationPrice: plan.liquidationPrice, warnings: plan.warnings },
    ...{ costLamports: cost.lamports, signers: plan.reviewed.signers, signed: options.sign === true },
    ...{ ...lifetime, transaction: wire },
  });
}

async function explained(plan: StopLossPlan, wallet: WalletSettings, paint: Paint): Promise<string> {
  const { usd } = await import("../../ledger/stop-loss.ts");
  const { order, market, position, reviewed } = plan;
  const { baseLotsDecimals, symbol } = market;
  const units = (lots: bigint) => decimalText(lots, baseLotsDecimals);
  const held = position.basePositionLots < 0n ? -position.basePositionLots : position.basePositionLots;
  const long = order.side === "ask";
  const [trigger, execution] = [usd(market, order.triggerTicks), usd(market, order.executionTicks)];
  const price = (value: number | string) => formatPrice(Number(value), Number(usd(market, 1n)));
  const sign = long ? 1 : -1;
  const entry = Number(usd(market, position.entryPriceTicks));
  const result = sign * (Number(execution) - entry) * Number(units(order.baseLots));
  const away = Math.abs(Number(trigger) - plan.mark) / plan.mark;
  const all = order.baseLots === held;
  return [
    paint(
      "bold",
      `A stop loss for ${wallet.name} (${shortAddress(wallet.authority)}), subaccount ${plan.subaccount}:`,
    ),
    `  When the mark price of ${symbol} ${long ? "falls below" : "rises above"} ${price(trigger)}, ${long ? "sell" : "buy"} ` +
      `${units(order.baseLots)}${all ? " (all of it)" : ""} at ${price(execution)} or better` +
      `${order.kind === "ioc" ? ", and drop what cannot be filled at once" : ", and leave the rest on the book"}.`,
    facts(
      [
        ["position", `${long ? "long" : "short"} ${units(held)} ${symbol}, entered at ${price(entry)}`],
        ["mark", `${price(plan.mark)}; the trigger is ${formatPercent(away)} away`],
        ["liquidation", plan.liquidationPrice === null ? "no price" : `at ${price(plan.liquidationPrice)}`],
        ["at worst", `${result >= 0 ? "+" : ""}${formatUsd(result)} against entry, before fees and funding`],
        ...(plan.replaces.length === 0
          ? []
          : [["replaces", `the stop loss at ${plan.replaces.map(price).join(", ")}`] as const]),
      ],
      paint,
    ),
    ...plan.warnings.map((it) => paint("red", `  WARNING: ${it}`)),
    "",
    `  One instruction of ${reviewed.instructions[0]!.programId}:`,
    ...reviewed.instructions.flatMap(accountRows),
    facts(closing(reviewed, plan.cost, new Map([[wallet.authority, wallet.name]])), paint),
    `  It can be executed until block height ${plan.lifetime.lastValidBlockHeight}, about a minute from now.`,
    "",
  ].join("\n");
}
