/** The line of advice that an alert carries: where, when, in which words, and that what it says is enough. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { render } from "../../src/channels/message.ts";
import type { SubaccountState } from "../../src/domain/account.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import {
  Harness,
  type HarnessOptions,
  mainWallet,
  marketConfig,
  position,
  prices,
  rulesOf,
  subaccount,
} from "../engine/harness.ts";

const packs = ["liquidation-risk", "margin", "drawdown"].map((name) =>
  readFileSync(new URL(`../../rules/${name}.yaml`, import.meta.url), "utf8").replace(
    /^[\s\S]*?^rules:\n/m,
    "",
  ),
);
const shipped = `rules:\n${packs.join("\n")}`;
/** One level about the margin of accounts. */
const poor = `
rules:
  - name: Poor
    scope: trader
    when: trader.marginRatio > 0.5
    resolveWhen: trader.marginRatio < 0.4
    severity: critical
    keepFiringFor: 0s
    summary: "poor"
`;

const wallets = ["main", "whale"].map((name) => ({
  ...mainWallet,
  name,
  labels: name === "whale" ? { watch: "whale" } : {},
}));

/** Long 100 SOL at 100 USD: a maintenance margin of 333.33 USD. */
const held = [position(100, 100)];

function begun(subaccounts: readonly SubaccountState[], options: Partial<HarnessOptions> = {}): Harness {
  const { rules = poor, ...more } = options;
  const h = new Harness({
    ...{ rules: typeof rules === "string" ? rulesOf(rules, wallets) : rules, wallets },
    ...more,
  });
  h.config(marketConfig(), marketConfig("ETH", { assetId: 2 }));
  h.mark(100, prices(200, "ETH"));
  h.account(subaccounts);
  return h;
}

const adviceIn = (changes: readonly AlertChange[]) =>
  changes.map(({ kind, alert, advice }) => [alert.rule, kind, advice]);
const linesOf = ({ advice }: AlertChange) => advice?.map(({ line }) => line);

describe("an alert about an account in danger", () => {
  test("says what clears it, up to which price, and by which mark", () => {
    const h = begun([subaccount(600, held)]);
    const [change] = h.changes;
    expect(linesOf(change!)).toEqual([
      "Sell 30.17 SOL reduce-only, or deposit $253.34 to main/0.0: either ends all distance and margin alerts, info too; after that they stay quiet as long as SOL stays above $98.00 (mark $100.00 at 12:00:00 UTC). To end only what is critical: sell 29.26 SOL reduce-only, or deposit $242.51 to main/0.0.",
    ]);
  });

  test("names the account in a trade where no other way does", () => {
    const depositCollateral = { immediate: false, viaColdActivation: false };
    const h = begun([subaccount(600, held, { capabilities: { depositCollateral } })]);
    expect(linesOf(h.changes[0]!)).toEqual([
      "Sell 30.17 SOL reduce-only in main/0.0: this ends all distance and margin alerts, info too; after that they stay quiet as long as SOL stays above $98.00 (mark $100.00 at 12:00:00 UTC). To end only what is critical: sell 29.26 SOL reduce-only in main/0.0. Not offered: main/0.0 may not take deposits now.",
    ]);
  });

  test("is of the moment in a reminder", () => {
    const h = begun([subaccount(600, held)]);
    h.live(300_000, [subaccount(600, held)], 99);
    const reminder = h.changes.find(({ kind }) => kind === "reminder");
    expect(linesOf(reminder!)![0]).toContain(
      "; after that they stay quiet as long as SOL stays above $97.02 (mark $99.00 at 12:04:55 UTC). ",
    );
  });

  test("still says it to whoever hears that it was acknowledged, of the moment", () => {
    const h = begun([subaccount(600, held)]);
    h.mark(99, prices(200, "ETH"));
    const { alert } = h.changes[0]!;
    h.see({ kind: "acknowledged", atMs: h.nowMs, alert, by: "ann", comment: "" });
    const acknowledged = h.changes.at(-1)!;
    expect(acknowledged.kind).toBe("acknowledged");
    expect(linesOf(acknowledged)![0]).toMatch(
      /^Sell .* as long as SOL stays above \$97\.02 \(mark \$99\.00 at /,
    );
  });

  test("names an account that can spare collateral first, and what is up and down of several positions", () => {
    const short = position(-20, 200, "ETH");
    const h = begun([subaccount(700, [...held, short]), subaccount(5_000, [], { subaccount: 1 })]);
    expect(linesOf(h.changes[0]!)![0]).toMatch(
      /^Transfer \$[\d.,]+ from main\/0\.1 to main\/0\.0, or (sell|buy) [\d.]+ (SOL|ETH) reduce-only, or deposit \$[\d.,]+ to main\/0\.0: any of them ends all distance and margin alerts, info too; after that they stay quiet as long as SOL stays above \$98\.00 and ETH stays below \$204\.00 \(marks \$100\.00 and \$200\.00 at 12:00:00 UTC\)\. To end only what is critical: transfer .+, or (sell|buy) [\d.]+ (SOL|ETH) reduce-only, or deposit \$[\d.,]+ to main\/0\.0\.$/,
    );
  });

  test("says that nothing clears it, and what stands in the way", () => {
    const right = { immediate: false, viaColdActivation: false };
    const capabilities = { depositCollateral: right, riskReducingTrade: right };
    expect(
      begun([subaccount(600, held, { capabilities })]).changes[0]!.advice?.map(({ line }) => line),
    ).toEqual([
      "No transfer, reduction or deposit ends all distance and margin alerts of main/0.0 (mark $100.00 at 12:00:00 UTC). Not offered: main/0.0 may not take deposits now; main/0.0 may not trade now.",
    ]);
  });

  test("carries it in the words of a message, before its description", () => {
    const h = begun([subaccount(600, held)], {
      rules: poor.replace("summary:", "description: why\n    summary:"),
    });
    const [change] = h.changes;
    const content = {
      ...{ kind: "alert" as const, severity: "critical" as const, resolved: false, title: "poor" },
      ...{ items: [{ change: change!, lead: "FIRING" }], sender: "perpwatch" },
    };
    const message = {
      ...{ id: "x", receiver: "chat", severity: "critical" as const, itemIds: [1], alertIds: [1], content },
      ...{ sealedAtMs: h.nowMs },
    };
    const { blocks } = render(message as never, {} as never);
    expect(blocks[0]!.description).toBe(`Now: s${linesOf(change!)![0]!.slice(1)}\nwhy`);
  });
});

describe("it is told", () => {
  test("by each shipped rule about distances and margins, of warnings on, with what fires, rises and reminds", () => {
    const h = begun([subaccount(900, held)], { rules: shipped });
    for (let minute = 0; minute < 10; minute++) h.live(60_000, [subaccount(900, held)], 92);
    const told = adviceIn(h.changes).filter(([, , advice]) => advice !== undefined);
    expect(new Set(told.map(([rule, kind]) => `${rule} ${kind}`))).toEqual(
      new Set([
        ...["MarginHigh", "LiquidationNear", "AccountLiquidatable"].flatMap((rule) => [
          `${rule} fired`,
          `${rule} reminder`,
        ]),
        "LiquidationNear rose",
      ]),
    );
  });

  test("by a level that fell, while the one below still asks for something", () => {
    const rules = poor.replace(
      /when: .*\n.*\n.*severity: critical/,
      "value: trader.marginRatio\n    levels: { info: { when: value > 0.3 }, warning: { when: value > 0.5 }, critical: { when: value > 0.8 } }",
    );
    const h = begun([subaccount(350, held)], { rules });
    h.live(5_000, [subaccount(600, held)], 100);
    h.live(5_000, [subaccount(1_000, held)], 100);
    const [, fell, better] = h.changes;
    expect([fell!.kind, fell!.alert.severity]).toEqual(["fell", "warning"]);
    expect(linesOf(fell!)).toEqual([
      expect.stringMatching(/^Sell [\d.]+ SOL reduce-only, or deposit .* to main\/0\.0: /),
    ]);
    expect([better!.kind, better!.alert.severity, better!.advice]).toEqual(["fell", "info", undefined]);
  });

  test("not of infos, ends, shadow rules, strangers, and alerts that something holds", () => {
    const silent = (options: Partial<HarnessOptions>, wallet = "main") => {
      const h = begun([], options);
      h.account([subaccount(600, held)], wallet);
      h.mark(110, prices(200, "ETH"));
      return adviceIn(h.changes).filter(([, , advice]) => advice !== undefined);
    };
    expect(silent({})).toHaveLength(1);
    expect(silent({ rules: poor.replace("critical", "info") })).toEqual([]);
    expect(silent({ rules: poor.replace("summary:", "mode: shadow\n    summary:") })).toEqual([]);
    expect(silent({}, "whale")).toEqual([]);
    expect(silent({ advice: { order: [], headroom: 0.5 } })).toEqual([]);
  });

  test("once for each account, however many alerts of it are told in a tick", () => {
    const h = begun([subaccount(350, held)], { rules: shipped });
    const texts = h.changes.flatMap((change) => linesOf(change) ?? []);
    expect(texts.length).toBeGreaterThan(1);
    expect(new Set(texts).size).toBe(1);
  });

  test("of a loss, a line for each account of the wallet that is in danger", () => {
    const lossy = `
rules:
  - name: Loss
    scope: wallet
    when: wallet.pnl < -10.0
    severity: critical
    summary: "loss"
`;
    const rules = `${lossy}${poor.replace("\nrules:", "")}`;
    const accounts = [0, 1, 2, 3, 4].map((index) =>
      subaccount(index === 4 ? 9_000 : 900, held, { subaccount: index }),
    );
    const h = begun(accounts, { rules });
    h.events("collateral", []);
    h.mark(95, prices(200, "ETH"));
    h.account(accounts);
    const told = h.changes.find(({ alert }) => alert.rule === "Loss");
    expect(told?.advice?.map(({ line }) => /main\/0\.\d(?=: )|more/.exec(line)?.[0])).toEqual([
      ...["main/0.0", "main/0.1", "main/0.2", "more"],
    ]);
    // No amount undoes a loss: the line is that of the account's alerts of margin.
    expect(told?.advice?.[0]).toEqual(h.changes.find(({ alert }) => alert.rule === "Poor")?.advice?.[0]);
  });
});
