/** Every refusal code of the contract, caused by a request. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ERROR_CODES, type KnownErrorCode } from "../../src/contract/index.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { createExchange, type SessionChange } from "../../src/exchange/index.ts";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { testSigner } from "../exchange/local-exchange.ts";
import { MemorySessions } from "../exchange/rig.ts";
import { FakeClock } from "../support/clock.ts";
import { type Answer, ask, quiet, signIn, sim } from "./support.ts";

let simulator: Simulator;
beforeAll(async () => {
  simulator = await quiet({
    traders: 3,
    accessTtlMs: 60_000,
    refreshTtlMs: 600_000,
    requestsPerSecond: null,
  });
});
afterAll(() => simulator.stop());

const trader = (name = "main") => simulator.traders.find((it) => it.name === name)!;
const inbox = (name = "main") => `/v1/traders/${trader(name).traderPda}/notifications?unackedOnly=true`;
const asks = (bearer: string, name?: string) => ask(simulator, inbox(name), { bearer });
const refresh = (refresh_token: string) => ask(simulator, "/v1/auth/refresh", { body: { refresh_token } });
const session = (action: string, name = "main") => sim(simulator, "session", { trader: name, action });
const withRole = async (name: string, role: string, act: () => Promise<Answer>): Promise<Answer> => {
  await sim(simulator, "role", { trader: name, role });
  return act().finally(() => sim(simulator, "role", { trader: name, role: "user" }));
};

/** The causes of each code that a server sends, and other fields of the answer. */
const causes: Readonly<
  Record<
    Exclude<KnownErrorCode, "refresh_expired" | "no_auth_session">,
    readonly { readonly when: string; readonly act: () => Promise<Answer>; readonly status: number }[]
  >
> = {
  missing_access_token: [
    {
      when: "a bearer without a token",
      status: 401,
      act: () => ask(simulator, inbox(), { headers: { authorization: "Bearer" } }),
    },
  ],
  missing_bearer_token: [
    { when: "no header", status: 401, act: () => ask(simulator, inbox()) },
    {
      when: "another scheme",
      status: 401,
      act: () => ask(simulator, inbox(), { headers: { authorization: "Basic eDp5" } }),
    },
    {
      when: "a logout of nobody",
      status: 401,
      act: () => ask(simulator, "/v1/auth/logout", { method: "POST" }),
    },
  ],
  invalid_access_token: [
    { when: "no JWT", status: 401, act: () => asks("rubbish") },
    {
      when: "another exchange's token",
      status: 401,
      act: async () => {
        await using other = await quiet({ seed: 99 });
        return asks((await signIn(other)).access_token);
      },
    },
  ],
  access_token_expired: [
    {
      when: "its time is over",
      status: 401,
      act: async () => {
        const { access_token } = await signIn(simulator);
        await sim(simulator, "advance", { ms: 60_000 });
        return asks(access_token);
      },
    },
  ],
  session_missing: [
    {
      when: "a token of a session that was logged out",
      status: 401,
      act: async () => {
        const { access_token } = await signIn(simulator);
        await ask(simulator, "/v1/auth/logout", { method: "POST", bearer: access_token });
        return asks(access_token);
      },
    },
    {
      when: "a refresh of a session that was revoked",
      status: 404,
      act: async () => {
        const { refresh_token } = await signIn(simulator);
        await session("revoke");
        return refresh(refresh_token);
      },
    },
  ],
  access_jti_mismatch: [
    {
      when: "another holder of the session has refreshed it, and the grace is over",
      status: 401,
      act: async () => {
        const { access_token, refresh_token } = await signIn(simulator);
        expect((await refresh(refresh_token)).status).toBe(200);
        expect((await asks(access_token)).status).toBe(200);
        await sim(simulator, "advance", { ms: 10_000 });
        return asks(access_token);
      },
    },
  ],
  invalid_refresh_token: [
    { when: "none of its own", status: 401, act: () => refresh("rubbish") },
    {
      when: "a second use",
      status: 401,
      act: async () => {
        const { refresh_token } = await signIn(simulator);
        await refresh(refresh_token);
        return refresh(refresh_token);
      },
    },
    {
      when: "its time is over",
      status: 401,
      act: async () => {
        const { refresh_token } = await signIn(simulator);
        await sim(simulator, "advance", { ms: 600_000 });
        return refresh(refresh_token);
      },
    },
  ],
  user_only: [
    {
      when: "a service asks for an inbox",
      status: 403,
      act: async () => {
        const { access_token } = await signIn(simulator, "trader-2");
        return withRole("trader-2", "service", () => asks(access_token, "trader-2"));
      },
    },
  ],
  admin_only: [
    {
      when: "a user announces something to everyone",
      status: 403,
      act: async () => {
        const { access_token } = await signIn(simulator);
        const body = { notificationType: "maintenance", body: "x" };
        return ask(simulator, "/v1/admin/notifications", { body, bearer: access_token });
      },
    },
  ],
  insufficient_role: [
    {
      when: "a wallet asks for another one's inbox",
      status: 403,
      act: async () => asks((await signIn(simulator)).access_token, "trader-2"),
    },
  ],
  rate_limited: [
    {
      when: "more requests than the ceiling",
      status: 429,
      act: async () => {
        await using busy = await quiet({ requestsPerSecond: 1 });
        await ask(busy, "/v1/view/exchange/status");
        const answer = await ask(busy, "/v1/view/exchange/status");
        expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
        return answer;
      },
    },
  ],
  wallet_not_linked: [
    {
      when: "a login through a provider of embedded wallets",
      status: 403,
      act: () =>
        ask(simulator, "/v1/auth/login/privy", { body: { wallet_pubkey: trader().authority, token: "x" } }),
    },
  ],
};

describe.each(Object.entries(causes))("%s", (code, ways) => {
  test.each(ways.map((it) => [it.when, it] as const))("%s", async (_when, { act, status }) => {
    const answer = await act();
    expect([answer.status, answer.json]).toEqual([status, { error: code }]);
    expect(ERROR_CODES[code as KnownErrorCode].statuses).toContain(status);
  });
});

test("the client's own codes: no session, and a refresh token that is known to be over", async () => {
  const clock = new FakeClock("2026-03-01T12:00:00.250Z");
  await using own = await startSimulator({ clock, walk: false, accessTtlMs: 60_000, refreshTtlMs: 600_000 });
  clock.allow(() => own.held());
  const changes: SessionChange[] = [];
  const exchange = createExchange({
    settings: { baseUrl: own.url, requestsPerSecond: 1_000 },
    version: "0.0.0-test",
    clock,
    random: seededRandom(1),
    wallets: [{ name: "main", key: testSigner(own.keyOf("main")), login: "message" }],
    store: new MemorySessions(),
    onSession: (change) => void changes.push(change),
    onTrouble: () => {},
    onBadRecord: () => {},
  });
  const traderPubkey = own.traders[0]!.traderPda;
  await expect(exchange.client.notifications({ traderPubkey })).rejects.toMatchObject({
    code: "no_auth_session",
  });
  const poll = () => clock.finish(exchange.client.notifications({ traderPubkey }, { wallet: "main" }));
  await poll();
  await clock.advance(700_000);
  await poll();
  expect(changes.at(-1)?.detail).toContain("refresh_expired");
  await clock.finish(exchange.stop());
});

test("what an administrator announces reaches every inbox", async () => {
  const { access_token: bearer } = await signIn(simulator, "trader-3");
  const body = { notificationType: "maintenance", title: "Soon", body: "At noon" };
  const announced = await withRole("trader-3", "admin", () =>
    ask(simulator, "/v1/admin/notifications", { body, bearer }),
  );
  expect(announced.status).toBe(200);
  const unknown = await withRole("trader-3", "admin", () => ask(simulator, "/v1/admin/coffee", { bearer }));
  expect(unknown.status).toBe(404);
  const { access_token } = await signIn(simulator);
  const [item] = (await asks(access_token)).json.items;
  expect(item).toMatchObject({ source: "admin", title: "Soon", body: "At noon", id: announced.json.id });
});

test("a service may sign out", async () => {
  const { access_token: bearer } = await signIn(simulator, "trader-2");
  const answer = await withRole("trader-2", "service", () =>
    ask(simulator, "/v1/auth/logout", { method: "POST", bearer }),
  );
  expect(answer.status).toBe(204);
});

test("requests that cannot be have codes too", async () => {
  const outcome = async (path: string, options: Parameters<typeof ask>[2] = {}) => {
    const { status, json } = await ask(simulator, path, options);
    expect(Object.keys(json)).toEqual(["error"]);
    expect(json.error).toMatch(/^[a-z_]+: ./);
    return `${status} ${json.error.split(":")[0]}`;
  };
  const login = "/v1/auth/login/wallet";
  const { authority } = trader();
  expect(await outcome("/v1/trader/state/rubbish")).toBe("400 invalid_pubkey");
  expect(await outcome(`/v1/trader/state/${authority}z`)).toBe("400 invalid_pubkey");
  expect(await outcome("/v1/auth/nonce?wallet_pubkey=0OIl")).toBe("400 invalid_pubkey");
  expect(await outcome(`/v1/users/${authority}/funding-hourly?limit=0`)).toBe("400 invalid_request");
  expect(await outcome(`/v1/users/${authority}/funding-hourly?cursor=rubbish`)).toBe("400 invalid_cursor");
  expect(await outcome(`/v1/view/trader/${authority}`)).toBe("400 unknown_trader_account");
  expect(await outcome(login, { raw: "{" })).toBe("400 malformed_json");
  expect(await outcome(login, { raw: "[]" })).toBe("400 invalid_request");
  expect(await outcome(login, { raw: " ".repeat(1_048_577) })).toBe("413 body_too_large");
  const path = `/v1/users/${authority}/collateral-history?limit=1`;
  const page = (await ask(simulator, path)).json;
  expect(await outcome(`${path}&nextCursor=${page.prevCursor}`)).toBe("400 invalid_cursor");
});
