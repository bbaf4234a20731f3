/** The parts of the local Discord that tests can see and ask for. */

import type { LocalGateway } from "./discord-gateway.ts";
import type { DiscordInteraction, DiscordPerson } from "./discord-interactions.ts";
import type { DiscordThread } from "./discord-threads.ts";

export interface DiscordEmbed {
  readonly title?: string;
  readonly description?: string;
  readonly color?: number;
  readonly url?: string;
  readonly timestamp?: string;
  readonly footer?: { readonly text: string };
  readonly fields?: readonly { readonly name: string; readonly value: string; readonly inline?: boolean }[];
}

export interface DiscordButton {
  readonly label: string;
  readonly custom_id: string;
}

export interface DiscordMessage {
  readonly id: string;
  /** A thread's id for what was written there. */
  readonly channelId: string;
  readonly via: "bot" | "webhook";
  readonly authorId: string;
  readonly nonce: string | null;
  /** The message that it replies to. */
  readonly replyTo: string | null;
  readonly sentAtMs: number;
  content: string;
  embeds: readonly DiscordEmbed[];
  /** From top to bottom, whatever row they are in. */
  buttons: readonly DiscordButton[];
  /**
   * The people who were really pinged, after allowed_mentions. In a thread `@here` pings those who joined it: here nobody
   * has.
   */
  pings: { readonly users: readonly string[]; readonly roles: readonly string[]; readonly everyone: boolean };
  edits: number;
  /** Attachments. */
  files: readonly { readonly name: string; readonly data: Buffer }[];
  /** All that a reader sees, joined by newlines: content, then each embed's title, description, fields, footer. */
  text: string;
}

export interface DiscordRequest {
  readonly method: string;
  /** Without the `/api/v10` in front and without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly atMs: number;
  /** The status of the answer; null while unanswered, 0 when the connection was cut instead. */
  status: number | null;
}

export type DiscordEffect =
  | {
      readonly kind: "status";
      readonly status: number;
      readonly body?: unknown;
      readonly headers?: Record<string, string>;
    }
  | { readonly kind: "rateLimit"; readonly retryAfterMs: number; readonly global?: boolean }
  /** Reads the request and never answers; nothing is stored. */
  | { readonly kind: "hang" }
  /** Answers the headers of a 200 and never the body; the message is stored. */
  | { readonly kind: "stallBody" }
  /** Stores the message, then hangs up instead of answering. */
  | { readonly kind: "loseReply" }
  /** Hangs up at once; nothing is stored. */
  | { readonly kind: "hangUp" }
  /** Answers late, otherwise as ever. */
  | { readonly kind: "delay"; readonly ms: number };

export interface DiscordFault {
  readonly method?: string;
  /** Exact path, prefix ending in `*`, or pattern; default: everything that creates a message. */
  readonly path?: string | RegExp;
  /** Default 1. */
  readonly times?: number;
  readonly effect: DiscordEffect;
}

export type DiscordPermission =
  | "ADMINISTRATOR"
  | "VIEW_CHANNEL"
  | "SEND_MESSAGES"
  | "EMBED_LINKS"
  | "ATTACH_FILES"
  | "READ_MESSAGE_HISTORY"
  | "MENTION_EVERYONE"
  | "CREATE_PUBLIC_THREADS"
  | "SEND_MESSAGES_IN_THREADS";

export interface DiscordOptions {
  /** Wall time of message ids and of the nonce window; default the machine's. */
  readonly now?: () => number;
  /** For how long a nonce is remembered; default 3 minutes. */
  readonly nonceWindowMs?: number;
  /** A real bucket for creating messages; default none. */
  readonly bucket?: { readonly limit: number; readonly perMs: number };
  readonly heartbeatMs?: number;
}

export interface LocalDiscord extends AsyncDisposable {
  /** For `apiUrl` in the configuration, discord.js' `rest.api`. */
  readonly apiUrl: string;
  /** The bot's token. Setting it makes the old one invalid. */
  token: string;
  readonly botId: string;
  readonly guildId: string;
  readonly channelId: string;
  readonly otherChannelId: string;
  /** A role that anyone may mention. */
  readonly roleId: string;
  readonly webhookUrl: string;
  readonly messages: readonly DiscordMessage[];
  readonly requests: readonly DiscordRequest[];
  readonly gateway: LocalGateway;
  /** The bot's permissions in the channels; change it at will. */
  readonly permissions: Set<DiscordPermission>;
  roleMentionable: boolean;
  /** 0: text (default), 2: voice, 5: announcements. */
  channelType: number;
  /** Oldest first; deleted ones among them. Archive, lock or delete one by setting it so. */
  readonly threads: readonly DiscordThread[];
  waitForMessage(fits: (message: DiscordMessage) => boolean, timeoutMs?: number): Promise<DiscordMessage>;
  waitForRequest(fits: (request: DiscordRequest) => boolean, timeoutMs?: number): Promise<DiscordRequest>;
  /** @returns how often it is still to come. */
  fail(fault: DiscordFault): { left(): number };
  clearFaults(): void;
  /** The slash commands that are registered for the server. */
  readonly commands: readonly Record<string, unknown>[];
  /** Somebody presses the button whose label begins so. @param how `agoMs`: it was on its way for so long */
  press(
    message: DiscordMessage,
    label: string,
    person: DiscordPerson,
    how?: { readonly agoMs?: number },
  ): DiscordInteraction & { readonly again: () => void };
  /** Somebody types a command, in the channel or elsewhere. */
  type(
    command: string,
    options: Readonly<Record<string, string | number>>,
    person: DiscordPerson,
    how?: { readonly channelId?: string; readonly threadOf?: string },
  ): DiscordInteraction;
  waitForInteraction(
    fits: (one: DiscordInteraction) => boolean,
    timeoutMs?: number,
  ): Promise<DiscordInteraction>;
  /** Somebody else writes into the channel. */
  say(content: string, channelId?: string): DiscordMessage;
  /** A moderator removes a message. */
  remove(messageId: string): void;
  /** The channel is deleted; so is its webhook. */
  removeChannel(channelId?: string): void;
  close(): Promise<void>;
}
