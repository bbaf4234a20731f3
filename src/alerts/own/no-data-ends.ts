/** Ends no-data alerts: their texts, with the alerts that fire beside them. */

import { severityRank } from "../../domain/alerts/alert.ts";
import { noDataRule } from "../../domain/alerts/built-in.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { World } from "../../state/world.ts";
import type { AlertBook } from "../alert-book.ts";
import { firingAlert } from "../firing-alert.ts";
import type { AlertText } from "../live-alert.ts";
import type { NoDataAlert } from "./no-data-alert.ts";
import { endText } from "./no-data-extent.ts";
import { timeText } from "./no-data-text.ts";

/** Maximum age of a text that counts as current, ms. */
const recentMs = 10_000;

export class NoDataEnds {
  readonly #alerts: AlertBook;
  readonly #world: World;
  readonly #timezone: string;
  /** Alerts that ended in the current observation, with the wallets of which data is still missing. */
  readonly #ended: { readonly noDataAlert: NoDataAlert; readonly others: readonly string[] }[] = [];

  /** @param timezone of times in texts */
  constructor(alerts: AlertBook, world: World, timezone: string) {
    this.#alerts = alerts;
    this.#world = world;
    this.#timezone = timezone;
  }

  /** Ends an alert. @param others the wallets of which data is still missing */
  end(noDataAlert: NoDataAlert, others: readonly string[], builder: ChangesBuilder): void {
    const firing = this.#firingBeside(noDataAlert, builder.atMs);
    const text = this.#text(noDataAlert, others, firing, builder.atMs);
    const stands = others.length > 0 ? "noData" : firing.length > 0 ? "firing" : undefined;
    this.#alerts.end(builder, noDataAlert.live, "recovered", text, null, stands);
    if (firing.length > 0) this.#ended.push({ noDataAlert, others });
  }

  /**
   * All rules were judged by the observation: an end during an answer lists the firing alerts once the whole answer was
   * taken.
   */
  judged(builder: ChangesBuilder): void {
    for (const { noDataAlert, others } of this.#ended.splice(0)) {
      const { alertChanges } = builder.changes;
      const at = alertChanges.findLastIndex(
        ({ kind, alertId }) => kind === "ended" && alertId === noDataAlert.live.alert.id,
      );
      if (at < 0) continue;
      const firing = this.#firingBeside(noDataAlert, builder.atMs);
      const { details = [] } = this.#text(noDataAlert, others, firing, builder.atMs);
      alertChanges[at] = { ...alertChanges[at]!, details };
    }
  }

  #text(
    noDataAlert: NoDataAlert,
    others: readonly string[],
    firing: readonly string[],
    nowMs: number,
  ): AlertText {
    const world = this.#world;
    const unread = noDataAlert.unread((source, wallet) => world.lastSeenMs(source, wallet));
    return endText(noDataAlert, unread, others, firing, nowMs, this.#timezone);
  }

  /**
   * Returns the firing alerts, held ones included, of its listed wallets, or of all if it lists none, in words, the
   * worst first.
   */
  #firingBeside({ wallets, live: own }: NoDataAlert, nowMs: number): string[] {
    const firing = [...this.#alerts.live.values()].filter((live) => {
      const { alert } = live;
      if (alert === own.alert || alert.shadow || alert.rule === noDataRule || alert.wallet === null)
        return false;
      return (wallets.size === 0 || wallets.has(alert.wallet)) && !live.isGone(nowMs);
    });
    return firing
      .sort(
        (a, b) => severityRank[b.alert.severity] - severityRank[a.alert.severity] || a.alert.id - b.alert.id,
      )
      .map((one) => {
        const { id, severity, summary, textAtMs } = firingAlert(one, nowMs);
        const asOf =
          nowMs - textAtMs > recentMs ? `, as of ${timeText(textAtMs, nowMs, this.#timezone)}` : "";
        return `${severity}: ${summary}${asOf} (#${id})`;
      });
  }
}
