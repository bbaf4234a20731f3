/**
 * Routes outside the contract, as far as clients meet their refusals: routes for administrators, and the sign-in of
 * users without a proven wallet.
 *
 *   POST /v1/admin/notifications   an announcement to everyone; other paths below it are unknown, also to administrators
 *   POST /v1/auth/login/privy      no wallet is linked to a provider of embedded wallets here
 */
import { z } from "zod";
import { isPublicKey } from "../../contract/index.ts";
import { announce } from "../accounts/inbox.ts";
import type { World } from "../state.ts";
import { Refusal, type Session } from "./sessions.ts";

const adminPaths = "/v1/admin/";
const privyLogin = "/v1/auth/login/privy";
const announcement = z.object({
  notificationType: z.string().min(1),
  title: z.string().nullish(),
  body: z.string().nullish(),
  data: z.unknown().optional(),
});

export interface BesideRequest {
  readonly method: string;
  readonly path: string;
  /** @throws {Refusal} */
  session(): Promise<Session>;
  body(): Promise<unknown>;
}

export interface BesideReply {
  readonly status: number;
  readonly body: object;
}

/** Returns true if the contract's table lacks the path. */
export function isBeside(path: string): boolean {
  return path === privyLogin || path.startsWith(adminPaths);
}

/** @throws {Refusal} */
export function answerBeside(world: World, request: BesideRequest): Promise<BesideReply> {
  return request.path === privyLogin ? embedded(request) : administer(world, request);
}

async function administer(world: World, request: BesideRequest): Promise<BesideReply> {
  const { role } = await request.session();
  if (role !== "admin") throw new Refusal(403, "admin_only");
  if (request.path !== `${adminPaths}notifications`)
    return { status: 404, body: { error: `No such path: ${request.path.slice(0, 200)}` } };
  if (request.method !== "POST")
    return { status: 405, body: { error: `${request.method} is not possible here` } };
  const asked = announcement.safeParse(await request.body());
  if (!asked.success) throw new Refusal(400, "invalid_request");
  const { notificationType, title = null, body = null, data = null } = asked.data;
  return { status: 200, body: { id: announce(world, { notificationType, title, body, data }) } };
}

async function embedded(request: BesideRequest): Promise<BesideReply> {
  if (request.method !== "POST")
    return { status: 405, body: { error: `${request.method} is not possible here` } };
  const asked = (await request.body()) as { wallet_pubkey?: unknown } | null | undefined;
  const wallet = asked?.wallet_pubkey;
  if (typeof wallet !== "string" || !isPublicKey(wallet)) throw new Refusal(400, "invalid_pubkey");
  throw new Refusal(403, "wallet_not_linked");
}
