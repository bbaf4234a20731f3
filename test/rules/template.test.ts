/** The texts of messages. */
import { describe, expect, test } from "vitest";
import { formatAmount, formatPercent, formatPrice, formatUsd } from "../../src/rules/index.ts";
import { condition, env, eventRule, facts, nowMs } from "./kit.ts";

const told = (summary: string, trader: Record<string, number | string | boolean>) =>
  condition("trader.equity > 0", { summary }).summary.render(env({ trader: facts(trader) }));

describe("templates", () => {
  test.each([
    ["{{ trader.marginRatio }}", { marginRatio: 0.8123 }, "81.2%"],
    ["{{ trader.equity }}", { equity: 1234.5 }, "$1,234.50"],
    ["{{ trader.leverage }} and {{ trader.leverage * 2 }}", { leverage: 3.456 }, "3.46× and 6.91×"],
    ["{{ trader.equity / trader.collateral }}", { equity: 1, collateral: 3 }, "0.333333"],
    ["{{ trader.marginRatio }}", { marginRatio: Number.POSITIVE_INFINITY }, "over 10,000%"],
    ["{{ percent(trader.marginRatio) }}", { marginRatio: 316_666_667 }, "over 10,000%"],
    ["{{ percent(trader.marginRatio) }}", { marginRatio: 100 }, "10,000%"],
    ["{{ percent(trader.equity / trader.collateral) }}", { equity: -101, collateral: 1 }, "below -10,000%"],
    ["{{ percent(trader.marginRatio) }}", { marginRatio: Number.NaN }, "–"],
    ["{{ trader.leverage }}", { leverage: 100 }, "100×"],
    ["{{ trader.leverage }}", { leverage: 1.2e9 }, "over 100×"],
    ["{{ trader.leverage }}", { leverage: Number.POSITIVE_INFINITY }, "over 100×"],
    ["{{ trader.equity }} of {{ trader.collateral }}", { equity: 5 }, "$5.00 of –"],
    ["{{ trader.equity / trader.collateral }}", { equity: 0, collateral: 0 }, "–"],
    ["{{ trader.equity > 1 }}", { equity: 5 }, "yes"],
    ['{{ "}}" + trader.name }}', { name: "a" }, "}}a"],
    ["tier {{ trader.riskTier }}", { riskTier: "atRisk" }, "tier at risk"],
    ['{{ trader.riskTier == "safe" ? "calm" : trader.riskTier }}', { riskTier: "atRisk" }, "atRisk"],
    ["{{ percent(trader.equity / trader.collateral) }}", { equity: 1, collateral: 8 }, "12.5%"],
    ['a{{ trader.equity > 9 ? " big" : "" }}.', { equity: 5 }, "a."],
    ['a{{ has(trader.equity) ? ", " + usd(trader.equity) : "" }}.', { equity: 5 }, "a, $5.00."],
    ['a{{ has(trader.equity) ? ", " + usd(trader.equity) : "" }}.', {}, "a."],
    ['a{{ trader.equity > 9 ? " big" : "" }}.', {}, "a."],
    ["plain text { with } braces", {}, "plain text { with } braces"],
    ["{{ trader.name }}", { name: "a\u0007b\u001b[31m\u202ec\td" }, String.raw`a\u0007b\u001b[31m\u202ec\td`],
    ['{{ duration(now - timestamp("2026-01-05T11:58:30Z")) }}', {}, "1m 30s"],
    ["{{ now }}", {}, "2026-01-05 12:00:00 UTC"],
    ['{{ now.getHours() }}:{{ now.getHours("Asia/Tokyo") }} {{ now.getDayOfWeek() }}', {}, "12:21 1"],
  ] as [string, Record<string, number | string>, string][])("%s", (summary, values, wanted) => {
    expect(told(summary, values)).toBe(wanted);
  });

  test("a part of a time that never comes is printed as absent", () => {
    const summary = '{{ market.nextTransition }}, {{ market.nextTransition.getHours("America/New_York") }}';
    const rule = condition("position.size > 0", { scope: "position", summary });
    const market = facts({ nextTransition: Number.POSITIVE_INFINITY });
    expect(rule.summary.render(env({ market }))).toBe("–, –");
  });

  describe("prices have their market's digits", () => {
    const markets = (symbol: string) =>
      symbol === "BTC" ? facts({ markPrice: 60_400.4, tickSize: 1 }) : undefined;
    test.each([
      ["{{ price(position.liquidationPrice) }}", 0.01, "$86.43"],
      ["{{ position.liquidationPrice }}", 0.01, "$86.43"],
      ["{{ position.liquidationPrice }}", 0.0001, "$86.4280"],
      ["{{ price(position.liquidationPrice) }}", 5, "$86"],
      // Less than half a tick is not nothing.
      ["{{ price(position.liquidationPrice) }}", 1_000, "$86.428"],
      ["{{ price(position.liquidationPrice) }}", 0, "$86.428"],
      ["{{ price(position.liquidationPrice) }}", Number.NaN, "$86.428"],
      // Of another market, by that one's.
      [
        '{{ market("BTC").markPrice }}, {{ price(market("BTC").markPrice * 2.0) }}',
        0.01,
        "$60,400, $120,801",
      ],
      ['{{ price(position.liquidationPrice + market("BTC").markPrice) }}', 0.01, "$60,487"],
      // Nobody knows what a price of two markets would be.
      ['{{ price(market("ETH").markPrice + market("BTC").markPrice) }}', 0.01, "–"],
      ["{{ position.liquidationPrice }} {{ usd(position.notional) }}", 1, "$86 $12.00"],
    ])("%s at a tick of %d", (summary, tickSize, wanted) => {
      const rule = condition("position.size > 0", { scope: "position", summary });
      const position = facts({ liquidationPrice: 86.428, notional: 12 });
      const market = facts({ tickSize });
      expect(rule.summary.render(env({ position, market, markets }))).toBe(wanted);
    });
  });

  test.each([
    ["{{ ago(event.at) }}", 150_000, "2m 30s ago"],
    ["{{ ago(event.age) }}", 150_900, "2m 30s ago"],
    ["{{ ago(event.at) }}", 400, "just now"],
    ["{{ ago(event.at) }}", -18_000_000, "in 5h"],
    ["{{ ago(now) }}", 0, "just now"],
    ["{{ ago(event.at) }}", Number.POSITIVE_INFINITY, "never"],
  ])("%s, %d ms after it", (summary, laterMs, wanted) => {
    const rule = eventRule("notification", "true", { summary });
    expect(rule.summary.render(env({ event: facts({ at: nowMs - laterMs }) }))).toBe(wanted);
  });

  test("ago looks back where a window is named, and judges nothing anew by the clock where it prints", () => {
    const rule = condition('ago("trader.equity", "1h") > 0', { summary: "{{ ago(now) }}" });
    expect(rule.windows).toHaveLength(1);
    expect(rule.readsNow).toBe(false);
  });

  test("are bounded, however long what they print is", () => {
    const text = told("{{ trader.name }}{{ trader.name }}{{ trader.name }}", { name: "x".repeat(10_000) });
    expect([...text]).toHaveLength(300);
    expect(text.endsWith("…")).toBe(true);
  });

  test("an event prints what it has", () => {
    const rule = eventRule("notification", "true", {
      summary:
        "{{ event.type }} {{ event.price }} {{ event.data.reason }} {{ event.data.other }} {{ event.at }}",
    });
    const event = facts({ type: "adl", price: 0.00012345, data: { reason: "margin" }, at: nowMs });
    expect(rule.summary.render(env({ event }))).toBe("adl $0.00012345 margin – 2026-01-05 12:00:00 UTC");
  });

  test.each([
    [formatUsd(-1_250_000.4), "-$1,250,000"],
    [formatUsd(0.0042), "$0.0042"],
    [formatUsd(-0.001), "-$0.001"],
    [formatUsd(0), "$0.00"],
    // The rest of a sum of doubles.
    [formatUsd(9.1e-13), "$0.00"],
    [formatUsd(-9.1e-13), "$0.00"],
    [formatUsd(0.1 + 0.2 - 0.3), "$0.00"],
    [formatUsd(0.0000004), "$0.00"],
    [formatUsd(-0.0000012), "-$0.000001"],
    [formatUsd(0.00123456), "$0.0012"],
    [formatUsd(0.009999999), "$0.01"],
    [formatPercent(-5.6e-17), "0%"],
    [formatPercent(0.00000125), "0.000125%"],
    [formatAmount(5.6e-17), "0"],
    [formatAmount(-5.6e-17), "0"],
    [formatAmount(0.00000012), "0.00000012"],
    [formatUsd(1e21), "$1e+21"],
    [formatPrice(60_400), "$60,400.00"],
    [formatPrice(1.23456789), "$1.2346"],
    [formatPrice(93.1), "$93.10"],
    [formatPrice(0.5), "$0.50"],
    [formatPrice(2_990, 0.1), "$2,990.00"],
    [formatPrice(60_400, 1), "$60,400"],
    [formatPrice(2_774.95, 0.1), "$2,774.95"],
    [formatPercent(0.00001234), "0.00123%"],
    [formatPercent(12), "1,200%"],
    [formatAmount(-180), "-180"],
    [formatAmount(0.1 + 0.2), "0.3"],
    [formatAmount(1234567.891), "1,234,567.9"],
  ])("%s", (found, wanted) => expect(found).toBe(wanted));
});
