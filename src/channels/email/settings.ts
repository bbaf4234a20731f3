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
    /** true: TLS from the first byte. starttls: STARTTLS is required. false: no encryption. */
    secure: z.union([z.boolean(), z.literal("starttls")]).default("starttls"),
    user: line.optional(),
    password: z.string().min(1).optional(),
    /** PEM of a certificate authority to trust besides the well-known ones, for a private mail server. */
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
  /** Unsubscribe address or page. Default: the sender. */
  unsubscribe: z
    .union([address, z.url({ protocol: /^https?$/ })], {
      error: "must be an address (me@example.org) or a page (https://…)",
    })
    .optional(),
});
export type EmailSettings = z.infer<typeof emailSettings>;
