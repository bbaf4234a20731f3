/**
 * A small exchange on loopback, for tests of the client alone: strict about sign-in (single-use nonces, verified signatures,
 * rotating tokens, a grace window for the previous access token), and unwell on demand. It lives on the test's clock.
 */
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { base58 } from "@scure/base";
import { localSigner } from "../../src/signer/local.ts";
import { type FormStore, LoginForms, memoryForms } from "../../src/signer/login-forms.ts";
import type { WalletSigner } from "../../src/signer/signer.ts";
import { verifyBytes } from "../../src/wallet/ed25519.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import type { FakeClock } from "../support/clock.ts";

/** The wallet of the contract's examples; others by number. */
export function testKey(name: string | number = "example"): WalletKey {
  const text = name === "example" ? "perpwatch example: wallet" : `perpwatch test: ${name}`;
  return WalletKey.fromSeed(createHash("sha256").update(text).digest());
}

/** Trusts the first plain login. */
export const testForms = (store: FormStore = memoryForms()): LoginForms =>
  new LoginForms({ store, baseUrl: "https://perp-api.phoenix.trade", domain: null });

/** Signs in this process. */
export const testSigner = (key: WalletKey, forms = testForms()): WalletSigner => localSigner(key, { forms });

export interface Answer {
  readonly status?: number;
  /** An object is written as JSON, a string as it is. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}
export type Fault =
  | (Answer & { readonly kind?: "answer" })
  /** The connection is cut before, or in the middle of, the answer. */
  | { readonly kind: "drop" }
  | { readonly kind: "cut"; readonly body: string }
  /** Answered as usual, but late. */
  | { readonly kind: "late"; readonly ms: number }
  /** Never answered. */
  | { readonly kind: "hang" }
  /** Done as usual, and the answer is lost. */
  | { readonly kind: "lose" };

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly atMs: number;
  readonly authorization: string | null;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

interface Session {
  readonly wallet: string;
  jti: string;
  previous: { jti: string; untilMs: number } | null;
  refresh: string;
  refreshUntilMs: number;
  revoked: boolean;
}

export interface LocalExchangeOptions {
  readonly clock: FakeClock;
  readonly accessMs?: number;
  readonly refreshMs?: number;
  readonly graceMs?: number;
  /** The value of `expires_in`, when that is not the truth. */
  readonly statedMs?: number;
  /** Access tokens that are no JWTs. */
  readonly opaque?: boolean;
  /** Exchange's clock less the test's. */
  readonly aheadMs?: number;
}

export class LocalExchange implements AsyncDisposable {
  url = "";
  readonly seen: Seen[] = [];
  /** Every token and signature that went over the wire, to search for. */
  readonly secrets = new Set<string>();
  /** Answers of open routes, by path. */
  readonly routes = new Map<string, unknown>();
  /** Guarded reads that were answered. */
  served = 0;
  /** Every bearer is refused, whatever sign-in says. */
  refuseAll: string | null = null;
  /** The first line of the text that wallets sign. */
  loginWords = "Sign in to the exchange";
  held = 0;
  /** The number of connections ever made. */
  connections = 0;
  readonly #options: Required<Omit<LocalExchangeOptions, "statedMs">> & { statedMs?: number };
  readonly #server = createServer((request, response) => void this.#handle(request, response));
  readonly #faults: { path: string; left: number; fault: Fault }[] = [];
  readonly #nonces = new Map<string, { wallet: string; message: string; untilMs: number }>();
  readonly #sessions = new Map<string, Session>();
  readonly #opaque = new Map<string, { sid: string; jti: string; exp: number }>();
  #transaction: { unsigned: string; signed: string } | null = null;

  private constructor(options: LocalExchangeOptions) {
    this.#options = {
      accessMs: 900_000,
      refreshMs: 2_592_000_000,
      graceMs: 10_000,
      aheadMs: 0,
      opaque: false,
      ...options,
    };
    options.clock.allow(() => this.held);
    this.#server.on("connection", () => this.connections++);
  }

  static async start(options: LocalExchangeOptions): Promise<LocalExchange> {
    const exchange = new LocalExchange(options);
    exchange.#server.listen(0, "127.0.0.1");
    await once(exchange.#server, "listening");
    exchange.url = `http://127.0.0.1:${(exchange.#server.address() as AddressInfo).port}`;
    return exchange;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** The next `times` requests whose path begins so meet this fault. */
  fault(path: string, fault: Fault, times = 1): void {
    this.#faults.push({ path, fault, left: times });
  }
  heal(): void {
    this.#faults.length = 0;
  }

  /** Requests whose path begins so. */
  asked(path: string): Seen[] {
    return this.seen.filter((one) => one.path.startsWith(path));
  }

  revoke(): void {
    for (const session of this.#sessions.values()) session.revoked = true;
  }
  /** Another holder refreshes: our refresh token is spent, our access token lives for the grace window. */
  rotateElsewhere(): void {
    for (const session of this.#sessions.values()) if (!session.revoked) this.#rotate(session);
  }
  expireRefresh(): void {
    for (const session of this.#sessions.values()) session.refreshUntilMs = 0;
  }
  endGrace(): void {
    for (const session of this.#sessions.values()) session.previous = null;
  }
  acceptTransaction(unsigned: string, signed: string): void {
    this.#transaction = { unsigned, signed };
  }

  #now(): number {
    return this.#options.clock.nowMs() + this.#options.aheadMs;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request) body += chunk;
    const url = new URL(request.url ?? "/", "http://x");
    const { clock } = this.#options;
    this.seen.push({
      method: request.method ?? "",
      path: url.pathname,
      query: url.search,
      atMs: clock.elapsedMs(),
      authorization: request.headers.authorization ?? null,
      headers: request.headers,
      body,
    });
    const planned = this.#faults.find((one) => one.left > 0 && url.pathname.startsWith(one.path));
    if (planned) planned.left--;
    const fault = planned?.fault;
    if (fault?.kind === "drop") return void request.socket.destroy();
    if (fault?.kind === "hang") {
      this.held++;
      response.on("close", () => this.held--);
      return;
    }
    if (fault?.kind === "late") {
      this.held++;
      await clock.sleep(fault.ms);
      this.held--;
    }
    if (fault?.kind === "cut") {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100000" });
      response.write(fault.body);
      setImmediate(() => request.socket.destroy());
      return;
    }
    const usual = !fault || fault.kind === "late" || fault.kind === "lose";
    const answer = usual ? this.#answer(url, request, body) : fault;
    if (fault?.kind === "lose") return void request.socket.destroy();
    response.setHeader("date", new Date(this.#now()).toUTCString());
    for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
    response.writeHead(answer.status ?? 200, { "content-type": "application/json" });
    response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body ?? {}));
  }

  #answer(url: URL, request: IncomingMessage, text: string): Answer {
    const body = (text === "" ? {} : JSON.parse(text)) as Record<string, string>;
    switch (`${request.method} ${url.pathname}`) {
      case "GET /v1/auth/nonce": {
        const wallet = url.searchParams.get("wallet_pubkey") ?? "";
        const id = randomUUID();
        const message = `${this.loginWords}\nwallet: ${wallet}\nnonce: ${id}`;
        this.#nonces.set(id, { wallet, message, untilMs: this.#now() + 60_000 });
        const expires_at = new Date(this.#now() + 60_000).toISOString();
        return { body: { nonce_id: id, message, expires_at } };
      }
      case "POST /v1/auth/login/wallet": {
        const nonce = this.#nonces.get(body.nonce_id ?? "");
        this.#nonces.delete(body.nonce_id ?? "");
        this.secrets.add(body.signature ?? "");
        if (!nonce || nonce.wallet !== body.wallet_pubkey || nonce.untilMs < this.#now()) {
          return { status: 409, body: { error: "nonce_used" } };
        }
        const signed = verifyBytes(
          base58.decode(nonce.wallet),
          new TextEncoder().encode(nonce.message),
          base58.decode(body.signature ?? ""),
        );
        return signed ? this.#newSession(nonce.wallet) : { status: 401, body: { error: "bad_signature" } };
      }
      case "POST /v1/auth/wallet/transaction-challenge":
        return {
          body: {
            nonce_id: "nonce-0002",
            unsigned_transaction: this.#transaction?.unsigned,
            expires_at: new Date(this.#now() + 60_000).toISOString(),
          },
        };
      case "POST /v1/auth/login/wallet/transaction":
        if (body.signed_transaction !== this.#transaction?.signed) return { status: 403, body: {} };
        return this.#newSession(body.wallet_pubkey ?? "");
      case "POST /v1/auth/refresh": {
        const session = [...this.#sessions.values()].find((one) => one.refresh === body.refresh_token);
        if (!session || session.refreshUntilMs <= this.#now()) {
          return { status: 401, body: { error: "invalid_refresh_token" } };
        }
        if (session.revoked) return { status: 404, body: { error: "session_missing" } };
        return this.#rotate(session);
      }
      case "POST /v1/auth/logout": {
        const session = this.#guard(request);
        if ("status" in session) return session;
        (session as Session).revoked = true;
        return { status: 204, body: "" };
      }
    }
    if (url.pathname.endsWith("/notifications") || url.pathname.includes("/notifications/ack/")) {
      const session = this.#guard(request);
      if ("status" in session) return session;
      this.served++;
      return { body: request.method === "GET" ? { items: [], nextCursor: null } : { ok: true } };
    }
    if (this.routes.has(url.pathname)) return { body: this.routes.get(url.pathname) };
    return { status: 404, body: { error: "not found" } };
  }

  #guard(request: IncomingMessage): Session | Answer {
    const refuse = (error: string, status = 401) => ({ status, body: { error } });
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (bearer === undefined) return refuse("missing_bearer_token");
    if (this.refuseAll !== null) return refuse(this.refuseAll);
    let claims: { sid: string; jti: string; exp: number } | undefined = this.#opaque.get(bearer);
    try {
      claims ??= JSON.parse(Buffer.from(bearer.split(".")[1] ?? "", "base64url").toString());
    } catch {
      return refuse("invalid_access_token");
    }
    if (!claims) return refuse("invalid_access_token");
    if (claims.exp * 1_000 <= this.#now()) return refuse("access_token_expired");
    const session = this.#sessions.get(claims.sid);
    if (!session || session.revoked) return refuse("session_missing");
    const { previous } = session;
    if (claims.jti !== session.jti && !(claims.jti === previous?.jti && previous.untilMs > this.#now())) {
      return refuse("access_jti_mismatch");
    }
    return session;
  }

  #newSession(wallet: string): Answer {
    const sid = randomUUID();
    const session = { wallet, jti: "", previous: null, refresh: "", refreshUntilMs: 0, revoked: false };
    this.#sessions.set(sid, session);
    return this.#rotate(session);
  }

  #rotate(session: Session): Answer {
    const { accessMs, refreshMs, graceMs } = this.#options;
    const sid = [...this.#sessions].find(([, one]) => one === session)![0];
    session.previous = session.jti === "" ? null : { jti: session.jti, untilMs: this.#now() + graceMs };
    session.jti = randomUUID();
    session.refresh = `refresh-${randomUUID()}-${randomUUID()}`;
    session.refreshUntilMs = this.#now() + refreshMs;
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const exp = Math.floor((this.#now() + accessMs) / 1_000);
    const claims = { sid, jti: session.jti, exp };
    const access = this.#options.opaque
      ? `access-${randomUUID()}-${randomUUID()}`
      : `${part({ alg: "EdDSA" })}.${part(claims)}.${part(randomUUID())}`;
    if (this.#options.opaque) this.#opaque.set(access, claims);
    this.secrets.add(access).add(session.refresh);
    return {
      body: {
        token_type: "Bearer",
        access_token: access,
        expires_in: (this.#options.statedMs ?? accessMs) / 1_000,
        refresh_token: session.refresh,
        refresh_expires_in: refreshMs / 1_000,
      },
    };
  }
}
