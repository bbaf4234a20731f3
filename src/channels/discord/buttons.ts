/**
 * The buttons under a message, and what their ids say. An id carries all that a press needs, so that those of old messages
 * work after a restart: what to do, the alert, and when it fired, by which an alert of another database under the same
 * number is told apart. Pure.
 *
 * Limits: 5 rows of 5 buttons, ids of 100 characters, labels of 80.
 */
import { type AlertChange, type Severity, severities, severityRank } from "../../domain/alert.ts";
import type { Message } from "../../domain/delivery.ts";

export interface Button {
  readonly type: 2;
  readonly style: number;
  readonly label: string;
  readonly custom_id: string;
}

export interface ButtonRow {
  readonly type: 1;
  readonly components: readonly Button[];
}

/** The meaning of a press. */
export type Press =
  | { readonly kind: "acknowledge"; readonly alertId: number; readonly firedAtMs: number }
  | { readonly kind: "details"; readonly alertId: number; readonly firedAtMs: number }
  | {
      readonly kind: "silence";
      readonly alertId: number;
      readonly firedAtMs: number;
      readonly hours: number;
      /** The level that the message shows, which is what the silence covers. */
      readonly upTo: Severity;
    };

const styles = { primary: 1, secondary: 2 } as const;
const mostRows = 5;

/** @returns rows for what fires or has just happened, the worst first; none for what is over */
export function buttonsOf({ content }: Message, over: ReadonlySet<number> = new Set()): ButtonRow[] {
  if (content.kind !== "alert") return [];
  const newest = new Map<number, AlertChange>();
  for (const { change } of content.items) newest.set(change.alertId, change);
  const open = [...newest.values()].filter(
    ({ alertId, kind, alert }) =>
      kind !== "ended" && !over.has(alertId) && (alert.event || alert.state === "firing"),
  );
  open.sort((a, b) => severityRank[b.alert.severity] - severityRank[a.alert.severity]);
  return open.slice(0, mostRows).map((change) => rowOf(change, open.length > 1));
}

function rowOf({ alert }: AlertChange, numbered: boolean): ButtonRow {
  const { severity } = alert;
  const of = `${alert.id}:${alert.firedAtMs.toString(36)}`;
  const whose = numbered ? ` #${alert.id}` : "";
  const button = (style: number, label: string, custom_id: string): Button => ({
    type: 2,
    style,
    label: `${label}${whose}`,
    custom_id,
  });
  const acknowledge =
    alert.acknowledgedBy === null ? [button(styles.primary, "Acknowledge", `pw:ack:${of}`)] : [];
  return {
    type: 1,
    components: [
      ...acknowledge,
      button(styles.secondary, "Silence 1 h", `pw:mute:${of}:1:${severity}`),
      button(styles.secondary, "Silence 8 h", `pw:mute:${of}:8:${severity}`),
      button(styles.secondary, "Details", `pw:tell:${of}`),
    ],
  };
}

/** @returns null for an id that is none of ours */
export function readPress(customId: string): Press | null {
  const found =
    /^pw:(?:(ack|tell):(\d{1,15}):([0-9a-z]{1,10})|mute:(\d{1,15}):([0-9a-z]{1,10}):(1|8):(\w+))$/.exec(
      customId,
    );
  if (found === null) return null;
  const [, verb, id, fired, mutedId, mutedFired, hours, level] = found;
  const alertId = Number(id ?? mutedId);
  const firedAtMs = Number.parseInt(fired ?? mutedFired ?? "", 36);
  if (verb !== undefined) return { kind: verb === "ack" ? "acknowledge" : "details", alertId, firedAtMs };
  const upTo = severities.find((one) => one === level);
  return upTo === undefined ? null : { kind: "silence", alertId, firedAtMs, hours: Number(hours), upTo };
}
