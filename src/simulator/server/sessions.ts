/**
 * Sessions of wallets at the exchange.
 *
 *   nonce ──signed──► session (access token, refresh token) ──refresh──► both new ──revoke or logout──► gone
 *
 * Both tokens are JWTs (EdDSA) with `sid`, `jti`, `exp`; a refresh token can be used once. After a refresh the previous
 * access token stays valid for a grace period. All times are simulated.
 */
import { createPublicKey, type KeyObject } from "node:crypto";
import { base58 } from "@scure/base";
import { importJWK, type JWK, type JWTPayload, errors as joseErrors, jwtVerify, SignJWT } from "jose";
import type { Random } from "../../domain/clock.ts";
import { addressBytes } from "../../wallet/address.ts";
import { privateKeyFromSeed, verifyBytes } from "../../wallet/ed25519.ts";

export interface SessionSettings {
  readonly accessTtlMs: number;
  readonly refreshTtlMs: number;
  /** The time for which the previous access token stays valid, ms. */
  readonly graceMs: number;
  readonly nonceTtlMs: number;
}

export const sessionDefaults: SessionSettings = {
  accessTtlMs: 900_000,
  refreshTtlMs: 30 * 86_400_000,
  graceMs: 10_000,
  nonceTtlMs: 300_000,
};

/** A refusal, with its status and code. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

/** `service`: the account of a program. */
export const roles = ["user", "service", "admin"] as const;
export type Role = (typeof roles)[number];

export interface Session {
  readonly sid: string;
  readonly wallet: string;
  role: Role;
  jti: string;
  /** The previous access token, and the end of its grace period. */
  previous: { readonly jti: string; readonly untilMs: number } | null;
  refreshToken: string;
  refreshExpiresMs: number;
  revoked: boolean;
  /** Access tokens that count as expired early. */
  readonly expired: Set<string>;
  readonly popKey: string;
}

export interface Tokens {
  readonly token_type: "Bearer";
  readonly access_token: string;
  readonly expires_in: number;
  readonly refresh_token: string;
  readonly refresh_expires_in: number;
  readonly pop_key: string;
}

interface Nonce {
  readonly wallet: string;
  readonly message: string;
  readonly expiresMs: number;
  used: boolean;
}

/** The claims of an access token with a valid signature. */
interface AccessClaims {
  readonly sid: string;
  readonly jti: string;
  readonly expiresMs: number;
}

export type TokenFault = "access_token_expired" | "session_missing" | "access_jti_mismatch";

export interface SeenToken {
  /** Undefined when the session is unknown. */
  readonly session: Session | undefined;
  readonly jti: string;
  readonly expiresMs: number;
}

export type SessionAction = "expire-access" | "expire-refresh" | "revoke" | "rotate-elsewhere";

export interface Sessions {
  nonce(wallet: string): { readonly nonce_id: string; readonly message: string; readonly expires_at: string };
  /** @throws {Refusal} 400, 401 or 409 */
  login(wallet: string, signature: string, nonceId: string): Promise<Tokens>;
  /**
   * Uses a nonce for another proof of the key.
   * @throws {Refusal}
   */
  useNonce(wallet: string, nonceId: string): string;
  open(wallet: string): Promise<Tokens>;
  /** @throws {Refusal} 401 or 404 */
  refresh(refreshToken: string): Promise<Tokens>;
  /** The session of a bearer header. @throws {Refusal} 401 with the code of the first check that fails */
  authorize(header: string | undefined): Promise<Session>;
  /** The session of an access token. @throws {Refusal} */
  verify(token: string): Promise<Session>;
  /**
   * Parses a token of this exchange, valid or not.
   * @throws {Refusal} for other tokens
   */
  inspect(token: string): Promise<SeenToken>;
  /** The reason why a token is not valid now; null: it is. */
  standing(seen: SeenToken): TokenFault | null;
  revoke(session: Session): void;
  jwks(): { readonly keys: readonly JWK[] };
  /**
   * Changes all live sessions of a wallet.
   * @returns their number; for `rotate-elsewhere` the new tokens
   */
  force(wallet: string, action: SessionAction): Promise<{ sessions: number; tokens: readonly Tokens[] }>;
  /** Sets the role of a wallet, for its present and future sessions. */
  setRole(wallet: string, role: Role): void;
  list(): readonly Session[];
}

const maxNonces = 20_000;
const maxSessions = 20_000;
const maxInspected = 20_000;

export async function createSessions(
  seed: Uint8Array,
  random: Random,
  nowMs: () => number,
  settings: SessionSettings,
): Promise<Sessions> {
  const privateKey = privateKeyFromSeed(seed);
  const jwk = publicJwk(privateKey);
  const verifyKey = await importJWK(jwk, "EdDSA");
  const nonces = new Map<string, Nonce>();
  /** The roles of wallets that are not `user`. */
  const roleOf = new Map<string, Role>();
  const byId = new Map<string, Session>();
  /** By the valid refresh token; used ones are removed. */
  const byRefresh = new Map<string, Session>();
  const inspected = new Map<string, AccessClaims>();

  const hex = (bytes: number): string => {
    let text = "";
    for (let i = 0; i < bytes; i++)
      text += Math.floor(random() * 256)
        .toString(16)
        .padStart(2, "0");
    return text;
  };
  const uuid = (): string => {
    const h = hex(16);
    return `${h.slice(0, 8)}-${h.slice(8, 12)}-4${h.slice(13, 16)}-a${h.slice(17, 20)}-${h.slice(20)}`;
  };

  function nonce(wallet: string) {
    for (const [id, known] of nonces) {
      if (known.expiresMs + settings.nonceTtlMs > nowMs() && nonces.size < maxNonces) break;
      nonces.delete(id);
    }
    const nonceId = uuid();
    const expiresMs = nowMs() + settings.nonceTtlMs;
    const expires_at = new Date(expiresMs).toISOString();
    const message = `Sign in to the exchange\nwallet:${wallet}\nnonce:${hex(16)}\nexpires:${expires_at}`;
    nonces.set(nonceId, { wallet, message, expiresMs, used: false });
    return { nonce_id: nonceId, message, expires_at };
  }

  function useNonce(wallet: string, nonceId: string): string {
    const known = nonces.get(nonceId);
    if (!known || known.wallet !== wallet) throw new Refusal(401, "invalid_nonce");
    if (known.used) throw new Refusal(409, "nonce_used");
    if (known.expiresMs <= nowMs()) throw new Refusal(401, "nonce_expired");
    known.used = true;
    return known.message;
  }

  async function login(wallet: string, signature: string, nonceId: string): Promise<Tokens> {
    let bytes: Uint8Array;
    try {
      if (signature.length > 90) throw new Error("too long");
      bytes = base58.decode(signature);
    } catch {
      throw new Refusal(400, "malformed_signature");
    }
    if (bytes.length !== 64) throw new Refusal(400, "malformed_signature");
    const message = useNonce(wallet, nonceId);
    if (!signedBy(wallet, new TextEncoder().encode(message), bytes))
      throw new Refusal(401, "invalid_signature");
    return open(wallet);
  }

  async function open(wallet: string): Promise<Tokens> {
    const session: Session = {
      sid: uuid(),
      wallet,
      role: roleOf.get(wallet) ?? "user",
      jti: "",
      previous: null,
      refreshToken: "",
      refreshExpiresMs: 0,
      revoked: false,
      expired: new Set(),
      popKey: Buffer.from(hex(32), "hex").toString("base64url"),
    };
    byId.set(session.sid, session);
    // Keeps only the newest sessions.
    const oldest = byId.size > maxSessions ? byId.values().next().value : undefined;
    if (oldest) {
      byId.delete(oldest.sid);
      byRefresh.delete(oldest.refreshToken);
    }
    return rotate(session);
  }

  /** Creates new tokens and ends the previous ones, except for the grace period. */
  async function rotate(session: Session): Promise<Tokens> {
    const now = nowMs();
    if (session.jti !== "") session.previous = { jti: session.jti, untilMs: now + settings.graceMs };
    session.jti = uuid();
    byRefresh.delete(session.refreshToken);
    session.refreshExpiresMs = now + settings.refreshTtlMs;
    const issued = Math.floor(now / 1000);
    const expiresIn = Math.round(settings.accessTtlMs / 1000);
    const { popKey, wallet, sid, jti } = session;
    const signed = (claims: JWTPayload, id: string, expires: number) =>
      new SignJWT({ ...claims, sid })
        .setProtectedHeader({ alg: "EdDSA", typ: "JWT", kid: jwk.kid as string })
        .setSubject(wallet)
        .setJti(id)
        .setIssuedAt(issued)
        .setExpirationTime(expires)
        .sign(privateKey);
    const refreshExpires = issued + Math.round(settings.refreshTtlMs / 1000);
    const refreshToken = await signed({ use: "refresh" }, uuid(), refreshExpires);
    session.refreshToken = refreshToken;
    byRefresh.set(refreshToken, session);
    const access_token = await signed({ wallet }, jti, issued + expiresIn);
    return {
      token_type: "Bearer",
      access_token,
      expires_in: expiresIn,
      refresh_token: refreshToken,
      refresh_expires_in: Math.round(settings.refreshTtlMs / 1000),
      pop_key: popKey,
    };
  }

  async function refresh(refreshToken: string): Promise<Tokens> {
    const session = byRefresh.get(refreshToken);
    if (!session) throw new Refusal(401, "invalid_refresh_token");
    if (session.revoked) throw new Refusal(404, "session_missing");
    if (session.refreshExpiresMs <= nowMs()) throw new Refusal(401, "invalid_refresh_token");
    return rotate(session);
  }

  async function authorize(header: string | undefined): Promise<Session> {
    if (header === undefined || header === "") throw new Refusal(401, "missing_bearer_token");
    const [scheme = "", token = "", ...rest] = header.trim().split(/\s+/);
    if (scheme.toLowerCase() !== "bearer") throw new Refusal(401, "missing_bearer_token");
    if (token === "") throw new Refusal(401, "missing_access_token");
    if (rest.length > 0) throw new Refusal(401, "invalid_access_token");
    return verify(token);
  }

  async function verify(token: string): Promise<Session> {
    const seen = await inspect(token);
    const code = standing(seen);
    if (code !== null) throw new Refusal(401, code);
    return seen.session as Session;
  }

  /**
   * Parses a token of this exchange, even if it is no longer valid.
   * @throws {Refusal} for other tokens
   */
  async function inspect(token: string): Promise<SeenToken> {
    const known = inspected.get(token);
    const { sid, jti, expiresMs } = known ?? (await claimsOf(token));
    return { session: byId.get(sid), jti, expiresMs };
  }

  /**
   * The claims of a token of this exchange, whose signature is checked once.
   * @throws {Refusal}
   */
  async function claimsOf(token: string): Promise<AccessClaims> {
    let claims: JWTPayload;
    try {
      claims = (await jwtVerify(token, verifyKey, { algorithms: ["EdDSA"], currentDate: new Date(nowMs()) }))
        .payload;
    } catch (error) {
      // The signature was checked before the expiry, so an expired token is from this exchange.
      if (!(error instanceof joseErrors.JWTExpired)) throw new Refusal(401, "invalid_access_token");
      claims = error.payload;
    }
    const { sid, jti, exp } = claims;
    if (claims.use === "refresh") throw new Refusal(401, "invalid_access_token");
    if (typeof sid !== "string" || typeof jti !== "string" || typeof exp !== "number") {
      throw new Refusal(401, "invalid_access_token");
    }
    const found = { sid, jti, expiresMs: exp * 1000 };
    if (inspected.size >= maxInspected) inspected.clear();
    inspected.set(token, found);
    return found;
  }

  function standing({ session, jti, expiresMs }: SeenToken): TokenFault | null {
    const now = nowMs();
    if (expiresMs <= now || session?.expired.has(jti)) return "access_token_expired";
    if (!session || session.revoked) return "session_missing";
    const { previous } = session;
    const inGrace = previous?.jti === jti && now < previous.untilMs;
    return jti === session.jti || inGrace ? null : "access_jti_mismatch";
  }

  async function force(wallet: string, action: SessionAction) {
    const live = [...byId.values()].filter((session) => session.wallet === wallet && !session.revoked);
    const tokens: Tokens[] = [];
    for (const session of live) {
      if (action === "revoke") session.revoked = true;
      else if (action === "expire-refresh") session.refreshExpiresMs = nowMs();
      else if (action === "expire-access") {
        session.expired.add(session.jti);
        if (session.previous) session.expired.add(session.previous.jti);
      } else {
        tokens.push(await rotate(session));
        // For this holder it was rotated outside of the grace period.
        session.previous = null;
      }
    }
    return { sessions: live.length, tokens };
  }

  return {
    nonce,
    login,
    useNonce,
    open,
    refresh,
    authorize,
    verify,
    inspect,
    standing,
    revoke: (session) => {
      session.revoked = true;
    },
    jwks: () => ({ keys: [jwk] }),
    force,
    setRole: (wallet, role) => {
      roleOf.set(wallet, role);
      for (const session of byId.values()) if (session.wallet === wallet) session.role = role;
    },
    list: () => [...byId.values()],
  };
}

function publicJwk(privateKey: KeyObject): JWK {
  const jwk = createPublicKey(privateKey).export({ format: "jwk" }) as JWK;
  return { ...jwk, kid: "simulator-1", alg: "EdDSA", use: "sig" };
}

/** Also false for a wallet that is no point of the curve. */
function signedBy(wallet: string, bytes: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verifyBytes(addressBytes(wallet), bytes, signature);
  } catch {
    return false;
  }
}
