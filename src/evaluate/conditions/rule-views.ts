/** The windows that rules read at subjects. */

import type { Scope } from "../../domain/subject.ts";
import type { ConditionRule, RuleSet, Window, WindowPath, WindowSpec } from "../../rules/index.ts";
import { isProfit } from "../../state/needs.ts";
import { noWindows, type SubjectNode, windowsOf } from "../../state/subjects.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { WindowPlan } from "../../state/windows/windows.ts";
import { applies } from "../selection.ts";
import { PresentWindow } from "./present-window.ts";

export interface ViewOptions {
  readonly ruleSet: RuleSet;
  /** The windows of subjects that have none yet. */
  readonly windows: WindowPlan;
  readonly wallet: (name: string) => WatchedWallet | undefined;
  /** The node that owns a path in a rule of this subject: itself, an ancestor, or a market by name. */
  readonly owner: (
    node: SubjectNode,
    path: WindowPath & { readonly kind: "field" },
  ) => SubjectNode | undefined;
}

export class RuleViews {
  readonly #options: ViewOptions;
  /** Windows over the series of each scope, for rules of any subject. */
  readonly #series = new Map<Scope, { readonly rule: ConditionRule; readonly spec: WindowSpec }[]>();

  constructor(options: ViewOptions) {
    this.#options = options;
    for (const rule of options.ruleSet.conditions)
      for (const spec of rule.windows) {
        if (spec.path.kind !== "field" || spec.path.scope === rule.scope) continue;
        const { scope } = spec.path;
        this.#series.set(scope, [...(this.#series.get(scope) ?? []), { rule, spec }]);
      }
  }

  /** The windows that a rule reads at this subject. */
  of(rule: ConditionRule, node: SubjectNode): readonly Window[] {
    if (rule.windows.length === 0) return noWindows;
    return rule.windows.map((spec) => {
      const { path } = spec;
      const owner = path.kind === "event" ? node : (this.#options.owner(node, path) ?? node);
      const window = windowsOf(owner, this.#options.windows).of(spec);
      if (path.kind === "event" || !isProfit(path)) return window;
      return new PresentWindow(window, owner.facts, path.field, path.companion);
    });
  }

  /**
   * Creates the windows that other subjects will read at this one (a position at its market), before its history is fed to them:
   * those subjects appear later.
   */
  prepare(node: SubjectNode): void {
    const { subject } = node;
    for (const { rule, spec } of this.#series.get(subject.scope) ?? []) {
      const symbol = spec.path.kind === "field" ? spec.path.symbol : null;
      if (symbol !== null && subject.scope === "market" && symbol.toUpperCase() !== subject.symbol) continue;
      const { needsSession } = rule;
      const select = { ...rule.select, symbol: null };
      if ("wallet" in subject && !applies({ select, needsSession }, subject, this.#options.wallet)) continue;
      windowsOf(node, this.#options.windows).of(spec);
    }
  }
}
