/**
 * Word of each change is owed to whom the configuration names, in the commit of the change, and to nobody else: of what begins, gets
 * worse, changes or is reminded of to all receivers; of what gets better or ends to those who were told of the alert. It may wait for its
 * group, and what is critical may not. Of the events of a rule with a throttle one is told at once, and the others when its time is over.
 */
import type { Alert, AlertChange } from "../../../src/domain/alerts/alert.ts";
import { noDataRule, unreachableRule } from "../../../src/domain/alerts/built-in.ts";
import type { DeliveryItem } from "../../../src/domain/alerts/delivery.ts";
import type { Changes } from "../../../src/domain/stored/changes.ts";
import type { Outcome } from "../scenario.ts";
import { type Finding, timeOf } from "./finding.ts";
import { maybeOfIncident, mostOfIncidentMs } from "./incidents.ts";
import { committedOf, gapIn } from "./lives.ts";

/** `groupInterval` where nobody sets it; it is longer than `groupWait`. */
const groupMs = 5_000;
/** Deadlines are met to a second, and after a start when it first watches. */
const slackMs = 5_000;

/** A no-data alert that tells of several wallets looks for more to tell so often, and a second later at most, ms. */
const commonMs = 35_000;
/** Time is observed once a second. */
const stoodStillMs = 2_000;

/** Throttles of the shipped packs by rule, ms. */
const throttles: ReadonlyMap<string, number> = new Map([
  ["MarketRulesChanged", 600_000],
  ["OrderCancelledByRiskEngine", 60_000],
  ["OrderFilled", 60_000],
  ["StopLossPlaced", 60_000],
]);

/** An event that a throttle holds back. */
interface Held {
  readonly change: AlertChange;
  readonly missing: Set<string>;
  dueMs: number;
}

export function judgeOwed(outcome: Outcome): readonly Finding[] {
  return new OwedJudge(outcome).run();
}

class OwedJudge {
  readonly #outcome: Outcome;
  readonly #findings: Finding[] = [];
  readonly #receivers: readonly string[];
  /** Items that were owed, by number. */
  readonly #seen = new Set<number>();
  /** Receivers of each alert. */
  readonly #told = new Map<number, Set<string>>();
  /** The last change of each no-data alert that fires of which somebody was owed word, by alert. */
  readonly #noData = new Map<number, AlertChange>();
  readonly #held = new Map<number, Held>();
  /** Steps of no-data alerts of one wallet of which the common alert is to tell. */
  #awaited: { readonly change: AlertChange; readonly missing: Set<string>; readonly untilMs: number }[] = [];
  /** Times at which something of a throttled rule and subject left last. */
  readonly #leftMs = new Map<string, number>();
  #committedMs = 0;

  constructor(outcome: Outcome) {
    this.#outcome = outcome;
    const { receivers } = outcome.sections[0]!.routing as { readonly receivers: readonly string[] };
    this.#receivers = receivers;
  }

  run(): readonly Finding[] {
    let life = 0;
    let nowMs = 0;
    for (const { changes, ...entry } of committedOf(this.#outcome.log)) {
      this.#committedMs = entry.atMs;
      const times = timesOf(changes);
      if (entry.life !== life && times.length > 0) {
        life = entry.life;
        this.#wait(times[0]!);
      }
      for (const ms of times.toSorted((a, b) => a - b)) {
        if (ms - nowMs > stoodStillMs) this.#wait(ms);
        nowMs = Math.max(nowMs, ms);
      }
      this.#take(changes);
    }
    for (const { change, missing, untilMs } of this.#awaited)
      if (nowMs > untilMs)
        this.#report(change, `word of it for ${[...missing].join(", ")}`, "nothing is owed to them");
    for (const { change, dueMs } of this.#held.values())
      if (nowMs > dueMs + slackMs) this.#report(change, `word of it by ${timeOf(dueMs)}`, "nothing is owed");
    return this.#findings;
  }

  /** Nobody watched, or the process stood still: what came due meanwhile is told then. */
  #wait(untilMs: number): void {
    for (const held of this.#held.values()) held.dueMs = Math.max(held.dueMs, untilMs);
  }

  #take({ alertChanges, deliveryItems: owed }: Changes): void {
    // Items that a failed message leaves to a later one wait again, and are owed once.
    const fresh = owed.filter(({ id, status }) => status === "owed" && !this.#seen.has(id));
    for (const { id } of fresh) this.#seen.add(id);
    const items = Map.groupBy(fresh, ({ changeId }) => changeId);
    for (const change of alertChanges) {
      const missing = this.#expected(change);
      for (const item of items.get(change.id) ?? []) this.#owe(change, item, missing);
      items.delete(change.id);
      if (missing.size > 0) this.#lacks(change, missing);
      this.#note(change, missing.size === 0);
    }
    for (const [changeId, late] of items) {
      const held = this.#held.get(changeId);
      for (const item of late) {
        if (held === undefined) this.#unknown(item);
        else {
          this.#owe(held.change, item, held.missing);
          if (item.owedAtMs > held.dueMs + slackMs)
            this.#report(held.change, `word of it by ${timeOf(held.dueMs)}`, wordsOf(item));
        }
      }
      if (held?.missing.size === 0) this.#held.delete(changeId);
    }
  }

  /** Those who have to be owed word of a change. */
  #expected({ kind, alert }: AlertChange): Set<string> {
    if (alert.shadow) return new Set();
    return kind === "fell" || kind === "ended"
      ? new Set(this.#told.get(alert.id))
      : new Set(this.#receivers.filter((one) => !isAbout(alert, one)));
  }

  #owe(change: AlertChange, item: DeliveryItem, missing: Set<string>): void {
    const { receiver, severity, owedAtMs, releaseAtMs = owedAtMs } = item;
    const { alert } = change;
    if (!missing.delete(receiver)) this.#report(change, `nothing (more) for ${receiver}`, wordsOf(item));
    if (severity !== alert.severity) this.#report(change, alert.severity, `${severity}, ${wordsOf(item)}`);
    const waitMs = releaseAtMs - owedAtMs;
    const [sections] = this.#outcome.sections as [Readonly<Record<string, unknown>>];
    const mayGather = maybeOfIncident(sections, alert, receiver);
    if (item.quiet && !mayGather) this.#report(change, "that it calls", `a quiet ${wordsOf(item)}`);
    const mostMs = mayGather ? mostOfIncidentMs(sections, change, item) : isUrgent(change) ? 0 : groupMs;
    if (waitMs > mostMs)
      this.#report(change, `that it waits for ${mostMs} ms at most`, `${waitMs} ms, ${wordsOf(item)}`);
    this.#told.set(alert.id, (this.#told.get(alert.id) ?? new Set()).add(receiver));
    if (throttles.has(alert.rule)) this.#leftMs.set(`${alert.rule} ${alert.subject}`, owedAtMs);
  }

  #lacks(change: AlertChange, missing: Set<string>): void {
    const { kind, alert, atMs } = change;
    const throttleMs = throttles.get(alert.rule);
    const leftMs = this.#leftMs.get(`${alert.rule} ${alert.subject}`);
    if (throttleMs !== undefined && leftMs !== undefined && atMs < leftMs + throttleMs) {
      this.#held.set(change.id, { change, missing, dueMs: leftMs + throttleMs });
      return;
    }
    // A receiver is reminded of an incident once, whatever the number of its alerts; others at their own time.
    const [sections] = this.#outcome.sections as [Readonly<Record<string, unknown>>];
    if (kind === "reminder" && this.#receivers.some((one) => maybeOfIncident(sections, alert, one))) return;
    if (isNoData(alert) && kind !== "ended" && this.#isCovered(change)) return;
    const isTold = this.#noData.has(alert.id) && (kind === "worsened" || kind === "reminder");
    if (isTold && this.#common().length > 0) {
      this.#awaited.push({ change, missing, untilMs: atMs + commonMs });
      return;
    }
    this.#report(change, `word of it for ${[...missing].join(", ")}`, "nothing is owed to them");
  }

  /** True if a common no-data alert, or another one of the wallet, tells the same. */
  #isCovered(change: AlertChange): boolean {
    const { kind, alert } = change;
    const others = [...this.#noData.values()].filter((one) => one.alert.id !== alert.id);
    if (others.some((one) => one.alert.subject === alert.subject)) return true;
    const common = this.#common().filter((one) => one.alert.id !== alert.id);
    if (kind !== "worsened") return common.some((one) => isNamedIn(one, alert.subject));
    // It was told of its own wallet before: the others that it names by now are to be known.
    const told = [...common, ...[this.#noData.get(alert.id)].flatMap((one) => one ?? [])];
    return common.length > 0 && namedIn(change).every((name) => told.some((one) => isNamedIn(one, name)));
  }

  #common(): readonly AlertChange[] {
    return [...this.#noData.values()].filter(({ alert }) => alert.subject === "exchange");
  }

  #note(change: AlertChange, isTold: boolean): void {
    const { kind, alert, atMs } = change;
    if (isTold && isNoData(alert) && alert.subject === "exchange")
      this.#awaited = this.#awaited.filter(({ untilMs }) => untilMs < atMs);
    if (!isNoData(alert)) return;
    if (kind === "ended") this.#noData.delete(alert.id);
    else if (isTold) this.#noData.set(alert.id, change);
  }

  #unknown(item: DeliveryItem): void {
    this.#findings.push({
      ...{ check: "owed", rule: "", subject: "", atMs: this.#committedMs },
      ...{ expected: "nothing: no such change is to be told of", seen: wordsOf(item) },
    });
  }

  #report({ kind, alert }: AlertChange, expected: string, seen: string): void {
    this.#findings.push({
      ...{ check: "owed", rule: alert.rule, subject: alert.subject, atMs: this.#committedMs, expected },
      seen: `${seen} (alert ${alert.id} ${kind} ${alert.severity}: ${alert.summary})`,
    });
  }
}

/** True if an alert of several wallets tells of one of them, as far as it lists all. */
function isNamedIn({ alert, details }: AlertChange, wallet: string): boolean {
  if (alert.summary.includes("no read of the exchange succeeds")) return true;
  if (/No data on (\d+) of \1 wallets/.test(alert.summary)) return true;
  return notRead(details).some((row) => new RegExp(`\\b${wallet}\\b|\\d+ more\\b`).test(row));
}

/** Wallets that the lines of an alert name. */
const namedIn = ({ details }: AlertChange): readonly string[] =>
  notRead(details).flatMap(
    (row) => / of ([\w, ]+?)(?: and \d+ more)? \(schedule /.exec(row)?.[1]?.split(", ") ?? [],
  );

const notRead = (details: AlertChange["details"]): readonly string[] =>
  details.flatMap(([name, row]) => (name === "Not read" ? [row] : []));

/** Times that changes name, by the daemon's clock. */
const timesOf = ({
  observations,
  alertChanges,
  deliveryItems: owed,
  milestones,
}: Changes): readonly number[] => [
  ...[...observations, ...alertChanges].map(({ atMs }) => atMs),
  ...owed.filter(({ status }) => status === "owed").map(({ owedAtMs }) => owedAtMs),
  ...[gapIn(milestones)].flatMap((gap) => gap?.toMs ?? []),
];

const isNoData = ({ rule, event }: Alert): boolean =>
  !event && (rule === noDataRule || rule === unreachableRule);

const wordsOf = ({ id, receiver }: DeliveryItem): string => `item ${id} for ${receiver}`;

/** A channel is not told of itself. */
const isAbout = ({ rule, labels }: Alert, receiver: string): boolean =>
  ["ChannelBroken", "MessagesDropped", "DrillFailed"].includes(rule) && labels.channel === receiver;

/** A beginning, a worsening and an end at critical leave at once. */
const isUrgent = ({ kind, alert }: AlertChange): boolean =>
  alert.severity === "critical" && !["fell", "reminder", "acknowledged"].includes(kind);
