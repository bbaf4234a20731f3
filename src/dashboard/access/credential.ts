/** The credential of a request: the secret of a token, else those of session cookies. Nothing says yet that it is valid. */
import type { IncomingMessage } from "node:http";
import type { Access } from "./access.ts";
import { cookieName, cookiesOf } from "./cookie.ts";

export type Credential =
  | { readonly kind: "token"; readonly secret: string }
  | { readonly kind: "session"; readonly secrets: readonly string[] };

export function credentialOf(request: IncomingMessage): Credential {
  // Another scheme is a proxy's own, such as Basic.
  const [isBearer, secret = ""] = /^Bearer\b *(\S*)/i.exec(request.headers.authorization ?? "") ?? [];
  if (isBearer !== undefined) return { kind: "token", secret };
  return { kind: "session", secrets: cookiesOf(request.headers.cookie, cookieName(request)) };
}

/** Returns true for a request that bears a valid credential. Costs a few hashes at most, and leaves no trace of use. */
export function isKnown(request: IncomingMessage, access: Access): boolean {
  const credential = credentialOf(request);
  if (credential.kind === "token") return access.holds(credential.secret, "token");
  return credential.secrets.some((secret) => access.holds(secret, "session"));
}
