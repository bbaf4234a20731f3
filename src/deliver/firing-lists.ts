/**
 * The firing alerts of each receiver's groups as far as it was told there: a message about one of them says which others
 * still do.
 */
import { type AlertChange, type PresentAlert, type Severity, severityRank } from "../domain/alert.ts";
import type { MessageContent, OwedItem } from "../domain/delivery.ts";

interface Firing {
  readonly id: number;
  readonly severity: Severity;
  readonly summary: string;
  readonly textAtMs?: number;
  readonly gone?: true;
  readonly until?: string;
}

/** The same text as before a while ago is that of now, ms. */
const recentMs = 10_000;

/** Most that a message lists. */
const maxListed = 10;

export class FiringLists {
  readonly #present: ((alertId: number) => PresentAlert | null) | null;
  /** By receiver and group. */
  readonly #groups = new Map<string, Map<number, Firing>>();
  /** In which group each receiver was told of an alert last: at another level it may be in another one. */
  readonly #places = new Map<number, Map<string, string>>();

  /** @param present an alert as it stands; its own answer is null where it fires no longer. Null: as was notified last */
  constructor(present: ((alertId: number) => PresentAlert | null) | null = null) {
    this.#present = present;
  }

  note({ receiver, groupKey }: OwedItem, { alert, kind }: Pick<AlertChange, "alert" | "kind">): void {
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

  /** It fires no longer, whether or not anybody is owed word of that. */
  over(alertId: number): void {
    for (const name of this.#places.get(alertId)?.values() ?? []) this.#leave(name, alertId);
    this.#places.delete(alertId);
  }

  #leave(name: string, alertId: number): void {
    const group = this.#groups.get(name);
    group?.delete(alertId);
    if (group?.size === 0) this.#groups.delete(name);
  }

  /** True of an alert whose condition is known not to hold any more: it ends unless that returns. */
  isGone(alertId: number): boolean {
    return this.#present?.(alertId)?.gone === true;
  }

  /** @returns the others of this message's group, the worst first, those whose condition no longer holds last; null where there are none */
  beside(
    told: readonly { readonly item: OwedItem }[],
    nowMs: number,
  ): NonNullable<MessageContent["standing"]> | null {
    const { receiver, groupKey } = told[0]!.item;
    const group = groupKey === null ? undefined : this.#groups.get(`${receiver}\n${groupKey}`);
    if (!group) return null;
    const own = new Set(told.map(({ item }) => item.alertId));
    // Infos are for whoever looks, not for whoever is told of something else.
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
