/** The control calls by name, with the schema of what each takes, and their refusal. */
import { z } from "zod";
import { isPublicKey } from "../../contract/index.ts";
import { rights } from "../accounts/right.ts";
import { roles } from "./sessions.ts";

/** A call that cannot be done as it was asked. */
export class BadCall extends Error {
  override readonly name = "BadCall";
}

const decimal = z.union([
  z.string().regex(/^-?\d+(\.\d+)?$/, "must be a decimal in a string"),
  z.number().transform(String),
]);
const key = z.string().refine(isPublicKey, "must be a base58 public key of 32 bytes");
const who = { authority: key.optional(), trader: z.string().optional() };
const account = {
  ...who,
  pdaIndex: z.int().min(0).max(255).default(0),
  subaccountIndex: z.int().min(0).max(255).default(0),
};

export const controlBodies = {
  advance: z.strictObject({
    ms: z
      .number()
      .min(0)
      .max(366 * 86_400_000),
  }),
  "mark-price": z.strictObject({
    symbol: z.string(),
    price: decimal.optional(),
    oraclePrice: decimal.optional(),
    hold: z.boolean().default(true),
  }),
  "funding-rate": z.strictObject({ symbol: z.string(), ratePercentage: decimal.nullable() }),
  market: z.strictObject({
    symbol: z.string(),
    status: z.string().optional(),
    session: z.enum(["open", "afterHours"]).optional(),
    /** The time until the session changes; null: it stays. */
    nextTransitionMs: z.number().min(1).nullable().optional(),
  }),
  position: z.strictObject({
    ...account,
    symbol: z.string(),
    size: decimal,
    entryPrice: decimal.optional(),
    stopLossPrice: decimal.optional(),
    takeProfitPrice: decimal.optional(),
  }),
  collateral: z.strictObject({ ...account, amount: decimal }),
  "spot-collateral": z.strictObject({ ...account, balance: decimal }),
  order: z.strictObject({
    ...account,
    symbol: z.string(),
    side: z.enum(["bid", "ask"]),
    price: decimal,
    size: decimal,
    reduceOnly: z.boolean().default(false),
    /** Time for which it has rested already; for orders that are placed before any other. */
    restedMs: z.int().min(0).default(0),
  }),
  rights: z.strictObject({ ...account, lost: z.array(z.enum(rights)) }),
  twap: z.strictObject({
    ...account,
    symbol: z.string(),
    side: z.enum(["bid", "ask"]),
    size: decimal,
    parts: z.int().min(1).max(10_000),
    everyMs: z.int().min(1_000).max(86_400_000),
    reduceOnly: z.boolean().default(false),
  }),
  notification: z.strictObject({
    ...account,
    source: z.enum(["event", "admin", "general"]).default("event"),
    notificationType: z.string(),
    title: z.string().nullable().default(null),
    body: z.string().nullable().default(null),
    data: z.unknown().optional(),
    details: z.record(z.string(), z.unknown()).optional(),
  }),
  session: z.strictObject({
    ...who,
    action: z.enum(["expire-access", "expire-refresh", "revoke", "rotate-elsewhere"]),
  }),
  role: z.strictObject({ ...who, role: z.enum(roles) }),
  exchange: z.strictObject({
    active: z.boolean().optional(),
    gated: z.boolean().optional(),
    withdrawalsAvailable: z.boolean().optional(),
  }),
  fault: z.strictObject({
    path: z.string().startsWith("/"),
    method: z.string().toUpperCase().optional(),
    times: z.int().min(1).optional(),
    status: z.int().min(200).max(599).optional(),
    error: z.string().optional(),
    delayMs: z.number().min(0).default(0),
    retryAfter: z.union([z.string(), z.number().transform(String)]).optional(),
    body: z.unknown().optional(),
    drop: z.union([z.boolean(), z.enum(["request", "reply", "body"])]).optional(),
    omit: z.array(z.string()).default([]),
    set: z.record(z.string(), z.unknown()).default({}),
  }),
  trader: z.strictObject({ name: z.string().min(1).optional(), authority: key.optional() }),
} as const;

export type ControlCall = keyof typeof controlBodies;
export const controlCalls = Object.keys(controlBodies) as readonly ControlCall[];
/** The arguments of a call; those that may be left out have a default. */
export type ControlArguments<C extends ControlCall> = z.input<(typeof controlBodies)[C]>;
/** The same as it was read, defaults filled in. */
export type ControlBody<C extends ControlCall> = z.output<(typeof controlBodies)[C]>;
