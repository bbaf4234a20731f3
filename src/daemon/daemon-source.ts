/** Answers what shells, the page and scrapers ask of the running daemon, and does what they tell it. */
import type { Alert } from "../domain/alerts/alert.ts";
import type { ChartSeries } from "../domain/alerts/chart.ts";
import type { ExplainAnswer } from "../domain/alerts/explanation.ts";
import type { Silence, SilenceWish } from "../domain/alerts/silence.ts";
import type { InboxAudit } from "../domain/inbox.ts";
import type {
  AlertQuery,
  AlertStory,
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
import type { DaemonStatus } from "../domain/status.ts";
import type { Compacted } from "../domain/stored/history.ts";
import type { WhatIfOutcome, WhatIfQuestion } from "../domain/what-if.ts";
import { notificationRows } from "./answers/notification-rows.ts";
import type { SourceParts } from "./answers/source-parts.ts";
import { sendTest } from "./answers/test-send.ts";
import type { DaemonSettings } from "./settings.ts";

/** Maximum wait of a person at a shell for the exchange or a channel. */
const patienceMs = 20_000;
/** One turn of compacting; whoever asked asks again until all is done. */
const compactMs = 5_000;

export class DaemonSource implements DashboardSource {
  readonly #parts: SourceParts;

  constructor(parts: SourceParts) {
    this.#parts = parts;
  }

  status(): DaemonStatus {
    return this.#parts.report.status();
  }

  ready(): Readiness {
    return this.#parts.report.ready();
  }

  explain(rule: string, subject: string): ExplainAnswer {
    const { clock, ingest } = this.#parts;
    return ingest.watch.explain(rule, subject, clock.nowMs());
  }

  whatIf(question: WhatIfQuestion): WhatIfOutcome {
    const { clock, ingest } = this.#parts;
    return ingest.watch.whatIf(question, clock.nowMs());
  }

  alerts(query: AlertQuery): Promise<readonly Alert[]> {
    return this.#parts.alertAnswers.alerts(query);
  }

  alert(id: number): Promise<AlertStory | null> {
    return this.#parts.alertAnswers.alert(id);
  }

  chart(alertId: number): Promise<ChartSeries | null> {
    return this.#parts.alertAnswers.chart(alertId);
  }

  acknowledgeAlert(id: number, by: string, comment: string, changeId?: number) {
    return this.#parts.alertAnswers.acknowledgeAlert(id, by, comment, changeId);
  }

  silences(): readonly Silence[] {
    return this.#parts.silencing.all();
  }

  silence(wish: SilenceWish, preview: boolean): Promise<SilenceOutcome> {
    return this.#parts.silencing.add(wish, preview);
  }

  expireSilence(id: number, by: string) {
    return this.#parts.silencing.expire(id, by);
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
}
