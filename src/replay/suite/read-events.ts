/** Reads `events:` of a test: single events, with the fields of the vocabulary. */
import type { Event, EventKind, FieldValue, InboxItem } from "../../domain/event.ts";
import {
  eventKinds,
  eventVocabulary,
  type Field,
  nearestName,
  type RuleEventKind,
} from "../../rules/index.ts";
import type { Entry } from "./entry.ts";
import { scalarOf } from "./notation.ts";
import type { SuiteContext } from "./suite-context.ts";

/**
 * Keys of an event besides the fields of its kind. `at`: when the daemon reads it; `ago`: the time since it happened.
 */
const ownKeys = ["at", "ago", "on", "wallet", "account", "symbol", "id", "data", "past"];
/** Fields set by those keys. */
const commonFields = ["at", "age", "symbol", "id"];

/** Kinds of events that belong to no wallet. */
const exchangeKinds: ReadonlySet<EventKind> = new Set<EventKind>(["exchangeStatus", "marketChange"]);

export function readEvents(
  entry: Entry | undefined,
  context: SuiteContext,
): { readonly atMs: number; readonly event: Event }[] {
  const read = (entry?.items() ?? []).flatMap((one, index) => {
    const event = readEvent(one, index + 1, context);
    return event === undefined ? [] : [event];
  });
  return read.sort((a, b) => a.atMs - b.atMs);
}

function readEvent(entry: Entry, number: number, context: SuiteContext) {
  if (!entry.mapping(null)) return undefined;
  const kind = entry.need("on")?.oneOf<RuleEventKind>(eventKinds);
  const atMs = entry.need("at")?.durationMs();
  if (kind === undefined || atMs === undefined) return undefined;
  const fields = eventVocabulary[kind].filter(
    (field) => !commonFields.includes(field.name) && !(field.name === "kind" && kind !== "liquidation"),
  );
  entry.mapping([...ownKeys, ...fields.map((field) => field.name)]);
  const values: Record<string, FieldValue> = Object.fromEntries(fields.map(({ name }) => [name, null]));
  delete values.data;
  for (const field of fields) {
    const given = entry.get(field.name);
    if (given === undefined || field.name === "data") continue;
    const value = readValue(given, field);
    if (value !== undefined) values[field.name] = value;
  }
  const shared = exchangeKinds.has(kind);
  const wallet = entry.get("wallet")?.needText() ?? null;
  if (wallet === null && !shared) entry.problem({ message: "wallet is missing: whose event it is" });
  if (wallet !== null && shared)
    entry.get("wallet")?.problem({ message: `an event of the kind ${kind} belongs to no wallet` });
  if (wallet !== null && !context.known.has(wallet)) {
    const names = [...context.known.keys()];
    entry.get("wallet")?.problem({
      message: `no wallet is called ${wallet}: name it under wallets, or give it a series`,
      nearest: nearestName(wallet, names),
    });
  }
  const account = readAccount(entry.get("account"));
  const seenMs = context.startMs + atMs;
  const happenedMs = seenMs - (entry.get("ago")?.durationMs() ?? 0);
  const data = entry.get("data")?.value() ?? null;
  const event: Event = {
    kind,
    key: entry.get("id")?.needText() ?? `${kind} ${number}`,
    wallet,
    pdaIndex: account?.pdaIndex ?? null,
    subaccount: account?.subaccount ?? null,
    symbol: entry.get("symbol")?.needText()?.toUpperCase() ?? null,
    happenedMs,
    seenMs,
    slot: number,
    slotIndex: 0,
    eventIndex: 0,
    fields: values,
    data,
    backfilled: entry.get("past")?.boolean() ?? false,
    inbox: kind === "notification" ? inboxOf(values, number) : null,
    notificationKey: null,
  };
  return { atMs, event };
}

function readValue(entry: Entry, field: Field): FieldValue | undefined {
  const { text } = entry;
  if (text === undefined) {
    entry.problem({ message: `${field.name} must be a value` });
    return undefined;
  }
  const value = scalarOf(text, field);
  if (typeof value !== "object") return value;
  entry.problem(value);
  return undefined;
}

function readAccount(entry: Entry | undefined): { pdaIndex: number; subaccount: number } | null {
  if (entry === undefined) return null;
  const parts = /^(\d+)\.(\d+)$/.exec(entry.text ?? "");
  if (parts) return { pdaIndex: Number(parts[1]), subaccount: Number(parts[2]) };
  entry.problem({
    message: `account is a PDA index and a subaccount, as in 0.1; found ${entry.text ?? "something else"}`,
  });
  return null;
}

function inboxOf(fields: Readonly<Record<string, FieldValue>>, number: number): InboxItem {
  const { source } = fields;
  const type = source === "admin" || source === "general" ? source : "event";
  const item: InboxItem["item"] =
    type === "event"
      ? { type, slot: number, slotIndex: 0, instructionIndex: 0, eventIndex: 0, recipientIndex: 0 }
      : { type, id: number };
  return {
    source: type,
    notificationType: typeof fields.type === "string" ? fields.type : "",
    traderPubkey: "",
    item,
    acked: false,
    liquidationKey: null,
  };
}
