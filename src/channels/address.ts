/** Addresses of services in the settings of channels. */
import { z } from "zod";
import { isLoopbackHost } from "../domain/loopback.ts";

/** True if a message to this address could be read on the way. */
export function isPlain(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopbackHost(hostname);
}

/** `https://…`, or `http://…`, which a home network may do with; without a user and password in it. */
export const anyAddress = z
  .url({ protocol: /^https?$/, error: "must be an address: https://…" })
  .refine((url) => !URL.canParse(url) || new URL(url).username === "", "must hold no user or password");

/** An address of a service to which a secret is sent: plain HTTP would hand it to everybody on the way. */
export const safeAddress = anyAddress.refine(
  (url) => !isPlain(url),
  "has to begin with https:// (http:// only for this machine: 127.0.0.1, [::1], localhost)",
);

/** A word that goes into a header or a path: printable, no spaces. */
export const secretWord = z.string().regex(/^[\x21-\x7e]+$/, "must be one word without spaces");

/** Without the slashes at its end. */
export const trimmed = (url: string): string => url.replace(/\/+$/, "");

/**
 * True for the address of a WebSocket that a service names. A plain one could be read on the way, and one to this machine could lead to
 * any program here: it is safe only where the service itself is on this machine.
 * @param apiUrl the configured address of the service
 */
export function isSafeSocket(address: string, apiUrl: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  if (protocol === "wss:") return true;
  return protocol === "ws:" && isLoopbackHost(hostname) && isLoopbackHost(new URL(apiUrl).hostname);
}
