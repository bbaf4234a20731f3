/** Books: what several wallets hold together, against adding everything up anew; who is missing; restarts. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SubaccountState } from "../../src/domain/account.ts";
import type { WatchedWallet } from "../../src/state/wallets/watched.ts";
import {
  event,
  Harness,
  mainWallet,
  marketConfig,
  position,
  prices,
  rulesOf,
  startMs,
  subaccount,
} from "./harness.ts";

const wallet = (name: string, desk = "alpha"): WatchedWallet => ({
  ...mainWallet,
  name,
  authority: `${mainWallet.authority.slice(0, -name.length)}${name}`,
  labels: { desk },
});
const wallets = [wallet("one"), wallet("two"), wallet("other", "beta")];

const net = `
rules:
  - name: Net
    scope: book
    by: market
    select: { desk: alpha }
    value: book.netNotional
    levels: { warning: { when: abs(value) > 1000.0 } }
    keepFiringFor: 0s
    noData: alert
    summary: "net {{ usd(value) }} gross {{ usd(book.grossNotional) }} size {{ amount(book.netSize) }} at {{ price(market.markPrice) }}"
`;
const all = `
rules:
  - name: All
    scope: book
    select: { wallet: [one, two] }
    when: book.grossNotional > 0.0
    severity: info
    keepFiringFor: 0s
    summary: >-
      {{ usd(book.netNotional) }} {{ usd(book.grossNotional) }} {{ usd(book.equity) }} {{ percent(book.worstMarginRatio) }}
      {{ percent(book.adverseMoveToLiquidation) }} {{ percent(book.moveToLiquidation) }} {{ book.wallets }}
`;

function begun(rules: string, more: object = {}): Harness {
  const h = new Harness({ rules: rulesOf(rules, wallets), wallets, ...more });
  h.config(marketConfig("SOL"), marketConfig("BTC"));
  h.mark(prices(100, "SOL"), prices(1_000, "BTC"));
  return h;
}
const summaries = (h: Harness) =>
  h.changes.map(({ kind, alert }) => `${alert.subject} ${kind} ${alert.summary}`);
const now = (h: Harness) =>
  h.watch.status(h.nowMs).firing.map(({ subject, summary }) => `${subject} ${summary}`);

describe("books by market", () => {
  test("add up what the selected wallets hold in each market, and nothing of the others", () => {
    const h = begun(net);
    h.account([subaccount(5_000, [position(-20, 100)])], "one");
    h.account([subaccount(5_000, [position(90, 100)])], "other");
    expect(h.told).toEqual([]);
    h.account([subaccount(5_000, [position(5, 100), position(3, 1_000, "BTC")])], "two");
    expect(summaries(h)).toEqual([
      "book/Net/SOL fired net -$1,500.00 gross $2,500.00 size -15 at $100.00",
      "book/Net/BTC fired net $3,000.00 gross $3,000.00 size 3 at $1,000.00",
    ]);
    h.mark(prices(200, "SOL"));
    expect(now(h)[0]).toBe("book/Net/SOL net -$3,000.00 gross $5,000.00 size -15 at $200.00");
  });

  test("a market that nobody holds any more is a book of nothing, and recovers", () => {
    const h = begun(net);
    h.account([subaccount(5_000, [position(-20, 100)])], "one");
    h.account([subaccount(5_000, [])], "two");
    h.account([subaccount(5_000, [])], "one");
    expect(h.told).toEqual(["Net book/Net/SOL fired warning", "Net book/Net/SOL ended warning recovered"]);
  });

  test("a symbol that is not selected does not count", () => {
    const h = begun(net.replace("desk: alpha", "desk: alpha, symbol: btc"));
    h.account([subaccount(5_000, [position(-20, 100)])], "one");
    h.account([subaccount(5_000, [position(3, 1_000, "BTC")])], "two");
    expect(h.told).toEqual(["Net book/Net/BTC fired warning"]);
  });
});

describe("books over all markets", () => {
  test("one subject, with the nearest of all accounts", () => {
    const h = begun(all);
    h.account([subaccount(5_000, [position(10, 100), position(-1, 1_000, "BTC")])], "one");
    h.account([subaccount(100, [position(10, 100)])], "two");
    // The second: 33.33 of maintenance margin for 100; P (1 − 1/30) = 90, 6.9 % below.
    expect(summaries(h)).toEqual(["book/All fired $1,000.00 $3,000.00 $5,100.00 33.3% 6.9% 6.9% 2"]);
  });

  test("is not known before each of its wallets was read", () => {
    const h = begun(all);
    h.account([subaccount(5_000, [position(10, 100)])], "one");
    expect(h.told).toEqual([]);
  });
});

describe("books by label", () => {
  const byDesk = `
rules:
  - name: Desk
    scope: book
    by: desk
    value: book.grossNotional
    levels: { warning: { when: value > 1000.0 } }
    keepFiringFor: 0s
    summary: "{{ book.label }}: {{ usd(value) }} over {{ amount(book.wallets) }}"
`;
  const plain = { ...wallet("plain"), labels: {} };
  const desks = [...wallets, plain];
  const desk = (rules = byDesk) => {
    const h = new Harness({ rules: rulesOf(rules, desks), wallets: desks });
    h.config(marketConfig("SOL"), marketConfig("BTC"));
    h.mark(prices(100, "SOL"), prices(1_000, "BTC"));
    return h;
  };

  test("are one over all markets for each value of the label, and none of wallets without it", () => {
    const h = desk();
    h.account([subaccount(5_000, [position(90, 100)])], "plain");
    h.account([subaccount(5_000, [position(-20, 100)])], "one");
    h.account([subaccount(5_000, [position(90, 100)])], "other");
    h.account([subaccount(5_000, [position(3, 1_000, "BTC")])], "two");
    expect(summaries(h)).toEqual([
      "book/Desk/desk=beta fired beta: $9,000.00 over 1",
      "book/Desk/desk=alpha fired alpha: $5,000.00 over 2",
    ]);
    expect(h.changes.map(({ alert }) => alert.labels.desk)).toEqual(["beta", "alpha"]);
    const after = h.restarted({ rules: rulesOf(byDesk, desks), wallets: desks });
    after.config(marketConfig("SOL"), marketConfig("BTC"));
    after.mark(prices(100, "SOL"), prices(1_000, "BTC"));
    after.account([subaccount(5_000, [])], "other");
    expect(summaries(after)).toEqual(["book/Desk/desk=beta ended beta: $0.00 over 1"]);
  });

  test("go on over a reload, and end where no wallet carries the value any more", () => {
    const h = desk();
    for (const name of ["one", "two", "other"]) h.account([subaccount(5_000, [position(90, 100)])], name);
    const moved = desks.map((one) => (one.name === "other" ? { ...one, labels: { desk: "alpha" } } : one));
    h.reload({ rules: rulesOf(byDesk, moved), wallets: moved });
    h.pass(1_000);
    expect(h.told.slice(2)).toEqual([
      "Desk book/Desk/desk=beta ended warning noLongerWatched",
      "Desk book/Desk/desk=alpha worsened warning",
    ]);
    expect(now(h)).toEqual(["book/Desk/desk=alpha alpha: $27,000.00 over 3"]);
  });
});

describe("sums of flows, fills and funding", () => {
  const sums = `
rules:
  - name: Fees
    scope: book
    by: desk
    when: book.feesToday > 10.0
    severity: info
    keepFiringFor: 0s
    summary: "{{ usd(book.feesToday) }} {{ usd(book.fundingToday) }} {{ usd(book.netDeposits) }}"
`;
  const given = (h: Harness, of: Record<string, Record<string, number>>) =>
    h.see({
      kind: "figures",
      atMs: h.nowMs,
      given: Object.entries(of).map(([owner, values]) => ({
        owner,
        values,
        sources: ["traderState", "collateral", "fills", "funding"],
      })),
    });

  test("add up the parts of their wallets, and are unknown, with whose, while one is", () => {
    const h = begun(sums);
    given(h, { one: { feesToday: 8, fundingToday: -2, netDeposits: 100 }, two: { fundingToday: 1 } });
    expect(h.told).toEqual([]);
    const explained = h.watch.explain("Fees", "book/Fees/desk=alpha", h.nowMs);
    expect(JSON.stringify(explained)).toContain("book.feesToday is not known of two");
    given(h, { two: { feesToday: 4, fundingToday: 1, netDeposits: -30 } });
    expect(summaries(h)).toEqual(["book/Fees/desk=alpha fired $12.00 -$1.00 $70.00"]);
  });
});

describe("sums over events", () => {
  const volume = `
rules:
  - name: Volume
    scope: book
    by: BY
    select: { desk: alpha }
    value: sumOver("fill.size", "1h")
    levels: { info: { when: value >= 5.0 } }
    keepFiringFor: 0s
    summary: "{{ amount(value) }} in {{ amount(countOver('fill', '1h')) }} fills, {{ usd(sumOver('funding.payment', '1h')) }} funding"
`;
  const fill = (name: string, key: string, symbol: string, size: number) => {
    const fields = { size, price: 100, side: "bid" };
    return event({ kind: "fill", key, wallet: name, symbol, happenedMs: startMs, fields });
  };
  const seen = (by: string) => {
    const h = new Harness({ rules: rulesOf(volume.replace("BY", by), wallets), wallets });
    h.config(marketConfig("SOL"), marketConfig("BTC"));
    h.mark(prices(100, "SOL"), prices(1_000, "BTC"));
    for (const name of ["one", "two", "other"]) h.account([subaccount(5_000, [position(1, 100)])], name);
    return h;
  };
  const feed = (h: Harness, isNew = true) => {
    const at = { kind: "events", atMs: h.nowMs, coversMs: startMs - 7_200_000 } as const;
    const payment = event({
      kind: "funding",
      key: "p",
      wallet: "two",
      happenedMs: startMs,
      fields: { payment: -3 },
    });
    h.see({ ...at, source: "funding", wallet: "one", pdaIndex: 0, events: [] });
    h.see({ ...at, source: "funding", wallet: "two", pdaIndex: 0, events: isNew ? [payment] : [] });
    h.see({ ...at, source: "fills", wallet: "other", events: isNew ? [fill("other", "9", "SOL", 90)] : [] });
    h.see({
      ...at,
      source: "fills",
      wallet: "one",
      events: isNew ? [fill("one", "1", "SOL", 4), fill("one", "2", "BTC", 2)] : [],
    });
    const explained = JSON.stringify(h.watch.explain("Volume", "book/Volume/desk=alpha", h.nowMs));
    h.see({ ...at, source: "fills", wallet: "two", events: isNew ? [fill("two", "3", "SOL", 3)] : [] });
    return explained;
  };

  test("count those of the members, in the markets of the book, and are unknown while one's are not read", () => {
    const byLabel = seen("desk");
    expect(feed(byLabel)).toContain("of two");
    expect(summaries(byLabel)).toEqual(["book/Volume/desk=alpha fired 9 in 3 fills, -$3.00 funding"]);
    const byMarket = seen("market");
    feed(byMarket);
    expect(summaries(byMarket)).toEqual(["book/Volume/SOL fired 7 in 2 fills, -$3.00 funding"]);
    const after = byLabel.restarted({ rules: rulesOf(volume.replace("BY", "desk"), wallets), wallets });
    for (const one of byLabel.all.flatMap(({ events }) => events)) after.watch.warmUp.rememberEvent(one);
    for (const name of ["one", "two", "other"]) after.account([subaccount(5_000, [position(1, 100)])], name);
    feed(after, false);
    expect(after.told).toEqual([]);
    expect(now(after)).toEqual(["book/Volume/desk=alpha 9 in 3 fills, -$3.00 funding"]);
  });
});

describe("a member that is not seen", () => {
  const live = (h: Harness, names: readonly string[], ms: number): void => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      h.pass(5_000);
      h.config(marketConfig("SOL"), marketConfig("BTC"));
      h.mark(prices(100, "SOL"), prices(1_000, "BTC"));
      for (const name of names) h.account([subaccount(5_000, [position(-20, 100)])], name);
    }
  };

  test("makes the book unknown, which neither fires nor ends, and says who it is", () => {
    const h = begun(net);
    live(h, ["one", "two"], 10_000);
    live(h, ["one"], 60_000);
    expect(h.told).toEqual(["Net book/Net/SOL fired warning", "Blind two fired warning"]);
    const blind = h.changes.at(-1)!.alert;
    expect(blind.labels.source).toBe("traderState");
    expect(new Map(h.changes.at(-1)!.details).get("Rules that cannot judge")).toBe("Net");
    live(h, ["one", "two"], 10_000);
    expect(h.told.at(-1)).toBe("Blind two ended warning recovered");
  });

  test("never since the start is told as well, by its own name", () => {
    const h = begun(net);
    live(h, ["two"], 90_000);
    expect(h.told).toEqual(["Blind one fired critical"]);
  });

  test("is counted, while everything else is unknown", () => {
    const h = begun(`
rules:
  - name: Stale
    scope: book
    select: { desk: alpha }
    when: book.staleWallets > 0.0
    severity: warning
    keepFiringFor: 0s
    summary: "{{ book.staleWallets }} of {{ book.wallets }}, net {{ usd(book.netNotional) }}"
`);
    // At a start the first round takes its time.
    h.pass(4_000);
    live(h, ["one", "two"], 60_000);
    live(h, ["one"], 30_000);
    expect(summaries(h)).toEqual(["book/Stale fired 1 of 2, net –"]);
    live(h, ["one", "two"], 5_000);
    h.pass(1_000);
    expect(h.told.at(-1)).toBe("Stale book/Stale ended warning recovered");
  });
});

describe("a restart", () => {
  test("goes on with what stood, and ends it by judging once all were read", () => {
    const first = begun(net);
    first.account([subaccount(5_000, [position(-20, 100)])], "one");
    first.account([subaccount(5_000, [])], "two");
    const second = begun(net, { remembered: first.remembered, atMs: first.nowMs + 60_000 });
    second.account([subaccount(5_000, [])], "one");
    expect(second.told).toEqual([]);
    second.account([subaccount(5_000, [])], "two");
    expect(second.told).toEqual(["Net book/Net/SOL ended warning recovered"]);
  });

  test("with another selection it is another book", () => {
    const first = begun(net);
    first.account([subaccount(5_000, [position(-20, 100)])], "one");
    first.account([subaccount(5_000, [])], "two");
    const changed = net.replace("desk: alpha", "desk: beta");
    const second = begun(changed, { remembered: first.remembered, atMs: first.nowMs + 60_000 });
    second.account([subaccount(5_000, [])], "other");
    expect(second.told).toEqual(["Net book/Net/SOL ended warning ruleChanged"]);
  });

  test("without the rule nothing of it stays", () => {
    const first = begun(net);
    first.account([subaccount(5_000, [position(-20, 100)])], "one");
    first.account([subaccount(5_000, [])], "two");
    const second = begun(all, { remembered: first.remembered, atMs: first.nowMs + 60_000 });
    second.see({ kind: "time", atMs: second.nowMs });
    expect(second.told).toEqual(["Net book/Net/SOL ended warning ruleChanged"]);
  });
});

describe("series", () => {
  test("of a book enter history with each reading of the prices, and windows look back over them", () => {
    const h = begun(`
rules:
  - name: Grew
    scope: book
    select: { desk: alpha }
    when: change("book.grossNotional", "10s") > 500.0
    severity: info
    keepFiringFor: 0s
    summary: "{{ usd(change(\\"book.grossNotional\\", \\"10s\\")) }}"
`);
    const hold = (size: number, ms: number) => {
      for (let passed = 0; passed < ms; passed += 5_000) {
        h.pass(5_000);
        h.config(marketConfig("SOL"), marketConfig("BTC"));
        h.account([subaccount(50_000, [position(size, 100)])], "one");
        h.account([subaccount(50_000, [])], "two");
        h.mark(prices(100, "SOL"), prices(1_000, "BTC"));
      }
    };
    hold(10, 30_000);
    hold(30, 5_000);
    const ticks = h.all.flatMap((one) => one.ticks).filter((tick) => tick.owner === "book/Grew");
    expect(ticks.length).toBeGreaterThan(5);
    expect(ticks.at(-1)!.values[ticks[0]!.series.indexOf("book.grossNotional")]).toBe(3_000);
    expect(summaries(h)).toEqual(["book/Grew fired $2,000.00"]);
  });
});

describe("kept by what changes", () => {
  const held = fc.record({
    wallet: fc.constantFrom("one", "two", "other"),
    cents: fc.integer({ min: -5_000, max: 5_000 }),
    btc: fc.integer({ min: -300, max: 300 }),
    collateral: fc.integer({ min: 1_000, max: 900_000 }),
  });
  const step = fc.oneof(
    held.map((one) => ({ kind: "account" as const, ...one })),
    fc.record({ kind: fc.constant("mark" as const), sol: fc.integer({ min: 1_000, max: 30_000 }) }),
  );

  test("comes out as all of it added up anew, to the last cent", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 3, maxLength: 25 }), (steps) => {
        const h = begun(all);
        const states = new Map<string, SubaccountState[]>([
          ["one", [subaccount(1_000, [])]],
          ["two", [subaccount(1_000, [])]],
        ]);
        let markUsd = 100;
        const fresh = (): string | undefined => {
          const whole = begun(all);
          whole.mark(prices(markUsd, "SOL"), prices(1_000, "BTC"));
          for (const [name, state] of states) whole.account(state, name);
          return now(whole)[0];
        };
        for (const [name, state] of states) h.account(state, name);
        for (const one of steps) {
          if (one.kind === "mark") {
            markUsd = one.sol / 100;
            h.mark(prices(markUsd, "SOL"), prices(1_000, "BTC"));
          } else {
            const positions = [
              ...(one.cents === 0 ? [] : [position(one.cents / 100, 100)]),
              ...(one.btc === 0 ? [] : [position(one.btc / 100, 1_000, "BTC")]),
            ];
            states.set(one.wallet, [subaccount(one.collateral / 10, positions)]);
            h.account(states.get(one.wallet)!, one.wallet);
          }
          expect(now(h)[0]).toBe(fresh());
        }
      }),
      { numRuns: 25 },
    );
  });
});

describe("the profit of the day", () => {
  const lost = `
rules:
  - name: Lost
    scope: book
    select: { desk: alpha }
    value: book.pnlToday
    levels: { warning: { when: value < -100.0 } }
    keepFiringFor: 0s
    summary: "{{ usd(value) }} of {{ usd(book.equity) }}"
`;
  const figures = (h: Harness, ...given: readonly { owner: string; values: Record<string, number> }[]) =>
    h.see({ kind: "figures", atMs: h.nowMs, given });
  const account = (name: string) => ({
    owner: `${name}/0.0`,
    values: { equity: 1_000, marginRatio: 0, moveToLiquidation: 1, adverseMoveToLiquidation: 1 },
  });

  test("is the sum of its wallets' own, and not known before each of them is", () => {
    const h = begun(lost);
    figures(h, account("one"), account("two"), { owner: "one", values: { pnlToday: -150 } });
    expect(h.told).toEqual([]);
    figures(h, { owner: "two", values: { pnlToday: 20 } });
    expect(summaries(h)).toEqual(["book/Lost fired -$130.00 of $2,000.00"]);
    figures(h, { owner: "two", values: { pnlToday: 60 } });
    expect(h.told.at(-1)).toBe("Lost book/Lost ended warning recovered");
  });
});
