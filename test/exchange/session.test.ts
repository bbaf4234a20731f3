/** Sessions against an exchange that verifies signatures, rotates tokens and revokes sessions, on one moved clock. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { ExchangeError, lanes } from "../../src/exchange/index.ts";
import { memoryForms, noForms } from "../../src/signer/login-forms.ts";
import { FakeClock } from "../support/clock.ts";
import { testForms, testKey, testSigner } from "./local-exchange.ts";
import { main, type Rig, type RigOptions, rig, traderPubkey } from "./rig.ts";

const NOTIFICATIONS = `/v1/traders/${traderPubkey}/notifications`;
const STATUS = "/v1/view/exchange/status";
const status = { active: true, gated: false, withdrawalsAvailable: true };

async function open(options: RigOptions = {}): Promise<Rig> {
  const set = await rig(options);
  set.venue.routes.set(STATUS, { ...(JSON.parse(example("exchange-status.json")) as object), ...status });
  return set;
}
const example = (name: string) =>
  readFileSync(path.join(import.meta.dirname, "../contract/examples", name), "utf8");

const ask = (set: Rig, exchange = set.exchange, deadlineMs = 10_000) =>
  exchange.client.notifications({ traderPubkey }, { wallet: "main", deadlineMs });
const poll = (set: Rig, exchange = set.exchange) => set.clock.finish(ask(set, exchange));
const refused = async (set: Rig, promise: Promise<unknown>): Promise<ExchangeError> => {
  const outcome = await set.clock.finish(
    promise.then(
      () => null,
      (error: unknown) => error,
    ),
  );
  expect(outcome).toBeInstanceOf(ExchangeError);
  return outcome as ExchangeError;
};
const count = (set: Rig, what: string) => set.venue.asked(`/v1/auth/${what}`).length;

describe("signing in", () => {
  test("by message: the nonce is signed, the bearer attached", async () => {
    await using set = await open();
    await poll(set);
    expect(set.venue.seen.map((one) => one.path)).toEqual([
      "/v1/auth/nonce",
      "/v1/auth/login/wallet",
      NOTIFICATIONS,
    ]);
    expect(set.venue.seen[2]!.authorization).toMatch(/^Bearer /);
    expect(set.changes).toEqual([{ wallet: "main", signedIn: true, detail: "signed in by message" }]);
    expect(set.exchange.sessions.figures).toMatchObject({ authFailures: 0, logins: 1, refreshes: 0 });
  });

  test("by transaction: the very bytes of the example", async () => {
    // The example's memo is no plain one, so somebody accepted it.
    const memo = "perpwatch-example-challenge:{nonce numbered}";
    const key = testSigner(testKey(), testForms(memoryForms({ ...noForms, memo })));
    await using set = await open({ wallets: [{ ...main, key, login: "transaction" }] });
    const { unsigned_transaction } = JSON.parse(example("auth-transaction-challenge.json"));
    const { signed_transaction } = JSON.parse(example("auth-login-transaction-request.json"));
    set.venue.acceptTransaction(unsigned_transaction, signed_transaction);
    await poll(set);
    expect(set.changes[0]!.detail).toBe("signed in by transaction");
    expect(count(set, "login/wallet/transaction")).toBe(1);
  });

  test("a text that is no challenge for this wallet is not signed, and that is said", async () => {
    await using set = await open();
    const body = { nonce_id: "one", message: "I give it all away", expires_at: "2026-03-01T13:00:00Z" };
    set.venue.fault("/v1/auth/nonce", { status: 200, body });
    const error = await refused(set, ask(set, set.exchange, 500));
    expect(set.changes[0]!.detail).toMatch(
      /cannot sign in as .*: the text to be signed does not name this wallet/,
    );
    expect(error).toMatchObject({ reason: "signed-out", sent: false });
    expect(count(set, "login")).toBe(0);
  });

  test("a nonce that is refused is replaced once", async () => {
    await using set = await open();
    set.venue.fault("/v1/auth/login", { status: 409, body: { error: "nonce_expired" } });
    await poll(set);
    expect([count(set, "nonce"), count(set, "login")]).toEqual([2, 2]);
  });

  test("fifty callers at once: one sign-in, then one refresh", async () => {
    await using set = await open({ accessMs: 60_000 });
    const fifty = () => set.clock.finish(Promise.all(Array.from({ length: 50 }, () => ask(set))));
    await fifty();
    expect([count(set, "nonce"), count(set, "login")]).toEqual([1, 1]);
    await set.clock.advance(61_000);
    await fifty();
    expect([count(set, "login"), count(set, "refresh"), set.venue.served]).toEqual([1, 1, 100]);
    set.venue.rotateElsewhere();
    set.venue.endGrace();
    await fifty();
    expect([count(set, "login"), count(set, "refresh"), set.venue.served]).toEqual([2, 2, 150]);
  });

  test("fifty callers while a refresh is due: one refresh, and nobody waits for it", async () => {
    await using set = await open({ accessMs: 300_000 });
    await poll(set);
    await set.clock.advance(250_000);
    set.venue.fault("/v1/auth/refresh", { kind: "late", ms: 3_000 });
    const startMs = set.clock.elapsedMs();
    await set.clock.finish(Promise.all(Array.from({ length: 50 }, () => ask(set))));
    expect(set.clock.elapsedMs()).toBe(startMs);
    await set.clock.advance(5_000);
    expect([count(set, "login"), count(set, "refresh"), set.venue.served]).toEqual([1, 1, 51]);
  });

  test("one caller that gives up does not take the sign-in from the others", async () => {
    await using set = await open();
    set.venue.fault("/v1/auth/nonce", { kind: "late", ms: 2_000 });
    const impatient = ask(set, set.exchange, 500).catch((error: ExchangeError) => error.reason);
    const patient = ask(set).then(() => "read");
    expect(await set.clock.finish(Promise.all([impatient, patient]))).toEqual(["signed-out", "read"]);
    expect(count(set, "nonce")).toBe(1);
  });

  test("without a key there is no session: open reads work, the inbox says why not", async () => {
    await using set = await open({ wallets: [] });
    await set.clock.finish(set.exchange.client.exchangeStatus({}, { wallet: "watched" }));
    const error = await refused(
      set,
      set.exchange.client.notifications({ traderPubkey }, { wallet: "watched" }),
    );
    expect(error).toMatchObject({ reason: "signed-out", code: "no_auth_session", sent: false });
    expect(error.message).toContain("watched without a session");
    expect(set.venue.seen).toHaveLength(1);
  });
});

describe("keeping a session", () => {
  test("is refreshed a minute before expiry, nobody asking", async () => {
    await using set = await open({ accessMs: 900_000 });
    await set.exchange.start();
    await set.clock.advance(30 * 60_000);
    const at = set.venue.asked("/v1/auth/refresh").map((one) => one.atMs);
    expect(at).toHaveLength(2);
    expect(at[0]!).toBeGreaterThan(838_000);
    expect(at[0]!).toBeLessThanOrEqual(841_000);
    expect(count(set, "login")).toBe(1);
    const session = set.exchange.sessions.of("main")!;
    expect(session.signedIn).toBe(true);
    expect(session.expiresInMs).toBeGreaterThan(60_000);
  });

  test("with clocks hours apart: expiry is read on the exchange's clock", async () => {
    for (const aheadMs of [-7_200_000, 7_200_000]) {
      await using set = await open({ accessMs: 300_000, aheadMs });
      await set.exchange.start();
      await set.clock.advance(20 * 60_000);
      expect(count(set, "login")).toBe(1);
      expect(count(set, "refresh")).toBe(5);
      expect(Math.abs(set.exchange.http.offsetMs + aheadMs)).toBeLessThanOrEqual(1_000);
    }
  });

  test.each([
    ["exp is believed before expires_in", { accessMs: 300_000, statedMs: 3_000_000 }],
    ["without exp, expires_in is believed", { accessMs: 300_000, opaque: true }],
  ])("%s", async (_name, options) => {
    await using set = await open(options);
    await set.exchange.start();
    await set.clock.advance(20 * 60_000);
    expect([count(set, "login"), count(set, "refresh")]).toEqual([1, 5]);
  });

  test("new tokens are stored, sealed, before they are used", async () => {
    await using set = await open({ accessMs: 60_000 });
    const order: string[] = set.store.log;
    const { client } = set.exchange;
    await poll(set);
    await set.clock.advance(61_000);
    set.venue.seen.length = 0;
    order.length = 0;
    const saved = set.store.save.bind(set.store);
    set.store.save = async (wallet, sealed) => {
      expect(set.venue.asked(NOTIFICATIONS)).toEqual([]);
      await set.clock.sleep(300);
      await saved(wallet, sealed);
    };
    await set.clock.finish(client.notifications({ traderPubkey }, { wallet: "main" }));
    expect(order).toContain("save main");
    expect(set.venue.seen.map((one) => one.path)).toEqual(["/v1/auth/refresh", NOTIFICATIONS]);
    const sealed = Buffer.from(set.store.rows.get("main")!).toString("latin1");
    for (const secret of set.venue.secrets) expect(sealed).not.toContain(secret);
  });

  test("survives a restart without a sign-in", async () => {
    await using set = await open();
    await poll(set);
    const again = set.boot();
    await again.start();
    expect(set.changes.at(-1)!.detail).toBe("session restored");
    await poll(set, again);
    expect([count(set, "login"), count(set, "refresh")]).toEqual([1, 0]);
  });

  test("after a long stop it is refreshed when it can be, and signed in for when not", async () => {
    await using set = await open({ accessMs: 60_000, refreshMs: 600_000 });
    await poll(set);
    await set.clock.advance(300_000);
    await poll(set, set.boot());
    expect([count(set, "login"), count(set, "refresh")]).toEqual([1, 1]);
    await set.clock.advance(700_000);
    await poll(set, set.boot());
    expect([count(set, "login"), count(set, "refresh")]).toEqual([2, 1]);
  });

  test("a refresh token known to be expired is not tried", async () => {
    await using set = await open({ accessMs: 60_000, refreshMs: 600_000 });
    await poll(set);
    await set.clock.advance(700_000);
    await poll(set);
    expect([count(set, "login"), count(set, "refresh")]).toEqual([2, 0]);
    expect(set.changes.at(-1)!.detail).toBe("signed in again after refresh_expired");
  });

  test("stored bytes that do not open are replaced by a sign-in", async () => {
    await using set = await open();
    set.store.rows.set("main", Buffer.from("not sealed by anybody, and longer than a seal"));
    await poll(set);
    expect(set.troubles).toEqual(["main: the stored session cannot be read; a new one replaces it"]);
    expect(set.store.rows.get("main")!.length).toBeGreaterThan(200);
  });

  test("a store that fails signs nobody out, and gets the tokens when it is back", async () => {
    await using set = await open();
    set.store.failing = true;
    await poll(set);
    expect(set.troubles[0]).toContain("could not be stored");
    await set.clock.advance(20_000);
    set.store.failing = false;
    await set.clock.advance(10_000);
    expect(set.store.rows.has("main")).toBe(true);
    await poll(set, set.boot());
    expect(count(set, "login")).toBe(1);
  });

  test("a stop waits for a refresh under way and its storing", async () => {
    await using set = await open({ accessMs: 60_000 });
    await poll(set);
    await set.clock.advance(61_000);
    set.venue.fault("/v1/auth/refresh", { kind: "late", ms: 1_000 });
    const before = set.store.rows.get("main");
    const asked = ask(set).catch(() => null);
    await set.clock.advance(100);
    await set.clock.finish(set.exchange.stop());
    await set.clock.finish(asked);
    expect(set.store.rows.get("main")).not.toBe(before);
    await poll(set, set.boot());
    expect(count(set, "login")).toBe(1);
  });
});

describe("losing a session", () => {
  test.each([
    ["revoked", (set: Rig) => set.venue.revoke(), { logins: 2, refreshes: 0 }],
    [
      "rotated elsewhere, grace over",
      (set: Rig) => {
        set.venue.rotateElsewhere();
        set.venue.endGrace();
      },
      { logins: 2, refreshes: 0 },
    ],
    [
      "refused though it should be good",
      (set: Rig) => set.venue.fault(NOTIFICATIONS, { status: 401, body: { error: "invalid_access_token" } }),
      { logins: 1, refreshes: 1 },
    ],
    [
      "refused with 403",
      (set: Rig) => set.venue.fault(NOTIFICATIONS, { status: 403, body: { error: "access_token_expired" } }),
      { logins: 1, refreshes: 1 },
    ],
    [
      "refused in prose",
      (set: Rig) => set.venue.fault(NOTIFICATIONS, { status: 401, body: "who are you?" }),
      { logins: 1, refreshes: 1 },
    ],
    [
      "refused twice",
      (set: Rig) =>
        set.venue.fault(NOTIFICATIONS, { status: 401, body: { error: "invalid_access_token" } }, 2),
      { logins: 2, refreshes: 1 },
    ],
  ] as const)("%s: the poll is not lost", async (_name, lose, expected) => {
    await using set = await open();
    await poll(set);
    lose(set);
    await poll(set);
    expect(set.venue.served).toBe(2);
    expect(set.exchange.sessions.figures).toMatchObject(expected);
    expect(set.changes.every((change) => change.signedIn)).toBe(true);
  });

  test("that is one refusal, however many requests were under way with it", async () => {
    await using set = await open();
    const ten = () => set.clock.finish(Promise.all(Array.from({ length: 10 }, () => ask(set))));
    await ten();
    set.venue.revoke();
    await ten();
    expect(set.venue.served).toBe(20);
    expect(set.exchange.sessions.figures).toMatchObject({ authFailures: 1, logins: 2, refreshes: 0 });
  });

  test("a loss is no repeated refusal, losses minutes apart are", async () => {
    await using set = await open();
    await poll(set);
    const lost = async (): Promise<number> => {
      set.venue.fault("/v1/auth/refresh", { status: 401, body: { error: "invalid_refresh_token" } });
      set.venue.fault(NOTIFICATIONS, { status: 401, body: { error: "invalid_access_token" } });
      await poll(set);
      return set.exchange.sessions.figures.repeatedAuthFailures;
    };
    expect(await lost()).toBe(0);
    expect(set.exchange.sessions.figures.authFailures).toBe(2);
    await set.clock.advance(120_000);
    expect(await lost()).toBe(2);
    await set.clock.advance(1_000_000);
    expect(await lost()).toBe(2);
    expect(set.exchange.sessions.figures.authFailures).toBe(6);
  });

  test("another holder's tokens in the same store are taken over, not fought over", async () => {
    await using set = await open({ accessMs: 300_000 });
    await poll(set);
    await set.clock.advance(1_000);
    const other = set.boot();
    await poll(set, other);
    const theirs = other.sessions.of("main")!;
    await refused(
      set,
      theirs.access({ endMs: 0 }).then((access) => {
        theirs.refused(
          access,
          new ExchangeError({ endpoint: "x", reason: "signed-out", what: "x", status: 401 }),
        );
        throw new ExchangeError({ endpoint: "x", reason: "signed-out", what: "x" });
      }),
    );
    await poll(set, other);
    expect(count(set, "refresh")).toBe(1);
    set.venue.endGrace();
    await poll(set);
    expect([count(set, "login"), count(set, "refresh")]).toEqual([1, 1]);
  });

  test("a refusal that comes late, for a token that was replaced meanwhile, renews nothing", async () => {
    await using set = await open();
    await poll(set);
    set.venue.fault(NOTIFICATIONS, { kind: "late", ms: 2_000 });
    const late = ask(set);
    await set.clock.advance(100);
    set.venue.revoke();
    await poll(set);
    expect(count(set, "login")).toBe(2);
    await set.clock.finish(late);
    expect([count(set, "login"), count(set, "refresh"), set.venue.served]).toEqual([2, 0, 3]);
  });

  test("a refresh that fails again and again is tried ever more slowly, though callers come fast", async () => {
    await using set = await open({ accessMs: 300_000 });
    await poll(set);
    await set.clock.advance(241_000);
    set.venue.fault("/v1/auth/refresh", { status: 503 }, 99);
    for (let i = 0; i < 100; i++) {
      await set.clock.advance(300);
      await poll(set);
    }
    expect(count(set, "refresh")).toBeGreaterThanOrEqual(4);
    expect(count(set, "refresh")).toBeLessThanOrEqual(6);
    expect(set.venue.served).toBe(101);
  });

  test("a refresh whose answer is lost: the token works on, then a sign-in replaces what was spent", async () => {
    await using set = await open({ accessMs: 300_000, graceMs: 30_000 });
    await set.exchange.start();
    await poll(set);
    set.venue.fault("/v1/auth/refresh", { kind: "lose" });
    const before = set.venue.served;
    for (let i = 0; i < 60; i++) {
      await set.clock.advance(5_000);
      await poll(set);
    }
    expect(set.venue.served - before).toBe(60);
    expect(count(set, "login")).toBe(2);
    expect(set.changes.at(-1)!.detail).toBe("signed in again after invalid_refresh_token");
  });

  test.each([
    ["503", { status: 503 }],
    ["409", { status: 409 }],
    ["a hang", { kind: "hang" }],
    ["429", { status: 429, headers: { "retry-after": "2" } }],
  ] as const)(
    "while refreshes fail with %s, the old token works; the session lives on",
    async (_name, fault) => {
      await using set = await open({ accessMs: 300_000 });
      await set.exchange.start();
      await poll(set);
      set.venue.fault("/v1/auth/refresh", fault, 2);
      for (let i = 0; i < 70; i++) {
        await set.clock.advance(4_000);
        await poll(set);
      }
      expect(set.venue.served).toBe(71);
      expect(count(set, "login")).toBe(1);
      expect(set.exchange.sessions.figures.refreshes).toBe(1);
    },
  );

  test("an exchange that is down: signed out is said once, waits grow to a minute, and it comes back by itself", async () => {
    await using set = await open({ accessMs: 60_000, requestsPerSecond: 100 });
    await set.exchange.start();
    await poll(set);
    set.venue.fault("/v1/", { status: 503 }, Number.POSITIVE_INFINITY);
    await set.clock.advance(90_000);
    set.venue.seen.length = 0;
    await set.clock.advance(600_000);
    expect(set.venue.seen.length).toBeLessThanOrEqual(60);
    expect(set.changes.filter((change) => !change.signedIn)).toHaveLength(1);
    const error = await refused(set, ask(set, set.exchange, 1_000));
    expect(error.reason).toBe("server-error");
    set.venue.heal();
    await set.clock.advance(70_000);
    expect(set.changes.at(-1)!.signedIn).toBe(true);
    await poll(set);
  });

  test.each([
    ["answers 503", { status: 503 }, 0],
    ["hangs up", { kind: "drop" }, 0],
    ["answers 429", { status: 429 }, 0],
    ["refuses", { status: 403, body: { error: "forbidden" } }, 1],
  ] as const)(
    "a sign-in to an exchange that %s is counted only if it is refused",
    async (_name, fault, least) => {
      await using set = await open();
      set.venue.fault("/v1/auth/", fault, Number.POSITIVE_INFINITY);
      await refused(set, ask(set, set.exchange, 5_000));
      await set.clock.advance(60_000);
      const { authFailures } = set.exchange.sessions.figures;
      if (least === 0) expect(authFailures).toBe(0);
      else expect(authFailures).toBeGreaterThanOrEqual(least);
    },
  );

  test("Retry-After of a sign-in is honoured", async () => {
    await using set = await open();
    set.venue.fault("/v1/auth/nonce", { status: 503, headers: { "retry-after": "45" } }, 3);
    await set.exchange.start();
    await set.clock.advance(44_000);
    const tries = count(set, "nonce");
    expect(tries).toBeLessThanOrEqual(1);
    await set.clock.advance(120_000);
    expect(set.exchange.sessions.of("main")!.signedIn).toBe(true);
  });

  test.each(["86400", "9".repeat(30), "Fri, 31 Dec 9999 23:59:59 GMT"])(
    "Retry-After of a sign-in is a minute at most: %s",
    async (header) => {
      await using set = await open();
      set.venue.fault("/v1/auth/nonce", { status: 503, headers: { "retry-after": header } });
      await set.exchange.start();
      await set.clock.advance(61_000);
      expect(set.exchange.sessions.of("main")!.signedIn).toBe(true);
    },
  );

  test.each([
    "invalid_access_token",
    "access_token_expired",
    "session_missing",
    "access_jti_mismatch",
    "something_new",
  ])("an exchange that always answers 401 %s is not hammered", async (code) => {
    await using set = await open();
    await set.exchange.start();
    set.venue.refuseAll = code;
    let failed = 0;
    for (let i = 0; i < 120; i++) {
      await set.clock.advance(5_000);
      const outcome = ask(set, set.exchange, 4_000).catch((error: ExchangeError) => {
        expect(error.reason).toBe("signed-out");
        failed++;
      });
      await set.clock.finish(outcome);
    }
    expect(failed).toBe(120);
    const logins = count(set, "login");
    expect(logins).toBeGreaterThanOrEqual(5);
    expect(logins).toBeLessThanOrEqual(25);
    expect(set.venue.seen.length).toBeLessThanOrEqual(120 + 3 * 25);
    set.venue.refuseAll = null;
    await set.clock.advance(65_000);
    await poll(set);
  });

  test("one call is sent three times at most, however patient its caller", async () => {
    await using set = await open();
    set.venue.refuseAll = "invalid_access_token";
    await refused(set, ask(set, set.exchange, 3_600_000));
    expect(set.venue.asked(NOTIFICATIONS)).toHaveLength(3);
  });

  test("after a long trouble that ended, the next one is met with short waits again", async () => {
    await using set = await open();
    set.venue.refuseAll = "session_missing";
    for (let i = 0; i < 100; i++) {
      await set.clock.finish(ask(set, set.exchange, 3_000).catch(() => null));
      await set.clock.advance(5_000);
    }
    set.venue.refuseAll = null;
    await set.clock.advance(70_000);
    await poll(set);
    await set.clock.advance(70_000);
    set.venue.revoke();
    set.venue.fault("/v1/auth/nonce", { status: 503 }, 3);
    await set.clock.finish(ask(set, set.exchange, 4_000));
  });

  test("when refreshing stays broken, an expired session is replaced by a sign-in", async () => {
    await using set = await open({ accessMs: 60_000 });
    await set.exchange.start();
    await poll(set);
    set.venue.fault("/v1/auth/refresh", { status: 500 }, Number.POSITIVE_INFINITY);
    let lost = 0;
    for (let i = 0; i < 60; i++) {
      await set.clock.advance(5_000);
      await set.clock.finish(ask(set).catch(() => void lost++));
    }
    expect(lost).toBe(0);
    expect(count(set, "login")).toBeGreaterThanOrEqual(4);
  });

  test("refusals that alternate with answers renew six times a minute at most", async () => {
    await using set = await open();
    await poll(set);
    for (let i = 0; i < 100; i++) {
      set.venue.fault(NOTIFICATIONS, { status: 401, body: { error: "access_token_expired" } });
      await set.clock.finish(ask(set, set.exchange, 500).catch(() => null));
      await set.clock.finish(ask(set, set.exchange, 500).catch(() => null));
      set.venue.heal();
      await set.clock.advance(600);
    }
    expect(count(set, "refresh") + count(set, "nonce")).toBeLessThanOrEqual(15);
  });

  test("an open read under a refused token is answered without it", async () => {
    await using set = await open();
    await poll(set);
    set.venue.fault(STATUS, { status: 401, body: { error: "session_missing" } });
    await set.clock.finish(set.exchange.client.exchangeStatus({}, { wallet: "main" }));
    const [, bare] = set.venue.asked(STATUS);
    expect(bare!.authorization).toBeNull();
    await poll(set);
    expect(count(set, "login")).toBe(2);
  });
});

describe("an exchange that answers again", () => {
  const twelve = Array.from({ length: 12 }, (_, index) => ({
    ...{ name: `w${index}`, key: testSigner(testKey(`w${index}`)), login: "message" as const },
  }));
  const pollStatus = (set: Rig) =>
    set.clock.finish(
      // In the lane that is asked first after a 429.
      set.exchange.client.exchangeStatus({}, { deadlineMs: 4_000, lane: lanes.prices }).then(
        () => true,
        () => false,
      ),
    );
  /** Asks for the status every 5 s. @returns the time of the last answer or failure, ms */
  async function polls(set: Rig, ms: number): Promise<number> {
    let atMs = set.clock.elapsedMs();
    for (const untilMs = atMs + ms; set.clock.elapsedMs() < untilMs; ) {
      await set.clock.advance(5_000);
      await pollStatus(set);
      atMs = set.clock.elapsedMs();
    }
    return atMs;
  }
  const signedIn = (set: Rig) => set.exchange.sessions.all.filter((one) => one.signedIn).length;

  test.each([
    ["hangs up", { kind: "drop" }],
    ["answers 503", { status: 503 }],
    ["does not answer", { kind: "hang" }],
  ] as const)(
    "after it %s for minutes is signed in to within a second or so, not at once",
    async (_, fault) => {
      await using set = await open({ accessMs: 60_000, wallets: twelve });
      await set.exchange.start();
      await polls(set, 20_000);
      expect(signedIn(set)).toBe(12);
      for (const seconds of [150, 200, 260]) {
        set.venue.fault("/v1/", fault, Number.POSITIVE_INFINITY);
        await polls(set, seconds * 1_000);
        expect(signedIn(set)).toBe(0);
        set.venue.heal();
        set.venue.seen.length = 0;
        expect(await pollStatus(set)).toBe(true);
        // Requests from before the end fail only after their time limit.
        await set.clock.advance("kind" in fault && fault.kind === "hang" ? 12_000 : 1_100);
        expect(signedIn(set)).toBe(12);
        const atMs = set.venue.asked("/v1/auth/").map((one) => one.atMs);
        expect(new Set(atMs).size).toBeGreaterThan(6);
        await set.clock.advance(10_000);
      }
    },
  );

  test("is answered to those who wait for a session, too", async () => {
    await using set = await open({ accessMs: 60_000 });
    await poll(set);
    set.venue.fault("/v1/", { kind: "drop" }, Number.POSITIVE_INFINITY);
    for (let i = 0; i < 30; i++) {
      await set.clock.advance(5_000);
      await pollStatus(set);
      await set.clock.finish(ask(set, set.exchange, 500).catch(() => null));
    }
    const waiting = ask(set, set.exchange, 120_000);
    waiting.catch(() => {});
    await set.clock.advance(4_000);
    set.venue.heal();
    await pollStatus(set);
    await set.clock.advance(2_500);
    expect(set.venue.served).toBe(2);
    await waiting;
  });

  test("is signed in to at once when a sign-in fails that was under way at the end", async () => {
    await using set = await open({ accessMs: 60_000 });
    await set.exchange.start();
    await polls(set, 20_000);
    set.venue.fault("/v1/", { kind: "hang" }, Number.POSITIVE_INFINITY);
    await polls(set, 150_000);
    const asked = count(set, "nonce");
    // The second attempt of a sign-in, which has all of its time from now on.
    while (count(set, "nonce") - asked < 2) await set.clock.advance(500);
    set.venue.heal();
    expect(await pollStatus(set)).toBe(true);
    set.venue.fault("/v1/auth/nonce", { status: 503 }, 2);
    await set.clock.advance(13_000);
    expect(signedIn(set)).toBe(1);
  });

  test("after 60 s of 429 is signed in to within a second or so", async () => {
    await using set = await open({ accessMs: 60_000, wallets: twelve });
    await set.exchange.start();
    await polls(set, 30_000);
    set.venue.fault("/v1/", { status: 429, headers: { "retry-after": "1" } }, Number.POSITIVE_INFINITY);
    await polls(set, 90_000);
    expect(signedIn(set)).toBe(0);
    set.venue.heal();
    expect(await pollStatus(set)).toBe(true);
    await set.clock.advance(2_500);
    expect(signedIn(set)).toBe(12);
  });

  test.each([
    ["forbidden", 403, { error: "forbidden" }],
    ["bad_signature", 401, { error: "bad_signature" }],
  ])("is not asked again sooner for a sign-in that it refused with %s", async (_, status, body) => {
    await using set = await open();
    set.venue.fault("/v1/auth/login", { status, body }, Number.POSITIVE_INFINITY);
    await set.exchange.start();
    await set.clock.advance(120_000);
    const before = count(set, "login");
    for (let i = 0; i < 6; i++) {
      set.venue.fault(STATUS, { kind: "drop" }, 3);
      expect(await pollStatus(set)).toBe(false);
      await set.clock.advance(5_000);
      expect(await pollStatus(set)).toBe(true);
      await set.clock.advance(5_000);
    }
    // About one a minute, and each is tried with a second challenge where the first may be spent.
    expect(count(set, "login") - before).toBeLessThanOrEqual(4);
  });

  test.each([
    ["503", 503],
    ["429", 429],
  ])("is not asked before the Retry-After of a %s", async (_, status) => {
    await using set = await open();
    const headers = { "retry-after": "50" };
    set.venue.fault("/v1/auth/nonce", { status, headers });
    await set.exchange.start();
    await set.clock.advance(1_000);
    const [first] = set.venue.asked("/v1/auth/nonce");
    let answered = 0;
    for (let i = 0; i < 4; i++) {
      // The end of an outage, or without one that of the limit.
      if (status === 503) {
        set.venue.fault(STATUS, { kind: "drop" }, 3);
        await pollStatus(set);
      }
      await set.clock.advance(3_000);
      if (await pollStatus(set)) answered++;
      await set.clock.advance(1_500);
    }
    expect(answered).toBeGreaterThan(1);
    expect(set.clock.elapsedMs()).toBeLessThan(first!.atMs + 49_000);
    expect(count(set, "nonce")).toBe(1);
    await set.clock.advance(52_000);
    expect(signedIn(set)).toBe(1);
  });

  test("is asked no more often where sign-ins alone fail", async () => {
    await using set = await open({ accessMs: 60_000 });
    await set.exchange.start();
    await polls(set, 20_000);
    set.venue.fault("/v1/auth/", { status: 503 }, Number.POSITIVE_INFINITY);
    await polls(set, 120_000);
    const before = count(set, "nonce");
    await polls(set, 600_000);
    // One a minute, of three attempts.
    expect(count(set, "nonce") - before).toBeLessThanOrEqual(36);
  });
});

describe("by hand", () => {
  test("logout revokes, forgets, and stays out until login", async () => {
    await using set = await open();
    await set.exchange.start();
    await poll(set);
    const session = set.exchange.sessions.of("main")!;
    await set.clock.finish(session.logout());
    expect(count(set, "logout")).toBe(1);
    expect(set.store.rows.has("main")).toBe(false);
    expect(await refused(set, ask(set))).toMatchObject({ code: "no_auth_session" });
    await set.clock.advance(600_000);
    expect(count(set, "login")).toBe(1);
    await set.clock.finish(session.login({ endMs: Number.POSITIVE_INFINITY }));
    expect(session.detail).toBe("signed in by message");
    await poll(set);
    expect(set.changes.map((change) => change.signedIn)).toEqual([true, false, true]);
  });

  test.each([401, 404])("logout of what the exchange forgot (%i) is done", async (code) => {
    await using set = await open();
    await poll(set);
    set.venue.fault("/v1/auth/logout", { status: code, body: { error: "session_missing" } });
    await set.clock.finish(set.exchange.sessions.of("main")!.logout());
    expect(set.store.rows.has("main")).toBe(false);
  });
});

test("an hour with tokens of 60 s and 10 min, revocations and rotations elsewhere: no poll is lost", async () => {
  const wallets = ["main", "second", "third"].map((name) => ({
    name,
    key: testSigner(testKey(name)),
    login: "message" as const,
  }));
  await using set = await open({ accessMs: 60_000, refreshMs: 600_000, graceMs: 10_000, wallets });
  await set.exchange.start();
  const lost: string[] = [];
  let polls = 0;
  for (let second = 0; second < 3_600; second += 5) {
    await set.clock.advance(5_000);
    if (second % 420 === 215) set.venue.revoke();
    if (second % 300 === 100) set.venue.rotateElsewhere();
    if (second % 900 === 650) set.venue.expireRefresh();
    if (second % 700 === 35) set.venue.fault("/v1/auth/refresh", { kind: "lose" });
    if (second === 1_800) {
      await set.clock.finish(set.exchange.stop());
      break;
    }
    for (const { name } of wallets) {
      polls++;
      await set.clock.finish(
        set.exchange.client
          .notifications({ traderPubkey }, { wallet: name, deadlineMs: 4_000 })
          .catch((error: Error) => void lost.push(`${second} ${name}: ${error.message}`)),
      );
    }
  }
  // The second half under another process on the same store.
  const again = set.boot();
  await again.start();
  for (let second = 1_805; second < 3_600; second += 5) {
    await set.clock.advance(5_000);
    if (second % 420 === 215) set.venue.revoke();
    if (second % 300 === 100) set.venue.rotateElsewhere();
    for (const { name } of wallets) {
      polls++;
      await set.clock.finish(
        again.client
          .notifications({ traderPubkey }, { wallet: name, deadlineMs: 4_000 })
          .catch((error: Error) => void lost.push(`${second} ${name}: ${error.message}`)),
      );
    }
  }
  expect(lost).toEqual([]);
  expect(set.venue.served).toBe(polls);
  expect(polls).toBeGreaterThan(2_100);
  expect(set.changes.filter((change) => !change.signedIn)).toEqual([]);
  // A sign-in for each loss and wallet, not more: 9 revocations, 12 rotations, a few expiries and lost answers.
  expect(count(set, "login")).toBeLessThanOrEqual(3 * 30);
});

test("nothing that is thrown, told or kept holds a token, a signature or a key", async () => {
  await using set = await open({ accessMs: 60_000 });
  await poll(set);
  const found: unknown[] = [];
  const echo = (extra: object = {}) => {
    const all = [...set.venue.secrets].join(" ");
    return { body: { error: `bad: ${all}`, message: all, ...extra } };
  };
  const attempts: (() => void)[] = [
    () => set.venue.fault(NOTIFICATIONS, { status: 400, ...echo() }),
    () => set.venue.fault(NOTIFICATIONS, { status: 500, ...echo() }, 3),
    () => set.venue.fault(NOTIFICATIONS, { kind: "cut", body: "x" }, 3),
    () => {
      set.venue.revoke();
      set.venue.fault("/v1/auth/login", { status: 403, ...echo() });
    },
    () => set.venue.fault("/v1/auth/nonce", { kind: "drop" }, 3),
    () =>
      set.venue.fault("/v1/auth/login", {
        body: { access_token: [...set.venue.secrets][0], expires_in: "soon" },
      }),
    () => set.venue.fault("/v1/auth/login", { kind: "hang" }),
  ];
  for (const [at, attempt] of attempts.entries()) {
    set.venue.heal();
    attempt();
    if (at > 2) set.venue.revoke();
    found.push(await set.clock.finish(ask(set).catch((error: unknown) => error)));
    await set.clock.advance(120_000);
  }
  expect(found.filter((one) => one instanceof ExchangeError).length).toBeGreaterThanOrEqual(4);
  const session = set.exchange.sessions.of("main");
  const all = [...found, ...set.changes, ...set.troubles, ...set.badRecords, session, main];
  const text = all
    .map((one) => `${inspect(one, { depth: 12, showHidden: true })} ${JSON.stringify(one)} ${String(one)}`)
    .join("\n");
  expect(text).toContain("notifications: 400");
  for (const secret of set.venue.secrets) expect(text).not.toContain(secret);
  const seed = testKey().withKeypair((pair) => Buffer.from(pair.subarray(0, 32)).toString("hex"));
  expect(text).not.toContain(seed);
});

test("starting a session on a clock of its own costs no timers after stop", async () => {
  const clock = new FakeClock();
  await using set = await open({ clock });
  await set.exchange.start();
  await clock.advance(1_000);
  await clock.finish(set.exchange.stop());
  expect(clock.pending).toBe(0);
});
