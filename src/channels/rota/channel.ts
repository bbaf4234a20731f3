/**
 * A rota: sends each message by the channel of the person who is on duty when it is finalized.
 *
 *   finalized ──`content.onDuty`, else the plan at that time──► a person's channel ──► receipt `anna: …`
 *
 * The person is stored with the content, so retries go to the same person, also after a restart or a hand-over. If that
 * person's channel fails, others replace it (`people`): whoever is on duty by then, and the others in the order of
 * their turns. The outbox selects among them, since it knows each channel's state. Receipts name the person, so a
 * message is edited or replied to only in the chat of the person who received it.
 */

import type { Capacity, Message } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { ChatActions } from "../../domain/ports.ts";
import type { Channel, Outgoing, ProbeResult, SentMessage } from "../channel.ts";
import { addressee, nextChangeMs, type RotaPlan } from "./plan.ts";

export interface RotaDeps {
  readonly clock: Pick<Clock, "nowMs">;
  /** Returns the current plan; a reload replaces it. */
  readonly plan: () => RotaPlan;
  /** The people's channels, by name. */
  readonly people: ReadonlyMap<string, Channel>;
}

/** Returns the capacity that all channels have in common. */
export function sharedCapacity(capacities: readonly Capacity[]): Capacity {
  const every = (has: (one: Capacity) => boolean) => capacities.length > 0 && capacities.every(has);
  const named = capacities.flatMap(({ maxNamed }) => maxNamed ?? []);
  return {
    ...(every(({ isNeverFolded }) => isNeverFolded === true) ? { isNeverFolded: true } : {}),
    ...(named.length > 0 ? { maxNamed: Math.min(...named) } : {}),
    ...(every(({ apart }) => apart === true) ? { apart: true as const } : {}),
    ...(every(({ edits }) => edits === true) ? { edits: true as const } : {}),
    ...(every(({ byAccount }) => byAccount === true) ? { byAccount: true as const } : {}),
  };
}

/** @param names of the people at the start */
export function createRota(name: string, names: readonly string[], deps: RotaDeps): Channel {
  const { plan, people } = deps;
  const channels = names.flatMap((person) => people.get(person) ?? []);
  const personNow = cachedAddressee(deps);
  const senders = new Map<string, Channel>();
  const senderFor = (person: string): Channel => {
    const known = senders.get(person);
    if (known !== undefined) return known;
    const found = people.get(person);
    if (found === undefined) throw new Error(`no channel is called ${person}`);
    const sender = personalChannel(person, found);
    senders.set(person, sender);
    return sender;
  };
  /** The recipient of a message, then the person on duty now, then the others in the order of their turns. */
  const sendersFor = (message: Message | null): readonly [Channel, ...Channel[]] => {
    const now = personNow();
    const first = message === null ? now : personOf(message, plan(), people);
    const all = plan().people;
    const at = all.indexOf(first) + 1;
    const others = [now, ...all.slice(at), ...all.slice(0, at)].filter((one) => people.has(one));
    return [senderFor(first), ...[...new Set(others)].filter((one) => one !== first).map(senderFor)];
  };
  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    const person = personNow();
    const result = await senderFor(person).probe(signal);
    return { ...result, detail: `${person} is on duty: ${result.detail}` };
  };
  return {
    name,
    kind: "rota",
    deadlineMs: Math.max(...channels.map(({ deadlineMs }) => deadlineMs)),
    ...sharedCapacity(channels),
    ...(channels.some(({ keepsGroups }) => keepsGroups) ? { keepsGroups: true } : {}),
    ...(channels.some(({ drawsCharts }) => drawsCharts) ? { drawsCharts: true } : {}),
    people: sendersFor,
    // The people's channels are started separately.
    start: probe,
    probe,
    stop: async () => {},
    trouble: () => people.get(personNow())?.trouble?.() ?? null,
    send: (outgoing, signal) => sendersFor(outgoing.message)[0].send(outgoing, signal),
  };
}

/** A person's channel as the rota uses it: receipts and failures name the person. */
function personalChannel(person: string, channel: Channel): Channel {
  return {
    name: person,
    kind: channel.kind,
    deadlineMs: channel.deadlineMs,
    start: (signal) => channel.start(signal),
    probe: (signal) => channel.probe(signal),
    stop: async () => {},
    async send(outgoing, signal) {
      const result = await channel.send(forPerson(outgoing, person), signal);
      return result.kind === "delivered"
        ? { ...result, receipt: prefixOf(person) + result.receipt }
        : { ...result, detail: prefixOf(person) + result.detail };
    },
  };
}

/** Returns a function for the person on duty now. The plan is evaluated again when it is replaced and when a shift ends. */
function cachedAddressee({ clock, plan }: RotaDeps): () => string {
  let known: {
    readonly plan: RotaPlan;
    readonly fromMs: number;
    readonly toMs: number;
    readonly person: string;
  };
  return () => {
    const [current, nowMs] = [plan(), clock.nowMs()];
    if (known?.plan !== current || nowMs < known.fromMs || nowMs >= known.toMs) {
      const toMs = nextChangeMs(current, nowMs) ?? nowMs + 3_600_000;
      known = { plan: current, fromMs: nowMs, toMs, person: addressee(current, nowMs) };
    }
    return known.person;
  };
}

/**
 * Stores the person on duty in a message that is about to be finalized. @param plan of its receiver; undefined: it is
 * not a rota
 */
export function withOnDuty(message: Message, plan: RotaPlan | undefined): Message {
  if (plan === undefined) return message;
  return { ...message, content: { ...message.content, onDuty: addressee(plan, message.sealedAtMs) } };
}

/** The person who received a message in place of another; null: the intended person received it, or it is not of a rota. */
export function standInOf({ content, receipt }: Message): {
  readonly person: string;
  readonly insteadOf: string;
} | null {
  const { onDuty } = content;
  if (onDuty === undefined || receipt === null || receipt.startsWith(prefixOf(onDuty))) return null;
  return { person: receipt.slice(0, receipt.indexOf(": ")), insteadOf: onDuty };
}

/** Returns the recipient of a message. */
function personOf(
  { content, sealedAtMs }: Message,
  plan: RotaPlan,
  people: ReadonlyMap<string, Channel>,
): string {
  const { onDuty } = content;
  return onDuty !== undefined && people.has(onDuty) ? onDuty : addressee(plan, sealedAtMs);
}

/**
 * Adapts chat actions for a person's channel: messages that a rota sent by it appear as its own, so that buttons and
 * receipts match.
 * @param rotas names
 */
export function actionsForPerson(
  person: string,
  rotas: ReadonlySet<string>,
  actions: ChatActions,
): ChatActions {
  const prefix = prefixOf(person);
  const own = (message: Message): Message =>
    rotas.has(message.receiver) && message.receipt?.startsWith(prefix)
      ? { ...message, receiver: person, receipt: message.receipt.slice(prefix.length) }
      : message;
  return {
    ...actions,
    async alert(id) {
      const story = await actions.alert(id);
      return story === null ? null : { ...story, messages: story.messages.map(own) };
    },
    criticalMessages: async (sealedFromMs) => (await actions.criticalMessages(sealedFromMs)).map(own),
  };
}

/**
 * The beginning of every receipt of a person. A receipt of only this is an attempt by the person's channel whose answer
 * is not recorded.
 */
export const prefixOf = (person: string): string => `${person}: `;

/**
 * Adapts an outgoing message for the person's channel: only earlier messages to that person are kept, under the
 * channel's own receipts.
 */
function forPerson(outgoing: Outgoing, person: string): Outgoing {
  const prefix = prefixOf(person);
  const own = (sent: SentMessage | null | undefined): SentMessage | null =>
    sent?.receipt.startsWith(prefix) ? { ...sent, receipt: sent.receipt.slice(prefix.length) } : null;
  const { inReplyTo, latest, around, root, former, ...rest } = outgoing;
  const ownLatest = own(latest);
  const ownRoot = own(root);
  const ownFormer = own(former);
  return {
    ...rest,
    inReplyTo: own(inReplyTo) ?? ownLatest,
    ...(ownLatest === null ? {} : { latest: ownLatest }),
    ...(around === undefined ? {} : { around: around.flatMap((sent) => own(sent) ?? []) }),
    ...(ownRoot === null ? {} : { root: ownRoot }),
    ...(ownFormer === null ? {} : { former: ownFormer }),
  };
}
