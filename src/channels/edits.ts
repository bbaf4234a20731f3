/**
 * Edits of messages that were sent, for channels that keep the first message of an incident current: one edit at a time for each
 * message, each with all that was told since, so that edits of two lanes never undo each other.
 */
import type { Clock } from "../domain/clock.ts";
import type { Message } from "../domain/delivery.ts";
import { asTold, getsNoWorse, isCalm } from "./as-told.ts";
import type { Outgoing, SendResult, ToldBefore } from "./channel.ts";
import type { ChannelLog } from "./log.ts";

export interface EditsOptions {
  readonly clock: Clock;
  readonly log: ChannelLog;
  /**
   * One edit of the message under a receipt. `refused`: it cannot be edited, now or later. Null: a message with this content cannot
   * name all of its alerts, or the receipt is none.
   * @param told it with all that was told since   @param parts the same apart
   */
  readonly put: (
    receipt: string,
    told: Message,
    signal: AbortSignal,
    parts: { readonly message: Message; readonly since: readonly Message[] },
  ) => Promise<SendResult | null>;
}

const maxTries = 5;
/** Messages that are remembered, beside those with an edit under way. */
const maxPlaces = 100;
const maxSince = 2_000;

interface Place {
  readonly receipt: string;
  /** As it was sent. */
  readonly message: Message;
  /** Told since, oldest first. */
  since: readonly Message[];
  /** The edit under way, with those that wait for it. */
  last: Promise<unknown>;
  /** The number of messages that were added, and of those that the sent message shows. */
  changed: number;
  shown: number;
  refreshing: boolean;
  /** Edits that are made or wait. */
  edits: number;
}

/** Returns true if nobody has to be woken by a message. */
export function isSilent(message: Message): boolean {
  return message.content.quiet === true || isCalm(message);
}

/** The messages that are edited in place of sending what is quiet or calm, the most important first. */
function placesOf({ message, root, latest }: Outgoing): ToldBefore[] {
  if (!isSilent(message)) return [];
  const places = getsNoWorse(message) ? [root, latest] : [root];
  const found = places.filter((place) => place !== undefined);
  return found.filter(
    (place, index) => found.findIndex(({ receipt }) => receipt === place.receipt) === index,
  );
}

export class Edits {
  readonly #options: EditsOptions;
  readonly #places = new Map<string, Place>();
  #life = new AbortController();

  constructor(options: EditsOptions) {
    this.#options = options;
  }

  /**
   * Edits what is to be edited in place of sending a message. The result has the receipt of the edited message.
   * @returns null where nothing is, or nothing can be: then it is sent
   */
  inPlaceOf(outgoing: Outgoing, signal: AbortSignal): Promise<SendResult | null> {
    return this.edit(placesOf(outgoing), outgoing.message, signal);
  }

  /**
   * Edits the first of some messages that can show a later one, and in its own time those after it.
   * @param places the most important first   @returns null where none can be edited
   */
  async edit(
    places: readonly ToldBefore[],
    message: Message,
    signal: AbortSignal,
  ): Promise<SendResult | null> {
    for (const [index, told] of places.entries()) {
      const place = this.#placeOf(told, message);
      const result = await this.#inTurn(place, signal, message);
      if (result === null || result.kind === "refused") continue;
      if (result.kind === "delivered")
        for (const other of places.slice(index + 1)) this.refresh(other, message);
      return result;
    }
    return null;
  }

  /** Brings the first message of the incident of a message up to date, once that message was delivered. Best effort, in its own time. */
  keepCurrent({ message, root, former }: Outgoing): void {
    const first = root ?? former;
    if (first !== undefined) this.refresh(first, message);
  }

  /** Gives up on what is under way. */
  stop(): void {
    this.#life.abort();
    this.#life = new AbortController();
  }

  /** Adds a later message to one that was sent. Best effort, in its own time. */
  refresh(told: ToldBefore, message: Message): void {
    const place = this.#placeOf(told, message);
    if (place.refreshing) return;
    place.refreshing = true;
    const { signal } = this.#life;
    void this.#untilShown(place, signal)
      .catch(() => {})
      .finally(() => {
        place.refreshing = false;
      });
  }

  async #untilShown(place: Place, signal: AbortSignal): Promise<void> {
    for (let tries = 1; place.shown < place.changed; tries++) {
      const result = await this.#inTurn(place, signal);
      if (result?.kind === "delivered") continue;
      if (result?.kind !== "retry" || tries >= maxTries) {
        const detail = result?.detail ?? "what it tells is too long for it";
        this.#options.log.warn({ receipt: place.receipt, detail }, "an earlier message could not be edited");
        return;
      }
      await this.#options.clock.sleep(result.afterMs ?? 2_000 * 2 ** (tries - 1), signal);
    }
  }

  /**
   * Makes one edit with all that is known then, after those of the same message that were asked for before.
   * @param named a message of which it has to name each alert
   */
  #inTurn(place: Place, signal: AbortSignal, named?: Message): Promise<SendResult | null> {
    const edit = async (): Promise<SendResult | null> => {
      signal.throwIfAborted();
      const { changed, receipt, message, since } = place;
      const told = asTold(message, since);
      if (named !== undefined && !namesAll(told, named)) return null;
      const result = await this.#options.put(receipt, told, signal, { message, since });
      if (result?.kind !== "delivered") return result;
      place.shown = Math.max(place.shown, changed);
      return { ...result, receipt };
    };
    const turn = place.last.then(edit);
    place.edits++;
    place.last = turn
      .catch(() => {})
      .finally(() => {
        place.edits--;
      });
    return turn;
  }

  /** Forgets the oldest ones of too many. One with an edit under way stays: a second edit at the same time would undo it. */
  #forget(newest: Place): void {
    for (const [receipt, place] of this.#places) {
      if (this.#places.size <= maxPlaces) return;
      if (place !== newest && place.edits === 0 && !place.refreshing) this.#places.delete(receipt);
    }
  }

  /** A sent message with all that was told since, by the caller and by this process, and one message more. */
  #placeOf({ receipt, message: sent, since = [] }: ToldBefore, message: Message): Place {
    const place: Place = this.#places.get(receipt) ?? {
      ...{ receipt, message: sent, since: [], last: Promise.resolve() },
      ...{ changed: 0, shown: 0, refreshing: false, edits: 0 },
    };
    const all = new Map([...place.since, ...since, message].map((one) => [one.id, one]));
    place.since = [...all.values()].sort((a, b) => a.sealedAtMs - b.sealedAtMs).slice(-maxSince);
    place.changed++;
    this.#places.delete(receipt);
    this.#places.set(receipt, place);
    this.#forget(place);
    return place;
  }
}

/** Returns true if a message as it stands has an item for each alert of another. */
function namesAll({ content }: Message, other: Message): boolean {
  const named = new Set(content.items.map(({ change }) => change.alertId));
  return other.content.items.every(({ change }) => named.has(change.alertId));
}
