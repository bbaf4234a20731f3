/** The third stage: the watch, restored from history, its queue, and answers about alerts. */
import { IngestLoop } from "../../ingest/loop.ts";
import { restoreWatch } from "../../ingest/restore-watch.ts";
import { AlertAnswers } from "../answers/alert-answers.ts";
import { Silencing } from "../answers/silencing.ts";
import { watchSettingsOf } from "../settings/watch.ts";
import type { DaemonSettings } from "../settings.ts";
import type { Basics, EngineParts, ExchangeParts, StoreParts } from "./parts.ts";

export async function engineStage(of: Basics & StoreParts & ExchangeParts): Promise<EngineParts> {
  const { settings, deps, log, store, clock, startedMs, signals } = of;
  const watchSettings = (from: DaemonSettings) => watchSettingsOf(settings, from, startedMs);
  const watch = await restoreWatch(watchSettings(settings), store, startedMs);
  deps.signal?.throwIfAborted();
  const ingest = new IngestLoop({
    ...{ watch, store, clock },
    onCommitted: (committed) => signals.committed.send(committed),
    onStuck: (stuck) => signals.stuck.send(stuck),
    onAsk: (ask) => signals.asked.send(ask),
    onNote: ({ level, text }) => log[level](text),
    onDegraded: (degraded, why) => signals.degraded.send(degraded, why),
    onBroken: (error) => signals.broken.send(error),
    ...(deps.probe ? { probe: deps.probe } : {}),
  });
  const alertAnswers = new AlertAnswers({ store, ingest, clock });
  return { ingest, watchSettings, alertAnswers, silencing: new Silencing(ingest, clock) };
}
