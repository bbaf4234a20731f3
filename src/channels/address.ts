/** Service addresses in channel settings. */
import { z } from "zod";
import { isLoopbackHost } from "../domain/loopback.ts";

/** Returns true if the address uses plain HTTP over a network, where messages can be read in transit. */
export function isPlain(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !isLoopbackHost(hostname);
}

/** `https://…` or, for home networks, `http://…`; without user and password. */
export const anyAddress = z
  .url({ protocol: /^https?$/, error: "must be an address: https://…" })
  .refine((url) => !URL.canParse(url) || new URL(url).username === "", "must hold no user or password");

/** The address of a service that receives a secret. Plain HTTP is allowed to this machine only. */
export const safeAddress = anyAddress.refine(
  (url) => !isPlain(url),
  "has to begin with https:// (http:// only for this machine: 127.0.0.1, [::1], localhost)",
);

/** A token for a header or a path: printable, without spaces. */
export const secretWord = z.string().regex(/^[\x21-\x7e]+$/, "must be one word without spaces");

/** Returns the address without trailing slashes. */
export const trimmed = (url: string): string => url.replace(/\/+$/, "");

/**
 * Returns true if the WebSocket address that a service returned may be used. `wss:` is allowed. `ws:` could be read in
 * transit, and a `ws:` address on this machine could reach any local program, so it is allowed only if the service
 * itself is on this machine.
 * @param apiUrl the configured address of the service
 */
export function isSafeSocket(address: string, apiUrl: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  if (protocol === "wss:") return true;
  return protocol === "ws:" && isLoopbackHost(hostname) && isLoopbackHost(new URL(apiUrl).hostname);
}
