/** Histories that are asked for while changes of collateral are unexplained, of many wallets at a low request ceiling. */
import { expect, test } from "vitest";
import { Rig } from "./rig.ts";

test("positions are read about as often while the histories of all wallets are asked for", async () => {
  const readsWith = async (
    asking: boolean,
  ): Promise<{ reads: number; longestMs: number; histories: number }> => {
    await using rig = await Rig.start({ traders: 30, watchOnly: true, requestsPerSecond: 5 });
    const daemon = await rig.boot({ traderState: { every: "5s" }, markets: { every: "2s" } });
    await rig.clock.advance(60_000);
    const fromMs = rig.clock.nowMs();
    const names = rig.simulator.traders.map(({ name }) => name);
    for (let second = 0; second < 90; second += 2) {
      if (asking && (second < 30 || second % 10 === 0))
        for (const name of names) {
          daemon.collectors.ask("collateral", name);
          daemon.collectors.ask("fills", name);
        }
      await rig.clock.advance(2_000);
    }
    const states = daemon.of("accounts").filter(({ atMs }) => atMs >= fromMs);
    const gaps = names.flatMap((name) => {
      const times = states.filter(({ wallet }) => wallet === name).map(({ atMs }) => atMs);
      return [...times, rig.clock.nowMs()].map((atMs, i) => atMs - (times[i - 1] ?? fromMs));
    });
    const histories = daemon
      .of("events")
      .filter(({ atMs, source }) => atMs >= fromMs && source === "collateral").length;
    return { reads: states.length, longestMs: Math.max(...gaps), histories };
  };
  const usual = await readsWith(false);
  const asked = await readsWith(true);
  expect(asked.reads).toBeGreaterThan(0.9 * usual.reads);
  expect(asked.longestMs).toBeLessThan(1.3 * usual.longestMs);
  expect(asked.histories).toBeGreaterThan(usual.histories);
});
