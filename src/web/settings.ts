/** The settings of the listener that others can reach. */
import { parsePasswordHash } from "./access/password.ts";

export interface ListenSettings {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** `never`: whoever reaches it may read; on loopback only. */
  readonly login: "always" | "never";
  /** As `perpwatch page password` prints it. Null: no password logs in. */
  readonly passwordHash: string | null;
  /** PEM. Null: plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** A proxy in front ends TLS, and says in X-Forwarded-For who asks. */
  readonly behindProxy: boolean;
  /** The names by which the page is called, beside those of loopback where it listens there. */
  readonly allowedHosts: readonly string[];
}

const loopback = /^(localhost|::1|127\.\d{1,3}\.\d{1,3}\.\d{1,3})$/;

export function isLoopback(host: string): boolean {
  return loopback.test(host.toLowerCase());
}

/** Browsers come to it by HTTPS. */
export function isSecure({ tls, behindProxy }: ListenSettings): boolean {
  return tls !== null || behindProxy;
}

/** True if nobody but users of this machine reaches it. */
export function isLocal({ host, behindProxy }: ListenSettings): boolean {
  return isLoopback(host) && !behindProxy;
}

/** True if names of one are names of the other: those chosen for another address or way of serving wait for it. */
export function hasSameNames(one: ListenSettings, other: ListenSettings): boolean {
  return (["host", "port", "login", "behindProxy"] as const).every((key) => one[key] === other[key]);
}

/** Tests the name in `Host`. */
export function hostTest({ host, allowedHosts }: ListenSettings): (name: string) => boolean {
  const allowed = new Set(allowedHosts.map((name) => name.toLowerCase()));
  if (isLoopback(host)) return (name) => isLoopback(name) || allowed.has(name);
  if (allowed.size === 0) allowed.add(host.toLowerCase());
  return (name) => allowed.has(name);
}

export function isPasswordHash(text: string): boolean {
  return parsePasswordHash(text) !== null;
}
