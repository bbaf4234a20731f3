/**
 * A backtest over the recording of a live run gives exactly the messages that the run sent: receivers, times, alerts
 * and changes, folded or not. The live side is the real queue, store and outbox over a local socket that accepts every
 * message at once.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { inOrder, titleOf } from "../../src/alerts/pending/reported.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import type { Capacity, Message } from "../../src/domain/alerts/delivery.ts";
import type { Source } from "../../src/domain/sources.ts";
import type { WatchSettings } from "../../src/engine/settings.ts";
import { openStore } from "../../src/history/index.ts";
import { backtest } from "../../src/replay/backtest.ts";
import type { ReplayedMessage } from "../../src/replay/delivery.ts";
import { mainWallet, rulesOf, settingsOf, startMs } from "../engine/harness.ts";
import { temporaryFolder } from "../history/folder.ts";
import { LiveRun, type Step } from "./live-run.ts";

const rules = `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      info: { when: value < 0.5, resolveWhen: value > 0.55 }
      warning: { when: value < 0.3 }
      critical: { when: value < 0.15, resolveWhen: value > 0.2 }
    for: 4s
    keepFiringFor: 10s
    summary: "{{ wallet.name }} {{ position.symbol }} {{ percent(value) }}"
  - name: Falls
    scope: market
    when: change("market.markPrice", "30s") < -10.0
    severity: warning
    for: 0s
    keepFiringFor: 5s
    summary: "{{ market.symbol }} fell"
  - name: Shrinks
    scope: trader
    when: drawdown("trader.equity", "1m") > 0.1
    severity: critical
    for: 0s
    keepFiringFor: 20s
    summary: "{{ trader.name }} lost {{ percent(drawdown(\\"trader.equity\\", \\"1m\\")) }}"
  - name: Poor
    scope: wallet
    when: wallet.equity < 1500.0
    severity: warning
    for: 0s
    keepFiringFor: 0s
    summary: "{{ wallet.name }} {{ usd(wallet.equity) }}"
  - name: Filled
    on: notification
    when: event.type == "order_filled"
    severity: info
    throttle: 20s
    summary: "{{ event.symbol }} filled"
  - name: Lost
    on: liquidation
    when: event.role == "liquidatee"
    severity: critical
    summary: "{{ wallet.name }} lost {{ event.symbol }}"
  - name: Shut
    scope: exchange
    when: "!exchange.active"
    severity: warning
    for: 3s
    summary: shut
`;

const wallets = Array.from({ length: 7 }, (_, index) => ({
  ...mainWallet,
  name: index === 0 ? "main" : `desk-${index}`,
  labels: { desk: index < 4 ? "alpha" : "beta" },
}));

const receivers = ["all", "loud", "boss", "pager"];
/** A program that is sent each alert separately, and a channel whose messages name few alerts. */
const capacities = new Map<string, Capacity>([
  ["pager", { isNeverFolded: true }],
  ["loud", { maxNamed: 3 }],
]);

interface Setup {
  readonly groupBy: readonly string[];
  readonly groupWait: string;
  readonly groupInterval: string;
  readonly stormFold: number;
  readonly mute: boolean;
  readonly inhibit: boolean;
}

const ruleSet = rulesOf(rules, wallets);

function settingsBy({ groupBy, groupWait, groupInterval, stormFold, mute, inhibit }: Setup): WatchSettings {
  return settingsOf({
    ...{ rules: ruleSet, wallets },
    routing: {
      receivers: ["all"],
      ...{ groupBy, groupWait, groupInterval, stormFold },
      // Runs begin at noon.
      muteTimes: { pause: [{ from: "12:01", to: "12:03" }] },
      routes: [
        {
          match: { severity: "critical" },
          receivers: ["loud", "all", "pager"],
          escalate: [{ after: "45s", receivers: ["boss"] }],
        },
        {
          match: { desk: "beta" },
          groupBy: ["desk", "rule"],
          groupInterval: "30s",
          ...(mute ? { mute: ["pause"] } : {}),
        },
      ],
    },
    inhibit: inhibit
      ? [{ source: { rule: "Shrinks" }, target: { rule: ["Near", "Poor"] }, equal: ["wallet"] }]
      : [],
    channels: receivers,
    remind: {
      critical: { every: "20s", acknowledgedFor: "1m" },
      warning: { every: "15s", upTo: "1m" },
    },
  });
}

const setup: fc.Arbitrary<Setup> = fc.record({
  groupBy: fc.constantFrom(["wallet"], [], ["rule"], ["wallet", "severity"]),
  groupWait: fc.constantFrom("0s", "1s", "1s", "5s"),
  groupInterval: fc.constantFrom("0s", "5s", "5s", "20s"),
  stormFold: fc.constantFrom(1, 2, 3, 3, 10),
  mute: fc.boolean(),
  inhibit: fc.boolean(),
});

const wallet = fc.integer({ min: 0, max: wallets.length - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("pass" as const),
      ms: fc.integer({ min: 100, max: 25_000 }),
      failing: fc.oneof(
        { weight: 6, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.subarray(["traderState", "markets"] as Source[], { minLength: 1 }) },
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("mark" as const),
      usd: fc.integer({ min: 90, max: 190 }),
      live: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("hold" as const),
      size: fc.constantFrom(0, 20, -20, 60, 100),
      collateral: fc.integer({ min: 500, max: 6_000 }),
      sequence: fc.integer({ min: 1, max: 2 }),
      wallet: fc.oneof(wallet, fc.constant("all" as const)),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("events" as const),
      kind: fc.constantFrom("filled", "filled", "liquidation"),
      key: fc.integer({ min: 1, max: 9 }),
      wallet,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("status" as const), active: fc.boolean() }) },
  { weight: 2, arbitrary: fc.constant({ do: "acknowledge" as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("silence" as const),
      ms: fc.integer({ min: 1_000, max: 60_000 }),
      upTo: fc.constantFrom("info", "warning", "critical"),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "reload" as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("restart" as const),
      downMs: fc.oneof(fc.integer({ min: 1, max: 3_000 }), fc.integer({ min: 1, max: 150_000 })),
      crash: fc.boolean(),
      quietMs: fc.constantFrom(0, 300, 999),
    }),
  },
);

/** Storms, reminders at the moment at which alerts end, escalations, a hold, an outage with messages that wait. */
const usual: Setup = {
  ...{ groupBy: ["wallet"], groupWait: "1s", groupInterval: "5s", stormFold: 3, mute: true, inhibit: false },
};
const eventful: Step[] = [
  { do: "hold", size: 0, collateral: 500, sequence: 1, wallet: "all" },
  { do: "pass", ms: 40_000, failing: [] },
  { do: "hold", size: 0, collateral: 9_000, sequence: 1, wallet: 0 },
  { do: "hold", size: 0, collateral: 9_000, sequence: 1, wallet: "all" },
  { do: "pass", ms: 20_000, failing: [] },
  { do: "acknowledge" },
  { do: "silence", ms: 30_000, upTo: "warning" },
  { do: "mark", usd: 130, live: true },
  { do: "pass", ms: 25_000, failing: [] },
  { do: "hold", size: 60, collateral: 1_400, sequence: 1, wallet: "all" },
  { do: "pass", ms: 25_000, failing: [] },
  { do: "events", kind: "liquidation", key: 1, wallet: 2 },
  { do: "hold", size: 60, collateral: 9_000, sequence: 1, wallet: "all" },
  { do: "pass", ms: 25_000, failing: [] },
  { do: "hold", size: 0, collateral: 400, sequence: 1, wallet: "all" },
  { do: "restart", downMs: 120_000, crash: true },
  { do: "pass", ms: 25_000, failing: [] },
];

const examples: [Setup, Step[]][] = [
  [usual, eventful],
  // At a start reminders are due while a report of the outage begins.
  [
    { ...usual, groupBy: ["wallet", "severity"], groupWait: "0s" },
    [
      { do: "pass", ms: 20_000, failing: [] },
      { do: "restart", downMs: 133_000, crash: false },
      { do: "pass", ms: 5_000, failing: [] },
    ],
  ],
  // A position that is replaced after a restart, and a liquidation of an earlier one.
  [
    { ...usual, stormFold: 10 },
    [
      { do: "events", kind: "liquidation", key: 9, wallet: 2 },
      { do: "pass", ms: 10_500, failing: [] },
      { do: "mark", usd: 96, live: false },
      { do: "restart", downMs: 48_000, crash: true },
      { do: "hold", size: 60, collateral: 505, sequence: 2, wallet: 2 },
      { do: "pass", ms: 23_000, failing: [] },
    ],
  ],
  // A group leaves after the last observation before a crash; another one is due while nobody runs.
  [
    { ...usual, groupInterval: "0s" },
    [
      { do: "pass", ms: 9_000, failing: [] },
      { do: "hold", size: 0, collateral: 500, sequence: 1, wallet: 1 },
      { do: "pass", ms: 600, failing: [] },
      { do: "hold", size: 0, collateral: 500, sequence: 1, wallet: 2 },
      { do: "restart", downMs: 70_000, crash: true, quietMs: 900 },
    ],
  ],
  // Reminders of two positions leave together, the nearest to its liquidation first.
  [
    { ...usual, groupWait: "0s", groupInterval: "0s", stormFold: 1, mute: false },
    [
      { do: "hold", size: -20, collateral: 500, sequence: 1, wallet: 0 },
      { do: "pass", ms: 100, failing: [] },
      { do: "hold", size: 20, collateral: 500, sequence: 1, wallet: 1 },
      { do: "pass", ms: 3_775, failing: [] },
      { do: "silence", ms: 1_000, upTo: "info" },
      { do: "pass", ms: 20_221, failing: [] },
    ],
  ],
];

/** One message as a line, with everything that is compared. */
function line(
  {
    receiver,
    atMs,
    folded,
    title,
  }: Record<"receiver" | "title", string> & {
    readonly atMs: number;
    readonly folded: string | null;
  },
  changes: readonly AlertChange[],
): string {
  const steps = changes.map(stepLine).join(", ");
  return `+${atMs - startMs} to ${receiver}${folded === null ? "" : ` (${folded})`} "${title}": ${steps}`;
}

function stepLine({ kind, atMs, alert: { rule, subject, severity } }: AlertChange): string {
  return [kind, severity, rule, subject, `+${atMs - startMs}`].join(" ");
}

function sentLine({ receiver, sealedAtMs, content }: Message): string {
  const { folded = null, title, items } = content;
  return line(
    { receiver, atMs: sealedAtMs, folded, title },
    items.map(({ change }) => change),
  );
}

function replayedLine({ receiver, atMs, folded, changes }: ReplayedMessage): string {
  return line({ receiver, atMs, folded, title: titleOf(changes, folded) }, inOrder(changes, folded));
}

interface Compared {
  readonly sent: readonly Message[];
  readonly live: readonly string[];
  readonly replayed: readonly string[];
}

async function compare(setup: Setup, steps: readonly Step[]): Promise<Compared> {
  using folder = temporaryFolder();
  const settings = settingsBy(setup);
  const live = new LiveRun({ file: folder.file(), settings, receivers, capacities });
  await live.start(null);
  await live.run({ do: "pass", ms: 6_000, failing: [] });
  for (const one of steps) await live.run(one);
  const { changes } = await live.end();
  expect(live.arrived).toEqual(live.messages.map(({ id }) => id));
  const history = openStore({ path: folder.file(), readonly: true });
  try {
    const ran = await backtest({
      ...{ settings, rulesFor: () => settings.ruleSet, history, capacities },
      ...{ fromMs: startMs, toMs: live.nowMs + 1 },
    });
    expect(ran.journal.changes.map(stepLine)).toEqual(changes.map(stepLine));
    return {
      sent: live.messages,
      live: live.messages.map(sentLine),
      replayed: ran.journal.messages.map(replayedLine),
    };
  } finally {
    await history.close();
  }
}

/** Sorts lines by receiver, each in its order: receivers are sent messages concurrently. */
function byReceiver(lines: readonly string[]): readonly string[] {
  return receivers.flatMap((name) => lines.filter((one) => one.includes(` to ${name}`)));
}

test("a backtest over the recording gives the messages of the live run", { timeout: 550_000 }, async () => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  const numRuns = Number(process.env.RUNS ?? 12);
  const counts = { messages: 0, storms: 0, digests: 0, reminders: 0, ended: 0, grouped: 0 };
  await fc.assert(
    fc.asyncProperty(setup, fc.array(step, { minLength: 5, maxLength: 30 }), async (by, steps) => {
      const { sent, live, replayed } = await compare(by, steps);
      expect(byReceiver(replayed)).toEqual(byReceiver(live));
      for (const { content } of sent) {
        counts.messages++;
        if (content.folded === "storm") counts.storms++;
        if (content.folded === "digest") counts.digests++;
        if (content.items.length > 1 && content.folded === undefined) counts.grouped++;
        if (content.items.some(({ change }) => change.kind === "reminder")) counts.reminders++;
        if (content.items.some(({ change }) => change.kind === "ended")) counts.ended++;
      }
    }),
    { seed, numRuns, examples, endOnFailure: process.env.SHRINK === "0" },
  );
  console.log(`seed ${seed}, ${numRuns} runs: ${JSON.stringify(counts)}`);
  // Runs without messages prove nothing.
  expect(counts.messages).toBeGreaterThan(5 * numRuns);
  expect(Object.entries(counts).filter(([, count]) => count === 0)).toEqual([]);
});
