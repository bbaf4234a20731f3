/**
 * The firing alerts of each receiver's groups that were reported there: a message about one of them lists the others
 * that still fire.
 */
import {
  type AlertChange,
  type PresentAlert,
  type Severity,
  severityRank,
} from "../../domain/alerts/alert.ts";
import type { DeliveryItem, MessageContent } from "../../domain/alerts/delivery.ts";

interface Firing {
  readonly id: number;
  readonly severity: Severity;
  readonly summary: string;
  readonly textAtMs?: number;
  readonly gone?: true;
  readonly until?: string;
}

/** Maximum age at which an unchanged text counts as current, ms. */
const recentMs = 10_000;

/** Maximum alerts that a message lists. */
const maxListed = 10;

export class FiringLists {
  readonly #present: ((alertId: number) => PresentAlert | null) | null;
  /** By receiver and group. */
  readonly #groups = new Map<string, Map<number, Firing>>();
  /** The group in which each receiver was last notified of an alert: at another level it may be in another one. */
  readonly #places = new Map<number, Map<string, string>>();

  /**
   * @param present returns the current state of an alert; null if it no longer fires. Null: the last notified state is
   * used
   */
  constructor(present: ((alertId: number) => PresentAlert | null) | null = null) {
    this.#present = present;
  }

  note({ receiver, groupKey }: DeliveryItem, { alert, kind }: Pick<AlertChange, "alert" | "kind">): void {
    if (groupKey === null || alert.event) return;
    if (kind === "ended" || alert.state === "ended") {
      this.over(alert.id);
      return;
    }
    const { id, severity, summary } = alert;
    const places = this.#places.get(id) ?? new Map<string, string>();
    this.#places.set(id, places);
    const name = `${receiver}\n${groupKey}`;
    const before = places.get(receiver);
    if (before !== undefined && before !== name) this.#leave(before, id);
    places.set(receiver, name);
    const group = this.#groups.get(name) ?? new Map<number, Firing>();
    this.#groups.set(name, group.set(id, { id, severity, summary }));
  }

  /** Removes an alert that no longer fires, even if nobody is notified of its end. */
  over(alertId: number): void {
    for (const name of this.#places.get(alertId)?.values() ?? []) this.#leave(name, alertId);
    this.#places.delete(alertId);
  }

  #leave(name: string, alertId: number): void {
    const group = this.#groups.get(name);
    group?.delete(alertId);
    if (group?.size === 0) this.#groups.delete(name);
  }

  /**
   * Returns true for an alert whose condition is known not to hold any more: it ends unless the condition holds again.
   */
  isGone(alertId: number): boolean {
    return this.#present?.(alertId)?.gone === true;
  }

  /**
   * @returns the others of this message's group, the worst first, those whose condition no longer holds last; null if
   * there are none
   */
  beside(
    items: readonly { readonly item: DeliveryItem }[],
    nowMs: number,
  ): NonNullable<MessageContent["standing"]> | null {
    const { receiver, groupKey } = items[0]!.item;
    const group = groupKey === null ? undefined : this.#groups.get(`${receiver}\n${groupKey}`);
    if (!group) return null;
    const own = new Set(items.map(({ item }) => item.alertId));
    // Infos are not listed in messages about something else.
    const others = [...group.values()]
      .flatMap((one) => (own.has(one.id) ? [] : this.#asItStands(one, nowMs)))
      .filter(({ severity }) => severity !== "info");
    if (others.length === 0) return null;
    const rank = ({ gone, severity }: Firing) => (gone ? 0 : 1 + severityRank[severity]);
    others.sort((a, b) => rank(b) - rank(a) || a.id - b.id);
    return { alerts: others.slice(0, maxListed), more: Math.max(0, others.length - maxListed) };
  }

  #asItStands(one: Firing, nowMs: number): readonly Firing[] {
    if (this.#present === null) return [one];
    const present = this.#present(one.id);
    if (present === null) return [];
    const { severity, summary, textAtMs, gone, until } = present;
    const age = nowMs - textAtMs > recentMs ? { textAtMs } : {};
    return [
      { id: one.id, severity, summary, ...age, ...(gone ? { gone } : {}), ...(until ? { until } : {}) },
    ];
  }
}
