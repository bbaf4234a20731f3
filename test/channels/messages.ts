/** Messages for channel tests: the given parts, with defaults as the daemon sets them. */
import type { Outgoing } from "../../src/channels/channel.ts";
import { leadOf } from "../../src/channels/message/lead.ts";
import type { Alert, AlertChange, AlertChangeKind } from "../../src/domain/alerts/alert.ts";
import { type Message, type MessageContent, untried } from "../../src/domain/alerts/delivery.ts";

/** 2026-11-21 03:41:18 UTC */
export const atMs = Date.UTC(2026, 10, 21, 3, 41, 18);

export function alert(parts: Partial<Alert> = {}): Alert {
  return {
    id: 42,
    rule: "LiquidationNear",
    subject: "main/0.0/SOL",
    wallet: "main",
    symbol: "SOL",
    labels: {},
    severity: "critical",
    state: "firing",
    event: false,
    sinceMs: atMs,
    firedAtMs: atMs,
    endedAtMs: null,
    ending: null,
    alreadySo: false,
    summary: "main: SOL long is 4.2 % from liquidation",
    description: "Mark $132.10, liquidation $126.55, margin ratio 78 %.",
    runbook: "https://runbooks.example.org/liquidation",
    value: 0.042,
    dataAtMs: atMs - 2_000,
    acknowledgedBy: null,
    acknowledgedAtMs: null,
    eventKey: null,
    ...parts,
  };
}

export function change(
  kind: AlertChangeKind = "fired",
  parts: Partial<Alert> = {},
  more: Partial<AlertChange> = {},
): AlertChange {
  const at = more.atMs ?? atMs;
  const over: Partial<Alert> =
    kind === "ended" ? { state: "ended", endedAtMs: at, ending: "recovered", firedAtMs: atMs - 723_000 } : {};
  const whole = alert({ dataAtMs: at - 2_000, ...over, ...parts });
  return {
    id: 7,
    alertId: whole.id,
    kind,
    atMs: at,
    alert: whole,
    details: [
      ["Mark price", "$132.10"],
      ["Liquidation price", "$126.55"],
      ["Margin ratio", "78 %"],
    ],
    happenedMs: null,
    ...more,
  };
}

let count = 0;

export function message(
  changes: readonly AlertChange[] = [change()],
  parts: Partial<Omit<Message, "content">> & { content?: Partial<MessageContent> } = {},
): Message {
  count += 1;
  const { content, ...rest } = parts;
  const severity = changes[0]?.alert.severity ?? "info";
  const sealedAtMs = rest.sealedAtMs ?? changes[0]?.atMs ?? atMs;
  return {
    id: `M${count}xK9fQ2pLw7RtZ8vBn3`.slice(0, 20),
    receiver: "chat",
    severity,
    itemIds: changes.map(({ id }) => id),
    alertIds: changes.map(({ alertId }) => alertId),
    ...untried(sealedAtMs),
    ...rest,
    content: {
      kind: "alert",
      severity,
      resolved:
        changes.length > 0 &&
        changes.every(({ kind, alert }) => kind === "ended" && alert.ending === "recovered"),
      title: changes.length === 1 ? (changes[0]?.alert.summary ?? "") : `${changes.length} alerts of main`,
      items: changes.map((one) => ({ change: one, lead: leadOf(one) })),
      sender: "perpwatch on nuc",
      ...content,
    },
  };
}

export function outgoing(parts: Partial<Outgoing> = {}): Outgoing {
  return { message: message(), attempt: 0, inReplyTo: null, ...parts };
}
