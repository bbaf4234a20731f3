/** The session cookie. */
import type { IncomingMessage } from "node:http";

/** Browsers drop cookies after 400 days at most; sessions end earlier. */
const maxAgeSeconds = 400 * 86_400;
/** A browser can have several cookies of one name, for different paths. */
const maxValues = 8;

/** The cookie's name. It contains the port, since cookies do not: two daemons on one machine do not log each other out. */
export function cookieName({ socket }: IncomingMessage): string {
  return `perpwatch_session_${socket.localPort}`;
}

/** The values of the first cookies of a name. The cost is linear in the header's length. */
export function cookiesOf(header: string | undefined, name: string): readonly string[] {
  const values: string[] = [];
  const [text, start] = [header ?? "", `${name}=`];
  for (let at = text.indexOf(start); at >= 0 && values.length < maxValues; ) {
    const from = at + start.length;
    const end = text.indexOf(";", from);
    if (isCookieStart(text, at)) values.push(text.slice(from, end < 0 ? undefined : end).trim());
    at = text.indexOf(start, from);
  }
  return values;
}

/** Returns true if a cookie starts at the position. */
function isCookieStart(text: string, at: number): boolean {
  return at === 0 || text[at - 1] === ";" || (text[at - 1] === " " && text[at - 2] === ";");
}

/** @param secret null: deletes the cookie */
export function sessionCookie(name: string, secret: string | null, secure: boolean): string {
  return [
    `${name}=${secret ?? ""}`,
    "Path=/",
    "HttpOnly",
    "SameSite=Strict",
    `Max-Age=${secret === null ? 0 : maxAgeSeconds}`,
    ...(secure ? ["Secure"] : []),
  ].join("; ");
}
