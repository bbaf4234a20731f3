/**
 * The alerts that fire, each change in their lives, and who is owed word of it.
 *
 * A change is owed to the receivers that the routing names for the alert as it then stands; an ending or a fall to those
 * who were told before. What is held (inhibited) is recorded and owed when the hold ends, if it still stands.
 */

import {
  type Advice,
  type Alert,
  type AlertChange,
  type AlertChangeKind,
  type Ending,
  isTaking,
  type Severity,
  severityRank,
  worseOf,
  worstSeverityOf,
} from "../domain/alert.ts";
import { isBuiltIn } from "../domain/built-in.ts";
import type { ChangesBuilder } from "../domain/changes-builder.ts";
import type { Deadlines } from "../domain/deadlines.ts";
import { drillGroup } from "../domain/delivery.ts";
import type { KeptValues } from "../domain/kept.ts";
import type { Silence } from "../domain/silence.ts";
import { tierLine } from "./details.ts";
import { Dispatch, type Held, type Labelled, labelsOf, type Owed } from "./dispatch.ts";
import { Escalations } from "./escalations.ts";
import { Holds } from "./holds.ts";
import type { IncidentsOptions } from "./incidents/incidents.ts";
import type { Inhibitions } from "./inhibit.ts";
import { type AlertText, LiveAlert, type NewAlert, pick } from "./live-alert.ts";
import { covers, withoutAcknowledgement } from "./quiet.ts";
import {
  knowsBothSides,
  type Notified,
  nextReminderMs,
  notifiedWith,
  quietIfAcknowledged,
  type RemindSettings,
} from "./remind.ts";
import type { Routing } from "./route.ts";
import { withWorst } from "./worst.ts";

/** Changes after which the values that were notified before no longer count. */
export const beginsAnew: ReadonlySet<AlertChangeKind> = new Set(["fired", "rose", "fell", "acknowledged"]);

/** A reminder of a condition that does not hold is due again after this, ms: the alert ended by then, or it may hold again. */
const postponedMs = 10_000;

/** After a start what is due about an alert waits for its first judgement for so long, ms: not for long, as a daemon may be restarted again and again. */
const unjudgedForMs = 10_000;

/** A value that wavers between two sides of 0 that were told is told again after this, ms. */
const returnsAfterMs = 60_000;

export interface AlertIds {
  alert: number;
  change: number;
  owed: number;
}

export class AlertBook {
  readonly live = new Map<number, LiveAlert>();
  readonly ids: AlertIds;
  readonly #remind: RemindSettings;
  /** Those of the watch before a reload were the same. */
  readonly #remindsAlike: boolean;
  readonly #deadlines: Deadlines;
  readonly #holds: Holds;
  readonly #dispatch: Dispatch;
  readonly #escalations: Escalations;
  /** Events whose chains run: they are over, and only here until somebody settles them. */
  readonly #unsettled = new Map<number, Alert>();
  /** Alerts of before a reload, until they are taken over. */
  #former: ReadonlyMap<number, LiveAlert>;
  /** The changes builder of the tick that runs; reminders come due inside one. */
  #builder: () => ChangesBuilder;
  readonly #advise: (alert: Alert, nowMs: number) => readonly Advice[];

  constructor(options: {
    ids: AlertIds;
    routing: Routing;
    incidents: IncidentsOptions;
    inhibit: Inhibitions;
    remind: RemindSettings;
    timezone: string;
    deadlines: Deadlines;
    builder: () => ChangesBuilder;
    /** Lines of advice about an alert that fires. */
    advise: (alert: Alert, nowMs: number) => readonly Advice[];
    before?: AlertBook | undefined;
  }) {
    const { deadlines, builder, routing, inhibit, timezone, before } = options;
    this.#former = before?.live ?? new Map();
    this.#remindsAlike =
      before !== undefined && JSON.stringify(before.#remind) === JSON.stringify(options.remind);
    this.ids = options.ids;
    this.#remind = options.remind;
    this.#deadlines = deadlines;
    this.#builder = builder;
    this.#advise = options.advise;
    this.#holds = new Holds({
      ...{ routing, inhibit, timezone, deadlines, builder },
      firing: () => this.#firingLabels(),
      changed: () => this.#dispatch.reconsider(),
    });
    this.#dispatch = new Dispatch(
      {
        ...{ routing, builder, holds: this.#holds, incidents: options.incidents },
        nextId: () => ++this.ids.owed,
        alert: (id) => this.live.get(id)?.alert,
        isFresh: (id, nowMs) => {
          const live = this.live.get(id);
          return live !== undefined && (live.judgedAtMs === nowMs || live.textNow(nowMs) !== null);
        },
        waitsUntilMs: (id, nowMs) => {
          const live = this.live.get(id);
          return live === undefined || live.held ? null : this.#waitsUntilMs(live, nowMs);
        },
        tellNow: (id, receivers, into) => this.#tellNow(id, receivers, into),
      },
      before ? before.#dispatch : undefined,
    );
    this.#escalations = new Escalations(
      {
        ...{ deadlines, builder },
        waitsUntilMs: (id, nowMs) => {
          const live = this.live.get(id);
          return live === undefined ? null : this.#waitsUntilMs(live, nowMs);
        },
        escalate: (into, id, receivers, words) => this.#escalate(into, id, receivers, words),
        over: (id) => void this.#unsettled.delete(id),
      },
      before ? before.#escalations : undefined,
    );
  }

  /** Takes back from history what is held, what is silenced, and whose chains run. */
  recall(keep: KeptValues, alerts: readonly Alert[], nowMs: number): void {
    const running = new Set(Escalations.idsIn(keep));
    for (const alert of alerts)
      if (alert.event && running.has(alert.id)) this.#unsettled.set(alert.id, alert);
    this.#holds.restore(keep, nowMs);
    this.#dispatch.restore(keep);
    this.#escalations.restore(keep);
  }

  get silences(): readonly Silence[] {
    return this.#holds.silences;
  }

  /** The messages that wait because something holds them. */
  get heldBack(): readonly Held[] {
    return this.#dispatch.held;
  }

  /** The reasons that would hold a notification of an alert like this now, for people. */
  whyHeld(
    alert: Labelled & { readonly id: number; readonly severity: Severity },
    nowMs: number,
  ): readonly string[] {
    return this.#dispatch.whyHeld(alert, nowMs);
  }

  putSilence(silence: Silence, builder: ChangesBuilder): void {
    this.#holds.put(silence, builder);
  }

  /** Ends the takeover from the watch before a reload. */
  tookOver(): void {
    this.#former = new Map();
  }

  /** Takes an alert that fires back from history. */
  restore(
    alert: Alert,
    told: Iterable<readonly [string, Severity]>,
    lastTold: AlertChange | undefined,
    reminders: number,
    notified: Notified | null,
  ): LiveAlert {
    const except = this.#former.get(alert.id)?.except ?? aboutChannel(alert);
    const live = new LiveAlert(alert, told, except, this.#onReminder);
    live.toldAtMs = lastTold?.atMs ?? alert.firedAtMs;
    live.wordMs = live.toldAtMs;
    live.notified = notified;
    live.reminders = reminders;
    live.details = lastTold?.details ?? [];
    live.facts = lastTold?.facts;
    live.lasting = false;
    const former = this.#former.get(alert.id);
    if (former) {
      live.goOn(former);
      const { atMs } = this.#builder();
      if (live.waitsToMs > atMs && this.#dispatch.holds(alert.id)) this.#holds.wakeAt(live.waitsToMs, atMs);
    } else live.unjudged = !isBuiltIn(alert.rule);
    this.live.set(alert.id, live);
    if (!former) live.toldAtMs = Math.min(live.toldAtMs, ...this.#reported(live));
    // A reload changes no moment at which something is due, unless it changes reminders.
    const goesOn = former && !former.held && this.#remindsAlike && Number.isFinite(former.dueMs);
    if (goesOn) this.#deadlines.set(live, former.dueMs);
    else if (!live.held) this.#schedule(live, true);
    return live;
  }

  /** An alert of before a start or a standstill is judged, by data of `dataAtMs`: what waited for that is due. */
  judged(live: LiveAlert, dataAtMs: number): void {
    if (!live.unjudged || dataAtMs < live.stoodStillMs) return;
    live.unjudged = false;
    // Nothing waits.
    if (live.unjudgedUntilMs === null && !live.waitsAnew) return;
    live.waitsAnew = false;
    live.unjudgedUntilMs = null;
    live.waitsToMs = Number.NEGATIVE_INFINITY;
    if (!live.held) this.#schedule(live);
    const { atMs } = this.#builder();
    this.#escalations.hasten(live.alert.id);
    if (this.#dispatch.holds(live.alert.id)) this.#holds.wakeAt(atMs, atMs);
  }

  /**
   * The process stood still, and nothing could be judged meanwhile: what is due waits for that, as after a start. Until it is judged
   * a wait begins anew once: on a machine that stands still again and again nothing would ever be due.
   */
  noteStandstill(atMs: number): void {
    for (const live of this.live.values()) {
      if (live.waitsAnew) continue;
      live.waitsAnew = live.unjudgedUntilMs !== null;
      live.unjudged = !isBuiltIn(live.alert.rule);
      live.unjudgedUntilMs = null;
      live.stoodStillMs = atMs;
    }
  }

  /**
   * The time until which what is due about an alert waits, ms: for its first judgement after a start, or, where its level no longer
   * holds, for its fall or end. Null: it does not wait.
   */
  #waitsUntilMs(live: LiveAlert, nowMs: number): number | null {
    if (nowMs < live.waitsToMs) return live.waitsToMs;
    if (live.unjudged) {
      live.unjudgedUntilMs ??= nowMs + unjudgedForMs;
      if (nowMs < live.unjudgedUntilMs) live.waitsToMs = live.unjudgedUntilMs;
    }
    if (nowMs >= live.waitsToMs && (live.isGone(nowMs) || live.isBetter()))
      live.waitsToMs = nowMs + postponedMs;
    return nowMs < live.waitsToMs ? live.waitsToMs : null;
  }

  fire(builder: ChangesBuilder, from: NewAlert): LiveAlert {
    const alert = this.#newAlert(builder.atMs, from, false, null);
    const live = new LiveAlert(alert, [], from.except ?? [], this.#onReminder);
    live.says(from);
    if (from.comparison) live.comparison = from.comparison;
    if (from.limit) live.limit = from.limit;
    if (from.judged) live.judgedAtMs = builder.atMs;
    this.live.set(alert.id, live);
    this.#record(builder, live, "fired", { happenedMs: from.happenedMs });
    return live;
  }

  /**
   * An event: one alert that needs no resolution. `owe: false` where it is held back by a throttle.
   * @returns its change, and the receivers who are owed word of it now
   */
  tell(
    builder: ChangesBuilder,
    from: NewAlert,
    eventKey: string,
    groupKey: string | null,
    owe: boolean,
  ): { readonly change: AlertChange; readonly owed: readonly string[] } {
    const alert = this.#newAlert(builder.atMs, from, true, eventKey);
    const change = this.#change(builder, alert, "fired", from, from.happenedMs);
    const owed = owe ? this.owe(builder, change, this.receivers(alert, from.except), groupKey).receivers : [];
    if (this.#begins(alert, builder)) this.#unsettled.set(alert.id, alert);
    return { change, owed };
  }

  /** A fire drill: told to just these, at once and alone, whatever routes, silences and mute times say. */
  tellDrill(builder: ChangesBuilder, from: NewAlert, id: string, receivers: readonly string[]): AlertChange {
    const alert = this.#newAlert(builder.atMs, from, true, `drill:${id}`);
    const change = this.#change(builder, alert, "fired", from, from.happenedMs);
    for (const receiver of receivers)
      builder.changes.owed.push({
        id: ++this.ids.owed,
        changeId: change.id,
        alertId: alert.id,
        receiver,
        severity: alert.severity,
        owedAtMs: builder.atMs,
        groupKey: drillGroup + id,
        status: "owed",
        messageId: null,
      });
    return change;
  }

  change(
    builder: ChangesBuilder,
    live: LiveAlert,
    kind: "rose" | "fell" | "worsened",
    severity: Severity,
    text: AlertText,
  ): void {
    live.says(text);
    const worstSeverity = worseOf(worstSeverityOf(live.alert), severity);
    live.alert = withWorst(live, {
      ...live.alert,
      ...pick(text),
      severity,
      ...(worstSeverity === severity ? {} : { worstSeverity }),
    });
    // What a person saw when they acknowledged it was less.
    const isVoid =
      kind === "worsened" || (kind === "rose" && !covers(live.alert.acknowledgedSeverity, severity));
    const voids = isVoid && live.alert.acknowledgedAtMs !== null;
    if (isVoid) live.alert = withoutAcknowledgement(live.alert);
    this.#record(builder, live, kind, { voids });
    // A lesser alert may hold back others no longer.
    if (kind === "fell") this.#holds.sourceEnded(builder.atMs);
  }

  /**
   * Tells of an alert whose value got markedly worse, or markedly another one, since it was last told or acknowledged. Such a
   * value is not covered by an acknowledgement, which is void then.
   * @param movement the change from these values by this share; null: none. `mayReturn`: back to a side that was told is one
   */
  refresh(
    builder: ChangesBuilder,
    live: LiveAlert,
    text: () => AlertText,
    movement: (notified: Notified, worseBy: number, mayReturn: boolean) => "worsened" | "changed" | null,
  ): void {
    if (live.alert.shadow || live.notified === null) return;
    if (this.#remind[live.alert.severity] === "never") return;
    const mayReturn = live.alert.acknowledgedAtMs === null && builder.atMs - live.toldAtMs >= returnsAfterMs;
    const kind = movement(live.notified, this.#remind.worseBy, mayReturn);
    if (kind === null) return;
    const now = text();
    live.says(now);
    const voids = live.alert.acknowledgedAtMs !== null;
    live.alert = withWorst(live, { ...withoutAcknowledgement(live.alert), ...pick(now) });
    this.#record(builder, live, kind, { voids });
    // Nobody takes care of it any more: its chain begins anew.
    if (voids) this.#begins(live.alert, builder);
  }

  end(
    builder: ChangesBuilder,
    live: LiveAlert,
    ending: Ending,
    text: AlertText | null,
    happenedMs: number | null = null,
    stands: AlertChange["stands"] = undefined,
  ): void {
    // At a reload only the watch before can tell how what it watched stood.
    const last = text ?? this.#former.get(live.alert.id)?.newest(builder.atMs)?.text ?? null;
    if (last) live.says(last);
    // The last tier that was seen says nothing of what came.
    if (isTaking(ending)) live.details = live.details.filter(([name]) => name !== tierLine);
    live.alert = withWorst(live, {
      ...live.alert,
      ...(last ? pick(last) : {}),
      state: "ended",
      endedAtMs: builder.atMs,
      ending,
    });
    this.live.delete(live.alert.id);
    this.#deadlines.cancel(live);
    this.#record(builder, live, "ended", { happenedMs, stands });
  }

  /** @param shown the level and value that it covers; left out: those of now */
  acknowledge(
    builder: ChangesBuilder,
    alert: Alert,
    by: string,
    comment: string,
    shown?: Pick<Alert, "severity" | "value">,
  ): Alert {
    const live = this.live.get(alert.id);
    // What it says now is what the acknowledgement covers.
    const past = live?.renew(builder.atMs) ?? false;
    const next: Alert = {
      ...(live?.alert ?? alert),
      acknowledgedBy: by,
      acknowledgedAtMs: builder.atMs,
      acknowledgedSeverity: shown?.severity ?? alert.severity,
    };
    const details: (readonly [string, string])[] = comment === "" ? [] : [["Comment", comment]];
    const covered = shown ? shown.value : past ? alert.value : next.value;
    const text = { details, facts: live?.facts, past, covered };
    const change = this.#change(builder, next, "acknowledged", text, null);
    this.#escalations.settle(alert.id, builder);
    // Whoever was told of it hears that somebody takes care of it.
    if (live) this.owe(builder, change, live.told.keys(), null);
    if (live) {
      live.alert = next;
      live.notified = notifiedWith(covered, live.notified, true);
      this.#schedule(live);
    }
    return next;
  }

  /** Holds or releases an alert; what nobody was told of before is told at the release. */
  hold(builder: ChangesBuilder, live: LiveAlert, held: boolean): void {
    if (live.held === held) return;
    live.held = held;
    if (held) return;
    if (live.told.size === 0) this.#record(builder, live, "fired");
    else this.#schedule(live);
  }

  /** The changes of a tick are complete. */
  complete(builder: ChangesBuilder): void {
    this.#dispatch.keepIncidents(builder);
  }

  receivers(
    alert: Pick<Alert, "labels" | "rule" | "severity" | "subject" | "wallet" | "symbol">,
    except: readonly string[] = [],
  ): readonly string[] {
    return this.#dispatch.receivers(alert, except);
  }

  /** @returns those who are owed word now; the others when what holds it ends */
  owe(
    builder: ChangesBuilder,
    change: AlertChange,
    receivers: Iterable<string>,
    groupKey: string | null,
    { voids = false, released = false }: { readonly voids?: boolean; readonly released?: boolean } = {},
  ): Owed {
    const remindMs = this.#remindMs(change.alert.severity);
    return this.#dispatch.owe(builder, change, receivers, groupKey, { voids, released, remindMs });
  }

  /** The interval of reminders at a level, ms; infinite: there are none. */
  #remindMs(severity: Severity): number {
    const pace = this.#remind[severity];
    return pace === "never" ? Number.POSITIVE_INFINITY : pace.every;
  }

  /** Those whom the routes lead to, and those whom a chain told of it: they hear how it goes on. */
  #concerned({ alert, told, except }: LiveAlert): readonly string[] {
    const escalated = this.#dispatch
      .ways(alert)
      .flatMap(({ escalate }) => escalate.flatMap(({ receivers }) => receivers))
      .filter((one) => told.has(one) && !except.includes(one));
    return [...new Set([...this.receivers(alert, except), ...escalated])];
  }

  /** Begins the chains of an alert. @returns whether there are any */
  #begins(alert: Alert, builder: ChangesBuilder): boolean {
    const runs = this.#escalates(alert);
    if (runs) this.#escalations.begin(alert, this.#dispatch.ways(alert), builder);
    else this.#escalations.settle(alert.id, builder);
    return runs;
  }

  #escalates(alert: Alert): boolean {
    return !alert.shadow && this.#dispatch.ways(alert).some(({ escalate }) => escalate.length > 0);
  }

  /** Tells the next of a chain. @returns whether the chain goes on */
  #escalate(
    builder: ChangesBuilder,
    alertId: number,
    receivers: readonly string[],
    words: readonly [string, string],
  ): boolean {
    const live = this.live.get(alertId);
    const alert = live?.alert ?? this.#unsettled.get(alertId);
    if (!alert || alert.acknowledgedAtMs !== null) return false;
    const past = live?.renew(builder.atMs) ?? false;
    const details = [words, ...(live?.details ?? [])];
    const told = { details, facts: live?.facts, past };
    const change = this.#change(builder, live?.alert ?? alert, "escalated", told, null);
    for (const receiver of this.owe(builder, change, receivers, null).receivers)
      live?.told.set(receiver, live.alert.severity);
    return true;
  }

  /** Notifies of an alert that was held and still fires, as it is now: each receiver of what is new to it. */
  #tellNow(alertId: number, receivers: readonly string[], builder: ChangesBuilder): boolean {
    const live = this.live.get(alertId);
    if (!live || live.held) return false;
    // Somebody takes care of it.
    if (live.alert.acknowledgedAtMs !== null && receivers.every((one) => live.told.has(one))) return true;
    const past = live.renew(builder.atMs);
    const { alert, details, facts } = live;
    const kinds = Map.groupBy(receivers, (receiver) => newsOf(alert.severity, live.told.get(receiver)));
    for (const [kind, some] of kinds) {
      const change = this.#change(builder, alert, kind, { details, facts, past }, null);
      const { receivers: owed, called } = this.owe(builder, change, some, null, { released: true });
      for (const receiver of owed) live.told.set(receiver, alert.severity);
      for (const receiver of called) live.calledMs.set(receiver, builder.atMs);
    }
    live.toldAtMs = builder.atMs;
    live.notified = notifiedWith(
      alert.value,
      live.notified,
      [...kinds.keys()].some((kind) => beginsAnew.has(kind)),
    );
    this.#schedule(live);
    return true;
  }

  *#firingLabels(): Iterable<readonly [number, Readonly<Record<string, string>>]> {
    for (const { alert, held } of this.live.values())
      if (!held && !alert.shadow) yield [alert.id, labelsOf(alert)] as const;
  }

  #newAlert(atMs: number, from: NewAlert, event: boolean, eventKey: string | null): Alert {
    return {
      id: ++this.ids.alert,
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

  #change(
    builder: ChangesBuilder,
    alert: Alert,
    kind: AlertChangeKind,
    {
      details,
      facts,
      past,
      covered = alert.value,
    }: Pick<AlertText, "details" | "facts"> & {
      readonly past?: boolean;
      /** The value that an acknowledgement covers. Default: the alert's. */
      readonly covered?: number | null;
    },
    happenedMs: number | null,
    stands?: AlertChange["stands"],
  ): AlertChange {
    // Values of the daemon's own and of the exchange as a whole are not compared: they grow by themselves.
    const isCompared = alert.value !== null && alert.subject !== "daemon" && alert.subject !== "exchange";
    const compared = isCompared ? (this.live.get(alert.id)?.comparison(alert.severity) ?? "worse") : null;
    const live = alert.state === "firing" ? this.live.get(alert.id) : undefined;
    const isEither = compared === "either" && knowsBothSides(notifiedWith(alert.value, live?.notified));
    const words = live?.limit(alert.severity, covered);
    const quiet =
      alert.state === "firing" && !alert.shadow
        ? quietIfAcknowledged(
            alert.severity,
            isEither ? "worse" : compared,
            this.#remind,
            // On two sides that were both notified it is worse further from 0, by how much it moved.
            isEither ? undefined : words?.worse(this.#remind.worseBy),
            words?.value,
          )
        : undefined;
    const limit = live?.limit(alert.severity, alert.value)?.text;
    const isAdvised = alert.state === "firing" && !alert.shadow && !past;
    const advice = isAdvised && !this.live.get(alert.id)?.held ? this.#advise(alert, builder.atMs) : [];
    const change: AlertChange = {
      id: ++this.ids.change,
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
      ...(past ? { past: true as const } : {}),
    };
    builder.changes.alerts.push(alert);
    builder.changes.alertChanges.push(change);
    return change;
  }

  #record(
    builder: ChangesBuilder,
    live: LiveAlert,
    kind: AlertChangeKind,
    {
      happenedMs = null,
      stands,
      past = false,
      voids = false,
      among,
    }: {
      readonly happenedMs?: number | null;
      readonly stands?: AlertChange["stands"];
      readonly past?: boolean;
      /** Its acknowledgement became void. */
      readonly voids?: boolean;
      /** Those who are told. Left out: whom it concerns. */
      readonly among?: readonly string[] | undefined;
    } = {},
  ): void {
    const { details, facts } = live;
    const change = this.#change(builder, live.alert, kind, { details, facts, past }, happenedMs, stands);
    // Whoever was told that it fires is told that it ended.
    if (live.held && kind !== "ended") return;
    const to = among ?? this.#toTell(live, kind);
    const { receivers: owed, called } = this.owe(builder, change, to, null, { voids });
    for (const receiver of called) live.calledMs.set(receiver, builder.atMs);
    if (kind === "ended") {
      this.#escalations.settle(live.alert.id, builder);
      this.#holds.sourceEnded(builder.atMs);
      return;
    }
    if (kind === "fired" || kind === "rose") this.#begins(live.alert, builder);
    else if (kind === "fell" && !this.#escalates(live.alert))
      this.#escalations.settle(live.alert.id, builder);
    for (const receiver of owed) live.told.set(receiver, live.alert.severity);
    // A quiet change puts no reminder of a critical alert off.
    if (owed.length === 0 || called.length > 0 || live.alert.severity !== "critical")
      live.toldAtMs = builder.atMs;
    live.notified = notifiedWith(live.alert.value, live.notified, beginsAnew.has(kind));
    if (kind === "fired" || kind === "rose") live.reminders = 0;
    else if (kind === "reminder") live.reminders++;
    this.#schedule(live);
  }

  /** Those whom a change is news to: of an end all who were told of the alert, of a fall those who were told of more. */
  #toTell(live: LiveAlert, kind: AlertChangeKind): readonly string[] {
    const { alert, told } = live;
    if (kind === "ended") return [...told.keys()];
    if (kind === "fell")
      return [...told.keys()].filter((one) => newsOf(alert.severity, told.get(one)) === kind);
    return alert.shadow ? [] : this.#concerned(live);
  }

  /** @param overdue what is due already is decided next, at a start or a reload */
  #schedule(live: LiveAlert, overdue = false): void {
    const ownMs = this.#dueMs(live, live.toldAtMs);
    if (ownMs === null) {
      this.#deadlines.cancel(live);
      return;
    }
    const { atMs } = this.#builder();
    // Who was not reminded of an incident just now is not notified of it: that is held.
    const dueMs = this.#reported(live)
      .map((ms) => this.#dueMs(live, ms) ?? ownMs)
      .filter((ms) => overdue || ms > atMs);
    this.#deadlines.set(live, Math.max(Math.min(ownMs, ...dueMs), live.waitsToMs));
  }

  /** The time of the reminder after a notification, ms; null: there is none. */
  #dueMs({ alert, reminders: count }: LiveAlert, toldAtMs: number): number | null {
    return nextReminderMs(alert, { toldAtMs, count }, this.#remind);
  }

  /** The times at which the receivers of a critical alert were last notified of its incidents, or of it by itself, ms. */
  #reported(live: LiveAlert): readonly number[] {
    if (live.alert.shadow || live.alert.severity !== "critical") return [];
    const { atMs } = this.#builder();
    const receivers = this.#concerned(live);
    return this.#dispatch
      .notifiedMs(live.alert.id, receivers, atMs)
      .map((ms, index) => ms ?? live.calledMs.get(receivers[index]!) ?? Math.max(live.wordMs, live.toldAtMs));
  }

  readonly #onReminder = (live: LiveAlert): void => {
    if (live.alert.state !== "firing") return;
    const { atMs } = this.#builder();
    const waitsUntilMs = this.#waitsUntilMs(live, atMs);
    if (waitsUntilMs !== null) {
      this.#deadlines.set(live, waitsUntilMs);
      return;
    }
    // Whoever was notified of its incident within the interval needs no reminder; what is due in one moment is one.
    const reportedMs = this.#reported(live);
    const dueMs = reportedMs.map((ms) =>
      ms === atMs ? atMs : (this.#dueMs(live, ms) ?? Number.POSITIVE_INFINITY),
    );
    const nextMs = Math.min(...dueMs);
    if (dueMs.length > 0 && nextMs > atMs && live.alert.acknowledgedAtMs === null) {
      this.#deadlines.set(live, nextMs);
      return;
    }
    // An acknowledgement that lapsed is taken back in the open, by the reminder that follows from it.
    const lapsed = live.alert.acknowledgedAtMs !== null;
    const due =
      lapsed || reportedMs.length === 0
        ? undefined
        : this.#concerned(live).filter((_, index) => dueMs[index]! <= atMs);
    if (lapsed) live.alert = withoutAcknowledgement(live.alert);
    const builder = this.#builder();
    if (lapsed) this.#begins(live.alert, builder);
    // A reminder speaks of now. Where that is not known it tells the newest that is, and says how old it is.
    const past = live.renew(builder.atMs);
    this.#record(builder, live, "reminder", { past, voids: lapsed, among: due });
  };
}

/** The change that tells of a level. @param told the level that was told last; undefined: none was */
function newsOf(severity: Severity, told: Severity | undefined): AlertChangeKind {
  if (told === undefined) return "fired";
  const rises = severityRank[severity] - severityRank[told];
  return rises > 0 ? "rose" : rises < 0 ? "fell" : "reminder";
}

/** The channel that an alert of the program itself is about: it is not told of itself. */
function aboutChannel({ rule, labels: { channel } }: Alert): readonly string[] {
  return isBuiltIn(rule) && channel !== undefined ? [channel] : [];
}
