/** The `dashboard:` section: the address of the status page, and its access rules. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { createSecureContext } from "node:tls";
import { z } from "zod";
import type { ConfigSource, FileSetting } from "../../config/index.ts";
import { systemClock } from "../../domain/clock.ts";
import { isLocal, isLoopback, isPasswordHash, type ListenSettings } from "../../web/settings.ts";

const defaultListen = "127.0.0.1:8787";
const warnBeforeMs = 14 * 86_400_000;

/** `passwordHash` may be in a file of its own, as every secret; a certificate always is. */
export const dashboardFiles: readonly FileSetting[] = [
  { path: ["dashboard", "passwordHash"], secret: true },
  { path: ["dashboard", "tls", "cert"], secret: false },
  { path: ["dashboard", "tls", "key"], secret: true },
];

const listen = z.string().transform((text, context): { host: string; port: number } | null => {
  if (text === "off") return null;
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host !== undefined && port <= 65_535) return { host, port };
  context.addIssue({
    code: "custom",
    message: `expected HOST:PORT such as ${defaultListen} (port 0: a free one), or off`,
    input: text,
  });
  return z.NEVER;
});

/** Without a port, because `Host` is compared without it. */
const hostName = z
  .string()
  .refine(
    (name) =>
      isIP(name) !== 0 || /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_-]{1,63})*$/i.test(name),
    "expected the name of a host such as watch.example.org, without a port",
  );

const schema = z.strictObject({
  listen: listen.prefault(defaultListen),
  login: z.enum(["always", "never"]).default("always"),
  passwordHash: z
    .string()
    .refine(isPasswordHash, "expected what perpwatch page password prints: scrypt$…")
    .optional(),
  tls: z.strictObject({ cert: z.string(), key: z.string() }).optional(),
  behindProxy: z.boolean().default(false),
  allowedHosts: z.array(hostName).max(100).default([]),
});

export function readDashboard(source: ConfigSource): ListenSettings | null {
  const found = source.read(["dashboard"], schema, {});
  if (found === undefined || found.listen === null) return null;
  const { passwordHash = null, tls = null, login = "always", behindProxy = false, allowedHosts = [] } = found;
  const settings = { ...found.listen, login, passwordHash, tls, behindProxy, allowedHosts };
  refuseOpen(source, settings);
  if (tls !== null) checkCertificate(source, tls);
  return settings;
}

function refuseOpen(source: ConfigSource, settings: ListenSettings): void {
  const { host, login, tls, behindProxy, allowedHosts } = settings;
  if (behindProxy && tls !== null)
    source.problem(
      ["dashboard", "behindProxy"],
      "tls and behindProxy exclude each other: TLS ends here or at the proxy",
    );
  if (!isLoopback(host) && tls === null && !behindProxy)
    source.problem(
      ["dashboard", "listen"],
      `${host} is beyond this machine, and what is sent there could be read on its way: add tls: { certFile, keyFile }, ` +
        `or behindProxy: true where a proxy speaks TLS, or keep it on ${defaultListen} (docs/page.md tells of containers)`,
    );
  if (login === "never" && !isLocal(settings))
    source.problem(
      ["dashboard", "login"],
      "never is for a page that only this machine reaches: beyond it, and behind a proxy, everybody has to log in",
    );
  if (behindProxy && allowedHosts.length === 0)
    source.problem(
      ["dashboard", "behindProxy"],
      "name the hosts by which the proxy serves the page: allowedHosts: [watch.example.org]",
    );
  else if (/^(0\.0\.0\.0|::)$/.test(host) && allowedHosts.length === 0)
    source.problem(
      ["dashboard", "listen"],
      `${host} is every address of this machine: name those by which the page is called, as allowedHosts: [watch.example.org]`,
    );
  if (behindProxy && !isLoopback(host))
    source.warn(
      ["dashboard", "behindProxy"],
      `whoever reaches ${host} without the proxy sends and reads plain HTTP, and names any address as theirs: let the proxy alone reach it`,
    );
  if (login === "never" && isLocal(settings))
    source.warn(
      ["dashboard", "login"],
      "with never, every user and program of this machine can read the status page. Leave this out unless it is yours alone.",
    );
}

function checkCertificate(
  source: ConfigSource,
  { cert, key }: { readonly cert: string; readonly key: string },
): void {
  const at = (name: string) => ["dashboard", "tls", name];
  // Mistakes of these files are reported where they are read.
  if (source.isBroken(at("cert")) || source.isBroken(at("key"))) return;
  const certificate = orNull(() => new X509Certificate(cert));
  if (certificate === null)
    source.problem(at("cert"), "expected a certificate in PEM, the server's own first");
  else if (orNull(() => createPrivateKey(key)) === null)
    source.problem(at("key"), "expected a private key in PEM, without a passphrase");
  else if (orNull(() => createSecureContext({ cert, key })) === null)
    source.problem(at("key"), "is not the key of this certificate, or one of the two cannot be used for TLS");
  else {
    const leftMs = certificate.validToDate.getTime() - systemClock().nowMs();
    if (leftMs >= warnBeforeMs) return;
    const when = leftMs < 0 ? "has ended" : "ends";
    source.warn(at("cert"), `the certificate ${when} on ${certificate.validTo}: renew it`);
  }
}

function orNull<T>(make: () => T): T | null {
  try {
    return make();
  } catch {
    return null;
  }
}
