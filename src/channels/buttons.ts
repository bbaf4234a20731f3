/**
 * The buttons under a message in a chat, and what their ids say. An id carries all that a press needs, so that those of old messages
 * work after a restart: what to do, the alert, and when it fired, by which an alert of another database under the same
 * number is told apart. Pure.
 *
 * Limits of chats: ids of 64 bytes (Telegram), labels of 75 characters (Slack), 5 rows of 5 buttons (Discord).
 */
import { type AlertChange, type Severity, severities, severityRank } from "../domain/alert.ts";
import type { Message } from "../domain/delivery.ts";

export interface Button {
  readonly label: string;
  readonly id: string;
  /** It is the one that most people want. */
  readonly primary: boolean;
}

/** The meaning of a press. */
export type Press =
  | {
      readonly kind: "acknowledge";
      readonly alertId: number;
      readonly firedAtMs: number;
      /** The change that the message shows, whose level and value it covers; null: an old message does not say. */
      readonly shown: number | null;
    }
  /** All that a message shows, up to the newest change in it. */
  | { readonly kind: "acknowledgeAll"; readonly messageId: string; readonly revision: number }
  | { readonly kind: "details"; readonly alertId: number; readonly firedAtMs: number }
  | {
      readonly kind: "silence";
      readonly alertId: number;
      readonly firedAtMs: number;
      readonly hours: number;
      /** The level that the message shows, which is what the silence covers. */
      readonly upTo: Severity;
    };

const maxRows = 5;

/**
 * @returns a row for each alert that fires or has just happened, the worst first; none for what is over. Above them one for all of an
 * incident
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

/** @returns null for an id that is none of ours */
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
