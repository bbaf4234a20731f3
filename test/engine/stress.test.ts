/** Stress figures of accounts and wallets, as rules see them: when they are known, and when they are judged anew. */
import { describe, expect, test } from "vitest";
import { Harness, marketConfig, position, prices, scheduleMs, subaccount } from "./harness.ts";

const rules = `
rules:
  - name: Burn
    scope: wallet
    value: wallet.fundingUntilMaintenance
    levels: { warning: { when: 'value < duration("24h")' } }
    keepFiringFor: 0s
    noData: alert
    summary: "{{ duration(value) }}"
  - name: Move
    scope: wallet
    value: wallet.adverseMoveToLiquidation
    levels: { critical: { when: value < 0.05 } }
    keepFiringFor: 0s
    summary: "{{ percent(value) }}, together {{ percent(wallet.moveToLiquidation) }}"
`;

const rate = (h: Harness, ratePerHour: number) =>
  h.see({ kind: "fundingRate", atMs: h.nowMs, symbol: "SOL", ratePerHour, exchangeMs: h.nowMs });

/** Cross holds 10 SOL at 150 with plenty, the isolated one 10 SOL with 100: 50 is its maintenance margin. */
const both = [
  subaccount(10_000, [position(10, 150)]),
  subaccount(100, [position(10, 150)], { subaccount: 1 }),
];

function begun(): Harness {
  const h = new Harness({ rules });
  h.config(marketConfig());
  h.mark(150);
  h.account(both);
  return h;
}

describe("a wallet is as near as its nearest account", () => {
  test("moves", () => {
    const h = begun();
    // The isolated one: P (1 − 1/30) = 150 − 10, which is 3.448 % below 150.
    expect(h.changes.map(({ alert }) => alert.summary)).toEqual(["3.45%, together 3.45%"]);
    h.account([both[0]!]);
    expect(h.told.at(-1)).toBe("Move main ended critical recovered");
  });

  test("of accounts that no answer told of yet nothing is claimed; of a wallet without any, that nothing moves it", () => {
    const h = new Harness({ rules });
    h.config(marketConfig());
    h.mark(150);
    const figures = () => h.watch.status(h.nowMs).wallets[0]!.figures;
    expect(figures()).not.toHaveProperty("moveToLiquidation");
    h.account([]);
    expect(figures()).toMatchObject({ moveToLiquidation: Number.POSITIVE_INFINITY });
    expect(figures()).toMatchObject({ equity: 0 });
  });

  test("funding is judged when a rate arrives, and when a mark does", () => {
    const h = begun();
    // 50 left, 1500 × 0.1 % = 1.5 an hour: 33 h 20 m.
    rate(h, 0.001);
    expect(h.told).toEqual(["Move main fired critical"]);
    rate(h, 0.003);
    expect(h.changes.at(-1)!.alert.summary).toBe("11h 6m");
    rate(h, -0.003);
    expect(h.told.at(-1)).toBe("Burn main ended warning recovered");
    rate(h, 0.002);
    expect(h.changes.at(-1)!.alert.summary).toBe("16h 40m");
    h.mark(150.5);
    rate(h, 0.0001);
    expect(h.told.at(-1)).toBe("Burn main ended warning recovered");
  });

  test("without a rate it is not known, and the rates are what is missing", () => {
    const h = begun();
    h.pass(3 * scheduleMs.fundingRates + 60_000);
    const blind = h.changes.filter(({ alert }) => alert.rule === "Blind");
    // Nothing else is read either, which is told first by name and then as a silence.
    expect(blind.map(({ kind, alert }) => `${kind} ${alert.severity}`)).toEqual([
      "fired critical",
      "worsened critical",
    ]);
    const missing = blind[0]!.details.filter(([name]) => name === "Not read").map(([, text]) => text);
    expect(missing.some((text) => text.startsWith("funding rates of SOL (schedule fundingRates)"))).toBe(
      true,
    );
  });

  test("an account that holds nothing asks for no rate", () => {
    const h = new Harness({ rules });
    h.config(marketConfig());
    h.mark(prices(150));
    h.account([subaccount(100, [])]);
    expect(h.watch.status(h.nowMs).wallets[0]!.figures.fundingUntilMaintenance).toBe(
      Number.POSITIVE_INFINITY,
    );
    expect(h.watch.status(h.nowMs).wallets[0]!.figures.adverseMoveToLiquidation).toBe(
      Number.POSITIVE_INFINITY,
    );
  });
});
