/** Answers what shells, the page and scrapers ask of the running daemon, and does what they tell it. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { labelsOf } from "../alerts/alert-routes.ts";
import { isWrong, matches, parseMatchers } from "../alerts/match.ts";
import { covers } from "../alerts/quiet.ts";
import type { Channel } from "../channels/channel.ts";
import type { Collectors } from "../collect/index.ts";
import {
  type Acknowledger,
  type Digest,
  type Drills,
  type InboxAudits,
  type Outbox,
  testMessage,
} from "../deliver/index.ts";
import { type Alert, type AlertChange, isOfSeverity, severityRank } from "../domain/alert.ts";
import type { ChartSeries } from "../domain/chart.ts";
import type { Clock } from "../domain/clock.ts";
import type { Message } from "../domain/delivery.ts";
import type { Event, EventKind } from "../domain/event.ts";
import type { ExplainAnswer } from "../domain/explanation.ts";
import type { Compacted } from "../domain/history.ts";
import type { InboxAudit } from "../domain/inbox.ts";
import type { DaemonFigures } from "../domain/observation.ts";
import type {
  AlertQuery,
  AlertStory,
  Charts,
  ChatActions,
  DashboardSource,
  DigestAnswer,
  DrillOutcome,
  NotificationQuery,
  NotificationRow,
  NotificationSelection,
  Readiness,
  SendOutcome,
  SessionOutcome,
  SilenceOutcome,
} from "../domain/ports.ts";
import type { Silence, SilenceWish } from "../domain/silence.ts";
import type { sources } from "../domain/sources.ts";
import type { ChannelStatus, DaemonStatus } from "../domain/status.ts";
import type { WhatIfOutcome, WhatIfQuestion } from "../domain/what-if.ts";
import { type Exchange, rateLimitCause } from "../exchange/index.ts";
import type { History } from "../history/index.ts";
import type { IngestLoop } from "../ingest/loop.ts";
import { chartSeries } from "./chart-series.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { LoopLag } from "./loop-lag.ts";
import type { Pace } from "./settings/pace.ts";
import type { DaemonSettings } from "./settings.ts";
import { version } from "./version.ts";

export interface DaemonParts {
  readonly startedMs: number;
  readonly clock: Clock;
  readonly store: History;
  readonly exchange: Exchange;
  readonly ingest: IngestLoop;
  readonly outbox: Outbox;
  readonly digest: Digest;
  readonly acknowledger: Acknowledger;
  readonly drills: Drills;
  readonly audits: InboxAudits;
  readonly heartbeat: Heartbeat | null;
  readonly collectors: Collectors;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly settings: DaemonSettings;
  readonly loopLag: LoopLag;
  readonly databasePath: string;
  readonly pace: Pick<Pace, "stretched">;
  /** As of `DaemonDeps`. */
  readonly signer: { readonly trouble: string };
}

/** Maximum wait of a person at a shell for the exchange or a channel. */
const patienceMs = 20_000;
const maxSilenceMs = 10 * 31_536_000_000;
/** The time for which refusals of wallets are named, ms. */
const refusedLatelyMs = 900_000;
/** After whatever kept wallets from signing in is over, ms: the longest back-off of a read that needs a session. */
const signInWithinMs = 120_000;
/** Alerts looked through when a query narrows by what the store has no index for. */
const searchedAlerts = 10_000;
const searchedNotifications = 20_000;
/** One turn of compacting; whoever asked asks again until all is done. */
const compactMs = 5_000;

/** @param source given once there is one; channels are made before it, and people act later than that */
export function chatActions(source: () => DaemonSource): ChatActions {
  return {
    status: () => source().status(),
    alert: (id) => source().alert(id),
    acknowledgeAlert: (...given) => source().acknowledgeAlert(...given),
    shownIn: (...given) => source().shownIn(...given),
    criticalMessages: (...given) => source().criticalMessages(...given),
    silence: (...given) => source().silence(...given),
    silences: () => source().silences(),
  };
}

/** As chatActions. */
export function charts(source: () => DaemonSource): Charts {
  return { series: (alertId) => source().chart(alertId) };
}

export class DaemonSource implements DashboardSource {
  readonly #parts: DaemonParts;
  #state: DaemonStatus["state"] = "starting";
  #databaseBytes = 0;
  /** Last time at which something that has an alert of its own kept wallets from signing in, monotonic, ms. */
  #signInTroubleMs = Number.NEGATIVE_INFINITY;
  /** The newest number that a silence was given in this run. */
  #silenceId = 0;
  /** By alert: resolves when its acknowledgement is recorded, or was not. */
  readonly #acknowledging = new Map<number, Promise<void>>();

  constructor(parts: DaemonParts) {
    this.#parts = parts;
  }

  running(): void {
    this.#state = "running";
  }

  stopping(): void {
    this.#state = "stopping";
  }

  /** Brings figures up to date that cost a look at the disk. */
  async refresh(): Promise<void> {
    this.#databaseBytes = await this.#parts.store.sizeBytes();
  }

  status(): DaemonStatus {
    const { clock, exchange, ingest, outbox, acknowledger, collectors } = this.#parts;
    return {
      version,
      startedMs: this.#parts.startedMs,
      state: ingest.degraded ? "degraded" : this.#state,
      watch: ingest.watch.status(clock.nowMs()),
      outage: collectors.outage(),
      schedules: collectors.status(),
      stretched: this.#parts.pace.stretched,
      requests: {
        ceilingPerSecond: exchange.budget.ceilingPerSecond,
        ratePerSecond: exchange.budget.ratePerSecond,
        used: exchange.budget.usage,
        waiting: exchange.budget.waiting,
        limited: rateLimitCause(exchange.budget.limit, clock.nowMs()),
        granted: this.#granted(),
        refused: exchange.budget.throttledCount,
      },
      streams: this.#streams(),
      channels: outbox.status(),
      inbox: this.#parts.audits.status(),
      drill: this.#parts.drills.status(),
      heartbeat: this.#parts.heartbeat?.status() ?? null,
      acknowledgements: acknowledger.figures(),
      database: {
        path: this.#parts.databasePath,
        bytes: this.#databaseBytes,
        waitingCommits: ingest.heldCommits,
      },
      clockOffsetMs: exchange.http.offsetMs,
      loopLagMs: this.#parts.loopLag.worstMs,
    };
  }

  #granted(): { readonly perSecond: number; readonly sinceMs: number } | null {
    const { granted } = this.#parts.exchange.budget;
    if (granted === null) return null;
    return { perSecond: granted.perSecond, sinceMs: Math.round(this.#parts.clock.nowMs() - granted.forMs) };
  }

  explain(rule: string, subject: string): ExplainAnswer {
    const { clock, ingest } = this.#parts;
    return ingest.watch.explain(rule, subject, clock.nowMs());
  }

  whatIf(question: WhatIfQuestion): WhatIfOutcome {
    const { clock, ingest } = this.#parts;
    return ingest.watch.whatIf(question, clock.nowMs());
  }

  /** The facts behind `daemon.*` in rules. */
  figures(): DaemonFigures {
    const { exchange, outbox, collectors, loopLag } = this.#parts;
    const deliveries = outbox.figures();
    const polls = collectors.figures(this.#isSignInTold());
    return {
      host: hostname(),
      lagMs: polls.lagMs,
      loopLagMs: loopLag.worstMs,
      failedPolls: polls.failedPolls,
      failingReads: polls.failingReads,
      clockOffsetMs: exchange.http.offsetMs,
      // What is switched off is not down.
      streamConnected: collectors.streams()?.streams.connected ?? true,
      budgetUsed: exchange.budget.limit === null ? exchange.budget.usage : 0,
      rateLimited: exchange.budget.limit !== null,
      undelivered: deliveries.undelivered,
      oldestUndeliveredMs: deliveries.oldestUndeliveredMs,
      waitingChannels: waitingChannels(outbox.status()),
      databaseBytes: this.#databaseBytes,
      authFailures: exchange.sessions.figures.authFailures,
      repeatedAuthFailures: exchange.sessions.figures.repeatedAuthFailures,
      refusedWallets: refusedWallets(exchange.sessions),
      signingWallets: exchange.sessions.all.length,
      signedOutWallets: exchange.sessions.all.filter(({ signedIn }) => !signedIn).length,
      loginTextRefused: exchange.loginTrouble,
      signerUnavailable: this.#parts.signer.trouble,
      deadMessages: deliveries.deadMessages,
      badRecords: polls.badRecords,
    };
  }

  #isSignInTold(): boolean {
    const { clock, exchange, signer } = this.#parts;
    if (exchange.loginTrouble !== "" || signer.trouble !== "") this.#signInTroubleMs = clock.elapsedMs();
    return clock.elapsedMs() - this.#signInTroubleMs <= signInWithinMs;
  }

  #streams(): NonNullable<DaemonStatus["streams"]> | null {
    const followed = this.#parts.collectors.streams();
    return followed && { connections: followed.streams.status(), missed: followed.missed };
  }

  ready(): Readiness {
    const { clock, ingest, settings } = this.#parts;
    const watch = ingest.watch.status(clock.nowMs());
    const reasons: string[] = [];
    if (this.#state !== "running") reasons.push(`the daemon is ${this.#state}`);
    if (ingest.degraded) reasons.push("history does not take commits");
    const everyMs = this.#everyMs("traderState");
    for (const wallet of watch.wallets) {
      if (wallet.seenMs === null) reasons.push(`${wallet.name}: not seen yet`);
      else if (watch.atMs - wallet.seenMs > 3 * everyMs) {
        reasons.push(`${wallet.name}: last seen ${Math.round((watch.atMs - wallet.seenMs) / 1_000)} s ago`);
      }
    }
    for (const dark of watch.blind) {
      if (dark.wallet === null && dark.source !== "configuration") reasons.push(`no fresh ${dark.source}`);
    }
    if (settings.wallets.length === 0) reasons.push("no wallet is configured");
    return { ready: reasons.length === 0, reasons };
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

  /** As chatActions. */
  criticalMessages(sealedFromMs: number): Promise<readonly Message[]> {
    return this.#parts.store.messages({ sealedFromMs, severity: "critical" });
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

  silences(): readonly Silence[] {
    return this.#parts.ingest.watch.silences;
  }

  async silence(wish: SilenceWish, preview: boolean): Promise<SilenceOutcome> {
    const { ingest, clock } = this.#parts;
    const match = parseMatchers(wish.matchers);
    if (isWrong(match)) return { kind: "wrong", problem: match.wrong };
    const nowMs = clock.nowMs();
    const startsMs = wish.startsMs ?? nowMs;
    if (wish.endsMs <= Math.max(nowMs, startsMs))
      return { kind: "wrong", problem: "a silence ends after it begins, and after now" };
    // No calendar knows the end of what is meant to be for ever, and nobody would be told of it again.
    if (!(wish.endsMs <= nowMs + maxSilenceMs))
      return { kind: "wrong", problem: "a silence ends within ten years" };
    const firing = ingest.watch.status(nowMs).firing.filter((alert) => matches(match, labelsOf(alert)));
    const { upTo = "warning", author, comment, endsMs } = wish;
    // One that was given a moment ago may not have been heard of yet.
    const id = 1 + Math.max(this.#silenceId, ...this.silences().map((one) => one.id));
    if (!preview) this.#silenceId = id;
    const silence = { id, match, upTo, author, comment, startsMs, endsMs, createdMs: nowMs };
    if (!preview) await ingest.observe({ kind: "silenced", atMs: nowMs, silence });
    return { kind: "done", silence, holds: firing.filter(({ severity }) => covers(upTo, severity)) };
  }

  async expireSilence(id: number, by: string) {
    const { ingest, clock } = this.#parts;
    const silence = this.silences().find((one) => one.id === id);
    const nowMs = clock.nowMs();
    if (!silence) return "unknown" as const;
    if (silence.endsMs <= nowMs) return "over" as const;
    const comment = [silence.comment, `ended by ${by}`].filter((part) => part !== "").join("; ");
    const over = { ...silence, startsMs: Math.min(silence.startsMs, nowMs), endsMs: nowMs, comment };
    await ingest.observe({ kind: "silenced", atMs: nowMs, silence: over });
    return "done" as const;
  }

  async notifications(query: NotificationQuery): Promise<readonly NotificationRow[] | null> {
    if (query.wallet !== undefined && !this.#wallet(query.wallet)) return null;
    return notificationRows(this.#parts.store, query);
  }

  async acknowledgeNotifications(selection: NotificationSelection) {
    if (!this.#wallet(selection.wallet)) return null;
    const { acknowledger } = this.#parts;
    const { wallet } = selection;
    // By item, never by time: what was not seen here is not acknowledged. Up to a time means up to and with it.
    const done =
      "keys" in selection
        ? await acknowledger.acknowledgeItems(wallet, selection.keys)
        : await acknowledger.acknowledgeUpTo(wallet, selection.upToMs + 1);
    return done;
  }

  async testChannel(name: string): Promise<SendOutcome | null> {
    const channel = this.#parts.channels.get(name);
    if (!channel) return null;
    return sendTest(channel, this.#parts.clock.nowMs());
  }

  async digest(receivers: readonly string[]): Promise<DigestAnswer> {
    const { channels, digest } = this.#parts;
    const channel = receivers.find((name) => !channels.has(name));
    if (channel !== undefined) return { kind: "unknown", channel };
    const content = await digest.preview();
    return { kind: "told", content, messageIds: receivers.length === 0 ? [] : await digest.send(receivers) };
  }

  compactHistory(): Promise<Compacted> {
    return this.#parts.store.compact(compactMs);
  }

  async auditNotifications(name?: string): Promise<readonly InboxAudit[] | null> {
    if (name === undefined) return this.#parts.audits.audit();
    const wallet = this.#wallet(name);
    return wallet?.key ? this.#parts.audits.audit([name]) : null;
  }

  async drill(wanted: readonly string[], by: string): Promise<DrillOutcome> {
    const { channels, drills } = this.#parts;
    const unknown = wanted.find((name) => !channels.has(name));
    if (unknown !== undefined) return { kind: "unknown", channel: unknown };
    const names = wanted.length === 0 ? [...channels.keys()] : [...new Set(wanted)];
    const begun = await drills.begin(names, by, false);
    return begun === null ? { kind: "degraded" } : { kind: "begun", ...begun };
  }

  login(wallet: string): Promise<SessionOutcome | null> {
    return this.#session(wallet, async (name) => {
      const session = this.#parts.exchange.sessions.of(name)!;
      await session.login({ endMs: this.#parts.clock.elapsedMs() + patienceMs });
      return session.detail;
    });
  }

  logout(wallet: string): Promise<SessionOutcome | null> {
    return this.#session(wallet, async (name) => {
      const session = this.#parts.exchange.sessions.of(name)!;
      await session.logout();
      return session.detail;
    });
  }

  async #session(wallet: string, act: (name: string) => Promise<string>): Promise<SessionOutcome | null> {
    const known = this.#wallet(wallet);
    if (!known) return null;
    if (known.key === null) return { kind: "watchOnly" };
    try {
      return { kind: "done", detail: await act(wallet) };
    } catch (error) {
      return { kind: "failed", detail: error instanceof Error ? error.message : String(error) };
    }
  }

  #wallet(name: string): DaemonSettings["wallets"][number] | undefined {
    return this.#parts.settings.wallets.find((wallet) => wallet.name === name);
  }

  #everyMs(source: (typeof sources)[number]): number {
    const own = this.#parts.collectors.status().filter((schedule) => schedule.source === source);
    return Math.max(1_000, ...own.map((schedule) => schedule.everyMs));
  }
}

/** `mail (535 refused), chat`: those that wait for longest first. */
function waitingChannels(channels: readonly ChannelStatus[]): string {
  return channels
    .filter(({ waiting }) => waiting > 0)
    .sort((a, b) => (b.oldestWaitingMs ?? 0) - (a.oldestWaitingMs ?? 0))
    .map(({ name, working, retrying, detail }) => (working && !retrying ? name : `${name} (${detail})`))
    .join(", ");
}

/** Names of wallets whose sign-ins or sessions were refused lately. */
function refusedWallets({ all }: Exchange["sessions"]): string {
  const refused = all.filter((session) => session.refusedWithin(refusedLatelyMs));
  return refused.map(({ wallet }) => wallet.name).join(", ");
}

/** One alert with all that followed from it; also for shells that read the database themselves. */
export async function alertStory(store: History, id: number): Promise<AlertStory | null> {
  const [alert] = await store.alerts({ ids: [id] });
  if (!alert) return null;
  return {
    alert,
    changes: await store.alertChanges({ alertId: id }),
    owed: await store.owed({ alertIds: [id] }),
    messages: await store.messages({ alertIds: [id] }),
    event: alert.eventKey === null ? null : await eventOf(store, alert.eventKey),
    acknowledgements:
      alert.wallet === null ? [] : await store.acknowledgements({ wallet: alert.wallet, alertIds: [id] }),
  };
}

/** @param name `kind:key`, as alerts about events carry it */
async function eventOf(store: History, name: string): Promise<Event | null> {
  const kind = name.slice(0, name.indexOf(":"));
  return store.eventByKey(kind as EventKind, name.slice(kind.length + 1));
}

export async function notificationRows(store: History, query: NotificationQuery): Promise<NotificationRow[]> {
  const events = await store.events({
    kind: "notification",
    ...(query.wallet === undefined ? {} : { wallet: query.wallet }),
    newestFirst: true,
    limit: query.unacked ? searchedNotifications : query.limit,
  });
  const rows = await store.acknowledgements({ keys: events.map((event) => event.key) });
  const byKey = new Map(rows.map((row) => [row.key, row]));
  return events
    .map((event) => ({ event, acknowledgement: byKey.get(event.key) ?? null }))
    .filter(({ event, acknowledgement }) => {
      if (!query.unacked) return true;
      return event.inbox?.acked !== true && acknowledgement?.status !== "confirmed";
    })
    .slice(0, query.limit);
}

/** One attempt at a marked message, within the channel's own deadline. */
export async function sendTest(channel: Channel, nowMs: number): Promise<SendOutcome> {
  const message = testMessage({
    receiver: channel.name,
    nowMs,
    randomBytes,
    sender: `perpwatch on ${hostname()}`,
  });
  try {
    return await channel.send(
      { message, attempt: 0, inReplyTo: null },
      AbortSignal.timeout(channel.deadlineMs),
    );
  } catch {
    return {
      kind: "retry",
      failure: "timeout",
      detail: `no answer within ${channel.deadlineMs} ms`,
      afterMs: null,
    };
  }
}
