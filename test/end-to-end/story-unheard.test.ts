/** The alerts about a message that does not arrive: by another channel while there is one, else by the dead man's switch. */
import { expect, test, vi } from "vitest";
import { openHouse } from "../support/daemon.ts";
import { startService } from "../support/service.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 180_000 });

const calm = {
  MarginHigh: { enabled: false },
  OrdersMayBeCancelled: { enabled: false },
  Drawdown: { enabled: false },
  LosingFast: { enabled: false },
  DailyLoss: { enabled: false },
  StopLossMissing: { enabled: false },
};

test("a mail that is refused twice is told on Discord; what no channel takes for a minute, by the heartbeat", async () => {
  await using house = await openHouse();
  await using elsewhere = await startService(() => ({ status: 200 }));
  const called = (path: string) => elsewhere.asked.filter((one) => one.path === path).length;
  await house.hold({ collateral: "4000", symbol: "SOL", size: "100", entryPrice: "150" });
  const { daemon } = await house.start({
    ruleOverrides: calm,
    heartbeat: { url: `${elsewhere.url}/alive`, failUrl: `${elsewhere.url}/unheard`, every: "10s" },
  });
  await house.clock.advance(15_000);
  expect(called("/alive")).toBeGreaterThan(0);

  // One mail is refused, and once more, by a server that takes the next one.
  house.smtp.fail({ at: "data", code: 554, message: "5.7.1 looks like spam", times: 2 });
  await house.bring("SOL", 0.03);
  await house.clock.advance(20_000);
  expect(house.headlines()).toEqual([
    expect.stringContaining("FIRING critical: main: SOL long is 3% from liquidation"),
  ]);
  await house.clock.advance(30_000);
  expect(house.headlines()).toEqual([
    expect.stringContaining("FIRING critical: main: SOL long is 3% from liquidation"),
    expect.stringContaining("FIRING critical: 1 message was given up since perpwatch started"),
  ]);
  expect(house.subjects()).toEqual([expect.stringMatching(/^FIRING critical: 1 message was given up/)]);
  const messages = await house.read((store) => store.messages({}));
  const refused = { receiver: "mail", status: "dead", lastDetail: expect.stringContaining("554") };
  expect(messages.filter(({ status }) => status !== "delivered")).toMatchObject([refused, refused]);
  await house.bring("SOL", 0.5);
  await house.clock.advance(75_000);
  expect(house.headlines().at(-1)).toContain("RESOLVED: main: SOL long");
  // Discord took what the mail lost, so somebody knows.
  expect(called("/unheard")).toBe(0);
  expect(daemon.status().heartbeat).toMatchObject({ withheld: null, failToldMs: null });

  // Nobody gets the next one, for as long as may pass by itself.
  house.discord.fail({ effect: { kind: "status", status: 503 }, times: 10_000 });
  house.smtp.fail({ at: "mail", code: 451, times: 10_000 });
  const chats = house.discord.messages.length;
  const mails = house.smtp.mails.length;
  await house.bring("SOL", 0.03);
  await house.clock.advance(55_000);
  const [newest] = await house.read((store) => store.alerts({ limit: 1 }));
  expect(newest).toMatchObject({ rule: "LiquidationNear", severity: "critical", state: "firing" });
  expect(daemon.status().heartbeat).toMatchObject({ withheld: null });
  const beats = called("/alive");
  expect(called("/unheard")).toBe(0);

  // Now it is said elsewhere, once, and the beats stay away.
  await house.clock.advance(45_000);
  expect(called("/unheard")).toBe(1);
  expect(called("/alive") - beats).toBeLessThanOrEqual(1);
  const { heartbeat } = daemon.status();
  expect(heartbeat?.withheld).toMatch(/^a critical message can leave by no channel for 1m/);
  const stuckMs = (heartbeat?.failToldMs ?? 0) - (newest?.firedAtMs ?? 0);
  expect(stuckMs).toBeGreaterThanOrEqual(60_000);
  expect(stuckMs).toBeLessThanOrEqual(65_000);
  expect(house.discord.messages).toHaveLength(chats);
  expect(house.smtp.mails).toHaveLength(mails);

  // Mended: it arrives by both, and the beats go on.
  house.discord.clearFaults();
  house.smtp.clearFaults();
  await house.clock.advance(120_000);
  const again = "FIRING critical: main: SOL long is 3% from liquidation";
  expect(house.headlines().slice(chats).join("\n")).toContain(again);
  expect(house.subjects().slice(mails).join("\n")).toContain(again);
  expect(called("/alive")).toBeGreaterThan(beats + 1);
  expect(called("/unheard")).toBe(1);
  expect(daemon.status().heartbeat).toMatchObject({ withheld: null, failure: null });
});
