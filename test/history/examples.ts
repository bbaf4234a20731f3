/** One of each thing that the store keeps, for tests that change a field or two. */
import type { Alert, AlertChange, RuleState } from "../../src/domain/alerts/alert.ts";
import {
  type Acknowledgement,
  type DeliveryItem,
  type Message,
  untried,
} from "../../src/domain/alerts/delivery.ts";
import type { Event } from "../../src/domain/event.ts";
import type { Tick } from "../../src/domain/observation.ts";
import { type Changes, changes } from "../../src/domain/stored/changes.ts";

export const t0 = Date.UTC(2026, 0, 1);

export function tick(parts: Partial<Tick> = {}): Tick {
  return {
    atMs: t0,
    owner: "main/0.0",
    series: ["trader.equity", "trader.marginRatio", "position[SOL].size"],
    values: [1000.25, Number.POSITIVE_INFINITY, -0],
    ...parts,
  };
}

export function event(parts: Partial<Event> = {}): Event {
  return {
    kind: "notification",
    key: "312:4:0:1:2",
    wallet: "main",
    pdaIndex: 0,
    subaccount: 1,
    symbol: "SOL",
    happenedMs: t0 - 5_000,
    seenMs: t0,
    slot: 312,
    slotIndex: 4,
    eventIndex: 1,
    fields: {
      type: "stopLossExecuted",
      size: "1.5",
      price: 101.25,
      ratio: Number.NEGATIVE_INFINITY,
      note: null,
    },
    data: { sequence: "18446744073709551615", list: [1, { deep: true }] },
    backfilled: false,
    inbox: {
      source: "event",
      notificationType: "stopLossExecuted",
      traderPubkey: "trader",
      item: { type: "event", slot: 312, slotIndex: 4, instructionIndex: 0, eventIndex: 1, recipientIndex: 2 },
      acked: false,
      liquidationKey: null,
    },
    notificationKey: null,
    ...parts,
  };
}

export function alert(parts: Partial<Alert> = {}): Alert {
  return {
    id: 1,
    rule: "liquidationNear",
    subject: "main/0.0/SOL",
    wallet: "main",
    symbol: "SOL",
    labels: { team: "night" },
    severity: "critical",
    state: "firing",
    event: false,
    sinceMs: t0,
    firedAtMs: t0 + 1,
    endedAtMs: null,
    ending: null,
    alreadySo: false,
    summary: "SOL is 3 % from liquidation",
    description: "“ünï” \u0000 text",
    runbook: null,
    value: Number.POSITIVE_INFINITY,
    dataAtMs: t0 - 20,
    acknowledgedBy: null,
    acknowledgedAtMs: null,
    eventKey: null,
    ...parts,
  };
}

export function alertChange(parts: Partial<AlertChange> = {}): AlertChange {
  return {
    id: 1,
    alertId: 1,
    kind: "fired",
    atMs: t0 + 1,
    alert: alert(),
    details: [["mark price", "101.25"]],
    happenedMs: null,
    ...parts,
  };
}

export function ruleState(parts: Partial<RuleState> = {}): RuleState {
  return {
    rule: "liquidationNear",
    subject: "main/0.0/SOL",
    fingerprint: "f00d",
    incarnation: "long 17",
    levels: [{ severity: "critical", active: true, holds: true, heldMs: 1_500, goneMs: 0 }],
    sinceMs: t0,
    alertId: 1,
    alreadySo: false,
    ...parts,
  };
}

export function owedItem(parts: Partial<DeliveryItem> = {}): DeliveryItem {
  return {
    id: 1,
    changeId: 1,
    alertId: 1,
    receiver: "discord",
    groupKey: "liquidationNear",
    severity: "critical",
    owedAtMs: t0 + 1,
    status: "owed",
    messageId: null,
    ...parts,
  };
}

export function message(parts: Partial<Message> = {}): Message {
  return {
    id: "4uQeVj5tqViQh7yWWGStvk",
    receiver: "discord",
    severity: "critical",
    itemIds: [1],
    alertIds: [1],
    content: {
      kind: "alert",
      severity: "critical",
      resolved: false,
      title: "SOL is 3 % from liquidation",
      items: [{ change: alertChange(), lead: "FIRING critical" }],
      sender: "perpwatch on test",
    },
    ...untried(t0 + 2, t0 + 2),
    ...parts,
  };
}

export function acknowledgement(parts: Partial<Acknowledgement> = {}): Acknowledgement {
  return {
    key: "312:4:0:1:2",
    wallet: "main",
    word: "whenDelivered",
    rules: [{ rule: "stopLoss", alertIds: [1] }],
    status: "waiting",
    dueAtMs: null,
    confirmedAtMs: null,
    reason: "",
    ...parts,
  };
}

/** One of everything. */
export function everything(): Changes {
  return changes({
    ticks: [tick()],
    facts: [{ atMs: t0, owner: "main/0.0", name: "riskTier", value: '"safe"' }],
    events: [event()],
    failedReads: [
      {
        atMs: t0,
        source: "traderState",
        wallet: "main",
        symbol: null,
        reason: "timeout",
        detail: "after 3 s",
      },
    ],
    milestones: [{ atMs: t0, kind: "started", value: "0.1.0" }],
    payloads: [
      { atMs: t0, source: "funding", wallet: null, body: '{"a":1}'.repeat(100), problem: "rate: missing" },
    ],
    alerts: [alert()],
    alertChanges: [alertChange()],
    ruleStates: [ruleState()],
    deliveryItems: [owedItem()],
    messages: [message()],
    acknowledgements: [acknowledgement()],
    cursors: [{ name: "funding/main", value: "abc" }],
    keep: [{ name: "sum/funding", value: "12.5" }],
  });
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
