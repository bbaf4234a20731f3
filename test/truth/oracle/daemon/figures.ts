/**
 * Each figure that the daemon recorded of itself against what happened: how long its process stood still, how far its clock was off,
 * what it sent and was answered, which streams stood, what was owed and not delivered.
 */
import type { DaemonFigures, Observation } from "../../../../src/domain/observation.ts";
import type { Logged } from "../../log.ts";
import type { Outcome } from "../../scenario.ts";
import type { FaultKind } from "../../weather.ts";
import { Clear } from "../clear.ts";
import type { Finding } from "../finding.ts";
import { Terms } from "../terms.ts";
import { Failures } from "./failures.ts";
import { Refusals } from "./refusals.ts";
import { type Range, Tally } from "./tally.ts";
import { Undelivered } from "./undelivered.ts";

type Entry<K extends Logged["kind"]> = Extract<Logged, { kind: K }>;
type Taken = Observation & { readonly kind: "daemon" };

const figuresEveryMs = 5_000;
const slackMs = 1_500;
/** Timers that measure delays are this far apart, and so many are remembered. */
const roundMs = 500;
const rounds = 20;
const usageSeconds = 10;
/** Requests at the turn of a second. */
const edgeWeight = 2;
/** The rates between which the daemon finds out what the exchange grants. */
const [leastPerSecond, mostPerSecond] = [20, 200];
/** Requests that cost as much as two. */
const heavy = /^\/v1\/funding\/overview$|\/pnl\/markets$/;
/** Answers so quick leave little doubt about the exchange's time. */
const quickMs = 150;
const secondMs = 1_000;
/** Nothing is as late as this where nothing is wrong. */
const calmLagMs = 2_000;
const calmMs = 60_000;
/** The run before it may have come after its turn by this share of what it is late. */
const turnShare = 0.2;
/** These are read so often; a run that began late counts for so long after its stall. */
const slowlyRead = /\/order-history$|^\/v1\/view\/trader\/|^\/v1\/funding\/\w+\/rates$/;
const slowlyMs = 30_000;
const lateCountsMs = 9_500;

/** Faults by which requests fail or are slow, or more of them are made. */
const hindering: ReadonlySet<FaultKind> = new Set([
  "outage",
  "limited",
  "errors",
  "slow",
  "cutOff",
  "signInsRefused",
  "sessionsRevoked",
  "garbled",
  "partErrors",
]);

interface Stall {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A run of the daemon, as far as it is known by now. */
class Life {
  readonly number: number;
  watchesMs: number | null = null;
  lastMs: number | null = null;
  throttled = false;
  readonly stalls: Stall[] = [];
  /** Requests by their weight under the ceiling. */
  readonly sends: { readonly atMs: number; readonly weight: number }[] = [];
  readonly answers: { readonly atMs: number; readonly tookMs: number }[] = [];
  readonly streams = new Tally();
  readonly dead = new Tally();
  /** Messages of which no commit tells. */
  readonly perhapsDead = new Tally();
  /** Answers and frames that surely could not be understood, and others that perhaps could not. */
  readonly bad = new Tally();
  readonly perhapsBad = new Tally();
  readonly refusals = new Refusals();
  readonly failures = new Failures();
  /** By path, the time of the last request for what is read slowly. */
  readonly slowly = new Map<string, number>();
  late: { readonly ms: number; readonly fromMs: number; readonly toMs: number } | null = null;

  constructor(number: number) {
    this.number = number;
  }

  stalledMs(fromMs: number, toMs: number): number {
    return this.stalls.reduce(
      (sum, one) => sum + Math.max(0, Math.min(one.toMs, toMs) - Math.max(one.fromMs, fromMs)),
      0,
    );
  }
}

export function judgeFigures(outcome: Outcome): readonly Finding[] {
  return new FigureJudge(outcome).run();
}

class FigureJudge {
  readonly #outcome: Outcome;
  readonly #terms: Terms;
  readonly #clear: Clear;
  readonly #beginMs: number;
  readonly #undelivered: Undelivered;
  readonly #findings: Finding[] = [];
  /** Streams that stand where all do. */
  readonly #streams: number;
  #life = new Life(0);

  constructor(outcome: Outcome) {
    this.#outcome = outcome;
    this.#terms = new Terms(outcome.sections);
    this.#clear = new Clear(outcome);
    this.#beginMs = outcome.log.entries[0]!.atMs;
    this.#undelivered = new Undelivered(outcome.sections);
    this.#streams = 1 + outcome.plan.world.wallets.filter(({ watchOnly }) => !watchOnly).length;
  }

  run(): readonly Finding[] {
    const killed = new Set<number>();
    for (const entry of this.#outcome.log.entries) {
      if (entry.kind === "life") {
        if (entry.text === "starts") this.#life = new Life(entry.life);
        else if (entry.text === "watches") this.#life.watchesMs = entry.atMs;
        else if (entry.text === "is killed") killed.add(entry.life);
      } else if ("life" in entry && entry.life === this.#life.number && !killed.has(entry.life))
        this.#take(entry);
    }
    return this.#findings;
  }

  #take(entry: Logged): void {
    const life = this.#life;
    const { atMs } = entry;
    switch (entry.kind) {
      case "stalled":
        life.stalls.push({ fromMs: atMs, toMs: atMs + entry.ms });
        return;
      case "sent":
        this.#sent(entry);
        return;
      case "asked":
        if (entry.status === null) return;
        life.throttled ||= entry.status === 429;
        life.answers.push({ atMs, tookMs: atMs - entry.sentMs });
        life.refusals.take(entry);
        if (entry.garbled !== null && !/^\/v1\/auth\/|\/ack\//.test(entry.target)) {
          // Requests of a start, before it watches, are not counted.
          const isCounted = life.watchesMs !== null && entry.sentMs >= life.watchesMs;
          (entry.garbled === "cut" && isCounted ? life.bad : life.perhapsBad).add(1, atMs);
        }
        return;
      case "garbledFrame":
        // A message of which one field is wrong may be found out twice.
        if (entry.garbled === "cut") life.bad.add(1, atMs);
        else life.perhapsBad.add(2, atMs);
        return;
      case "streamOpens":
        life.streams.add(1, atMs);
        return;
      case "streamEnds":
        if (entry.was) life.streams.add(-1, atMs);
        if (entry.by) life.refusals.perhaps(atMs);
        return;
      case "rejected": {
        // Items of an incident that were refused once are in a further message.
        const items = this.#undelivered.inMessage(entry.id);
        const isTried = items.every(({ groupKey, again }) => groupKey?.startsWith("incident/") && !again);
        if (items.length === 0) life.perhapsDead.add(1, atMs);
        else if (!isTried) life.dead.add(1, atMs);
        return;
      }
      case "committed":
        this.#committed(entry);
    }
  }

  #sent({ target, atMs }: Entry<"sent">): void {
    const life = this.#life;
    const path = target.split("?")[0]!;
    life.sends.push({ atMs, weight: heavy.test(path) ? 2 : 1 });
    if (!slowlyRead.test(path)) return;
    const before = life.slowly.get(path);
    life.slowly.set(path, atMs);
    const lateMs = before === undefined ? 0 : atMs - before - slowlyMs;
    // A run that is later than its interval is begun anew.
    const [stall, other] = life.stalls.filter((one) => one.toMs > before! && one.fromMs < atMs);
    const isByOne = stall !== undefined && other === undefined && this.#isUnlimited(before!, atMs);
    if (isByOne && lateMs > 0 && lateMs < slowlyMs - 2_000)
      life.late = { ms: lateMs, fromMs: atMs, toMs: stall.toMs + lateCountsMs };
  }

  /** True if nothing but a stall made the daemon late. */
  #isUnlimited(fromMs: number, toMs: number): boolean {
    const { plan } = this.#outcome;
    const hindered = plan.troubles.faults.some(
      (one) =>
        hindering.has(one.kind) &&
        this.#beginMs + one.fromMs <= toMs &&
        this.#beginMs + one.toMs >= fromMs - calmMs,
    );
    return !hindered && !this.#life.throttled && this.#hasRoom();
  }

  #hasRoom(): boolean {
    return this.#terms.ceiling === null || this.#terms.ceiling >= 40;
  }

  #committed({ changes, atMs, bytesBefore }: Entry<"committed">): void {
    const life = this.#life;
    for (const observation of changes.observations) {
      if (observation.kind === "daemon") this.#check(observation, atMs, bytesBefore);
      else life.failures.take(observation, atMs);
    }
    this.#undelivered.take(changes.deliveryItems, atMs);
  }

  #check(observation: Taken, atMs: number, bytes: number): void {
    const life = this.#life;
    const beforeMs = life.lastMs ?? life.watchesMs ?? atMs - figuresEveryMs;
    life.lastMs = atMs;
    // Figures that the disk refused are not recorded, or later.
    if (!this.#clear.works(beforeMs, atMs)) return;
    const lateMs = atMs - beforeMs - figuresEveryMs - life.stalledMs(beforeMs, atMs);
    if (lateMs > slackMs) this.#report(atMs, `figures every ${figuresEveryMs} ms`, `${lateMs} ms later`);
    // Recorded at another time than measured.
    if (Math.abs(lateMs) > slackMs) return;
    const { figures } = observation;
    this.#within(atMs, "databaseBytes", figures, { low: bytes, high: bytes });
    this.#within(atMs, "loopLagMs", figures, this.#loopLag(atMs), 1);
    this.#within(atMs, "clockOffsetMs", figures, this.#offset(atMs));
    this.#within(atMs, "budgetUsed", figures, this.#usage(atMs, figures), 1e-9);
    this.#within(atMs, "lagMs", figures, this.#lag(atMs), 1);
    if (this.#clear.works(life.watchesMs ?? atMs, atMs))
      this.#within(atMs, "failedPolls", figures, life.failures.inARow(atMs, this.#part(atMs)));
    this.#within(atMs, "authFailures", figures, life.refusals.at(atMs));
    this.#within(atMs, "repeatedAuthFailures", figures, { low: 0, high: figures.authFailures });
    const keyed = this.#streams - 1;
    this.#within(atMs, "signingWallets", figures, { low: keyed, high: keyed });
    this.#within(atMs, "signedOutWallets", figures, { low: 0, high: keyed });
    const dead = life.dead.at(atMs);
    this.#within(atMs, "deadMessages", figures, {
      low: dead.low,
      high: dead.high + life.perhapsDead.at(atMs).high,
    });
    const bad = life.bad.at(atMs);
    this.#within(atMs, "badRecords", figures, {
      low: bad.low,
      high: bad.high + life.perhapsBad.at(atMs).high,
    });
    if (figures.rateLimited && !life.throttled)
      this.#report(atMs, "no limit: nothing was refused", "limited");
    const { low, high } = life.streams.at(atMs);
    // A wallet that is signed out has none to stand.
    const wanted = this.#streams - figures.signedOutWallets;
    const isPossible = figures.streamConnected
      ? !this.#terms.streams || high >= wanted
      : this.#terms.streams && low < this.#streams;
    if (!isPossible)
      this.#report(atMs, `${high} of ${wanted} streams stand`, `connected: ${figures.streamConnected}`);
    for (const wrong of this.#undelivered.problems(observation, atMs))
      this.#report(
        atMs,
        wrong,
        `${figures.undelivered} wait, ${figures.oldestUndeliveredMs} ms, ${figures.waitingChannels}`,
      );
  }

  #loopLag(atMs: number): Range {
    const { stalls, watchesMs } = this.#life;
    let [low, high] = [0, 0];
    for (const { fromMs, toMs } of stalls) {
      if (toMs > atMs + 1) continue;
      const later = stalls.filter((one) => one.fromMs >= toMs && one.toMs <= atMs);
      const [least, most] = [roundMs, 0].map((less) =>
        later.reduce((sum, one) => sum + Math.max(0, one.toMs - one.fromMs - less), rounds * roundMs),
      );
      const agoMs = atMs - toMs;
      if (agoMs < most! + roundMs) high = Math.max(high, toMs - fromMs);
      const sure = watchesMs !== null && fromMs > watchesMs && agoMs > 0 && agoMs < least! - roundMs;
      if (sure) low = Math.max(low, toMs - fromMs - roundMs);
    }
    return { low, high };
  }

  #offset(atMs: number): Range | null {
    const { troubles } = this.#outcome.plan;
    const { answers } = this.#life;
    if (answers.length === 0) return { low: 0, high: 0 };
    const recent = answers.filter((one) => one.atMs > atMs - figuresEveryMs);
    const [first, last] = [recent[0], recent.at(-1)];
    if (!first || !last || last.atMs - first.atMs < 250 || recent.some(({ tookMs }) => tookMs > quickMs))
      return null;
    const set = troubles.life.filter((one) => one.kind === "clock" && this.#beginMs + one.atMs <= atMs);
    const newest = set.at(-1);
    const aheadMs = newest?.kind === "clock" ? newest.aheadMs : troubles.aheadMs;
    const room = (secondMs + quickMs) / 2;
    // Within what the answers leave open it counts as right.
    const high = aheadMs > 0 ? aheadMs + room : Math.min(0, aheadMs + room);
    const low = aheadMs > 0 ? Math.max(0, aheadMs - room) : aheadMs - room;
    return Math.abs(aheadMs) <= secondMs + quickMs
      ? { low: Math.min(low, 0), high: Math.max(high, 0) }
      : { low, high };
  }

  /** The share of the rate that was used: of the last ten seconds, the first one by its share that is still among them. */
  #usage(atMs: number, { rateLimited }: DaemonFigures): Range {
    if (rateLimited) return { low: 0, high: 0 };
    const { sends, throttled } = this.#life;
    if (throttled) return { low: 0, high: 1 };
    const elapsedMs = atMs - this.#outcome.plan.start.atMs;
    const overMs = elapsedMs % secondMs;
    const wholeMs = atMs - overMs - (usageSeconds - 1) * secondMs;
    let weight = 0;
    for (const one of sends)
      if (one.atMs >= wholeMs) weight += one.weight;
      else if (one.atMs >= wholeMs - secondMs) weight += one.weight * (1 - overMs / secondMs);
    const { ceiling } = this.#terms;
    const share = (more: number, rate: number) => Math.min(1, (weight + more) / usageSeconds / rate);
    return {
      low: Math.max(0, share(-edgeWeight, ceiling ?? mostPerSecond)),
      high: share(edgeWeight, ceiling ?? leastPerSecond),
    };
  }

  #lag(atMs: number): Range {
    const { late, stalls } = this.#life;
    const low =
      late !== null && atMs < late.toMs && atMs > late.fromMs
        ? late.ms - Math.max(slackMs, turnShare * late.ms)
        : 0;
    const isCalm =
      this.#clear.all(atMs - calmMs, atMs, null) &&
      this.#isUnlimited(atMs, atMs) &&
      !stalls.some(({ toMs }) => toMs > atMs - calmMs);
    return { low, high: isCalm ? calmLagMs : Number.POSITIVE_INFINITY };
  }

  /** The fault by which one kind of reads fails, whatever is tried. */
  #part(atMs: number) {
    const elapsedMs = atMs - this.#beginMs;
    for (const fault of this.#outcome.plan.troubles.faults)
      if (fault.kind === "partErrors" && fault.fromMs <= elapsedMs && elapsedMs < fault.toMs)
        return { source: fault.part, fromMs: this.#beginMs + fault.fromMs };
    return null;
  }

  #within(
    atMs: number,
    name: Exclude<
      keyof DaemonFigures,
      | "host"
      | "failingReads"
      | "waitingChannels"
      | "refusedWallets"
      | "loginTextRefused"
      | "signerUnavailable"
      | "streamConnected"
      | "rateLimited"
    >,
    figures: DaemonFigures,
    range: Range | null,
    room = 0,
  ): void {
    const value = figures[name];
    if (range === null || (value >= range.low - room && value <= range.high + room)) return;
    this.#report(atMs, `${name} from ${range.low} to ${range.high}`, String(value));
  }

  #report(atMs: number, expected: string, seen: string): void {
    this.#findings.push({ check: "inputs", rule: "daemon", subject: "daemon", atMs, expected, seen });
  }
}
