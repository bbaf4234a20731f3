/**
 * Detects missing data for rules whose subjects are unknown while their source is silent: no position is judged in a wallet that
 * is not read, and no event comes from a history that is not read. So each wallet and source of such a rule has a timer that
 * reports the rule as without data if no answer arrives in time.
 */

import type { RuleOfSubject } from "../alerts/own/gaps.ts";
import type { Source } from "../domain/sources.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import type { Deadlines, Due } from "../domain/structures/deadlines.ts";
import type { Scope, Subject } from "../domain/subject.ts";
import { eventSources, type RuleEventKind, type RuleSet, Unknown } from "../rules/index.ts";
import { parseLeg } from "../state/aggregates/pair-legs.ts";
import type { WatchedPair, WatchedWallet } from "../state/wallets/watched.ts";
import { applies } from "./selection.ts";

type Rule = RuleOfSubject["rule"];

interface RuleWithoutData {
  readonly rule: Rule;
  readonly node: RuleOfSubject["node"];
  unknown: Unknown | null;
}

/** The parts that the no-data watches of many wallets share: those of one source with the same rules. */
interface WatchGroup {
  readonly source: Source;
  readonly rules: readonly Rule[];
  readonly staleAfterMs: number;
  readonly note: (one: RuleWithoutData) => void;
}

const noRules: readonly RuleWithoutData[] = [];

class NoDataWatch implements Due {
  readonly #group: WatchGroup;
  readonly #wallet: string | null;
  #seen = false;
  /** The rules that have no data now. */
  #withoutData = noRules;
  dueMs = Number.POSITIVE_INFINITY;
  queuedMs = Number.POSITIVE_INFINITY;
  place = -1;
  order: number | undefined = undefined;

  /** @param wallet null: the exchange */
  constructor(group: WatchGroup, wallet: string | null) {
    this.#group = group;
    this.#wallet = wallet;
  }

  get staleAfterMs(): number {
    return this.#group.staleAfterMs;
  }

  get hasNoData(): boolean {
    return this.#withoutData.length > 0;
  }

  /** Takes an answer. @returns the rules that had no data */
  answered(): readonly RuleWithoutData[] {
    const withoutData = this.#withoutData;
    this.#seen = true;
    this.#withoutData = noRules;
    return withoutData;
  }

  onDue(): void {
    const { source, rules, note } = this.#group;
    const wallet = this.#wallet;
    const subject: Subject = wallet === null ? { scope: "exchange" } : { scope: "wallet", wallet };
    const unknown = new Unknown(this.#seen ? "stale" : "missing", source, `nothing new from ${source}`);
    this.#withoutData = rules.map((rule) => ({ rule, node: { subject }, unknown }));
    for (const one of this.#withoutData) note(one);
  }
}

/** Scopes that depend on all accounts of a wallet. Each wallet is a part of every book. */
const ofAccounts: ReadonlySet<Scope> = new Set(["position", "trader", "book"]);

/** Sources without a wallet; the exchange is their subject. */
const ofTheExchange: ReadonlySet<Source> = new Set(["exchangeStatus", "marketConfig"]);

export class NoDataWatches {
  /** By source, then wallet; null: the exchange. */
  readonly #noDataWatches = new Map<Source, Map<string | null, NoDataWatch>>();
  readonly #deadlines: Deadlines;
  readonly #note: (judged: RuleOfSubject, builder: ChangesBuilder) => void;

  constructor(
    options: {
      readonly ruleSet: RuleSet;
      readonly wallets: readonly WatchedWallet[];
      readonly pairs?: readonly WatchedPair[] | undefined;
      readonly deadlines: Deadlines;
      readonly builder: () => ChangesBuilder;
      readonly note: (judged: RuleOfSubject, builder: ChangesBuilder) => void;
      readonly startedMs: number;
      /** The time at which a source last answered before a reload, ms; null: it did not. */
      readonly seenMs?: (source: Source, wallet: string | null) => number | null;
    },
    before?: NoDataWatches,
  ) {
    this.#deadlines = options.deadlines;
    this.#note = options.note;
    // Missing data of rules in shadow mode are not reported.
    const conditions = options.ruleSet.conditions.filter(({ mode }) => mode === "live");
    const events = options.ruleSet.events.filter(({ mode }) => mode === "live");
    const asRules = new Map(events.map((rule) => [rule, ruleWithSource(rule)]));
    const ruleFor = (rule: (typeof events)[number]): Rule => asRules.get(rule)!;
    const walletsOfPairs = new Set(
      (options.pairs ?? []).flatMap(({ name, legs }) =>
        legs.map((leg) => `${name}\n${parseLeg(leg)?.wallet}`),
      ),
    );
    const inPair = (rule: RuleSet["conditions"][number], wallet: string): boolean =>
      (options.pairs ?? []).some(
        ({ name }) => (rule.select.pair?.includes(name) ?? true) && walletsOfPairs.has(`${name}\n${wallet}`),
      );
    const rulesBySource = new RulesBySource();
    for (const wallet of options.wallets) {
      // Symbols do not matter here: the markets that a wallet holds are not known.
      const wanted = ({ select, needsSession }: RuleSet["conditions" | "events"][number]): boolean =>
        applies({ select: { ...select, symbol: null }, needsSession }, { wallet: wallet.name }, () => wallet);
      for (const rule of conditions) {
        const { scope, noData } = rule;
        const concerned =
          scope === "pair" ? inPair(rule, wallet.name) : ofAccounts.has(scope) && wanted(rule);
        if (noData === "alert" && concerned) rulesBySource.add("traderState", wallet.name, rule);
      }
      for (const rule of events) {
        const source = eventSources[rule.on as RuleEventKind];
        if (rule.severity !== "critical" || ofTheExchange.has(source) || !wanted(rule)) continue;
        rulesBySource.add(source, wallet.name, ruleFor(rule));
      }
    }
    for (const rule of events) {
      const source = eventSources[rule.on as RuleEventKind];
      if (rule.severity === "critical" && ofTheExchange.has(source))
        rulesBySource.add(source, null, ruleFor(rule));
    }
    const former = before ? before.#noDataWatches : undefined;
    const note = (one: RuleWithoutData): void => options.note(one, options.builder());
    for (const { group, wallet } of rulesBySource.groups(note)) {
      const noDataWatch = new NoDataWatch(group, wallet);
      const ofSource = this.#noDataWatches.get(group.source) ?? new Map<string | null, NoDataWatch>();
      this.#noDataWatches.set(group.source, ofSource.set(wallet, noDataWatch));
      noDataWatch.order = former?.get(group.source)?.get(wallet)?.order;
      const seenMs = options.seenMs?.(group.source, wallet) ?? null;
      if (seenMs !== null) noDataWatch.answered();
      const staleMs = (seenMs ?? options.startedMs) + noDataWatch.staleAfterMs + 1;
      this.#deadlines.set(noDataWatch, staleMs);
    }
  }

  /** After a reload: watches that were overdue before stay overdue. */
  goOn(nowMs: number): void {
    for (const ofSource of this.#noDataWatches.values())
      for (const noDataWatch of ofSource.values()) {
        if (noDataWatch.dueMs > nowMs) continue;
        this.#deadlines.cancel(noDataWatch);
        noDataWatch.onDue();
      }
  }

  /** Takes a complete answer of a source, all parts of which were read at `atMs` or later. */
  seen(source: Source, wallet: string | null, atMs: number, builder: ChangesBuilder): void {
    const noDataWatch = this.#noDataWatches.get(source)?.get(wallet);
    if (!noDataWatch) return;
    // A part of it may have been read too long ago.
    if (noDataWatch.hasNoData && atMs + noDataWatch.staleAfterMs < builder.atMs) return;
    const withoutData = noDataWatch.answered();
    this.#deadlines.set(noDataWatch, Math.max(atMs + noDataWatch.staleAfterMs, builder.atMs) + 1);
    for (const one of withoutData) {
      one.unknown = null;
      this.#note(one, builder);
    }
  }
}

/** Index of the rules by source and wallet. */
class RulesBySource {
  readonly #rules = new Map<Source, Map<string | null, Rule[]>>();
  readonly #numbers = new Map<Rule, number>();

  add(source: Source, wallet: string | null, rule: Rule): void {
    const ofSource = this.#rules.get(source) ?? new Map<string | null, Rule[]>();
    this.#rules.set(source, ofSource);
    const known = ofSource.get(wallet);
    if (known) known.push(rule);
    else ofSource.set(wallet, [rule]);
    if (!this.#numbers.has(rule)) this.#numbers.set(rule, this.#numbers.size);
  }

  *groups(
    note: WatchGroup["note"],
  ): Iterable<{ readonly group: WatchGroup; readonly wallet: string | null }> {
    for (const [source, ofSource] of this.#rules) {
      const groups = new Map<string, WatchGroup>();
      for (const [wallet, rules] of ofSource) {
        const key = rules.map((rule) => this.#numbers.get(rule)).join();
        const staleAfterMs = Math.min(...rules.map((rule) => rule.staleAfterMs[source]));
        const group = groups.get(key) ?? { source, rules, staleAfterMs, note };
        groups.set(key, group);
        yield { group, wallet };
      }
    }
  }
}

/** Sources of rules whose missing data have to be reported. */
export function alertingSources({ conditions, events }: RuleSet): ReadonlySet<Source> {
  const read = conditions.flatMap(({ noData, reads }) =>
    noData === "alert" ? reads.flatMap(({ sources }) => sources) : [],
  );
  return new Set([...read, ...events.flatMap(({ on }) => eventSources[on as RuleEventKind] ?? [])]);
}

/** An event rule in the form for missing data: only its own source counts. */
function ruleWithSource({ name, on, severity, staleAfterMs }: RuleSet["events"][number]): Rule {
  const source = eventSources[on as RuleEventKind];
  return { name, noData: "alert", levels: [{ severity }], reads: [{ sources: [source] }], staleAfterMs };
}
