/**
 * Announcements: one item of the exchange is in the inbox of every wallet, and each wallet acknowledges its own copy. A receiver
 * that was notified of a copy is not notified of the next wallet's copy; that copy then counts as handled by the alerts of the
 * earlier ones.
 */
import type { Alert } from "../../domain/alerts/alert.ts";
import type { AckWord } from "../../domain/alerts/delivery.ts";
import { announcementKey, type Event } from "../../domain/event.ts";
import type { Match } from "./held-events.ts";

interface Notified {
  readonly match: Match;
  readonly receivers: readonly string[];
}

const maxRemembered = 2_000;

export class Announcements {
  /** By rule and id of the announcement, newest last. */
  readonly #notified = new Map<string, readonly Notified[]>();

  /** Restores an alert from history. @param word acknowledgement setting of its rule */
  restore(alert: Alert, word: AckWord | null, receivers: () => readonly string[]): void {
    if (alert.shadow || !alert.eventKey?.startsWith(announcementKey)) return;
    const id = alert.eventKey.slice(alert.eventKey.lastIndexOf(":") + 1);
    this.#note(`${alert.rule}/${id}`, {
      match: { rule: alert.rule, alertId: alert.id, word },
      receivers: receivers(),
    });
  }

  note(event: Event, match: Match, receivers: readonly string[]): void {
    const id = idOf(event);
    if (id !== null) this.#note(`${match.rule}/${id}`, { match, receivers });
  }

  /** Alerts of this rule about the same announcement in the inboxes of other wallets; empty for other events. */
  earlier(rule: string, event: Event): readonly Notified[] {
    const id = idOf(event);
    return id === null ? [] : (this.#notified.get(`${rule}/${id}`) ?? []);
  }

  #note(key: string, notified: Notified): void {
    this.#notified.set(key, [...(this.#notified.get(key) ?? []), notified]);
    if (this.#notified.size <= maxRemembered) return;
    const oldest = this.#notified.keys().next().value;
    if (oldest !== undefined) this.#notified.delete(oldest);
  }
}

function idOf({ inbox }: Event): string | null {
  return inbox?.source === "admin" && "id" in inbox.item ? String(inbox.item.id) : null;
}
