/**
 * Reports values that the daemon keeps over restarts and could not read at this start, and removes them in the same commit. What they
 * held is lost: a silence no longer silences, a held notification is not sent.
 */
import type { BuiltInRule } from "../../domain/alerts/built-in.ts";
import type { Observation } from "../../domain/observation.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { DamagedValue } from "../../domain/stored/kept.ts";
import type { AlertBook } from "../alert-book.ts";
import { newAlert, type Over, type OwnAlert } from "./own-alert.ts";

const damagedRule = "StateDamaged" satisfies BuiltInRule;
const maxListed = 10;

export class DamagedState implements OwnAlert {
  readonly observes = ["started"] as const;
  readonly raises = [damagedRule] as const;
  readonly #alerts: AlertBook;
  #damaged: readonly DamagedValue[];

  /** @param damaged those of this start */
  constructor(alerts: AlertBook, damaged: readonly DamagedValue[]) {
    this.#alerts = alerts;
    this.#damaged = damaged;
  }

  observe(seen: Observation, builder: ChangesBuilder): void {
    const damaged = this.#damaged;
    if (seen.kind !== "started" || damaged.length === 0) return;
    this.#damaged = [];
    for (const { name } of damaged) builder.changes.keep.push({ name, value: null });
    const notifies = damaged.some((one) => one.notifies);
    const count = damaged.length === 1 ? "1 stored value" : `${damaged.length} stored values`;
    const listed = damaged.slice(0, maxListed).map(({ name, meaning }) => `${meaning} (${name})`);
    if (damaged.length > maxListed) listed.push(`${damaged.length - maxListed} more, which the log names`);
    this.#alerts.recordEvent(
      builder,
      newAlert(builder.atMs, {
        rule: damagedRule,
        severity: notifies ? "critical" : "warning",
        summary: `${count} could not be read at the start and ${damaged.length === 1 ? "was" : "were"} removed`,
        description: notifies
          ? "A notification may be lost: look at `perpwatch alerts` and at the positions. The log states what is wrong with each value."
          : "Set silences again if they are among them; the rest is computed anew. The log states what is wrong with each value.",
        details: [["Removed", listed.join("; ")]],
      }),
      `${damagedRule}:${builder.atMs}`,
      null,
      true,
    );
  }

  /** Its alerts end at once. */
  restore(): Over {
    return { ending: "ruleChanged" };
  }
}
