/** Token lifetimes at the limits: longer than a timer of Node, absurd, none at all. */
import fc from "fast-check";
import { SignJWT } from "jose";
import { afterEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../src/domain/clock.ts";
import { createExchange } from "../../src/exchange/index.ts";
import { refreshDueMs, tokensFrom, usableUntilMs } from "../../src/exchange/session/tokens.ts";
import { quiet } from "../simulator/support.ts";
import { testSigner } from "./local-exchange.ts";
import { MemorySessions } from "./rig.ts";

const day = 86_400_000;
const now = Date.parse("2026-10-05T15:00:00Z");

afterEach(() => void vi.useRealTimers());

describe("timers longer than Node takes", () => {
  test("a wait of 30 days is not over at once", async () => {
    const clock = systemClock();
    let ran = 0;
    const cancel = clock.after(30 * day, () => void ran++);
    const stop = new AbortController();
    const slept = clock.sleep(30 * day, stop.signal).then(
      () => "slept",
      () => "aborted",
    );
    await clock.sleep(30);
    expect(ran).toBe(0);
    stop.abort();
    expect(await slept).toBe("aborted");
    cancel();
  });

  test("it is over after exactly that time, and not when it was cancelled", () => {
    vi.useFakeTimers();
    const clock = systemClock();
    const ran: string[] = [];
    clock.after(60 * day, () => void ran.push("first"));
    const cancel = clock.after(60 * day, () => void ran.push("cancelled"));
    vi.advanceTimersByTime(60 * day - 1);
    expect(ran).toEqual([]);
    cancel();
    vi.advanceTimersByTime(1);
    expect(ran).toEqual(["first"]);
    clock.after(Number.POSITIVE_INFINITY, () => void ran.push("never"));
    vi.advanceTimersByTime(100 * day);
    expect(ran).toEqual(["first"]);
    expect(vi.getTimerCount()).toBe(1);
  });
});

test("a session of 40 days is not refreshed at once, and not again and again", async () => {
  await using simulator = await quiet({ accessTtlMs: 40 * day, refreshTtlMs: 80 * day, startMs: Date.now() });
  const exchange = createExchange({
    settings: { baseUrl: simulator.url, requestsPerSecond: 1_000 },
    version: "0.0.0-test",
    clock: systemClock(),
    random: Math.random,
    wallets: [{ name: "main", key: testSigner(simulator.keyOf("main")), login: "message" }],
    store: new MemorySessions(),
    onSession: () => {},
    onTrouble: () => {},
    onBadRecord: () => {},
  });
  await exchange.start();
  const { traderPda: traderPubkey } = simulator.traders[0]!;
  await exchange.client.notifications({ traderPubkey, unackedOnly: true }, { wallet: "main" });
  await systemClock().sleep(1_500);
  await exchange.stop();
  expect(simulator.requests.query("/v1/auth/*").counts).toEqual({
    "/v1/auth/nonce": 1,
    "/v1/auth/login/wallet": 1,
  });
});

describe("what is read of a session", () => {
  const session = (expiresIn: number, access: string) => ({
    access_token: access,
    refresh_token: "r",
    token_type: "Bearer",
    expires_in: expiresIn,
    refresh_expires_in: 86_400,
    pop_key: null,
  });

  test("any stated lifetime gives a time that a timer can wait for, and is never over at once", () => {
    const seconds = fc.oneof(fc.double({ noNaN: true }), fc.constantFrom(0, -5, 1e300, 900));
    fc.assert(
      fc.property(seconds, seconds, (stated, claimed) => {
        const payload = Buffer.from(JSON.stringify({ exp: now / 1_000 + claimed })).toString("base64url");
        const tokens = tokensFrom(session(stated, `e30.${payload}.x`), now);
        for (const ms of [refreshDueMs(tokens), usableUntilMs(tokens)]) {
          expect(ms - now).toBeGreaterThan(5_000);
          expect(ms - now).toBeLessThanOrEqual(400 * day);
        }
      }),
    );
  });

  test("exp of a JWT counts before expires_in; a token that is no JWT has none", async () => {
    const token = await new SignJWT({ jti: "1" })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime(Math.floor(now / 1_000) + 300)
      .sign(new Uint8Array(32));
    expect(tokensFrom(session(3_000, token), now).accessExpiresMs).toBe(now + 300_000);
    for (const opaque of ["opaque", "a.b.c", `e30.${Buffer.from("[1]").toString("base64url")}.x`])
      expect(tokensFrom(session(600, opaque), now).accessExpiresMs).toBe(now + 600_000);
  });
});
