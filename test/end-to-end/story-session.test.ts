/** An hour of the whole daemon with sessions that are short-lived, revoked, expired and rotated by somebody else. */
import { expect, test, vi } from "vitest";
import { every, openHouse } from "../support/daemon.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 180_000 });

const actions = ["revoke", "rotate-elsewhere", "expire-access", "expire-refresh"];
const actEveryMs = 95_000;
const hourMs = 3_600_000;

test("an hour with tokens of 60 s and 10 min, revoked and rotated: no poll is lost to it", async () => {
  await using house = await openHouse({
    simulator: { accessTtlMs: 60_000, refreshTtlMs: 600_000, graceMs: 10_000 },
  });
  await house.hold({ collateral: "40000", symbol: "SOL", size: "100", entryPrice: "150" });
  const { daemon } = await house.start({
    schedules: {
      ...every("5s", ["traderState", "notifications"]),
      ...every("10s", ["markets"]),
      ...every("1m", [
        "liquidations",
        "exchangeStatus",
        "collateral",
        "traderView",
        "orders",
        "fills",
        "funding",
      ]),
    },
  });
  const { authority } = house.trader();
  let filled = 0;
  for (let passedMs = 0; passedMs < hourMs; passedMs += actEveryMs) {
    await house.clock.advance(actEveryMs);
    const turn = passedMs / actEveryMs;
    await house.call("session", { authority, action: actions[turn % actions.length] });
    // Now and then something to acknowledge, under whatever session there is then.
    if (turn % 5 === 0) {
      await house.call("notification", { trader: "main", notificationType: "stop_loss_executed" });
      filled++;
    }
  }
  await house.clock.advance(90_000);

  expect(house.warnings()).toEqual([]);
  expect(house.log.filter(({ msg }) => /cannot be read|signed out/.test(msg))).toEqual([]);
  const { schedules, watch } = daemon.status();
  expect(schedules.filter(({ lastFailure }) => lastFailure !== null)).toEqual([]);
  expect(await house.read((store) => store.failedReads({ fromMs: 0 }))).toEqual([]);
  expect(watch.wallets.map(({ signedIn }) => signedIn)).toEqual([true]);
  // Every turn was polled: what was asked again for a session's sake comes on top.
  const polls = house.simulator.requests.query("/v1/traders/*");
  expect(polls.requests.length).toBeGreaterThan(700);

  const { acked, open } = await house.inbox();
  expect([acked.length, open]).toEqual([filled, []]);
  expect(
    house.subjects().filter((subject) => /a stop or take profit was executed/.test(subject)),
  ).toHaveLength(filled);

  // A client that behaves: renewals by refresh, sign-ins only where the session was taken away.
  const asked = (path: string) => house.simulator.requests.query(path).count;
  expect(asked("/v1/auth/login/wallet")).toBeLessThanOrEqual(Math.ceil(hourMs / actEveryMs) + 2);
  expect(asked("/v1/auth/refresh")).toBeGreaterThanOrEqual(40);
});
