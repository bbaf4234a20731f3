/**
 * `perpwatch start` without a configuration: a demo of the complete product on this machine. It has a simulated
 * exchange on a real socket, three of its wallets (one watch-only), the shipped rules, alerts in this terminal and on
 * the status page, a database in a temporary folder, and a scenario that repeats every minute.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Writable } from "node:stream";
import type { Logger } from "pino";
import { runDaemon } from "../../daemon/run.ts";
import { settingsFromText } from "../../daemon/settings.ts";
import { type SimulatedTrader, startSimulator } from "../../simulator/index.ts";
import type { CommandLine } from "../terminal/command-line.ts";
import { announceDemo } from "./demo-place.ts";
import { showPageLink } from "./page-link.ts";

/**
 * The time of the scenario at which the daemon starts, ms. The initial collateral and positions are older than any
 * difference of the clocks, so they count as old events, and no withdrawal is reported.
 */
const sceneMs = 10_000;
/** Prices fall until the position is close to liquidation, rise again, and an order is filled. */
const scenario = `
loop: 60s
steps:
  - { at: 0s, call: collateral, with: { trader: main, amount: "4000" } }
  - { at: 0s, call: position, with: { trader: main, symbol: BTC, size: "0" } }
  - { at: 0s, call: position, with: { trader: main, symbol: ETH, size: "0" } }
  - { at: 0s, call: mark-price, with: { symbol: ETH, price: "3010" } }
  - { at: 0s, call: mark-price, with: { symbol: SOL, price: "150" } }
  - { at: 0s, call: position, with: { trader: main, symbol: SOL, size: "100", entryPrice: "150" } }
  - { at: 18s, call: mark-price, with: { symbol: SOL, price: "138" } }
  - { at: 22s, call: mark-price, with: { symbol: SOL, price: "127" } }
  - { at: 26s, call: mark-price, with: { symbol: SOL, price: "121" } }
  - { at: 30s, call: mark-price, with: { symbol: SOL, price: "117.5" } }
  - { at: 38s, call: mark-price, with: { symbol: SOL, price: "128" } }
  - { at: 42s, call: mark-price, with: { symbol: SOL, price: "150" } }
  - { at: 44s, call: order, with: { trader: main, symbol: ETH, side: bid, price: "2990", size: "0.1" } }
  - { at: 46s, call: mark-price, with: { symbol: ETH, price: "2985" } }
`;

export interface DemoOptions {
  readonly commandLine: CommandLine;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly out: Writable & { readonly isTTY?: boolean };
}

export async function runDemo({ log, signal, out, commandLine }: DemoOptions): Promise<number> {
  const folder = mkdtempSync(path.join(tmpdir(), "perpwatch-demo-"));
  try {
    const simulator = await startSimulator({
      port: 0,
      traders: 3,
      keysDir: path.join(folder, "keys"),
      scenario,
      startMs: Date.now() - sceneMs,
      onProblem: (problem) => log.warn(problem),
    });
    simulator.advance(sceneMs);
    try {
      const text = configuration(simulator.url, simulator.traders);
      const read = settingsFromText(text, { file: null, folder, env: {} });
      if ("problems" in read) throw new Error(read.problems.map((problem) => problem.message).join("\n"));
      const config = path.join(folder, "config.yaml");
      writeFileSync(config, text, { mode: 0o600 });
      const removeLink = announceDemo(config);
      try {
        const called: CommandLine =
          removeLink === null ? (words) => `${commandLine(words)} --config ${config}` : commandLine;
        out.write(introduction(simulator.url, folder, called));
        const own = out.isTTY === true ? log : withoutSteps(log);
        return await runDaemon(read.settings, {
          ...{ log: own, signal, out, commandLine: called },
          // Everything behind the page is simulated, so the link may appear in any output.
          onStarted: (daemon) => showPageLink(daemon, { terminal: out, log, commandLine: called }),
        });
      } finally {
        removeLink?.();
      }
    } finally {
      await simulator.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Returns a log that writes changes of alerts and their deliveries at debug level: when the output is no terminal, the
 * console channel writes the same next to them.
 */
function withoutSteps(log: Logger): Logger {
  const own = log.child({});
  const info = own.info.bind(own) as (...line: readonly unknown[]) => void;
  const debug = own.debug.bind(own) as (...line: readonly unknown[]) => void;
  own.info = (fields: unknown, ...rest: readonly unknown[]) => {
    const isStep = typeof fields === "object" && fields !== null && ("alert" in fields || "alerts" in fields);
    (isStep ? debug : info)(fields, ...rest);
  };
  return own;
}

function introduction(url: string, folder: string, commandLine: CommandLine): string {
  return `
No config.yaml here: this is the demo. Nothing of it is real, and nothing leaves this machine.
  exchange   ${url} (simulated)
  database   ${folder} (removed at the end)
  ask it     ${commandLine("status")}   (in another terminal, in this folder)
A falling price carries a position toward liquidation, and back, every minute. Ctrl-C ends it.
To watch real positions: install -m 600 config.example.yaml config.yaml, and see the README.

`;
}

function configuration(url: string, traders: readonly SimulatedTrader[]): string {
  const wallets = traders.map((trader, index) =>
    index === traders.length - 1
      ? `  - { name: watched, authority: ${trader.authority}, labels: { watch: whale } }`
      : `  - { name: ${trader.name}, keyFile: ${JSON.stringify(trader.keyFile)}, labels: { desk: demo } }`,
  );
  const every = (sources: readonly string[], interval: string): string[] =>
    sources.map((source) => `  ${source}: { every: ${interval} }`);
  return [
    `exchange: { baseUrl: ${url}, requestsPerSecond: 200 }`,
    "wallets:",
    ...wallets,
    "schedules:",
    ...every(["traderState", "markets", "notifications", "liquidations", "exchangeStatus"], "1s"),
    ...every(["collateral", "traderView", "orders", "fills", "funding", "marketConfig"], "10s"),
    "history: { path: ./perpwatch.db }",
    "channels: { here: { type: console } }",
    "acknowledge: { types: { order_filled: whenDelivered } }",
    // Short timers, so that an alert goes through all its changes within a minute.
    "ruleOverrides:",
    "  LiquidationNear: { for: 2s, keepFiringFor: 2s }",
    "  MarginHigh: { keepFiringFor: 2s }",
    // The scenario sets collateral directly, which is neither profit nor loss.
    "  Drawdown: { enabled: false }",
    "  DailyLoss: { enabled: false }",
    // The simulated exchange starts with an order that has rested for days.
    "  OrderStuck: { enabled: false }",
    "dashboard: { listen: 127.0.0.1:0 }",
    "",
  ].join("\n");
}
