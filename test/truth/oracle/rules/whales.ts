/** whales.yaml but for the rule about events, which happened.ts has. */
import {
  above,
  below,
  claimsOf,
  type Ease,
  minuteMs,
  money,
  type Predicate,
  percent,
  type Word,
} from "../predicate.ts";
import { type Holding, symbolOf, type View, walletOf } from "../view.ts";
import { missing } from "./liquidation.ts";
import { leverageOf } from "./margin.ts";

const limitOf = (view: View, subject: string): number => view.whaleAbove(walletOf(subject));
const amount = String.raw`([\d,.]*\d)`;

type Held = Omit<Holding, "of">;

/** Figures and words that several texts have. */
function common(view: View, subject: string, { figures }: Held, text: { readonly description: string }) {
  const whole = view.position(subject);
  const tick = figures.mark / view.seen.prices.get(figures.symbol)!.markTicks;
  return claimsOf({ summary: "", description: text.description }, [
    ["size", new RegExp(`${amount} \\w+, (?:entry|mark)`), Math.abs(figures.size)],
    ["entry", new RegExp(`entry ${money}`), figures.entry, tick / 2],
    ["unrealized PnL", new RegExp(`unrealized PnL ${money}`), figures.unrealized],
    ["leverage", /leverage ((?:over )?[\d,.]*\d)×/, whole && leverageOf(figures.notional, whole.of)],
    ["mark", new RegExp(`[Mm]ark ${money}`), figures.mark],
    [
      "liquidation price",
      new RegExp(`liquidation ${money}`),
      whole && (whole.figures.liquidation ?? missing(figures.side)),
    ],
    ["distance", new RegExp(`liquidation ${percent} away`), whole?.figures.distance],
  ]);
}

const sideClaim = ({ position, figures }: Held, summary: string): Word => ({
  name: "side",
  text: new RegExp(`${position.symbol} (long|short)`).exec(summary)?.[1] ?? summary,
  among: [figures.side],
});

const whalePosition: Predicate = {
  rule: "WhalePosition",
  forMs: 0,
  keepMs: minuteMs,
  subjects: (view) => view.whalePositions(),
  levels: (view, subject, ease) => {
    const held = view.marked(subject);
    if (!held) return undefined;
    const limit = limitOf(view, subject);
    const { notional } = held.figures;
    return [{ severity: "info", on: above(notional, limit, ease), off: below(notional, 0.8 * limit, ease) }];
  },
  claims: (view, subject, text) => {
    const held = view.marked(subject);
    if (!held) return undefined;
    return [
      sideClaim(held, text.summary),
      ...claimsOf(text, [["notional", new RegExp(`(?:long|short), ${money}`), held.figures.notional]]),
      ...common(view, subject, held, text),
    ];
  },
};

/** The time within which what a position grew is a trade. */
export const tradesWithinMs = 10 * minuteMs;

/** Possible growth of a position, in USD; negative: it shrank. Undefined: nothing tells how large it was. */
function grown(
  view: View,
  subject: string,
): { readonly usd: readonly number[]; readonly sure: boolean } | undefined {
  const held = view.marked(subject);
  if (!held) return undefined;
  const thenMs = view.nowMs - view.terms.windowMs("WhaleTrades", tradesWithinMs);
  const sizes = view.sizes.at(subject, thenMs, 2 * view.terms.accountsMs);
  if (sizes.length === 0) return undefined;
  const { mark, size } = held.figures;
  const perUnit = Math.abs(Number(held.position.baseLots)) / Math.abs(size);
  const usd = sizes.map(({ lots }) => (Math.abs(size) - Math.abs(Number(lots)) / perUnit) * mark);
  return { usd, sure: sizes.every(({ sure }) => sure) };
}

const whaleTrades: Predicate = {
  rule: "WhaleTrades",
  forMs: 0,
  keepMs: 0,
  looksBack: true,
  subjects: (view) => view.whalePositions(),
  levels: (view, subject, ease: Ease) => {
    const [held, found] = [view.marked(subject), grown(view, subject)];
    if (!held || !found) return undefined;
    const limit = limitOf(view, subject);
    const of = (holds: (usd: number) => boolean): boolean =>
      ease > 0 ? found.usd.some(holds) : found.sure && found.usd.every(holds);
    const on = of(
      (usd) => above(Math.abs(usd), limit, ease) && above(Math.abs(usd), 0.1 * held.figures.notional, ease),
    );
    return [{ severity: "info", on, off: of((usd) => below(Math.abs(usd), 0.2 * limit, ease)) }];
  },
  claims: (view, subject, text) => {
    const [held, found] = [view.marked(subject), grown(view, subject)];
    if (!held || !found) return undefined;
    const { usd } = found;
    const isOver = (one: number) => Math.abs(one) < 0.2 * limitOf(view, subject);
    const wordOf = (one: number) => (isOver(one) ? "stopped trading" : one > 0 ? "added" : "took");
    const move = new RegExp(`(added|took) ${money}`).exec(text.summary);
    const middle = (Math.max(...usd) + Math.min(...usd)) / 2;
    const room = Math.max(...usd) - middle;
    return [
      sideClaim(held, text.summary),
      { name: "move", text: move?.[1] ?? "stopped trading", among: usd.map(wordOf) },
      ...(move
        ? [{ name: "value", text: move[2]!, truth: move[1] === "added" ? middle : -middle, room }]
        : []),
      ...claimsOf(text, [["notional", new RegExp(`, now ${money}`), held.figures.notional]]),
      ...common(view, subject, held, text),
    ];
  },
};

const whaleNearLiquidation: Predicate = {
  rule: "WhaleNearLiquidation",
  forMs: 0,
  keepMs: minuteMs,
  subjects: (view) => view.whalePositions(),
  levels: (view, subject, ease) => {
    const held = view.position(subject);
    if (!held) return undefined;
    const limit = limitOf(view, subject);
    const { notional, distance } = held.figures;
    const on = below(distance, 0.05, ease) && above(notional, limit, ease);
    return [{ severity: "info", on, off: above(distance, 0.07, ease) || below(notional, 0.8 * limit, ease) }];
  },
  claims: (view, subject, text) => {
    const held = view.position(subject);
    if (!held) return undefined;
    const { notional, distance, side } = held.figures;
    const sold = /that it is (sold|bought) into/.exec(text.description)?.[1];
    return [
      sideClaim(held, text.summary),
      { name: "market", text: text.summary.split(": ")[1]?.split(" ")[0] ?? "", among: [symbolOf(subject)] },
      { name: "way out", text: sold ?? text.description, among: [side === "long" ? "sold" : "bought"] },
      ...claimsOf(text, [
        ["notional", new RegExp(`(?:long|short) of ${money}`), notional],
        ["distance", new RegExp(`is ${percent} from liquidation`), distance],
      ]),
      ...common(view, subject, held, text),
    ];
  },
};

export const whaleRules: readonly Predicate[] = [whalePosition, whaleTrades, whaleNearLiquidation];
