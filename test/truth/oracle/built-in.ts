/** Built-in alerts: those for which nothing in any scenario is a reason, and word of a channel that takes nothing. */
import type { BuiltInRule } from "../../../src/domain/alerts/built-in.ts";
import type { Outcome } from "../scenario.ts";
import type { Finding } from "./finding.ts";
import { isDiskFull } from "./full-disk.ts";
import { livesOf } from "./lives.ts";

/**
 * The shipped rules have a result for whatever is read, no channel is taken out, no drill is planned, and the exchange names only
 * notifications that the contract knows; its inboxes and what is known of them agree.
 */
const groundless: ReadonlySet<string> = new Set<BuiltInRule>([
  "RuleFailing",
  "StateDamaged",
  "MessagesDropped",
  "DrillFailed",
  "UnknownNotification",
  "InboxDiffers",
]);

const brokenRule = "ChannelBroken" satisfies BuiltInRule;
const promptMs = 2_000;

export function judgeBuiltIn(outcome: Outcome): readonly Finding[] {
  return [...judgeGroundless(outcome), ...judgeBroken(outcome)];
}

/** A channel that does not know the daemon's key is reported, and not as mended before it takes something. */
function judgeBroken({ log, plan, endMs }: Outcome): readonly Finding[] {
  const ends = log
    .of("life")
    .flatMap(({ text, atMs }) => (/^is (killed|told to stop)/.test(text) ? [atMs] : []));
  const stalls = log.of("stalled");
  const changes = livesOf(log).flatMap((life) =>
    life.changes.filter(({ alert }) => alert.rule === brokenRule),
  );
  return log.of("forbidden").flatMap(({ channel, atMs }): Finding[] => {
    const dueMs = atMs + promptMs;
    const isInterrupted =
      dueMs > endMs ||
      ends.some((ms) => ms >= atMs - promptMs && ms <= dueMs) ||
      stalls.some((one) => one.atMs <= dueMs && one.atMs + one.ms >= atMs) ||
      isDiskFull(plan, log.entries[0]!.atMs, dueMs);
    if (isInterrupted) return [];
    const last = changes.findLast((one) => one.alert.labels.channel === channel && one.committedMs <= dueMs);
    if (last !== undefined && last.kind !== "ended") return [];
    return [
      {
        ...{ check: "completeness", rule: brokenRule, subject: "daemon", atMs: dueMs },
        expected: `word that ${channel} takes nothing`,
        seen: last === undefined ? "nothing" : `alert ${last.alertId} ended: ${last.alert.summary}`,
      },
    ];
  });
}

function judgeGroundless({ log }: Outcome): readonly Finding[] {
  return livesOf(log).flatMap(({ changes }) =>
    changes.flatMap(({ kind, alert, committedMs }): Finding[] =>
      kind === "fired" && groundless.has(alert.rule)
        ? [
            {
              ...{ check: "soundness", rule: alert.rule, subject: alert.subject, atMs: committedMs },
              expected: "nothing: there is no reason for it",
              seen: `alert ${alert.id} ${kind}: ${alert.summary} | ${alert.description}`,
            },
          ]
        : [],
    ),
  );
}
