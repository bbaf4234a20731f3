import { expect, test } from "vitest";
import {
  event,
  Harness,
  mainWallet,
  marketConfig,
  position,
  prices,
  startMs,
  subaccount,
} from "./harness.ts";

const near = `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < 0.10, resolveWhen: value > 0.12 }
      critical: { when: value < 0.05 }
    for: 0s
    keepFiringFor: 0s
    summary: "{{ wallet.name }}: {{ position.symbol }} {{ percent(value) }}"
`;

/** 100 SOL long at 150 with 1000 USD: liquidated at 144.83; at 150 that is 3.45 % away. */
const endangered = [subaccount(1_000, [position(100, 150)])];

function seen(rules = near, accounts = endangered): Harness {
  const harness = Harness.seeing({ rules }, 150, accounts);
  return harness;
}

function again(before: Harness, rules = near): Harness {
  return before.restarted({ rules });
}

test.each([
  ["is reminded of by the time of its fall", 153.5, "reminder 90"],
  ["gets worse from its value then", 152.8, "worsened 50"],
])("an alert that fell %s, also after a restart", (_, laterUsd, next) => {
  const reminded = (restart: boolean): string[] => {
    const before = Harness.seeing({ rules: near, remind: { critical: "never" } }, 150, endangered);
    before.pass(30 * 60_000);
    before.live(5_000, endangered, 155);
    expect(before.told.at(-2)).toBe("Near main/0.0/SOL fell warning");
    const after = restart ? again(before) : before;
    const since = after.changes.length;
    for (let i = 0; i < 12 * 65; i++) after.live(5_000, endangered, i < 12 * 20 ? 155 : laterUsd);
    return after.changes
      .slice(since)
      .map(({ kind, atMs }) => `${kind} ${Math.round((atMs - startMs) / 60_000)}`);
  };
  expect(reminded(false)).toEqual([next]);
  expect(reminded(true)).toEqual([next]);
});

test("the end of a position that flipped leaves the state of the new one alone", () => {
  const before = seen();
  const short = [subaccount(1_000, [position(-100, 150)])];
  before.account(short);
  before.live(20_000, short, 150);
  expect(before.told.at(-1)).toBe("Near main/0.0/SOL ended critical flipped");
  const after = again(before);
  after.live(20_000, short, 150);
  expect(after.told).toEqual([]);
});

test("a clock that stopped just before a stop begins anew after it", () => {
  const held = near.replace("for: 0s", "for: 12s").replace("keepFiringFor: 0s", "keepFiringFor: 12s");
  const start = (from: Harness): Harness =>
    new Harness({ rules: held, remembered: from.remembered, atMs: from.nowMs });
  let h = new Harness({ rules: held });
  // 8.4 % and 3.45 % from liquidation.
  const [far, close] = [[subaccount(1_700, [position(100, 150)])], endangered];
  h.live(20_000, far, 150);
  expect(h.told).toEqual(["Near main/0.0/SOL fired warning"]);
  h.live(10_000, close, 150);
  h.live(5_000, far, 150);
  h = start(h);
  h.live(15_000, close, 150);
  expect(h.told).toEqual([]);
  h.live(5_000, close, 150);
  expect(h.told).toEqual(["Near main/0.0/SOL rose critical"]);
  h.live(10_000, far, 150);
  h.live(5_000, close, 150);
  h = start(h);
  h.live(15_000, far, 150);
  expect(h.told).toEqual([]);
  h.live(5_000, far, 150);
  expect(h.told).toEqual(["Near main/0.0/SOL fell warning"]);
});

test("a recovery that waited for word of a liquidation goes on waiting, and is not told as another rule", () => {
  const before = seen();
  const smaller = [subaccount(1_000, [position(20, 150)])];
  before.account(smaller);
  expect(before.told).toHaveLength(1);
  const after = again(before);
  after.live(20_000, smaller, 150);
  expect(after.told).toEqual(["Near main/0.0/SOL ended critical recovered"]);
  expect(after.asks).toContain("liquidations main");
});

const poor = `
rules:
  - name: Poor
    scope: trader
    when: trader.equity < 1500.0
    severity: warning
    keepFiringFor: 0s
    summary: "equity {{ usd(trader.equity) }}"
`;

test("a recovery that waited for word is told with the figures of its telling", () => {
  const harness = seen(poor);
  // Smaller and richer at once: it may have been a liquidation.
  harness.account([subaccount(2_000, [position(50, 150)])]);
  expect(harness.told).toEqual(["Poor main/0.0 fired warning"]);
  harness.live(90_000, [subaccount(4_000, [position(50, 150)])], 150);
  expect(harness.changes.find(({ kind }) => kind === "ended")!.alert.summary).toBe("equity $4,000.00");
});

test("a recovery that waited for word while nothing could be read is told with the newest figures of before", () => {
  const harness = seen(poor);
  harness.account([subaccount(2_000, [position(50, 150)])]);
  harness.pass(5_000);
  harness.account([subaccount(4_000, [position(50, 150)])]);
  harness.pass(120_000);
  expect(harness.changes.find(({ kind }) => kind === "ended")!.alert.summary).toBe("equity $4,000.00");
});

const liquidation = event({
  kind: "liquidation",
  slot: 15,
  key: "500.1.0",
  wallet: "main",
  pdaIndex: 0,
  subaccount: 0,
  symbol: "SOL",
  happenedMs: startMs,
  fields: { kind: "market", role: "liquidatee", size: 100, price: 144, positionClosed: true },
});

test("a liquidation of which history knows already is why a position is gone, though nobody tells of it again", () => {
  const before = seen();
  before.events("notifications", [liquidation]);
  const after = again(before);
  after.live(60_000, [subaccount(100, [])], 140);
  expect(after.told).toEqual(["Near main/0.0/SOL ended critical liquidated"]);
});

test("a liquidation whose account is not named is why a position is gone, told before accounts were read or after", () => {
  const unnamed = { ...liquidation, pdaIndex: null, subaccount: null };
  const known = seen();
  known.events("notifications", [unnamed]);
  const news = again(seen());
  news.events("notifications", [unnamed]);
  for (const after of [again(known), news]) {
    after.live(60_000, [subaccount(100, [])], 140);
    expect(after.told).toEqual(["Near main/0.0/SOL ended critical liquidated"]);
  }
});

test.each([
  ["in this run", false],
  ["before a restart", true],
])("a liquidation of the future, which was read %s, hides none that is true", (_, restart) => {
  const before = seen();
  const far = { ...liquidation, key: "far", happenedMs: startMs + 86_400_000 };
  before.events("notifications", [far]);
  const after = restart ? again(before) : before;
  after.events("notifications", [liquidation]);
  after.live(60_000, [subaccount(100, [])], 140);
  expect(after.told.filter((one) => one.includes("ended"))).toEqual([
    "Near main/0.0/SOL ended critical liquidated",
  ]);
});

test("a liquidation that was told as one alert's end is not told as the next one's, before a restart or after", () => {
  const before = seen();
  before.events("notifications", [{ ...liquidation, slot: before.slot + 5 }]);
  before.account([subaccount(100, [])]);
  before.account(endangered);
  expect(before.told.slice(1)).toEqual([
    "Near main/0.0/SOL ended critical liquidated",
    "Near main/0.0/SOL fired critical",
  ]);
  const after = again(before);
  after.config();
  after.mark(150);
  after.account(endangered);
  for (const harness of [before, after]) {
    harness.live(20_000, endangered, 170);
    expect(harness.told.at(-1)).toBe("Near main/0.0/SOL ended critical recovered");
  }
});

test("a liquidation from before an alert began is not why its position is gone", () => {
  const before = seen();
  before.events("notifications", [{ ...liquidation, happenedMs: startMs - 10 * 60_000 }]);
  const after = again(before);
  after.live(60_000, [subaccount(100, [])], 140);
  expect(after.told).toEqual(["Near main/0.0/SOL ended critical closed"]);
});

test("an account whose positions went while nobody watched waits out the way back of its rules", () => {
  const rules = `
rules:
  - name: Margin
    scope: trader
    when: trader.marginRatio > 0.1
    severity: critical
    keepFiringFor: 20s
    summary: "margin"
`;
  const before = seen(rules);
  expect(before.told).toEqual(["Margin main/0.0 fired critical"]);
  const after = again(before, rules);
  after.live(15_000, [subaccount(1_000, [])], 150);
  expect(after.told).toEqual([]);
  after.live(90_000, [subaccount(1_000, [])], 150);
  expect(after.told).toEqual(["Margin main/0.0 ended critical recovered"]);
});

test("a position that was replaced while nobody watched makes the end of its account's alert wait for word", () => {
  const rules = `
rules:
  - { name: Margin, scope: trader, when: trader.marginRatio > 0.1, severity: critical, keepFiringFor: 0s, summary: "m" }
`;
  for (const shrunk of [true, false]) {
    const before = seen(rules);
    const after = again(before, rules);
    const now = shrunk ? position(90, 150) : position(100, 150);
    after.live(5_000, [subaccount(1_000, [now])], 150);
    after.account([subaccount(100_000, [now])]);
    const ended = "Margin main/0.0 ended critical recovered";
    expect(after.told, `shrunk: ${shrunk}`).toEqual(shrunk ? [] : [ended]);
    after.events("notifications", [{ ...liquidation, slot: after.slot, happenedMs: after.nowMs }]);
    expect(after.told[0]).toBe(shrunk ? "Margin main/0.0 ended critical liquidated" : ended);
  }
});

test("an alert ends when its rule selects its subject no more", () => {
  const rules = `
rules:
  - name: Poor
    scope: wallet
    when: wallet.equity < 10000.0
    severity: critical
    summary: "poor"
`;
  const before = seen(rules);
  expect(before.told).toEqual(["Poor main fired critical"]);
  const after = again(before, rules.replace("when:", "select: { desk: beta }\n    when:"));
  after.live(10_000, endangered, 150);
  expect(after.told).toEqual(["Poor main ended critical ruleChanged"]);
});

test("a window over the market that a position's rule looks at has its past after a restart", () => {
  const rules = `
rules:
  - name: Falling
    scope: position
    when: change("market.markPrice", "1m") < -10.0
    severity: critical
    summary: "falling"
`;
  const before = seen(rules);
  before.live(120_000, endangered, 150);
  const after = again(before, rules);
  for (const tick of before.all.flatMap((one) => one.ticks)) after.watch.warmUp.rememberTick(tick);
  after.config();
  after.mark(135);
  after.account(endangered);
  after.pass(1_000);
  expect(after.told).toEqual(["Falling main/0.0/SOL fired critical"]);
});

test("a gap in which the process stood still counts for nothing, whatever arrives first after it", () => {
  const rules = `
rules:
  - name: Halted
    scope: exchange
    when: "!exchange.active"
    for: 10m
    severity: warning
    summary: "halted"
`;
  const harness = new Harness({ rules });
  const status = () =>
    harness.see({
      kind: "exchangeStatus",
      atMs: harness.nowMs,
      ...{ active: false, gated: false, withdrawalsAvailable: true },
    });
  status();
  harness.nowMs += 3_600_000;
  status();
  expect(harness.told).toEqual([]);
});

test("what changed in a market or in the exchange's status while nobody watched is an event, told once", () => {
  const rules = `
rules:
  - name: Changed
    on: marketChange
    severity: warning
    summary: "{{ event.field }} {{ event.before }} {{ event.after }}"
  - name: Status
    on: exchangeStatus
    severity: warning
    summary: "active {{ event.active }}, was {{ event.wasActive }}"
`;
  const status = (harness: Harness, active: boolean) =>
    harness.see({
      kind: "exchangeStatus",
      atMs: harness.nowMs,
      ...{ active, gated: false, withdrawalsAvailable: true },
    });
  const before = seen(rules);
  status(before, true);
  const after = again(before, rules);
  for (let i = 0; i < 2; i++) {
    after.config(marketConfig("SOL", { status: "postOnly" }));
    status(after, false);
  }
  expect(after.changes.map((change) => change.alert.summary)).toEqual([
    "status active postOnly",
    "active no, was yes",
  ]);
  // As history had it: the same again is no news.
  const third = again(after, rules);
  third.config(marketConfig("SOL", { status: "postOnly" }));
  expect(third.all.flatMap((one) => one.facts)).toEqual([]);
});

test("a market that the exchange does not list any more ends what stood about it, before a restart or after", () => {
  const rules = `
rules:
  - name: Low
    scope: market
    when: market.markPrice < 10.0
    severity: critical
    summary: "low"
`;
  const start = (): Harness => {
    const harness = new Harness({ rules });
    harness.config(marketConfig(), marketConfig("OLD"));
    harness.mark(prices(150), prices(5, "OLD"));
    return harness;
  };
  const delisted = (harness: Harness): void => {
    for (let i = 0; i < 24; i++) {
      harness.pass(5_000);
      harness.mark(prices(150));
      harness.config();
    }
  };
  const on = start();
  delisted(on);
  expect(on.told).toEqual(["Low market/OLD fired critical", "Low market/OLD ended critical noLongerWatched"]);

  const after = again(start(), rules);
  delisted(after);
  expect(after.told).toEqual(["Low market/OLD ended critical noLongerWatched"]);
  expect(after.remembered.ruleStates).toEqual([]);
});

test("a market that one list and one answer of prices leave out is known when a position in it is opened", () => {
  const rules = `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.2
    severity: critical
    summary: "near"
`;
  const h = new Harness({ rules });
  h.config(marketConfig(), marketConfig("BTC"));
  h.mark(prices(150), prices(150, "BTC"));
  h.account([subaccount(1_000, [])]);
  h.pass(5_000);
  // Rows that could not be read.
  h.mark(prices(150));
  h.config();
  h.see({ kind: "prices", atMs: h.nowMs, markets: [prices(150, "BTC")], live: true });
  h.account([subaccount(1_000, [position(50, 150, "BTC")])]);
  expect(h.told).toEqual(["Near main/0.0/BTC fired critical"]);
});

test("a broken channel that is no longer configured is not nagged about", () => {
  const before = new Harness({ rules: near, routing: { receivers: ["chat", "mail"] } });
  before.see({ kind: "channel", atMs: before.nowMs, channel: "chat", working: false, detail: "401" });
  const after = new Harness({
    rules: near,
    routing: { receivers: ["mail"] },
    channels: ["mail"],
    remembered: before.remembered,
  });
  after.pass(1_000);
  expect(after.told).toEqual(["ChannelBroken daemon ended critical noLongerWatched"]);
});

test("an account that is no longer read is not watched any more, also where its end waited for word", () => {
  const standing = seen();
  const waiting = seen();
  waiting.account([subaccount(1_000, [])]);
  expect(waiting.told).toEqual(["Near main/0.0/SOL fired critical"]);
  for (const before of [standing, waiting]) {
    const wallets = [{ ...mainWallet, pdaIndices: [7] }];
    const { remembered } = before;
    const after = new Harness({ rules: near, wallets, remembered, atMs: before.nowMs + 1_000 });
    after.pass(1_000);
    expect(after.told).toEqual(["Near main/0.0/SOL ended critical noLongerWatched"]);
    expect(after.remembered.ruleStates).toEqual([]);
    expect(after.all.flatMap(({ ruleStatesGone }) => ruleStatesGone)).toHaveLength(1);
    // Nor does another start speak of it as open.
    const open = before.remembered.keep.has("position/main/0.0/SOL");
    const gone = after.all.flatMap(({ keep }) => keep).filter(({ name }) => name === "position/main/0.0/SOL");
    expect(gone).toEqual(open ? [{ name: "position/main/0.0/SOL", value: null }] : []);
  }
  expect(standing.remembered.keep.has("position/main/0.0/SOL")).toBe(true);
});

test("an ending that waited for word of its reason goes on waiting with what was known of it", () => {
  const rules = near.replace("for: 0s", "for: 10s");
  const start = (): Harness => {
    const harness = seen(rules);
    harness.live(20_000, endangered, 150);
    expect(harness.told).toEqual(["Near main/0.0/SOL fired critical"]);
    return harness;
  };
  // The other side holds too, and has taken the row of the rule's state over when the daemon stops.
  const flipped = start();
  const short = [subaccount(1_000, [position(-100, 150)])];
  flipped.account(short);
  const after = again(flipped, rules);
  after.live(5_000, short, 150);
  after.live(40_000, short, 150);
  expect(after.told).toContain("Near main/0.0/SOL ended critical flipped");

  // What was seen to be gone is not taken up by the next one of its name, nor ended by its liquidation.
  const gone = start();
  gone.account([subaccount(1_000, [])]);
  const next = again(gone, rules);
  next.live(20_000, endangered, 150);
  const its = { key: "late", slot: next.slot + 5, happenedMs: next.nowMs, seenMs: next.nowMs };
  next.events("liquidations", [{ ...liquidation, ...its }]);
  next.account([subaccount(100, [])]);
  next.live(30_000, [subaccount(100, [])], 150);
  expect(next.told.filter((line) => line.startsWith("Near"))).toEqual([
    "Near main/0.0/SOL fired critical",
    "Near main/0.0/SOL ended critical closed",
    "Near main/0.0/SOL ended critical liquidated",
  ]);
});

test.each([
  ["word of a liquidation came", near, true, "liquidated"],
  ["nothing came", near, false, "closed"],
  ["the rule went", near.replace("Near", "Other"), false, "ruleChanged"],
])("what was known of an ending goes with it, where after a restart %s", (_, rules, told, ending) => {
  const before = seen();
  before.account([subaccount(100, [])]);
  const kept = (of: Harness) => [...of.remembered.keep.keys()].filter((name) => name.startsWith("ending/"));
  expect(kept(before)).toEqual(["ending/1"]);
  const news = told ? [{ ...liquidation, slot: before.slot, happenedMs: before.nowMs }] : [];
  const remembered = { ...before.remembered, liquidations: news };
  const after = new Harness({ rules, remembered, atMs: before.nowMs + 1_000 });
  after.live(90_000, [subaccount(100, [])], 140);
  expect(after.told).toEqual([`Near main/0.0/SOL ended critical ${ending}`]);
  expect(kept(after)).toEqual([]);
  // As well as what a start found that had not gone.
  const later = { ...after.remembered, keep: new Map([["ending/1", remembered.keep.get("ending/1")!]]) };
  const last = new Harness({ rules, remembered: later, atMs: after.nowMs + 1_000 });
  last.pass(1_000);
  expect(kept(last)).toEqual([]);
});
