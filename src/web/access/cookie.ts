/** The cookie that holds a session. */
import type { IncomingMessage } from "node:http";

/** Browsers drop cookies after 400 days at most; the daemon ends sessions long before. */
const maxAgeSeconds = 400 * 86_400;
/** A browser can hold several cookies of one name, for other paths. */
const maxTried = 8;

/** Cookies know no ports: with its own in the name, two daemons of one machine do not log each other out. */
export function cookieName({ socket }: IncomingMessage): string {
  return `perpwatch_session_${socket.localPort}`;
}

/** The values of the first cookies of that name. A long header costs no more than a search through its text. */
export function cookiesOf(header: string | undefined, name: string): readonly string[] {
  const values: string[] = [];
  const [text, start] = [header ?? "", `${name}=`];
  for (let at = text.indexOf(start); at >= 0 && values.length < maxTried; ) {
    const from = at + start.length;
    const end = text.indexOf(";", from);
    if (isBegin(text, at)) values.push(text.slice(from, end < 0 ? undefined : end).trim());
    at = text.indexOf(start, from);
  }
  return values;
}

/** Returns true if a cookie begins there. */
function isBegin(text: string, at: number): boolean {
  return at === 0 || text[at - 1] === ";" || (text[at - 1] === " " && text[at - 2] === ";");
}

/** @param secret null: the browser forgets it */
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
