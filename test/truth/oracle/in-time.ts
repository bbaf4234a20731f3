/**
 * Messages leave in time. What is critical leaves at once, the rest when its group may (`groupWait`, `groupInterval`), and takes no more
 * than a way to the channel beside what other messages take there. While the disk takes nothing, what is critical leaves all the same.
 * Nothing is said of a channel that is not well or was not a short time ago, and of a daemon that ends or stands still meanwhile.
 */
import type { Outcome } from "../scenario.ts";
import { type Delivery, deliveriesOf } from "./deliveries.ts";
import type { Finding } from "./finding.ts";
import { isTold, livesOf } from "./lives.ts";

/** From the commit to the channel. */
const promptMs = 2_000;
/** The same of a critical one to a channel that takes no other message then: a way there takes 415 ms at most. */
const atOnceMs = 850;
/** A channel that was sent nothing else for so long has nothing to wait for, ms. */
const aloneMs = 5_000;
/** One message after another on a channel: there and back. */
const messageMs = 900;
/** After so long a critical message leaves without a commit. */
const degradedMs = 5_000;
/** From the first commit that fails, which comes soon; that it is time is noticed within a second. */
const noticedMs = 3_000;
/** The time of a judgement of which no commit tells is known to so much, ms. */
const unsureMs = 1_500;
/** A refused commit is tried again within this, ms. */
const triedAgainMs = 6_000;
/** For so long the trouble of a channel is felt. */
const feltMs = 150_000;
/** The same of one that does not know the daemon's key: it is tried rarely until somebody mends it. */
const mendedMs = 305_000;
/** A clock that is set stands for as long as it went ahead. */
const clockMs = 60_000;

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

const overlap = (one: Span, other: Span): boolean => one.fromMs <= other.toMs && one.toMs >= other.fromMs;

export function judgeInTime(outcome: Outcome): readonly Finding[] {
  const { log, plan, endMs } = outcome;
  const lives = livesOf(log);
  const beginMs = log.entries[0]!.atMs;
  const at = ({ fromMs, toMs }: Span): Span => ({ fromMs: beginMs + fromMs, toMs: beginMs + toMs });
  const { faults, life: events } = plan.troubles;
  const disk = faults.flatMap((one) =>
    one.kind === "diskFull" ? [{ ...at(one), isWhole: one.share === 1 }] : [],
  );
  const unwell = faults.flatMap((one) => {
    const { fromMs, toMs } = at(one);
    const longMs = one.kind === "channelForbids" ? mendedMs : feltMs;
    return "channel" in one ? [{ channel: one.channel, fromMs, toMs: toMs + longMs }] : [];
  });
  const set = events
    .filter(({ kind }) => kind === "clock")
    .map(({ atMs }) => ({ fromMs: beginMs + atMs, toMs: beginMs + atMs + clockMs }));
  const stalls = log.of("stalled").map(({ atMs, ms }) => ({ fromMs: atMs, toMs: atMs + ms + promptMs }));
  const begins = new Map<number, number>();
  const ends = new Map<number, number>();
  for (const { text, life, atMs } of log.of("life"))
    if (text === "watches") begins.set(life, atMs);
    else if (["is killed", "is told to stop"].includes(text)) ends.set(life, atMs);
  /** True wall time at which the daemon's clock, which stands or goes slowly where it was ahead, showed a time; undefined: it did not. */
  const shownMs = (life: number, ms: number): number | undefined =>
    lives
      .find(({ number }) => number === life)
      ?.told.filter(isTold)
      .find(({ observation }) => observation.atMs >= ms)?.committedMs;
  const attempts = Map.groupBy(log.of("attempt"), ({ channel }) => channel);

  /** The time by which it has to be there, in view of the other messages of its channel. */
  const dueOf = ({ item, life, decidedMs, committedMs }: Delivery): number => {
    const { receiver, severity, owedAtMs, releaseAtMs = owedAtMs } = item;
    const waitMs = releaseAtMs - owedAtMs;
    const prompt = committedMs !== null && committedMs - decidedMs < promptMs;
    const waitedMs = (prompt ? committedMs : decidedMs) + waitMs;
    const releasedMs = Math.min(shownMs(life, releaseAtMs) ?? waitedMs, waitedMs + clockMs);
    let dueMs = Math.max(waitedMs, releasedMs) + promptMs;
    const refused = disk.filter((one) => overlap(one, { fromMs: decidedMs - triedAgainMs, toMs: dueMs }));
    for (const { fromMs, toMs, isWhole } of refused) {
      const sinceMs = isWhole ? Math.max(fromMs, begins.get(life) ?? fromMs) : dueMs;
      const degradedFromMs = sinceMs + degradedMs + noticedMs;
      if (severity === "critical") dueMs = Math.max(dueMs + unsureMs, degradedFromMs + waitMs + promptMs);
      else dueMs = Math.max(dueMs, toMs + triedAgainMs + waitMs + promptMs);
    }
    const others = attempts.get(receiver) ?? [];
    // One message counts once, however often it is tried.
    const countTo = (ms: number): number =>
      new Set(others.filter(({ atMs }) => atMs >= decidedMs - promptMs && atMs < ms).map(({ id }) => id))
        .size;
    const near = others.filter(({ atMs }) => atMs >= decidedMs - aloneMs && atMs < dueMs);
    const isAlone = new Set(near.map(({ id }) => id)).size <= 1;
    if (isAlone && severity === "critical" && refused.length === 0 && waitMs === 0 && prompt)
      return Math.min(dueMs, committedMs + atOnceMs);
    let count = 0;
    for (let more = countTo(dueMs); more > count; more = countTo(dueMs + count * messageMs)) count = more;
    return dueMs + count * messageMs;
  };

  return deliveriesOf(log, lives).flatMap((one): Finding[] => {
    const { item, change, life, decidedMs, arrivedMs } = one;
    const dueMs = dueOf(one);
    const time = { fromMs: decidedMs, toMs: dueMs };
    if (
      (arrivedMs !== null && arrivedMs <= dueMs) ||
      dueMs > Math.min(endMs, ends.get(life) ?? endMs) ||
      unwell.some((span) => span.channel === item.receiver && overlap(span, time)) ||
      [...set, ...stalls].some((span) => overlap(span, time))
    )
      return [];
    const seconds = (ms: number): string => `${((ms - decidedMs) / 1_000).toFixed(1)} s`;
    return [
      {
        ...{ check: "late delivery", rule: change?.alert.rule ?? "", atMs: decidedMs },
        subject: change?.alert.subject ?? "",
        expected: `${item.severity} item ${item.id} of alert ${item.alertId} at ${item.receiver} within ${seconds(dueMs)}`,
        seen: arrivedMs === null ? "it never arrived" : `it arrived after ${seconds(arrivedMs)}`,
      },
    ];
  });
}
