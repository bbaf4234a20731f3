/**
 * What fires in each receiver's groups as far as it was told there: a message about one of them says which others still do.
 */
import { type AlertChange, type Severity, severityRank } from "../domain/alert.ts";
import type { MessageContent, OwedItem } from "../domain/delivery.ts";

interface Firing {
  readonly id: number;
  readonly severity: Severity;
  readonly summary: string;
}

/** Most that a message lists. */
const mostListed = 10;

export class Standing {
  readonly #groups = new Map<string, Map<number, Firing>>();

  note({ receiver, groupKey }: OwedItem, { alert, kind }: Pick<AlertChange, "alert" | "kind">): void {
    if (groupKey === null || alert.event) return;
    const name = `${receiver}\n${groupKey}`;
    const group = this.#groups.get(name);
    if (kind === "ended" || alert.state === "ended") {
      group?.delete(alert.id);
      if (group?.size === 0) this.#groups.delete(name);
      return;
    }
    const firing = { id: alert.id, severity: alert.severity, summary: alert.summary };
    if (group) group.set(alert.id, firing);
    else this.#groups.set(name, new Map([[alert.id, firing]]));
  }

  /** @returns the others of this message's group, the worst first; null where there are none */
  beside(told: readonly { readonly item: OwedItem }[]): NonNullable<MessageContent["standing"]> | null {
    const { receiver, groupKey } = told[0]!.item;
    const group = groupKey === null ? undefined : this.#groups.get(`${receiver}\n${groupKey}`);
    if (!group) return null;
    const own = new Set(told.map(({ item }) => item.alertId));
    // Infos are for whoever looks, not for whoever is told of something else.
    const others = [...group.values()].filter(({ id, severity }) => severity !== "info" && !own.has(id));
    if (others.length === 0) return null;
    others.sort((a, b) => severityRank[b.severity] - severityRank[a.severity] || a.id - b.id);
    return { alerts: others.slice(0, mostListed), more: Math.max(0, others.length - mostListed) };
  }
}
