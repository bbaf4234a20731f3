/** The fifth stage: reading from the exchange. */
import { createCollectors } from "../../collect/index.ts";
import { InboxAudits } from "../../deliver/index.ts";
import { changes } from "../../domain/stored/changes.ts";
import { createStreams, plannedPerSecond } from "../../exchange/index.ts";
import { version } from "../version.ts";
import type {
  Basics,
  CollectionParts,
  DeliveryParts,
  EngineParts,
  ExchangeParts,
  StoreParts,
} from "./parts.ts";

type Made = Basics & StoreParts & ExchangeParts & EngineParts & DeliveryParts;

export function collectionStage(of: Made): CollectionParts {
  const { settings, deps, log, random, clock, store, exchange, ingest, acknowledger, signals } = of;
  const collectors = createCollectors({
    ...{ clock, random, store, log, client: exchange.client, budget: exchange.budget },
    wallets: settings.wallets.map(({ name, authority, key, pdaIndices }) => ({
      ...{ name, authority, pdaIndices, watchOnly: key === null },
    })),
    schedules: settings.schedules,
    requestsPerSecond: plannedPerSecond(settings.exchange),
    time: exchange.http.time,
    observe: (observation) => ingest.observe(observation),
    eventsKeptMs: settings.history.retention.eventsMs,
    marginRatio: (wallet) => ingest.watch.marginRatio(wallet),
    wantedMarkets: (source) => ingest.watch.wantedMarkets(source),
    needs: {
      orderAges: () => ingest.watch.needs.orderAges,
      equityCheck: () => ingest.watch.needs.equityCheck,
      midnightMs: (wallet) => ingest.watch.midnightMs(wallet),
    },
    // Stored for inspection only, so a failed commit is ignored.
    onBadRecord: ({ source, wallet, body, problem }) => {
      const payload = { atMs: clock.nowMs(), source, wallet, body, problem };
      store.commit([changes({ payloads: [payload] })]).catch(() => {});
    },
    secrets: () => exchange.sessions.all.flatMap(({ secrets }) => secrets),
    ...(settings.exchange.streams === "off"
      ? {}
      : {
          streams: (listener) =>
            createStreams({
              ...{ version, clock, random, listener, wallets: settings.wallets },
              baseUrl: settings.exchange.baseUrl,
              sessions: exchange.sessions,
              openSocket: deps.outside?.openSocket,
            }),
        }),
  });
  signals.asked.listen(({ source, wallet }) => collectors.ask(source, wallet));
  signals.badRecord.listen((report) => collectors.badRecord(report));
  signals.acknowledged.listen((wallet) => collectors.acknowledged(wallet));
  signals.session.listen(({ wallet, signedIn, detail }) => {
    // An unreachable exchange has its own log line; the sign-in failures that follow from it are not warnings.
    const level = signedIn ? "info" : collectors.outage() ? "debug" : "warn";
    log[level]({ wallet }, signedIn ? detail : `signed out: ${detail}`);
    void ingest.observe({ kind: "session", wallet, atMs: clock.nowMs(), signedIn, detail });
    if (!signedIn) return;
    acknowledger.signedIn(wallet);
    collectors.streams()?.streams.signedIn(wallet);
  });
  return {
    collectors,
    audits: new InboxAudits({
      ...{ clock, store, acknowledger, log },
      wallets: settings.wallets.filter(({ key }) => key !== null).map(({ name }) => name),
      everyMs: settings.acknowledge.audit,
      isStoring: () => ingest.takesCommits,
      read: (wallet) => collectors.readInbox(wallet),
      fetched: (wallet, events) => collectors.publishInbox(wallet, events),
      held: () => new Map(ingest.watch.heldBack.map(({ alertId, why }) => [alertId, why])),
      observe: (observation) => ingest.observe(observation),
    }),
  };
}
