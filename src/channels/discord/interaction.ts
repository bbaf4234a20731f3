/** Reads what somebody pressed or typed, as Discord's gateway tells it, read as strictly as anything from outside. Pure. */
import { z } from "zod";
import { cleanLine, shorten } from "../text.ts";

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

/** The person who acts. */
export interface Person {
  readonly id: string;
  readonly roles: readonly string[];
  /** For records, with the id, by which alone a person is known for good: `marta (discord 80351110224678912)`. */
  readonly name: string;
}

export interface Interaction {
  readonly id: string;
  readonly applicationId: string;
  /** Answers it for 15 minutes, once it was taken within 3 s. A secret. */
  readonly token: string;
  readonly person: Person;
  readonly wanted: /** @property messageId of the message that it stands under; null: Discord did not say */
    | { readonly kind: "button"; readonly customId: string; readonly messageId: string | null }
    | {
        readonly kind: "command";
        readonly name: string;
        readonly options: ReadonlyMap<string, string | number | boolean>;
      };
}

const kinds = { command: 2, component: 3 } as const;

/** @returns null for what is none, or is meant for another channel: of this one, or of a thread in it */
export function readInteraction(data: unknown, channelId: string): Interaction | null {
  const parsed = wire.safeParse(data);
  if (!parsed.success) return null;
  const { member, channel, channel_id, type, data: given } = parsed.data;
  if (![channel_id, channel?.id, channel?.parent_id].includes(channelId)) return null;
  const who = member?.user ?? parsed.data.user;
  const wanted = wantedOf(type, given, parsed.data.message?.id ?? null);
  if (who === undefined || wanted === null) return null;
  const name = shorten(cleanLine(who.username), 60);
  return {
    id: parsed.data.id,
    applicationId: parsed.data.application_id,
    token: parsed.data.token,
    person: { id: who.id, roles: member?.roles ?? [], name: `${name} (discord ${who.id})` },
    wanted,
  };
}

function wantedOf(
  type: number,
  given: z.infer<typeof wire>["data"],
  messageId: string | null,
): Interaction["wanted"] | null {
  if (type === kinds.component && given.custom_id !== undefined)
    return { kind: "button", customId: given.custom_id, messageId };
  if (type !== kinds.command || given.name === undefined) return null;
  const options = (given.options ?? []).flatMap(({ name, value }) =>
    value === undefined ? [] : ([[name, value]] as const),
  );
  return { kind: "command", name: given.name, options: new Map(options) };
}
