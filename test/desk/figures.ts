/** Figures of messages against the range that the truth had within the age that the message states. */
import { time } from "./desk.ts";
import { freshMs, type Judge, slackMs } from "./judge.ts";
import {
  drawdown,
  fastWindowMs,
  lossToday,
  lostWithin,
  pairFigures,
  pairName,
  positionOf,
  profitToday,
} from "./models.ts";
import { fits, printed, type Range, rangeOf, shown } from "./numbers.ts";
import type { Item } from "./receiver.ts";
import { type Moment, tick } from "./truth.ts";

interface Claim {
  readonly name: string;
  readonly text: string;
  readonly truth: Range | undefined;
  /** Share of the value that may be off beside the printed digits. */
  readonly slack?: number;
  /** The same, in units of the value. */
  readonly room?: number;
}

const money = String.raw`(-?\$[\d,.]*\d|-?∞)`;
const percent = String.raw`(-?[\d,.]*\d%|(?:over|below) -?[\d,]+%)`;

/** Rules that read neither prices nor positions: the age of their data says nothing of the lines of context. */
const unpriced: ReadonlySet<string> = new Set(["DeskFundingPaid"]);
/** Age up to which such lines are stated: three intervals of positions, ms. */
const contextMs = 6_000;

export function checkFigures(judge: Judge, item: Item): void {
  if (item.event) return;
  const gone = item.change === "ended" && item.ending !== "recovered";
  const { trace, labels } = judge.context;
  const watched = labels.has(item.wallet ?? "");
  const troubled = watched && judge.troubles(item.wallet, item.dataMs - 2_000, item.atMs).length > 0;
  const allowedMs = freshMs + judge.graceMs;
  const ageMs = item.atMs - item.dataMs;
  const wrong: string[] = [];
  if (watched && !troubled && !gone && ageMs > allowedMs * 2)
    wrong.push(`its data is ${(ageMs / 1_000).toFixed(1)} s old while everything answers`);
  const fromMs = gone ? item.dataMs - 3_000 : troubled ? item.dataMs : item.atMs - Math.min(ageMs, allowedMs);
  const toMs = item.atMs;
  const since = (ms: number) => trace.between(ms - slackMs - judge.graceMs, toMs + slackMs);
  const window = since(fromMs);
  const context = unpriced.has(item.rule) ? since(Math.min(fromMs, toMs - contextMs)) : window;
  for (const { name, text, truth, slack, room } of [
    ...generic(judge, item, context),
    ...special(judge, item, window),
  ]) {
    const number = printed(text);
    if (number === undefined) wrong.push(`${name}: ${text} is no number`);
    else if (truth !== undefined && !fits(number, truth, slack, room))
      wrong.push(`${name}: ${text}, true is ${shown(truth)}`);
  }
  if (wrong.length === 0) return;
  judge.report("wrong figures", item, `${wrong.join("; ")}, from ${time(fromMs)} to ${time(toMs)}`);
}

/** A tick as a share of the mark: liquidation prices are whole ticks. */
function tickShare(symbol: string, window: readonly Moment[]): number {
  return 1.1 * ((tick[symbol] ?? 0) / (window[0]?.marks[symbol] ?? 1));
}

/** Every pair of an account's state and prices within the window. */
function pairsOf(window: readonly Moment[]): readonly (readonly [Moment, Moment])[] {
  const thinned =
    window.length > 40 ? window.filter((_, at) => at % Math.ceil(window.length / 40) === 0) : window;
  const ends = window.length > 40 ? [...thinned, window.at(-1)!] : thinned;
  return ends.flatMap((held) => ends.map((marks) => [held, marks] as const));
}

function ranged(window: readonly Moment[], value: (held: Moment, marks: Moment) => number | undefined) {
  const values: number[] = [];
  for (const [held, marks] of pairsOf(window)) {
    const one = value(held, marks);
    if (one !== undefined) values.push(one);
  }
  return rangeOf(values);
}

/** The lines of context below each summary. */
function generic(judge: Judge, item: Item, window: readonly Moment[]): readonly Claim[] {
  const { trace, labels, startedMs } = judge.context;
  const [wallet = "", place, symbol] = item.subject.split("/");
  if (!labels.has(wallet)) return [];
  const account = `${wallet}/${place}`;
  const claims: Claim[] = [];
  const add = (
    name: string,
    value: (held: Moment, marks: Moment) => number | undefined,
    slack = 1e-4,
    room = 0,
  ) => {
    // The distance is stated in daily moves, too, and the ratio beside its limit.
    const text = item.figures[name]?.replace(/, \S+ daily moves?$| \(liquidation at 100%\)$/, "");
    if (text === undefined || text === "none" || text === "–" || /out of reach|^no/.test(text)) return;
    claims.push({ name, text, truth: ranged(window, value), slack, room });
  };
  if (symbol !== undefined) {
    const position = (held: Moment, marks: Moment) => positionOf(trace, held, item.subject, marks)?.position;
    add("Mark price", (held, marks) => position(held, marks)?.mark);
    // The exchange's figure is a whole tick.
    add(
      "Liquidation price",
      (held, marks) => position(held, marks)?.liquidation,
      undefined,
      1.1 * tick[symbol]!,
    );
    add("Distance", (held, marks) => position(held, marks)?.distance, 2e-3, tickShare(symbol, window));
    add("Unrealized PnL", (held, marks) => position(held, marks)?.unrealized);
  }
  if (place !== undefined) {
    const figures = (held: Moment, marks: Moment) => trace.account(held, account, marks);
    add("Margin ratio", (held, marks) => figures(held, marks)?.ratio);
    add("Equity", (held, marks) => figures(held, marks)?.equity);
    add("Free collateral", (held, marks) => figures(held, marks)?.free);
  } else {
    const base = trace.wallet(trace.at(startedMs), wallet).pnl;
    add("Equity", (held, marks) => trace.wallet(held, wallet, marks).equity);
    if (!judge.explained(item))
      add("PnL since watched", (held, marks) => trace.wallet(held, wallet, marks).pnl - base);
  }
  return claims;
}

/** Figures of the summaries, rule by rule. */
function special(judge: Judge, item: Item, window: readonly Moment[]): readonly Claim[] {
  const { context } = judge;
  const { trace } = context;
  const text = item.summary;
  const found = (pattern: string) => new RegExp(pattern).exec(text)?.slice(1) ?? [];
  if (item.change === "ended" && item.ending !== "recovered") return [];
  const wallet = item.wallet ?? "";
  const times = [...window.map(({ atMs }) => atMs), item.atMs].filter((ms) => ms <= item.atMs + slackMs);
  const overTime = (of: (moment: Moment, atMs: number) => Range | undefined): Range | undefined => {
    const all = times.flatMap((ms) => {
      const one = of(trace.at(ms), ms);
      return one ? [one.low, one.high] : [];
    });
    return rangeOf(all);
  };
  const just = (value: number | undefined) => (value === undefined ? undefined : { low: value, high: value });
  const claims: Claim[] = [];
  const add = (name: string, value: string | undefined, truth: Range | undefined, slack = 1e-4, room = 0) => {
    if (value !== undefined) claims.push({ name, text: value, truth, slack, room });
  };
  switch (item.rule) {
    case "LiquidationNear": {
      const [distance] = found(`is ${percent} from liquidation`);
      const [joint] = found(`, ${percent} if every position`);
      add(
        "distance",
        distance,
        ranged(window, (held, marks) => positionOf(trace, held, item.subject, marks)?.position.distance),
        2e-3,
        tickShare(item.symbol ?? "", window),
      );
      add(
        "joint move",
        joint,
        ranged(window, (held, marks) => positionOf(trace, held, item.subject, marks)?.account.adverse),
        2e-3,
      );
      break;
    }
    case "AccountLiquidationNear": {
      const [joint] = found(`if every position moves ${percent}`);
      add(
        "joint move",
        joint,
        ranged(window, (held, marks) => trace.account(held, item.subject, marks)?.adverse),
        2e-3,
      );
      break;
    }
    case "MarginHigh": {
      const [ratio] = found(` is ${percent}`);
      add(
        "margin ratio",
        ratio,
        ranged(window, (held, marks) => trace.account(held, item.subject, marks)?.ratio),
      );
      break;
    }
    case "Drawdown": {
      const [share] = found(`down ${percent} from its peak`);
      if (!judge.explained(item))
        add(
          "drawdown",
          share,
          overTime((moment, atMs) => drawdown(context, moment, atMs, wallet)),
          5e-3,
        );
      break;
    }
    case "LosingFast": {
      const [share] = found(`lost ${percent} of its equity`);
      if (!judge.explained(item))
        add(
          "lost in the window",
          share,
          overTime((moment, atMs) => lostWithin(context, moment, atMs, wallet, fastWindowMs)),
          1e-2,
        );
      break;
    }
    case "DailyLoss": {
      const [share, amount] = found(`lost ${percent} today, ${money}`);
      if (judge.explained(item)) break;
      add(
        "loss of the day",
        share,
        overTime((moment, atMs) => lossToday(context, moment, atMs, wallet)),
        5e-3,
      );
      add(
        "USD lost today",
        amount,
        overTime((moment, atMs) => {
          const profit = profitToday(context, moment, atMs, wallet);
          return just(profit === undefined ? undefined : -profit);
        }),
        2e-3,
      );
      break;
    }
    case "HedgeBroken": {
      const [direction, size, amount] = found(String.raw`: (long|short) ([\d,.]*\d) \w+ naked \(${money}\)`);
      const truth = (of: (pair: ReturnType<typeof pairFigures>) => number) =>
        overTime((moment) => just(of(pairFigures(context, moment, pairName(item.subject)))));
      if (size !== undefined)
        add(
          "naked size",
          direction === "short" ? `-${size}` : size,
          truth(({ naked }) => naked),
        );
      add(
        "naked USD",
        amount,
        truth(({ nakedUsd }) => nakedUsd),
      );
      break;
    }
    case "StopLossMissing": {
      const [notional] = found(`of ${money}`);
      add(
        "notional",
        notional,
        ranged(window, (held, marks) => positionOf(trace, held, item.subject, marks)?.position.notional),
      );
      break;
    }
    case "FundingRateHigh": {
      const [rate] = found(`pays ${percent} a year`);
      const symbol = item.symbol ?? "";
      const side = text.includes(" short ") ? -1 : 1;
      add(
        "rate",
        rate,
        overTime((moment) => just((moment.rates[symbol] ?? 0) * 8_760 * side)),
        1e-2,
      );
      break;
    }
    default:
  }
  return claims;
}
