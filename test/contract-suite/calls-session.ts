/** Signing in, staying signed in, signing out: `client.auth`, `client.sessionManager`, and what of them is exported. */
import * as sdk from "@ellipsis-labs/rise";
import { base58 } from "@scure/base";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { expect } from "vitest";
import { type Calls, local, parses, reads, refused } from "./call.ts";
import { type Desk, signWire } from "./desk.ts";

const service = "service accounts are no part of the contract";
const embedded = "embedded wallets are no part of the contract";

/** A client that is signed in, and its session. */
async function signedIn(desk: Desk) {
  const client = desk.newClient();
  await desk.signIn(client);
  const session = await client.sessionManager!.getSession();
  if (!client.auth || !client.sessionManager || !session) throw new Error("not signed in");
  return { client, auth: client.auth, manager: client.sessionManager, session };
}

/** Reads with a session, which are answered or refused. */
const inbox = ({ lived }: Desk, client: sdk.PhoenixClient) =>
  client.api.notifications().getNotificationsByTrader(lived.traderPda, { limit: 1 });

const credential = {
  client_id: "somebody",
  key_id: "a key",
  private_key: Buffer.alloc(32, 7).toString("base64url"),
};

export const sessionCalls: Calls = {
  "client.auth.getWalletNonce": reads(
    ({ client, lived }) => client.auth!.getWalletNonce(lived.authority),
    ({ expires_at }) => `until ${expires_at.slice(11, 19)}`,
    [],
  ),
  "client.auth.loginWithWalletSignature": parses(async (desk) => {
    const { client, session } = await signedIn(desk);
    expect(session.expiresAt).toBeGreaterThan(Date.now());
    await inbox(desk, client);
    return "signed in by message, and the inbox opens";
  }),
  "client.auth.getWalletTransactionChallenge": parses(async ({ client, lived }) => {
    const challenge = await client.auth!.getWalletTransactionChallenge(lived.authority);
    return `${Buffer.from(challenge.unsigned_transaction, "base64").length} bytes`;
  }),
  "client.auth.loginWithWalletTransaction": parses(async (desk) => {
    const client = desk.newClient();
    const key = desk.simulator.keyOf("lived");
    const challenge = await client.auth!.getWalletTransactionChallenge(key.address);
    const signed = signWire(challenge.unsigned_transaction, key);
    await client.auth!.loginWithWalletTransaction(key.address, signed, challenge.nonce_id);
    await inbox(desk, client);
    return "signed in by transaction, and the inbox opens";
  }),
  "client.auth.refresh": parses(async (desk) => {
    const { auth, client, session } = await signedIn(desk);
    const next = await auth.refresh(session.refreshToken);
    expect([next.sessionId, next.accessToken === session.accessToken]).toEqual([session.sessionId, false]);
    await inbox(desk, client);
    // Spent: the SDK takes the refusal for the end of the session and forgets it.
    await expect(auth.refresh(session.refreshToken)).rejects.toMatchObject({ code: "invalid_refresh_token" });
    expect(await client.sessionManager!.getSession()).toBeNull();
    return "rotated, once";
  }),
  // The contract answers 204 and no body, where this SDK reads JSON: it reports a failure of its own after signing out.
  "client.auth.logout": parses(async (desk) => {
    const { auth, session } = await signedIn(desk);
    await expect(auth.logout()).rejects.toMatchObject({ code: "network_error", status: undefined });
    const again = desk.newClient({ authConfig: { initialSession: session } });
    await expect(again.auth!.refresh(session.refreshToken)).rejects.toMatchObject({
      status: 404,
      code: "session_missing",
    });
    return "signed out; the SDK then wants JSON of a 204 and says network_error";
  }),
  "client.auth.getJwks": reads(
    async ({ client }) => {
      const jwks = await client.auth!.getJwks();
      const session = await client.sessionManager!.getSession();
      const keys = createLocalJWKSet(jwks as JSONWebKeySet);
      return { ...jwks, verified: (await jwtVerify(session!.accessToken, keys)).payload };
    },
    ({ verified }) => `they verify a token of session ${String(verified.sid).slice(0, 8)}`,
  ),
  "client.auth.loginWithPrivyToken": refused(
    403,
    "wallet_not_linked: no wallet is here",
    ({ client, lived }) => client.auth!.loginWithPrivyToken("x", lived.authority),
  ),
  "client.auth.getPrivyWalletChallenge": refused(404, embedded, ({ client, lived }) =>
    client.auth!.getPrivyWalletChallenge("x", lived.authority),
  ),
  "client.auth.serviceChallenge": refused(404, service, ({ client }) =>
    client.auth!.serviceChallenge({ client_id: "x" }),
  ),
  "client.auth.loginWithServiceSignature": refused(404, service, ({ client }) =>
    client.auth!.loginWithServiceSignature({ client_id: "x", nonce: "x", timestamp: "x", signature: "x" }),
  ),
  "client.auth.loginWithServiceAccountSigner": refused(404, service, async ({ client }) =>
    client.auth!.loginWithServiceAccountSigner(await sdk.createServiceAccountAuthSigner(credential)),
  ),
  "client.auth.loginWithServiceAccountCredential": refused(404, service, ({ client }) =>
    client.auth!.loginWithServiceAccountCredential(credential),
  ),
  "client.auth.loginWithServiceAccountFromEnv": local(async ({ client }) => {
    expect(await client.auth!.loginWithServiceAccountFromEnv()).toBeNull();
    return "nothing in the environment, nobody asked";
  }),
  loginWithServiceAccountSigner: refused(404, service, async ({ client }) =>
    sdk.loginWithServiceAccountSigner(client.auth!, await sdk.createServiceAccountAuthSigner(credential)),
  ),
  loginWithServiceAccountCredential: refused(404, service, ({ client }) =>
    sdk.loginWithServiceAccountCredential(client.auth!, credential),
  ),
  loginWithServiceAccountFromEnv: local(async ({ client }) => {
    expect(await sdk.loginWithServiceAccountFromEnv(client.auth!, {})).toBeNull();
    return "nothing in the environment, nobody asked";
  }),

  "client.sessionManager.getSession": parses(async (desk) => {
    const { session } = await signedIn(desk);
    expect(session.accessJti).not.toBe("");
    return "jti, sid and exp read out of the token";
  }),
  "client.sessionManager.refreshWith": parses(async (desk) => {
    const { auth, manager, client } = await signedIn(desk);
    // Several at once are one refresh.
    const [one, two] = await Promise.all([
      manager.refreshWith((token) => auth.refresh(token)),
      manager.refreshWith((token) => auth.refresh(token)),
    ]);
    expect(one!.accessToken).toBe(two!.accessToken);
    // A token that the exchange calls expired is refreshed by the client itself, and the call repeated.
    await desk.sim("session", { trader: "lived", action: "expire-access" });
    await inbox(desk, client);
    const now = await manager.getSession();
    expect([now?.sessionId, now?.accessToken === one.accessToken]).toEqual([one.sessionId, false]);
    await inbox(desk, desk.client);
    return "one for two at once, and by itself after access_token_expired";
  }),
  "client.sessionManager.exportSnapshot": parses(async (desk) => {
    const { manager, session } = await signedIn(desk);
    const snapshot = await manager.exportSnapshot();
    expect(snapshot).toMatchObject({ accessToken: session.accessToken, sessionId: session.sessionId });
    return "pop_key among it";
  }),
  "client.sessionManager.importSnapshot": parses(async (desk) => {
    const { manager } = await signedIn(desk);
    const other = desk.newClient();
    await other.sessionManager!.importSnapshot((await manager.exportSnapshot())!);
    await inbox(desk, other);
    return "the session goes on in another client";
  }),
  "client.sessionManager.updateSession": parses(async (desk) => {
    const { session } = await signedIn(desk);
    const other = desk.newClient();
    await other.sessionManager!.updateSession(session);
    await inbox(desk, other);
    return "taken over";
  }),
  "client.sessionManager.clearSession": parses(async (desk) => {
    const { manager, client } = await signedIn(desk);
    await manager.clearSession();
    await expect(inbox(desk, client)).rejects.toMatchObject({ status: 401, code: "missing_bearer_token" });
    return "then 401 missing_bearer_token";
  }),
  "client.sessionManager.onChange": parses(async (desk) => {
    const { manager, auth, session } = await signedIn(desk);
    const heard: (string | undefined)[] = [];
    const stop = manager.onChange((it) => heard.push(it?.accessToken));
    const next = await auth.refresh(session.refreshToken);
    stop();
    expect(heard).toEqual([next.accessToken]);
    return "told of the new token";
  }),
  "client.sessionManager.withLock": local(async ({ client }) =>
    client.sessionManager!.withLock(async () => "held"),
  ),
  "client.sessionManager.dispose": local(async (desk) => {
    desk.newClient().sessionManager!.dispose();
    return "";
  }),
  "client.api.exportAuthSnapshot": parses(async (desk) => {
    const { client, session } = await signedIn(desk);
    expect(await client.api.exportAuthSnapshot()).toMatchObject({ accessToken: session.accessToken });
    return "the same as of the manager";
  }),
  "client.api.auth": local(({ client }) => {
    expect(client.api.auth()).toBe(client.auth);
    return "client.auth";
  }),
  "client.api.sessionManager": local(({ client }) => {
    expect(client.api.sessionManager()).toBe(client.sessionManager);
    return "client.sessionManager";
  }),

  resetFromAuthResponse: parses(async ({ client, simulator, lived }) => {
    const nonce = await client.auth!.getWalletNonce(lived.authority);
    const signature = base58.encode(simulator.keyOf("lived").sign(new TextEncoder().encode(nonce.message)));
    const response = await client.api.fetch(
      "POST",
      "/v1/auth/login/wallet",
      { auth: "disabled" },
      {
        wallet_pubkey: lived.authority,
        nonce_id: nonce.nonce_id,
        signature,
      },
    );
    const session = sdk.resetFromAuthResponse(sdk.AuthResponseSchema.parse(await response.json()));
    expect(session.expiresAt).toBeGreaterThan(Date.now());
    return "out of the plain reply";
  }),
  toSnapshot: parses(
    async (desk) => sdk.toSnapshot((await signedIn(desk)).session).sessionId?.slice(0, 8) ?? "",
  ),
  fromSnapshot: parses(async (desk) => {
    const { session } = await signedIn(desk);
    expect(sdk.fromSnapshot(sdk.toSnapshot(session))).toEqual(session);
    return "back as it was";
  }),
  ...Object.fromEntries(
    Object.entries({ isAccessExpired: sdk.isAccessExpired, isRefreshExpired: sdk.isRefreshExpired }).map(
      ([name, expired]) => [
        name,
        parses(async (desk) => {
          expect(expired((await signedIn(desk)).session)).toBe(false);
          return "not yet";
        }),
      ],
    ),
  ),
  isAccessExpiringWithin: parses(async (desk) => {
    const { session } = await signedIn(desk);
    expect(sdk.isAccessExpiringWithin(session, 60_000)).toBe(false);
    expect(sdk.isAccessExpiringWithin(session, 86_400_000)).toBe(true);
    return "later than in a minute, before tomorrow";
  }),
  advanceCounter: parses(async (desk) => {
    const { session } = await signedIn(desk);
    expect(sdk.advanceCounter(session)).toBeDefined();
    return "";
  }),
};
