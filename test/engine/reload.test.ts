/**
 * A reload keeps everything that was known. A run that is reloaded with the same settings before each of its observations
 * gives the changes and owed items of the same run without any reload, to the millisecond and the word.
 */
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SubaccountState, TriggerState } from "../../src/domain/account.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import type { DeliveryItem } from "../../src/domain/alerts/delivery.ts";
import type { Observation } from "../../src/domain/observation.ts";
import type { Source } from "../../src/domain/sources.ts";
import type { WatchSettings } from "../../src/engine/settings.ts";
import { Replay } from "../../src/replay/replay.ts";
import type { WatchedWallet } from "../../src/state/wallets/watched.ts";
import {
  event,
  Harness,
  mainWallet,
  marketConfig,
  notification,
  position,
  prices,
  rulesOf,
  settingsOf,
  startMs,
  subaccount,
} from "./harness.ts";

const rules = `
values:
  - { name: cushion, scope: trader, value: trader.equity - 1000.0 }
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      info: { when: value < 0.5, resolveWhen: value > 0.55 }
      warning: { when: value < 0.3 }
      critical: { when: value < 0.15, resolveWhen: value > 0.2 }
    for: 7s
    keepFiringFor: 12s
    summary: "{{ wallet.name }} {{ position.symbol }} {{ percent(value) }} at {{ price(position.markPrice) }}"
  - { name: NoStop, scope: position, when: "!position.hasStopLoss", severity: warning, for: 0s, noData: alert, summary: "no stop, {{ duration(position.openedAgo) }}" }
  - { name: Unprotected, scope: position, when: position.stopLossDistance > 0.5, severity: warning, for: 0s, summary: "{{ percent(position.stopLossDistance) }}" }
  - { name: Falls, scope: market, when: 'change("market.markPrice", "30s") < -10.0', severity: warning, for: 0s, keepFiringFor: 5s, summary: "fell by {{ amount(change(\\"market.markPrice\\", \\"30s\\")) }}" }
  - { name: Shrinks, scope: trader, when: 'drawdown("trader.equity", "1m") > 0.1', severity: critical, for: 2s, summary: "lost {{ percent(drawdown(\\"trader.equity\\", \\"1m\\")) }}" }
  - { name: Thin, scope: trader, when: value.cushion < 0.0, severity: info, summary: "{{ usd(value.cushion) }}" }
  - { name: Loss, scope: wallet, when: wallet.pnl < -50.0, severity: critical, for: 0s, summary: "{{ usd(wallet.pnl) }}" }
  - { name: Today, scope: wallet, when: wallet.feesToday > 3.0 || wallet.pnlToday < -100.0, severity: warning, summary: "{{ usd(wallet.feesToday) }}" }
  - { name: Pays, scope: wallet, when: 'sumOver("funding.payment", "1m") < -5.0', severity: info, for: 0s, keepFiringFor: 0s, summary: "{{ usd(sumOver(\\"funding.payment\\", \\"1m\\")) }}" }
  - { name: Paid, scope: position, when: 'sumOver("funding.payment", "24h") < -5.0', severity: info, for: 0s, keepFiringFor: 0s, summary: "{{ usd(sumOver(\\"funding.payment\\", \\"24h\\")) }}" }
  - { name: Grew, scope: position, when: 'maxOver("position.notional", "1h") > 11000.0', severity: info, for: 0s, keepFiringFor: 0s, summary: "{{ usd(maxOver(\\"position.notional\\", \\"1h\\")) }}" }
  - { name: Hedge, scope: pair, when: pair.imbalance > 0.1, severity: critical, for: 6s, summary: "{{ pair.legs }} by {{ pair.brokenBy }}" }
  - { name: Together, scope: book, when: book.netNotional > 12000.0, severity: warning, summary: "{{ usd(book.netNotional) }}" }
  - { name: Breaks, scope: position, when: 1 / int(position.size - 20.0) > 5, severity: critical, summary: "never" }
  - { name: Out, scope: wallet, when: "!wallet.signedIn", severity: warning, for: 0s, summary: "signed out" }
  - { name: Shut, scope: exchange, when: "!exchange.active", severity: warning, for: 3s, summary: "shut" }
  - { name: Depth, scope: market, when: market.spread > 0.1, severity: critical, select: { symbol: SOL }, summary: "{{ percent(market.spread) }}" }
  - { name: Filled, on: notification, when: event.type == "order_filled", severity: info, throttle: 20s, summary: "{{ event.symbol }} filled" }
  - { name: BigFill, on: fill, when: event.size * market.markPrice > 100.0, severity: critical, summary: "{{ event.symbol }} {{ usd(event.size * market.markPrice) }}" }
  - { name: Lost, on: liquidation, when: event.role == "liquidatee", severity: critical, summary: "{{ event.symbol }}, margin {{ percent(trader.marginRatio) }}" }
`;
const wallets: readonly WatchedWallet[] = [
  { ...mainWallet, pdaIndices: [0, 1] },
  { ...mainWallet, name: "other", authority: "other", labels: { desk: "beta" } },
];
const settings = settingsOf({
  wallets,
  pairs: [{ name: "basis", legs: ["main/SOL", "other/SOL"], tolerance: 0.05 }],
  rules,
  routing: {
    receivers: ["all"],
    groupWait: "3s",
    groupInterval: "8s",
    routes: [
      {
        match: { severity: "critical" },
        receivers: ["loud", "all"],
        escalate: [{ after: "20s", receivers: ["boss"] }],
      },
    ],
  },
  remind: { critical: { every: "20s", acknowledgedFor: "60s" } },
});

/** The holdings of one wallet. */
interface Holding {
  readonly size: number;
  readonly collateral: number;
  readonly sequence: number;
  readonly stop: boolean;
}
type Step =
  | { readonly do: "answers"; readonly afterMs: number; readonly silent: readonly (Source | "other")[] }
  | { readonly do: "hold"; readonly wallet: string; readonly holding: Holding }
  | { readonly do: "mark"; readonly usd: number; readonly live: boolean }
  | {
      readonly do: "events";
      readonly kind: "fill" | "funding" | "filled" | "liquidation" | "deposit";
      readonly fits: boolean;
    }
  | { readonly do: "book"; readonly spread: number }
  | { readonly do: "status"; readonly active: boolean }
  | { readonly do: "session"; readonly signedIn: boolean }
  | { readonly do: "acknowledge" };

const sometimes = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const as = <T>(value: T) => fc.constant(value);
const step: fc.Arbitrary<Step> = fc.oneof(
  sometimes(
    10,
    fc.record({
      do: as("answers" as const),
      // No sum of these is the age from which positions are too old: an answer of that very ms may be taken before it or after it.
      afterMs: fc.oneof(as(5_003), as(5_003), fc.integer({ min: 200, max: 25_000 })),
      silent: fc.oneof(
        sometimes(4, as([])),
        sometimes(1, fc.subarray<Source | "other">(["traderState", "markets", "collateral", "other"])),
      ),
    }),
  ),
  sometimes(
    3,
    fc.record({ do: as("mark" as const), usd: fc.integer({ min: 90, max: 190 }), live: fc.boolean() }),
  ),
  sometimes(
    3,
    fc.record({
      do: as("hold" as const),
      wallet: fc.constantFrom("main", "other"),
      holding: fc.record({
        size: fc.constantFrom(0, 20, -20, 60, 100),
        collateral: fc.integer({ min: 500, max: 6_000 }),
        sequence: fc.integer({ min: 1, max: 2 }),
        stop: fc.boolean(),
      }),
    }),
  ),
  sometimes(
    3,
    fc.record({
      do: as("events" as const),
      kind: fc.constantFrom("fill", "funding", "filled", "liquidation", "deposit"),
      fits: fc.boolean(),
    }),
  ),
  sometimes(1, fc.record({ do: as("book" as const), spread: fc.constantFrom(0.01, 0.5) })),
  sometimes(1, fc.record({ do: as("status" as const), active: fc.boolean() })),
  sometimes(1, fc.record({ do: as("session" as const), signedIn: fc.boolean() })),
  sometimes(1, as({ do: "acknowledge" as const })),
);

/** The observations of a run, in order, with the time between them. */
function* observations(steps: readonly Step[]): Generator<readonly [number, Observation | "acknowledge"]> {
  const held = new Map<string, Holding>([
    ["main", { size: 60, collateral: 2_000, sequence: 1, stop: true }],
    ["other", { size: -60, collateral: 3_000, sequence: 1, stop: false }],
  ]);
  let atMs = startMs;
  let usd = 150;
  let slot = 100;
  let key = 0;
  let active = true;
  const accounts = (
    wallet: string,
    pdaIndex: number,
    subaccounts: readonly SubaccountState[],
  ): Observation => ({
    ...{ kind: "accounts", wallet, pdaIndex, atMs, slot: ++slot, slotIndex: 0, subaccounts },
  });
  const stateOf = ({ size, collateral, sequence, stop }: Holding): SubaccountState => {
    const stopLoss: TriggerState = {
      ...{ kind: "stopLoss", id: "1", side: size > 0 ? "ask" : "bid", status: "active" },
      ...{ maxSizeLots: null, percent: 100 },
      triggerPriceTicks: size > 0 ? 9_000n : 19_000n,
      executionPriceTicks: size > 0 ? 8_900n : 19_100n,
    };
    const triggers = stop ? [stopLoss] : [];
    const positions = size === 0 ? [] : [{ ...position(size, 150), sequence: String(sequence), triggers }];
    return subaccount(collateral, positions, { sequence: slot });
  };
  const read = (
    source: Source,
    wallet: string,
    events: readonly ReturnType<typeof event>[] = [],
  ): Observation => ({
    ...{ kind: "events", source, wallet, atMs, events, coversMs: startMs - 86_400_000 },
  });
  yield [atMs, { kind: "started", atMs, version: "1", lastAliveMs: null }];
  // The first answer about an account may come before the markets are known: what it holds has no size yet.
  yield [atMs, accounts("main", 0, [stateOf(held.get("main")!)])];
  for (const one of [{ do: "answers", afterMs: 1_000, silent: [] } satisfies Step, ...steps]) {
    switch (one.do) {
      case "answers": {
        atMs += one.afterMs;
        const said = (source: Source | "other"): boolean => !one.silent.includes(source);
        yield [atMs, { kind: "marketConfig", atMs, markets: [marketConfig(), marketConfig("ETH")] }];
        if (said("markets"))
          yield [atMs, { kind: "prices", atMs, markets: [prices(usd), prices(3_000, "ETH")] }];
        if (said("traderState")) yield [atMs, accounts("main", 0, [stateOf(held.get("main")!)])];
        if (said("traderState")) yield [atMs, accounts("main", 1, [subaccount(100, [])])];
        if (said("other")) yield [atMs, accounts("other", 0, [stateOf(held.get("other")!)])];
        else
          yield [
            atMs,
            {
              kind: "failed",
              source: "traderState",
              wallet: "other",
              symbol: null,
              atMs,
              reason: "timeout",
              detail: "no answer",
            },
          ];
        for (const source of ["liquidations", "funding", "fills", "collateral"] as const)
          for (const { name } of wallets) if (said(source)) yield [atMs, read(source, name)];
        yield [atMs, { kind: "exchangeStatus", atMs, active, gated: false, withdrawalsAvailable: true }];
        break;
      }
      case "hold":
        // The order of an event and a position seen in one moment is not known.
        atMs++;
        held.set(one.wallet, one.holding);
        yield [atMs, accounts(one.wallet, 0, [stateOf(one.holding)])];
        break;
      case "mark":
        usd = one.usd;
        yield [atMs, { kind: "prices", atMs, markets: [prices(usd)], ...(one.live ? { live: true } : {}) }];
        break;
      case "events": {
        atMs++;
        const common = {
          key: `${key++}`,
          happenedMs: atMs - 500,
          seenMs: atMs,
          slot,
          symbol: one.fits ? "SOL" : "BTC",
        };
        const of = {
          fill: ["fills", { fields: { side: "ask", price: usd, size: 1, fee: 2, realizedPnl: -3 } }],
          funding: ["funding", { fields: { payment: -6, rate: 0.001, size: 1, side: "long" } }],
          liquidation: [
            "liquidations",
            { fields: { kind: "market", role: "liquidatee", positionClosed: true } },
          ],
          deposit: ["collateral", { fields: { eventType: "deposit", amountUsd: 300 } }],
        } as const;
        if (one.kind === "filled")
          yield [atMs, read("notifications", "main", [notification(common.key, "order_filled", common)])];
        else {
          const [source, { fields }] = of[one.kind];
          const kind = one.kind === "deposit" ? "collateral" : one.kind;
          yield [atMs, read(source, "main", [event({ kind, ...common, fields })])];
        }
        break;
      }
      case "book": {
        const half = (usd * one.spread) / 2;
        const depth = { bid: usd - half, ask: usd + half, bidDepth50BpsUsd: 1e6, askDepth50BpsUsd: 1e6 };
        yield [atMs, { kind: "depth", atMs, symbol: "SOL", ...depth }];
        break;
      }
      case "status":
        active = one.active;
        yield [atMs, { kind: "exchangeStatus", atMs, active, gated: false, withdrawalsAvailable: true }];
        break;
      case "session":
        yield [atMs, { kind: "session", wallet: "main", atMs, signedIn: one.signedIn, detail: "" }];
        break;
      case "acknowledge":
        yield [atMs, "acknowledge"];
    }
  }
  yield [atMs + 400_000, { kind: "time", atMs: atMs + 400_000 }];
}

interface Ran {
  readonly changes: AlertChange[];
  readonly owed: DeliveryItem[];
  readonly states: unknown[];
}

async function run(steps: readonly Step[], reloads: (index: number) => boolean): Promise<Ran> {
  const ran: Ran = { changes: [], owed: [], states: [] };
  const replay = new Replay({
    settings,
    past: null,
    fromMs: startMs,
    onChanges: ({ alertChanges, deliveryItems: owed }) => {
      ran.changes.push(...alertChanges);
      ran.owed.push(...owed);
    },
  });
  await replay.begin(startMs, false);
  let index = 0;
  let nowMs = startMs;
  for (const [atMs, observation] of observations(steps)) {
    // A daemon observes time once a second at least: longer without is a standstill.
    for (; nowMs + 1_000 < atMs; nowMs += 1_000) {
      replay.passUntil(nowMs + 1_000);
      replay.observe({ kind: "time", atMs: nowMs + 1_000 });
    }
    replay.passUntil(atMs);
    nowMs = atMs;
    if (reloads(index++)) await replay.begin(atMs, true, undefined, true);
    if (observation !== "acknowledge") replay.observe(observation);
    else {
      const [alert] = replay.watch
        .status(atMs)
        .firing.toSorted((a, b) => `${a.rule} ${a.subject}`.localeCompare(`${b.rule} ${b.subject}`));
      if (alert) replay.observe({ kind: "acknowledged", atMs, alert, by: "ann", comment: "" });
    }
    const { ruleStates, unjudged, blind } = replay.watch.status(atMs);
    ran.states.push({ ruleStates, unjudged, blind });
  }
  return ran;
}

function line({ atMs, kind, alert }: AlertChange): string {
  const { rule, subject, severity, ending, summary } = alert;
  return `${(atMs - startMs) / 1_000} ${kind} ${rule} ${subject} ${severity} ${ending ?? ""} ${summary}`;
}

function lines({ changes }: Ran): string[] {
  return changes.map(line);
}

/** All that changes say, but for the numbers by which rows are known. */
function told({ changes }: Ran): unknown[] {
  return changes.map(({ id: _, alertId: __, alert: { id: ___, ...alert }, ...rest }) => ({
    ...rest,
    alert,
  }));
}

function owed(ran: Ran): string[] {
  const byId = new Map(ran.changes.map((change) => [change.id, change]));
  return ran.owed.map(({ changeId, receiver, groupKey, owedAtMs, releaseAtMs, severity }) => {
    const at = [owedAtMs, releaseAtMs ?? owedAtMs].map((ms) => (ms - startMs) / 1_000).join(" until ");
    return `${at} ${receiver} ${groupKey} ${severity}: ${line(byId.get(changeId)!)}`;
  });
}

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);

test("reloads before each observation change nothing", { timeout: 240_000 }, async () => {
  let changes = 0;
  const rulesThatFired = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const still = await run(steps, () => false);
      const reloaded = await run(steps, () => true);
      expect(lines(reloaded)).toEqual(lines(still));
      expect(told(reloaded)).toEqual(told(still));
      expect(owed(reloaded)).toEqual(owed(still));
      changes += still.changes.length;
      for (const { alert } of still.changes) rulesThatFired.add(alert.rule);
    }),
    // A search for a smaller failing run that took too long would not state the seed.
    { seed, numRuns: Number(process.env.RUNS ?? 12), interruptAfterTimeLimit: 180_000 },
  );
  expect(changes).toBeGreaterThan(50);
  if (process.env.SHOW) console.log([...rulesThatFired].sort().join(" "));
});

test("a recovery that waits for word of a liquidation ends in an outage, too, a reload or not", async () => {
  const holding = { size: -20, collateral: 500, sequence: 1, stop: false };
  const answers = (afterMs: number): Step => ({ do: "answers", afterMs, silent: [] });
  const steps: readonly Step[] = [
    ...[answers(2_000), answers(5_000)],
    ...([
      { do: "hold", wallet: "other", holding },
      { do: "mark", usd: 90, live: false },
    ] as const),
    ...[answers(5_000), answers(7_000)],
  ];
  const ended = async (reloads: (index: number) => boolean) =>
    lines(await run(steps, reloads)).filter((text) => text.includes("ended Near other/0.0/SOL"));
  expect(await ended(() => false)).toHaveLength(1);
  expect(await ended(() => true)).toEqual(await ended(() => false));
});

test("no-data alerts that one answer ends end in the order in which they fired, reloads or not", async () => {
  const answers = (afterMs: number, ...silent: (Source | "other")[]): Step => ({
    do: "answers",
    afterMs,
    silent,
  });
  // Collateral of the other wallet is missing last, for which both wait.
  const steps: Step[] = [
    ...[answers(23_844), answers(21_570, "other"), answers(5_000, "traderState", "other")],
    ...([answers(24_589), { do: "events", kind: "fill", fits: false }, answers(200)] as Step[]),
  ];
  const still = await run(steps, () => false);
  const ended = (ran: Ran) =>
    ran.changes.filter(({ kind, alert }) => kind === "ended" && alert.rule === "Blind").slice(0, 2);
  const [first, second] = ended(still);
  expect([first?.alert.wallet, second?.alert.wallet]).toEqual(["other", "main"]);
  expect(second?.atMs).toBe(first?.atMs);
  expect(ended(await run(steps, () => true)).map(line)).toEqual(ended(still).map(line));
});

test("a no-data alert lists what is missing in one order, reloads or not", async () => {
  const answers = (afterMs: number, ...silent: (Source | "other")[]): Step => ({
    do: "answers",
    afterMs,
    silent,
  });
  const steps: Step[] = [
    ...[answers(20_005), answers(24_999), answers(24_999, "other"), answers(5_000), answers(20_001)],
    { do: "book", spread: 0.01 },
    ...[answers(5_000), answers(5_000)],
    { do: "mark", usd: 90, live: false },
  ];
  const still = await run(steps, () => false);
  expect(told(await run(steps, () => true))).toEqual(told(still));
});

test("the watches before reloads are let go of", async () => {
  const replay = new Replay({ settings, past: null, fromMs: startMs, onChanges: () => {} });
  await replay.begin(startMs, false);
  const before: WeakRef<object>[] = [];
  const answers: Step[] = Array.from({ length: 4 }, () => ({ do: "answers", afterMs: 5_000, silent: [] }));
  for (const [atMs, observation] of observations(answers)) {
    if (observation === "acknowledge") continue;
    replay.passUntil(atMs);
    before.push(new WeakRef(replay.watch));
    await replay.begin(atMs, true, undefined, true);
    replay.observe(observation);
  }
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  setFlagsFromString("--no-expose-gc");
  await turn();
  collect();
  expect(before.length).toBeGreaterThan(50);
  // The stack may still hold the last of them.
  expect(before.filter((one) => one.deref() !== undefined).length).toBeLessThan(3);
  expect(replay.watch.replaced).toBe(false);
});

test("sums over events of a position survive a reload, and those of the position before it do not come back", async () => {
  const answers: Step = { do: "answers", afterMs: 5_000, silent: [] };
  const paid: Step = { do: "events", kind: "funding", fits: true };
  const turned: Step = {
    do: "hold",
    wallet: "main",
    holding: { size: -60, collateral: 2_000, sequence: 2, stop: true },
  };
  const own = (ran: Ran) => lines(ran).filter((one) => one.includes(" Paid "));
  const kept = await run([answers, paid, answers], () => true);
  expect(own(kept)).toEqual(["6.001 fired Paid main/0.0/SOL info  -$6.00"]);
  const gone = await run([answers, paid, answers, turned, answers, answers], () => true);
  expect(own(gone).map((one) => one.split(" ")[1])).toEqual(["fired", "ended"]);
});

/** A run of two minutes in which nothing is near, then a reload by other settings, then as long again. */
async function reloadedBy(
  next: WatchSettings,
): Promise<{ before: AlertChange[]; after: AlertChange[]; replay: Replay }> {
  const before: AlertChange[] = [];
  const after: AlertChange[] = [];
  let reloadedMs = Number.POSITIVE_INFINITY;
  const replay = new Replay({
    settings,
    past: null,
    fromMs: startMs,
    onChanges: ({ alertChanges }) => {
      for (const one of alertChanges) (one.atMs < reloadedMs ? before : after).push(one);
    },
  });
  await replay.begin(startMs, false);
  const answers: Step[] = Array.from({ length: 24 }, () => ({ do: "answers", afterMs: 5_000, silent: [] }));
  for (const wallet of ["main", "other"])
    replay.observe({ kind: "session", wallet, atMs: startMs, signedIn: false, detail: "" });
  for (const [atMs, observation] of observations([...answers, { do: "mark", usd: 150, live: false }])) {
    if (observation === "acknowledge" || atMs > startMs + 122_000) break;
    replay.passUntil(atMs);
    replay.observe(observation);
  }
  reloadedMs = replay.nowMs + 1;
  await replay.begin(reloadedMs, true, next, true);
  replay.observe({ kind: "time", atMs: reloadedMs });
  replay.passUntil(reloadedMs + 2_000);
  return { before, after, replay };
}

const lifted = (changes: readonly AlertChange[]): string[] =>
  changes.map(({ kind, alert }) => `${kind} ${alert.rule} ${alert.subject} ${alert.ending ?? ""}`).sort();

test("a reload by other rules ends what they changed, and judges the new ones by what is known", async () => {
  const changed = rules
    .replace('when: "!position.hasStopLoss"', 'when: "!position.hasStopLoss && position.size < 0.0"')
    .replace(
      "  - { name: Out,",
      "  - { name: Holds, scope: position, when: position.size > 0.0, severity: info, for: 0s, summary: held }\n  - { name: Gone,",
    );
  const { before, after, replay } = await reloadedBy({ ...settings, ruleSet: rulesOf(changed, wallets) });
  expect(lifted(before)).toContain("fired Out main ");
  expect(lifted(after)).toEqual([
    "ended NoStop other/0.0/SOL ruleChanged",
    "ended Out main ruleChanged",
    "ended Out other ruleChanged",
    "fired Gone main ",
    "fired Gone other ",
    "fired Holds main/0.0/SOL ",
    "fired NoStop other/0.0/SOL ",
  ]);
  expect(replay.watch.status(replay.nowMs).unjudged.filter(({ rule }) => rule === "Near")).toEqual([]);
});

test("a reload without a wallet, or with other PDA indices of it, forgets that wallet alone", async () => {
  const [main, other] = wallets as readonly [WatchedWallet, WatchedWallet];
  const without = await reloadedBy({
    ...settings,
    pairs: [],
    wallets: [main],
    ruleSet: rulesOf(rules, [main]),
  });
  expect(lifted(without.after).filter((one) => !one.includes("Hedge") && !one.includes("Together"))).toEqual(
    lifted(without.before.filter(({ alert }) => alert.wallet === "other")).map((one) =>
      one.replace(/^fired (.*) $/, "ended $1 noLongerWatched"),
    ),
  );
  const { accounts } = without.replay.watch.status(without.replay.nowMs).wallets[0]!;
  expect(accounts.length).toBeGreaterThan(0);
  const indexed = [{ ...main, pdaIndices: [0] }, other];
  const { replay } = await reloadedBy({ ...settings, wallets: indexed, ruleSet: rulesOf(rules, indexed) });
  const [of, kept] = replay.watch.status(replay.nowMs).wallets;
  expect(of?.accounts).toEqual([]);
  expect(kept?.accounts.length).toBe(1);
});

describe("without another reading of the histories", () => {
  const reload = (h: Harness, text: string) =>
    h.reload({ rules: rulesOf(text, [mainWallet]), wallets: [mainWallet] });
  const read = (h: Harness) => {
    h.config();
    h.mark(150);
    h.account([subaccount(2_000, [position(20, 150)])]);
  };

  test("the figures of today are known after a reload", () => {
    const text = `
rules:
  - { name: Today, scope: wallet, when: "wallet.feesToday > 3.0 || wallet.fundingToday < -3.0 || wallet.pnlToday < -1e6", severity: warning, for: 0s, summary: "{{ usd(wallet.feesToday) }}" }
`;
    const h = new Harness({ rules: rulesOf(text, [mainWallet]), wallets: [mainWallet] });
    read(h);
    for (const source of ["fills", "collateral"] as const) h.events(source, [], "main", { coversMs: 0 });
    h.events("funding", [], "main", { pdaIndex: 0, coversMs: 0 });
    read(h);
    const figures = () => {
      const { feesToday, fundingToday } = h.watch.status(h.nowMs).wallets[0]!.figures;
      return [feesToday, fundingToday];
    };
    expect(figures()).toEqual([0, 0]);
    reload(h, text);
    expect(figures()).toEqual([0, 0]);
    h.pass(1_000);
    read(h);
    expect(figures()).toEqual([0, 0]);
    const fee = { kind: "fill", key: "late", fields: { side: "bid", fee: 5, realizedPnl: 0 } } as const;
    h.events("fills", [event({ ...fee, happenedMs: h.nowMs })], "main");
    expect(h.told).toEqual(["Today main fired warning"]);
  });

  test("a position is as old as the fill that opened it, where the fill came before the reload and the position after it", () => {
    const text = `
rules:
  - { name: Old, scope: position, when: "position.openedAgo >= duration('5s')", severity: info, for: 0s, summary: "{{ duration(position.openedAgo) }}" }
`;
    const h = new Harness({ rules: rulesOf(text, [mainWallet]), wallets: [mainWallet] });
    h.config();
    h.mark(150);
    h.account([subaccount(2_000, [])]);
    const filled = { kind: "fill", key: "opened", fields: { side: "bid" }, data: { opened: true } } as const;
    h.events("fills", [event({ ...filled, happenedMs: h.nowMs - 4_000, slot: h.slot })], "main");
    reload(h, text);
    h.pass(1_000);
    read(h);
    expect(h.changes.map(({ alert }) => alert.summary)).toEqual(["5s"]);
  });
});
