/** The states of conditions in history: those read at the start, until a subject takes them, and those written since. */

import { freshLevels } from "../../alerts/lifecycle.ts";
import type { LiveAlert } from "../../alerts/live-alert.ts";
import type { RuleRow, RuleState } from "../../domain/alerts/alert.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Instance } from "./instance.ts";

/** A state read at the start, with the alert that it raised. */
export interface RestoredState {
  readonly state: RuleState;
  readonly alert: LiveAlert | null;
}

export class RuleStateRows {
  /** States from history that no subject has taken yet. */
  readonly #restored = new Map<string, RestoredState>();
  /**
   * Instances by their row of history. A position that flipped or reopened takes over the row of the previous one.
   */
  readonly #rows = new Map<string, Instance>();

  restore(state: RuleState, alert: LiveAlert | null): void {
    this.#restored.set(rowName(state), { state, alert });
  }

  /** True if no subject has taken this state since the start. */
  unclaimed(state: RuleState): boolean {
    return this.#restored.has(rowName(state));
  }

  forget(state: RuleState): void {
    this.#restored.delete(rowName(state));
  }

  /** Returns and removes the stored state of an instance, which owns the row from then on; undefined: none. */
  claim(instance: Instance): RestoredState | undefined {
    const key = nameOf(instance);
    const found = this.#restored.get(key);
    if (!found) return undefined;
    this.#restored.delete(key);
    instance.stored = true;
    this.#rows.set(key, instance);
    return found;
  }

  /** Keeps the row in history until it is released, even if another instance takes it over. */
  leave(instance: Instance): void {
    if (instance.stored) this.#rows.delete(nameOf(instance));
  }

  released(row: RuleRow, builder: ChangesBuilder): void {
    if (!this.#rows.has(rowName(row))) builder.changes.ruleStatesGone.push(row);
  }

  /** @param changed true if a stored part of it changed */
  store(instance: Instance, changed: boolean, builder: ChangesBuilder): void {
    const { lifecycle, rule, node } = instance;
    if (lifecycle.sinceMs === null) {
      this.drop(instance, builder);
      return;
    }
    if (!changed && instance.stored) return;
    if (!instance.stored) this.#rows.set(nameOf(instance), instance);
    instance.stored = true;
    builder.changes.ruleStates.push({
      rule: rule.name,
      subject: node.name,
      fingerprint: rule.fingerprint,
      incarnation: node.incarnation,
      levels: freshLevels(lifecycle),
      sinceMs: lifecycle.sinceMs,
      alertId: instance.alert?.alert.id ?? null,
      alreadySo: instance.alreadySo,
      ...(instance.heldSlot > 0 ? { heldSlot: instance.heldSlot } : {}),
      ...(instance.heldEmptyMs === null ? {} : { heldEmptyMs: instance.heldEmptyMs }),
      ...(instance.doubted ? { doubted: true } : {}),
      ...(instance.certain === null ? {} : { certain: instance.certain }),
      ...(Number.isFinite(instance.outlivedMs) ? { outlivedMs: instance.outlivedMs } : {}),
    });
  }

  drop(instance: Instance, builder: ChangesBuilder): void {
    if (!instance.stored) return;
    instance.stored = false;
    const row = { rule: instance.rule.name, subject: instance.node.name };
    this.#rows.delete(rowName(row));
    builder.changes.ruleStatesGone.push(row);
  }
}

function rowName({ rule, subject }: RuleRow): string {
  return `${rule}\n${subject}`;
}

function nameOf({ rule, node }: Instance): string {
  return rowName({ rule: rule.name, subject: node.name });
}
