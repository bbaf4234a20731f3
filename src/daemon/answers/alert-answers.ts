/** Answers questions about alerts from history and from what is known of them now, and acknowledges them. */
import { type Alert, type AlertChange, isOfSeverity, severityRank } from "../../domain/alerts/alert.ts";
import type { ChartSeries } from "../../domain/alerts/chart.ts";
import type { Clock } from "../../domain/clock.ts";
import type { AlertQuery, AlertStory } from "../../domain/ports.ts";
import type { History } from "../../history/index.ts";
import type { IngestLoop } from "../../ingest/loop.ts";
import { chartSeries } from "../chart-series.ts";
import { alertStory } from "./alert-story.ts";

/** Alerts looked through when a query narrows by what the store has no index for. */
const searchedAlerts = 10_000;

export interface AlertAnswersParts {
  readonly store: History;
  readonly ingest: IngestLoop;
  readonly clock: Clock;
}

export class AlertAnswers {
  readonly #parts: AlertAnswersParts;
  /** By alert: resolves when its acknowledgement is recorded, or was not. */
  readonly #acknowledging = new Map<number, Promise<void>>();

  constructor(parts: AlertAnswersParts) {
    this.#parts = parts;
  }

  async alerts(query: AlertQuery): Promise<readonly Alert[]> {
    const narrow = query.rule !== undefined || query.wallet !== undefined || query.severity !== undefined;
    const found = await this.#parts.store.alerts({
      shadow: query.shadow ?? false,
      ...(query.state === undefined ? {} : { state: query.state }),
      limit: narrow ? searchedAlerts : query.limit,
    });
    return this.#asTheyAre(found)
      .filter((alert) => query.rule === undefined || alert.rule === query.rule)
      .filter((alert) => query.wallet === undefined || alert.wallet === query.wallet)
      .filter(
        (alert) =>
          query.severity === undefined || isOfSeverity(alert, query.severity, query.state === "firing"),
      )
      .slice(0, query.limit);
  }

  async alert(id: number): Promise<AlertStory | null> {
    const story = await alertStory(this.#parts.store, id);
    return story && { ...story, alert: this.#asTheyAre([story.alert])[0]! };
  }

  async chart(alertId: number): Promise<ChartSeries | null> {
    const { store, clock, ingest } = this.#parts;
    const [alert] = await store.alerts({ ids: [alertId] });
    if (!alert) return null;
    return chartSeries(this.#asTheyAre([alert])[0]!, ingest.watch.ruleSet, store, clock.nowMs());
  }

  /** History has alerts as they were last told of; those that fire say what is known of them now, and of when that is. */
  #asTheyAre(alerts: readonly Alert[]): readonly Alert[] {
    if (!alerts.some(({ state }) => state === "firing")) return alerts;
    const { clock, ingest } = this.#parts;
    const now = ingest.watch.status(clock.nowMs());
    const firing = new Map([...now.firing, ...now.shadow].map((alert) => [alert.id, alert]));
    return alerts.map((alert) => (alert.state === "firing" ? (firing.get(alert.id) ?? alert) : alert));
  }

  async shownIn(messageId: string, revision: number): Promise<readonly AlertChange[] | null> {
    const { store } = this.#parts;
    const [message] = await store.messages({ ids: [messageId] });
    if (message === undefined) return null;
    const { receiver, sealedAtMs, content } = message;
    const id = content.incident?.id;
    const all = id === undefined ? [] : await store.messages({ incident: id });
    const own = all.filter((one) => one.receiver === receiver);
    const [first] = own.filter(({ content: { quiet } }) => quiet !== true);
    // Later changes of an incident are edited into its first message.
    const shown = first?.id === message.id ? own.filter((one) => one.sealedAtMs >= sealedAtMs) : [message];
    const newest = new Map<number, AlertChange>();
    for (const { change } of shown.flatMap((one) => one.content.items))
      if (change.id <= revision && change.id >= (newest.get(change.alertId)?.id ?? 0))
        newest.set(change.alertId, change);
    return [...newest.values()].filter(({ kind }) => kind !== "ended");
  }

  /** One at a time for each alert: of several who press at the same moment the first acknowledges it. */
  acknowledgeAlert(id: number, by: string, comment: string, changeId?: number) {
    const before = this.#acknowledging.get(id) ?? Promise.resolve();
    const done = before.then(() => this.#acknowledge(id, by, comment, changeId));
    const settled: Promise<void> = done
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        if (this.#acknowledging.get(id) === settled) this.#acknowledging.delete(id);
      });
    this.#acknowledging.set(id, settled);
    return done;
  }

  async #acknowledge(id: number, by: string, comment: string, changeId?: number) {
    const { store, ingest, clock } = this.#parts;
    const [alert] = await store.alerts({ ids: [id] });
    if (!alert) return "unknown" as const;
    if (alert.acknowledgedAtMs !== null) return "already" as const;
    if (alert.state === "ended" && !alert.event) return "ended" as const;
    const [change] = changeId === undefined ? [] : await store.alertChanges({ ids: [changeId] });
    const seen = change?.alertId === id && !alert.event ? change.alert : undefined;
    if (seen && severityRank[alert.severity] > severityRank[seen.severity]) return "rose" as const;
    const shown = seen && { shown: { severity: seen.severity, value: seen.value } };
    await ingest.observe({ kind: "acknowledged", atMs: clock.nowMs(), alert, by, comment, ...shown });
    return "done" as const;
  }
}
