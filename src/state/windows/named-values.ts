/**
 * Named values as figures of their subjects. They are computed whenever their inputs enter history, so that they have a
 * history of their own. Rules do not read them here: a rule that names one computes it itself, from its inputs at that time.
 */
import type { Scope } from "../../domain/subject.ts";
import type { NamedValue, RuleSet, Window, WindowPath, WindowSpec } from "../../rules/index.ts";
import type { SubjectNode } from "../subjects.ts";
import { windowsOf } from "../subjects.ts";
import type { WindowPlan } from "./windows.ts";

export interface NamedValuesOptions {
  readonly ruleSet: Pick<RuleSet, "values">;
  /** The windows of subjects that have none yet. */
  readonly windows: WindowPlan;
  /** The node that owns a path as seen from this subject: itself, an ancestor, or a market by name. */
  readonly owner: (
    node: SubjectNode,
    path: WindowPath & { readonly kind: "field" },
  ) => SubjectNode | undefined;
}

const none: Readonly<Record<string, number>> = {};

/** A value attached to a subject, with the windows that it reads there. */
interface Attached {
  readonly value: NamedValue;
  readonly windows: readonly Window[];
}

/** The name of a value among the facts and the series of its subject. */
export function fieldOf(value: Pick<NamedValue, "name">): string {
  return `value.${value.name}`;
}

export class NamedValues {
  readonly #options: NamedValuesOptions;
  readonly #byScope = new Map<Scope, readonly NamedValue[]>();
  readonly #specs = new Map<Scope, readonly WindowSpec[]>();
  readonly #attached = new WeakMap<SubjectNode, readonly Attached[]>();

  constructor(options: NamedValuesOptions) {
    this.#options = options;
    for (const value of options.ruleSet.values) {
      this.#byScope.set(value.scope, [...(this.#byScope.get(value.scope) ?? []), value]);
      for (const spec of value.windows) {
        if (spec.path.kind !== "field") continue;
        this.#specs.set(spec.path.scope, [...(this.#specs.get(spec.path.scope) ?? []), spec]);
      }
    }
  }

  /** Creates the windows that values need of this subject's series, before its history is fed to them. */
  prepare(node: SubjectNode): void {
    const { subject } = node;
    for (const spec of this.#specs.get(subject.scope) ?? []) {
      const symbol = spec.path.kind === "field" ? spec.path.symbol : null;
      if (symbol !== null && subject.scope === "market" && symbol.toUpperCase() !== subject.symbol) continue;
      windowsOf(node, this.#options.windows).of(spec);
    }
  }

  /**
   * Computes the values of a subject from its present facts. Unknown values are left out.
   * @returns the values by their fact names
   */
  update(node: SubjectNode, nowMs: number): Readonly<Record<string, number>> {
    const values = this.#byScope.get(node.subject.scope);
    if (values === undefined) return none;
    const { env } = node;
    env.nowMs = nowMs;
    const known: Record<string, number> = {};
    for (const { value, windows } of this.#of(node, values)) {
      env.looked = windows;
      const result = value.value.run(env);
      const name = fieldOf(value);
      // Overwritten without a prior delete: V8 makes an object that loses properties permanently slow.
      if (typeof result === "number") known[name] = node.facts.values[name] = result;
      else delete node.facts.values[name];
    }
    return known;
  }

  #of(node: SubjectNode, values: readonly NamedValue[]): readonly Attached[] {
    const known = this.#attached.get(node);
    if (known !== undefined) return known;
    const made = values.map((value): Attached => {
      const windows = value.windows.map((spec) => {
        const owner = spec.path.kind === "field" ? this.#options.owner(node, spec.path) : undefined;
        return windowsOf(owner ?? node, this.#options.windows).of(spec);
      });
      return { value, windows };
    });
    this.#attached.set(node, made);
    return made;
  }
}
