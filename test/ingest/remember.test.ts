import { expect, test } from "vitest";
import { acknowledgeSettings } from "../../src/alerts/acknowledge.ts";
import { remindSettings } from "../../src/alerts/remind.ts";
import { routingSettings } from "../../src/alerts/route.ts";
import type { Tick } from "../../src/domain/observation.ts";
import { rememberedWatch } from "../../src/ingest/remember.ts";
import { mainWallet, rulesOf, scheduleMs, startMs } from "../watch/harness.ts";

/** A history without anything in it that notes which samples it is asked for. */
class Asked {
  readonly ticksOf: string[] = [];
  ruleStates = async () => [];
  alerts = async () => [];
  alertChanges = async () => [];
  owed = async () => [];
  events = async () => [];
  facts = async () => [];
  keep = async () => new Map();
  lastIds = async () => ({ alert: 0, change: 0, owed: 0 });
  tickOwners = async () => ["main", "main/0.0", "markets"];
  async *ticks({ owner }: { readonly owner: string }): AsyncIterable<Tick> {
    this.ticksOf.push(owner);
    yield* [];
  }
}

async function asked(expression: string): Promise<string[]> {
  const store = new Asked();
  const rules = `rules:\n  - { name: One, scope: trader, when: '${expression} > 1.0', severity: info, summary: one }\n`;
  const settings = {
    wallets: [mainWallet],
    ruleSet: rulesOf(rules),
    routing: routingSettings.parse({ receivers: ["chat"] }),
    remind: remindSettings.parse({}),
    acknowledge: acknowledgeSettings.parse({}),
    scheduleMs,
    timezone: "UTC",
  };
  await rememberedWatch(settings, store as never, startMs);
  return store.ticksOf;
}

test("a start reads the samples that rules look back over, and no others: accounts have millions a day", async () => {
  expect(await asked("trader.marginRatio")).toEqual([]);
  expect(await asked('drawdown("wallet.pnl", "24h")')).toEqual(["main"]);
  expect(await asked('change("trader.equity", "1h")')).toEqual(["main/0.0"]);
});
