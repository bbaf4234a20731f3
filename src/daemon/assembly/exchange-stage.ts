/** The second stage: the exchange's API and its time. */
import { createExchange, logRate } from "../../exchange/index.ts";
import { refusalLines } from "../refusal-lines.ts";
import { version } from "../version.ts";
import type { Basics, ExchangeParts, StoreParts } from "./parts.ts";

/** Maximum wait of a start for the exchange's time. */
const maxTimeWaitMs = 1_500;

export async function exchangeStage(of: Basics & StoreParts): Promise<ExchangeParts> {
  const { settings, deps, log, machine, random, store, clock, signals, onStop } = of;
  const refusals = refusalLines(log, clock);
  onStop(() => refusals.stop());
  const exchange = createExchange({
    settings: settings.exchange,
    version,
    clock: machine,
    random,
    dispatcher: deps.outside?.dispatcher,
    wallets: settings.wallets.flatMap(({ name, key, login }) => (key ? [{ name, key, login }] : [])),
    store,
    onSession: (change) => signals.session.send(change),
    onTrouble: (wallet, detail) => log.warn({ wallet }, detail),
    onSignature: (wallet, entry) =>
      entry.refused === null
        ? log.info({ wallet, sha256: entry.hash }, `signed a ${entry.act}`)
        : refusals.refused(wallet, entry),
    onBadRecord: (report) => signals.badRecord.send(report),
    onTimeRefused: (offsetMs) =>
      log.warn(
        { offsetMs },
        `the exchange states a time more than a day ${offsetMs < 0 ? "ahead of" : "behind"} this machine's: it is not taken, this machine's clock is used`,
      ),
  });
  logRate(exchange.budget, log);
  onStop(() => exchange.stop());
  clock.follow(exchange.http.time);
  // The exchange's time decides which events are old. Without an answer in time, the machine's clock is used.
  await exchange.readTime(maxTimeWaitMs, deps.signal).catch(() => {});
  deps.signal?.throwIfAborted();
  return { exchange, startedMs: clock.nowMs() };
}
