/**
 * Threads of the local Discord, started from messages: a thread has the id of its message, a message has one thread at most,
 * even after that was deleted. What is archived takes no edits and wakes up when somebody writes; what is locked takes nothing.
 */
import { invalidForm } from "./discord-limits.ts";
import { Refusal } from "./discord-wire.ts";

export interface DiscordThread {
  /** The id of the message that it was started from. */
  readonly id: string;
  readonly channelId: string;
  readonly name: string;
  archived: boolean;
  locked: boolean;
  deleted: boolean;
}

/** Text channel → public thread, announcement channel → announcement thread. There are none in any other. */
const typeIn: Readonly<Record<number, number>> = { 0: 11, 5: 10 };
const archiveAfterMin: readonly unknown[] = [undefined, 60, 1_440, 4_320, 10_080];

export class Threads {
  readonly all: DiscordThread[] = [];

  /** @returns null for what is no thread, or none any more */
  find(id: string): DiscordThread | null {
    return this.all.find((one) => one.id === id && !one.deleted) ?? null;
  }

  /** `POST /channels/ID/messages/ID/threads` */
  start(channelId: string, channelType: number, messageId: string, raw: unknown): DiscordThread {
    if (typeIn[channelType] === undefined || this.find(channelId) !== null)
      throw new Refusal(400, 50024, "Cannot execute action on this channel type");
    const { name, auto_archive_duration } = (raw ?? {}) as Record<string, unknown>;
    if (typeof name !== "string" || name.trim() === "" || name.length > 100) {
      const problem = {
        path: ["name"],
        code: "BASE_TYPE_BAD_LENGTH",
        message: "Must be between 1 and 100 in length.",
      };
      throw new Refusal(400, 50035, "Invalid Form Body", invalidForm([problem]));
    }
    if (!archiveAfterMin.includes(auto_archive_duration)) {
      const problem = {
        path: ["auto_archive_duration"],
        code: "BASE_TYPE_CHOICES",
        message: "Value must be one of {60, 1440, 4320, 10080}.",
      };
      throw new Refusal(400, 50035, "Invalid Form Body", invalidForm([problem]));
    }
    if (this.all.some(({ id }) => id === messageId))
      throw new Refusal(400, 160004, "A thread has already been created for this message");
    const thread = { id: messageId, channelId, name, archived: false, locked: false, deleted: false };
    this.all.push(thread);
    return thread;
  }

  /** Somebody without the right to manage threads writes. */
  write(thread: DiscordThread): void {
    if (thread.locked) throw new Refusal(403, 160005, "Thread is locked");
    thread.archived = false;
  }

  edit(thread: DiscordThread): void {
    if (thread.locked) throw new Refusal(403, 160005, "Thread is locked");
    if (thread.archived) throw new Refusal(400, 50083, "Tried to perform an operation on an archived thread");
  }

  record(thread: DiscordThread, guildId: string, channelType: number): object {
    const { id, channelId, name, archived, locked } = thread;
    const thread_metadata = { archived, locked, auto_archive_duration: 1_440 };
    return {
      id,
      type: typeIn[channelType],
      guild_id: guildId,
      parent_id: channelId,
      name,
      thread_metadata,
    };
  }

  /** The first message in a thread's list: a reference to the message that it was started from. */
  starter(thread: DiscordThread, original: object | null, atMs: number): object {
    return {
      id: String(BigInt(thread.id) + 1n),
      channel_id: thread.id,
      type: 21,
      author: { id: "0", username: "perpwatch", bot: true },
      content: "",
      embeds: [],
      attachments: [],
      timestamp: new Date(atMs).toISOString(),
      message_reference: { message_id: thread.id, channel_id: thread.channelId },
      ...(original === null ? {} : { referenced_message: original }),
    };
  }
}
