/** The client against the simulator, which shares nothing with it but the contract and a socket. */
import { afterEach, describe, expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import {
  type BadRecordReport,
  createExchange,
  type Exchange,
  ExchangeError,
  type SessionChange,
} from "../../src/exchange/index.ts";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../src/simulator/simulator.ts";
import { FakeClock } from "../support/clock.ts";
import { testSigner } from "./local-exchange.ts";
import { MemorySessions } from "./rig.ts";

interface Set {
  readonly clock: FakeClock;
  readonly simulator: Simulator;
  readonly exchange: Exchange;
  readonly changes: SessionChange[];
  readonly badRecords: BadRecordReport[];
  readonly trader: { authority: string; traderPda: string };
}

let open: Set | undefined;
afterEach(async () => {
  const set = open;
  open = undefined;
  if (!set) return;
  await set.clock.finish(set.exchange.stop());
  await set.simulator.stop();
});

async function start(options: SimulatorOptions = {}): Promise<Set> {
  const clock = new FakeClock("2026-03-01T12:00:00.250Z");
  const simulator = await startSimulator({ clock, walk: false, traders: 1, seed: 3, ...options });
  clock.allow(() => simulator.held());
  const trader = simulator.traders[0]!;
  const changes: SessionChange[] = [];
  const badRecords: BadRecordReport[] = [];
  const exchange = createExchange({
    settings: { baseUrl: simulator.url, requestsPerSecond: 1_000 },
    version: "0.0.0-test",
    clock,
    random: seededRandom(11),
    wallets: [{ name: "main", key: testSigner(simulator.keyOf(trader.name)), login: "message" }],
    store: new MemorySessions(),
    onSession: (change) => void changes.push(change),
    onTrouble: () => {},
    onBadRecord: (report) => void badRecords.push(report),
  });
  open = { clock, simulator, exchange, changes, badRecords, trader };
  return open;
}

/** Every read that a watch of one wallet makes. */
function reads({ exchange, trader }: Set): Record<string, () => Promise<unknown>> {
  const { client } = exchange;
  const { authority, traderPda: traderPubkey } = trader;
  const main = { wallet: "main", deadlineMs: 5_000 };
  return {
    traderState: () => client.traderState({ authority }, main),
    traderView: () => client.traderView({ traderPubkey }, main),
    fundingHourly: () => client.fundingHourly({ authority }, main),
    liquidationHistory: () => client.liquidationHistory({ authority }, main),
    notifications: () => client.notifications({ traderPubkey, unackedOnly: true }, main),
    exchangeStatus: () => client.exchangeStatus({}, main),
    markets: () => client.markets({}, main),
    latestMarketsStats: () => client.latestMarketsStats({}, main),
    orderHistory: () => client.orderHistory({ authority, limit: 50 }, main),
  };
}

test("every read in use is answered, and fits the contract", async () => {
  const set = await start();
  for (const [name, read] of Object.entries(reads(set))) {
    expect(await set.clock.finish(read()), name).toBeTruthy();
  }
  expect(set.badRecords).toEqual([]);
  expect(set.changes).toEqual([{ wallet: "main", signedIn: true, detail: "signed in by message" }]);
});

test("by transaction, too", async () => {
  const set = await start();
  const { client } = set.exchange;
  await set.exchange.sessions.remove("main");
  const key = testSigner(set.simulator.keyOf(set.simulator.traders[0]!.name));
  await set.exchange.sessions.add({ name: "main", key, login: "transaction" });
  await set.clock.finish(
    client.notifications({ traderPubkey: set.trader.traderPda }, { wallet: "main", deadlineMs: 5_000 }),
  );
  expect(set.changes.at(-1)!.detail).toBe("signed in by transaction");
});

test("a challenge that is refused is asked for once more, by message as by transaction", async () => {
  const set = await start();
  const key = testSigner(set.simulator.keyOf(set.simulator.traders[0]!.name));
  await set.exchange.sessions.remove("main");
  for (const [login, path, refused] of [
    ["message", "/v1/auth/login/wallet", { status: 401, error: "nonce_expired" }],
    ["transaction", "/v1/auth/login/wallet/transaction", { status: 403, error: "nonce_expired" }],
  ] as const) {
    await set.exchange.sessions.add({ name: login, key, login });
    await set.simulator.call("fault", { path, times: 1, ...refused });
    const beforeMs = set.clock.elapsedMs();
    await set.clock.finish(set.exchange.sessions.of(login)!.login({ endMs: beforeMs + 60_000 }));
    // At once, not after the back-off of a sign-in that failed.
    expect(set.clock.elapsedMs() - beforeMs, login).toBeLessThan(500);
    expect(set.simulator.requests.query(path).count, login).toBe(2);
  }
});

test("an hour with tokens of 60 s and 10 min, sessions revoked, expired and rotated: no poll is lost", async () => {
  const set = await start({ accessTtlMs: 60_000, refreshTtlMs: 600_000, graceMs: 10_000, stepMs: 60_000 });
  await set.exchange.start();
  const { authority } = set.trader;
  const read = reads(set).notifications!;
  const actions = ["revoke", "rotate-elsewhere", "expire-access", "expire-refresh"];
  const lost: string[] = [];
  for (let second = 0; second < 3_600; second += 5) {
    await set.clock.advance(5_000);
    if (second % 95 === 0) {
      await set.simulator.call("session", { authority, action: actions[(second / 95) % 4] });
    }
    await set.clock.finish(read().catch((error: Error) => void lost.push(`${second}: ${error.message}`)));
  }
  expect(lost).toEqual([]);
  expect(set.changes.every((change) => change.signedIn)).toBe(true);
  const { logins, refreshes } = set.exchange.sessions.figures;
  expect(logins).toBeLessThanOrEqual(40);
  expect(refreshes).toBeGreaterThanOrEqual(40);
});

describe("faults on each endpoint in use", () => {
  test.each([
    ["429", { status: 429, error: "rate_limited", retryAfter: 1.5 }, "rate-limited"],
    ["500", { status: 500, error: "boom" }, "server-error"],
    ["503", { status: 503 }, "server-error"],
    ["a hang-up", { drop: true }, "unreachable"],
    ["a slow answer", { delayMs: 60_000 }, "timeout"],
    ["truncated JSON", { body: '{"slot": 12, "tra' }, "bad-record"],
    ["another record", { body: '{"surprise": true}' }, "bad-record"],
  ] as const)("%s is told as it is, and over when it is over", async (_name, fault, reason) => {
    const set = await start();
    await set.clock.finish(reads(set).notifications!());
    for (const [name, read] of Object.entries(reads(set))) {
      await set.simulator.call("fault", { path: "/v1/*", times: 1_000, ...fault });
      const outcome = await set.clock.finish(
        read().then(
          (value) => value,
          (error: unknown) => error,
        ),
      );
      set.simulator.faults.clear();
      // Lists of which everything may be absent fit any object; then there is nothing in them.
      if (outcome instanceof ExchangeError) {
        expect([name, outcome.reason]).toEqual([name, reason]);
        expect(outcome.endpoint).toBe(name);
      } else expect([name, reason]).toEqual([name, "bad-record"]);
      await set.clock.advance(130_000);
      expect(await set.clock.finish(read()), name).toBeTruthy();
    }
    expect(set.exchange.http.inFlight).toBe(0);
  });
});

test("a ceiling of the exchange is found from far above, and used: about one 429 a minute", async () => {
  const set = await start({ requestsPerSecond: 10 });
  let answered = 0;
  const ask = () =>
    set.exchange.client.exchangeStatus({}, { deadlineMs: 20_000 }).then(
      () => answered++,
      () => {},
    );
  const minute = async () => {
    const before = answered;
    const refusedBefore = set.exchange.budget.throttledCount;
    for (let i = 0; i < 1_200; i++) {
      void ask();
      await set.clock.advance(50);
    }
    return { answered: answered - before, refused: set.exchange.budget.throttledCount - refusedBefore };
  };
  await minute();
  const { answered: second, refused } = await minute();
  expect(second).toBeGreaterThan(300);
  expect(refused).toBeLessThanOrEqual(6);
});
