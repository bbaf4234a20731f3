import { describe, expect, test } from "vitest";
import type { Observation, Tick } from "../../src/domain/observation.ts";
import type { RollUpBlock } from "../../src/domain/stored/history.ts";
import { KeptValueError } from "../../src/domain/stored/kept.ts";
import { keptKinds } from "../../src/engine/kept-kinds.ts";
import { prepareRestore, restoreWatch } from "../../src/ingest/restore-watch.ts";
import {
  event,
  Harness,
  marketConfig,
  notification,
  position,
  prices,
  settingsOf,
  startMs,
  subaccount,
} from "../engine/harness.ts";

/** An empty history that notes which samples are read. */
class Asked {
  readonly ticksOf: string[] = [];
  ruleStates = async () => [];
  alerts = async () => [];
  alertChanges = async () => [];
  deliveryItems = async () => [];
  events = async () => [];
  facts = async () => [];
  keep = async () => new Map();
  lastIds = async () => ({ alert: 0, change: 0, item: 0 });
  tickOwners = async () => ["main", "main/0.0", "markets"];
  async *ticks({ owner }: { readonly owner: string }): AsyncIterable<Tick> {
    this.ticksOf.push(owner);
    yield* [];
  }
  async *rollupBlocks(): AsyncIterable<RollUpBlock> {
    yield* [];
  }
}

interface TickQuery {
  readonly owner: string;
  readonly fromMs: number;
  readonly wanted: (series: string) => boolean;
}

/** A tick with the wanted series, as a store reads it. */
function only({ series, values, ...tick }: Tick, wanted: (series: string) => boolean): Tick {
  const kept = series.flatMap((name, index) => (wanted(name) ? [index] : []));
  return { ...tick, series: kept.map((i) => series[i]!), values: kept.map((i) => values[i]!) };
}

async function asked(expression: string): Promise<string[]> {
  const store = new Asked();
  const rules = `rules:\n  - { name: One, scope: trader, when: '${expression} > 1.0', severity: info, summary: one }\n`;
  await restoreWatch(settingsOf({ rules }), store as never, startMs);
  return store.ticksOf;
}

test("a start reads the samples that rules look back over, and no others: accounts have millions a day", async () => {
  expect(await asked("trader.marginRatio")).toEqual([]);
  expect(await asked('drawdown("wallet.pnl", "24h")')).toEqual(["main"]);
  expect(await asked('change("trader.equity", "1h")')).toEqual(["main/0.0"]);
});

test("the long history is read while the old watch runs, and afterwards only newer samples", async () => {
  const rules = `rules:\n  - { name: One, scope: market, when: 'change("market.markPrice", "10m") < -10.0', severity: info, summary: one }\n`;
  const tick = (atMs: number, price: number): Tick => ({
    atMs,
    owner: "markets",
    series: ["market[SOL].markPrice"],
    values: [price],
  });
  const past = Array.from({ length: 60 }, (_, i) => tick(startMs - (60 - i) * 10_000, 150));
  const read: number[] = [];
  const store = Object.assign(new Asked(), {
    async *ticks({
      owner,
      fromMs,
    }: {
      readonly owner: string;
      readonly fromMs: number;
    }): AsyncIterable<Tick> {
      for (const one of past) {
        if (one.owner !== owner || one.atMs < fromMs) continue;
        read.push(one.atMs);
        yield one;
      }
    },
  });
  const build = await prepareRestore(settingsOf({ rules }), store as never, startMs);
  expect(read).toHaveLength(60);
  // Two samples of one time, before and after the first reading.
  const lastMs = past.at(-1)!.atMs;
  past.push(tick(lastMs, 149), tick(startMs, 148));
  const watch = await build(startMs + 1_000);
  expect(read.slice(60)).toEqual([lastMs, lastMs, startMs]);
  watch.observe({ kind: "marketConfig", atMs: startMs + 1_000, markets: [marketConfig()] });
  const { changes } = watch.observe({ kind: "prices", atMs: startMs + 1_000, markets: [prices(135)] });
  expect(changes.alerts.map(({ rule }) => rule)).toEqual(["One"]);
});

test.each([
  ["a start", false, 0],
  ["a start after a later deposit", false, 7],
  ["a reload", true, 0],
])("%s takes up what profit was while a withdrawal was not explained", async (_, reloads, laterUsd) => {
  const rules = `rules:\n  - { name: Fast, scope: wallet, when: 'change("wallet.pnl", "10m") < -50.0', noData: keep, severity: info, summary: fast }\n`;
  const live = new Harness({ rules });
  const read = (h: Harness, usd: number) => {
    h.config();
    h.mark(150);
    h.account([subaccount(usd, [position(1, 150)])]);
  };
  const pass = (h: Harness, ms: number, usd: number) => {
    for (const endMs = h.nowMs + ms; h.nowMs < endMs; ) {
      h.pass(5_000);
      read(h, usd);
    }
  };
  read(live, 1_000);
  live.events("collateral", []);
  pass(live, 660_000, 1_000);
  const fields = { eventType: "withdrawal", amountUsd: -20 };
  const paid = { kind: "collateral", symbol: null, happenedMs: live.nowMs, fields } as const;
  pass(live, 60_000, 980);
  live.events("collateral", [event({ ...paid, key: "paid", slot: live.slot - 100 })]);
  const explainedMs = live.nowMs;
  pass(live, 300_000, 980);
  const usd = 980 + laterUsd;
  if (laterUsd > 0) {
    const later = { ...paid, happenedMs: live.nowMs, fields: { eventType: "deposit", amountUsd: laterUsd } };
    pass(live, 5_000, usd);
    live.events("collateral", [event({ ...later, key: "later", slot: live.slot })]);
  }
  pass(live, 570_000 - (live.nowMs - explainedMs), usd);
  const ticks = live.all.flatMap((one) => one.ticks);
  const store = Object.assign(new Asked(), {
    keep: async () => live.remembered.keep,
    events: async ({ kind }: { readonly kind: string }) =>
      live.all.flatMap((one) => one.events).filter((one) => one.kind === kind),
    async *ticks({ owner, fromMs, wanted }: TickQuery): AsyncIterable<Tick> {
      for (const tick of ticks) if (tick.owner === owner && tick.atMs >= fromMs) yield only(tick, wanted);
    },
  });
  const settings = settingsOf({ rules, reloaded: reloads });
  const after = new Harness({ rules, atMs: live.nowMs });
  after.slot = live.slot;
  after.watch = await restoreWatch(settings, store as never, live.nowMs, reloads ? live.watch : null);
  read(after, usd);
  after.events("collateral", []);
  expect(after.told).toEqual([]);
  after.mark(90);
  expect(after.told).toEqual(["Fast main fired info"]);
});

test("an event that waited for figures of its rule is taken up, whatever its key looks like", async () => {
  const rules = `rules:\n  - { name: One, on: notification, when: 'trader.equity > 1.0', severity: info, summary: one }\n`;
  const key = "event/7:0/1";
  const store = Object.assign(new Asked(), {
    keep: async () =>
      new Map([[`event/notification/${key}`, JSON.stringify({ sinceMs: 1, open: ["One"], matches: [] })]]),
    eventByKey: async (kind: string, asked: string) =>
      kind === "notification" && asked === key ? notification(key, "order_filled") : null,
  });
  const watch = await restoreWatch(settingsOf({ rules }), store as never, startMs);
  const see = (observation: Observation) => watch.observe(observation).changes.alerts.map(({ rule }) => rule);
  see({ kind: "marketConfig", atMs: startMs, markets: [marketConfig()] });
  see({ kind: "prices", atMs: startMs, markets: [prices(150)] });
  const subaccounts = [subaccount(5_000, [])];
  const account = {
    kind: "accounts",
    wallet: "main",
    pdaIndex: 0,
    slot: 1,
    slotIndex: 0,
    subaccounts,
  } as const;
  expect(see({ ...account, atMs: startMs })).toEqual(["One"]);
});

test("a start reads what throttles hold, and it leaves when their time is over", async () => {
  const rules = `rules:\n  - { name: Told, on: notification, when: 'event.type != ""', throttle: 1m, severity: info, summary: one }\n`;
  const before = new Harness({ rules });
  const keys = ["n1", "n2", "n3"];
  before.events(
    "notifications",
    keys.map((key) => notification(key, "order_filled")),
  );
  const store = Object.assign(new Asked(), {
    keep: async () => before.remembered.keep,
    alertChanges: async ({ ids }: { readonly ids: readonly number[] }) =>
      before.changes.filter(({ id }) => ids.includes(id)),
    lastIds: async () => before.remembered.ids,
  });
  const watch = await restoreWatch(settingsOf({ rules }), store as never, startMs + 1_000);
  const { changes } = watch.observe({ kind: "time", atMs: startMs + 60_000 });
  expect(changes.deliveryItems.map(({ changeId }) => changeId)).toEqual([2, 3]);
});

test("a start reads the endings of alerts that were reported for positions taken by the exchange", async () => {
  const rules = `
rules:
  - { name: Near, scope: position, when: position.liquidationDistance < 0.05, severity: critical, keepFiringFor: 0s, summary: "n" }
`;
  for (const kind of ["market", "adl"]) {
    const endangered = [subaccount(1_000, [position(100, 150)])];
    const before = Harness.seeing({ rules }, 150, endangered);
    const fields = { kind, role: "liquidatee" };
    const taken = event({ kind: "liquidation", key: "l", slot: 15, happenedMs: startMs, fields });
    before.events("notifications", [taken]);
    before.account([subaccount(10, [])]);
    before.account(endangered);
    const asked: (number | undefined)[] = [];
    const store = Object.assign(new Asked(), {
      alerts: async ({ state }: { readonly state?: string }) =>
        [...new Map(before.changes.map(({ alert }) => [alert.id, alert])).values()].filter(
          (alert) => alert.state === state,
        ),
      alertChanges: async ({ alertId }: { readonly alertId?: number }) => {
        asked.push(alertId);
        return before.changes.filter((change) => change.alertId === alertId);
      },
      events: async () => [taken],
      lastIds: async () => ({ alert: 9, change: 99, item: 99 }),
    });
    await restoreWatch(settingsOf({ rules }), store as never, before.nowMs);
    expect(asked, kind).toEqual([2, 1]);
  }
});

test("a start reads the payments of the last hours of funding: a position that closed during the stop may have had them", async () => {
  const asked: object[] = [];
  const newest = event({ kind: "funding", key: "one", happenedMs: startMs - 6 * 3_600_000 });
  const store = Object.assign(new Asked(), {
    events: async (query: { readonly kind: string }) => {
      if (query.kind !== "funding") return [];
      asked.push(query);
      return [newest];
    },
  });
  const rules =
    "rules:\n  - { name: One, scope: trader, when: 'trader.equity > 1.0', severity: info, summary: one }\n";
  await restoreWatch(settingsOf({ rules }), store as never, startMs);
  expect(asked.slice(0, 2)).toEqual([
    { kind: "funding", newestFirst: true, limit: 1 },
    { kind: "funding", fromMs: newest.happenedMs - 2 * 3_600_000 },
  ]);
});

test("kept values that their owners cannot read are not used, and named; the others are", async () => {
  const silence = (id: number) => ({
    ...{ id, match: { wallet: { in: ["main"] } }, upTo: "warning", author: "me", comment: "" },
    ...{ startsMs: startMs, endsMs: startMs + 3_600_000, createdMs: startMs },
  });
  const keep = new Map([
    ["silence/1", "{"],
    ["silence/2", JSON.stringify(silence(2))],
    ["silence/3", JSON.stringify({ ...silence(3), endsMs: "soon" })],
    ["wallet/main/profit", "[]"],
    ["rota/ops", "anna"],
  ]);
  const store = Object.assign(new Asked(), { keep: async () => keep });
  const rules =
    "rules:\n  - { name: One, scope: trader, when: 'trader.equity > 1.0', severity: info, summary: one }\n";
  const watch = await restoreWatch(settingsOf({ rules }), store as never, startMs);
  expect(watch.silences.map(({ id }) => id)).toEqual([2]);
  const { notes } = watch.observe({ kind: "time", atMs: startMs });
  expect(notes).toEqual([
    {
      level: "warn",
      text: expect.stringMatching(/^the kept value silence\/1 does not fit: .*; it is not used$/),
    },
    { level: "warn", text: expect.stringMatching(/silence\/3 does not fit: endsMs: expected a number; it/) },
    {
      level: "warn",
      text: expect.stringContaining("the kept value wallet/main/profit does not fit: the value"),
    },
  ]);
  expect(watch.observe({ kind: "time", atMs: startMs + 1 }).notes).toEqual([]);
});

test.each([
  ["silence/1", "warning", "a silence (silence/1)"],
  ["held/1", "critical", "a held notification (held/1)"],
  ["escalation/4", "critical", "an escalation (escalation/4)"],
])(
  "a kept value %s that cannot be read is removed, and reported once as %s",
  async (name, severity, removed) => {
    const store = Object.assign(new Asked(), { keep: async () => new Map([[name, "{"]]) });
    const rules =
      "rules:\n  - { name: One, scope: trader, when: 'trader.equity > 1.0', severity: info, summary: one }\n";
    const watch = await restoreWatch(settingsOf({ rules }), store as never, startMs);
    const started = { kind: "started", version: "0", lastAliveMs: startMs - 1_000 } as const;
    const { changes } = watch.observe({ ...started, atMs: startMs });
    expect(changes.keep).toContainEqual({ name, value: null });
    expect(changes.alertChanges.map(({ alert, details }) => [alert.rule, alert.severity, details])).toEqual([
      ["StateDamaged", severity, [["Removed", removed]]],
    ]);
    expect(watch.observe({ ...started, atMs: startMs + 1_000 }).changes.alertChanges).toEqual([]);
  },
);

describe("each kind of kept value", () => {
  const texts = [
    "",
    "{",
    "null",
    "[]",
    "{}",
    "1",
    '"x"',
    '{"$number":"NaN"}',
    '{"sinceMs":{}}',
    '{"__proto__":1}',
  ];
  test("has names of its own", () => {
    const names = keptKinds.map((kind) => kind.name("a/b" as never));
    for (const name of names) expect(keptKinds.filter((kind) => kind.keyOf(name) !== null)).toHaveLength(1);
    expect(keptKinds.map((kind, index) => kind.keyOf(names[index]!))).toEqual(keptKinds.map(() => "a/b"));
  });

  test("refuses what it does not fit with an error of its own", () => {
    for (const kind of keptKinds)
      for (const text of texts)
        try {
          kind.read(kind.name("a" as never), text);
        } catch (error) {
          expect(error).toBeInstanceOf(KeptValueError);
        }
  });
});
