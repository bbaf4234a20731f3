/** Ends of alerts that were raised by a payment: `w1: a withdrawal of $3,000.00, no loss`. */
import { fits, printed } from "../../desk/numbers.ts";
import { tickUsd } from "./margin.ts";
import { type Claim, money, type Text } from "./predicate.ts";
import { at, type Truth } from "./truth.ts";
import { walletOf } from "./view.ts";

/** The amounts that were paid into an account or, negative, out of it, give or take, USD. */
interface Paid {
  readonly usd: number;
  readonly room: number;
}

const pattern = new RegExp(`: a (withdrawal|deposit) of ${money}, no (loss|profit)$`);
const transferred = ": a transfer between accounts, no profit or loss";
const spotSymbol = "SOL";
const spotUnits = 1e9;
/** Share by which collateral in other assets is valued another way, at a price of another moment. */
const spotRoom = 0.03;
/** All sums of so many payments are tried; of more, those of two, and of payments that follow each other. */
const maxTried = 12;

/** @param within true wall times, ms */
export function explainedClaims(
  truth: Truth,
  { subject, summary }: Text & { readonly subject: string },
  within: { readonly fromMs: number; readonly toMs: number },
): readonly Claim[] {
  if (summary.endsWith(transferred)) {
    const paid = paidTo(truth, walletOf(subject), within);
    const isMoved = paid.some((one) => paid.some((other) => other.usd < 0 && one.usd === -other.usd));
    return isMoved ? [] : [{ name: "end", text: summary, among: ["a transfer"] }];
  }
  const [, word, text, other] = pattern.exec(summary) ?? [];
  if (text === undefined)
    return [{ name: "end", text: summary, among: ["a withdrawal, no loss", "a deposit, no profit"] }];
  const sign = word === "withdrawal" ? -1 : 1;
  const sums = sumsOf(paidTo(truth, walletOf(subject), within)).map(({ usd, room }) => {
    return { usd: sign * usd, room };
  });
  const number = printed(text)!;
  const found = sums.find(({ usd, room }) => fits(number, { low: usd, high: usd }, 1e-9, room));
  return [
    { name: "word", text: other!, among: [sign < 0 ? "loss" : "profit"] },
    found
      ? { name: "payment", text, truth: found.usd, room: found.room }
      : { name: "payment", text, among: sums.filter(({ usd }) => usd > 0).map(({ usd }) => usd.toFixed(2)) },
  ];
}

function paidTo(
  truth: Truth,
  wallet: string,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): readonly Paid[] {
  const found: (Paid & { readonly atMs: number })[] = [];
  for (const [name, states] of truth.accounts) {
    if (walletOf(name) !== wallet) continue;
    for (const [index, { atMs, netDeposits, spot }] of states.entries()) {
      if (atMs < fromMs || atMs > toMs) continue;
      const before = states[index - 1];
      const usd = Number(netDeposits - (before?.netDeposits ?? 0n)) / 1e6;
      if (usd !== 0) found.push({ atMs, usd, room: 0 });
      const units = Number(spot - (before?.spot ?? 0n)) / spotUnits;
      const price = at(truth.markets.get(spotSymbol) ?? [], atMs);
      if (units === 0 || price === undefined) continue;
      const spotUsd = units * price.oracleTicks * tickUsd(truth.rules.get(spotSymbol)!);
      found.push({ atMs, usd: spotUsd, room: Math.abs(spotUsd) * spotRoom });
    }
  }
  return found.sort((a, b) => a.atMs - b.atMs);
}

function sumsOf(paid: readonly Paid[]): readonly Paid[] {
  const nothing: Paid = { usd: 0, room: 0 };
  const plus = (a: Paid, b: Paid): Paid => ({ usd: a.usd + b.usd, room: a.room + b.room });
  if (paid.length <= maxTried) {
    const sums = [nothing];
    for (const one of paid) sums.push(...sums.map((sum) => plus(sum, one)));
    return sums;
  }
  return paid.flatMap((one, from) => [
    ...paid.slice(from).map((_, index) => paid.slice(from, from + index + 1).reduce(plus, nothing)),
    ...paid.slice(from + 1).map((other) => plus(one, other)),
  ]);
}
