/**
 * The composition root: builds the parts from the settings, starts them in order, stops them in reverse.
 *
 *   history ─► exchange ─► watch ─► outbox, acknowledger ─► ingest ─► collectors ─► dashboard
 *
 * What is started last depends on all before it and is stopped first: no more questions, then no more judging, then what
 * is owed leaves as far as it can, then the database is closed.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import path from "node:path";
import type { Writable } from "node:stream";
import type { Logger } from "pino";
import { allReceivers } from "../alerts/route.ts";
import type { CommandLine } from "../channels/message.ts";
import { createChannel, createChannels, programEnvironment } from "../channels/registry.ts";
import { onDutyWhenSealed } from "../channels/rota/channel.ts";
import { worded } from "../channels/template.ts";
import { CronSchedule } from "../collect/calendar.ts";
import { type Collectors, createCollectors } from "../collect/index.ts";
import type { DigestSettings } from "../deliver/digest/settings.ts";
import {
  acknowledgeWith,
  createAcknowledger,
  createOutbox,
  Digest,
  Drills,
  HandOvers,
  InboxAudits,
  type Probe,
} from "../deliver/index.ts";
import { type Alert, type AlertChange, severities } from "../domain/alert.ts";
import { type Changes, changes } from "../domain/changes.ts";
import { type Clock, type Random, systemClock } from "../domain/clock.ts";
import { formatDurationMs } from "../domain/duration.ts";
import type { Observation, Source } from "../domain/observation.ts";
import { stretchedText } from "../domain/source-words.ts";
import type { DaemonStatus } from "../domain/status.ts";
import type { WatchSettings } from "../engine/settings.ts";
import {
  createExchange,
  createStreams,
  type HttpDispatcher,
  logRate,
  type OpenSocket,
  plannedPerSecond,
} from "../exchange/index.ts";
import { type History, openStore } from "../history/index.ts";
import { IngestLoop } from "../ingest/loop.ts";
import { preparedWatch, rememberedWatch } from "../ingest/remember.ts";
import { createDashboard, type PageLink } from "../web/index.ts";
import { charts, chatActions, DaemonSource } from "./daemon-source.ts";
import { Heartbeat } from "./heartbeat.ts";
import { LoopLag } from "./loop-lag.ts";
import { LostTime } from "./lost-time.ts";
import { refusalLines } from "./refusal-lines.ts";
import { SetNotes } from "./set-notes.ts";
import { alertsOnly } from "./settings/digest.ts";
import { Pace, rulesAtPace } from "./settings/pace.ts";
import { watchSettingsOf } from "./settings/watch.ts";
import type { DaemonSettings } from "./settings.ts";
import { steadyClock } from "./steady-clock.ts";
import { version } from "./version.ts";

export interface DaemonDeps {
  readonly log: Logger;
  /** The machine's own clock, uncorrected. */
  readonly clock?: Clock;
  readonly random?: Random;
  /** The form of commands here, for messages that name one; default `perpwatch …`. */
  readonly commandLine?: CommandLine;
  /** The stream of console channels. */
  readonly out?: Writable & { readonly isTTY?: boolean };
  /** They write a JSON line for each message. */
  readonly json?: boolean;
  /** Aborted while it starts: the start is given up, and what was started is stopped again. */
  readonly signal?: AbortSignal;
  /** Told of labelled steps on the way of an observation, for tests that stop the process at one. */
  readonly probe?: (step: "observed" | "judged" | "committed" | Parameters<Probe>[0]) => void | Promise<void>;
  /** `trouble`: the reason why nothing can be signed now; empty: it can. Default: the keys are in this process. */
  readonly signer?: { readonly trouble: string };
  readonly outside?: Outside;
}

/** Stand-ins for what lies outside of the process, for simulations. What is left out is the real thing. */
export interface Outside {
  /** Carries requests to the exchange. */
  readonly dispatcher?: HttpDispatcher;
  /** Opens connections of its stream. */
  readonly openSocket?: OpenSocket;
  readonly openStore?: typeof openStore;
  readonly createChannel?: typeof createChannel;
  readonly createDashboard?: typeof createDashboard;
  /** The machine's name, as messages give it. */
  readonly host?: string;
  /** Draws the ids of fire drills. */
  readonly newId?: () => string;
}

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

/** The time for which a start waits for the exchange's time. */
const firstWordMs = 1_500;
const figuresEveryMs = 5_000;
const maintainEveryMs = 60_000;
const maintainBudgetMs = 200;
/** While there is more to do than fits the budget. */
const maintainAgainMs = 1_000;
const paceEveryMs = 5_000;
const largestWalBytes = 67_108_864;

/** Starts everything. Rejects, with what was started stopped again, when the database or a socket cannot be had. */
export async function startDaemon(settings: DaemonSettings, deps: DaemonDeps): Promise<Daemon> {
  const { log } = deps;
  const machine = deps.clock ?? systemClock();
  const random = deps.random ?? Math.random;
  const { dispatcher, openSocket, host = hostname(), newId = randomUUID, ...made } = deps.outside ?? {};
  const outside = { openStore, createChannel, createDashboard, ...made };
  const stopping = new AbortController();
  const undo: (() => Promise<void> | void)[] = [];
  const unwind = async (): Promise<void> => {
    stopping.abort(new Error("the daemon stops"));
    for (const one of undo.splice(0).reverse()) await one();
  };
  try {
    return await build();
  } catch (error) {
    await unwind();
    throw error;
  }

  async function build(): Promise<Daemon> {
    const givenUp = deps.signal;
    const { retention } = settings.history;
    const store: History = outside.openStore({ path: settings.history.path, clock: machine, retention });
    undo.push(() => store.close());

    let collectors: Collectors | undefined;
    let exchangeOffsetMs = (): number => 0;
    const clock = steadyClock(machine, () => exchangeOffsetMs());
    const lastAliveMs = await store.lastAliveMs();
    let signedInAgain: (wallet: string) => void = () => {};
    let observe: (observation: Observation) => Promise<void> = () => Promise.resolve();
    const refusals = refusalLines(log, clock);
    undo.push(() => refusals.stop());
    const exchange = createExchange({
      settings: settings.exchange,
      version,
      clock: machine,
      random,
      dispatcher,
      wallets: settings.wallets.flatMap(({ name, key, login }) => (key ? [{ name, key, login }] : [])),
      store,
      onSession: ({ wallet, signedIn, detail }) => {
        // An exchange that cannot be reached has its own line; that no session can be had of it is no news.
        const level = signedIn ? "info" : collectors?.outage() ? "debug" : "warn";
        log[level]({ wallet }, signedIn ? detail : `signed out: ${detail}`);
        void observe({ kind: "session", wallet, atMs: clock.nowMs(), signedIn, detail });
        if (signedIn) signedInAgain(wallet);
      },
      onTrouble: (wallet, detail) => log.warn({ wallet }, detail),
      onSignature: (wallet, entry) =>
        entry.refused === null
          ? log.info({ wallet, sha256: entry.hash }, `signed a ${entry.act}`)
          : refusals.refused(wallet, entry),
      onBadRecord: (report) => collectors?.badRecord(report),
      onTimeRefused: (offsetMs) =>
        log.warn(
          { offsetMs },
          `the exchange states a time more than a day ${offsetMs < 0 ? "ahead of" : "behind"} this machine's: it is not taken, this machine's clock is used`,
        ),
    });
    logRate(exchange.budget, log);
    undo.push(() => exchange.stop());
    exchangeOffsetMs = () => exchange.http.time.agreedOffsetMs;
    // What time it is there decides what is past and what is news. When it does not say so soon, the machine's has to do.
    await exchange.readTime(firstWordMs, givenUp).catch(() => {});
    givenUp?.throwIfAborted();
    const startedMs = clock.nowMs();

    const watchSettings = (from: DaemonSettings): WatchSettings => watchSettingsOf(settings, from, startedMs);
    const watch = await rememberedWatch(watchSettings(settings), store, startedMs);
    givenUp?.throwIfAborted();

    let { rotas } = settings;
    // Nobody acts before the channels are started, which is after it is there.
    const actions = chatActions(() => source);
    const told = {
      ...(deps.commandLine ? { commandLine: deps.commandLine } : {}),
      ...(deps.json === true ? { json: true } : {}),
    };
    const channels = createChannels(
      settings.channels,
      (name) => rotas[name]!,
      {
        clock,
        random,
        out: deps.out ?? process.stdout,
        log,
        timezone: settings.timezone,
        mention: settings.mention,
        environment: programEnvironment(process.env),
        actions,
        charts: charts(() => source),
        ...told,
      },
      outside.createChannel,
    );
    let { templates } = settings;
    let { stormFold } = settings.routing;
    const outbox = createOutbox({
      word: (sealed) => {
        const message = onDutyWhenSealed(sealed, rotas[sealed.receiver]);
        return worded(
          message,
          templates.channels[message.content.onDuty ?? message.receiver],
          { timezone: settings.timezone, ...told },
          (detail) =>
            log.warn(
              { channel: message.receiver, messageId: message.id, detail },
              "a template failed; the usual words are sent",
            ),
        );
      },
      store,
      channels,
      clock,
      random,
      observe: (observation) => void observe(observation),
      sender: `perpwatch on ${host}`,
      instance: path.resolve(settings.history.path),
      stormFold: () => stormFold,
      present: (alertId) => ingest.watch.present(alertId, clock.nowMs()),
      charts: charts(() => source),
      log,
      ...(deps.probe ? { probe: deps.probe } : {}),
    });
    const acknowledge = acknowledgeWith(exchange.client);
    const acknowledger = createAcknowledger({
      store,
      clock,
      random,
      log,
      acknowledge: async (wallet, ...rest) => {
        await acknowledge(wallet, ...rest);
        collectors?.acknowledged(wallet);
      },
      ...(deps.probe ? { probe: deps.probe } : {}),
    });

    const drills = new Drills({
      store,
      channels: [...channels.keys()],
      clock,
      log,
      observe: (observation) => observe(observation),
      nextMs: (afterMs) => settings.drill.schedule?.next(afterMs) ?? null,
      withinMs: settings.drill.withinMs,
      newId,
    });

    signedInAgain = (wallet) => {
      acknowledger.signedIn(wallet);
      collectors?.streams()?.streams.signedIn(wallet);
    };

    let breakDown: (error: unknown) => void = () => {};
    const broken = new Promise<never>((_, reject) => {
      breakDown = reject;
    });
    broken.catch(() => {});
    let ask: (source: Source, wallet: string | null) => void = () => {};
    const ingest = new IngestLoop({
      watch,
      store,
      clock,
      onCommitted: (committed) => {
        outbox.committed(committed);
        acknowledger.committed(committed);
        drills.committed(committed);
        tellChanges(log, committed);
      },
      onStuck: (stuck) => outbox.stuck(stuck),
      onAsk: ({ source, wallet }) => ask(source, wallet),
      onNote: ({ level, text }) => log[level](text),
      onDegraded: (degraded, why) => {
        acknowledger.hold(degraded);
        if (degraded)
          log.error(`degraded: history does not take commits (${why}); critical messages leave from memory`);
        else log.info(`history takes commits again: ${why}`);
      },
      onBroken: (error) => breakDown(error),
      ...(deps.probe ? { probe: deps.probe } : {}),
    });
    observe = (observation) => ingest.observe(observation);

    const collecting = createCollectors({
      client: exchange.client,
      wallets: settings.wallets.map(({ name, authority, key, pdaIndices }) => ({
        name,
        authority,
        watchOnly: key === null,
        pdaIndices,
      })),
      schedules: settings.schedules,
      requestsPerSecond: plannedPerSecond(settings.exchange),
      budget: exchange.budget,
      clock,
      time: exchange.http.time,
      random,
      observe,
      store,
      eventsKeptMs: retention.eventsMs,
      marginRatio: (wallet) => ingest.watch.marginRatio(wallet),
      wantedMarkets: (source) => ingest.watch.wantedMarkets(source),
      needs: {
        orderAges: () => ingest.watch.needs.orderAges,
        equityCheck: () => ingest.watch.needs.equityCheck,
        midnightMs: (wallet) => ingest.watch.midnightMs(wallet),
      },
      // Kept for inspection, and worth nothing more: a disk that does not take it has other troubles.
      onBadRecord: ({ source, wallet, body, problem }) => {
        const payload = { atMs: clock.nowMs(), source, wallet, body, problem };
        store.commit([changes({ payloads: [payload] })]).catch(() => {});
      },
      secrets: () => exchange.sessions.all.flatMap(({ secrets }) => secrets),
      log,
      ...(settings.exchange.streams === "off"
        ? {}
        : {
            streams: (listener) =>
              createStreams({
                baseUrl: settings.exchange.baseUrl,
                version,
                clock,
                random,
                sessions: exchange.sessions,
                wallets: settings.wallets,
                openSocket,
                listener,
              }),
          }),
    });
    collectors = collecting;
    ask = (source, wallet) => collecting.ask(source, wallet);

    const audits = new InboxAudits({
      wallets: settings.wallets.filter(({ key }) => key !== null).map(({ name }) => name),
      everyMs: settings.acknowledge.audit,
      clock,
      store,
      isStoring: () => ingest.takesCommits,
      read: (wallet) => collecting.readInbox(wallet),
      fetched: (wallet, events) => collecting.tellInbox(wallet, events),
      acknowledger,
      held: () => new Map(ingest.watch.heldBack.map(({ alertId, why }) => [alertId, why])),
      observe: (observation) => observe(observation),
      log,
    });
    const digest = new Digest({
      schedule: settings.digest && digestSchedule(settings.digest, settings.timezone),
      receivers: settings.digest?.receivers ?? [],
      timezone: settings.timezone,
      store,
      clock,
      status: () => source.status(),
      post: (messages) => outbox.post(messages),
      sender: `perpwatch on ${host}`,
      instance: path.resolve(settings.history.path),
      log,
    });
    const handOvers = new HandOvers({
      plans: () => rotas,
      takes: (name) => {
        const one = settings.channels[name];
        return one !== undefined && !alertsOnly.has(one.type);
      },
      store,
      clock,
      firing: () => ingest.watch.status(clock.nowMs()).firing,
      post: (messages) => outbox.post(messages),
      sender: `perpwatch on ${host}`,
      instance: path.resolve(settings.history.path),
      log,
    });
    const loopLag = new LoopLag(machine);
    let turnedMs: number | null = null;
    const heartbeat = settings.heartbeat
      ? new Heartbeat({
          settings: settings.heartbeat,
          clock,
          log,
          turnedMs: () => turnedMs,
          readMs: () =>
            collecting.status().reduce<number | null>((newest, { lastOkMs }) => {
              return lastOkMs === null ? newest : Math.max(newest ?? lastOkMs, lastOkMs);
            }, null),
          critical: () => outbox.critical(),
        })
      : null;
    const pace = new Pace(settings, startedMs);
    let newest = settings;
    let replaced: Promise<unknown> = Promise.resolve();
    /** Judges by other rules, and goes on where it was. One at a time. */
    const judgeBy = (next: DaemonSettings): Promise<void> => {
      const done = replaced.then(async () => {
        const ruleSet = rulesAtPace(settings, next, pace.ages, clock.nowMs());
        const parts = { ...watchSettings(next), ruleSet, reloaded: true };
        const build = await preparedWatch(parts, store, clock.nowMs());
        await ingest.replace((before) => build(clock.nowMs(), before));
        newest = next;
      });
      replaced = done.catch(() => {});
      return done;
    };
    const source = new DaemonSource({
      signer: deps.signer ?? { trouble: "" },
      startedMs,
      clock,
      store,
      exchange,
      ingest,
      outbox,
      digest,
      acknowledger,
      drills,
      audits,
      heartbeat,
      collectors: collecting,
      channels,
      settings,
      loopLag,
      databasePath: settings.history.path,
      pace,
    });

    // Delivery first: what an earlier run owes leaves even when the exchange does not answer.
    // They end in their turn, after the last judgement is written, and not with the signal.
    const delivering = new AbortController().signal;
    await outbox.start(delivering);
    undo.push(() => outbox.stop());
    outbox.onSettled((alertIds) => {
      acknowledger.settled(alertIds);
      drills.settled(alertIds);
    });
    await acknowledger.start(delivering);
    undo.push(async () => {
      await Promise.all([acknowledger.stop(), outbox.stop()]);
    });
    ingest.start();
    undo.push(async () => {
      source.stopping();
      await ingest.observe({ kind: "stopped", atMs: clock.nowMs() });
      await ingest.stop();
    });
    await ingest.observe({ kind: "started", atMs: startedMs, version, lastAliveMs });
    const lostTime = new LostTime(machine, clock);
    const cancelLost = every(machine, 1_000, async () => {
      const fromMs = lostTime.look();
      if (fromMs !== null)
        await observe({ kind: "started", atMs: clock.nowMs(), version, lastAliveMs: fromMs });
    });
    undo.push(cancelLost);
    const notes = new SetNotes(store, machine, (error) => breakDown(error));
    undo.push(() => notes.stop());
    await notes.note(settings, startedMs);
    await exchange.start();
    await collecting.start(stopping.signal);
    undo.push(() => collecting.stop());

    const dashboard = outside.createDashboard({
      listen: settings.dashboard,
      socketPath: `${settings.history.path}.sock`,
      source,
      store,
      log,
      clock,
      machine,
    });
    const { url } = await dashboard.start(stopping.signal);
    undo.push(() => dashboard.stop());

    const cancelFigures = every(machine, figuresEveryMs, async () => {
      await source.refresh();
      await observe({ kind: "daemon", atMs: clock.nowMs(), figures: source.figures() });
      turnedMs = clock.elapsedMs();
    });
    undo.push(cancelFigures);
    let restMs = maintainEveryMs;
    let walTold = false;
    const cancelMaintain = every(machine, maintainAgainMs, async () => {
      restMs -= maintainAgainMs;
      if (restMs > 0) return;
      restMs = maintainEveryMs;
      try {
        // Behind: it goes on soon, or a large desk's log would grow for ever.
        if (!(await store.maintain(machine.nowMs(), maintainBudgetMs)).finished) restMs = 0;
        const walBytes = await store.walBytes();
        if (walBytes > largestWalBytes && !walTold)
          log.warn(
            { walBytes },
            "a long reader keeps the write-ahead file from being emptied: it grows until that ends",
          );
        walTold = walBytes > largestWalBytes;
      } catch (error) {
        log.warn({ error: String(error) }, "keeping the database in order failed; tried again later");
      }
    });
    undo.push(cancelMaintain);
    const cancelPace = every(machine, paceEveryMs, async () => {
      if (!pace.look(collecting.status(), clock.elapsedMs())) return;
      const { stretched } = pace;
      try {
        await judgeBy(newest);
        if (stretched.length > 0) log.info({ stretched }, stretchedText(stretched));
        else log.info("the schedules are kept again: data count as too old as configured");
      } catch (error) {
        pace.undo();
        log.warn({ error: String(error) }, "ages of data could not follow the granted requests");
      }
    });
    undo.push(cancelPace);
    heartbeat?.start();
    undo.push(() => heartbeat?.stop());
    audits.start();
    undo.push(() => audits.stop());
    drills.start();
    undo.push(() => drills.stop());
    loopLag.start();
    undo.push(() => loopLag.stop());
    void digest.start();
    undo.push(() => digest.stop());
    handOvers.start();
    undo.push(() => handOvers.stop());
    source.running();

    return {
      url,
      pageLink: () => dashboard.link(),
      status: () => source.status(),
      broken,
      async reload(next) {
        const people = Object.values(next.rotas).flatMap((plan) => plan.people);
        const unknown = [...allReceivers(next.routing), ...people].filter((name) => !channels.has(name));
        // What is owed to a channel that does not run would be lost.
        if (unknown.length > 0)
          throw new Error(`routes lead to ${unknown.join(", ")}: a new channel runs only after a restart`);
        await judgeBy(next);
        templates = next.templates;
        // A rota that the new configuration does not have keeps its plan: messages may be on their way to it.
        rotas = { ...rotas, ...next.rotas };
        handOvers.reloaded();
        stormFold = next.routing.stormFold;
        audits.every(next.acknowledge.audit);
        dashboard.reload(next.dashboard);
        await notes.note(next, clock.nowMs());
        // What was known is known still; what only the new rules read is asked for now.
        const schedules = collecting.status();
        for (const source of neededAtOnce) {
          for (const schedule of schedules)
            if (schedule.source === source) collecting.ask(source, schedule.wallet);
        }
        return fixedSections.filter(
          (section) => exactJson(fixedPart(next, section)) !== exactJson(fixedPart(settings, section)),
        );
      },
      signInAgain: () => exchange.sessions.tryAgain(),
      async idle() {
        await ingest.settled();
        await outbox.idle();
        await acknowledger.idle();
      },
      stop: unwind,
    };
  }
}

/** Runs until the signal aborts or something breaks; the exit status. */
export async function runDaemon(
  settings: DaemonSettings,
  options: DaemonDeps & { readonly signal: AbortSignal; readonly onStarted?: (daemon: Daemon) => void },
): Promise<number> {
  const { log, signal } = options;
  const clock = options.clock ?? systemClock();
  const startedMs = clock.elapsedMs();
  const daemon = await startDaemon(settings, options).catch((error: unknown) => {
    if (signal.aborted) return null;
    throw error;
  });
  if (daemon === null) {
    log.info("stopped before it had started");
    return 0;
  }
  const names = settings.wallets.map((wallet) => wallet.name).join(", ");
  log.info(`watching ${names}${daemon.url ? `; status page ${daemon.url}` : ""}`);
  options.onStarted?.(daemon);
  const stopped = new Promise<"stopped">((resolve) => {
    if (signal.aborted) resolve("stopped");
    signal.addEventListener("abort", () => resolve("stopped"), { once: true });
  });
  try {
    await Promise.race([stopped, daemon.broken]);
    return 0;
  } catch (error) {
    log.fatal({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }, "broken");
    return 1;
  } finally {
    await daemon.stop();
    log.info(
      `stopped after ${formatDurationMs(clock.elapsedMs() - startedMs)}; ${leftOver(daemon.status())}`,
    );
  }
}

/** The files that a stop leaves for the next start, and what it leaves alone. */
function leftOver({ channels, acknowledgements, database, watch }: DaemonStatus): string {
  const count = (n: number, what: string): string[] => (n === 0 ? [] : [`${n} ${what}${n === 1 ? "" : "s"}`]);
  const waiting = channels.reduce((sum, channel) => sum + channel.waiting, 0);
  const owed = [
    ...count(waiting, "message"),
    ...count(acknowledgements.due, "acknowledgement of notifications"),
  ];
  const lost = count(database.waitingCommits, "observation");
  const stored =
    lost.length === 0 ? "all that was seen is stored" : `${lost} could not be stored and will be read again`;
  const left =
    owed.length === 0
      ? `${stored}, nothing is owed`
      : `${stored}, ${owed.join(" and ")} still owed, to be sent at the next start`;
  const firing = unwatched(watch.firing);
  return firing === null ? left : `${left}; ${firing}`;
}

/** Maximum number of ids a line names of each severity. */
const mostIds = 10;

/** `2 critical alerts are firing (#18, #20): nobody watches them now`, worst first; null: nothing fires. */
function unwatched(firing: readonly Pick<Alert, "id" | "severity">[]): string | null {
  if (firing.length === 0) return null;
  const parts = severities.toReversed().flatMap((severity) => {
    const ids = firing.filter((one) => one.severity === severity).map(({ id }) => `#${id}`);
    if (ids.length === 0) return [];
    const more = ids.length > mostIds ? ", …" : "";
    const word = ids.length === 1 ? "alert is" : "alerts are";
    return [`${ids.length} ${severity} ${word} firing (${ids.slice(0, mostIds).join(", ")}${more})`];
  });
  return `${parts.join(", ")}: nobody watches ${firing.length === 1 ? "it" : "them"} now`;
}

/** Sources that new rules may read and nobody asked for before, what risk rests on first; histories come at their own pace. */
const neededAtOnce: readonly Source[] = [
  "marketConfig",
  "markets",
  "traderState",
  "exchangeStatus",
  "collateral",
  "fundingRates",
  "orderbook",
  "calendars",
  "candles",
];

/** Sections of config.yaml that a running daemon keeps as it read them at its start. */
const fixedSections = [
  "exchange",
  "wallets",
  "signer",
  "schedules",
  "history",
  "channels",
  "mention",
  "digest",
  "dashboard",
  "drill",
  "heartbeat",
] as const;

/** Plans of rotas, and the certificate, password and names of the page, are no part of it: a reload takes new ones. */
function fixedPart(settings: DaemonSettings, section: (typeof fixedSections)[number]): unknown {
  if (section === "dashboard" && settings.dashboard !== null) {
    const { host, port, login, behindProxy, tls } = settings.dashboard;
    return { host, port, login, behindProxy, tls: tls !== null };
  }
  if (section !== "channels") return settings[section];
  const channels = Object.entries(settings.channels);
  return channels.map(([name, one]) => [name, one.type === "rota" ? { type: one.type } : one]);
}

/** Its name tells one schedule from another. */
function digestSchedule({ cron, timezone: given }: DigestSettings, own: string) {
  const timezone = given ?? own;
  const schedule = new CronSchedule(cron, timezone);
  return { name: `${cron} ${timezone}`, next: (afterMs: number) => schedule.next(afterMs) };
}

function exactJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? part.toString() : part));
}

/** Repeats work with a pause after each run; nothing overlaps, and a failure ends nothing. */
function every(clock: Clock, ms: number, work: () => Promise<void>): () => void {
  let stopped = false;
  let cancel = (): void => {};
  const next = (): void => {
    if (stopped) return;
    cancel = clock.after(ms, () => {
      work().then(next, next);
    });
  };
  next();
  return () => {
    stopped = true;
    cancel();
  };
}

/** A line in the log for each step in an alert's life. */
function tellChanges(log: Logger, committed: Changes): void {
  for (const change of committed.alertChanges) {
    const { alert } = change;
    const fields = { alert: alert.id, rule: alert.rule, subject: alert.subject, severity: alert.severity };
    log.info(fields, `${alert.shadow ? "shadow, " : ""}${stepText(change)}: ${alert.summary}`);
  }
}

function stepText({ kind, alert }: AlertChange): string {
  switch (kind) {
    case "fired":
      return alert.drill ? "fire drill" : alert.event ? "event" : "firing";
    case "rose":
      return "firing, worse";
    case "worsened":
      return "still firing, worse";
    case "changed":
      return "still firing, changed";
    case "fell":
      return "firing, better";
    case "ended":
      return alert.ending === "recovered" ? "resolved" : `ended (${alert.ending})`;
    default:
      return kind;
  }
}
