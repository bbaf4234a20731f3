/**
 * Prometheus Alertmanager, API version 2. Its own routes, silences and receivers apply to the alerts. Posting an alert
 * twice changes nothing.
 *
 * Alertmanager forgets an alert that is not repeated. perpwatch sends an alert once, so it is posted with a distant
 * end, and posted again with its true end when it ends. Alertmanager identifies an alert by its labels, and severity is
 * one of them because routes match it: an alert that rises or falls ends under the old severity and begins under the
 * new one.
 */
import { z } from "zod";
import { type AlertChange, severities } from "../../domain/alerts/alert.ts";
import type { Capacity } from "../../domain/alerts/delivery.ts";
import { anyAddress, isPlain, secretWord, trimmed } from "../address.ts";
import type { Channel, ProbeResult } from "../channel.ts";
import type { CommandLine } from "../message/command-line.ts";
import { shownParts } from "../message/lines.ts";
import type { Block } from "../message/rendering.ts";
import { render } from "../message.ts";
import {
  type Answer,
  digestRefused,
  isHtml,
  type NoAnswer,
  Poster,
  probeFailure,
  tryParseJson,
} from "../post.ts";

const labelName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be a label's name: letters, digits and _");

export const alertmanagerSettings = z
  .strictObject({
    type: z.literal("alertmanager"),
    /** http://127.0.0.1:9093 */
    url: anyAddress,
    user: z.string().min(1).optional(),
    password: z.string().min(1).optional(),
    token: secretWord.optional(),
    /** Added to the labels of every alert. */
    labels: z.record(labelName, z.string()).default({}),
  })
  .refine(({ user, password }) => (user === undefined) === (password === undefined), {
    message: "user and password belong together",
  })
  .refine(({ user, token }) => user === undefined || token === undefined, {
    message: "either user and password or a token",
  })
  .refine(({ url, password, token }) => !isPlain(url) || (password === undefined && token === undefined), {
    path: ["url"],
    message: "has to begin with https:// where a password or token is sent (http:// only for this machine)",
  });
export type AlertmanagerSettings = z.infer<typeof alertmanagerSettings>;

export interface AlertmanagerDeps {
  readonly timezone: string;
  readonly commandLine: CommandLine;
}

const timeoutMs = 8_000;
export const alertmanagerCapacity: Capacity = { apart: true, isNeverFolded: true };
/** End of an alert whose true end is not known, after its start, ms. */
const openEndMs = 30 * 86_400_000;
/** Duration of an event, which has no end of its own, ms. */
const eventDurationMs = 3_600_000;

export function createAlertmanager(
  name: string,
  settings: AlertmanagerSettings,
  deps: AlertmanagerDeps,
): Channel {
  const base = trimmed(settings.url);
  const { user, password, token } = settings;
  const basic = user === undefined ? null : Buffer.from(`${user}:${password}`).toString("base64");
  const headers: Record<string, string> =
    token !== undefined
      ? { authorization: `Bearer ${token}` }
      : basic !== null
        ? { authorization: `Basic ${basic}` }
        : {};
  const secrets = [token, password, basic].flatMap((one) => one ?? []);
  const poster = new Poster({ who: "Alertmanager", secrets, timeoutMs });

  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    const answer = await poster.call({ method: "GET", url: `${base}/api/v2/status`, headers }, signal);
    const verdict = poster.verdict(answer, isFromAlertmanager(answer) ? "" : null);
    if (verdict.kind === "delivered") {
      const status = answer.kind === "answer" ? (tryParseJson(answer.text) as Status | undefined) : undefined;
      const version = status?.versionInfo?.version;
      return {
        kind: "ok",
        detail: poster.words(`Alertmanager ${typeof version === "string" ? version : ""} answers`),
      };
    }
    return probeFailure(verdict, {
      denied: "check user and password, or token",
      refused: "check url: the address at which Alertmanager's own page is, without a path of its API",
      away: "check url, and that Alertmanager runs",
    });
  };

  return {
    name,
    kind: "alertmanager",
    deadlineMs: timeoutMs + 1_000,
    ...alertmanagerCapacity,
    start: probe,
    probe,
    stop: () => poster.close(),
    async send({ message, late }, signal) {
      if (message.content.kind === "digest") return digestRefused("Alertmanager");
      const { blocks, headline, notes } = render(message, { ...deps, apart: true }, late);
      const labels = { ...settings.labels, sender: message.content.sender };
      const atMs = message.sealedAtMs;
      const body =
        message.content.kind === "test"
          ? [
              {
                labels: { ...labels, alertname: "PerpwatchTest", severity: message.severity },
                annotations: { summary: headline, message: message.id },
                startsAt: iso(atMs),
                endsAt: iso(atMs + 60_000),
              },
            ]
          : message.content.items.flatMap(({ change }, i) =>
              alertsOf(change, blocks[i]!, labels, [...notes, `message ${message.id}`]),
            );
      const answer = await poster.call({ url: `${base}/api/v2/alerts`, headers, body }, signal);
      return poster.verdict(answer, isFromAlertmanager(answer) ? `${body.length} taken` : null);
    },
  };
}

/**
 * Alertmanager answers success with an empty body. Compatible servers may answer differently, but not with an HTML
 * page.
 */
function isFromAlertmanager(answer: Answer | NoAnswer): boolean {
  return answer.kind === "answer" && !isHtml(answer.text);
}

interface Status {
  readonly versionInfo?: { readonly version?: unknown };
}

function alertsOf(
  { alert, kind, atMs, happenedMs }: AlertChange,
  block: Block,
  more: Readonly<Record<string, string>>,
  notes: readonly string[],
): object[] {
  const { description } = shownParts(block);
  const postable = (severity: string, endsAtMs: number) => ({
    labels: {
      ...more,
      ...Object.fromEntries(
        Object.entries(alert.labels).filter(
          ([key, value]) => labelName.safeParse(key).success && value !== "",
        ),
      ),
      alertname: alert.rule,
      severity,
      subject: alert.subject,
      ...(alert.wallet === null ? {} : { wallet: alert.wallet }),
      ...(alert.symbol === null ? {} : { symbol: alert.symbol }),
      // Another event is not a repetition of this one.
      ...(alert.eventKey === null ? {} : { event: alert.eventKey }),
    },
    annotations: {
      summary: block.what,
      ...(description === "" ? {} : { description }),
      ...Object.fromEntries(block.figures.map(([name, value]) => [name.replaceAll(/\W+/g, "_"), value])),
      freshness: [...block.fresh, ...notes].join(" "),
      ...(block.runbook === null ? {} : { runbook_url: block.runbook }),
    },
    startsAt: iso(happenedMs ?? alert.firedAtMs),
    endsAt: iso(endsAtMs),
  });
  if (alert.event) return [postable(alert.severity, (happenedMs ?? atMs) + eventDurationMs)];
  if (kind === "ended") return [postable(alert.severity, alert.endedAtMs ?? atMs)];
  const now = postable(alert.severity, atMs + openEndMs);
  if (kind !== "rose" && kind !== "fell") return [now];
  const otherLevels = severities.filter((one) => one !== alert.severity);
  return [...otherLevels.map((severity) => postable(severity, atMs)), now];
}

const iso = (ms: number): string => new Date(ms).toISOString();
