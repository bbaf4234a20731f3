/** The cookie that holds a session. */
import type { IncomingMessage } from "node:http";

/** Browsers drop cookies after 400 days at most; the daemon ends sessions long before. */
const maxAgeSeconds = 400 * 86_400;

/** Cookies know no ports: with its own in the name, two daemons of one machine do not log each other out. */
export function cookieName({ socket }: IncomingMessage): string {
  return `perpwatch_session_${socket.localPort}`;
}

/** The values of all cookies of that name. */
export function cookiesOf(header: string | undefined, name: string): readonly string[] {
  return (header ?? "").split(";").flatMap((part) => {
    const [key, value] = part.split("=", 2).map((text) => text.trim());
    return key === name && value !== undefined ? [value] : [];
  });
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
