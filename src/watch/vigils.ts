/**
 * Rules whose subjects cannot be known while their source is silent: no position is judged in a wallet that is not read,
 * and no event comes from a history that is not. So for every wallet and source behind such a rule somebody waits for
 * word, and says that the rule is blind when there is none for too long.
 */
import type { Source } from "../domain/observation.ts";
import type { Scope, Subject } from "../domain/subject.ts";
import { eventSources, type RuleEventKind, type RuleSet, Unknown } from "../rules/index.ts";
import type { Sighted } from "./blind.ts";
import { applies } from "./conditions.ts";
import type { Deadlines, Due } from "./deadlines.ts";
import type { Draft } from "./draft.ts";
import { parseLeg } from "./pair-legs.ts";
import type { WatchedPair, WatchedWallet } from "./settings.ts";

interface Vigil extends Due {
  readonly rules: Sighted["rule"][];
  staleAfterMs: number;
  seen: boolean;
  /** Those that are blind now. */
  blind: { readonly rule: Sighted["rule"]; readonly node: Sighted["node"]; unknown: Unknown | null }[];
}

/** What rests on all accounts of a wallet, whichever those are. Of books each wallet is a part. */
const ofAccounts: ReadonlySet<Scope> = new Set(["position", "trader", "book"]);

/** Sources that no wallet owns, and what stands for them as a subject. */
const ofTheExchange: ReadonlySet<Source> = new Set(["exchangeStatus", "marketConfig"]);

export class Vigils {
  /** By source, then wallet; null: of the exchange. */
  readonly #vigils = new Map<Source, Map<string | null, Vigil>>();
  readonly #deadlines: Deadlines;
  readonly #draft: () => Draft;
  readonly #note: (sighted: Sighted, draft: Draft) => void;

  constructor(options: {
    readonly ruleSet: RuleSet;
    readonly wallets: readonly WatchedWallet[];
    readonly pairs?: readonly WatchedPair[] | undefined;
    readonly deadlines: Deadlines;
    readonly draft: () => Draft;
    readonly note: (sighted: Sighted, draft: Draft) => void;
    readonly startedMs: number;
  }) {
    this.#deadlines = options.deadlines;
    this.#draft = options.draft;
    this.#note = options.note;
    // Nobody hears of what a rule in shadow mode cannot see.
    const conditions = options.ruleSet.conditions.filter(({ mode }) => mode === "live");
    const events = options.ruleSet.events.filter(({ mode }) => mode === "live");
    const walletsOfPairs = new Set(
      (options.pairs ?? []).flatMap(({ name, legs }) =>
        legs.map((leg) => `${name}\n${parseLeg(leg)?.wallet}`),
      ),
    );
    const inPair = (rule: RuleSet["conditions"][number], wallet: string): boolean =>
      (options.pairs ?? []).some(
        ({ name }) => (rule.select.pair?.includes(name) ?? true) && walletsOfPairs.has(`${name}\n${wallet}`),
      );
    for (const wallet of options.wallets) {
      // Symbols are no matter here: which ones a wallet holds is what is not known.
      const wanted = ({ select, needsSession }: RuleSet["conditions" | "events"][number]): boolean =>
        applies({ select: { ...select, symbol: null }, needsSession }, { wallet: wallet.name }, () => wallet);
      for (const rule of conditions) {
        const { scope, noData } = rule;
        const concerned =
          scope === "pair" ? inPair(rule, wallet.name) : ofAccounts.has(scope) && wanted(rule);
        if (noData === "alert" && concerned) this.#add("traderState", wallet.name, rule);
      }
      for (const rule of events) {
        const source = eventSources[rule.on as RuleEventKind];
        if (rule.severity !== "critical" || ofTheExchange.has(source) || !wanted(rule)) continue;
        this.#add(source, wallet.name, asSighted(rule, source));
      }
    }
    for (const rule of events) {
      const source = eventSources[rule.on as RuleEventKind];
      if (rule.severity === "critical" && ofTheExchange.has(source))
        this.#add(source, null, asSighted(rule, source));
    }
    for (const vigil of [...this.#vigils.values()].flatMap((ofSource) => [...ofSource.values()]))
      this.#deadlines.set(vigil, options.startedMs + vigil.staleAfterMs + 1);
  }

  /** A source answered, all of it, at `atMs` at the latest. */
  seen(source: Source, wallet: string | null, atMs: number, draft: Draft): void {
    const vigil = this.#vigils.get(source)?.get(wallet);
    if (!vigil) return;
    vigil.seen = true;
    this.#deadlines.set(vigil, Math.max(atMs + vigil.staleAfterMs, draft.atMs) + 1);
    if (vigil.blind.length === 0) return;
    for (const one of vigil.blind.splice(0)) {
      one.unknown = null;
      this.#note(one, draft);
    }
  }

  #add(source: Source, wallet: string | null, rule: Sighted["rule"]): void {
    const ofSource = this.#vigils.get(source) ?? new Map<string | null, Vigil>();
    const known = ofSource.get(wallet);
    const staleAfterMs = rule.staleAfterMs[source];
    if (known) {
      known.rules.push(rule);
      known.staleAfterMs = Math.min(known.staleAfterMs, staleAfterMs);
      return;
    }
    const subject: Subject = wallet === null ? { scope: "exchange" } : { scope: "wallet", wallet };
    const vigil: Vigil = {
      rules: [rule],
      staleAfterMs,
      seen: false,
      blind: [],
      dueMs: Number.POSITIVE_INFINITY,
      queuedMs: Number.POSITIVE_INFINITY,
      place: -1,
      onDue: () => {
        const reason = vigil.seen ? "stale" : "missing";
        const unknown = new Unknown(reason, source, `nothing new from ${source}`);
        vigil.blind = vigil.rules.map((one) => ({ rule: one, node: { subject }, unknown }));
        for (const one of vigil.blind) this.#note(one, this.#draft());
      },
    };
    this.#vigils.set(source, ofSource.set(wallet, vigil));
  }
}

/** An event rule as something that can be blind: only its own source counts. */
function asSighted(rule: RuleSet["events"][number], source: Source): Sighted["rule"] {
  const { name, severity, staleAfterMs } = rule;
  return { name, noData: "alert", levels: [{ severity }], reads: [{ sources: [source] }], staleAfterMs };
}
