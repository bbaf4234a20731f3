/**
 * One scenario: a seed, what it makes of the world and its troubles, ten simulated minutes with the daemon in them, and the event
 * log of all that. The same seed gives the same observations, changes and messages: their hash is compared.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { watchSettingsOf } from "../../src/daemon/settings/watch.ts";
import type { DaemonSettings } from "../../src/daemon/settings.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import type { DeliveryItem, Message } from "../../src/domain/alerts/delivery.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import type { DaemonStatus } from "../../src/domain/status.ts";
import { type History, openStore } from "../../src/history/index.ts";
import { backtest } from "../../src/replay/backtest.ts";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import type { Change } from "../../src/simulator/state.ts";
import { VirtualTime } from "./clock.ts";
import { sections, settingsOf } from "./config.ts";
import { type LifeEvent, planTroubles, type Troubles, troublesShare } from "./faults.ts";
import { letHistoriesLag } from "./histories.ts";
import { keyOf, Venue } from "./line.ts";
import { EventLog, type LogEntry } from "./log.ts";
import { Machine } from "./machine.ts";
import { isWhale, nameOf } from "./names.ts";
import { gapIn } from "./oracle/lives.ts";
import { Truth } from "./oracle/truth.ts";
import { closeWhatIsLeft } from "./panic.ts";
import { planShocks } from "./shocks.ts";
import { planStart, type Start } from "./start.ts";
import { type Fault, Weather } from "./weather.ts";
import { type Deed, perform, planWorld, settle, type WorldPlan } from "./world.ts";

export const lengthMs = 600_000;
const statusEveryMs = 15_000;
const judgedAgainMs = 3_000;
/** The time that a daemon may take to stop. */
const stopWithinMs = 60_000;

export interface Plan {
  readonly seed: number;
  readonly start: Start;
  readonly world: WorldPlan;
  readonly troubles: Troubles;
}

/** The end of a scenario. */
export interface Outcome {
  readonly plan: Plan;
  readonly log: EventLog;
  readonly truth: Truth;
  /** Sections of config.yaml, of each version that was in use. */
  readonly sections: readonly Readonly<Record<string, unknown>>[];
  readonly simulator: Simulator;
  /** Things that no daemon may do: it broke, did not start, … */
  readonly faults: readonly string[];
  /** At the end, before it was stopped; null: nothing ran. */
  readonly status: DaemonStatus | null;
  /** True wall time of that, ms. */
  readonly endMs: number;
  /** The rows of the database after the end. */
  readonly owed: readonly DeliveryItem[];
  readonly messages: readonly Message[];
  /** The changes of alerts that a replay of the recording decides on; null where rules changed on the way, or it has a gap. */
  readonly replayed: readonly AlertChange[] | null;
  readonly digest: string;
  /** Time of the processor, ms. */
  readonly tookMs: number;
  readonly timers: number;
}

export function planOf(seed: number): Plan {
  const world = planWorld(seed, lengthMs);
  const { wallets } = world;
  const named = (whales: boolean) => wallets.filter((one) => isWhale(one) === whales).map(({ name }) => name);
  const keyed = wallets.flatMap(({ name, watchOnly }) => (watchOnly ? [] : [name]));
  const troubles = planTroubles(seed, lengthMs, named(false), keyed, named(true));
  const deeds = [...world.deeds, ...planShocks(seed, troubles, world.deeds)].sort((a, b) => a.atMs - b.atMs);
  return { seed, start: planStart(seed, lengthMs), world: { ...world, deeds }, troubles };
}

/** @param onLeft is given the database after the end, and may copy it */
export async function runScenario(plan: Plan, onLeft?: (file: string) => Promise<void>): Promise<Outcome> {
  const began = process.cpuUsage();
  const { seed, start, world, troubles } = plan;
  const folder = fs.mkdtempSync(path.join(databases(), "perpwatch-truth-"));
  const time = new VirtualTime(start.atMs);
  const log = new EventLog(() => time.nowMs);
  const simulator = await startSimulator({
    clock: time.clock(),
    port: null,
    seed,
    traders: 0,
    walk: false,
    requestsPerSecond: world.requestsPerSecond,
  });
  try {
    const truth = new Truth(simulator.world, () => time.nowMs);
    simulator.world.listeners.add((change) => log.add(ledgerEntry(simulator, change)));
    await settle(simulator, world);
    const venue = new Venue(simulator, time);
    const weather = new Weather(troubles.faults, () => time.elapsedMs);
    const random = seededRandom(seed * 31_337);
    for (const wallet of simulator.world.wallets.values()) letHistoriesLag(wallet, { time, weather, random });
    const later = (ms: number, deed: Deed): void => {
      time.after(ms, async () => {
        const text = await venue.take(() => perform(simulator, world, deed));
        truth.note();
        if (text !== null) log.add({ kind: "deed", text });
      });
    };
    for (const deed of [...world.deeds, ...revocations(troubles.faults)]) later(deed.atMs, deed);
    closeWhatIsLeft(simulator, world, seed, later);
    const written = [0, 1].map((version) => sections(plan, simulator, version));
    const read = written.map(settingsOf);
    const machine = new Machine({
      ...{ seed, time, venue, weather, log, folder },
      aheadMs: troubles.aheadMs,
      settings: (version) => read[version % read.length]!,
    });
    for (const { fromMs, toMs, ...fault } of troubles.faults) {
      time.after(fromMs, () => {
        log.add({ kind: "fault", text: `begins: ${JSON.stringify(fault)}` });
        if (fault.kind === "outage" && fault.streams) machine.breakStreams("all");
        if (fault.kind === "streamsDown") machine.breakStreams(fault.of);
      });
      time.after(toMs, () => log.add({ kind: "fault", text: `ends: ${JSON.stringify(fault)}` }));
    }
    for (const event of troubles.life)
      time.after(event.atMs, () => {
        // Whoever tells a process something that stands still is heard afterwards.
        const heardMs = event.kind === "reload" || event.kind === "restart" ? machine.stalledForMs : 0;
        if (heardMs === 0) happen(event, machine, time, log);
        else time.after(heardMs, () => happen(event, machine, time, log));
      });
    time.after(lengthMs * troublesShare, () => machine.spare());
    const look = (): void => {
      machine.status();
      time.after(statusEveryMs, look);
    };
    time.after(statusEveryMs, look);
    time.after(0, () => void machine.start());
    await time.runTo(lengthMs);
    const status = machine.status();
    const endMs = time.nowMs;
    const stopped = await time.runUntil(machine.stop(), stopWithinMs);
    const faults = [...machine.faults, ...(stopped ? [] : [`it did not stop within ${stopWithinMs} ms`])];
    if (!stopped) machine.kill();
    if (machine.file !== null) await onLeft?.(machine.file);
    const left = await leftIn(machine.file, cannotReplay(plan, log) ? null : read[0]!, start.atMs);
    const used = process.cpuUsage(began);
    return {
      ...{
        plan,
        log,
        truth,
        sections: isReconfigured(plan) ? written : written.slice(0, 1),
        simulator,
        faults,
        status,
        endMs,
        ...left,
      },
      digest: log.digest(),
      tookMs: used.user / 1_000 + used.system / 1_000,
      timers: time.fired,
    };
  } finally {
    await simulator.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** The ends of sessions that faults bring about. */
function revocations(faults: readonly Fault[]): readonly Deed[] {
  return faults.flatMap((fault) => {
    if (fault.kind !== "signInsRefused" && fault.kind !== "sessionsRevoked") return [];
    const { fromMs, toMs, wallets } = fault;
    const everyMs = fault.kind === "sessionsRevoked" ? fault.everyMs : Number.POSITIVE_INFINITY;
    const times = [fromMs];
    for (let atMs = fromMs + everyMs; atMs < toMs; atMs += everyMs) times.push(atMs);
    return times.flatMap((atMs) =>
      wallets.map((wallet): Deed => ({ kind: "session", atMs, wallet, action: "revoke" })),
    );
  });
}

function ledgerEntry({ world }: Simulator, { slot, accounts, notifications }: Change): LogEntry {
  const changed = [...accounts.keys()].filter((account) => account !== world.house);
  return {
    kind: "ledger",
    slot,
    // The versions of an account are never changed.
    accounts: changed.map((account) => ({ name: nameOf(account), version: account.versions.at(-1)! })),
    notifications: notifications.map(({ wallet, notification }) => ({
      wallet: world.wallets.get(wallet)!.name,
      id: notification.id,
      key: keyOf(notification, wallet),
      type: notification.notificationType,
    })),
  };
}

function happen(event: LifeEvent, machine: Machine, time: VirtualTime, log: EventLog): void {
  const startAfter = (ms: number): void => void time.after(ms, () => void machine.start());
  switch (event.kind) {
    case "reload":
      void machine.reload(event.changed);
      // Once more when it has judged again.
      time.after(judgedAgainMs, () => machine.status());
      return;
    case "restart":
      if (machine.running) void machine.stop().then(() => startAfter(event.awayMs));
      return;
    case "kill":
      if (!machine.alive) return;
      if (event.step !== null) machine.killAt(event.step, () => startAfter(event.awayMs));
      else {
        machine.kill();
        startAfter(event.awayMs);
      }
      return;
    case "clock":
      log.add({ kind: "fault", text: `the daemon's clock is set ${Math.round(event.aheadMs)} ms ahead` });
      machine.setClock(event.aheadMs);
      return;
    case "streamsBreak":
      log.add({ kind: "fault", text: "every stream breaks" });
      machine.breakStreams("all");
      return;
    case "stall":
      machine.stall(event.ms);
  }
}

const isReconfigured = ({ troubles }: Plan): boolean =>
  troubles.life.some((event) => event.kind === "reload" && event.changed);

/** True if the recording has a gap, or rules changed on the way: by a reload, or where the ages of data followed the granted requests. */
function cannotReplay(plan: Plan, log: EventLog): boolean {
  if (isReconfigured(plan)) return true;
  if (log.of("committed").some(({ changes }) => gapIn(changes.milestones) !== null)) return true;
  return log.of("said").some(({ text }) => text.includes('"stretched"'));
}

/** @param settings of the whole time; null: nothing is replayed */
async function leftIn(
  file: string | null,
  settings: DaemonSettings | null,
  startMs: number,
): Promise<Pick<Outcome, "owed" | "messages" | "replayed">> {
  if (file === null) return { owed: [], messages: [], replayed: null };
  const store = openStore({ path: file });
  try {
    const replayed = settings && (await replay(store, settings, startMs));
    return { owed: await store.deliveryItems({}), messages: await store.messages({}), replayed };
  } finally {
    await store.close();
  }
}

async function replay(
  store: History,
  settings: DaemonSettings,
  startMs: number,
): Promise<readonly AlertChange[]> {
  const { journal } = await backtest({
    settings: watchSettingsOf(settings, settings, startMs),
    rulesFor: () => settings.ruleSet,
    history: store,
    fromMs: 0,
    toMs: Number.MAX_SAFE_INTEGER,
  });
  return journal.changes;
}

/** Memory where there is some: thousands of databases need not be safe from power cuts. */
function databases(): string {
  try {
    fs.accessSync("/dev/shm", fs.constants.W_OK);
    return "/dev/shm";
  } catch {
    return os.tmpdir();
  }
}
