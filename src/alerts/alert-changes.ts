/** Makes alerts and their changes, numbered, and adds them to the changes of the tick. */

import type { Advice, Alert, AlertChange, AlertChangeKind } from "../domain/alerts/alert.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import type { AlertText, LiveAlert, NewAlert } from "./live-alert.ts";
import {
  knowsBothSides,
  notifiedWith,
  quietIfAcknowledged,
  type RemindSettings,
} from "./reminders/remind.ts";

export interface AlertIds {
  alert: number;
  change: number;
  item: number;
}

export interface AlertChangesOptions {
  readonly ids: AlertIds;
  readonly remind: RemindSettings;
  /** Lines of advice about an alert that fires. */
  readonly advise: (alert: Alert, nowMs: number) => readonly Advice[];
}

export class AlertChanges {
  readonly #ids: AlertIds;
  readonly #remind: RemindSettings;
  readonly #advise: AlertChangesOptions["advise"];
  readonly #live: ReadonlyMap<number, LiveAlert>;

  /** @param live the alerts that fire, by their numbers */
  constructor({ ids, remind, advise }: AlertChangesOptions, live: ReadonlyMap<number, LiveAlert>) {
    this.#ids = ids;
    this.#remind = remind;
    this.#advise = advise;
    this.#live = live;
  }

  alert(atMs: number, from: NewAlert, event: boolean, eventKey: string | null): Alert {
    return {
      id: ++this.#ids.alert,
      rule: from.rule,
      subject: from.subject,
      wallet: from.wallet,
      symbol: from.symbol,
      labels: from.labels,
      severity: from.severity,
      state: event ? "ended" : "firing",
      event,
      sinceMs: from.sinceMs,
      firedAtMs: atMs,
      endedAtMs: event ? atMs : null,
      ending: null,
      alreadySo: from.alreadySo,
      summary: from.summary,
      description: from.description,
      runbook: from.runbook,
      value: from.value,
      dataAtMs: from.dataAtMs,
      acknowledgedBy: null,
      acknowledgedAtMs: null,
      ...(from.shadow ? { shadow: true } : {}),
      ...(from.drill ? { drill: true as const } : {}),
      eventKey,
      ...(from.eventType === undefined ? {} : { eventType: from.eventType }),
    };
  }

  change(
    builder: ChangesBuilder,
    alert: Alert,
    kind: AlertChangeKind,
    {
      details,
      facts,
      isStale,
      covered = alert.value,
    }: Pick<AlertText, "details" | "facts"> & {
      readonly isStale?: boolean;
      /** The value that an acknowledgement covers. Default: the alert's. */
      readonly covered?: number | null;
    },
    happenedMs: number | null,
    stands?: AlertChange["stands"],
  ): AlertChange {
    // Values of the daemon and of the exchange as a whole are not compared: they grow by themselves.
    const isCompared = alert.value !== null && alert.subject !== "daemon" && alert.subject !== "exchange";
    const compared = isCompared ? (this.#live.get(alert.id)?.comparison(alert.severity) ?? "worse") : null;
    const live = alert.state === "firing" ? this.#live.get(alert.id) : undefined;
    const isEither = compared === "either" && knowsBothSides(notifiedWith(alert.value, live?.notified));
    const words = live?.limit(alert.severity, covered);
    const quiet =
      alert.state === "firing" && !alert.shadow
        ? quietIfAcknowledged(
            alert.severity,
            isEither ? "worse" : compared,
            this.#remind,
            // If both sides were notified, a value further from 0 is worse, by the amount it moved.
            isEither ? undefined : words?.worse(this.#remind.worseBy),
            words?.value,
          )
        : undefined;
    const limit = live?.limit(alert.severity, alert.value)?.text;
    const isAdvised = alert.state === "firing" && !alert.shadow && !isStale;
    const advice = isAdvised && !this.#live.get(alert.id)?.held ? this.#advise(alert, builder.atMs) : [];
    const change: AlertChange = {
      id: ++this.#ids.change,
      alertId: alert.id,
      kind,
      atMs: builder.atMs,
      alert,
      ...(limit ? { limit } : {}),
      details,
      ...(advice.length === 0 ? {} : { advice }),
      ...(facts === undefined ? {} : { facts }),
      happenedMs,
      ...(stands === undefined ? {} : { stands }),
      ...(quiet === undefined ? {} : { quietIfAcknowledged: quiet }),
      ...(isStale ? { past: true as const } : {}),
    };
    builder.changes.alerts.push(alert);
    builder.changes.alertChanges.push(change);
    return change;
  }
}
