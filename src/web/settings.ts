/** Settings of the TCP listener. */
import { parsePasswordHash } from "./access/password.ts";

export interface ListenSettings {
  readonly host: string;
  /** 0: a free port. */
  readonly port: number;
  /** `never`: every client may read; on loopback only. */
  readonly login: "always" | "never";
  /** In the form printed by `perpwatch page password`. Null: no login by password. */
  readonly passwordHash: string | null;
  /** PEM. Null: plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** A proxy in front terminates TLS and sends the client's address in X-Forwarded-For. */
  readonly behindProxy: boolean;
  /** Host names of the page, besides those of loopback on a loopback address. */
  readonly allowedHosts: readonly string[];
}

const loopback = /^(localhost|::1|127\.\d{1,3}\.\d{1,3}\.\d{1,3})$/;

export function isLoopback(host: string): boolean {
  return loopback.test(host.toLowerCase());
}

/** Returns true if browsers use HTTPS. */
export function isSecure({ tls, behindProxy }: ListenSettings): boolean {
  return tls !== null || behindProxy;
}

/** Returns true if only users of this machine can connect. */
export function isLocal({ host, behindProxy }: ListenSettings): boolean {
  return isLoopback(host) && !behindProxy;
}

/** Returns true if both settings use the same host names. Names chosen for another address or mode wait for a restart. */
export function hasSameNames(one: ListenSettings, other: ListenSettings): boolean {
  return (["host", "port", "login", "behindProxy"] as const).every((key) => one[key] === other[key]);
}

/** Returns a test for the name in `Host`. */
export function hostTest({ host, allowedHosts }: ListenSettings): (name: string) => boolean {
  const allowed = new Set(allowedHosts.map((name) => name.toLowerCase()));
  if (isLoopback(host)) return (name) => isLoopback(name) || allowed.has(name);
  if (allowed.size === 0) allowed.add(host.toLowerCase());
  return (name) => allowed.has(name);
}

export function isPasswordHash(text: string): boolean {
  return parsePasswordHash(text) !== null;
}
