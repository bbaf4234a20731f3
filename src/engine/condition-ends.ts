/** Ends the alerts of conditions by the state of the account: recovered, closed, flipped, or taken by the exchange. */
import type { AlertBook } from "../alerts/alert-book.ts";
import type { Endings } from "../alerts/endings/endings.ts";
import type { LiveAlert } from "../alerts/live-alert.ts";
import { endingPatienceMs } from "../alerts/patience.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import { accountName } from "../domain/subject.ts";
import { explainedText } from "../evaluate/conditions/both-ends.ts";
import type { Recovered } from "../evaluate/conditions/condition-alerts.ts";
import type { Instance } from "../evaluate/conditions/instance.ts";
import { judgedAs } from "../evaluate/conditions/instance.ts";
import type { AccountEntry } from "../state/accounts/account-entry.ts";
import { extentOf, type Holdings } from "../state/accounts/holdings.ts";
import type { SubjectNode } from "../state/subjects.ts";
import type { World } from "../state/world.ts";
import type { Restoring } from "./restore.ts";

export interface ConditionEndsParts {
  readonly world: World;
  readonly alerts: AlertBook;
  readonly endings: Endings;
  readonly holdings: Holdings;
  readonly restoring: Restoring;
}

export class ConditionEnds {
  readonly #parts: ConditionEndsParts;

  constructor(parts: ConditionEndsParts) {
    this.#parts = parts;
  }

  /** Returns true if its account has just lost its last position to a liquidation. */
  emptied({ node: { subject }, heldSlot, heldEmptyMs }: Instance): boolean {
    if (subject.scope !== "trader") return false;
    const account = this.#parts.world.accounts.get(subject);
    if (account === undefined || account.positions.size > 0 || account.shrunkAtMs === 0) return false;
    // It held after that without a position, because of orders or a debt: anything liquidated since opened and closed
    // between readings.
    if (account.shrunkAtMs === heldEmptyMs) return false;
    return this.#parts.endings.liquidations.liquidatedSince(subject, account.shrunkAtMs, heldSlot);
  }

  /** Returns the slot for a currently holding condition of this subject (`Instance.heldSlot`). */
  heldSlotOf({ subject }: SubjectNode): number {
    if (subject.scope !== "trader" && subject.scope !== "position") return 0;
    const account = this.#parts.world.accounts.get(subject);
    // Its sizes are unchanged since then, so there was no liquidation in between. One in the slot of the first state
    // that shows these sizes may be later than that state, until a state of a later slot shows them too.
    // shows them may be from after it, until a state of a later slot shows them, too.
    return account === undefined ? 0 : Math.min(account.slot, account.sizesSlot + 1);
  }

  /** Returns the value for `Instance.heldEmptyMs`, likewise. */
  heldEmptyMsOf({ subject }: SubjectNode): number | null {
    const account = subject.scope === "trader" ? this.#parts.world.accounts.get(subject) : undefined;
    return account === undefined || account.positions.size > 0 ? null : account.shrunkAtMs;
  }

  /** Ends the alert of a position that another position of the same market has replaced. */
  replaced({ node }: Instance, live: LiveAlert, incarnation: string, into: ChangesBuilder): void {
    const { subject } = node;
    if (subject.scope !== "position") this.#parts.alerts.end(into, live, "closed", null);
    else {
      this.#parts.endings.end(into, {
        live,
        row: null,
        account: subject,
        symbol: subject.symbol,
        fallback: incarnation.split(" ")[0] === node.incarnation.split(" ")[0] ? "closed" : "flipped",
        text: null,
        fromMs: live.alert.sinceMs,
        fromSlot: this.#parts.holdings.slotBefore(
          accountName(subject),
          this.#parts.world.accounts.get(subject),
        ),
        goneSlot: this.#parts.world.accounts.slotOf(subject.wallet, subject.pdaIndex) || undefined,
        ...this.#parts.holdings.extentBefore(subject, subject.symbol, incarnation, this.#parts.world),
        another: true,
        suspicious: true,
      });
    }
  }

  /** Ends an alert whose condition no longer holds. */
  recovered(
    instance: Instance,
    live: LiveAlert,
    { text, textAt, explained }: Recovered,
    into: ChangesBuilder,
  ): void {
    const subject = instance.node.subject;
    if (explained !== null) {
      const summary = `${instance.node.name}: ${explainedText(explained.usd)}`;
      this.#parts.alerts.end(into, live, "explained", { ...text, summary });
      return;
    }
    if (subject.scope !== "position" && subject.scope !== "trader") {
      this.#parts.alerts.end(into, live, "recovered", text);
      return;
    }
    const account = this.#parts.world.accounts.get(subject);
    this.#parts.endings.end(into, {
      live,
      row: null,
      account: subject,
      symbol: subject.scope === "position" ? subject.symbol : null,
      fallback: "recovered",
      judgedAs: judgedAs(instance),
      text,
      textAt,
      fromMs: Math.max(live.alert.sinceMs, instance.heldAtMs ?? 0),
      fromSlot: instance.heldSlot,
      goneSlot: account?.slot || undefined,
      side: extentOf(instance.node).side,
      another: false,
      suspicious:
        account !== undefined &&
        into.atMs - account.shrunkAtMs < endingPatienceMs &&
        !heldSinceResized(account, instance.heldSlot),
    });
  }

  /** Takes back an alert whose recovery was not reported yet, for a condition that fires again; null: none. */
  takeBack(instance: Instance, into: ChangesBuilder): LiveAlert | null {
    const { rule, node } = instance;
    const { subject } = node;
    if (subject.scope !== "position" && subject.scope !== "trader") return null;
    const [row, as] = [{ rule: rule.name, subject: node.name }, judgedAs(instance)];
    return (
      this.#parts.endings.takeBack(row, as, into) ?? this.#parts.restoring.takeBack(row, subject, as, into)
    );
  }
}

/**
 * Returns true if a condition held by a state later than the first one with the present sizes of its account's
 * positions: no liquidation ended it. @param heldSlot slot of the last state by which it held
 */
function heldSinceResized({ sizesSlot }: AccountEntry, heldSlot: number): boolean {
  return sizesSlot > 0 && heldSlot > sizesSlot;
}
