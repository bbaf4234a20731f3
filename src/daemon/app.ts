/**
 * The composition root: creates the parts in stages (`assembly/`), starts them in order, and stops them in reverse.
 *
 *   store ─► exchange ─► engine ─► delivery ─► collection ─► answers ─► page
 *
 * A stop first ends the reading, then the watch; then pending messages are sent as far as possible, and the database is
 * closed last.
 */

import { hostname } from "node:os";
import path from "node:path";
import { allReceivers } from "../alerts/routing/route.ts";
import { systemClock } from "../domain/clock.ts";
import { reloadSources } from "../domain/sources.ts";
import type { DaemonStatus } from "../domain/status.ts";
import { Signal } from "../domain/structures/signal.ts";
import { createDashboard, type PageLink } from "../web/index.ts";
import type { DaemonReport } from "./answers/daemon-report.ts";
import { answersStage } from "./assembly/answers-stage.ts";
import { collectionStage } from "./assembly/collection-stage.ts";
import { deliveryStage } from "./assembly/delivery-stage.ts";
import { engineStage } from "./assembly/engine-stage.ts";
import { exchangeStage } from "./assembly/exchange-stage.ts";
import type { Basics, DaemonParts, Signals } from "./assembly/parts.ts";
import { storeStage } from "./assembly/store-stage.ts";
import { ConfigurationNotes } from "./configuration-notes.ts";
import type { DaemonDeps } from "./deps.ts";
import { changedFixedSections } from "./fixed-sections.ts";
import type { DaemonSettings } from "./settings.ts";
import { followPace, maintainStore, observeFigures, reportLostTime } from "./upkeep.ts";
import { version } from "./version.ts";
import { WatchReplacer } from "./watch-replacer.ts";

export interface Daemon {
  /** The address of the page; null: it is off. */
  readonly url: string | null;
  /** Creates a one-time link to the page. Null: the page is off. */
  pageLink(): PageLink | null;
  status(): DaemonStatus;
  /**
   * Applies newly read rules, routes and reminders.
   * @returns changed sections that need a restart
   */
  reload(settings: DaemonSettings): Promise<readonly string[]>;
  /** Retries the sign-in of wallets that are signed out, because the signer has become available. */
  signInAgain(): void;
  /** Resolves when nothing is queued, being written or being sent. */
  idle(): Promise<void>;
  /** Rejects on an unrecoverable error. */
  readonly broken: Promise<never>;
  stop(): Promise<void>;
}

type OnStop = Basics["onStop"];

/** Starts all parts. Rejects, after stopping the started parts, when the database or a socket cannot be opened. */
export async function startDaemon(settings: DaemonSettings, deps: DaemonDeps): Promise<Daemon> {
  const stopping = new AbortController();
  const undo: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    stopping.abort(new Error("the daemon stops"));
    for (const one of undo.splice(0).reverse()) await one();
  };
  const onStop: OnStop = (one) => void undo.push(one);
  try {
    let report: DaemonReport | null = null;
    const broken = new Signal<[unknown]>();
    const basics = basicsOf(settings, deps, onStop, broken, () => {
      if (report === null) throw new Error("a chat asked for the status before all parts were made");
      return report.status();
    });
    const parts = await assemble(basics);
    report = parts.report;
    const rejected = new Promise<never>((_, reject) => broken.listen(reject));
    rejected.catch(() => {});
    const { pace } = parts;
    const watchReplacer = new WatchReplacer(parts, pace);
    const notes = await startWork(parts, stopping.signal);
    const dashboard = (deps.outside?.createDashboard ?? createDashboard)({
      ...{
        source: parts.source,
        store: parts.store,
        log: parts.log,
        clock: parts.clock,
        machine: parts.machine,
      },
      listen: settings.dashboard,
      socketPath: `${settings.history.path}.sock`,
    });
    const { url } = await dashboard.start(stopping.signal);
    onStop(() => dashboard.stop());
    onStop(observeFigures(parts));
    onStop(maintainStore(parts));
    onStop(followPace(parts, pace, () => watchReplacer.replace()));
    const { heartbeat, audits, drills, loopLag, digest, handOvers } = parts;
    for (const one of [heartbeat, audits, drills, loopLag, digest, handOvers]) {
      void one?.start();
      onStop(() => one?.stop());
    }
    parts.report.running();
    const running = { ...parts, dashboard, notes, watchReplacer };
    const { exchange, ingest, outbox, acknowledger } = parts;
    return {
      url,
      pageLink: () => dashboard.link(),
      status: () => parts.report.status(),
      broken: rejected,
      reload: (next) => reload(running, next),
      signInAgain: () => exchange.sessions.tryAgain(),
      async idle() {
        await ingest.settled();
        await outbox.idle();
        await acknowledger.idle();
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function basicsOf(
  settings: DaemonSettings,
  deps: DaemonDeps,
  onStop: OnStop,
  broken: Signals["broken"],
  status: Basics["status"],
): Basics {
  const { rotas, templates, routing } = settings;
  const host = deps.outside?.host ?? hostname();
  return {
    ...{ settings, deps, onStop, status, log: deps.log },
    sender: `perpwatch on ${host}`,
    instance: path.resolve(settings.history.path),
    machine: deps.clock ?? systemClock(),
    random: deps.random ?? Math.random,
    signals: {
      session: new Signal(),
      badRecord: new Signal(),
      committed: new Signal(),
      stuck: new Signal(),
      asked: new Signal(),
      degraded: new Signal(),
      acknowledged: new Signal(),
      broken,
    },
    live: { rotas, templates, stormFold: routing.stormFold },
    messageOptions: {
      ...(deps.commandLine ? { commandLine: deps.commandLine } : {}),
      ...(deps.json === true ? { json: true as const } : {}),
    },
  };
}

async function assemble(basics: Basics): Promise<DaemonParts> {
  const stored = { ...basics, ...(await storeStage(basics)) };
  const exchanged = { ...stored, ...(await exchangeStage(stored)) };
  const judged = { ...exchanged, ...(await engineStage(exchanged)) };
  const delivered = { ...judged, ...deliveryStage(judged) };
  const collecting = { ...delivered, ...collectionStage(delivered) };
  return { ...collecting, ...answersStage(collecting) };
}

/** Starts delivery first, so that pending messages of an earlier run leave even if the exchange does not answer. */
async function startWork(parts: DaemonParts, stopping: AbortSignal): Promise<ConfigurationNotes> {
  const { settings, store, machine, clock, startedMs, lastAliveMs, signals, onStop } = parts;
  const { exchange, ingest, outbox, acknowledger, drills, collectors } = parts;
  // They end in order, after the last changes are written, and not with the signal.
  const delivering = new AbortController().signal;
  await outbox.start(delivering);
  onStop(() => outbox.stop());
  outbox.onSettled((alertIds) => {
    acknowledger.settled(alertIds);
    drills.settled(alertIds);
  });
  await acknowledger.start(delivering);
  onStop(async () => {
    await Promise.all([acknowledger.stop(), outbox.stop()]);
  });
  ingest.start();
  onStop(async () => {
    parts.report.stopping();
    await ingest.observe({ kind: "stopped", atMs: clock.nowMs() });
    await ingest.stop();
  });
  await ingest.observe({ kind: "started", atMs: startedMs, version, lastAliveMs });
  onStop(reportLostTime(parts));
  const notes = new ConfigurationNotes(store, machine, (error) => signals.broken.send(error));
  onStop(() => notes.stop());
  await notes.note(settings, startedMs);
  await exchange.start();
  await collectors.start(stopping);
  onStop(() => collectors.stop());
  return notes;
}

interface Running extends DaemonParts {
  readonly dashboard: ReturnType<typeof createDashboard>;
  readonly notes: ConfigurationNotes;
  readonly watchReplacer: WatchReplacer;
}

/** @returns changed sections that need a restart */
async function reload(running: Running, next: DaemonSettings): Promise<readonly string[]> {
  const { settings, live, clock, channels, handOvers, audits, collectors, dashboard, notes, watchReplacer } =
    running;
  const people = Object.values(next.rotas).flatMap((plan) => plan.people);
  const unknown = [...allReceivers(next.routing), ...people].filter((name) => !channels.has(name));
  // A message to a channel that is not running would be lost.
  if (unknown.length > 0)
    throw new Error(`routes lead to ${unknown.join(", ")}: a new channel runs only after a restart`);
  await watchReplacer.replace(next);
  live.templates = next.templates;
  // A rota that the new configuration lacks keeps its plan: pending messages may be addressed to it.
  live.rotas = { ...live.rotas, ...next.rotas };
  handOvers.reloaded();
  live.stormFold = next.routing.stormFold;
  audits.every(next.acknowledge.audit);
  dashboard.reload(next.dashboard);
  await notes.note(next, clock.nowMs());
  // Earlier readings stay valid. Sources that only the new rules read are requested now.
  const schedules = collectors.status();
  for (const source of reloadSources) {
    for (const schedule of schedules) if (schedule.source === source) collectors.ask(source, schedule.wallet);
  }
  return changedFixedSections(settings, next);
}
