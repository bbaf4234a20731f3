/**
 * Frames of the stream. A client sends `subscribeFrame("traderState", { authority, traderPdaIndex: 0 })` and hands every inbound frame to
 * `readFrame`, which returns a message of a known channel, a control frame, an unknown frame, or the problem.
 */

import { isPublicKey } from "../base58.ts";
import type { Schema } from "../fields.ts";
import { parseRecord, type ReplyProblem } from "../reply.ts";
import { ArgumentsRefused, type ParamProblem } from "../request.ts";
import {
  type ChannelName,
  type ChannelParam,
  type ChannelParams,
  channels,
  type MessageFor,
  type SubscriptionFor,
} from "./stream-channels.ts";
import { SNAPSHOT_ENCODINGS, TIMEFRAMES } from "./stream-messages.ts";

/** Builds the client's frame. @throws ArgumentsRefused for invalid parameters */
export function subscribeFrame<N extends ChannelName>(
  name: N,
  params: SubscriptionFor<N>,
  type: "subscribe" | "unsubscribe" = "subscribe",
): { type: "subscribe" | "unsubscribe"; subscription: Record<string, unknown> } {
  const problems = checkSubscription(name, params as Readonly<Record<string, unknown>>);
  if (problems.length > 0) throw new ArgumentsRefused(name, problems);
  return { type, subscription: { channel: name, ...params } };
}

/** Parses a client's frame, for servers: the channel and its parameters, or the reason for the refusal. */
export function readSubscription(
  frame: unknown,
):
  | { ok: true; type: "subscribe" | "unsubscribe"; channel: ChannelName; params: Record<string, unknown> }
  | { ok: false; message: string; subscription: unknown } {
  const { type, subscription } = (typeof frame === "object" && frame !== null ? frame : {}) as Record<
    string,
    unknown
  >;
  const refuse = (message: string) => ({ ok: false, message, subscription }) as const;
  if (type !== "subscribe" && type !== "unsubscribe") return refuse("type must be subscribe or unsubscribe");
  if (typeof subscription !== "object" || subscription === null)
    return refuse("subscription must be an object");
  const { channel: name, ...params } = subscription as Record<string, unknown>;
  if (typeof name !== "string" || !Object.hasOwn(channels, name)) return refuse("unknown channel");
  const problems = checkSubscription(name as ChannelName, params);
  if (problems.length > 0) return refuse(problems.map((problem) => problem.message).join("; "));
  return { ok: true, type, channel: name as ChannelName, params };
}

function checkSubscription(name: ChannelName, params: Readonly<Record<string, unknown>>): ParamProblem[] {
  const problems: ParamProblem[] = [];
  for (const [own, param] of Object.entries(channels[name].params as ChannelParams)) {
    const value = params[own];
    const wrong =
      value === undefined || value === null
        ? param.required
          ? "required"
          : null
        : misfit(param.type, value);
    if (wrong !== null) problems.push({ parameter: own, message: `${own}: ${wrong}` });
  }
  return problems;
}

/** Returns the mistake in a value; null: none. */
function misfit(type: ChannelParam["type"], value: unknown): string | null {
  switch (type) {
    case "key":
      return typeof value === "string" && isPublicKey(value)
        ? null
        : "must be a base58 public key of 32 bytes";
    case "string":
      return typeof value === "string" && value !== "" ? null : "must be text that is not empty";
    case "strings":
      return Array.isArray(value) && value.every((one) => typeof one === "string" && one !== "")
        ? null
        : "must be a list of texts that are not empty";
    case "integer":
      return Number.isSafeInteger(value) && (value as number) >= 0
        ? null
        : "must be an integer of at least 0";
    case "boolean":
      return typeof value === "boolean" ? null : "must be true or false";
    case "timeframe":
      return (TIMEFRAMES as readonly unknown[]).includes(value)
        ? null
        : `must be one of ${TIMEFRAMES.join(" ")}`;
    case "encoding":
      return (SNAPSHOT_ENCODINGS as readonly unknown[]).includes(value)
        ? null
        : `must be one of ${SNAPSHOT_ENCODINGS.join(" ")}`;
  }
}

/** The content of a control frame of any of the four forms. */
export interface ControlFrame {
  readonly accepted: boolean;
  readonly subscription: unknown;
  readonly code: string | null;
  readonly message: string | null;
}

export type InboundFrame =
  | {
      [N in ChannelName]: { readonly kind: "message"; readonly channel: N; readonly message: MessageFor<N> };
    }[ChannelName]
  | ({ readonly kind: "control" } & ControlFrame)
  /** An unknown channel or form: not an error. */
  | { readonly kind: "unknown"; readonly frame: unknown }
  /** A message of a known channel that does not match its schema. */
  | {
      readonly kind: "misfit";
      readonly channel: ChannelName;
      readonly problem: ReplyProblem;
      readonly frame: unknown;
    };

const byMessages = new Map<unknown, ChannelName>(
  Object.entries(channels).map(([name, row]) => [row.messages, name as ChannelName]),
);

/** Parses one inbound frame. @param frame from `parseJson` */
export function readFrame(frame: unknown): InboundFrame {
  if (typeof frame !== "object" || frame === null) return { kind: "unknown", frame };
  const fields = frame as Record<string, unknown>;
  const control = controlFrame(fields);
  if (control !== null) return { kind: "control", ...control };
  const name = byMessages.get(fields.channel);
  if (name === undefined) return { kind: "unknown", frame };
  const read = parseRecord(name, channels[name].schema as Schema, frame);
  if (!read.ok) return { kind: "misfit", channel: name, problem: read.problem, frame };
  return { kind: "message", channel: name, message: read.record } as InboundFrame;
}

function controlFrame(fields: Readonly<Record<string, unknown>>): ControlFrame | null {
  const { type, channel: name, subscription, code, message, error } = fields;
  const words = (accepted: boolean, said: unknown): ControlFrame => ({
    accepted,
    subscription,
    code: typeof code === "string" || typeof code === "number" ? String(code) : null,
    message: typeof said === "string" ? said : null,
  });
  if (type === "subscriptionConfirmed") return words(true, null);
  if (type === "subscriptionError") return words(false, message);
  if (name === "subscriptionStatus") return words(fields.status === "subscribed", message);
  return name === "error" ? words(false, error) : null;
}

/** Returns true if the close code or reason rejects the session; refresh it and reconnect at once. */
export function sessionRefused(closeCode: number, reason: string): boolean {
  return closeCode === 4401 || closeCode === 4403 || closeCode === 1008 || SESSION_REASONS.has(reason);
}
const SESSION_REASONS: ReadonlySet<string> = new Set([
  "access_token_expired",
  "invalid_access_token",
  "access_jti_mismatch",
  "session_missing",
  "authz_refresh_required",
]);
