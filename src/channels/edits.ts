/**
 * Edits sent messages, for channels that keep the first message of an incident current. Edits of one message run one at
 * a time, and each contains all updates so far, so edits from two lanes never undo each other.
 */

import type { Message } from "../domain/alerts/delivery.ts";
import type { Clock } from "../domain/clock.ts";
import type { Outgoing, SendResult, SentMessage } from "./channel.ts";
import type { ChannelLog } from "./log.ts";
import { hasOnlyMinorChanges, isMinorUpdate, withUpdates } from "./message/updated-message.ts";

export interface EditsOptions {
  readonly clock: Clock;
  readonly log: ChannelLog;
  /**
   * Makes one edit of the message under a receipt. `refused`: it cannot be edited, now or later. Null: the content is
   * too long to name all of its alerts, or the receipt is not valid.
   * @param current the message with all updates
   * @param parts the original message and its updates
   */
  readonly put: (
    receipt: string,
    current: Message,
    signal: AbortSignal,
    parts: { readonly message: Message; readonly since: readonly Message[] },
  ) => Promise<SendResult | null>;
}

const maxAttempts = 5;
/** Sent messages whose state is kept, without those with an edit under way. */
const maxTargets = 100;
const maxUpdates = 2_000;

interface EditTarget {
  readonly receipt: string;
  /** The original content. */
  readonly message: Message;
  /** Later messages, oldest first. */
  since: readonly Message[];
  /** The running edit, followed by those that wait for it. */
  tail: Promise<unknown>;
  /** Number of updates that were added, and number of those that the sent message shows. */
  addedCount: number;
  shownCount: number;
  refreshing: boolean;
  /** Running and waiting edits. */
  edits: number;
}

/** Returns true if the message must not make a sound. */
export function isSilent(message: Message): boolean {
  return message.content.quiet === true || isMinorUpdate(message);
}

/** The messages to edit instead of sending a quiet or minor message, most important first. */
function targetsOf({ message, root, latest }: Outgoing): SentMessage[] {
  if (!isSilent(message)) return [];
  const targets = hasOnlyMinorChanges(message) ? [root, latest] : [root];
  const found = targets.filter((target) => target !== undefined);
  return found.filter(
    (target, index) => found.findIndex(({ receipt }) => receipt === target.receipt) === index,
  );
}

export class Edits {
  readonly #options: EditsOptions;
  readonly #targets = new Map<string, EditTarget>();
  #life = new AbortController();

  constructor(options: EditsOptions) {
    this.#options = options;
  }

  /**
   * Edits an earlier message instead of sending this one. The result has the receipt of the edited message.
   * @returns null if there is nothing to edit or no edit is possible; the message is sent then
   */
  editInstead(outgoing: Outgoing, signal: AbortSignal): Promise<SendResult | null> {
    return this.edit(targetsOf(outgoing), outgoing.message, signal);
  }

  /**
   * Edits the first target that can show the message, and then, in the background, the targets after it.
   * @param targets most important first
   * @returns null if none can be edited
   */
  async edit(
    targets: readonly SentMessage[],
    message: Message,
    signal: AbortSignal,
  ): Promise<SendResult | null> {
    for (const [index, sent] of targets.entries()) {
      const target = this.#targetFor(sent, message);
      const result = await this.#editInTurn(target, signal, message);
      if (result === null || result.kind === "refused") continue;
      if (result.kind === "delivered")
        for (const other of targets.slice(index + 1)) this.refresh(other, message);
      return result;
    }
    return null;
  }

  /** Adds a delivered message to the first message of its incident. Best effort, in the background. */
  updateRoot({ message, root, former }: Outgoing): void {
    const first = root ?? former;
    if (first !== undefined) this.refresh(first, message);
  }

  /** Aborts running and waiting edits. */
  stop(): void {
    this.#life.abort();
    this.#life = new AbortController();
  }

  /** Adds a later message to a sent one. Best effort, in the background. */
  refresh(sent: SentMessage, message: Message): void {
    const target = this.#targetFor(sent, message);
    if (target.refreshing) return;
    target.refreshing = true;
    const { signal } = this.#life;
    void this.#editUntilShown(target, signal)
      .catch(() => {})
      .finally(() => {
        target.refreshing = false;
      });
  }

  async #editUntilShown(target: EditTarget, signal: AbortSignal): Promise<void> {
    for (let tries = 1; target.shownCount < target.addedCount; tries++) {
      const result = await this.#editInTurn(target, signal);
      if (result?.kind === "delivered") continue;
      if (result?.kind !== "retry" || tries >= maxAttempts) {
        const detail = result?.detail ?? "the updated content is too long";
        this.#options.log.warn({ receipt: target.receipt, detail }, "an earlier message could not be edited");
        return;
      }
      await this.#options.clock.sleep(result.afterMs ?? 2_000 * 2 ** (tries - 1), signal);
    }
  }

  /**
   * Makes one edit with all updates known at that time, after the edits of the same message that were requested before.
   * @param named message whose alerts the edited message has to include
   */
  #editInTurn(target: EditTarget, signal: AbortSignal, named?: Message): Promise<SendResult | null> {
    const edit = async (): Promise<SendResult | null> => {
      signal.throwIfAborted();
      const { addedCount, receipt, message, since } = target;
      const current = withUpdates(message, since);
      if (named !== undefined && !hasAllAlerts(current, named)) return null;
      const result = await this.#options.put(receipt, current, signal, { message, since });
      if (result?.kind !== "delivered") return result;
      target.shownCount = Math.max(target.shownCount, addedCount);
      return { ...result, receipt };
    };
    const turn = target.tail.then(edit);
    target.edits++;
    target.tail = turn
      .catch(() => {})
      .finally(() => {
        target.edits--;
      });
    return turn;
  }

  /** Removes the oldest targets above the maximum. One with an edit under way stays: a second edit at the same time would undo it. */
  #prune(newest: EditTarget): void {
    for (const [receipt, target] of this.#targets) {
      if (this.#targets.size <= maxTargets) return;
      if (target !== newest && target.edits === 0 && !target.refreshing) this.#targets.delete(receipt);
    }
  }

  /**
   * Returns the state of a sent message, with the updates from the caller, those known to this process, and one more
   * message.
   */
  #targetFor({ receipt, message: sent, since = [] }: SentMessage, message: Message): EditTarget {
    const target: EditTarget = this.#targets.get(receipt) ?? {
      ...{ receipt, message: sent, since: [], tail: Promise.resolve() },
      ...{ addedCount: 0, shownCount: 0, refreshing: false, edits: 0 },
    };
    const all = new Map([...target.since, ...since, message].map((one) => [one.id, one]));
    target.since = [...all.values()].sort((a, b) => a.sealedAtMs - b.sealedAtMs).slice(-maxUpdates);
    target.addedCount++;
    this.#targets.delete(receipt);
    this.#targets.set(receipt, target);
    this.#prune(target);
    return target;
  }
}

/** Returns true if a message has an item for each alert of another message. */
function hasAllAlerts({ content }: Message, other: Message): boolean {
  const named = new Set(content.items.map(({ change }) => change.alertId));
  return other.content.items.every(({ change }) => named.has(change.alertId));
}
