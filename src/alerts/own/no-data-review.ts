/** Compares the missing data with what a no-data alert reported, and changes the alert if they differ. */

import { severityRank } from "../../domain/alerts/alert.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Deadlines } from "../../domain/structures/deadlines.ts";
import type { AlertBook } from "../alert-book.ts";
import { noDataForMs } from "../patience.ts";
import type { ExchangeSilence } from "./exchange-silence.ts";
import { leastFreshMs } from "./missing-reads.ts";
import type { NoDataAlert } from "./no-data-alert.ts";
import { type Extents, ruleOf } from "./no-data-extent.ts";

export class NoDataReview {
  readonly #alerts: AlertBook;
  readonly #deadlines: Deadlines;
  readonly #extents: Extents;
  readonly #silence: ExchangeSilence;
  readonly #wallets: number;
  readonly #marketsMs: number;

  constructor(options: {
    alerts: AlertBook;
    deadlines: Deadlines;
    extents: Extents;
    silence: ExchangeSilence;
    /** The number of watched wallets. */
    wallets: number;
    /** The interval at which markets are read, ms. */
    marketsMs: number;
  }) {
    this.#alerts = options.alerts;
    this.#deadlines = options.deadlines;
    this.#extents = options.extents;
    this.#silence = options.silence;
    this.#wallets = options.wallets;
    this.#marketsMs = options.marketsMs;
  }

  /**
   * Compares the currently missing data with the reported data. A larger extent is reported at once if it raises the
   * severity, else at the next review; a smaller one after 30 s, and only if it lowers the severity.
   */
  look(noDataAlert: NoDataAlert, builder: ChangesBuilder, review = false): void {
    const nowMs = builder.atMs;
    if (!review && nowMs - noDataAlert.lookedMs < 1_000) return;
    noDataAlert.lookedMs = nowMs;
    const { live, lastReport } = noDataAlert;
    const extent = this.#extents.of(noDataAlert.state(), nowMs);
    const rise = severityRank[extent.severity] - severityRank[live.alert.severity];
    const silent = extent.silence !== null;
    const update = (kind: "rose" | "fell" | "worsened"): void => {
      live.alert = { ...live.alert, rule: ruleOf(extent) };
      this.#alerts.change(builder, live, kind, extent.severity, this.#extents.text(extent, nowMs));
      noDataAlert.reported(extent);
      noDataAlert.keep(builder);
    };
    // If nothing has been read for a while, a silence may be about to be reported.
    const silentFromMs = this.#silence.fromMs;
    const falling = nowMs > silentFromMs - noDataForMs;
    if (falling && !lastReport.silent && nowMs <= silentFromMs && silentFromMs + 1 < noDataAlert.dueMs)
      this.#deadlines.set(noDataAlert, silentFromMs + 1);
    const wider =
      !lastReport.silent &&
      !falling &&
      ((extent.wallets.length > lastReport.wallets &&
        (extent.wallets.length >= 1.5 * lastReport.wallets || extent.wallets.length === this.#wallets)) ||
        (extent.risky && !lastReport.risky));
    if (rise > 0) update("rose");
    else if (silent && !lastReport.silent) update("worsened");
    else if (review && wider && rise === 0) update("worsened");
    else if (rise < 0 || (lastReport.silent && !silent)) {
      noDataAlert.betterSinceMs ??= nowMs;
      // Single answers do not end a silence.
      const quiet = lastReport.silent && this.#silence.endedJustNow(nowMs);
      if (!review || quiet || nowMs - noDataAlert.betterSinceMs < noDataForMs) return;
      // Nothing has been answered for a while, again.
      const unansweredMs = this.#silence.unansweredMs(nowMs);
      if (unansweredMs > 2 * Math.max(leastFreshMs, this.#marketsMs)) return;
      if (rise < 0) update("fell");
      else {
        noDataAlert.narrowed(extent);
        noDataAlert.keep(builder);
      }
      return;
    }
    noDataAlert.betterSinceMs = null;
  }
}
