/**
 * Decides which markets need order books, trading hours and candles: of those that rules look at. A rule about positions
 * needs those that are held, a rule about markets those that it selects, or all; and a market that a rule names is needed
 * whoever holds it. Rules about distances of positions need candles, by which messages and advice know how far a market moves.
 */

import { readsMargin } from "../advice/account-judgement.ts";
import type { Source } from "../domain/sources.ts";
import { marketReads } from "../domain/sources.ts";
import type { NamedFact } from "../domain/template-data.ts";
import { type ConditionRule, type EventRule, namedFields, type Read, type RuleSet } from "../rules/index.ts";
import type { SubjectNode } from "../state/subjects.ts";
import { rulesOf } from "./conditions/subject-rules.ts";

/** Symbols in capitals, or every market there is. */
export type WantedSymbols = ReadonlySet<string> | "all";

interface Wish {
  /** Every market there is. */
  readonly all: boolean;
  /** Named by a rule, in capitals. */
  readonly named: ReadonlySet<string>;
  /** Those of which the markets that their subjects hold are needed. */
  readonly ofPositions: ReadonlySet<ConditionRule>;
  /** Every market that is held: events come of any of them. */
  readonly held: boolean;
}

export class WantedMarkets {
  readonly #wishes: ReadonlyMap<Source, Wish>;

  /** @param named by templates of channels: of markets that are held */
  constructor(ruleSet: RuleSet, named: readonly NamedFact[] = []) {
    const told = new Set(namedFields(named).flatMap(({ sources }) => sources));
    this.#wishes = new Map(
      marketReads.map((source) => {
        const wish = wishOf(ruleSet, source);
        return [source, told.has(source) ? { ...wish, held: true } : wish];
      }),
    );
  }

  /** @param nodes the subjects that there are */
  of(source: Source, nodes: Iterable<SubjectNode>): WantedSymbols {
    const wish = this.#wishes.get(source);
    if (!wish) return new Set();
    if (wish.all) return "all";
    const symbols = new Set(wish.named);
    if (wish.ofPositions.size === 0 && !wish.held) return symbols;
    for (const node of nodes) {
      const { subject } = node;
      if (subject.scope !== "position" || symbols.has(subject.symbol)) continue;
      if (wish.held || rulesOf(node).plan.some(({ rule }) => wish.ofPositions.has(rule)))
        symbols.add(subject.symbol);
    }
    return symbols;
  }

  /** The sources that have to be read of a position's market for its sake. */
  ofPosition(node: SubjectNode): readonly Source[] {
    const { plan } = rulesOf(node);
    return marketReads.filter((source) => {
      const wish = this.#wishes.get(source)!;
      return wish.held || plan.some(({ rule }) => wish.ofPositions.has(rule));
    });
  }

  /** An estimate of the number of needed markets, roughly, before anything was read. */
  estimate(source: Source, of: { readonly markets: number; readonly held: number }): number {
    const wish = this.#wishes.get(source);
    if (!wish) return 0;
    if (wish.all) return of.markets;
    const held = wish.held || wish.ofPositions.size > 0 ? of.held : 0;
    return Math.min(of.markets, wish.named.size + held);
  }
}

function wishOf(ruleSet: RuleSet, source: Source): Wish {
  const named = new Set<string>();
  const ofPositions = new Set<ConditionRule>();
  let all = false;
  let held = false;
  const name = (symbols: readonly string[]): void => {
    for (const symbol of symbols) named.add(symbol.toUpperCase());
  };
  const looked = (rule: ConditionRule | EventRule): Read[] =>
    rule.shows.filter(({ sources }) => sources.includes(source));
  for (const rule of [...ruleSet.conditions, ...ruleSet.events]) {
    const reads = looked(rule);
    name(reads.flatMap(({ symbol }) => (symbol === null ? [] : [symbol])));
    const ofItsOwn =
      reads.some(({ symbol }) => symbol === null) || tellsOf(rule, source) || isAdvisedBy(rule, source);
    if (!ofItsOwn) continue;
    if (rule.select.symbol !== null) name(rule.select.symbol);
    else if (rule.kind === "condition" && rule.scope === "position") ofPositions.add(rule);
    else if (rule.kind === "condition" || tellsOf(rule, source)) all = true;
    else held = true;
  }
  return { all, named, ofPositions, held };
}

/** Advice holds for a further move as large as markets move in a day, and messages say how far that is. */
function isAdvisedBy(rule: ConditionRule | EventRule, source: Source): boolean {
  return source === "candles" && rule.kind === "condition" && rule.scope === "position" && readsMargin(rule);
}

/** A session that begins or ends is a change of its market, which is seen only where its hours are read. */
function tellsOf(rule: ConditionRule | EventRule, source: Source): boolean {
  return rule.kind === "event" && rule.on === "marketChange" && source === "calendars";
}
