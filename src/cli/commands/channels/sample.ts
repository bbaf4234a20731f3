import { leadOf } from "../../../channels/message/lead.ts";
import { type TemplateKind, templateKindOf } from "../../../channels/message/template.ts";
import type { Alert, AlertChange, AlertChangeKind, Ending } from "../../../domain/alerts/alert.ts";
import { type Message, untried } from "../../../domain/alerts/delivery.ts";
import type { TemplateFacts, TemplateValue } from "../../../domain/alerts/template-data.ts";
import { type Field, messageVocabulary } from "../../../rules/index.ts";

/** 2026-11-21 03:41:18 UTC */
const atMs = Date.UTC(2026, 10, 21, 3, 41, 18);
const minute = 60_000;

/** Sample values for fields whose unit alone gives no plausible value. */
const sampleValues: TemplateFacts = {
  position: {
    symbol: "SOL",
    side: "long",
    size: 100,
    notional: 13_800,
    entryPrice: 150,
    markPrice: 138,
    liquidationPrice: 114.48,
    liquidationDistance: 0.1704,
    unrealizedPnl: -1_200,
    openedAgo: 3 * 3_600_000,
  },
  trader: { name: "main/0.0", equity: 2_800, marginRatio: 0.188, freeCollateral: 1_960 },
  wallet: { name: "main", labels: { desk: "alpha" }, limits: { maxInventory: 250_000 } },
  market: { symbol: "SOL", markPrice: 138, oraclePrice: 138.02, tickSize: 0.01, fundingRate: 0.0000125 },
  event: {
    kind: "market",
    symbol: "SOL",
    side: "long",
    size: 100,
    price: 138,
    notional: 13_800,
    at: atMs - 4_000,
  },
};

const byUnit: Readonly<Record<Field["unit"], number>> = {
  usd: 1_234.5,
  price: 138,
  units: 100,
  ratio: 0.188,
  rate: 0.0000125,
  yearlyRate: 0.11,
  times: 3.5,
  count: 2,
  bytes: 48_000_000,
  duration: 150_000,
  time: atMs - 2 * minute,
  none: 1,
};

function sampleOf({ name, type, unit, members }: Field): TemplateValue {
  switch (type) {
    case "boolean":
      return true;
    case "text":
      return name;
    case "enum":
      return members?.[0] ?? name;
    case "texts":
    case "numbers":
      return {};
    default:
      return byUnit[unit];
  }
}

/** A value for every field that is stored with an alert. */
export function sampleFacts(): TemplateFacts {
  return Object.fromEntries(
    Object.entries(messageVocabulary)
      .filter(([owner]) => owner !== "alert" && owner !== "message")
      .map(([owner, fields]) => [
        owner,
        {
          ...Object.fromEntries(fields.map((field) => [field.name, sampleOf(field)])),
          ...sampleValues[owner],
        },
      ]),
  );
}

const steps: Readonly<Record<TemplateKind, readonly [AlertChangeKind, Ending | null]>> = {
  event: ["fired", null],
  fired: ["fired", null],
  rose: ["rose", null],
  fell: ["fell", null],
  worsened: ["worsened", null],
  changed: ["changed", null],
  reminder: ["reminder", null],
  escalated: ["escalated", null],
  acknowledged: ["acknowledged", null],
  resolved: ["ended", "recovered"],
  ended: ["ended", "closed"],
};

function sampleChange(kind: TemplateKind): AlertChange {
  const [step, ending] = steps[kind];
  const ended = step === "ended";
  const event = kind === "event";
  const alert: Alert = {
    id: 42,
    rule: event ? "Liquidated" : "LiquidationNear",
    subject: "main/0.0/SOL",
    wallet: "main",
    symbol: "SOL",
    labels: { desk: "alpha", team: "risk" },
    severity: event ? "critical" : "warning",
    state: ended || event ? "ended" : "firing",
    event,
    sinceMs: atMs - 12 * minute,
    firedAtMs: step === "fired" ? atMs : atMs - 12 * minute,
    endedAtMs: ended || event ? atMs : null,
    ending,
    alreadySo: false,
    summary: event
      ? "main: liquidation of SOL, $13,800.00 at $138.00"
      : "main: SOL long is 17% from liquidation",
    description:
      "Mark $138.00, liquidation at $114.48, notional $13,800.00, account main/0.0 at margin ratio 18.8%.",
    runbook: "https://example.org/what-to-do",
    value: event ? null : 0.1704,
    dataAtMs: atMs - 2_000,
    acknowledgedBy: step === "acknowledged" ? "ana" : null,
    acknowledgedAtMs: step === "acknowledged" ? atMs : null,
    eventKey: event ? "liquidation:1" : null,
  };
  return {
    id: 1,
    alertId: alert.id,
    kind: step,
    atMs,
    alert,
    details: [
      ["Mark price", "$138.00"],
      ["Liquidation price", "$114.48"],
      ["Margin ratio", "18.8% (liquidation at 100%)"],
    ],
    facts: sampleFacts(),
    happenedMs: event ? atMs - 4_000 : null,
  };
}

/**
 * @param receiver the channel
 * @returns a message finalized half a minute after its change, as one that waited for its group
 */
export function sampleMessage(kind: TemplateKind, receiver: string): Message {
  const change = sampleChange(kind);
  const { alert } = change;
  return {
    id: "CjKV2P7WYv56LdEtF5KtD",
    receiver,
    severity: alert.severity,
    itemIds: [1],
    alertIds: [alert.id],
    content: {
      kind: "alert",
      severity: alert.severity,
      resolved: templateKindOf(change) === "resolved",
      title: alert.summary,
      items: [{ change, lead: leadOf(change) }],
      sender: "perpwatch on nuc",
    },
    ...untried(atMs + 30_000),
  };
}
