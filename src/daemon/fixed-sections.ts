/** Sections of config.yaml that a reload does not apply. */
import type { DaemonSettings } from "./settings.ts";

/** A running daemon keeps these sections as they were at its start. */
const fixedSections = [
  "exchange",
  "wallets",
  "signer",
  "schedules",
  "history",
  "channels",
  "mention",
  "digest",
  "dashboard",
  "drill",
  "heartbeat",
] as const;

/** A reload does apply plans of rotas, and the certificate, password and names of the page: they are left out. */
function fixedPart(settings: DaemonSettings, section: (typeof fixedSections)[number]): unknown {
  if (section === "dashboard" && settings.dashboard !== null) {
    const { host, port, login, behindProxy, tls } = settings.dashboard;
    return { host, port, login, behindProxy, tls: tls !== null };
  }
  if (section !== "channels") return settings[section];
  const channels = Object.entries(settings.channels);
  return channels.map(([name, one]) => [name, one.type === "rota" ? { type: one.type } : one]);
}

/** @returns the sections that differ from those of the start; they take effect at the next start */
export function changedFixedSections(settings: DaemonSettings, next: DaemonSettings): readonly string[] {
  return fixedSections.filter(
    (section) => exactJson(fixedPart(next, section)) !== exactJson(fixedPart(settings, section)),
  );
}

function exactJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? part.toString() : part));
}
