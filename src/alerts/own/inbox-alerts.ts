/** Differences between the exchange's inbox and what is known here that an audit after the next still finds. */
import type { BuiltInRule } from "../../domain/built-in.ts";
import type { Draft } from "../../domain/draft.ts";
import { differenceWords } from "../../domain/inbox.ts";
import type { Observation } from "../../domain/observation.ts";
import type { AlertBook, LiveAlert } from "../alert-book.ts";

export const inboxRule = "InboxDiffers" satisfies BuiltInRule;

const mostNamed = 5;

export class InboxAlerts {
  readonly #alerts: AlertBook;
  readonly #live = new Map<string, LiveAlert>();

  constructor(alerts: AlertBook) {
    this.#alerts = alerts;
  }

  restore(live: LiveAlert): void {
    if (live.alert.wallet !== null) this.#live.set(live.alert.wallet, live);
  }

  take(seen: Observation & { readonly kind: "inboxAudited" }, draft: Draft): void {
    const { wallet, differences, lasting } = seen;
    const known = this.#live.get(wallet);
    if (known && differences === 0) {
      this.#live.delete(wallet);
      this.#alerts.end(draft, known, "recovered", {
        summary: `${wallet}: the exchange's inbox and what is known here agree again`,
        description: "",
        value: null,
        dataAtMs: draft.atMs,
        details: [],
      });
    }
    if (known || lasting.length === 0) return;
    const shown = lasting.slice(0, mostNamed).map(({ kind, key }) => `${key}: ${differenceWords[kind]}`);
    const more = lasting.length - shown.length;
    const live = this.#alerts.fire(draft, {
      rule: inboxRule,
      subject: wallet,
      wallet,
      symbol: null,
      labels: {},
      severity: "warning",
      sinceMs: draft.atMs,
      alreadySo: false,
      runbook: null,
      happenedMs: null,
      summary: `${wallet}: the exchange's inbox differs from what is known here, in ${lasting.length} notifications`,
      description: `Two audits in a row found it: ${shown.join("; ")}${more > 0 ? `; ${more} more` : ""}. notifications audit lists all of it.`,
      value: null,
      dataAtMs: draft.atMs,
      details: [["Notifications", String(lasting.length)]],
    });
    this.#live.set(wallet, live);
  }
}
