/** The single events: liquidations, deleveraging, stops, withdrawals, funding. Each has one message, with its own figures. */
import { midnightMs, time } from "./desk.ts";
import { type Judge, textOf } from "./judge.ts";
import { positionOf } from "./models.ts";
import { fits, printed } from "./numbers.ts";
import type { Item } from "./receiver.ts";
import { tick } from "./truth.ts";

interface Happening {
  readonly rule: string;
  readonly wallet: string;
  readonly symbol: string | null;
  readonly subject?: string;
  readonly atMs: number;
  /** To arrive by then, unless a trouble hides it, ms. */
  readonly byMs: number;
  /** Its text, in words of the script. */
  readonly words: string;
  /** Nothing has to be sent; what is sent has to be right. */
  readonly optional?: boolean;
  /** Numbers that its summary has to contain, by name. */
  readonly numbers: readonly (readonly [string, number])[];
}

/** Polls of histories, notifications that stream, and the message, ms. */
const withinMs = 15_000;
const afterTroubleMs = 35_000;
/** Ten seconds in which only one reading of a change makes a loss of it, a poll and a message, ms. */
const openMs = 18_000;

/** @returns rules that are judged here */
export function judgeEvents(judge: Judge): readonly string[] {
  const { items } = judge.desk.receiver;
  openProfits(judge);
  announcements(judge);
  const all = [...liquidations(judge), ...stops(judge), ...withdrawals(judge), ...funding(judge)];
  const rules = ["Liquidated", "AutoDeleveraged", "StopLossExecuted", "UnusualWithdrawal", "DeskFundingPaid"];
  const taken = new Set<Item>();
  for (const one of all) {
    const scene = judge.sceneAt(one.atMs);
    const hidden = judge
      .troubles(one.wallet, one.atMs - 2_000, one.byMs)
      .map(({ toMs }) => toMs + afterTroubleMs);
    const byMs = Math.max(one.byMs, ...hidden) + judge.graceMs;
    const candidates = items.filter(
      (item) =>
        !taken.has(item) &&
        item.rule === one.rule &&
        item.wallet === one.wallet &&
        item.change === "fired" &&
        (one.symbol === null || item.symbol === one.symbol) &&
        (one.subject === undefined || item.subject === one.subject) &&
        item.arrivedMs >= one.atMs - 500,
    );
    const found = candidates.find((item) => wrong(item, one) === null) ?? candidates[0];
    if ((byMs > judge.untilMs || one.optional) && !found) continue;
    judge.findings.count(scene, "expected");
    const common = { scene, atMs: one.atMs, wallet: one.wallet };
    if (!found) {
      judge.findings.add({
        ...common,
        fault: "lost",
        text: `${one.rule}: ${one.words}`,
        truth: `happened at ${time(one.atMs)}; never came`,
      });
      continue;
    }
    taken.add(found);
    if (found.arrivedMs > byMs) {
      const lateMs = found.arrivedMs - byMs;
      judge.findings.add({
        ...common,
        fault: "late",
        text: textOf(found),
        truth: `happened at ${time(one.atMs)}; ${(lateMs / 1_000).toFixed(1)} s late`,
      });
    }
    const problem = wrong(found, one);
    if (problem !== null) judge.report("wrong figures", found, `${problem}; true is ${one.words}`);
  }
  for (const item of items) {
    if (item.rule === "MarketRulesChanged") judgeMarketChange(judge, item);
    else if (item.rule === "NotWatched") judgeNotWatched(judge, item);
    else if (
      rules.includes(item.rule) &&
      !taken.has(item) &&
      item.change === "fired" &&
      !isAgain(judge, item, all)
    )
      judge.report("false", item, "this did not happen, or was reported before");
    else if (item.rule === "DeskFundingPaid" && item.change === "ended" && item.ending === "recovered") {
      const paid = all.find(({ rule, subject }) => rule === item.rule && subject === item.subject);
      if (paid)
        judge.report("false recovery", item, `${paid.words} at ${time(paid.atMs)}, less than a day ago`);
    }
  }
  return [...rules, "MarketRulesChanged", "NotWatched", "Announcement"];
}

/** Funding of the day is told of each new position of the same account anew, with the same sum. */
function isAgain(judge: Judge, item: Item, all: readonly Happening[]): boolean {
  if (item.rule !== "DeskFundingPaid") return false;
  const same = all.find(({ rule, subject }) => rule === item.rule && subject === item.subject);
  if (!same) return false;
  const problem = wrong(item, same);
  if (problem !== null) judge.report("wrong figures", item, `${problem}; true is ${same.words}`);
  return true;
}

/** The number of the happening that is missing in the summary, or null. */
function wrong(item: Item, { numbers }: Happening): string | null {
  const texts = item.summary.match(/-?\$?\d[\d,]*(\.\d+)?%?/g) ?? [];
  const values = texts.flatMap((text) => printed(text.replace(/,$/, "")) ?? []);
  for (const [name, value] of numbers) {
    const range = { low: Math.abs(value), high: Math.abs(value) };
    if (!values.some((one) => fits({ value: Math.abs(one.value), half: one.half }, range, 2e-4)))
      return `${name} is not ${Number(value.toFixed(4))}`;
  }
  return null;
}

function liquidations(judge: Judge): readonly Happening[] {
  const found: Happening[] = [];
  for (const wallet of judge.desk.simulator.world.wallets.values()) {
    if (!judge.context.labels.has(wallet.name)) continue;
    for (const { role, symbol, atMs, detail } of wallet.liquidations.all()) {
      if (role === "adl_caller" || atMs < judge.desk.startedMs) continue;
      const scale = 10 ** judge.desk.simulator.world.markets.get(symbol)!.spec.baseLotsDecimals;
      const size = Number(detail.lots) / scale;
      const adl = detail.kind === "adl";
      const value = Number(detail.kind === "adl" ? detail.closeValue : detail.quoteLots) / 1e6;
      const price = value / size;
      found.push({
        rule: adl ? "AutoDeleveraged" : "Liquidated",
        wallet: wallet.name,
        symbol,
        atMs,
        byMs: atMs + withinMs,
        words: `${adl ? "deleveraged" : `liquidated (${detail.kind})`} ${size} ${symbol} at ${price.toFixed(4)}, $${value.toFixed(2)}`,
        numbers: adl
          ? [["size", size]]
          : detail.kind === "backstop"
            ? []
            : [
                ["notional", value],
                ["price", Math.round(price / tick[symbol]!) * tick[symbol]!],
              ],
      });
    }
  }
  return found;
}

function stops(judge: Judge): readonly Happening[] {
  const found: Happening[] = [];
  for (const wallet of judge.desk.simulator.world.wallets.values()) {
    if (!judge.context.labels.has(wallet.name)) continue;
    for (const fill of wallet.fills.all()) {
      if (fill.instructionType !== "ExecuteStopLoss" || fill.atMs < judge.desk.startedMs) continue;
      const scale = 10 ** judge.desk.simulator.world.markets.get(fill.symbol)!.spec.baseLotsDecimals;
      const size = Math.abs(Number(fill.baseLots)) / scale;
      const price = Math.abs(Number(fill.quoteLots)) / 1e6 / size;
      found.push({
        rule: "StopLossExecuted",
        wallet: wallet.name,
        symbol: fill.symbol,
        atMs: fill.atMs,
        byMs: fill.atMs + withinMs,
        words: `a stop sold ${size} ${fill.symbol} at ${price.toFixed(4)}`,
        numbers: [
          ["size", size],
          ["price", price],
        ],
      });
    }
  }
  return found;
}

/** Withdrawals of more than a quarter of what there was, and more than $100. */
function withdrawals(judge: Judge): readonly Happening[] {
  const found: Happening[] = [];
  for (const wallet of judge.desk.simulator.world.wallets.values()) {
    if (!judge.context.labels.has(wallet.name)) continue;
    for (const { type, atMs, amount, collateralAfter } of wallet.collateral.all()) {
      const usd = Number(amount) / 1e6;
      const after = Number(collateralAfter) / 1e6;
      if (type !== "withdrawal" || atMs < judge.desk.startedMs || usd < 100 || usd <= 0.25 * (after + usd))
        continue;
      const late = judge.desk.lateHistories.find(
        (one) => one.wallet === wallet.name && Math.abs(one.fromMs - atMs) < 2_000,
      );
      found.push({
        rule: "UnusualWithdrawal",
        wallet: wallet.name,
        symbol: null,
        atMs,
        byMs: (late?.toMs ?? atMs) + withinMs,
        words: `$${usd.toFixed(2)} withdrawn, $${after.toFixed(2)} left`,
        numbers: [
          ["amount", usd],
          ["what is left", after],
        ],
      });
    }
  }
  return found;
}

/**
 * A withdrawal that no history shows yet may be a loss: where it would be one that counts, a message says that it is one or the
 * other, with its amount.
 */
function openProfits(judge: Judge): void {
  for (const { wallet, fromMs, toMs, amount } of judge.desk.lateHistories) {
    const { equity } = judge.context.trace.wallet(judge.context.trace.at(fromMs), wallet);
    if (amount > -0.12 * equity || toMs - fromMs < openMs + 5_000) continue;
    const scene = judge.sceneAt(fromMs);
    judge.findings.count(scene, "expected");
    const found = judge.desk.receiver.items.find((item) => {
      const words = `${item.summary} ${item.description}`;
      const says = /withdraw/i.test(words) && /\bor\b/.test(words);
      return item.wallet === wallet && says && item.arrivedMs > fromMs && item.arrivedMs < toMs + 5_000;
    });
    const text = `${wallet}: a withdrawal, or a loss of $${-amount}`;
    const common = { scene, atMs: fromMs, wallet };
    const truth = `history shows it at ${time(toMs)}`;
    if (!found) judge.findings.add({ ...common, fault: "lost", text, truth });
    else if (found.arrivedMs > fromMs + openMs + judge.graceMs)
      judge.findings.add({ ...common, fault: "late", text: textOf(found), truth });
    else {
      const amounts = `${found.summary} ${found.description}`.match(/\$\d[\d,]*(\.\d+)?/g) ?? [];
      const range = { low: -amount, high: -amount };
      if (!amounts.some((one) => fits(printed(one) ?? { value: 0, half: 0 }, range, 2e-3)))
        judge.report("wrong figures", found, `none of its amounts is $${-amount}`);
    }
  }
}

/** Each announcement is reported once and acknowledged in the inbox of every wallet. */
function announcements(judge: Judge): void {
  const { desk, findings, context } = judge;
  for (const { atMs, text: title } of desk.announcements) {
    const scene = judge.sceneAt(atMs);
    findings.count(scene, "expected");
    const common = { scene, atMs, wallet: "–" };
    const found = desk.receiver.items.filter(
      ({ rule, summary }) => rule === "Announcement" && summary.includes(title),
    );
    const [first, ...more] = found;
    const text = `announcement: ${title}`;
    if (!first) findings.add({ ...common, fault: "lost", text, truth: "never came" });
    else if (first.arrivedMs > atMs + withinMs + judge.graceMs)
      findings.add({ ...common, fault: "late", text: textOf(first), truth: `made at ${time(atMs)}` });
    for (const item of more) judge.report("false", item, "it was reported before");
    for (const { name, notifications } of desk.simulator.world.wallets.values()) {
      const one = notifications.all().find((it) => it.title === title);
      if (context.labels.has(name) && one && !one.acked)
        findings.add({
          ...common,
          wallet: name,
          fault: "lost",
          text,
          truth: `not acknowledged in the inbox of ${name}`,
        });
    }
  }
}

/** The payment of each account at midnight, by market. */
function funding(judge: Judge): readonly Happening[] {
  const sums = new Map<
    string,
    { readonly wallet: string; readonly symbol: string; paid: number; atMs: number }
  >();
  for (const wallet of judge.desk.simulator.world.wallets.values()) {
    if (!judge.context.labels.has(wallet.name)) continue;
    for (const { account, symbol, payment, atMs } of wallet.funding.all()) {
      if (atMs < judge.desk.startedMs) continue;
      const subject = `${wallet.name}/${account.pdaIndex}.${account.subaccount}/${symbol}`;
      const known = sums.get(subject) ?? { wallet: wallet.name, symbol, paid: 0, atMs };
      known.paid -= Number(payment) / 1e6;
      sums.set(subject, known);
    }
  }
  return [...sums].flatMap(([subject, { wallet, symbol, paid, atMs }]) =>
    paid <= 0.002
      ? []
      : [
          {
            rule: "DeskFundingPaid",
            ...{ wallet, symbol, subject, atMs },
            byMs: Math.max(atMs, midnightMs) + 25_000,
            // The history does not say which of two accounts in one market paid; a position that was gone when it could be
            // read has no alerts.
            optional:
              [...sums].some(
                ([other, of]) => other !== subject && of.wallet === wallet && of.symbol === symbol,
              ) ||
              judge
                .troubles(wallet, atMs, atMs + withinMs)
                .some(({ toMs }) => !positionOf(judge.context.trace, judge.context.trace.at(toMs), subject)),
            words: `${subject} paid $${paid.toFixed(2)}`,
            numbers: [["funding", paid]] as const,
          },
        ],
  );
}

function judgeMarketChange(judge: Judge, item: Item): void {
  const symbol = item.summary.split(":")[0] ?? "";
  const found = /status changed from (\w+) to (\w+)/.exec(item.summary);
  const { trace } = judge.context;
  const seen = trace.between(item.atMs - 90_000, item.atMs).map(({ statuses }) => statuses[symbol]);
  const before = found?.[1] ?? "";
  const after = found?.[2] ?? "";
  if (
    !found ||
    seen.lastIndexOf(after) < seen.indexOf(before) ||
    !seen.includes(after) ||
    !seen.includes(before)
  )
    judge.report("false", item, `statuses of ${symbol}: ${[...new Set(seen)].join(", ")}`);
}

/** Only a daemon that was down says that it was. */
function judgeNotWatched(judge: Judge, item: Item): void {
  const down = judge.desk.troubles.some(
    ({ kind, fromMs, toMs }) => kind === "down" && fromMs <= item.atMs && toMs + 60_000 >= item.atMs,
  );
  if (!down) judge.report("false", item, "the daemon ran all the time");
}
