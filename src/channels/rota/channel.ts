/**
 * A rota: sends each message by the channel of the person who is on duty when it is sealed.
 *
 *   sealed ──`content.onDuty`, else the plan at that time──► a person's channel ──► receipt `anna: …`
 *
 * The person is fixed with the content, so retries go to the same one, also after a restart or a hand-over. Only a channel that
 * takes no message at all (a wrong token, say) loses its turn: the message goes to whoever is on duty now. Receipts name the
 * person: nobody's message is edited or replied to in the chat of another.
 */
import type { Clock } from "../../domain/clock.ts";
import type { Capacity, Message } from "../../domain/delivery.ts";
import type { ChatActions } from "../../domain/ports.ts";
import type { Channel, Outgoing, ProbeResult, SendResult, ToldBefore } from "../channel.ts";
import { addressee, type RotaPlan } from "./plan.ts";

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
  const { clock, plan, people } = deps;
  const channels = names.flatMap((person) => people.get(person) ?? []);
  const personNow = (): string => addressee(plan(), clock.nowMs());
  const channelOf = (person: string): Channel => {
    const found = people.get(person);
    if (found === undefined) throw new Error(`no channel is called ${person}`);
    return found;
  };
  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    const person = personNow();
    const result = await channelOf(person).probe(signal);
    return { ...result, detail: `${person} is on duty: ${result.detail}` };
  };
  const sendBy = async (person: string, outgoing: Outgoing, signal: AbortSignal): Promise<SendResult> => {
    const result = await channelOf(person).send(forPerson(outgoing, person), signal);
    return result.kind === "delivered"
      ? { ...result, receipt: prefixOf(person) + result.receipt }
      : { ...result, detail: prefixOf(person) + result.detail };
  };
  return {
    name,
    kind: "rota",
    deadlineMs: Math.max(...channels.map(({ deadlineMs }) => deadlineMs)),
    ...sharedCapacity(channels),
    ...(channels.some(({ keepsGroups }) => keepsGroups) ? { keepsGroups: true } : {}),
    ...(channels.some(({ drawsSealed }) => drawsSealed) ? { drawsSealed: true } : {}),
    // The people's channels start by themselves.
    start: probe,
    probe,
    stop: async () => {},
    trouble: () => people.get(personNow())?.trouble?.() ?? null,
    async send(outgoing, signal) {
      const person = personOf(outgoing.message, plan(), people);
      const result = await sendBy(person, outgoing, signal);
      const now = personNow();
      if (result.kind !== "refused" || !result.channelBroken || now === person) return result;
      return sendBy(now, outgoing, signal);
    },
  };
}

/** A message that is about to be sealed, with the person whom it is for. @param plan of its receiver; undefined: it is no rota */
export function onDutyWhenSealed(message: Message, plan: RotaPlan | undefined): Message {
  if (plan === undefined) return message;
  return { ...message, content: { ...message.content, onDuty: addressee(plan, message.sealedAtMs) } };
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
  };
}

const prefixOf = (person: string): string => `${person}: `;

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
