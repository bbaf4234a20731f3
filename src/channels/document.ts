/**
 * A message as a JSON document, for programs: the body of webhooks and the input of commands. Within one version,
 * fields are added and never changed or removed. docs/channels/webhook.md documents it.
 */
import { adviceIn } from "../domain/alerts/alert.ts";
import type { Message } from "../domain/alerts/delivery.ts";
import { cleanLine } from "./message/text.ts";
import { type RenderOptions, render } from "./message.ts";

/** @returns the same document on every attempt. Times are ISO 8601 in UTC. */
export function documentOf(message: Message, options: RenderOptions): object {
  const { id, severity, sealedAtMs, content } = message;
  const rendering = render(message, { ...options, apart: true });
  return {
    version: 1,
    id,
    kind: content.kind,
    severity,
    resolved: content.resolved,
    title: rendering.headline,
    sender: content.sender,
    at: iso(sealedAtMs),
    alerts: content.items.map(({ change }, index) => {
      const block = rendering.blocks[index]!;
      const { alert, kind, atMs, happenedMs, advice } = change;
      return {
        id: alert.id,
        change: kind,
        at: iso(atMs),
        rule: alert.rule,
        subject: alert.subject,
        wallet: alert.wallet,
        symbol: alert.symbol,
        labels: alert.labels,
        severity: alert.severity,
        state: alert.state,
        event: alert.event,
        ...(alert.drill ? { drill: true } : {}),
        ending: alert.ending,
        value: finite(alert.value),
        lead: block.lead,
        summary: block.what,
        description: block.description,
        ...(advice === undefined ? {} : { advice: adviceIn(change).map(({ line }) => cleanLine(line)) }),
        figures: Object.fromEntries(block.figures),
        firedAt: iso(alert.firedAtMs),
        endedAt: isoOrNull(alert.endedAtMs),
        happenedAt: isoOrNull(happenedMs),
        dataAt: iso(alert.dataAtMs),
        alreadySo: alert.alreadySo,
        acknowledgedBy: alert.acknowledgedBy,
        runbook: block.runbook,
      };
    }),
    ...(content.incident === undefined ? {} : { incident: { id: content.incident.id } }),
    more: content.more ?? 0,
    ...(rendering.sections.length === 0 ? {} : { sections: rendering.sections }),
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();
const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));

/** JSON has no infinity. It is written as text, to distinguish "no liquidation price" from "not known". */
function finite(value: number | null): number | string | null {
  return value === null || Number.isFinite(value) ? value : value > 0 ? "Infinity" : "-Infinity";
}
