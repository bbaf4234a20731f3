/** hedge.yaml. */
import type { HedgeFigures } from "../hedges.ts";
import { claimsOf, money, type Predicate, percent, type Word } from "../predicate.ts";
import { priceOf } from "../seen.ts";
import type { View } from "../view.ts";

const tiny = 1e-9;
const nameOf = (subject: string): string => subject.replace(/^pair\//, "");
const figuresOf = (view: View, subject: string): HedgeFigures | undefined =>
  view.hedges.figures(nameOf(subject));

/** USD of what is naked; negative: short. */
function nakedUsd(view: View, subject: string, { naked }: HedgeFigures): number | undefined {
  const mark = view.mark(view.hedges.plan(nameOf(subject)).symbol);
  return mark === undefined ? undefined : naked * mark;
}

const ways = { adl: " by auto-deleveraging", liquidation: " by a liquidation", stop: " by a stop" } as const;
const wayOf = { ...ways, fill: ", after a fill on one leg", "": "" } as const;

/** A signed size, as texts have it. */
const sized = String.raw`(long|short) ([\d,.]*\d)`;
const sideOf = (size: number): string => (size > 0 ? "long" : "short");

export const hedgeBroken: Predicate = {
  rule: "HedgeBroken",
  forMs: 0,
  keepMs: 10_000,
  subjects: (view) => view.hedges.names.map((name) => `pair/${name}`),
  worsens: {
    towards: "away",
    value: (view, subject) => {
      const figures = figuresOf(view, subject);
      return figures && nakedUsd(view, subject, figures);
    },
  },
  restsOn: (view, subject) => view.hedges.plan(nameOf(subject)).legs.map(({ wallet }) => wallet),
  levels: (view, subject, ease) => {
    const figures = figuresOf(view, subject);
    if (!figures) return undefined;
    const name = nameOf(subject);
    const tolerance = view.hedges.tolerance(name);
    const broken = figures.imbalance > tolerance * (1 - ease * tiny);
    const on = broken && view.hedges.isMeant(name, view.nowMs, ease < 0);
    return [{ severity: "critical", on, off: figures.imbalance <= tolerance * (1 + ease * tiny) }];
  },
  claims: (view, subject, text) => {
    const figures = figuresOf(view, subject);
    if (!figures) return undefined;
    const name = nameOf(subject);
    const { symbol } = view.hedges.plan(name);
    const isWhole = figures.imbalance <= view.hedges.tolerance(name);
    const told = /^Hedge "(\S+)" is (whole again$|broken)/.exec(text.summary);
    const words: Word[] = [
      { name: "hedge", text: told?.[1] ?? text.summary, among: [name] },
      { name: "state", text: told?.[2] ?? text.summary, among: [isWhole ? "whole again" : "broken"] },
    ];
    const broken = new RegExp(`is broken(.*): ${sized} (\\S+) naked`).exec(text.summary);
    // Nobody can tell its value where the mark is not known.
    const isPriced = ["prices", priceOf + symbol].every(
      (one) => view.nowMs - (view.seen.readMs.get(one) ?? 0) <= 2 * view.terms.pricesMs,
    );
    if (broken && isPriced)
      words.push({
        ...{ name: "naked notional", among: ["told"] },
        text: text.summary.includes("naked ($") ? "told" : "not told",
      });
    if (broken)
      words.push(
        { name: "way", text: broken[1]!, among: view.hedges.words(name).map((by) => wayOf[by]) },
        { name: "naked side", text: broken[2]!, among: [sideOf(figures.naked)] },
        { name: "market", text: broken[4]!, among: [symbol] },
      );
    const signedUsd = nakedUsd(view, subject, figures);
    const nakedSizeUsd = signedUsd === undefined ? undefined : Math.abs(signedUsd);
    return [
      ...words,
      ...claimsOf(text, [
        ["naked size", /: (?:long|short) ([\d,.]*\d) \S+ naked/, Math.abs(figures.naked)],
        ["naked notional", new RegExp(`naked \\(${money}\\)`), nakedSizeUsd],
        ["change a dollar", new RegExp(`moves is\\s+${money} of`), Math.abs(figures.naked)],
        ["size to trade", /Now:\s+(?:buy|sell) ([\d,.]*\d) /, Math.abs(figures.naked)],
        ["side to trade", /Now:\s+(buy|sell) /, figures.naked > 0 ? "sell" : "buy"],
        ["imbalance", new RegExp(`, ${percent} of the largest leg`), figures.imbalance],
        ["tolerance", new RegExp(`\\(limit ${percent}\\)`), view.hedges.tolerance(name)],
      ]),
    ];
  },
};
