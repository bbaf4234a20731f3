/** The settings of an email channel: a mail server, a sender, recipients. */
import { z } from "zod";

const line = z.string().regex(/^[^\r\n]+$/, "must be one line");
const address = line.regex(
  /^([^<>@]*<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+)$/,
  "must be an address: me@example.org or Name <me@example.org>",
);

export const smtpSettings = z
  .strictObject({
    host: line,
    port: z.int().min(1).max(65_535).optional(),
    /** true: TLS from the first byte. starttls: refused unless the server offers it. false: never encrypted. */
    secure: z.union([z.boolean(), z.literal("starttls")]).default("starttls"),
    user: line.optional(),
    password: z.string().min(1).optional(),
    /** PEM of an authority to trust besides the well-known ones, for a mail server of one's own. */
    ca: z.string().optional(),
  })
  .refine(({ user, password }) => (user === undefined) === (password === undefined), {
    message: "user and password belong together",
  });
export type SmtpSettings = z.infer<typeof smtpSettings>;

export const emailSettings = z.strictObject({
  type: z.literal("email"),
  smtp: smtpSettings,
  from: address,
  to: z.array(address).min(1),
  /** The way to unsubscribe: an address, or a page. Default: the sender. */
  unsubscribe: z
    .union([address, z.url({ protocol: /^https?$/ })], {
      error: "must be an address (me@example.org) or a page (https://…)",
    })
    .optional(),
});
export type EmailSettings = z.infer<typeof emailSettings>;
