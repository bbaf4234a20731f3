/** Digests: each time once for each receiver, whatever stops in between, and figures that add up. */
import { expect, test } from "vitest";
import { Digest, type DigestOptions, digestKeep } from "../../src/deliver/index.ts";
import type { DaemonStatus } from "../../src/domain/status.ts";
import { changes } from "../../src/domain/stored/changes.ts";
import { event } from "../history/examples.ts";
import { type Rig, rig } from "./support.ts";

const hour = 3_600_000;
const day = 24 * hour;
const at = (text: string) => Date.parse(text);

/** Each day at eight. */
const daily = {
  name: "daily",
  next: (afterMs: number) => {
    const eight = Math.floor(afterMs / day) * day + 8 * hour;
    return eight > afterMs ? eight : eight + day;
  },
};

const status = {
  watch: {
    wallets: [
      {
        ...{ name: "main", labels: { watch: "desk" }, unacked: 3 },
        figures: { equity: 1_250, pnl: 210, pnlToday: -4.5 },
        accounts: [
          {
            positions: [
              { name: "main/0.0/BTC", figures: { liquidationDistance: 0.4 } },
              { name: "main/0.0/SOL", figures: { liquidationDistance: 0.042 } },
              { name: "main/0.0/ETH", figures: { liquidationDistance: Number.POSITIVE_INFINITY } },
              { name: "main/0.0/XRP", figures: { liquidationDistance: 18.38 } },
            ],
          },
        ],
      },
      {
        ...{ name: "stranger", labels: { watch: "whale" }, unacked: null },
        figures: { equity: 5_000_000, pnl: 1, pnlToday: 2 },
        accounts: [{ positions: [{ name: "stranger/0.0/SOL", figures: { liquidationDistance: 0.01 } }] }],
      },
    ],
    blind: [{ wallet: "main", source: "funding", sinceMs: at("2026-11-21T03:00:00Z"), rules: [] }],
  },
  channels: [{ name: "chat", waiting: 0 }],
} as unknown as DaemonStatus;

function digestOf(one: Rig, more: Partial<DigestOptions> = {}): Digest {
  const { store, clock } = one;
  return new Digest({
    ...{ schedule: daily, receivers: ["chat", "mail", "chat"], timezone: "UTC", store, clock },
    ...{ status: () => status, sender: "perpwatch on test", instance: "/one.db" },
    post: (messages) => one.outbox.post(messages),
    ...more,
  });
}

test("it leaves at its time, once for each receiver, and again the next day", async () => {
  await using one = await rig();
  const digest = digestOf(one);
  await digest.start();
  await one.clock.advance(4 * hour);
  expect(one.far.arrivals).toEqual([]);
  await one.clock.advance(hour);
  expect([one.far.accepted.length, one.other.accepted.length]).toEqual([1, 1]);
  const [message] = await one.store.messages({});
  expect(message).toMatchObject({ status: "delivered", itemIds: [], content: { kind: "digest" } });
  await one.clock.advance(day);
  expect(new Set(one.far.accepted.map(({ id }) => id)).size).toBe(2);
  await digest.stop();
});

test("a crash after the seal sends it all the same, and nothing twice", async () => {
  await using one = await rig();
  const digest = digestOf(one, { post: () => {} });
  await digest.start();
  await one.clock.advance(5 * hour);
  expect(one.far.arrivals).toEqual([]);
  await digest.stop();
  await one.restart();
  const next = digestOf(one);
  await next.start();
  await one.clock.advance(hour);
  expect([one.far.accepted.length, one.other.accepted.length]).toEqual([1, 1]);
  await next.stop();
});

test.each([
  ["less than 12 h ago is made up for, and says so", 15, 1],
  ["longer ago is left to the next one", 4 + 13, 0],
  ["several days ago: the newest of them alone", 2 * 24 + 15, 1],
])("a time that passed while nobody ran, %s", async (_what, hours, expected) => {
  await using one = await rig();
  const digest = digestOf(one);
  await digest.start();
  await digest.stop();
  await one.clock.advance(hours * hour);
  expect(one.far.arrivals).toEqual([]);
  const again = digestOf(one);
  await again.start();
  await one.clock.advance(1_000);
  expect(one.far.accepted.length).toBe(expected);
  const [message] = await one.store.messages({});
  if (expected === 1) expect(JSON.stringify(message?.content)).toContain("Sent late: it was due 2026-11-2");
  await one.clock.advance(day);
  expect(one.far.accepted.length).toBe(expected + 1);
  await again.stop();
});

test("a disk that takes nothing delays it; nothing leaves unsealed", async () => {
  await using one = await rig();
  const digest = digestOf(one);
  await digest.start();
  one.store.full = true;
  await one.clock.advance(5 * hour);
  expect(one.far.arrivals).toEqual([]);
  one.store.full = false;
  await one.clock.advance(60_000);
  expect(one.far.accepted.length).toBe(1);
  await digest.stop();
});

test("a channel that is down gets it later, under the same id", async () => {
  await using one = await rig();
  one.far.answer = () => ({ status: 503 });
  const digest = digestOf(one);
  await digest.start();
  await one.clock.advance(4 * hour + 20 * 60_000);
  expect(one.outbox.status().find(({ name }) => name === "chat")?.waiting).toBe(1);
  one.far.answer = () => ({ status: 200 });
  await one.clock.advance(hour);
  expect(one.far.accepted.length).toBe(1);
  expect(new Set(one.far.arrivals.map(({ id }) => id)).size).toBe(1);
  expect(one.far.accepted[0]?.late).not.toBeNull();
  await digest.stop();
});

test("asked for, it leaves at once, and the schedule goes on", async () => {
  await using one = await rig();
  const digest = digestOf(one);
  await digest.start();
  const kept = (await one.store.keep()).get(digestKeep);
  const ids = await digest.send(["chat"]);
  await one.clock.advance(1_000);
  expect(one.far.accepted.map(({ id }) => id)).toEqual(ids);
  expect((await one.store.keep()).get(digestKeep)).toBe(kept);
  await digest.stop();
});

test("its figures are those of its time", async () => {
  await using one = await rig();
  const startMs = one.clock.nowMs();
  const digest = digestOf(one);
  await digest.start();
  const series = ["wallet.equity", "wallet.pnl"];
  const own = { wallet: "main", happenedMs: startMs + hour, seenMs: startMs + hour };
  await one.store.commit([
    changes({
      ticks: [
        { atMs: startMs - 120_000, owner: "main", series, values: [900, 90] },
        { atMs: startMs - 60_000, owner: "main", series, values: [1_000, 100] },
        { atMs: startMs + 120_000, owner: "main", series, values: [1_100, 150] },
      ],
      events: [
        event({ ...own, kind: "funding", key: "f1", fields: { payment: 5 } }),
        event({ ...own, kind: "funding", key: "f2", fields: { payment: -2.25 } }),
        event({ ...own, kind: "funding", key: "f0", happenedMs: startMs - hour, fields: { payment: 99 } }),
        event({ ...own, wallet: "stranger", kind: "fill", key: "t0", fields: { fee: 70, notional: 9_000 } }),
        event({ ...own, kind: "fill", key: "t1", fields: { fee: 0.5, notional: 300 } }),
        event({ ...own, kind: "fill", key: "t2", fields: { fee: 0.25, notional: 700 } }),
      ],
    }),
  ]);
  await one.clock.advance(60_000);
  await one.owe(one.alerts.step("fired", one.alerts.alert()));
  const over = one.alerts.alert({ severity: "warning" });
  await one.owe(one.alerts.step("fired", over), one.alerts.step("ended", over));
  const fallen = one.alerts.alert({ severity: "warning", worstSeverity: "critical" });
  await one.owe(one.alerts.step("fired", fallen), one.alerts.step("ended", fallen));
  await one.owe(
    one.alerts.step("fired", one.alerts.alert({ severity: "warning", worstSeverity: "critical" })),
  );
  const drill = one.alerts.alert({ ...{ event: true, state: "ended", drill: true, rule: "FireDrill" } });
  await one.owe(one.alerts.step("fired", drill));
  await one.clock.advance(2 * hour);
  const { title, sections = [] } = await digest.preview();
  const rows = Object.fromEntries(sections.flatMap((section) => section.rows.map((row) => [...row])));
  expect(title).toBe("Digest of 2h 1m: equity $1,250.00 (+$250.00), 2 alerts firing");
  expect(rows).toMatchObject({
    main: "$1,250.00 (+$250.00), profit in this period +$110.00, today -$4.50, since watched +$210.00",
    stranger:
      "$5,000,000.00 (not known), profit in this period not known, today +$2.00, since watched +$1.00",
    "Funding received": "$5.00",
    "Funding paid": "$2.25",
    Fees: "$0.75",
    Fills: "2, $1,000.00 in all",
    critical: "3 fired, 1 ended, 1 still firing",
    warning: "1 fired, 1 ended, 1 still firing",
    "Fire drills": "1, in which nothing happened",
    chat: "7 delivered, 0 given up",
    "main/0.0/SOL": "4.2% from liquidation",
    "No data: main, funding": "since 2026-11-21 03:00:00 UTC",
    "Notifications of main": "3 not acknowledged at the exchange",
    "Not watched": "at no time that is known of",
  });
  for (const none of ["main/0.0/ETH", "main/0.0/XRP", "stranger/0.0/SOL", "All wallets"])
    expect(Object.keys(rows)).not.toContain(none);
  await one.store.commit([
    changes({ milestones: [{ atMs: startMs + hour, kind: "started", value: "1.0.0" }] }),
  ]);
  expect(JSON.stringify((await digest.preview()).sections)).toContain(
    '["Not watched","before 2026-11-21 04:41:18 UTC, when watching began"]',
  );
  await digest.stop();
});

test.each([
  [
    "on the first day, against the first that was read",
    [
      [2, 1_300, 260],
      [8, 1_000, 20],
      [900, 1_100, 60],
    ],
    "-$50.00",
    "-$50.00",
  ],
  [
    "within the minute of its beginning, against the newest until then",
    [
      [-8, 1_000, 20],
      [-2, 1_200, 200],
      [5, 900, 5],
    ],
    "+$50.00",
    "+$10.00",
  ],
] as const)("a change of equity counts %s", async (_what, read, equity, profit) => {
  await using one = await rig();
  await one.clock.advance(30_000);
  const startMs = one.clock.nowMs();
  const digest = digestOf(one);
  await digest.start();
  const series = ["wallet.equity", "wallet.pnl"];
  const ticks = read.map(([s, ...values]) => ({ atMs: startMs + s * 1_000, owner: "main", series, values }));
  await one.store.commit([changes({ ticks })]);
  await one.clock.advance(2 * hour);
  const { sections = [] } = await digest.preview();
  const rows = Object.fromEntries(sections.flatMap((section) => section.rows.map((row) => [...row])));
  expect(rows.main).toBe(
    `$1,250.00 (${equity}), profit in this period ${profit}, today -$4.50, since watched +$210.00`,
  );
  await digest.stop();
});
