/**
 * The buttons under a chat message, and their ids. An id holds everything that handling a press needs, so buttons of
 * old messages work after a restart: the action, the alert's number, and the time at which it fired. The time
 * distinguishes it from an alert with the same number in another database. Pure.
 *
 * Limits of chats: ids of 64 bytes (Telegram), labels of 75 characters (Slack), 5 rows of 5 buttons (Discord).
 */
import { type AlertChange, type Severity, severities, severityRank } from "../domain/alerts/alert.ts";
import type { Message } from "../domain/alerts/delivery.ts";

export interface Button {
  readonly label: string;
  readonly id: string;
  /** The default action, shown highlighted. */
  readonly primary: boolean;
}

/** A parsed button press. */
export type Press =
  | {
      readonly kind: "acknowledge";
      readonly alertId: number;
      readonly firedAtMs: number;
      /**
       * The change that the message shows; the acknowledgement covers its level and value. Null: the button is of an
       * older version.
       */
      readonly shown: number | null;
    }
  /** All alerts of a message, up to its newest change. */
  | { readonly kind: "acknowledgeAll"; readonly messageId: string; readonly revision: number }
  | { readonly kind: "details"; readonly alertId: number; readonly firedAtMs: number }
  | {
      readonly kind: "silence";
      readonly alertId: number;
      readonly firedAtMs: number;
      readonly hours: number;
      /** The level that the message shows; the silence covers alerts up to this level. */
      readonly upTo: Severity;
    };

const maxRows = 5;

/**
 * @returns a row per alert that fires or is an event, highest level first; no row for ended alerts. The message of an
 * incident has a row for all of its alerts above them
 */
export function buttonsOf({ id, content }: Message, over: ReadonlySet<number> = new Set()): Button[][] {
  if (content.kind !== "alert") return [];
  const newest = new Map<number, AlertChange>();
  for (const { change } of content.items) newest.set(change.alertId, change);
  const open = [...newest.values()].filter(
    ({ alertId, kind, alert }) =>
      kind !== "ended" && !over.has(alertId) && (alert.event || alert.state === "firing"),
  );
  open.sort((a, b) => severityRank[b.alert.severity] - severityRank[a.alert.severity]);
  const unseen = open.filter(({ alert }) => alert.acknowledgedBy === null);
  const all =
    content.incident === undefined || unseen.length < 2
      ? []
      : [[allButton(id, unseen.length, Math.max(...content.items.map(({ change }) => change.id)))]];
  return [...all, ...open.map((change) => rowOf(change, open.length > 1))].slice(0, maxRows);
}

function allButton(messageId: string, count: number, revision: number): Button {
  return {
    label: `Acknowledge all ${count}`,
    id: `pw:all:${messageId}:${revision.toString(36)}`,
    primary: true,
  };
}

function rowOf({ id: changeId, alert }: AlertChange, numbered: boolean): Button[] {
  const { severity } = alert;
  const of = `${alert.id}:${alert.firedAtMs.toString(36)}`;
  const whose = numbered ? ` #${alert.id}` : "";
  const button = (label: string, id: string, primary = false): Button => ({
    label: `${label}${whose}`,
    ...{ id, primary },
  });
  return [
    ...(alert.acknowledgedBy === null
      ? [button("Acknowledge", `pw:ack:${of}:${changeId.toString(36)}`, true)]
      : []),
    button("Silence 1 h", `pw:mute:${of}:1:${severity}`),
    button("Silence 8 h", `pw:mute:${of}:8:${severity}`),
    button("Details", `pw:tell:${of}`),
  ];
}

/** @returns null for an unknown id */
export function readPress(id: string): Press | null {
  const all = /^pw:all:([1-9A-HJ-NP-Za-km-z]{1,22}):([0-9a-z]{1,11})$/.exec(id);
  if (all !== null)
    return { kind: "acknowledgeAll", messageId: all[1]!, revision: Number.parseInt(all[2]!, 36) };
  const found =
    /^pw:(?:(ack|tell):(\d{1,15}):([0-9a-z]{1,10})(?::([0-9a-z]{1,11}))?|mute:(\d{1,15}):([0-9a-z]{1,10}):(1|8):(\w+))$/.exec(
      id,
    );
  if (found === null) return null;
  const [, verb, alert, fired, change, mutedId, mutedFired, hours, level] = found;
  const alertId = Number(alert ?? mutedId);
  const firedAtMs = Number.parseInt(fired ?? mutedFired ?? "", 36);
  if (verb === "tell") return { kind: "details", alertId, firedAtMs };
  if (verb === "ack") {
    const shown = change === undefined ? null : Number.parseInt(change, 36);
    return { kind: "acknowledge", alertId, firedAtMs, shown };
  }
  const upTo = severities.find((one) => one === level);
  return upTo === undefined ? null : { kind: "silence", alertId, firedAtMs, hours: Number(hours), upTo };
}
