/** The names that an expression may use, and the reads recorded while it is compiled. */

import type { Source } from "../../domain/sources.ts";
import type { Scope } from "../../domain/subject.ts";
import type { Compiled, Read, ReadScope, WindowSpec } from "../rule.ts";
import type { Field, Range, RuleEventKind, Unit } from "../vocabulary/field-types.ts";
import { noValues, type ValueLookup } from "./named.ts";

/** The names available to an expression. Equal keys share one checker. */
export interface Naming {
  readonly scopes: readonly Scope[];
  /** The kind of `event`, and its name: `event`, or in a filter the kind itself. */
  readonly event: { readonly kind: RuleEventKind; readonly name: string } | null;
  /** Type of `value`; null: the rule has none. */
  readonly value: {
    readonly kind: "double" | "int" | "duration";
    readonly unit: Unit;
    readonly range?: Range | undefined;
  } | null;
  /** Events that may be summed and counted; null: history functions are not available. */
  readonly countable: readonly RuleEventKind[] | null;
  /** For templates of channels: only these owners and their fields. No loops, no other market. */
  readonly owners?: Readonly<Record<string, readonly Field[]>>;
}

export interface ExpressionProblem {
  readonly start: number;
  readonly message: string;
  readonly allowed?: readonly string[];
  readonly nearest?: string | null;
  readonly warning?: boolean;
  /** The mistake is reported elsewhere; here it only stops the compilation. */
  readonly reportedElsewhere?: boolean;
}

/** Collects the reads of the expressions of one rule. */
export class Gathered {
  readonly windows: WindowSpec[] = [];
  readonly staleAfterMs: Readonly<Record<Source, number>>;
  readsNow = false;
  /** True if some figure is read at its present value, and not only through windows. */
  readsPresent = false;
  /** The members of `wallet.limits` that must exist; arguments of `has` may be missing. */
  readonly limits = new Set<string>();
  readonly optionalLimits = new Set<string>();
  /** Limits that are read where there is no market. */
  readonly marketlessLimits = new Set<string>();
  /** The values that can be named as `value.…`. */
  readonly values: ValueLookup;
  /** Texts of the named values that are used: if one changes, the condition changes. */
  readonly named = new Map<string, string>();
  readonly #reads = new Map<string, Read>();
  /** Reads in order of occurrence, including repeated ones. */
  readonly #met: Read[] = [];

  /** Period that history covers, ms: the maximum length of a window. */
  readonly maxWindowMs: number;

  constructor(
    staleAfterMs: Readonly<Record<Source, number>>,
    maxWindowMs: number = Number.POSITIVE_INFINITY,
    values: ValueLookup = noValues,
  ) {
    this.values = values;
    this.staleAfterMs = staleAfterMs;
    this.maxWindowMs = maxWindowMs;
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
    this.#note(key, { scope, field: field.name, symbol, sources: field.sources, ...awaits });
  }

  #note(key: string, read: Read): void {
    const known = this.#reads.get(key) ?? read;
    this.#reads.set(key, known);
    this.#met.push(known);
  }

  /** A position in the list of reads, for `readsSince`. */
  get place(): number {
    return this.#met.length;
  }

  /** Returns the reads after a position, without duplicates. */
  readsSince(place: number): readonly Read[] {
    return [...new Set(this.#met.slice(place))];
  }

  /** Adds a read of a part that was compiled before. */
  readOf(read: Read): void {
    this.#note(`${read.scope}[${read.symbol ?? ""}].${read.field}`, read);
  }

  /** Adds a field of an item. Its list was added before and has its sources. */
  readItem(list: string, field: Field): void {
    if (field.awaits === undefined) return;
    const name = `${list}.${field.name}`;
    this.#reads.set(name, { scope: "trader", field: name, symbol: null, sources: [], awaits: field.awaits });
  }

  /** Adds the reads of a part that was compiled separately; reads of its market become reads of the market `symbol`. */
  absorb({ reads, readsNow, readsPresent, named }: Gathered, symbol: string): void {
    for (const read of reads) {
      this.readOf(read.scope === "market" && read.symbol === null ? { ...read, symbol } : read);
    }
    this.readsNow ||= readsNow;
    this.readsPresent ||= readsPresent;
    for (const [name, text] of named) this.named.set(name, text);
  }

  /** Adds the events that a window sums: their arrival is a reason to judge, too. */
  readEvents(scope: ReadScope, kind: string, source: Source): void {
    this.#note(`events.${kind}`, { scope, field: kind, symbol: null, sources: [source] });
  }

  window(spec: WindowSpec): number {
    const known = this.windows.findIndex((other) => other.key === spec.key);
    return known >= 0 ? known : this.windows.push(spec) - 1;
  }
}

/** Reports a mistake. */
export type ReportProblem = (problem: ExpressionProblem) => void;

/** Compiles an expression within another one. @returns undefined if it has a mistake, which is reported */
export type CompileFilter = (
  text: string,
  wanted: "condition" | "figure",
  naming: Naming,
  gathered: Gathered,
  report: ReportProblem,
) => Compiled | undefined;
