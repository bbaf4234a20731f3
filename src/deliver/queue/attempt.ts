/** One attempt to send a finalized message: the message it replies to, and the answer within the channel's deadline. */
import type { Entry } from "../../alerts/pending/waiting.ts";
import type { Channel, Outgoing, ProbeResult, SendResult, SentMessage } from "../../channels/channel.ts";
import { firstOfIncident, type Message } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Store } from "../../domain/ports.ts";
import type { Journal } from "../journal.ts";
import type { DeliverLog } from "../log.ts";

export interface AttemptOptions {
  readonly clock: Clock;
  /** Aborted when the program stops. */
  readonly cut: AbortSignal;
  readonly log: DeliverLog;
}

/** @returns null if the program's stop interrupted it */
export async function attemptWithin(
  outgoing: Outgoing,
  channel: Channel,
  { clock, cut, log }: AttemptOptions,
): Promise<SendResult | null> {
  const { deadlineMs, name } = channel;
  if (cut.aborted) return null;
  let late = false;
  const onLate = () => {
    late = true;
  };
  try {
    return await within(deadlineMs, (signal) => channel.send(outgoing, signal), { clock, cut, onLate });
  } catch (error) {
    if (cut.aborted) return null;
    if (!late) {
      const fault = error instanceof Error ? (error.stack ?? error.message) : "failed";
      log.warn({ channel: name, detail: fault }, "a channel met a fault of its own");
    }
    const detail = late ? `no answer within ${deadlineMs / 1_000} s` : "the channel itself failed";
    return { kind: "retry", failure: late ? "timeout" : "server-error", detail, afterMs: null };
  }
}

/** @returns null if it failed by itself, got no answer within the channel's deadline, or was interrupted */
export async function probeWithin(
  channel: Channel,
  options: Pick<AttemptOptions, "clock" | "cut">,
): Promise<ProbeResult | null> {
  if (options.cut.aborted) return null;
  return within(channel.deadlineMs, (signal) => channel.probe(signal), options).catch(() => null);
}

/** Limits the time of a channel that ignores its abort signal. */
async function within<T>(
  deadlineMs: number,
  work: (signal: AbortSignal) => Promise<T>,
  { clock, cut, onLate }: Pick<AttemptOptions, "clock" | "cut"> & { readonly onLate?: () => void },
): Promise<T> {
  const deadline = new AbortController();
  const signal = AbortSignal.any([deadline.signal, cut]);
  const cancel = clock.after(deadlineMs, () => {
    onLate?.();
    deadline.abort(new Error("the deadline of this attempt passed"));
  });
  let forget = () => {};
  const over = new Promise<never>((_resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    forget = () => signal.removeEventListener("abort", abort);
  });
  try {
    return await Promise.race([work(signal), over]);
  } finally {
    cancel();
    forget();
  }
}

/**
 * Finds the earlier messages about the same alerts: the first message, which it replies to (for an ended alert before
 * others), and the newest that covers all of them.
 * @param withGroup includes the messages about the firing alerts of its group (`Outgoing.around`)
 */
export async function earlierMessages(
  message: Message,
  entries: readonly Entry[],
  store: Pick<Store, "messages">,
  journal: Journal,
  withGroup = false,
): Promise<Pick<Outgoing, "inReplyTo" | "latest" | "around">> {
  const direct = await earlierOfAlerts(message, entries, store, journal);
  if (!withGroup || message.content.folded !== undefined) return direct;
  const others = message.content.standing?.alerts.map(({ id }) => id) ?? [];
  // There is no earlier message about an alert that fires for the first time and is alone.
  const known = entries.some(({ change }) => change !== null && change.kind !== "fired");
  if (others.length === 0 && !known) return direct;
  const asked = new Set([...message.alertIds, ...others]);
  const delivered = await deliveredAbout([...asked], message, store, journal);
  const single = delivered
    .filter((one) => one.receipt && one.content.folded === undefined)
    .slice(0, maxAround);
  const ids = [...new Set(single.flatMap(({ alertIds }) => alertIds))];
  const all = ids.every((id) => asked.has(id))
    ? delivered
    : await deliveredAbout(ids, message, store, journal);
  const around = [...new Set(single.map(({ receipt }) => receipt!))].map((one) => standing(one, all));
  return around.length === 0 ? direct : { ...direct, around };
}

/**
 * Finds the first message of its incident, with all later content of the incident.
 * @returns undefined if it is the first itself, or belongs to no incident
 */
export async function rootOf(
  message: Message,
  entries: readonly Entry[],
  store: Pick<Store, "messages">,
  journal: Journal,
): Promise<SentMessage | undefined> {
  const id = message.content.incident?.id;
  const first = firstOfIncident(entries[0]?.item.groupKey ?? null);
  if (id === undefined || first === null) return undefined;
  const isRoot = ({ content, receipt }: Message) =>
    content.incident?.id === id && content.quiet !== true && receipt !== null && receipt !== "";
  let root = (await deliveredAbout([first], message, store, journal)).find(isRoot);
  // The message about the first alert may have been refused.
  if (root === undefined && !message.alertIds.includes(first)) {
    const known = await knownOf(id, Number.NEGATIVE_INFINITY, store, journal).catch(() => []);
    root = received(known, message).find(isRoot);
  }
  return root && (await withAllSince(root, id, message, store, journal));
}

/**
 * Finds the first message of an ended incident that included alerts of a message without incident, with all later
 * content about its alerts.
 */
export async function formerRootOf(
  message: Message,
  { inReplyTo, latest, around = [] }: Pick<Outgoing, "inReplyTo" | "latest" | "around">,
  store: Pick<Store, "messages">,
  journal: Journal,
): Promise<SentMessage | undefined> {
  if (message.content.incident !== undefined) return undefined;
  const ids = [inReplyTo, ...around, latest].flatMap((place) =>
    place?.message.alertIds.some((id) => message.alertIds.includes(id))
      ? (place.message.content.incident?.id ?? [])
      : [],
  );
  const id = ids.at(-1);
  if (id === undefined) return undefined;
  const known = await knownOf(id, Number.NEGATIVE_INFINITY, store, journal).catch(() => []);
  const root = received(known, message).find((one) => one.content.quiet !== true && one.receipt);
  return root && (await withAllSince(root, id, message, store, journal));
}

/** @returns undefined if the later content cannot be read now: an edit would remove it */
async function withAllSince(
  root: Message,
  incident: string,
  message: Message,
  store: Pick<Store, "messages">,
  journal: Journal,
): Promise<SentMessage | undefined> {
  try {
    const known = await knownOf(incident, root.sealedAtMs, store, journal);
    const alertIds = [...new Set(known.flatMap((one) => one.alertIds))];
    // Alerts that outlast an incident are reported separately.
    const all = [...known, ...(await deliveredAbout(alertIds, message, store, journal))];
    const since = received(new Map(all.map((one) => [one.id, one])).values(), message).filter(
      (one) => one.id !== root.id && one.sealedAtMs >= root.sealedAtMs,
    );
    return { messageId: root.id, receipt: root.receipt!, message: root, since };
  } catch {
    return undefined;
  }
}

/** Returns the known messages of an incident, from a time on. */
async function knownOf(
  incident: string,
  sealedFromMs: number,
  store: Pick<Store, "messages">,
  journal: Journal,
): Promise<readonly Message[]> {
  const written = await store.messages({
    incident,
    ...(Number.isFinite(sealedFromMs) ? { sealedFromMs } : {}),
  });
  const all = new Map(written.map((one) => [one.id, one]));
  for (const one of journal.unwritten()) if (one.content.incident?.id === incident) all.set(one.id, one);
  return [...all.values()];
}

/** Maximum messages of a group that are examined, oldest first, since later messages are replies to them. */
const maxAround = 50;

/**
 * Returns the message as sent, with the later edits and the ends of its alerts, which an edit would otherwise remove.
 */
function standing(receipt: string, known: readonly Message[]): SentMessage {
  const sent = known.find((one) => one.receipt === receipt);
  const since = known.filter(
    (one) => one !== sent && (one.receipt === receipt || endsSome(one, sent!.alertIds)),
  );
  return {
    ...{ messageId: sent!.id, receipt, message: sent! },
    ...(since.length === 0 ? {} : { since }),
  };
}

function endsSome({ content }: Message, alertIds: readonly number[]): boolean {
  return content.items.some(({ change }) => change.kind === "ended" && alertIds.includes(change.alertId));
}

async function earlierOfAlerts(
  message: Message,
  entries: readonly Entry[],
  store: Pick<Store, "messages">,
  journal: Journal,
): Promise<Pick<Outgoing, "inReplyTo" | "latest">> {
  const lasting = entries.filter(({ change }) => change !== null && !change.alert.event);
  if (lasting.length === 0) return { inReplyTo: null };
  const isEnding = (alertId: number) =>
    message.content.items.some(({ change }) => change.alertId === alertId && change.kind === "ended");
  const alertIds = [...new Set(lasting.map(({ item }) => item.alertId))];
  alertIds.sort((a, b) => Number(isEnding(b)) - Number(isEnding(a)));
  const delivered = await deliveredAbout(alertIds, message, store, journal);
  const first = alertIds
    .map((alertId) => delivered.find((one) => one.alertIds.includes(alertId) && one.receipt))
    .find((one) => one !== undefined);
  if (first === undefined) return { inReplyTo: null };
  const newest = delivered.findLast(
    (one) => one.receipt && alertIds.every((id) => one.alertIds.includes(id)),
  );
  const around = [...new Set([first, ...(newest ? [newest] : [])].flatMap((one) => one.alertIds))];
  const known = around.every((id) => alertIds.includes(id))
    ? delivered
    : await deliveredAbout(around, message, store, journal);
  return {
    inReplyTo: standing(first.receipt!, known),
    ...(newest ? { latest: standing(newest.receipt!, known) } : {}),
  };
}

/** Oldest first. */
async function deliveredAbout(
  alertIds: readonly number[],
  message: Message,
  store: Pick<Store, "messages">,
  journal: Journal,
): Promise<readonly Message[]> {
  const known = new Map<string, Message>();
  try {
    for (const one of await store.messages({ alertIds })) known.set(one.id, one);
  } catch {
    // Without a readable history the message is still sent, but not as a reply.
  }
  for (const one of journal.unwritten())
    if (one.alertIds.some((id) => alertIds.includes(id))) known.set(one.id, one);
  return received(known.values(), message);
}

/** Returns the messages delivered to its receiver, oldest first. */
function received(messages: Iterable<Message>, { receiver, id }: Message): readonly Message[] {
  return [...messages]
    .filter((one) => one.receiver === receiver && one.status === "delivered" && one.id !== id)
    .sort((a, b) => (a.deliveredAtMs ?? 0) - (b.deliveredAtMs ?? 0));
}
