/**
 * The composition root: makes the parts in stages (`assembly/`), starts them in order, stops them in reverse.
 *
 *   store ─► exchange ─► engine ─► delivery ─► collection ─► page
 *
 * What is started last depends on all before it and is stopped first: no more questions, then no more judging, then what
 * is owed leaves as far as it can, then the database is closed.
 */

import { hostname } from "node:os";
import { allReceivers } from "../alerts/routing/route.ts";
import { systemClock } from "../domain/clock.ts";
import { Signal } from "../domain/signal.ts";
import { reloadSources } from "../domain/sources.ts";
import type { DaemonStatus } from "../domain/status.ts";
import { createDashboard, type PageLink } from "../web/index.ts";
import { collectionStage } from "./assembly/collection-stage.ts";
import { deliveryStage } from "./assembly/delivery-stage.ts";
import { engineStage } from "./assembly/engine-stage.ts";
import { exchangeStage } from "./assembly/exchange-stage.ts";
import type { Basics, DaemonParts, Signals } from "./assembly/parts.ts";
import { storeStage } from "./assembly/store-stage.ts";
import { DaemonSource } from "./daemon-source.ts";
import type { DaemonDeps } from "./deps.ts";
import { changedFixedSections } from "./fixed-sections.ts";
import { Judging } from "./judging.ts";
import { LoopLag } from "./loop-lag.ts";
import { SetNotes } from "./set-notes.ts";
import { Pace } from "./settings/pace.ts";
import type { DaemonSettings } from "./settings.ts";
import {
  followPace,
  heartbeatOf,
  maintainStore,
  observeFigures,
  reportLostTime,
  type Turned,
} from "./upkeep.ts";
import { version } from "./version.ts";

export interface Daemon {
  /** The address of the page; null when it is off. */
  readonly url: string | null;
  /** Makes a one-time link to the page. Null: the page is off. */
  pageLink(): PageLink | null;
  status(): DaemonStatus;
  /** Judges by newly read rules, routes and reminders from here on. @returns changed sections that wait for a restart */
  reload(settings: DaemonSettings): Promise<readonly string[]>;
  /** Whoever is not signed in tries it again soon: the signer is there. */
  signInAgain(): void;
  /** Resolves when nothing is queued, being written or being sent. */
  idle(): Promise<void>;
  /** Rejects when something broke that cannot be waited out. */
  readonly broken: Promise<never>;
  stop(): Promise<void>;
}

type OnStop = Basics["onStop"];

/** Starts everything. Rejects, with what was started stopped again, when the database or a socket cannot be had. */
export async function startDaemon(settings: DaemonSettings, deps: DaemonDeps): Promise<Daemon> {
  const stopping = new AbortController();
  const undo: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    stopping.abort(new Error("the daemon stops"));
    for (const one of undo.splice(0).reverse()) await one();
  };
  const onStop: OnStop = (one) => void undo.push(one);
  try {
    let source: DaemonSource | null = null;
    const broken = new Signal<[unknown]>();
    const basics = basicsOf(settings, deps, onStop, broken, () => {
      if (source === null) throw new Error("a part of the daemon asked before all of them were made");
      return source;
    });
    const parts = await assemble(basics);
    const rejected = new Promise<never>((_, reject) => broken.listen(reject));
    rejected.catch(() => {});
    const turned: Turned = { atMs: null };
    const heartbeat = heartbeatOf(parts, turned);
    const pace = new Pace(settings, parts.startedMs);
    const loopLag = new LoopLag(parts.machine);
    const judging = new Judging(parts, pace);
    source = new DaemonSource({
      ...{ ...parts, settings, heartbeat, loopLag, pace },
      signer: deps.signer ?? { trouble: "" },
      databasePath: settings.history.path,
    });
    const notes = await startWork(parts, source, stopping.signal);
    const dashboard = (deps.outside?.createDashboard ?? createDashboard)({
      ...{ source, store: parts.store, log: parts.log, clock: parts.clock, machine: parts.machine },
      listen: settings.dashboard,
      socketPath: `${settings.history.path}.sock`,
    });
    const { url } = await dashboard.start(stopping.signal);
    onStop(() => dashboard.stop());
    onStop(observeFigures(parts, source, turned));
    onStop(maintainStore(parts));
    onStop(followPace(parts, pace, () => judging.by()));
    for (const one of [heartbeat, parts.audits, parts.drills, loopLag, parts.digest, parts.handOvers]) {
      void one?.start();
      onStop(() => one?.stop());
    }
    source.running();
    const running = { ...parts, dashboard, notes, judging };
    const { exchange, ingest, outbox, acknowledger } = parts;
    const answers = source;
    return {
      url,
      pageLink: () => dashboard.link(),
      status: () => answers.status(),
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
  source: () => DaemonSource,
): Basics {
  const { rotas, templates, routing } = settings;
  return {
    ...{ settings, deps, onStop, source, log: deps.log },
    machine: deps.clock ?? systemClock(),
    random: deps.random ?? Math.random,
    host: deps.outside?.host ?? hostname(),
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
    told: {
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
  return { ...delivered, ...collectionStage(delivered) };
}

/** Delivery first: what an earlier run owes leaves even when the exchange does not answer. */
async function startWork(parts: DaemonParts, source: DaemonSource, stopping: AbortSignal): Promise<SetNotes> {
  const { settings, store, machine, clock, startedMs, lastAliveMs, signals, onStop } = parts;
  const { exchange, ingest, outbox, acknowledger, drills, collectors } = parts;
  // They end in their turn, after the last judgement is written, and not with the signal.
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
    source.stopping();
    await ingest.observe({ kind: "stopped", atMs: clock.nowMs() });
    await ingest.stop();
  });
  await ingest.observe({ kind: "started", atMs: startedMs, version, lastAliveMs });
  onStop(reportLostTime(parts));
  const notes = new SetNotes(store, machine, (error) => signals.broken.send(error));
  onStop(() => notes.stop());
  await notes.note(settings, startedMs);
  await exchange.start();
  await collectors.start(stopping);
  onStop(() => collectors.stop());
  return notes;
}

interface Running extends DaemonParts {
  readonly dashboard: ReturnType<typeof createDashboard>;
  readonly notes: SetNotes;
  readonly judging: Judging;
}

/** @returns changed sections that wait for a restart */
async function reload(running: Running, next: DaemonSettings): Promise<readonly string[]> {
  const { settings, live, clock, channels, handOvers, audits, collectors, dashboard, notes, judging } =
    running;
  const people = Object.values(next.rotas).flatMap((plan) => plan.people);
  const unknown = [...allReceivers(next.routing), ...people].filter((name) => !channels.has(name));
  // A message to a channel that does not run would be lost.
  if (unknown.length > 0)
    throw new Error(`routes lead to ${unknown.join(", ")}: a new channel runs only after a restart`);
  await judging.by(next);
  live.templates = next.templates;
  // A rota that the new configuration does not have keeps its plan: messages may be on their way to it.
  live.rotas = { ...live.rotas, ...next.rotas };
  handOvers.reloaded();
  live.stormFold = next.routing.stormFold;
  audits.every(next.acknowledge.audit);
  dashboard.reload(next.dashboard);
  await notes.note(next, clock.nowMs());
  // The readings of before stay. Sources that only the new rules read are asked for now.
  const schedules = collectors.status();
  for (const source of reloadSources) {
    for (const schedule of schedules) if (schedule.source === source) collectors.ask(source, schedule.wallet);
  }
  return changedFixedSections(settings, next);
}
