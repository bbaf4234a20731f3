import { base58 } from "@scure/base";
import { createLocalJWKSet, jwtVerify } from "jose";
import { expect, test } from "vitest";
import { signChallenge } from "../../src/wallet/transaction.ts";
import type { WalletKey } from "../../src/wallet/wallet-key.ts";
import { ask, quiet, signIn, sim, start } from "./support.ts";

const inbox = (traderPda: string) => `/v1/traders/${traderPda}/notifications?unackedOnly=true`;

test("a signed nonce opens a session whose token verifies by the published keys", async () => {
  await using simulator = await quiet();
  const { access_token } = await signIn(simulator);
  const keys = createLocalJWKSet((await ask(simulator, "/v1/auth/jwks")).json);
  const now = new Date(start);
  const { payload } = await jwtVerify(access_token, keys, { currentDate: now });
  expect(payload).toMatchObject({ wallet: simulator.keyOf("main").address, exp: now.getTime() / 1000 + 900 });
  expect(payload.sid).toBeTypeOf("string");
  expect(payload.jti).toBeTypeOf("string");
  const trader = simulator.traders[0]!;
  expect((await ask(simulator, inbox(trader.traderPda), { bearer: access_token })).status).toBe(200);
});

test("a nonce is for one wallet, one login and a limited time", async () => {
  await using simulator = await quiet({ traders: 2, nonceTtlMs: 60_000 });
  const main = simulator.keyOf("main");
  const other = simulator.keyOf("trader-2");
  const nonce = async () => (await ask(simulator, `/v1/auth/nonce?wallet_pubkey=${main.address}`)).json;
  const login = async (wallet: string, key: WalletKey, it: { nonce_id: string; message: string }) => {
    const signature = key.signText(it.message);
    const body = { wallet_pubkey: wallet, nonce_id: it.nonce_id, signature };
    const answer = await ask(simulator, "/v1/auth/login/wallet", { body });
    return [answer.status, answer.json.error];
  };
  const used = await nonce();
  expect(await login(main.address, main, used)).toEqual([200, undefined]);
  expect(await login(main.address, main, used)).toEqual([409, "nonce_used"]);
  expect(await login(other.address, other, await nonce())).toEqual([401, "invalid_nonce"]);
  expect(await login(main.address, other, await nonce())).toEqual([401, "invalid_signature"]);
  expect(await login(main.address, main, { nonce_id: "none", message: "" })).toEqual([401, "invalid_nonce"]);
  const late = await nonce();
  await sim(simulator, "advance", { ms: 60_000 });
  expect(await login(main.address, main, late)).toEqual([401, "nonce_expired"]);
  const malformed = { wallet_pubkey: main.address, nonce_id: (await nonce()).nonce_id, signature: "0OIl" };
  expect((await ask(simulator, "/v1/auth/login/wallet", { body: malformed })).status).toBe(400);
  // An address that is no point of the curve cannot have signed.
  const pda = simulator.traders[0]!.traderPda;
  const nobody = (await ask(simulator, `/v1/auth/nonce?wallet_pubkey=${pda}`)).json;
  expect(await login(pda, main, nobody)).toEqual([401, "invalid_signature"]);
});

test("each failure of a guarded route has its code, in the order of the checks", async () => {
  await using simulator = await quiet({ traders: 2, accessTtlMs: 60_000, graceMs: 10_000 });
  const path = inbox(simulator.traders[0]!.traderPda);
  const outcome = async (headers: Record<string, string>) => {
    const answer = await ask(simulator, path, { headers });
    return `${answer.status} ${answer.json.error ?? ""}`.trim();
  };
  const bearer = (token: string) => outcome({ authorization: `Bearer ${token}` });
  const authority = simulator.keyOf("main").address;

  expect(await outcome({})).toBe("401 missing_bearer_token");
  expect(await outcome({ authorization: "Basic eDp5" })).toBe("401 missing_bearer_token");
  expect(await outcome({ authorization: "Bearer" })).toBe("401 missing_access_token");
  expect(await bearer("not.a.token")).toBe("401 invalid_access_token");

  const first = await signIn(simulator);
  const [head, payload, signature = ""] = first.access_token.split(".");
  const forged = `${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
  expect(await bearer(`${head}.${payload}.${forged}`)).toBe("401 invalid_access_token");
  const another = await quiet({ seed: 8 });
  const foreign = (await signIn(another)).access_token;
  await another.stop();
  expect(await bearer(foreign)).toBe("401 invalid_access_token");

  expect(await bearer(first.access_token)).toBe("200");
  expect(await bearer((await signIn(simulator, "trader-2")).access_token)).toBe("403 insufficient_role");

  await sim(simulator, "session", { authority, action: "rotate-elsewhere" });
  expect(await bearer(first.access_token)).toBe("401 access_jti_mismatch");
  expect(
    (await ask(simulator, "/v1/auth/refresh", { body: { refresh_token: first.refresh_token } })).json,
  ).toEqual({
    error: "invalid_refresh_token",
  });

  const second = await signIn(simulator);
  await sim(simulator, "session", { authority, action: "expire-access" });
  expect(await bearer(second.access_token)).toBe("401 access_token_expired");
  const third = await signIn(simulator);
  await sim(simulator, "advance", { ms: 60_000 });
  expect(await bearer(third.access_token)).toBe("401 access_token_expired");
  // A foreign signature is reported before an expiry.
  expect(await bearer(foreign)).toBe("401 invalid_access_token");

  const fourth = await signIn(simulator);
  await sim(simulator, "session", { authority, action: "revoke" });
  expect(await bearer(fourth.access_token)).toBe("401 session_missing");
  const refused = await ask(simulator, "/v1/auth/refresh", { body: { refresh_token: fourth.refresh_token } });
  expect([refused.status, refused.json]).toEqual([404, { error: "session_missing" }]);
});

test("a refresh rotates both tokens, and the access token before it lives on for the grace window", async () => {
  await using simulator = await quiet({ graceMs: 10_000, refreshTtlMs: 600_000 });
  const path = inbox(simulator.traders[0]!.traderPda);
  const status = async (bearer: string) => (await ask(simulator, path, { bearer })).status;
  const refresh = async (refresh_token: string) =>
    ask(simulator, "/v1/auth/refresh", { body: { refresh_token } });
  const old = await signIn(simulator);
  const answer = await refresh(old.refresh_token);
  expect(answer.json).toMatchObject({ token_type: "Bearer", expires_in: 900, refresh_expires_in: 600 });
  const now = answer.json;
  expect(now.access_token).not.toBe(old.access_token);
  expect(now.refresh_token).not.toBe(old.refresh_token);
  expect((await refresh(old.refresh_token)).json).toEqual({ error: "invalid_refresh_token" });
  expect(await status(now.access_token)).toBe(200);
  await sim(simulator, "advance", { ms: 9_000 });
  expect(await status(old.access_token)).toBe(200);
  await sim(simulator, "advance", { ms: 1_000 });
  expect(await status(old.access_token)).toBe(401);
  expect(await status(now.access_token)).toBe(200);
  await sim(simulator, "advance", { ms: 590_000 });
  expect((await refresh(now.refresh_token)).json).toEqual({ error: "invalid_refresh_token" });
  const again = await signIn(simulator);
  await sim(simulator, "session", { trader: "main", action: "expire-refresh" });
  expect((await refresh(again.refresh_token)).json).toEqual({ error: "invalid_refresh_token" });
});

test("logout revokes, answers 204, and then there is nothing to revoke", async () => {
  await using simulator = await quiet();
  const { access_token } = await signIn(simulator);
  const logout = () => ask(simulator, "/v1/auth/logout", { method: "POST", bearer: access_token });
  const first = await logout();
  expect([first.status, first.text]).toEqual([204, ""]);
  expect((await logout()).json).toEqual({ error: "session_missing" });
  expect((await ask(simulator, "/v1/auth/logout", { method: "POST" })).json).toEqual({
    error: "missing_bearer_token",
  });
});

test("keys that are none are refused with 400", async () => {
  await using simulator = await quiet();
  for (const key of ["", "x", base58.encode(new Uint8Array(31)), "0".repeat(44)]) {
    expect((await ask(simulator, `/v1/auth/nonce?wallet_pubkey=${key}`)).status).toBe(400);
  }
});

/** The parts of a login transaction: signatures, header, accounts, blockhash, instructions. */
function takeApart(base64: string) {
  const bytes = Buffer.from(base64, "base64");
  const accounts = [bytes.subarray(69, 101), bytes.subarray(101, 133)];
  return { accounts, blockhash: bytes.subarray(133, 165), memo: bytes.subarray(166) };
}

/** A transaction like the challenge, with further instructions around the memo. */
function putTogether(
  key: WalletKey,
  parts: ReturnType<typeof takeApart>,
  before: readonly string[],
  after: readonly string[],
): string {
  const programs = [...before, ...after].map((it) => base58.decode(it));
  const instruction = (index: number) => Buffer.from([2 + index, 0, 1, 7]);
  const message = Buffer.concat([
    Buffer.from([1, 0, 1 + programs.length, 2 + programs.length]),
    ...parts.accounts,
    ...programs,
    parts.blockhash,
    Buffer.from([1 + programs.length]),
    ...before.map((_, index) => instruction(index)),
    parts.memo,
    ...after.map((_, index) => instruction(before.length + index)),
  ]);
  return Buffer.concat([Buffer.from([1]), key.sign(message), message]).toString("base64");
}

test("a signed transaction signs in; added budget instructions are tolerated, any other change is not", async () => {
  await using simulator = await quiet({ traders: 2 });
  const key = simulator.keyOf("main");
  const wallet_pubkey = key.address;
  const challenge = async () =>
    (await ask(simulator, "/v1/auth/wallet/transaction-challenge", { body: { wallet_pubkey } })).json;
  const login = async (nonce_id: string, signed_transaction: string) => {
    const body = { wallet_pubkey, nonce_id, signed_transaction };
    const answer = await ask(simulator, "/v1/auth/login/wallet/transaction", { body });
    return `${answer.status} ${answer.json.error ?? answer.json.token_type}`;
  };
  const budget = "ComputeBudget111111111111111111111111111111";
  const lighthouse = "L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95";
  const changed = async (change: (parts: ReturnType<typeof takeApart>) => string) => {
    const { nonce_id, unsigned_transaction } = await challenge();
    return login(nonce_id, change(takeApart(unsigned_transaction)));
  };

  const plain = await challenge();
  const signed = signChallenge(key, plain.unsigned_transaction, plain.nonce_id);
  expect(await login(plain.nonce_id, signed)).toBe("200 Bearer");
  expect(await login(plain.nonce_id, signed)).toBe("409 nonce_used");
  expect(await login("none", signed)).toBe("403 invalid_nonce");

  const refused = "403 invalid_transaction";
  expect(await changed((it) => putTogether(key, it, [budget], [lighthouse]))).toBe("200 Bearer");
  expect(
    await changed((it) => putTogether(key, it, ["Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo"], [])),
  ).toBe(refused);
  expect(await changed((it) => putTogether(simulator.keyOf("trader-2"), it, [], []))).toBe(refused);
  expect(await changed((it) => putTogether(key, { ...it, blockhash: Buffer.alloc(32) }, [], []))).toBe(
    refused,
  );
  expect(
    await changed((it) => {
      const memo = Buffer.from(it.memo);
      memo.writeUInt8(33, memo.length - 1);
      return putTogether(key, { ...it, memo }, [], []);
    }),
  ).toBe(refused);
  expect(await changed(() => "AQID")).toBe("400 malformed_transaction");
  const other = await challenge();
  expect(
    await login((await challenge()).nonce_id, signChallenge(key, other.unsigned_transaction, other.nonce_id)),
  ).toBe(refused);
});
