import { describe, expect, test } from "vitest";
import type { OrderState } from "../../src/domain/account.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import {
  event,
  figures,
  Harness,
  mainWallet,
  marketConfig,
  notification,
  position,
  prices,
  rulesOf,
  scheduleMs,
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
    keepFiringFor: 10s
    summary: "{{ wallet.name }}: {{ position.symbol }} {{ percent(value) }}"
`;
const marginHigh = `
rules:
  - name: MarginHigh
    scope: trader
    when: trader.marginRatio > 0.8
    for: 10s
    keepFiringFor: 0s
    severity: warning
    summary: "{{ trader.name }}: margin ratio {{ percent(trader.marginRatio) }}"
`;

const longMarginHigh = marginHigh.replace("keepFiringFor: 0s", "keepFiringFor: 5m");

/** 100 SOL long at 150 with 1000 USD: liquidated at 144.83; at 150 that is 3.45 % away. */
const endangered = [subaccount(1_000, [position(100, 150)])];
/** The same with 5000 USD: liquidated at 103.45, 31 % away. */
const safe = [subaccount(5_000, [position(100, 150)])];

function seen(rules: string, accounts = safe, mark = 150): Harness {
  const harness = new Harness({ rules });
  harness.config();
  harness.mark(mark);
  harness.account(accounts);
  return harness;
}

describe("conditions", () => {
  test("an account that is already close to liquidation is told with the first answer", () => {
    const harness = seen(near, endangered);
    expect(harness.owed).toEqual(["chat: Near main/0.0/SOL fired critical"]);
    const [change] = harness.changes;
    expect(change?.alert.alreadySo).toBe(true);
    expect(change?.alert.summary).toBe("main: SOL 3.45%");
    expect(change?.alert.dataAtMs).toBe(startMs);
    expect(change?.details.map(([name]) => name)).not.toContain("Exchange's risk tier");
  });

  test("whatever arrives last completes the picture: state before marks before configuration", () => {
    const harness = new Harness({ rules: near });
    harness.account(endangered);
    harness.mark(150);
    expect(harness.told).toEqual([]);
    harness.config();
    expect(harness.told).toEqual(["Near main/0.0/SOL fired critical"]);
    expect(harness.changes[0]?.alert.alreadySo).toBe(true);
  });

  test("a falling mark carries a position through the levels, a rising one back, and it ends once", () => {
    const harness = seen(near);
    harness.mark(112);
    expect(harness.changes[0]?.alert.alreadySo).toBe(false);
    harness.mark(106);
    harness.live(20_000, safe, 116);
    harness.live(20_000, safe, 150);
    expect(harness.told).toEqual([
      "Near main/0.0/SOL fired warning",
      "Near main/0.0/SOL rose critical",
      "Near main/0.0/SOL fell warning",
      "Near main/0.0/SOL ended warning recovered",
    ]);
    expect(harness.owed).toHaveLength(4);
  });

  test("`for` is a time, and time alone ends it", () => {
    const harness = seen(marginHigh, endangered, 145.2);
    expect(harness.told).toEqual([]);
    harness.pass(9_999);
    expect(harness.told).toEqual([]);
    harness.pass(1);
    expect(harness.told).toEqual(["MarginHigh main/0.0 fired warning"]);
  });

  test("the age that a message tells is that of the figures, not of the configuration", () => {
    const harness = new Harness({ rules: near });
    harness.config();
    harness.pass(9_000);
    harness.mark(150);
    harness.pass(1_000);
    harness.account(endangered);
    expect(harness.changes[0]?.alert.dataAtMs).toBe(startMs + 9_000);
  });

  test("a rise that is on its way is not told as a reminder before", () => {
    const harness = seen(near.replace("for: 0s", "for: 5s"), safe, 112);
    harness.live(10_000, safe, 112);
    harness.live(10_000, safe, 105);
    expect(harness.told).toEqual(["Near main/0.0/SOL fired warning", "Near main/0.0/SOL rose critical"]);
  });

  test("what rules do not select is no subject", () => {
    const harness = seen(near.replace("value:", "select: { symbol: [BTC] }\n    value:"), endangered);
    expect(harness.told).toEqual([]);
  });

  test("an exchange that counts its sequences anew is believed: the slot says what is newer", () => {
    const harness = seen(near, [subaccount(5_000, [position(100, 150)], { sequence: 55 })]);
    harness.account([subaccount(1_000, [position(100, 150)], { sequence: 2 })]);
    expect(harness.told).toEqual(["Near main/0.0/SOL fired critical"]);
  });

  test("an older answer is dropped", () => {
    const harness = seen(near);
    harness.slot = -100;
    harness.account(endangered);
    expect(harness.told).toEqual([]);
  });
});

describe("endings", () => {
  test("a position that is gone asks for word, and is closed when there is none", () => {
    const harness = seen(near, endangered);
    harness.account([subaccount(1_000, [])]);
    expect(harness.told).toHaveLength(1);
    const words = ["liquidations main", "notifications main", "fills main"];
    expect(harness.asks).toEqual(["candles null", ...words]);
    harness.pass(14_000);
    harness.events("liquidations", []);
    expect(harness.told).toHaveLength(1);
    harness.pass(1_000);
    harness.events("liquidations", []);
    expect(harness.told.at(-1)).toBe("Near main/0.0/SOL ended critical closed");
    expect(harness.owed.at(-1)).toBe("chat: Near main/0.0/SOL ended critical closed");
  });

  test("patience ends without any answer", () => {
    const harness = seen(near, endangered);
    harness.account([subaccount(1_000, [])]);
    harness.pass(59_000);
    const ofNear = () => harness.told.filter((line) => line.startsWith("Near"));
    expect(ofNear()).toHaveLength(1);
    harness.pass(1_000);
    expect(ofNear().at(-1)).toBe("Near main/0.0/SOL ended critical closed");
  });

  test("a liquidation that the exchange's history shows late is still the end; what older pages say is no word", () => {
    const harness = seen(near, endangered);
    harness.account([subaccount(10, [])]);
    harness.pass(6_000);
    harness.events("liquidations", []);
    harness.pass(8_000);
    harness.events("liquidations", []);
    harness.pass(2_000);
    harness.events("liquidations", [], "main", { past: true });
    expect(harness.told).toHaveLength(1);
    harness.events("liquidations", [{ ...liquidation, happenedMs: startMs }]);
    expect(harness.told.at(-1)).toBe("Near main/0.0/SOL ended critical liquidated");
  });

  test("the history of one PDA index says nothing about another", () => {
    const harness = seen(near, endangered);
    harness.account([subaccount(10, [])]);
    harness.pass(20_000);
    harness.events("liquidations", [], "main", { pdaIndex: 1 });
    expect(harness.told).toHaveLength(1);
    harness.events("liquidations", [], "main", { pdaIndex: 0 });
    expect(harness.told.at(-1)).toBe("Near main/0.0/SOL ended critical closed");
  });

  test("a fill on the book that left nothing of the position is word that it was closed", () => {
    const fill = (key: string, tradeType: string, data: object | null) =>
      event({ kind: "fill", key, happenedMs: startMs + 1_000, fields: { tradeType }, data });
    const closing = { closed: true, flat: true };
    const gone = (): Harness => {
      const harness = seen(near, endangered);
      harness.pass(2_000);
      harness.account([subaccount(1_000, [])]);
      return harness;
    };
    const harness = gone();
    harness.events("fills", [fill("f1", "limit", null)]);
    harness.events("fills", [{ ...fill("f3", "market", closing), happenedMs: startMs - 10_000 }]);
    harness.events("fills", [{ ...fill("f4", "market", closing), symbol: "BTC" }]);
    expect(harness.told).toHaveLength(1);
    harness.events("fills", [fill("f5", "market", closing)]);
    expect(harness.told.at(-1)).toBe("Near main/0.0/SOL ended critical closed");
    const taken = gone();
    taken.events("fills", [fill("f1", "limit", null), fill("f2", "liquidation", closing)]);
    expect(taken.told).toHaveLength(1);
  });

  const liquidation = event({
    kind: "liquidation",
    key: "l1",
    slot: 15,
    happenedMs: startMs + 1_000,
    fields: {
      kind: "market",
      role: "liquidatee",
      side: "long",
      size: 100,
      price: 144,
      notional: 14_400,
      positionClosed: true,
    },
  });

  test("a position that was liquidated ends as liquidated, whichever word comes first", () => {
    const before = seen(near, endangered);
    before.events("notifications", [liquidation]);
    before.account([subaccount(10, [])]);
    expect(before.told.at(-1)).toBe("Near main/0.0/SOL ended critical liquidated");

    const after = seen(near, endangered);
    after.account([subaccount(10, [])]);
    after.pass(3_000);
    after.events("notifications", [liquidation]);
    expect(after.told.at(-1)).toBe("Near main/0.0/SOL ended critical liquidated");
    expect(after.changes.at(-1)?.happenedMs).toBe(startMs + 1_000);
  });

  test("what got better because a part was liquidated is not called recovered", () => {
    const harness = seen(near, endangered);
    const smaller = [subaccount(1_000, [position(20, 150)])];
    harness.account(smaller);
    harness.events("notifications", [
      { ...liquidation, fields: { ...liquidation.fields, positionClosed: false } },
    ]);
    harness.live(20_000, smaller, 150);
    expect(harness.told.at(-1)).toMatch(/ended \w+ liquidated$/);
  });

  test("a part that was liquidated hours ago is not what ends it now: a deposit resolves, a close closes", () => {
    const smaller = [subaccount(600, [position(60, 150)])];
    const later = (then: Parameters<Harness["account"]>[0]): string | undefined => {
      const harness = seen(near, endangered);
      harness.account(smaller);
      const partly = { ...liquidation.fields, positionClosed: false };
      harness.events("notifications", [{ ...liquidation, happenedMs: harness.nowMs, fields: partly }]);
      harness.live(600_000, smaller, 150);
      harness.live(30_000, then, 150);
      return harness.told.filter((line) => line.startsWith("Near")).at(-1);
    };
    expect(later([subaccount(20_000, [position(60, 150)])])).toMatch(/ended \w+ recovered$/);
    expect(later([subaccount(600, [])])).toMatch(/ended \w+ closed$/);
  });

  test("an account as a whole ends as liquidated too, though its rule does not wait", () => {
    const harness = seen(marginHigh, endangered, 145.2);
    harness.pass(10_000);
    harness.account([subaccount(10, [])]);
    expect(harness.told.at(-1)).toBe("MarginHigh main/0.0 fired warning");
    harness.events("liquidations", [{ ...liquidation, happenedMs: harness.nowMs }]);
    expect(harness.told.at(-1)).toBe("MarginHigh main/0.0 ended warning liquidated");
  });

  test("an account of which a liquidation left no position ends at once, as it last stood", () => {
    const harness = seen(longMarginHigh, endangered, 145.2);
    harness.live(15_000, endangered, 145.2);
    expect(harness.told).toEqual(["MarginHigh main/0.0 fired warning"]);
    const before = harness.changes[0]!.alert.summary;
    harness.pass(1_000);
    harness.account([subaccount(10, [])]);
    expect(harness.told).toHaveLength(1);
    harness.events("liquidations", [{ ...liquidation, happenedMs: harness.nowMs }]);
    expect(harness.told.at(-1)).toBe("MarginHigh main/0.0 ended warning liquidated");
    const ended = harness.changes.at(-1)!;
    expect(ended.alert.summary).toBe(before);
    expect(ended.stands).toBe("noPositions");
    expect(ended.details.map(([name]) => name)).toContain("Margin ratio");
    expect(ended.details.map(([name]) => name)).not.toContain("Exchange's risk tier");
  });

  test("an account whose liquidation comes with the prices that made it ends at once, though it held by these prices", () => {
    const harness = seen(longMarginHigh, endangered, 145.2);
    harness.live(15_000, endangered, 145.2);
    harness.pass(1_000);
    harness.mark(145);
    harness.account([subaccount(10, [])]);
    harness.events("liquidations", [{ ...liquidation, happenedMs: harness.nowMs }]);
    expect(harness.told.at(-1)).toBe("MarginHigh main/0.0 ended warning liquidated");
  });

  describe("an alert about orders alone", () => {
    const order: OrderState = {
      ...{ symbol: "SOL", sequence: "1", side: "bid", kind: "limit", priceTicks: 15_000n },
      ...{ remainingLots: 100_000n, initialLots: 100_000n, reduceOnly: false, stopLoss: false },
      status: "active",
    };
    const ordered = [subaccount(1_000, [], { orders: [order] })];
    const empty = [subaccount(1_000, [])];
    const held = [subaccount(1_000, [position(1, 150)])];
    const fired = "MarginHigh main/0.0 fired warning";
    const firing = () => {
      const harness = seen(longMarginHigh, held);
      harness.live(5_000, empty, 150);
      harness.live(20_000, ordered, 150);
      expect(harness.told).toEqual([fired]);
      return harness;
    };
    const liquidatedIn = (harness: Harness) =>
      harness.events("liquidations", [{ ...liquidation, slot: harness.slot + 1, happenedMs: harness.nowMs }]);

    test.each([
      ["and ends with that reason", false],
      ["after a restart as well", true],
    ])("keeps firing, though a position that no reading showed was liquidated, %s", (_, restart) => {
      const before = firing();
      const harness = restart ? before.restarted({ rules: longMarginHigh }) : before;
      harness.live(5_000, empty, 150);
      liquidatedIn(harness);
      harness.live(90_000, empty, 150);
      expect(harness.told).toEqual(restart ? [] : [fired]);
      harness.live(300_000, empty, 150);
      const ended = "MarginHigh main/0.0 ended warning liquidated";
      expect(harness.told).toEqual(restart ? [ended] : [fired, ended]);
    });

    test("ends at once where readings showed the position that was liquidated", () => {
      const harness = firing();
      harness.live(30_000, held, 150);
      harness.pass(1_000);
      liquidatedIn(harness);
      harness.live(30_000, empty, 150);
      expect(harness.told).toEqual([fired, "MarginHigh main/0.0 ended warning liquidated"]);
    });

    test("goes on where it holds again after an unseen liquidation", () => {
      const harness = firing();
      harness.live(5_000, empty, 150);
      liquidatedIn(harness);
      harness.live(30_000, ordered, 150);
      harness.live(200_000, empty, 150);
      expect(harness.told).toEqual([fired]);
    });
  });

  test("an account whose positions a person closed keeps firing as long as its rule says", () => {
    const harness = seen(longMarginHigh, endangered, 145.2);
    harness.live(15_000, endangered, 145.2);
    harness.live(60_000, [subaccount(10, [])], 145.2);
    expect(harness.told).toEqual(["MarginHigh main/0.0 fired warning"]);
  });

  test("the end of a position says what was seen last of it, and that another one stands there", () => {
    const harness = seen(near, endangered);
    harness.pass(2_000);
    harness.mark(149.6);
    harness.pass(2_000);
    harness.account([subaccount(1_000, [{ ...position(1, 150), sequence: "2" }])]);
    harness.live(60_000, [subaccount(1_000, [{ ...position(1, 150), sequence: "2" }])], 149.6);
    expect(harness.told.at(-1)).toBe("Near main/0.0/SOL ended critical closed");
    const ended = harness.changes.at(-1)!;
    expect(ended.alert.summary).toBe("main: SOL 3.2%");
    expect(ended.alert.dataAtMs).toBe(startMs);
    expect(ended.details).toContainEqual(["Distance", "3.2%"]);
    expect(ended.stands).toBe("another");
  });

  test("where nothing is known now, the newest that was known is told, with its time", () => {
    const harness = seen(near, endangered);
    harness.pass(2_000);
    harness.mark(149.6);
    harness.account(endangered);
    harness.pass(60_000);
    const [firing] = harness.watch.status(harness.nowMs).firing;
    expect(firing).toMatchObject({ summary: "main: SOL 3.2%", textAtMs: startMs + 2_000 });
    harness.pass(5 * 60_000);
    const reminder = harness.changes.find((change) => change.kind === "reminder");
    expect(reminder?.alert).toMatchObject({ summary: "main: SOL 3.2%", dataAtMs: startMs + 2_000 });
  });

  test("a deposit that takes the liquidation price away resolves", () => {
    const harness = seen(near, endangered);
    harness.live(20_000, [subaccount(20_000, [position(100, 150)])], 150);
    expect(harness.told.at(-1)).toMatch(/ended \w+ recovered$/);
    expect(harness.changes.at(-1)?.alert.value).toBe(Number.POSITIVE_INFINITY);
  });

  test("a position that flips is another one", () => {
    const harness = seen(near, endangered);
    harness.account([subaccount(1_000, [position(-100, 150)])]);
    harness.pass(15_000);
    harness.events("liquidations", []);
    expect(harness.told).toEqual([
      "Near main/0.0/SOL fired critical",
      "Near main/0.0/SOL fired critical",
      "Near main/0.0/SOL ended critical flipped",
    ]);
    expect(harness.changes[1]?.alert.alreadySo).toBe(false);
  });

  test("a subaccount that vanishes takes its alerts along", () => {
    const harness = seen(near, [
      subaccount(100, []),
      subaccount(1_000, [position(100, 150)], { subaccount: 3 }),
    ]);
    expect(harness.told).toEqual(["Near main/0.3/SOL fired critical"]);
    harness.account([subaccount(100, [])]);
    harness.pass(15_000);
    harness.events("liquidations", []);
    expect(harness.told.at(-1)).toBe("Near main/0.3/SOL ended critical closed");
  });
});

describe("blindness", () => {
  test("stale data neither fire nor resolve, and are told after a while as one alert", () => {
    const harness = seen(near, endangered);
    harness.pass(15_000);
    expect(harness.told).toHaveLength(1);
    harness.pass(30_000 + 2);
    const blind = harness.changes.filter((change) => change.alert.rule === "Blind");
    expect(blind.map((change) => change.alert.labels.source).sort()).toEqual(["traderState"]);
    expect(blind[0]?.alert.severity).toBe("critical");
    expect(blind[0]?.alert.summary).toBe(
      "main SOL long was 3.45% from liquidation 45s ago. No data on wallet main for 45s: no read of the exchange succeeds since 12:00:00 UTC",
    );
    expect(harness.told.filter((line) => line.includes("ended"))).toEqual([]);
  });

  test("ends when data come back, and the alert beneath goes on", () => {
    const harness = seen(near, endangered);
    harness.pass(60_000);
    harness.config();
    harness.mark(150);
    harness.account(endangered);
    harness.pass(1_000);
    expect(harness.told.filter((line) => line.startsWith("Blind")).at(-1)).toMatch(
      /ended critical recovered$/,
    );
    expect(harness.watch.status(harness.nowMs).firing.map((alert) => alert.rule)).toEqual(["Near"]);
  });

  test("more than three wallets are one alert", () => {
    const wallets = ["a", "b", "c", "d", "e"].map((name, index) => ({
      ...mainWallet,
      name,
      authority: `${mainWallet.authority.slice(0, -1)}${index + 1}`,
    }));
    const harness = Harness.seeing({ rules: near, wallets }, 150);
    for (const wallet of wallets) harness.account(safe, wallet.name);
    for (let passed = 0; passed < 90_000; passed += 5_000) {
      harness.pass(5_000);
      harness.config();
      harness.mark(150);
    }
    expect(harness.told).toEqual(["Blind exchange fired warning"]);
    for (const wallet of wallets) harness.account(safe, wallet.name);
    harness.pass(1_000);
    expect(harness.told.at(-1)).toBe("Blind exchange ended warning recovered");
    expect(harness.told).toHaveLength(2);
  });

  test("a channel that is broken is told on the others, once", () => {
    const harness = new Harness({ rules: near, routing: { receivers: ["chat", "mail"] } });
    const broken = { kind: "channel", channel: "chat", working: false, detail: "401" } as const;
    harness.see({ ...broken, atMs: harness.nowMs });
    harness.see({ ...broken, atMs: harness.nowMs + 1 });
    expect(harness.owed).toEqual(["mail: ChannelBroken daemon fired critical"]);
    harness.see({ ...broken, working: true, atMs: harness.nowMs + 2 });
    expect(harness.told.at(-1)).toBe("ChannelBroken daemon ended critical recovered");
  });

  test("what was owed to a channel that is gone is told on the others, once, without an end", () => {
    const harness = new Harness({ rules: near, routing: { receivers: ["chat", "mail"] } });
    const drop = (messages: number) =>
      harness.see({ kind: "dropped", atMs: harness.nowMs, channel: "chat", messages });
    drop(1);
    expect(harness.owed).toEqual(["mail: MessagesDropped daemon fired warning"]);
    expect(harness.changes.at(-1)?.alert.summary).toBe(
      "1 message to chat was dropped: no channel of this name is configured",
    );
    harness.pass(10);
    drop(3);
    expect(harness.changes.at(-1)?.alert.summary).toBe(
      "3 messages to chat were dropped: no channel of this name is configured",
    );
    harness.pass(3 * 3_600_000);
    expect(harness.told.filter((line) => line.startsWith("MessagesDropped"))).toEqual(
      Array(2).fill("MessagesDropped daemon fired warning"),
    );
  });
});

const eventRules = `
rules:
  - name: Liquidated
    on: liquidation
    when: event.role == "liquidatee"
    severity: critical
    summary: "{{ wallet.name }}: {{ event.symbol }} liquidated"
  - name: Filled
    on: notification
    when: event.type == "order_filled"
    severity: info
    throttle: 1m
    summary: "{{ wallet.name }}: filled"
`;

describe("events", () => {
  test("match once, are one alert that needs no ending", () => {
    const harness = seen(eventRules);
    harness.events("notifications", [notification("n1", "order_filled")]);
    expect(harness.owed).toEqual(["chat: Filled main/0.0/SOL fired info"]);
    expect(harness.changes[0]?.alert).toMatchObject({ event: true, state: "ended", ending: null });
    expect(harness.acknowledgements).toEqual(["n1 whenDelivered waiting"]);
  });

  test("a throttle holds back, then owes what it held as one group, each handled by it", () => {
    const harness = seen(eventRules);
    harness.events("notifications", [notification("n1", "order_filled")]);
    harness.pass(10_000);
    harness.events("liquidations", []);
    harness.events("notifications", [notification("n2", "order_filled"), notification("n3", "order_filled")]);
    expect(harness.owed).toHaveLength(1);
    harness.pass(40_000);
    harness.events("liquidations", []);
    harness.pass(10_000);
    expect(harness.owed).toHaveLength(3);
    const late = harness.all.flatMap((one) => one.deliveryItems).slice(1);
    expect(new Set(late.map((item) => item.groupKey)).size).toBe(1);
    expect(late[0]?.groupKey).not.toBeNull();
  });

  test("a liquidation that the inbox and the history tell is one alert, and handles its notification", () => {
    const liquidation = event({
      kind: "liquidation",
      key: "1:0:3",
      fields: { role: "liquidatee", kind: "market" },
    });
    const told = notification("n9", "liquidation");
    const inbox = { ...told.inbox!, liquidationKey: "1:0:3" };
    const harness = seen(eventRules);
    harness.events("liquidations", [liquidation]);
    harness.events("notifications", [{ ...told, inbox }]);
    expect(harness.told).toEqual(["Liquidated main/0.0/SOL fired critical"]);
    const [row] = harness.all.flatMap((one) => one.acknowledgements);
    expect(row).toMatchObject({
      key: "n9",
      status: "waiting",
      rules: [{ rule: "Liquidated", alertIds: [1] }],
    });
  });

  test.each<[string, object, string, string]>([
    ["no rule matches", {}, "risk_engine_cancel_order", "n1 never left"],
    [
      "no rule matches, and that is to be acknowledged",
      { unmatched: "always" },
      "risk_engine_cancel_order",
      "n1 always due",
    ],
    ["never", { notifications: "never" }, "order_filled", "n1 never left"],
    [
      "by type",
      { types: { order_filled: "whenAcknowledged" } },
      "order_filled",
      "n1 whenAcknowledged waiting",
    ],
    ["a type that nobody knows", { unmatched: "always" }, "brand_new", "n1 whenAcknowledged waiting"],
  ])("acknowledging: %s", (_, acknowledge, type, row) => {
    const harness = new Harness({ rules: eventRules, acknowledge });
    harness.events("notifications", [notification("n1", type)]);
    expect(harness.acknowledgements).toEqual([row]);
  });

  test("a liquidation in the inbox that nobody can read stays there, whatever is done with what no rule matches", () => {
    const told = notification("n1", "adl");
    const harness = new Harness({ rules: eventRules, acknowledge: { unmatched: "always" } });
    harness.events("notifications", [{ ...told, inbox: { ...told.inbox!, unread: true } }]);
    expect(harness.acknowledgements).toEqual(["n1 never left"]);
  });

  test("a notification of an unknown type is delivered as it is", () => {
    const harness = seen(eventRules);
    harness.events("notifications", [notification("n1", "brand_new", { data: { odd: 1 } })]);
    expect(harness.owed).toEqual(["chat: UnknownNotification main/0.0/SOL fired warning"]);
    expect(harness.changes[0]?.alert.description).toContain('{"odd":1}');
    expect(harness.changes[0]?.alert.eventType).toBe("unknown type brand_new");
  });

  test.each([
    ["notification:general:GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD:1017", "1017"],
    ["notification:event:312:4:0:1:2", "312:4:0:1:2"],
  ])("event.id of %s is that of the exchange", (key, id) => {
    const harness = seen(`
rules:
  - { name: All, on: notification, when: event.type == "order_filled", severity: info, summary: "{{ event.id }}" }
`);
    harness.events("notifications", [notification(key, "order_filled")]);
    expect(harness.changes[0]!.alert.summary).toBe(id);
  });

  test("the past is stored and tells nobody", () => {
    const harness = seen(eventRules);
    harness.events("notifications", [notification("n1", "order_filled", { backfilled: true })]);
    expect(harness.told).toEqual([]);
    expect(harness.all.flatMap((one) => one.events)).toHaveLength(1);
    expect(harness.acknowledgements).toEqual(["n1 never left"]);
  });

  test("windows count them, those of before the account was seen too", () => {
    const rules = `
rules:
  - name: FundingBurn
    scope: position
    when: sumOver("funding.payment", "24h") < -10.0
    severity: warning
    summary: "{{ sumOver('funding.payment', '24h') }}"
`;
    const harness = new Harness({ rules });
    const paid = (key: string, payment: number, backfilled = false) =>
      event({
        kind: "funding",
        key,
        subaccount: null,
        fields: { payment },
        happenedMs: startMs - 3_600_000,
        backfilled,
      });
    harness.config();
    harness.mark(150);
    harness.account(safe);
    harness.events("funding", [paid("f1", -8, true)]);
    expect(harness.told).toEqual([]);
    harness.events("funding", [paid("f2", -3)]);
    expect(harness.told).toEqual(["FundingBurn main/0.0/SOL fired warning"]);
  });

  test("a change of the exchange's status is an event, the first answer is none", () => {
    const rules = `
rules:
  - name: Status
    on: exchangeStatus
    when: "true"
    severity: critical
    summary: "active {{ event.active }}, was {{ event.wasActive }}"
`;
    const harness = new Harness({ rules });
    const status = (active: boolean) =>
      ({ kind: "exchangeStatus", active, gated: false, withdrawalsAvailable: true }) as const;
    harness.see({ ...status(true), atMs: startMs });
    expect(harness.told).toEqual([]);
    harness.see({ ...status(false), atMs: startMs + 1 });
    expect(harness.changes[0]?.alert.summary).toBe("active no, was yes");
  });
});

describe("figures in the text of an event", () => {
  const text = `
rules:
  - name: Cancelled
    on: notification
    when: event.type == "risk_engine_cancel_order"
    severity: warning
    summary: "{{ wallet.name }}: cancelled"
    description: "Margin ratio {{ percent(trader.marginRatio) }}"
`;
  const told = (rules: string, over: Parameters<typeof notification>[2]): readonly unknown[] => {
    const harness = seen(rules);
    harness.pass(1_000);
    harness.account(safe);
    harness.pass(1_000);
    harness.events("notifications", [notification("n1", "risk_engine_cancel_order", over)]);
    return harness.changes[0]!.details;
  };
  const before = ["Account's figures", "of 12:00:01 UTC, before this happened"];

  test.each([
    ["from before it say so", text, { happenedMs: startMs + 1_500, slot: 0 }, [before]],
    ["from before its slot say so", text, { happenedMs: startMs, slot: 22 }, [before]],
    ["that show it say nothing", text, { happenedMs: startMs + 1_000, slot: 0 }, []],
    ["that show its slot say nothing", text, { happenedMs: startMs, slot: 21 }, []],
    ["that show it at an older price say nothing", text, { happenedMs: startMs + 500, slot: 20 }, []],
    ["that show its slot say nothing by our clock", text, { happenedMs: startMs + 1_500, slot: 21 }, []],
    [
      "are none in a name",
      text.replace("percent(trader.marginRatio)", "trader.name"),
      { happenedMs: startMs + 1_500, slot: 22 },
      [],
    ],
  ])("%s", (_, rules, over, lines) => {
    expect(told(rules, over)).toEqual(lines);
  });
});

describe("reminders", () => {
  test("nag until somebody acknowledges, and again when that lapses", () => {
    const harness = seen(near, endangered);
    const reminders = (): number => harness.told.filter((line) => line.includes("reminder")).length;
    harness.live(11 * 60_000, endangered, 150);
    expect(reminders()).toBe(2);
    const [{ alert }] = harness.changes as [AlertChange];
    harness.see({ kind: "acknowledged", atMs: harness.nowMs, alert, by: "ann", comment: "on it" });
    harness.live(55 * 60_000, endangered, 150);
    expect(reminders()).toBe(2);
    harness.live(6 * 60_000, endangered, 150);
    expect(reminders()).toBe(3);
  });

  test("an acknowledgement that comes as the alert ends does not bring it back", () => {
    const harness = seen(near, endangered);
    const [{ alert }] = harness.changes as [AlertChange];
    harness.live(20_000, safe, 150);
    expect(harness.told.at(-1)).toMatch(/ended/);
    harness.see({ kind: "acknowledged", atMs: harness.nowMs, alert, by: "ann", comment: "" });
    expect(harness.remembered.alerts.map(({ state }) => state)).toEqual(["ended"]);
  });

  test("speak of now, not of when it fired", () => {
    const harness = seen(near, endangered);
    harness.live(5 * 60_000 + 5_000, endangered, 150.6);
    const reminder = harness.changes.find((change) => change.kind === "reminder");
    expect(reminder?.alert.summary).toBe("main: SOL 3.84%");
    expect(harness.nowMs - (reminder?.alert.dataAtMs ?? 0)).toBeLessThan(15_000);
  });

  test("keep to their pace where a figure of the daemon's own grows by itself", () => {
    const rules = `
rules:
  - name: Waits
    scope: daemon
    value: daemon.oldestUndelivered
    levels: { warning: { when: value > duration("2m") } }
    for: 0s
    summary: "waits"
`;
    const harness = new Harness({ rules });
    for (let minute = 2; minute < 30; minute++) {
      const oldestUndeliveredMs = minute * 60_000 + 1;
      harness.see({ kind: "daemon", atMs: harness.nowMs, figures: { ...figures, oldestUndeliveredMs } });
      harness.pass(60_000);
    }
    expect(harness.told).toEqual(["Waits daemon fired warning"]);
  });

  test("a value that got a fifth worse reminds at once", () => {
    const harness = seen(near, endangered);
    harness.mark(148.5);
    expect(harness.told.at(-1)).toBe("Near main/0.0/SOL worsened critical");
  });

  describe("an acknowledgement covers the value that was seen", () => {
    const acknowledge = (harness: Harness): void => {
      const alert = harness.watch.status(harness.nowMs).firing[0]!;
      harness.see({ kind: "acknowledged", atMs: harness.nowMs, alert, by: "ann", comment: "" });
    };

    test("worse by a fifth since then, it is told at once, and has to be acknowledged anew", () => {
      const harness = seen(near, endangered);
      harness.mark(149.4);
      acknowledge(harness);
      expect(harness.changes.at(-1)?.alert.summary).toBe("main: SOL 3.07%");
      // 2.48 % is a quarter less than what was told last, and less than a fifth less than what was acknowledged.
      harness.mark(148.52);
      expect(harness.told.at(-1)).toBe("Near main/0.0/SOL acknowledged critical");
      harness.mark(148.4);
      expect(harness.told.at(-1)).toBe("Near main/0.0/SOL worsened critical");
      expect(harness.changes.at(-1)?.alert.acknowledgedBy).toBeNull();
      expect(harness.owed.at(-1)).toBe("chat: Near main/0.0/SOL worsened critical");
      harness.live(6 * 60_000, endangered, 148.4);
      expect(harness.told.at(-1)).toBe("Near main/0.0/SOL reminder critical");
    });

    test("across a restart too", () => {
      const harness = seen(near, endangered);
      harness.mark(149.4);
      acknowledge(harness);
      const next = Harness.seeing(
        { rules: near, remembered: harness.remembered, atMs: harness.nowMs + 1_000 },
        148.52,
        endangered,
      );
      expect(next.told).toEqual([]);
      next.mark(148.4);
      expect(next.told).toEqual(["Near main/0.0/SOL worsened critical"]);
    });

    test("a rise is told whatever was acknowledged", () => {
      const harness = seen(near, safe, 112);
      acknowledge(harness);
      harness.mark(108.7);
      expect(harness.owed.at(-1)).toBe("chat: Near main/0.0/SOL rose critical");
      expect(harness.changes.at(-1)?.alert.acknowledgedBy).toBeNull();
    });

    test.each([
      ["critical", endangered, 150, {}, "for 1h, unless its value falls below 2.76%"],
      ["warning", safe, 112, {}, "unless its value falls below 6.11% or its severity rises"],
      ["nothing worse reminds", endangered, 150, { worseBy: 0 }, "for 1h"],
    ])("a message says what it would do: %s", (_, accounts, mark, remind, says) => {
      const harness = new Harness({ rules: near, remind });
      harness.config();
      harness.mark(mark);
      harness.account(accounts);
      expect(harness.changes[0]?.quietIfAcknowledged).toBe(says);
    });
  });
});

describe("a restart", () => {
  const again = (before: Harness, afterMs: number, rules = near): Harness =>
    before.restarted({ rules }, afterMs);

  test("does not tell again what was told, and still ends it", () => {
    const before = seen(near, endangered);
    const after = again(before, 60_000);
    after.live(20_000, safe, 150);
    expect(after.told).toEqual(["Near main/0.0/SOL ended critical recovered"]);
    expect(after.owed).toEqual(["chat: Near main/0.0/SOL ended critical recovered"]);
  });

  test("keeps `for` where it was: the time in between counts for nothing", () => {
    const before = seen(marginHigh, endangered, 145.2);
    before.pass(6_000);
    before.mark(145.2);
    const after = again(before, 600_000, marginHigh);
    after.config();
    after.mark(145.2);
    after.account(endangered);
    after.pass(3_999);
    expect(after.told).toEqual([]);
    after.pass(1);
    expect(after.told).toEqual(["MarginHigh main/0.0 fired warning"]);
  });

  test("ends what is no more: the position, the rule, the wallet", () => {
    const gone = again(seen(near, endangered), 1_000);
    gone.account([subaccount(1_000, [])]);
    gone.pass(15_000);
    gone.events("liquidations", []);
    expect(gone.told).toEqual(["Near main/0.0/SOL ended critical closed"]);

    const otherRule = again(seen(near, endangered), 1_000, near.replace("< 0.05", "< 0.06"));
    otherRule.config();
    otherRule.mark(150);
    otherRule.account(endangered);
    expect(otherRule.told).toEqual([
      "Near main/0.0/SOL ended critical ruleChanged",
      "Near main/0.0/SOL fired critical",
    ]);

    const before = seen(near, endangered);
    const elsewhere = { ...mainWallet, name: "other" };
    const noWallet = new Harness({ rules: near, wallets: [elsewhere], remembered: before.remembered });
    noWallet.pass(1);
    expect(noWallet.told).toEqual(["Near main/0.0/SOL ended critical noLongerWatched"]);
  });

  test("what began while nobody watched is marked", () => {
    const after = again(seen(near), 60_000);
    after.config();
    after.mark(150);
    after.account(endangered);
    expect(after.changes[0]?.alert).toMatchObject({ rule: "Near", alreadySo: true });
  });

  describe("what was not seen at the start is not called already so", () => {
    const losing = `
rules:
  - name: Losing
    scope: trader
    when: change("trader.equity", "10m") < -100.0
    severity: warning
    for: 0s
    summary: "{{ wallet.name }} loses"
`;

    test("where a window is looked through for the first time long after", () => {
      const harness = seen(losing);
      harness.live(5 * 60_000, safe, 150);
      harness.live(6 * 60_000, safe, 145);
      expect(harness.told).toEqual(["Losing main/0.0 fired warning"]);
      expect(harness.changes[0]?.alert.alreadySo).toBe(false);
    });

    test("where the daemon goes on and only its rules were read anew", () => {
      const before = seen(near);
      const after = Harness.seeing(
        {
          rules: near,
          remembered: before.remembered,
          atMs: before.nowMs + 1_000,
          reloaded: true,
        },
        150,
        endangered,
      );
      expect(after.changes[0]?.alert).toMatchObject({ rule: "Near", alreadySo: false });
    });
  });

  test("goes on with ids, reminders and throttles", () => {
    const before = seen(near + eventRules.replace("\nrules:", ""), endangered);
    before.events("notifications", [notification("n1", "order_filled")]);
    before.pass(1_000);
    before.events("notifications", [notification("n2", "order_filled")]);
    const after = again(before, 2_000, near + eventRules.replace("\nrules:", ""));
    after.pass(60_000);
    const owed = after.all.flatMap((one) => one.deliveryItems);
    const item = owed.find((one) => one.groupKey?.startsWith("throttle/"));
    const held = before.changes.findLast((change) => change.alert.rule === "Filled");
    expect(item).toMatchObject({ changeId: held?.id, receiver: "chat" });
    expect(owed[0]?.id).toBe(before.remembered.ids.item + 1);
  });
});

describe("windows", () => {
  const rules = `
rules:
  - name: Lost
    scope: daemon
    when: change("daemon.deadMessages", "1m") > 0
    severity: critical
    for: 0s
    noData: keep
    summary: "lost"
  - name: Fell
    scope: trader
    when: change("trader.equity", "1m") < -100.0
    severity: warning
    for: 0s
    noData: keep
    summary: "fell by {{ usd(change('trader.equity', '1m')) }}"
`;
  const measure = (harness: Harness, deadMessages: number): void => {
    harness.see({ kind: "daemon", atMs: harness.nowMs, figures: { ...figures, deadMessages } });
  };

  test("a message says how much of a window was watched, where that is not nearly all", () => {
    const rules = `
rules:
  - name: Peak
    scope: trader
    when: maxOver("trader.marginRatio", "10m") > 0.9 || avgOver("trader.equity", "10m") < 0.0
    severity: warning
    keepFiringFor: 0s
    summary: "peak"
`;
    const detailsAfter = (ms: number): readonly (readonly [string, string])[] => {
      const harness = seen(rules, safe);
      harness.live(ms, safe, 150);
      harness.mark(145);
      harness.account(endangered);
      expect(harness.told.at(-1)).toBe("Peak main/0.0 fired warning");
      return harness.changes.at(-1)!.details;
    };
    expect(detailsAfter(240_000)).toContainEqual([
      "History",
      "margin ratio known for only 4m of the last 10m",
    ]);
    expect(
      detailsAfter(600_000)
        .map(([name]) => name)
        .join(),
    ).not.toContain("History");
  });

  test("a message says how much of the time of events was told, while their history is still read", () => {
    const rules = `
rules:
  - name: Burn
    scope: wallet
    when: sumOver("funding.payment", "10h") < -1.0
    severity: warning
    keepFiringFor: 0s
    summary: "burn"
  - name: Often
    scope: position
    when: countOver("funding", "10h") > 0.0
    severity: warning
    summary: "often"
`;
    const detailsAfter = (readHours: number | null): readonly string[][] => {
      const harness = seen(rules, safe);
      const hour = 3_600_000;
      const paid = event({ kind: "funding", key: "f", happenedMs: startMs - hour, fields: { payment: -5 } });
      const coversMs = readHours === null ? {} : { coversMs: harness.nowMs - readHours * hour };
      harness.events("funding", [paid], "main", { pdaIndex: 0, ...coversMs });
      expect([...harness.told].sort()).toEqual([
        "Burn main fired warning",
        "Often main/0.0/SOL fired warning",
      ]);
      return harness.changes.map(({ details }) =>
        details.flatMap(([name, text]) => (name === "History" ? [text] : [])),
      );
    };
    expect(detailsAfter(4).flat().sort()).toEqual([
      "funding known for only 4h of the last 10h",
      "funding payment known for only 4h of the last 10h",
    ]);
    expect(detailsAfter(20).flat()).toEqual([]);
    expect(detailsAfter(null).flat()).toEqual([]);
  });

  test("look back over the daemon's own figures", () => {
    const harness = new Harness({ rules });
    for (let i = 0; i < 20; i++) {
      measure(harness, 0);
      harness.pass(5_000);
    }
    expect(harness.told).toEqual([]);
    measure(harness, 1);
    expect(harness.told).toEqual(["Lost daemon fired critical"]);
  });

  test("take in the past that the exchange keeps, at its own time, and leave positions alone", () => {
    const harness = new Harness({
      rules: `
rules:
  - name: Down
    scope: trader
    when: drawdown("trader.equity", "24h") > 0.5
    severity: warning
    for: 0s
    noData: keep
    summary: "{{ percent(drawdown('trader.equity', '24h')) }}"
  - name: High
    scope: position
    when: maxOver("position.markPrice", "10m") > 155.0
    severity: info
    for: 0s
    noData: keep
    summary: "high"
`,
    });
    harness.config();
    harness.mark(156);
    harness.account(safe);
    expect(harness.told).toEqual(["High main/0.0/SOL fired info"]);
    const tick = {
      atMs: startMs - 7_200_000,
      owner: "main/0.0",
      series: ["trader.equity"],
      values: [20_000],
    };
    harness.see({ kind: "backfill", source: "pnl", wallet: "main", atMs: harness.nowMs, ticks: [tick] });
    expect(harness.told).toHaveLength(1);
    harness.live(10_000, safe, 150);
    expect(harness.told.slice(1)).toEqual(["Down main/0.0 fired warning"]);
    expect(harness.changes.at(-1)?.alert.summary).toBe("72%");
  });

  test("survive a restart: they are fed what history holds, and go on from there", () => {
    const before = seen(rules);
    before.live(120_000, safe, 150);
    const after = before.restarted({ rules });
    for (const tick of before.all.flatMap((one) => one.ticks)) after.watch.warmUp.rememberTick(tick);
    after.config();
    after.mark(148);
    after.account(safe);
    expect(after.told).toEqual(["Fell main/0.0 fired warning"]);
    expect(after.changes[0]?.alert.summary).toBe("fell by -$200.00");
  });
});

describe("profit since watching began", () => {
  test("is not moved by a deposit, whichever of state and history shows it first", () => {
    const rules = `
rules:
  - name: Loss
    scope: wallet
    when: wallet.pnl < -50.0 || wallet.pnl > 50.0
    severity: warning
    summary: "{{ usd(wallet.pnl) }}"
`;
    const harness = new Harness({ rules });
    const flow = (key: string, amountUsd: number, slot: number) =>
      event({ kind: "collateral", key, symbol: null, slot, fields: { eventType: "deposit", amountUsd } });
    const step = (collateralUsd: number, events: Parameters<Harness["events"]>[1] = []): void => {
      harness.live(5_000, [subaccount(collateralUsd, [position(100, 150)])], 150);
      harness.events("collateral", events);
    };
    for (let i = 0; i < 4; i++) step(5_000);
    step(6_000);
    step(6_000, [flow("d1", 1_000, harness.slot - 5)]);
    for (let i = 0; i < 6; i++) step(6_000);
    expect(harness.told).toEqual([]);
    const wallet = harness.watch.status(harness.nowMs).wallets[0];
    expect(wallet?.figures).toMatchObject({ pnl: 0, netDeposits: 1_000 });
  });
});

describe("a transfer", () => {
  const rules = `
rules:
  - { name: Loss, scope: wallet, when: "wallet.pnl < -50.0 || wallet.pnl > 50.0", severity: warning, summary: "{{ usd(wallet.pnl) }}" }
`;
  const transfer = (slot: number, after: number, within: boolean, amountUsd: number | null = null) =>
    event({
      kind: "collateral",
      key: `t${slot}`,
      symbol: null,
      slot,
      fields: { eventType: "transfer", amountUsd, after },
      data: { transferUsd: 1_000, within },
    });
  const step = (
    harness: Harness,
    collateralUsd: number,
    events: Parameters<Harness["events"]>[1] = [],
  ): void => {
    harness.live(5_000, [subaccount(collateralUsd, [position(100, 150)])], 150);
    harness.events("collateral", events);
  };

  test.each([
    ["out of what is watched is no loss", 4_000, -1_000],
    ["into it is no profit", 6_000, 1_000],
  ])("%s, though its row does not say in which direction", (_, after, net) => {
    const harness = new Harness({ rules });
    for (let i = 0; i < 4; i++) step(harness, 5_000);
    step(harness, after);
    step(harness, after, [transfer(harness.slot - 5, after, false)]);
    for (let i = 0; i < 6; i++) step(harness, after);
    expect(harness.told).toEqual([]);
    const figures = harness.watch.status(harness.nowMs).wallets[0]?.figures;
    expect(figures).toMatchObject({ pnl: 0, netDeposits: net });
  });

  test("that the history tells before the account shows it counts from its slot on", () => {
    const harness = new Harness({ rules });
    for (let i = 0; i < 4; i++) step(harness, 5_000);
    harness.events("collateral", [transfer(harness.slot + 5, 4_000, false)]);
    for (let i = 0; i < 6; i++) step(harness, 4_000);
    expect(harness.told).toEqual([]);
  });

  test("between two accounts that are both watched moves nothing, though states and rows come one after the other", () => {
    const harness = new Harness({ rules });
    const both = (one: number, other: number) => [
      subaccount(one, [position(100, 150)]),
      subaccount(other, [], { subaccount: 1 }),
    ];
    const row = (subaccountIndex: number, amountUsd: number) => ({
      ...transfer(harness.slot, 0, true, amountUsd),
      key: `t${subaccountIndex}`,
      subaccount: subaccountIndex,
    });
    for (let i = 0; i < 4; i++) {
      harness.live(5_000, both(5_000, 0), 150);
      harness.events("collateral", []);
    }
    harness.pass(1_000);
    harness.slot += 10;
    harness.see({
      kind: "accounts",
      wallet: "main",
      pdaIndex: 0,
      atMs: harness.nowMs,
      slot: harness.slot,
      slotIndex: 0,
      subaccounts: both(4_000, 0),
      told: [0],
    });
    const moved = [row(0, -1_000), row(1, 1_000)];
    harness.pass(2_000);
    harness.account(both(4_000, 1_000));
    harness.events("collateral", moved);
    harness.live(30_000, both(4_000, 1_000), 150);
    expect(harness.told).toEqual([]);
    expect(harness.watch.status(harness.nowMs).wallets[0]?.figures).toMatchObject({ pnl: 0, netDeposits: 0 });
  });
});

test("a window over profit is covered by readings of the flows, which come more seldom than states", () => {
  const rules = `
rules:
  - name: Losing
    scope: wallet
    when: avgOver("wallet.pnl", "5m") < -50.0
    severity: critical
    noData: keep
    summary: "{{ usd(wallet.pnl) }}"
`;
  const wallets = [mainWallet];
  const ruleSet = rulesOf(rules, wallets, { ...scheduleMs, collateral: 60_000 });
  const harness = new Harness({ rules: ruleSet, wallets });
  for (let minute = 0; minute < 9; minute++) {
    harness.live(60_000, safe, minute < 2 ? 150 : 148);
    harness.events("collateral", []);
  }
  expect(harness.told).toEqual(["Losing main fired critical"]);
});

test("unknown symbols, zero collateral and numbers beyond 2^53 move nothing that they should not", () => {
  const harness = new Harness({ rules: near });
  harness.config(marketConfig());
  harness.mark(prices(150));
  const huge = { ...position(1, 1, "NEW"), baseLots: 9_007_199_254_740_993n, virtualQuoteLots: -(2n ** 62n) };
  harness.account([subaccount(0, [huge, position(100, 150)])]);
  harness.account([subaccount(0, [position(100, 150)])]);
  expect(harness.told).toEqual(["Near main/0.0/SOL fired critical"]);
  expect(harness.changes[0]?.alert.value).toBe(0);
});

test("the same observations give the same changes", () => {
  const drive = (): string => {
    const harness = new Harness({ rules: rulesOf(near + eventRules.replace("\nrules:", "")) });
    harness.config();
    for (const mark of [150, 120, 110, 106, 104, 130, 150]) {
      harness.live(15_000, safe, mark);
      harness.events("notifications", [notification(`n${mark}`, "order_filled")]);
    }
    return JSON.stringify(harness.all, (_, value: unknown) =>
      typeof value === "bigint" ? `${value}n` : value,
    );
  };
  expect(drive()).toBe(drive());
});
