/**
 * Presses and commands of people in the local Discord: told over the gateway, to be taken within 3 s and answered within 15
 * min, once, by whoever has its token. Strict where Discord is strict.
 */
import { randomBytes } from "node:crypto";
import { commandProblems, invalidForm } from "./discord-limits.ts";
import type { DiscordEmbed, DiscordMessage } from "./discord-types.ts";
import { type Answer, formBody, ok, Refusal, readable } from "./discord-wire.ts";
import { Watched } from "./wait.ts";

export interface DiscordPerson {
  readonly id: string;
  readonly username: string;
  readonly roles: readonly string[];
}

export interface DiscordInteraction {
  readonly id: string;
  readonly token: string;
  readonly atMs: number;
  /** The time at which it was taken, by the world's clock; null: not yet. */
  takenMs: number | null;
  /** Shown to nobody but who asked. */
  ephemeral: boolean;
  /** The text that its sender reads; empty while there is nothing, or "thinking" only. */
  text: string;
  edits: number;
}

const takeWithinMs = 3_000;
const answerWithinMs = 15 * 60_000;

export class Interactions {
  readonly #options: {
    readonly applicationId: string;
    readonly now: () => number;
    readonly dispatch: (type: string, data: object) => void;
  };
  readonly watched = new Watched<DiscordInteraction>();
  commands: readonly Record<string, unknown>[] = [];
  #count = 0n;

  constructor(options: {
    readonly applicationId: string;
    readonly now: () => number;
    readonly dispatch: (type: string, data: object) => void;
  }) {
    this.#options = options;
  }

  /** @param agoMs how long it took on its way: Discord's deadlines have run since */
  begin(
    type: number,
    data: object,
    { person, place, agoMs = 0 }: { person: DiscordPerson; place: object; agoMs?: number },
  ): DiscordInteraction & { readonly again: () => void } {
    this.#count += 1n;
    const interaction: DiscordInteraction = {
      id: String(1_300_000_000_000_000_000n + this.#count),
      token: randomBytes(40).toString("base64url"),
      atMs: this.#options.now() - agoMs,
      takenMs: null,
      ephemeral: false,
      text: "",
      edits: 0,
    };
    this.watched.add(interaction);
    const { id, username, roles } = person;
    const packet = {
      id: interaction.id,
      application_id: this.#options.applicationId,
      token: interaction.token,
      type,
      version: 1,
      locale: "en-GB",
      entitlements: [],
      authorizing_integration_owners: {},
      member: {
        user: { id, username, discriminator: "0", global_name: "Somebody Else", avatar: null },
        roles,
        permissions: "0",
        joined_at: "2026-01-01T00:00:00.000Z",
        deaf: false,
        mute: false,
      },
      data,
      ...place,
    };
    const again = () => this.#options.dispatch("INTERACTION_CREATE", packet);
    again();
    return Object.assign(interaction, { again });
  }

  /** `POST /interactions/ID/TOKEN/callback` */
  take(id: string, token: string, raw: unknown): Answer {
    const found = this.#find(token, (one) => one.id === id);
    if (found === undefined || this.#options.now() - found.atMs > takeWithinMs)
      throw new Refusal(404, 10062, "Unknown interaction");
    if (found.takenMs !== null) throw new Refusal(400, 40060, "Interaction has already been acknowledged.");
    const body = (raw ?? {}) as { type?: unknown; data?: Record<string, unknown> };
    if (body.type !== 4 && body.type !== 5) throw new Refusal(400, 50035, "Invalid Form Body");
    const data = formBody(body.data ?? {});
    found.takenMs = this.#options.now();
    found.ephemeral = (Number(data.flags ?? 0) & 64) !== 0;
    if (body.type === 4) found.text = textOf(data);
    this.watched.changed();
    return { status: 204, body: undefined };
  }

  /** `PATCH /webhooks/APPLICATION/TOKEN/messages/@original`; null: it is no interaction's */
  edit(applicationId: string, token: string, raw: unknown): Answer | null {
    if (applicationId !== this.#options.applicationId) return null;
    const found = this.#find(token);
    if (found === undefined || found.takenMs === null) throw new Refusal(404, 10015, "Unknown Webhook");
    if (this.#options.now() - found.atMs > answerWithinMs)
      throw new Refusal(401, 50027, "Invalid Webhook Token");
    found.text = textOf(formBody(raw));
    found.edits += 1;
    this.watched.changed();
    return ok({ id: found.id, channel_id: "1", content: "", embeds: [], attachments: [] });
  }

  /** `PUT /applications/ID/guilds/ID/commands` */
  register(raw: unknown): Answer {
    const problems = commandProblems(raw);
    if (problems.length > 0) throw new Refusal(400, 50035, "Invalid Form Body", invalidForm(problems));
    this.commands = raw as readonly Record<string, unknown>[];
    return ok(this.commands.map((one, index) => ({ id: String(index + 1), ...one })));
  }

  #find(
    token: string,
    fits: (one: DiscordInteraction) => boolean = () => true,
  ): DiscordInteraction | undefined {
    return this.watched.items.find((one) => one.token === token && fits(one));
  }
}

function textOf(data: Record<string, unknown>): string {
  const embeds = Array.isArray(data.embeds) ? (data.embeds as DiscordEmbed[]) : [];
  return readable({ content: String(data.content ?? ""), embeds } as Pick<
    DiscordMessage,
    "content" | "embeds"
  >);
}
