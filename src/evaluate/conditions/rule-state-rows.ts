/** The states of conditions in history: those found at the start, until a subject claims them, and those that are written since. */

import { freshLevels } from "../../alerts/lifecycle.ts";
import type { LiveAlert } from "../../alerts/live-alert.ts";
import type { RuleRow, RuleState } from "../../domain/alert.ts";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { Instance } from "./instance.ts";

/** A state that a start found, with the alert that it has raised. */
export interface RestoredState {
  readonly state: RuleState;
  readonly alert: LiveAlert | null;
}

export class RuleStateRows {
  /** States found in history that no subject has claimed yet. */
  readonly #restored = new Map<string, RestoredState>();
  /**
   * Instances by the row of history that they own: a position that flipped or reopened takes over the row of the one before
   * it.
   */
  readonly #rows = new Map<string, Instance>();

  restore(state: RuleState, alert: LiveAlert | null): void {
    this.#restored.set(rowName(state), { state, alert });
  }

  /** True if no subject has taken this state up since the start. */
  unclaimed(state: RuleState): boolean {
    return this.#restored.has(rowName(state));
  }

  forget(state: RuleState): void {
    this.#restored.delete(rowName(state));
  }

  /** Hands over the state that a start found of an instance, whose row it is from then on; undefined: there is none. */
  claim(instance: Instance): RestoredState | undefined {
    const key = nameOf(instance);
    const found = this.#restored.get(key);
    if (!found) return undefined;
    this.#restored.delete(key);
    instance.stored = true;
    this.#rows.set(key, instance);
    return found;
  }

  /** Its row stays in history until it is released, whoever takes it over meanwhile. */
  leave(instance: Instance): void {
    if (instance.stored) this.#rows.delete(nameOf(instance));
  }

  released(row: RuleRow, builder: ChangesBuilder): void {
    if (!this.#rows.has(rowName(row))) builder.changes.ruleStatesGone.push(row);
  }

  /** @param changed something of it that is stored is another than it was */
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
