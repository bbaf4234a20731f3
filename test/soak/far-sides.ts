/**
 * The other sides of three channels (Discord by bot, email, a webhook), what each of them accepted, and the ways in which
 * each misbehaves: each in the words of its own protocol.
 */
import { type LocalDiscord, startDiscord } from "../support/discord.ts";
import { type Service, startService } from "../support/service.ts";
import { type LocalSmtp, type ReceivedMail, startSmtp } from "../support/smtp.ts";

export const channelNames = ["chat", "mail", "hook"] as const;
export type ChannelName = (typeof channelNames)[number];

/** Mail has no word for too many requests: it says 451 there, "later". */
export const troubles = [
  "429 with Retry-After",
  "5xx",
  "accept, then hang",
  "accept, then hang up",
  "DNS failure",
  "401",
] as const;
export type Trouble = (typeof troubles)[number];

const login = { user: "perpwatch", password: "a mail password" };

export class FarSides implements AsyncDisposable {
  readonly #discord: LocalDiscord;
  readonly #smtp: LocalSmtp;
  readonly #hook: Service;

  private constructor(discord: LocalDiscord, smtp: LocalSmtp, hook: Service) {
    this.#discord = discord;
    this.#smtp = smtp;
    this.#hook = hook;
  }

  static async start(): Promise<FarSides> {
    const dialect: Parameters<typeof startService>[0] = ({ headers, text }, take) => {
      take(`${String(headers["idempotency-key"])}\n${text}`);
      return { status: 202, body: "taken" };
    };
    return new FarSides(await startDiscord(), await startSmtp({ auth: login }), await startService(dialect));
  }

  /** The channels as a configuration has them. @param away whose name does not resolve */
  config(away: ReadonlySet<ChannelName>): string {
    const { token, channelId, apiUrl } = this.#discord;
    const chat = away.has("chat") ? "https://chat.invalid/api" : apiUrl;
    const mail = away.has("mail") ? "mail.invalid" : this.#smtp.host;
    const hook = away.has("hook") ? "https://hook.invalid/" : this.#hook.url;
    const smtp = `{ host: ${mail}, port: ${this.#smtp.port}, secure: false, user: "${login.user}", password: "${login.password}" }`;
    return `channels:
  chat: { type: discord, token: "${token}", channelId: "${channelId}", apiUrl: "${chat}" }
  mail: { type: email, smtp: ${smtp}, from: perpwatch@example.org, to: [ me@example.org ] }
  hook: { type: webhook, url: "${hook}" }
`;
  }

  /** The next so many messages to a channel meet this. Names that do not resolve are in the configuration. */
  trouble(channel: ChannelName, trouble: Trouble, times: number, random: () => number): void {
    if (trouble === "DNS failure") return;
    if (channel === "chat") {
      const effects = {
        "429 with Retry-After": { kind: "rateLimit", retryAfterMs: 100 + Math.round(random() * 400) },
        "5xx": { kind: "status", status: 500 + Math.floor(random() * 5) },
        "accept, then hang": { kind: "stallBody" },
        "accept, then hang up": { kind: "loseReply" },
        "401": { kind: "status", status: 401 },
      } as const;
      this.#discord.fail({ effect: effects[trouble], times });
    } else if (channel === "hook") {
      const faults = {
        "429 with Retry-After": { status: 429, headers: { "retry-after": random() < 0.5 ? "1" : "0.3" } },
        "5xx": { status: 500 + Math.floor(random() * 5) },
        "accept, then hang": "stall",
        "accept, then hang up": "hangUp",
        "401": { status: 401 },
      } as const;
      this.#hook.fault(faults[trouble], times);
    } else {
      const faults = {
        "429 with Retry-After": { at: "rcpt", code: 451 },
        "5xx": { at: "connect", code: 421 },
        "accept, then hang": { at: "afterData", hang: true },
        "accept, then hang up": { at: "afterData", drop: true },
        "401": { at: "auth", code: 535 },
      } as const;
      this.#smtp.fail({ ...faults[trouble], times });
    }
  }

  /** All is well again. */
  mend(): void {
    this.#discord.clearFaults();
    this.#smtp.clearFaults();
    this.#hook.clearFaults();
  }

  /** Ids of mails that were taken in, after which the line was cut without a word: one for each time. */
  get mailsWithoutAnswer(): readonly string[] {
    return this.#smtp.mails.filter(({ cut }) => cut).map(idOf);
  }

  /** Ids of messages, one for each copy that was accepted. */
  accepted(channel: ChannelName): readonly string[] {
    return this.#copies(channel).map(({ id }) => id);
  }

  /** All that a reader finds in the messages that were accepted, files included, by id. */
  texts(channel: ChannelName): ReadonlyMap<string, string> {
    const texts = new Map<string, string>();
    for (const { id, text } of this.#copies(channel)) texts.set(id, `${texts.get(id) ?? ""}${text()}\n`);
    return texts;
  }

  #copies(channel: ChannelName): readonly { readonly id: string; readonly text: () => string }[] {
    if (channel === "chat")
      return this.#discord.messages.map(({ nonce, text, files }) => ({
        id: nonce ?? "",
        text: () => [text, ...files.map(({ data }) => String(data))].join("\n"),
      }));
    if (channel === "hook")
      return this.#hook.taken.map((taken) => ({
        id: taken.slice(0, taken.indexOf("\n")),
        text: () => taken,
      }));
    return this.#smtp.mails.map((mail) => ({ id: idOf(mail), text: () => `${mail.subject}\n${mail.text}` }));
  }

  /** Resolves when what the dead left in their sockets has arrived. */
  async quiet(): Promise<void> {
    await this.#smtp.waitForNobody(180_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#discord.close(), this.#smtp.close(), this.#hook.close()]);
  }
}

const idOf = ({ messageId }: ReceivedMail): string => messageId.slice(1, messageId.indexOf("@"));
