/** The daemon's inner half as the benchmark puts it together: rules, watch, history, ingest. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { acknowledgeSettings } from "../../../src/alerts/acknowledge.ts";
import { remindSettings } from "../../../src/alerts/reminders/remind.ts";
import { routingSettings } from "../../../src/alerts/routing/route.ts";
import { marketConfigOf, marketPricesOf } from "../../../src/collect/translate/market.ts";
import { endpoints } from "../../../src/contract/endpoints.ts";
import { parseJson } from "../../../src/contract/json.ts";
import { parseReply } from "../../../src/contract/reply.ts";
import type { Clock } from "../../../src/domain/clock.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import type { Store } from "../../../src/domain/ports.ts";
import { type Source, sources } from "../../../src/domain/sources.ts";
import type { Changes } from "../../../src/domain/stored/changes.ts";
import { nothingRemembered } from "../../../src/engine/remembered.ts";
import { Watch } from "../../../src/engine/watch.ts";
import { IngestLoop } from "../../../src/ingest/loop.ts";
import { formatProblem, loadRules, type RuleSet } from "../../../src/rules/index.ts";
import { type BenchWallet, marketsText, rulesText, statsText } from "./world.ts";

const scheduleMs = {
  ...Object.fromEntries(sources.map((source) => [source, 3_600_000])),
  traderState: 5_000,
  // Marks may be older here than in life: a machine with other work to do must not make rules blind.
  markets: 1_800_000,
} as Record<Source, number>;

export const noRules = "rules: []\n";

export function ruleSetOf(text: string): RuleSet {
  const loaded = loadRules({
    files: [{ name: "bench.yaml", text }],
    overrides: {},
    scheduleMs,
    wallets: [],
    timezone: "UTC",
  });
  if ("problems" in loaded) throw new Error(loaded.problems.map(formatProblem).join("\n"));
  return loaded.ruleSet;
}

/** As the configuration hands it to wallets that have nothing of their own. */
const none = {};

/** A watch on these wallets that knows the markets already. */
export function newWatch(wallets: readonly BenchWallet[], rules: string, nowMs: number): Watch {
  const watch = new Watch(
    {
      wallets: wallets.map(({ name, authority }) => ({
        name,
        authority,
        labels: none,
        limits: none,
        watchOnly: true,
      })),
      ruleSet: ruleSetOf(rules),
      routing: routingSettings.parse({ receivers: ["here"] }),
      remind: remindSettings.parse({}),
      acknowledge: acknowledgeSettings.parse({}),
      scheduleMs,
      timezone: "UTC",
    },
    nothingRemembered,
    nowMs,
  );
  watch.observe(marketConfig(nowMs));
  watch.observe(prices(0, nowMs));
  return watch;
}

function recordOf<R>(endpoint: Parameters<typeof parseReply<R>>[0], text: string): R {
  const parsed = parseReply<R>(endpoint, parseJson(text));
  if (!parsed.ok || parsed.rejected.length > 0) throw new Error(`${endpoint.name} does not fit`);
  return parsed.record;
}

export function marketConfig(atMs: number): Observation {
  const markets = recordOf(endpoints.markets, marketsText);
  return { kind: "marketConfig", atMs, markets: markets.map((one) => marketConfigOf(one, () => {})) };
}

export function prices(call: number, atMs: number): Observation {
  const { markets } = recordOf(endpoints.latestMarketsStats, statsText(call));
  return { kind: "prices", atMs, markets: markets.map(marketPricesOf) };
}

export function ingestLoop(parts: {
  readonly watch: Watch;
  readonly store: Pick<Store, "commit" | "knownEvents">;
  readonly clock: Clock;
  readonly onCommitted?: (changes: Changes) => void;
}): IngestLoop {
  return new IngestLoop({
    onCommitted: () => {},
    ...parts,
    onStuck: () => {},
    onAsk: () => {},
    onNote: () => {},
    onDegraded: (_, why) => fail(why),
    onBroken: fail,
  });
}

function fail(error: unknown): never {
  console.error(error);
  process.exit(1);
}

/** A folder of its own for databases; gone when the process is. */
export function benchFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-bench-"));
  process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export { rulesText };
