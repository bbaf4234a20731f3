/** What an expression may name, and what is noted down while it is compiled. */
import type { Source } from "../../domain/observation.ts";
import type { Scope } from "../../domain/subject.ts";
import type { Read, ReadScope, WindowSpec } from "../rule.ts";
import type { Field, RuleEventKind, Unit } from "../vocabulary.ts";

/** Decides which names an expression has. Equal keys share one checker. */
export interface Naming {
  readonly scopes: readonly Scope[];
  /** The kind of `event`, and the name under which it is known: `event`, or in a filter the kind itself. */
  readonly event: { readonly kind: RuleEventKind; readonly name: string } | null;
  /** Type of `value`; null: the rule has none. */
  readonly value: { readonly kind: "double" | "int" | "duration"; readonly unit: Unit } | null;
  /** Events that may be summed and counted; null: history functions are not offered here. */
  readonly countable: readonly RuleEventKind[] | null;
}

export interface ExpressionProblem {
  readonly start: number;
  readonly message: string;
  readonly allowed?: readonly string[];
  readonly nearest?: string | null;
  readonly warning?: boolean;
}

/** Collects what the expressions of one rule look at. */
export class Gathered {
  readonly windows: WindowSpec[] = [];
  readonly staleAfterMs: Readonly<Record<Source, number>>;
  readsNow = false;
  /** Of `wallet.limits`, those that have to be there: what `has` asks about may be missing. */
  readonly limits = new Set<string>();
  readonly optionalLimits = new Set<string>();
  readonly #reads = new Map<string, Read>();

  /** How far history reaches back, ms: no window can look further. */
  readonly longestWindowMs: number;

  constructor(
    staleAfterMs: Readonly<Record<Source, number>>,
    longestWindowMs: number = Number.POSITIVE_INFINITY,
  ) {
    this.staleAfterMs = staleAfterMs;
    this.longestWindowMs = longestWindowMs;
  }

  get neededLimits(): readonly string[] {
    return [...this.limits].filter((limit) => !this.optionalLimits.has(limit));
  }

  get reads(): readonly Read[] {
    return [...this.#reads.values()];
  }

  read(scope: ReadScope, field: Field, symbol: string | null): void {
    const key = `${scope}[${symbol ?? ""}].${field.name}`;
    if (field.derived !== undefined) this.readsNow = true;
    const awaits = field.awaits === undefined ? {} : { awaits: field.awaits };
    if (!this.#reads.has(key))
      this.#reads.set(key, { scope, field: field.name, symbol, sources: field.sources, ...awaits });
  }

  /** A field of an item, whose list was read and has its sources. */
  readItem(list: string, field: Field): void {
    if (field.awaits === undefined) return;
    const name = `${list}.${field.name}`;
    this.#reads.set(name, { scope: "trader", field: name, symbol: null, sources: [], awaits: field.awaits });
  }

  /** An arrival of events that a window adds up is a reason to judge, too. */
  readEvents(scope: ReadScope, kind: string, source: Source): void {
    this.#reads.set(`events.${kind}`, { scope, field: kind, symbol: null, sources: [source] });
  }

  window(spec: WindowSpec): number {
    const known = this.windows.findIndex((other) => other.key === spec.key);
    return known >= 0 ? known : this.windows.push(spec) - 1;
  }
}
