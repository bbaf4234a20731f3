// A simulated exchange that is moved by hand: a position comes near liquidation, and a request fails.
import { startSimulator } from "perpwatch/simulator";

const simulator = await startSimulator({ walk: false, speed: 0, startMs: Date.UTC(2026, 0, 5) });
const trader = simulator.traders[0]!.name;
try {
  await simulator.call("collateral", { trader, amount: "2000" });
  await simulator.call("position", { trader, symbol: "SOL", size: "100", entryPrice: "150" });
  await simulator.call("mark-price", { symbol: "SOL", price: "140" });
  simulator.advance(60_000);
  console.log(`it is ${new Date(simulator.nowMs()).toISOString()}`);

  const mark = `${simulator.url}/v1/market/SOL/stats/latest`;
  const stats = (await (await fetch(mark)).json()) as { mark_price: number };
  console.log(`SOL at $${stats.mark_price}`);

  await simulator.call("fault", { path: "/v1/market/SOL/stats/latest", status: 503, times: 1 });
  console.log(`statuses: ${(await fetch(mark)).status}, then ${(await fetch(mark)).status}`);

  // Control calls are served over HTTP as well, for tests in other languages.
  const state = (await (await fetch(`${simulator.url}/sim/state`)).json()) as { traders: object[] };
  console.log(`traders: ${state.traders.length}`);
} finally {
  await simulator.stop();
}
