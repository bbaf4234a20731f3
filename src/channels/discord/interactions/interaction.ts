/** Parses presses and commands from Discord's gateway, strictly. Pure. */
import { z } from "zod";
import { cleanLine, shorten } from "../../message/text.ts";

const id = z.string().regex(/^\d{1,20}$/);
const user = z.object({ id, username: z.string() });

const wire = z.object({
  id,
  application_id: id,
  token: z.string().min(1).max(2_000),
  type: z.number(),
  channel_id: id.optional(),
  channel: z.object({ id, parent_id: id.nullish() }).optional(),
  message: z.object({ id }).optional(),
  member: z.object({ user, roles: z.array(id) }).optional(),
  user: user.optional(),
  data: z.object({
    custom_id: z.string().max(100).optional(),
    name: z.string().max(32).optional(),
    options: z
      .array(z.object({ name: z.string(), value: z.union([z.string(), z.number(), z.boolean()]).optional() }))
      .max(25)
      .optional(),
  }),
});

/** The person who pressed or typed. */
export interface Person {
  readonly id: string;
  readonly roles: readonly string[];
  /** For records. Contains the id, since names can change: `marta (discord 80351110224678912)`. */
  readonly name: string;
}

export interface Interaction {
  readonly id: string;
  readonly applicationId: string;
  /** Authorizes answers for 15 minutes after an acknowledgement within 3 s. Secret. */
  readonly token: string;
  readonly person: Person;
  readonly request: /** @property messageId of the button's message; null: Discord did not state it */
    | { readonly kind: "button"; readonly customId: string; readonly messageId: string | null }
    | {
        readonly kind: "command";
        readonly name: string;
        readonly options: ReadonlyMap<string, string | number | boolean>;
      };
}

const kinds = { command: 2, component: 3 } as const;

/** @returns null for data that is not an interaction, or is of another channel. Threads of the channel belong to it */
export function readInteraction(data: unknown, channelId: string): Interaction | null {
  const parsed = wire.safeParse(data);
  if (!parsed.success) return null;
  const { member, channel, channel_id, type, data: payload } = parsed.data;
  if (![channel_id, channel?.id, channel?.parent_id].includes(channelId)) return null;
  const sender = member?.user ?? parsed.data.user;
  const request = requestOf(type, payload, parsed.data.message?.id ?? null);
  if (sender === undefined || request === null) return null;
  const name = shorten(cleanLine(sender.username), 60);
  return {
    id: parsed.data.id,
    applicationId: parsed.data.application_id,
    token: parsed.data.token,
    person: { id: sender.id, roles: member?.roles ?? [], name: `${name} (discord ${sender.id})` },
    request,
  };
}

function requestOf(
  type: number,
  payload: z.infer<typeof wire>["data"],
  messageId: string | null,
): Interaction["request"] | null {
  if (type === kinds.component && payload.custom_id !== undefined)
    return { kind: "button", customId: payload.custom_id, messageId };
  if (type !== kinds.command || payload.name === undefined) return null;
  const options = (payload.options ?? []).flatMap(({ name, value }) =>
    value === undefined ? [] : ([[name, value]] as const),
  );
  return { kind: "command", name: payload.name, options: new Map(options) };
}
