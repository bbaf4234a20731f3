/** The daemon under test as a process of its own, of this checkout or another one: its configuration, its log, its lives. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { fastWindowMs } from "./models.ts";
import { secret } from "./receiver.ts";
import { pairs, wallets } from "./wallets.ts";

export interface LogLine {
  readonly atMs: number;
  /** A warning or worse. */
  readonly serious: boolean;
  readonly text: string;
}

export interface DaemonOptions {
  /** A checkout of perpwatch. */
  readonly checkout: string;
  /** For configuration, database and log. */
  readonly folder: string;
  readonly exchangeUrl: string;
  readonly hookUrl: string;
  readonly keyFiles: ReadonlyMap<string, string>;
  /** Added to the machine's wall clock, ms. */
  readonly shiftMs: number;
  readonly now: () => number;
}

const every = (text: string) => ({ every: text });

/** The shipped value of a rule: a copy of it here would be judged in its place. */
function shippedValue(checkout: string, pack: string, name: string): string {
  const text = readFileSync(path.join(checkout, "rules", `${pack}.yaml`), "utf8");
  const { rules } = parse(text) as { rules: { name: string; value: string }[] };
  return rules.find((rule) => rule.name === name)!.value;
}

/** Schedules are short and timers are seconds, so that an hour at a desk takes a quarter of one. */
function sections({ checkout, exchangeUrl, hookUrl, keyFiles, folder }: DaemonOptions, version: number) {
  const fast = `${fastWindowMs / 1_000}s`;
  return {
    exchange: { baseUrl: exchangeUrl, requestsPerSecond: 40 },
    wallets: wallets.map(({ name, labels, limits, pdaIndices }) => ({
      name,
      keyFile: keyFiles.get(name),
      labels,
      ...(limits ? { limits } : {}),
      ...(pdaIndices ? { accounts: { pdaIndices } } : {}),
    })),
    pairs: [...pairs].map(([name, legs]) => ({ name, legs })),
    schedules: {
      traderState: { every: "2s", atRisk: "1s" },
      markets: every("1s"),
      collateral: every("5s"),
      notifications: { every: "5s", whenStreaming: "15s" },
      liquidations: every("10s"),
      funding: every("10s"),
      fundingRates: every("5s"),
      orders: every("15s"),
      fills: every("10s"),
      traderView: every("10s"),
      exchangeStatus: every("10s"),
      marketConfig: every("1m"),
    },
    history: { path: path.join(folder, "perpwatch.db") },
    rules: ["shipped", fileURLToPath(new URL("./rules.yaml", import.meta.url))],
    ruleOverrides: {
      ...Object.fromEntries(
        ["LiquidationNear", "AccountLiquidationNear", "MarginHigh", "AccountLiquidatable"].map((rule) => [
          rule,
          { keepFiringFor: "5s" },
        ]),
      ),
      StopLossMissing: { for: "5s", keepFiringFor: "5s" },
      Drawdown: { for: "5s", keepFiringFor: "5s" },
      DailyLoss: { for: "3s", keepFiringFor: "5s" },
      LosingFast: {
        value: shippedValue(checkout, "drawdown", "LosingFast").replaceAll('"10m"', `"${fast}"`),
        for: "3s",
        keepFiringFor: "5s",
        summary: `{{ wallet.name }}: lost {{ percent(value) }} of its equity in ${fast}`,
        description: "PnL {{ usd(wallet.pnl) }}, equity {{ usd(wallet.equity) }}.",
      },
      HedgeBroken: { keepFiringFor: "5s" },
      MarketNotTrading: { for: "3s", keepFiringFor: "5s" },
      FundingRateHigh: { for: "5s", keepFiringFor: "5s" },
      // These speak of the machine, which the desk shares with whatever else runs on it.
      PollsLate: { enabled: false },
      LoopStalls: { enabled: false },
      RequestsNearCeiling: { enabled: false },
      // The simulated book does not follow the size of positions.
      ExitLargerThanBook: { enabled: false },
      DatabaseLarge: { for: `${10 + version}m` },
    },
    channels: { hook: { type: "webhook", url: hookUrl, secret } },
    routing: {
      receivers: ["hook"],
      groupBy: ["wallet"],
      groupWait: "200ms",
      groupInterval: "500ms",
      stormFold: 100,
    },
    acknowledge: { audit: "1m" },
    dashboard: { listen: "off" },
  };
}

export class DeskDaemon {
  readonly log: LogLine[] = [];
  readonly #options: DaemonOptions;
  readonly #config: string;
  #child: ChildProcess | null = null;
  #version = 0;
  #dying = false;

  constructor(options: DaemonOptions) {
    this.#options = options;
    this.#config = path.join(options.folder, "config.yaml");
    this.#write();
  }

  /** The configuration, as JSON, which is YAML. */
  #write(): void {
    writeFileSync(this.#config, JSON.stringify(sections(this.#options, this.#version), null, 2), {
      mode: 0o600,
    });
  }

  /** Starts it. Resolves when it says that it watches. */
  async start(): Promise<void> {
    const { checkout, shiftMs, now, folder } = this.#options;
    const preload = new URL("./clock-shift.ts", import.meta.url).href;
    const args = ["--import", preload, path.join(checkout, "src/main.ts")];
    const child = spawn(
      process.execPath,
      [...args, "start", "--config", this.#config, "--log-format", "json"],
      {
        stdio: ["ignore", "ignore", "pipe"],
        cwd: folder,
        env: {
          PATH: process.env.PATH ?? "",
          HOME: folder,
          TZ: "UTC",
          DESK_SHIFT_MS: String(shiftMs),
          NODE_COMPILE_CACHE: path.join(folder, "compiled"),
        },
      },
    );
    this.#child = child;
    this.#dying = false;
    const watching = Promise.withResolvers<void>();
    createInterface({ input: child.stderr! }).on("line", (text) => {
      appendFileSync(path.join(folder, "daemon.log"), `${text}\n`);
      this.log.push({
        atMs: now(),
        serious: /"level":"(warn|error|fatal)"/.test(text) || !text.startsWith("{"),
        text,
      });
      if (/watching/.test(text)) watching.resolve();
    });
    child.once("exit", (status, signal) => {
      watching.reject(new Error(`the daemon ended (${status ?? signal}):\n${this.tail(20)}`));
      if (!this.#dying)
        this.log.push({ atMs: now(), serious: true, text: `the daemon ended: ${status ?? signal}` });
    });
    await watching.promise;
  }

  get running(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** SIGHUP, with the file as it was or with another one. */
  reload(changed: boolean): void {
    if (changed) {
      this.#version++;
      this.#write();
    }
    this.#child?.kill("SIGHUP");
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (!child || !this.running) return;
    this.#dying = true;
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }

  /** The last lines of its log. */
  tail(lines: number): string {
    return this.log
      .slice(-lines)
      .map(({ text }) => text)
      .join("\n");
  }

  /** Warnings and worse within a time, and at most so many. */
  linesBetween(fromMs: number, toMs: number, most: number): readonly string[] {
    return this.log
      .filter(({ atMs, serious }) => serious && atMs >= fromMs && atMs <= toMs)
      .slice(-most)
      .map(({ text }) => (text.length > 300 ? `${text.slice(0, 300)}…` : text));
  }
}
