/** Reads back from history what the watch has to know at a start: rule states, open alerts, throttles, windows. */
import { setImmediate as turn } from "node:timers/promises";
import type { Event, EventKind } from "../domain/event.ts";
import type { Tick } from "../domain/observation.ts";
import type { Store } from "../domain/ports.ts";
import type { Scope } from "../domain/subject.ts";
import { clockSlackMs } from "../watch/endings.ts";
import { heldPrefix } from "../watch/held-events.ts";
import { factName, nothingRemembered, type Remembered } from "../watch/remembered.ts";
import type { WatchSettings } from "../watch/settings.ts";
import { Throttles } from "../watch/throttles.ts";
import { Watch } from "../watch/watch.ts";

/** Event alerts looked at for liquidations that were told already. */
const recentAlerts = 1_000;

/** Samples fed before the loop gets its turn: reading back a long past must not hold everything else up. */
const fedAtOnce = 2_000;

/** What a watch is made from: the database, or what a replay keeps in its place. */
export type Rememberable = Pick<
  Store,
  | "ticks"
  | "tickOwners"
  | "events"
  | "eventByKey"
  | "facts"
  | "keep"
  | "ruleStates"
  | "alerts"
  | "alertChanges"
  | "owed"
  | "lastIds"
>;

export async function rememberedWatch(
  settings: WatchSettings,
  store: Rememberable,
  nowMs: number,
): Promise<Watch> {
  const pasts: Past[] = [];
  for await (const past of readPasts(settings, store, nowMs)) pasts.push(past);
  return watchOf(settings, store, pasts, nowMs);
}

/**
 * Reads the long part of the past, the samples behind windows, while another watch goes on judging.
 * @returns what makes the watch: it reads the rest, which is short, and for that time nothing may be judged
 */
export async function preparedWatch(
  settings: WatchSettings,
  store: Rememberable,
  nowMs: number,
): Promise<(nowMs: number) => Promise<Watch>> {
  const pasts: Past[] = [];
  for await (const past of readPasts(settings, store, nowMs)) pasts.push(past);
  return async (thenMs) => {
    for (const past of pasts) await readOn(past, store);
    return watchOf(settings, store, pasts, thenMs);
  };
}

async function watchOf(
  settings: WatchSettings,
  store: Rememberable,
  pasts: readonly Past[],
  nowMs: number,
): Promise<Watch> {
  const watch = new Watch(settings, await remembered(store), nowMs);
  let fed = 0;
  for (const { ticks } of pasts) {
    for (const tick of ticks.splice(0)) {
      watch.rememberTick(tick);
      if (++fed % fedAtOnce === 0) await turn();
    }
  }
  for (const [kind, spanMs] of watch.eventSpans) {
    for (const event of await store.events({ kind, fromMs: nowMs - spanMs })) watch.rememberEvent(event);
  }
  const dayMs = watch.dayToReadMs;
  if (dayMs !== null) {
    for (const kind of ["fill", "funding", "collateral"] as const)
      for (const event of await store.events({ kind, fromMs: dayMs })) watch.rememberToday(event);
  }
  return watch;
}

/** Samples of one owner, oldest first, as far as they were read. */
interface Past {
  readonly owner: string;
  readonly fromMs: number;
  readonly ticks: Tick[];
}

/** Reads what came since the last reading: several samples may be of one moment, of which some were read before. */
async function readOn({ owner, fromMs, ticks }: Past, store: Rememberable): Promise<void> {
  const lastMs = ticks.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY;
  let known = 0;
  for (let i = ticks.length - 1; i >= 0 && ticks[i]!.atMs === lastMs; i--) known++;
  for await (const tick of store.ticks({ owner, fromMs: Math.max(fromMs, lastMs) })) {
    if (tick.atMs === lastMs && known-- > 0) continue;
    if (ticks.push(tick) % fedAtOnce === 0) await turn();
  }
}

/** The samples that the rules look back over, owner by owner. */
async function* readPasts(settings: WatchSettings, store: Rememberable, nowMs: number): AsyncIterable<Past> {
  const spans = new Watch(settings, nothingRemembered, nowMs).sampleSpans;
  const spanOf = (...scopes: readonly Scope[]) =>
    Math.max(0, ...scopes.map((scope) => spans.get(scope) ?? 0));
  // Thousands of accounts have millions of samples a day: read only for rules that look back over accounts themselves.
  const ofAccounts = spanOf("trader", "position");
  const accounts = ofAccounts > 0 ? await accountOwners(store, settings) : [];
  const wallets = settings.wallets.map((wallet) => wallet.name);
  const ofTogether = spanOf("book", "pair");
  const together =
    ofTogether > 0 ? (await store.tickOwners()).filter((owner) => /^(book|pair)\//.test(owner)) : [];
  const all: readonly (readonly [readonly string[], number])[] = [
    [["markets", "fundingRates"], spanOf("market")],
    [["daemon"], spanOf("daemon")],
    [wallets, spanOf("wallet")],
    [accounts, ofAccounts],
    [together, ofTogether],
  ];
  for (const [owners, spanMs] of all) {
    for (const owner of spanMs === 0 ? [] : owners) {
      const past: Past = { owner, fromMs: nowMs - spanMs, ticks: [] };
      await readOn(past, store);
      yield past;
    }
  }
}

async function remembered(store: Rememberable): Promise<Remembered> {
  const firing = await store.alerts({ state: "firing" });
  const recent = await store.alerts({ state: "ended", limit: recentAlerts });
  const keep = await store.keep();
  const changes = (
    await Promise.all(firing.map((alert) => store.alertChanges({ alertId: alert.id })))
  ).flat();
  const held = Throttles.heldIds(keep);
  if (held.length > 0) changes.push(...(await store.alertChanges({ ids: held })));
  const told = new Map<number, string[]>();
  if (firing.length > 0) {
    for (const item of await store.owed({ alertIds: firing.map((alert) => alert.id) })) {
      told.set(item.alertId, [...(told.get(item.alertId) ?? []), item.receiver]);
    }
  }
  // What may have taken the subjects of the alerts that fire, unless it was told as the end of alerts before them.
  const sinceMs = Math.min(...firing.map((alert) => alert.sinceMs)) - clockSlackMs;
  const liquidations = firing.length > 0 ? await store.events({ kind: "liquidation", fromMs: sinceMs }) : [];
  for (const { id, ending, endedAtMs } of liquidations.length > 0 ? recent : []) {
    if (ending === "liquidated" && endedAtMs !== null && endedAtMs >= sinceMs)
      changes.push(...(await store.alertChanges({ alertId: id })));
  }
  const waiting: Event[] = [];
  for (const name of keep.keys()) {
    if (!name.startsWith(heldPrefix)) continue;
    const [kind = "", key = ""] = splitOnce(name.slice(heldPrefix.length), "/");
    const event = await store.eventByKey(kind as EventKind, key);
    if (event) waiting.push(event);
  }
  return {
    ids: await store.lastIds(),
    ruleStates: await store.ruleStates(),
    alerts: [...firing, ...recent],
    alertChanges: changes,
    told,
    keep,
    liquidations,
    held: waiting,
    facts: new Map((await store.facts()).map((fact) => [factName(fact.owner, fact.name), fact.value])),
  };
}

function splitOnce(text: string, at: string): [string, string] {
  const index = text.indexOf(at);
  return [text.slice(0, index), text.slice(index + at.length)];
}

/** Owners of account ticks: PDA indices and subaccounts are known from the newest ones on record. */
async function accountOwners(store: Rememberable, settings: WatchSettings): Promise<readonly string[]> {
  const wallets = new Set(settings.wallets.map((wallet) => wallet.name));
  return (await store.tickOwners()).filter(
    (owner) => owner.includes("/") && wallets.has(owner.split("/")[0]!),
  );
}
