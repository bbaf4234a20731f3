/** `perpwatch whatif`: a wallet's accounts at other prices, after a deposit, or after positions were closed. */
import type { Command } from "commander";
import { InvalidArgumentError } from "commander";
import type { Severity } from "../../domain/alerts/alert.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { plainWords } from "../../domain/text/plain-words.ts";
import type { ClearAmounts, WhatIfAnswer } from "../../domain/what-if.ts";
import type { Unit } from "../../rules/vocabulary/field-types.ts";
import type { Wire, WireNumber } from "../../web/wire.ts";
import { type Cli, CommandFailed, type CommonOptions, declare, print, printJson } from "../command.ts";
import { locate } from "../configuration.ts";
import { ask, askAbout, noDaemon } from "../daemon.ts";
import { ago, type Paint, paintFor, severityTint } from "../terminal/print.ts";
import { table } from "../terminal/table.ts";

interface WhatIfOptions extends CommonOptions {
  readonly wallet?: string;
  readonly account?: string;
  readonly price?: readonly string[];
  readonly close?: readonly string[];
  readonly deposit?: number;
  readonly withdraw?: number;
}

type Answer = Wire<WhatIfAnswer & { readonly nowMs: number }>;
type Account = Answer["accounts"][number];
type Rule = Account["rules"][number];
type Show = (value: WireNumber | null | undefined, unit: Unit) => string;

export function whatifCommand(program: Command, cli: Cli): void {
  declare(program, {
    usage: "whatif",
    summary: "a wallet's accounts at other prices, after a deposit, after positions were closed",
    about:
      "Asks the running daemon: margins, liquidation prices and what the rules would say, before and after, and a ladder of\n" +
      "further adverse prices down to liquidation. Prices change first, then positions are closed at those prices as a taker, then\n" +
      "money comes or goes. Without any change it shows the accounts as they are. Nothing is traded.\n\n" +
      "Figures that look back (windows), and those of the wallet, of books and of pairs, stay as they are. A rule with `for` fires\n" +
      "once its condition held that long: the time that is left stands beside it.",
    examples: [
      "whatif --wallet main --price SOL=-10%,BTC=58000",
      "whatif --wallet main --deposit 1000",
      "whatif --wallet main --account 0.1 --close ETH=50% --withdraw 200",
    ],
  })
    .option("--wallet <name>", "which wallet; left out where there is one")
    .option(
      "--account <account>",
      "which of its accounts, such as 0.0: for a deposit, and for what is closed",
    )
    .option(
      "--price <SYMBOL=price>",
      "a price (BTC=58000) or a change of the mark (SOL=-10%); several with commas",
      listed,
    )
    .option("--close <SYMBOL>", "a position: all of it (ETH), a part (ETH=50%) or a size (ETH=1.5)", listed)
    .option("--deposit <usd>", "money that comes into the account", money)
    .option("--withdraw <usd>", "money that leaves it", money)
    .action((options: WhatIfOptions) => whatif(cli, options));
}

/** `a,b`, given once or several times. Commas between digits belong to a number: `BTC=58,000`. */
function listed(text: string, before: readonly string[] = []): readonly string[] {
  const parts = text.split(/,(?!\d{3}(?:\D|$))/).map((part) => part.trim());
  return [...before, ...parts.filter((part) => part !== "")];
}

function money(text: string): number {
  const value = Number(text.replace(/^\$/, "").replaceAll(",", ""));
  if (/^\$?[\d,]+(\.\d+)?$/.test(text) && value > 0) return value;
  throw new InvalidArgumentError("Expected an amount such as 1000.");
}

async function whatif(cli: Cli, options: WhatIfOptions): Promise<void> {
  const { deposit, withdraw, account, price = [], close = [] } = options;
  if (deposit !== undefined && withdraw !== undefined)
    throw new CommandFailed("--deposit and --withdraw exclude each other", 2);
  const place = await locate(cli, options.config);
  const wallet = options.wallet ?? (await onlyWallet(place));
  const query = new URLSearchParams({ wallet });
  if (account !== undefined) query.set("account", account);
  for (const one of price) query.append("price", one);
  for (const one of close) query.append("close", one);
  const depositUsd = deposit ?? (withdraw === undefined ? undefined : -withdraw);
  if (depositUsd !== undefined) query.set("deposit", String(depositUsd));
  const asking = ask<Answer>(place, "GET", `/api/v1/what-if?${query}`);
  const answer = await askAbout(place, "wallet", wallet, asking);
  if (answer.kind === "noDaemon") throw noDaemon(place);
  if (options.json) return printJson(cli, answer.body);
  const { formatNumber } = await import("../../rules/format.ts");
  const show: Show = (value, unit) =>
    value === null || value === undefined ? "–" : formatNumber(Number(value), unit);
  const paint = paintFor(cli.out);
  const { accounts, nowMs } = answer.body;
  const texts = await Promise.all(accounts.map((one) => accountText(one, Number(nowMs), show, paint)));
  print(cli, texts.join("\n\n"));
}

async function onlyWallet(place: Awaited<ReturnType<typeof locate>>): Promise<string> {
  const status = await ask<{ watch: { wallets: readonly { name: string }[] } }>(
    place,
    "GET",
    "/api/v1/status",
  );
  if (status.kind === "noDaemon") throw noDaemon(place);
  const names = status.body.watch.wallets.map(({ name }) => name);
  if (names.length === 1) return names[0]!;
  throw new CommandFailed(`say which wallet with --wallet; configured: ${names.join(", ")}`, 2);
}

async function accountText(account: Account, nowMs: number, show: Show, paint: Paint): Promise<string> {
  const { name, seenMs, changes, before } = account;
  const age = seenMs === null ? "not read yet" : `as of ${ago(Number(seenMs), nowMs)}`;
  const isSame = changes.length === 0;
  const title = `${paint("bold", name)} ${paint("gray", age)}`;
  const isEmpty = before.positions.length === 0 && Number(before.figures.equity) === 0;
  if (isSame && isEmpty && account.rules.length === 0) return `${title}: nothing in it`;
  return [
    title,
    ...changes.map((change) => `  ${change}`),
    "",
    accountTable(account, isSame, show, paint),
    ...positionTable(account, isSame, show, paint),
    ...ruleTable(account, paint),
    ...(await clearText(account, isSame, show, paint)),
    ...ladderTable(account, show, paint),
  ].join("\n");
}

/** Rows of account figures: title, field, unit. */
const accountRows: readonly (readonly [title: string, field: string, unit: Unit])[] = [
  ["equity", "equity", "usd"],
  ["effective collateral", "effectiveCollateral", "usd"],
  ["initial margin", "initialMargin", "usd"],
  ["maintenance margin", "maintenanceMargin", "usd"],
  ["free collateral", "freeCollateral", "usd"],
  ["margin ratio", "marginRatio", "ratio"],
  ["leverage", "leverage", "times"],
  ["joint move to liquidation", "adverseMoveToLiquidation", "ratio"],
];

function accountTable({ before, after }: Account, isSame: boolean, show: Show, paint: Paint): string {
  const tier = (of: Account["before"]) => (of.riskTier === null ? "–" : plainWords(of.riskTier));
  const rows = accountRows.map(([title, field, unit]) => [
    title,
    ...(isSame ? [] : [show(before.figures[field], unit)]),
    show(after.figures[field], unit),
  ]);
  rows.push(["exchange's tier", ...(isSame ? [] : [tier(before)]), tier(after)]);
  return table(["account", ...heads(isSame)], rows, paint);
}

function heads(isSame: boolean): { title: string; right: true }[] {
  return (isSame ? ["now"] : ["now", "then"]).map((title) => ({ title, right: true as const }));
}

function positionTable({ before, after }: Account, isSame: boolean, show: Show, paint: Paint): string[] {
  if (before.positions.length === 0) return [];
  const rows = before.positions.flatMap(({ symbol, side, figures }) => {
    const then = after.positions.find((one) => one.symbol === symbol)?.figures;
    const row = (label: string, of: typeof figures | undefined) => [
      label,
      of === undefined ? "closed" : show(of.size, "count"),
      show(of?.markPrice, "price"),
      show(of?.notional, "usd"),
      of?.liquidationPrice === null ? "none" : show(of?.liquidationPrice, "price"),
      show(of?.liquidationDistance, "ratio"),
      show(of?.unrealizedPnl, "usd"),
    ];
    const own = row(`${symbol} ${side}`, figures);
    return isSame ? [own] : [own, row("  then", then)];
  });
  const right = (title: string) => ({ title, right: true });
  const columns = [
    "position",
    ...["size", "mark", "notional", "liquidation", "distance", "unrealized"].map(right),
  ];
  return ["", table(columns, rows, paint)];
}

function ruleTable({ rules }: Account, paint: Paint): string[] {
  if (rules.length === 0) return ["", paint("green", "No rule about it holds, now or then.")];
  const tinted = (level: Severity) => paint(severityTint(level), level);
  const word = (level: Rule["after"], firing: Severity | null, inMs: WireNumber | null) => {
    if (level === null) return "–";
    if (level === "gone" || level === "unknown") return level;
    if (Number(inMs) === 0) return tinted(level);
    // Rounded up to whole seconds.
    const after = formatDurationMs(Math.ceil(Number(inMs) / 1_000) * 1_000);
    return `${firing === null ? "" : `${tinted(firing)}, `}${tinted(level)} would fire after ${after}`;
  };
  const rows = rules.map(({ rule, subject, firing, before, after, firesInMs }) => [
    ...[rule, subject],
    word(before, firing, firesInMs.before),
    word(after, firing, firesInMs.after),
  ]);
  return ["", table(["rule", "subject", "now", "then"], rows, paint)];
}

/** The amounts that each alone end all conditions that hold. */
async function clearText(
  { name, clear }: Account,
  isSame: boolean,
  show: Show,
  paint: Paint,
): Promise<string[]> {
  if (clear === null) return [];
  const { listed: inWords, obstaclesOf, waysOf } = await import("../../advice/texts.ts");
  // All amounts are finite, so that JSON keeps them.
  const amounts = clear as ClearAmounts;
  const what = `what holds ${isSame ? "now" : "then"}`;
  const ways = waysOf(name, amounts).map((way) => `  ${way}`);
  const obstacles = obstaclesOf(name, amounts).map((text) => paint("gray", `  not: ${text}`));
  if (ways.length === 0)
    return ["", paint("yellow", `No single deposit or reduction clears ${what}.`), ...obstacles];
  const marks = inWords(clear.upTo.map(({ symbol, usd }) => `${symbol} at ${show(usd, "price")}`));
  const less = amounts.critical && waysOf(name, { order: amounts.order, ...amounts.critical });
  return [
    "",
    `To be clear of ${what}, and still with ${marks}, one of:`,
    ...ways,
    ...obstacles,
    ...(less === null || less.length === 0
      ? []
      : [
          "",
          `To end only what is critical ${isSame ? "now" : "then"}, one of:`,
          ...less.map((way) => `  ${way}`),
        ]),
  ];
}

function ladderTable({ ladder }: Account, show: Show, paint: Paint): string[] {
  const [first] = ladder;
  if (first === undefined) return [];
  const symbols = Object.keys(first.marks).slice(0, 3);
  const right = (title: string) => ({ title, right: true });
  const rows = ladder.map(({ move, marks, figures, riskTier, worst }) => [
    show(move, "ratio"),
    ...symbols.map((symbol) => show(marks[symbol], "price")),
    show(figures.effectiveCollateral, "usd"),
    show(figures.maintenanceMargin, "usd"),
    show(figures.marginRatio, "ratio"),
    riskTier === null ? "–" : plainWords(riskTier),
    worst === null ? "–" : paint(severityTint(worst), worst),
  ]);
  const columns = [
    "against it",
    ...symbols.map(right),
    right("effective"),
    right("maintenance"),
    right("margin ratio"),
    "tier",
    "rules",
  ];
  return ["", table(columns, rows, paint)];
}
