/** Reads back from history what the watch has to know at a start: rule states, open alerts, throttles, windows. */
import type { Event, EventKind } from "../domain/event.ts";
import type { Store } from "../domain/ports.ts";
import type { Scope } from "../domain/subject.ts";
import { clockSlackMs } from "../watch/endings.ts";
import { heldPrefix } from "../watch/held-events.ts";
import { factName, type Remembered } from "../watch/remembered.ts";
import type { WatchSettings } from "../watch/settings.ts";
import { Throttles, throttlePrefix } from "../watch/throttles.ts";
import { Watch } from "../watch/watch.ts";

/** Event alerts looked at for liquidations that were told already. */
const recentAlerts = 1_000;

export async function rememberedWatch(settings: WatchSettings, store: Store, nowMs: number): Promise<Watch> {
  const watch = new Watch(settings, await remembered(store), nowMs);
  const spans = watch.sampleSpans;
  const read = async (owners: readonly string[], ...scopes: readonly Scope[]): Promise<void> => {
    const spanMs = Math.max(0, ...scopes.map((scope) => spans.get(scope) ?? 0));
    if (spanMs === 0) return;
    for (const owner of owners) {
      for await (const tick of store.ticks({ owner, fromMs: nowMs - spanMs })) watch.rememberTick(tick);
    }
  };
  const wallets = settings.wallets.map((wallet) => wallet.name);
  await read(["markets", "fundingRates"], "market");
  await read(["daemon"], "daemon");
  await read(wallets, "wallet");
  // Thousands of accounts have millions of samples a day: read only for rules that look back over accounts themselves.
  if (spans.has("trader") || spans.has("position"))
    await read(await accountOwners(store, settings), "trader", "position");
  for (const [kind, spanMs] of watch.eventSpans) {
    for (const event of await store.events({ kind, fromMs: nowMs - spanMs })) watch.rememberEvent(event);
  }
  return watch;
}

async function remembered(store: Store): Promise<Remembered> {
  const firing = await store.alerts({ state: "firing" });
  const recent = await store.alerts({ state: "ended", limit: recentAlerts });
  const keep = await store.keep();
  const changes = (
    await Promise.all(firing.map((alert) => store.alertChanges({ alertId: alert.id })))
  ).flat();
  const held = [...keep].flatMap(([name, value]) =>
    name.startsWith(throttlePrefix) ? Throttles.heldIds(value) : [],
  );
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
async function accountOwners(store: Store, settings: WatchSettings): Promise<readonly string[]> {
  const wallets = new Set(settings.wallets.map((wallet) => wallet.name));
  return (await store.tickOwners()).filter(
    (owner) => owner.includes("/") && wallets.has(owner.split("/")[0]!),
  );
}
