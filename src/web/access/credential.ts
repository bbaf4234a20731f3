/** The credential of a request: the secret of a token, else those of session cookies. It is not validated yet. */
import type { IncomingMessage } from "node:http";
import type { Access } from "./access.ts";
import { cookieName, cookiesOf } from "./cookie.ts";

export type Credential =
  | { readonly kind: "token"; readonly secret: string }
  | { readonly kind: "session"; readonly secrets: readonly string[] };

export function credentialOf(request: IncomingMessage): Credential {
  // Other schemes, such as Basic, are the proxy's.
  const [isBearer, secret = ""] = /^Bearer\b *(\S*)/i.exec(request.headers.authorization ?? "") ?? [];
  if (isBearer !== undefined) return { kind: "token", secret };
  return { kind: "session", secrets: cookiesOf(request.headers.cookie, cookieName(request)) };
}

/** The secret of a one-time link. It is in a header, so that it can be checked before the body is read. Null: none. */
export function linkOf(request: IncomingMessage): string | null {
  const secret = request.headers["perpwatch-link"];
  return typeof secret === "string" ? secret : null;
}

/** Returns true for a request with a valid credential or link. Costs at most a few hashes, and does not count as a use. */
export function isKnown(request: IncomingMessage, access: Access): boolean {
  const link = linkOf(request);
  if (link !== null && access.holdsLink(link)) return true;
  const credential = credentialOf(request);
  if (credential.kind === "token") return access.holds(credential.secret, "token");
  return credential.secrets.some((secret) => access.holds(secret, "session"));
}
