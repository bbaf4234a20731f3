/**
 * A rota: sends each message by the channel of the person who is on duty when it is sealed.
 *
 *   sealed ──`content.onDuty`, else the plan at that time──► a person's channel ──► receipt `anna: …`
 *
 * The person is fixed with the content, so retries go to the same one, also after a restart or a hand-over. Others stand in while the
 * person's channel fails (`people`): whoever is on duty by then, and the rest in the order of their turns. Which of them it is decides
 * the outbox, which knows what each channel came to. Receipts name the person: nobody's message is edited or replied to in the chat of
 * another.
 */
import type { Clock } from "../../domain/clock.ts";
import type { Capacity, Message } from "../../domain/delivery.ts";
import type { ChatActions } from "../../domain/ports.ts";
import type { Channel, Outgoing, ProbeResult, ToldBefore } from "../channel.ts";
import { addressee, changesAtMs, type RotaPlan } from "./plan.ts";

export interface RotaDeps {
  readonly clock: Pick<Clock, "nowMs">;
  /** The plan as it is now: a reload replaces it. */
  readonly plan: () => RotaPlan;
  /** The channels of people, by name. */
  readonly people: ReadonlyMap<string, Channel>;
}

/** The capacity that holds whoever is on duty. */
export function sharedCapacity(capacities: readonly Capacity[]): Capacity {
  const every = (has: (one: Capacity) => boolean) => capacities.length > 0 && capacities.every(has);
  const named = capacities.flatMap(({ maxNamed }) => maxNamed ?? []);
  return {
    ...(every(({ tellsEach }) => tellsEach === true) ? { tellsEach: true } : {}),
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
  const personNow = rememberingAddressee(deps);
  const ways = new Map<string, Channel>();
  const wayOf = (person: string): Channel => {
    const known = ways.get(person);
    if (known !== undefined) return known;
    const found = people.get(person);
    if (found === undefined) throw new Error(`no channel is called ${person}`);
    const way = personalChannel(person, found);
    ways.set(person, way);
    return way;
  };
  /** The person whom a message is for, who is on duty by now, and the others in the order of their turns. */
  const waysOf = (message: Message | null): readonly [Channel, ...Channel[]] => {
    const now = personNow();
    const first = message === null ? now : personOf(message, plan(), people);
    const all = plan().people;
    const at = all.indexOf(first) + 1;
    const others = [now, ...all.slice(at), ...all.slice(0, at)].filter((one) => people.has(one));
    return [wayOf(first), ...[...new Set(others)].filter((one) => one !== first).map(wayOf)];
  };
  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    const person = personNow();
    const result = await wayOf(person).probe(signal);
    return { ...result, detail: `${person} is on duty: ${result.detail}` };
  };
  return {
    name,
    kind: "rota",
    deadlineMs: Math.max(...channels.map(({ deadlineMs }) => deadlineMs)),
    ...sharedCapacity(channels),
    ...(channels.some(({ keepsGroups }) => keepsGroups) ? { keepsGroups: true } : {}),
    ...(channels.some(({ drawsSealed }) => drawsSealed) ? { drawsSealed: true } : {}),
    people: waysOf,
    // The people's channels start by themselves.
    start: probe,
    probe,
    stop: async () => {},
    trouble: () => people.get(personNow())?.trouble?.() ?? null,
    send: (outgoing, signal) => waysOf(outgoing.message)[0].send(outgoing, signal),
  };
}

/** The channel of a person as a rota sends by it: receipts and failures name the person. */
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

/** Finds who is on duty now. A plan is read again when it changes, and when it names somebody else. */
function rememberingAddressee({ clock, plan }: RotaDeps): () => string {
  let known: {
    readonly plan: RotaPlan;
    readonly fromMs: number;
    readonly toMs: number;
    readonly person: string;
  };
  return () => {
    const [current, nowMs] = [plan(), clock.nowMs()];
    if (known?.plan !== current || nowMs < known.fromMs || nowMs >= known.toMs) {
      const toMs = changesAtMs(current, nowMs) ?? nowMs + 3_600_000;
      known = { plan: current, fromMs: nowMs, toMs, person: addressee(current, nowMs) };
    }
    return known.person;
  };
}

/** A message that is about to be sealed, with the person whom it is for. @param plan of its receiver; undefined: it is no rota */
export function onDutyWhenSealed(message: Message, plan: RotaPlan | undefined): Message {
  if (plan === undefined) return message;
  return { ...message, content: { ...message.content, onDuty: addressee(plan, message.sealedAtMs) } };
}

/** The person who got a message of a rota, and in whose place; null: the person whom it was for did, or it is of no rota. */
export function standInOf({ content, receipt }: Message): {
  readonly person: string;
  readonly insteadOf: string;
} | null {
  const { onDuty } = content;
  if (onDuty === undefined || receipt === null || receipt.startsWith(prefixOf(onDuty))) return null;
  return { person: receipt.slice(0, receipt.indexOf(": ")), insteadOf: onDuty };
}

/** The person whom a message is for. */
function personOf(
  { content, sealedAtMs }: Message,
  plan: RotaPlan,
  people: ReadonlyMap<string, Channel>,
): string {
  const { onDuty } = content;
  return onDuty !== undefined && people.has(onDuty) ? onDuty : addressee(plan, sealedAtMs);
}

/**
 * Actions as a person's channel sees them: what a rota sent by it is its own, so that buttons and receipts are found again.
 * @param rotas names
 */
export function actionsOf(person: string, rotas: ReadonlySet<string>, actions: ChatActions): ChatActions {
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

/** The beginning of each receipt of a person; all of it: an attempt by the person's channel whose answer is not recorded. */
export const prefixOf = (person: string): string => `${person}: `;

/** A message as the person's own channel sees it: with what was sent to that person before, under its own receipts. */
function forPerson(outgoing: Outgoing, person: string): Outgoing {
  const prefix = prefixOf(person);
  const own = (told: ToldBefore | null | undefined): ToldBefore | null =>
    told?.receipt.startsWith(prefix) ? { ...told, receipt: told.receipt.slice(prefix.length) } : null;
  const { inReplyTo, latest, around, root, former, ...rest } = outgoing;
  const ownLatest = own(latest);
  const ownRoot = own(root);
  const ownFormer = own(former);
  return {
    ...rest,
    inReplyTo: own(inReplyTo) ?? ownLatest,
    ...(ownLatest === null ? {} : { latest: ownLatest }),
    ...(around === undefined ? {} : { around: around.flatMap((told) => own(told) ?? []) }),
    ...(ownRoot === null ? {} : { root: ownRoot }),
    ...(ownFormer === null ? {} : { former: ownFormer }),
  };
}
