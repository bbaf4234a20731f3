/** Reports how the daemon is doing: its status, its figures, and if it is ready. */
import { hostname } from "node:os";
import type { Channel } from "../../channels/channel.ts";
import type { Collectors } from "../../collect/index.ts";
import type { Acknowledger, Drills, InboxAudits, Outbox } from "../../deliver/index.ts";
import type { Clock } from "../../domain/clock.ts";
import type { DaemonFigures } from "../../domain/observation.ts";
import type { Readiness } from "../../domain/ports.ts";
import type { sources } from "../../domain/sources.ts";
import type { ChannelStatus, DaemonStatus } from "../../domain/status.ts";
import { type Exchange, rateLimitCause } from "../../exchange/index.ts";
import type { History } from "../../history/index.ts";
import type { IngestLoop } from "../../ingest/loop.ts";
import type { Heartbeat } from "../heartbeat.ts";
import type { LoopLag } from "../loop-lag.ts";
import type { Pace } from "../settings/pace.ts";
import type { DaemonSettings } from "../settings.ts";
import { version } from "../version.ts";

/** The time for which refusals of wallets are named, ms. */
const refusedLatelyMs = 900_000;
/** After whatever kept wallets from signing in is over, ms: the longest back-off of a read that needs a session. */
const signInWithinMs = 120_000;

export interface ReportParts {
  readonly startedMs: number;
  readonly clock: Clock;
  readonly store: History;
  readonly exchange: Exchange;
  readonly ingest: IngestLoop;
  readonly outbox: Outbox;
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

export class DaemonReport {
  readonly #parts: ReportParts;
  #state: DaemonStatus["state"] = "starting";
  #databaseBytes = 0;
  /** Last time at which something that has an alert of its own kept wallets from signing in, monotonic, ms. */
  #signInTroubleMs = Number.NEGATIVE_INFINITY;

  constructor(parts: ReportParts) {
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
