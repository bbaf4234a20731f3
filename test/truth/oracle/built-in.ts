/** Built-in alerts for which nothing in any scenario is a reason. */
import type { BuiltInRule } from "../../../src/domain/built-in.ts";
import type { Outcome } from "../scenario.ts";
import type { Finding } from "./finding.ts";
import { livesOf } from "./lives.ts";

/**
 * The shipped rules have a result for whatever is read, no channel is taken out, no drill is planned, and the exchange names only
 * notifications that the contract knows; its inboxes and what is known of them agree.
 */
const groundless: ReadonlySet<string> = new Set<BuiltInRule>([
  "RuleFailing",
  "MessagesDropped",
  "DrillFailed",
  "UnknownNotification",
  "InboxDiffers",
]);

export function judgeBuiltIn({ log }: Outcome): readonly Finding[] {
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
