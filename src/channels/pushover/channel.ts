/**
 * Push messages by Pushover. A critical message that mentions people is an emergency: it is repeated until somebody
 * acknowledges it in Pushover, which acknowledges its alerts here (emergency-tracker.ts). Pushover has no idempotency
 * key, so a message whose answer was lost may be delivered twice.
 */
import { z } from "zod";
import type { Capacity, Message } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { ChatActions } from "../../domain/ports.ts";
import { parseDurationMs } from "../../domain/text/duration.ts";
import { safeAddress, trimmed } from "../address.ts";
import type { Channel, ProbeResult } from "../channel.ts";
import type { ChannelLog } from "../log.ts";
import { mentionsPeople } from "../mention.ts";
import type { CommandLine } from "../message/command-line.ts";
import { render } from "../message.ts";
import { Poster, probeFailure } from "../post.ts";
import { EmergencyTracker } from "./emergency-tracker.ts";
import { textOf, titleOf } from "./render.ts";
import { replyIn, verdict } from "./verdict.ts";

const key = (label: string) =>
  z.string().regex(/^[A-Za-z0-9]{30}$/, `must be ${label} of 30 letters and digits`);

/** @returns the schema of a duration between two limits, ms */
function duration(min: string, max: string, usual: string) {
  const [minMs, maxMs] = [parseDurationMs(min)!, parseDurationMs(max)!];
  return z
    .string()
    .transform((text) => parseDurationMs(text) ?? Number.NaN)
    .refine((ms) => ms >= minMs && ms <= maxMs, `must be a duration from ${min} to ${max}, such as ${usual}`)
    .default(parseDurationMs(usual)!);
}

export const pushoverSettings = z.strictObject({
  type: z.literal("pushover"),
  /** API token of an application. */
  token: key("an application's API token"),
  /** Key of a user or group. */
  userKey: key("a user key"),
  /** Device names, separated by commas; left out: all devices of the user. */
  device: z
    .string()
    .regex(/^[\w-]{1,25}(,[\w-]{1,25})*$/, "must be a device's name, or several with commas between")
    .optional(),
  /**
   * Interval between repeats of an emergency, and the time after which it is no longer repeated. The limits are
   * Pushover's.
   */
  emergency: z
    .strictObject({ retry: duration("30s", "3h", "1m"), expire: duration("30s", "3h", "1h") })
    .prefault({}),
  /** Another server. */
  apiUrl: safeAddress.default("https://api.pushover.net"),
});
export type PushoverSettings = z.infer<typeof pushoverSettings>;

export interface PushoverDeps {
  readonly clock: Clock;
  readonly log: ChannelLog;
  readonly timezone: string;
  readonly commandLine: CommandLine;
  /** Receives acknowledgements. Left out: emergencies are sent, but their acknowledgements are not read. */
  readonly actions?: ChatActions | undefined;
}

const timeoutMs = 8_000;
const maxLink = 512;
/**
 * Maximum alerts in one message; each has a line. An emergency is about one account, so acknowledging it affects no
 * other.
 */
export const pushoverCapacity: Capacity = { maxNamed: 8, byAccount: true };

const priorities = { noSound: -2, low: -1, normal: 0, high: 1, emergency: 2 } as const;

export function createPushover(name: string, settings: PushoverSettings, deps: PushoverDeps): Channel {
  const { token, userKey, device, emergency } = settings;
  const base = `${trimmed(settings.apiUrl)}/1`;
  const poster = new Poster({ who: "Pushover", secrets: [token, userKey], timeoutMs });
  const to = { token, user: userKey, ...(device === undefined ? {} : { device }) };
  const receipts =
    deps.actions &&
    new EmergencyTracker({
      ...{ ...deps, actions: deps.actions, name, expireMs: emergency.expire },
      async read(receipt, signal) {
        const url = `${base}/receipts/${receipt}.json?token=${token}`;
        const answer = await poster.call({ method: "GET", url }, signal);
        return { result: verdict(answer, poster), reply: replyIn(answer) };
      },
      async cancel(receipt, signal) {
        const url = `${base}/receipts/${receipt}/cancel.json`;
        return verdict(await poster.call({ url, body: { token } }, signal), poster);
      },
    });

  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    const result = verdict(
      await poster.call({ url: `${base}/users/validate.json`, body: to }, signal),
      poster,
    );
    if (result.kind === "delivered") return { kind: "ok", detail: "Pushover knows the token and the key" };
    return probeFailure(result, {
      denied: "check token: the API token of an application at pushover.net",
      refused: "check userKey and device: the user's page at pushover.net shows them",
      away: "check that no firewall keeps this machine from api.pushover.net",
    });
  };

  return {
    name,
    kind: "pushover",
    ...pushoverCapacity,
    deadlineMs: timeoutMs + 1_000,
    probe,
    start(signal) {
      receipts?.start();
      return probe(signal);
    },
    async stop() {
      await receipts?.stop();
      await poster.close();
    },
    async send({ message, late }, signal) {
      const rendering = render(message, deps, late);
      const priority = priorityOf(message);
      const link = rendering.blocks.find(({ runbook }) => runbook !== null)?.runbook;
      const seconds = { retry: emergency.retry / 1_000, expire: emergency.expire / 1_000 };
      const body = {
        ...to,
        title: titleOf(rendering),
        message: textOf(rendering),
        priority,
        timestamp: Math.floor(message.sealedAtMs / 1_000),
        ...(priority === priorities.emergency ? seconds : {}),
        ...(link == null || link.length > maxLink ? {} : { url: link, url_title: "What to do" }),
      };
      const result = verdict(await poster.call({ url: `${base}/messages.json`, body }, signal), poster);
      if (result.kind === "delivered") receipts?.sent(message, result.receipt);
      return result;
    },
  };
}

function priorityOf({ content, severity }: Message): number {
  if (content.kind === "test") return priorities.normal;
  if (content.quiet) return priorities.noSound;
  if (content.kind !== "alert" || content.resolved || severity === "info") return priorities.low;
  const loud = content.items.map(({ change }) => change).filter(mentionsPeople);
  // A drill is not repeated.
  if (loud.some(({ alert }) => alert.severity === "critical" && !alert.drill)) return priorities.emergency;
  return loud.length > 0 ? priorities.high : priorities.normal;
}
