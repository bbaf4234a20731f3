/**
 * Determines the markets whose order books, trading hours and candles rules need. A rule about positions needs held markets, a rule
 * about markets those that it selects, or all, and a market that a rule names is needed whoever holds it. Rules about distances
 * of positions need candles, from which messages and advice derive the daily move of a market.
 */

import { readsMargin } from "../advice/account-judgement.ts";
import type { NamedFact } from "../domain/alerts/template-data.ts";
import type { Source } from "../domain/sources.ts";
import { marketReads } from "../domain/sources.ts";
import { type ConditionRule, type EventRule, namedFields, type Read, type RuleSet } from "../rules/index.ts";
import type { SubjectNode } from "../state/subjects.ts";
import { rulesOf } from "./conditions/subject-rules.ts";

/** Symbols in upper case, or all markets. */
export type WantedSymbols = ReadonlySet<string> | "all";

interface Wish {
  /** True: all markets. */
  readonly all: boolean;
  /** Named by a rule, in upper case. */
  readonly named: ReadonlySet<string>;
  /** Rules that need the markets that their subjects hold. */
  readonly ofPositions: ReadonlySet<ConditionRule>;
  /** True: every held market, as each may have events. */
  readonly held: boolean;
}

export class WantedMarkets {
  readonly #wishes: ReadonlyMap<Source, Wish>;

  /** @param named facts of held markets that templates of channels use */
  constructor(ruleSet: RuleSet, named: readonly NamedFact[] = []) {
    const inTemplates = new Set(namedFields(named).flatMap(({ sources }) => sources));
    this.#wishes = new Map(
      marketReads.map((source) => {
        const wish = wishOf(ruleSet, source);
        return [source, inTemplates.has(source) ? { ...wish, held: true } : wish];
      }),
    );
  }

  /** @param nodes the existing subjects */
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

  /** The sources that are needed for a position's market. */
  ofPosition(node: SubjectNode): readonly Source[] {
    const { plan } = rulesOf(node);
    return marketReads.filter((source) => {
      const wish = this.#wishes.get(source)!;
      return wish.held || plan.some(({ rule }) => wish.ofPositions.has(rule));
    });
  }

  /** A rough estimate of the number of needed markets before anything was read. */
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
      reads.some(({ symbol }) => symbol === null) ||
      reportsChangesOf(rule, source) ||
      isAdvisedBy(rule, source);
    if (!ofItsOwn) continue;
    if (rule.select.symbol !== null) name(rule.select.symbol);
    else if (rule.kind === "condition" && rule.scope === "position") ofPositions.add(rule);
    else if (rule.kind === "condition" || reportsChangesOf(rule, source)) all = true;
    else held = true;
  }
  return { all, named, ofPositions, held };
}

/** True if a rule has advice that needs a source: it covers a daily move of markets, and messages state that move. */
function isAdvisedBy(rule: ConditionRule | EventRule, source: Source): boolean {
  return source === "candles" && rule.kind === "condition" && rule.scope === "position" && readsMargin(rule);
}

/** True if a rule reports changes of sessions, which are seen only in the trading hours of a market. */
function reportsChangesOf(rule: ConditionRule | EventRule, source: Source): boolean {
  return rule.kind === "event" && rule.on === "marketChange" && source === "calendars";
}
