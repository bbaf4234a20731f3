/** The firing no-data alerts: opens them, finds them by listed data, and keeps their texts current. */

import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Deadlines } from "../../domain/structures/deadlines.ts";
import type { World } from "../../state/world.ts";
import type { AlertBook } from "../alert-book.ts";
import { noDataForMs } from "../patience.ts";
import type { Gap } from "./gaps.ts";
import { NoDataAlert } from "./no-data-alert.ts";
import { commonLabels, type Extents, ruleOf } from "./no-data-extent.ts";

export class FiringNoDataAlerts {
  readonly #alerts: AlertBook;
  readonly #deadlines: Deadlines;
  readonly #world: World;
  readonly #extents: Extents;
  readonly #onReview: (noDataAlert: NoDataAlert) => void;
  readonly #all = new Set<NoDataAlert>();

  /** @param onReview called when a firing alert is to be reviewed again */
  constructor(
    parts: { alerts: AlertBook; deadlines: Deadlines; world: World; extents: Extents },
    onReview: (noDataAlert: NoDataAlert) => void,
  ) {
    this.#alerts = parts.alerts;
    this.#deadlines = parts.deadlines;
    this.#world = parts.world;
    this.#extents = parts.extents;
    this.#onReview = onReview;
  }

  get all(): ReadonlySet<NoDataAlert> {
    return this.#all;
  }

  /** Removes an ended alert. */
  delete(noDataAlert: NoDataAlert): void {
    this.#all.delete(noDataAlert);
  }

  listing(key: string): NoDataAlert | undefined {
    for (const noDataAlert of this.#all) if (noDataAlert.lists(key)) return noDataAlert;
    return undefined;
  }

  find(wallet: string | null): NoDataAlert | undefined {
    for (const noDataAlert of this.#all) if (noDataAlert.wallet === wallet) return noDataAlert;
    return undefined;
  }

  open(wallet: string | null, gaps: readonly Gap[], builder: ChangesBuilder): NoDataAlert {
    const nowMs = builder.atMs;
    const wasNear = new Set([...this.#all].flatMap((one) => [...one.state().wasNear]));
    const extent = this.#extents.of({ gaps, awaited: [], unreadSeverity: "critical", wasNear }, nowMs);
    const labels = commonLabels(wallet === null ? extent.wallets : [wallet], this.#world);
    const live = this.#alerts.fire(builder, {
      ...this.#extents.text(extent, nowMs),
      rule: ruleOf(extent),
      subject: wallet ?? "exchange",
      wallet,
      symbol: null,
      labels: { ...labels, source: extent.missing[0]?.source ?? gaps[0]!.source },
      severity: extent.severity,
      sinceMs: extent.sinceMs,
      alreadySo: false,
      runbook: null,
      happenedMs: null,
    });
    const noDataAlert = new NoDataAlert(wallet, live);
    for (const gap of gaps) noDataAlert.add(gap);
    noDataAlert.reported(extent);
    this.add(noDataAlert);
    noDataAlert.keep(builder);
    this.#deadlines.set(noDataAlert, nowMs + noDataForMs);
    return noDataAlert;
  }

  /** Keeps the text of an alert current, and schedules its reviews. */
  add(noDataAlert: NoDataAlert): void {
    this.#all.add(noDataAlert);
    // It needs no reminder while it waits for data that was read a moment ago.
    noDataAlert.live.isGone = (nowMs) =>
      this.#all.has(noDataAlert) && noDataAlert.live.textNow(nowMs) === null;
    noDataAlert.live.textNow = (nowMs) => {
      if (!this.#all.has(noDataAlert)) return null;
      const extent = this.#extents.of(noDataAlert.state(), nowMs);
      return extent.missing.length > 0 ? this.#extents.text(extent, nowMs) : null;
    };
    // The next review reports only what the reminder did not state.
    noDataAlert.live.onRenewed = (nowMs) =>
      noDataAlert.reported(this.#extents.of(noDataAlert.state(), nowMs));
    noDataAlert.onReview = () => {
      if (this.#all.has(noDataAlert)) this.#onReview(noDataAlert);
    };
  }
}
