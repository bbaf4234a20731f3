/**
 * Rules whose subjects cannot be known while their source is silent: no position is judged in a wallet that is not read,
 * and no event comes from a history that is not. So for every wallet and source behind such a rule somebody waits for
 * word, and says that the rule is blind when there is none for too long.
 */

import type { RuleOfSubject } from "../alerts/own/gaps.ts";
import type { ChangesBuilder } from "../domain/changes-builder.ts";
import type { Deadlines, Due } from "../domain/deadlines.ts";
import type { Source } from "../domain/sources.ts";
import type { Scope, Subject } from "../domain/subject.ts";
import { eventSources, type RuleEventKind, type RuleSet, Unknown } from "../rules/index.ts";
import { parseLeg } from "../state/aggregates/pair-legs.ts";
import type { WatchedPair, WatchedWallet } from "../state/wallets/watched.ts";
import { applies } from "./selection.ts";

type Rule = RuleOfSubject["rule"];

interface BlindRule {
  readonly rule: Rule;
  readonly node: RuleOfSubject["node"];
  unknown: Unknown | null;
}

/** The parts that the no-data watches of many wallets share: those over one source with the same rules. */
interface Post {
  readonly source: Source;
  readonly rules: readonly Rule[];
  readonly staleAfterMs: number;
  readonly note: (one: BlindRule) => void;
}

const nobody: readonly BlindRule[] = [];

class NoDataWatch implements Due {
  readonly #post: Post;
  readonly #wallet: string | null;
  #seen = false;
  /** Those that are blind now. */
  #blind = nobody;
  dueMs = Number.POSITIVE_INFINITY;
  queuedMs = Number.POSITIVE_INFINITY;
  place = -1;
  order: number | undefined = undefined;

  /** @param wallet null: of the exchange */
  constructor(post: Post, wallet: string | null) {
    this.#post = post;
    this.#wallet = wallet;
  }

  get staleAfterMs(): number {
    return this.#post.staleAfterMs;
  }

  get isBlind(): boolean {
    return this.#blind.length > 0;
  }

  /** There is word. @returns those that were blind */
  heard(): readonly BlindRule[] {
    const blind = this.#blind;
    this.#seen = true;
    this.#blind = nobody;
    return blind;
  }

  onDue(): void {
    const { source, rules, note } = this.#post;
    const wallet = this.#wallet;
    const subject: Subject = wallet === null ? { scope: "exchange" } : { scope: "wallet", wallet };
    const unknown = new Unknown(this.#seen ? "stale" : "missing", source, `nothing new from ${source}`);
    this.#blind = rules.map((rule) => ({ rule, node: { subject }, unknown }));
    for (const one of this.#blind) note(one);
  }
}

/** These scopes rest on all accounts of a wallet, whichever those are. Of books each wallet is a part. */
const ofAccounts: ReadonlySet<Scope> = new Set(["position", "trader", "book"]);

/** Sources that no wallet owns, and what stands for them as a subject. */
const ofTheExchange: ReadonlySet<Source> = new Set(["exchangeStatus", "marketConfig"]);

export class NoDataWatches {
  /** By source, then wallet; null: of the exchange. */
  readonly #noDataWatches = new Map<Source, Map<string | null, NoDataWatch>>();
  readonly #deadlines: Deadlines;
  readonly #note: (one: RuleOfSubject, builder: ChangesBuilder) => void;

  constructor(
    options: {
      readonly ruleSet: RuleSet;
      readonly wallets: readonly WatchedWallet[];
      readonly pairs?: readonly WatchedPair[] | undefined;
      readonly deadlines: Deadlines;
      readonly builder: () => ChangesBuilder;
      readonly note: (one: RuleOfSubject, builder: ChangesBuilder) => void;
      readonly startedMs: number;
      /** The time at which a source last answered before a reload, ms; null: it did not. */
      readonly seenMs?: (source: Source, wallet: string | null) => number | null;
    },
    before?: NoDataWatches,
  ) {
    this.#deadlines = options.deadlines;
    this.#note = options.note;
    // Nobody hears of what a rule in shadow mode cannot see.
    const conditions = options.ruleSet.conditions.filter(({ mode }) => mode === "live");
    const events = options.ruleSet.events.filter(({ mode }) => mode === "live");
    const asRules = new Map(events.map((rule) => [rule, asRuleOfSubject(rule)]));
    const one = (rule: (typeof events)[number]): Rule => asRules.get(rule)!;
    const walletsOfPairs = new Set(
      (options.pairs ?? []).flatMap(({ name, legs }) =>
        legs.map((leg) => `${name}\n${parseLeg(leg)?.wallet}`),
      ),
    );
    const inPair = (rule: RuleSet["conditions"][number], wallet: string): boolean =>
      (options.pairs ?? []).some(
        ({ name }) => (rule.select.pair?.includes(name) ?? true) && walletsOfPairs.has(`${name}\n${wallet}`),
      );
    const wanting = new Wanting();
    for (const wallet of options.wallets) {
      // Symbols are no matter here: which ones a wallet holds is what is not known.
      const wanted = ({ select, needsSession }: RuleSet["conditions" | "events"][number]): boolean =>
        applies({ select: { ...select, symbol: null }, needsSession }, { wallet: wallet.name }, () => wallet);
      for (const rule of conditions) {
        const { scope, noData } = rule;
        const concerned =
          scope === "pair" ? inPair(rule, wallet.name) : ofAccounts.has(scope) && wanted(rule);
        if (noData === "alert" && concerned) wanting.add("traderState", wallet.name, rule);
      }
      for (const rule of events) {
        const source = eventSources[rule.on as RuleEventKind];
        if (rule.severity !== "critical" || ofTheExchange.has(source) || !wanted(rule)) continue;
        wanting.add(source, wallet.name, one(rule));
      }
    }
    for (const rule of events) {
      const source = eventSources[rule.on as RuleEventKind];
      if (rule.severity === "critical" && ofTheExchange.has(source)) wanting.add(source, null, one(rule));
    }
    const former = before ? before.#noDataWatches : undefined;
    const note = (one: BlindRule): void => options.note(one, options.builder());
    for (const { post, wallet } of wanting.posts(note)) {
      const noDataWatch = new NoDataWatch(post, wallet);
      const ofSource = this.#noDataWatches.get(post.source) ?? new Map<string | null, NoDataWatch>();
      this.#noDataWatches.set(post.source, ofSource.set(wallet, noDataWatch));
      noDataWatch.order = former?.get(post.source)?.get(wallet)?.order;
      const seenMs = options.seenMs?.(post.source, wallet) ?? null;
      if (seenMs !== null) noDataWatch.heard();
      const staleMs = (seenMs ?? options.startedMs) + noDataWatch.staleAfterMs + 1;
      this.#deadlines.set(noDataWatch, staleMs);
    }
  }

  /** After a reload: what was overdue before it is so still. */
  goOn(nowMs: number): void {
    for (const ofSource of this.#noDataWatches.values())
      for (const noDataWatch of ofSource.values()) {
        if (noDataWatch.dueMs > nowMs) continue;
        this.#deadlines.cancel(noDataWatch);
        noDataWatch.onDue();
      }
  }

  /** A source answered, all of it, at `atMs` at the latest. */
  seen(source: Source, wallet: string | null, atMs: number, builder: ChangesBuilder): void {
    const noDataWatch = this.#noDataWatches.get(source)?.get(wallet);
    if (!noDataWatch) return;
    // A part of it may have been read too long ago.
    if (noDataWatch.isBlind && atMs + noDataWatch.staleAfterMs < builder.atMs) return;
    const blind = noDataWatch.heard();
    this.#deadlines.set(noDataWatch, Math.max(atMs + noDataWatch.staleAfterMs, builder.atMs) + 1);
    for (const one of blind) {
      one.unknown = null;
      this.#note(one, builder);
    }
  }
}

/** Index of the rules by source and wallet. */
class Wanting {
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

  *posts(note: Post["note"]): Iterable<{ readonly post: Post; readonly wallet: string | null }> {
    for (const [source, ofSource] of this.#rules) {
      const posts = new Map<string, Post>();
      for (const [wallet, rules] of ofSource) {
        const key = rules.map((rule) => this.#numbers.get(rule)).join();
        const staleAfterMs = Math.min(...rules.map((rule) => rule.staleAfterMs[source]));
        const post = posts.get(key) ?? { source, rules, staleAfterMs, note };
        posts.set(key, post);
        yield { post, wallet };
      }
    }
  }
}

/** Sources of rules that may not lack data unsaid. */
export function alertingSources({ conditions, events }: RuleSet): ReadonlySet<Source> {
  const read = conditions.flatMap(({ noData, reads }) =>
    noData === "alert" ? reads.flatMap(({ sources }) => sources) : [],
  );
  return new Set([...read, ...events.flatMap(({ on }) => eventSources[on as RuleEventKind] ?? [])]);
}

/** An event rule as something that can be blind: only its own source counts. */
function asRuleOfSubject({ name, on, severity, staleAfterMs }: RuleSet["events"][number]): Rule {
  const source = eventSources[on as RuleEventKind];
  return { name, noData: "alert", levels: [{ severity }], reads: [{ sources: [source] }], staleAfterMs };
}
