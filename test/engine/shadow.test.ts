/** Rules in shadow mode: judged and recorded like any other, and nobody ever hears of them. */
import { describe, expect, test } from "vitest";
import { Harness, notification, position, subaccount } from "./harness.ts";

const near = (mode: "live" | "shadow", more = ""): string => `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < 0.10 }
      critical: { when: value < 0.05 }
    keepFiringFor: 0s
    mode: ${mode}
    summary: "{{ position.symbol }} {{ percent(value) }}"
${more}`;

/** 100 SOL long at 150: with 1000 USD critical, with 4000 USD far away. */
const at = (collateralUsd: number) => [subaccount(collateralUsd, [position(100, 150)])];

function seen(rules: string, of: object = {}): Harness {
  const harness = Harness.seeing({ rules, ...of }, 150, at(1_000));
  return harness;
}

describe("a condition in shadow mode", () => {
  test("lives its life on record, and nothing of it is owed, repeated or pressed", () => {
    const harness = seen(near("shadow"));
    expect(harness.watch.status(harness.nowMs)).toMatchObject({
      firing: [],
      shadow: [{ rule: "Near", severity: "critical", shadow: true }],
    });
    // Past every reminder, and markedly worse.
    harness.live(20 * 60_000, at(1_000), 150, 10_000);
    harness.live(20_000, at(1_000), 146);
    harness.live(120_000, at(4_000), 150);
    expect(harness.told).toEqual([
      "Near main/0.0/SOL fired critical",
      "Near main/0.0/SOL ended critical recovered",
    ]);
    expect(
      harness.changes.every(({ alert, quietIfAcknowledged }) => alert.shadow && !quietIfAcknowledged),
    ).toBe(true);
    expect(harness.owed).toEqual([]);
  });

  test("is not among what is pending, and the log says what it is", () => {
    const harness = seen(near("shadow").replace("keepFiringFor", "for: 10m\n    keepFiringFor"));
    const { pending, shadow } = harness.watch.status(harness.nowMs);
    expect([pending, shadow]).toEqual([[], []]);
    expect(harness.notes).toEqual([expect.stringContaining("shadow, pending: Near of main/0.0/SOL")]);
  });

  test("blinds nobody when its data stay away", () => {
    const told = (mode: "live" | "shadow") => {
      const harness = seen(near(mode));
      harness.pass(10 * 60_000);
      return harness.told.filter((line) => line.startsWith("Blind"));
    };
    expect(told("live").length).toBeGreaterThan(0);
    expect(told("shadow")).toEqual([]);
  });

  test.each([
    ["live", "shadow"],
    ["shadow", "live"],
  ] as const)("that was %s ends as another rule when it becomes %s, and fires anew", (was, is) => {
    const before = seen(near(was));
    const after = seen(near(is), { remembered: before.remembered, atMs: before.nowMs + 1_000 });
    expect(after.told).toEqual([
      "Near main/0.0/SOL ended critical ruleChanged",
      "Near main/0.0/SOL fired critical",
    ]);
    expect(after.changes.map(({ alert }) => alert.shadow === true)).toEqual([
      was === "shadow",
      is === "shadow",
    ]);
    const kind = was === "live" ? "ended critical ruleChanged" : "fired critical";
    expect(after.owed).toEqual([`chat: Near main/0.0/SOL ${kind}`]);
  });

  test("goes on after a restart, still told to nobody", () => {
    const before = seen(near("shadow"));
    const after = seen(near("shadow"), { remembered: before.remembered, atMs: before.nowMs + 1_000 });
    after.live(120_000, at(4_000), 150);
    expect(after.told).toEqual(["Near main/0.0/SOL ended critical recovered"]);
    expect(after.owed).toEqual([]);
  });
});

const filled = (mode: "live" | "shadow", when = 'event.type == "order_filled"'): string => `
rules:
  - name: Filled
    on: notification
    when: ${when}
    severity: info
    acknowledge: always
    throttle: 1m
    mode: ${mode}
    summary: "filled"
`;

describe("an event rule in shadow mode", () => {
  test("records each match, throttles nothing, and does not handle the notification", () => {
    const outcome = (mode: "live" | "shadow") => {
      const harness = new Harness({ rules: filled(mode) });
      harness.account(at(1_000));
      harness.events("notifications", [notification("a", "order_filled"), notification("b", "order_filled")]);
      harness.pass(120_000);
      return {
        told: harness.changes.length,
        owed: harness.owed.length,
        acknowledgements: harness.acknowledgements,
      };
    };
    expect(outcome("live")).toEqual({ told: 2, owed: 2, acknowledgements: ["a always due", "b always due"] });
    expect(outcome("shadow")).toEqual({
      told: 2,
      owed: 0,
      acknowledgements: ["a never left", "b never left"],
    });
  });

  test("does not answer for a notification of a kind that nobody knows", () => {
    const harness = new Harness({ rules: filled("shadow", 'event.type == "other"') });
    harness.account(at(1_000));
    harness.events("notifications", [notification("a", "brand_new")]);
    expect(harness.owed).toEqual(["chat: UnknownNotification main/0.0/SOL fired warning"]);
  });

  const rich = 'event.type == "order_filled" && trader.equity > 0.0';

  test("waits for figures by itself: what is owed to the exchange does not", () => {
    const harness = new Harness({ rules: filled("shadow", rich) });
    harness.events("notifications", [notification("a", "order_filled")]);
    expect(harness.acknowledgements).toEqual(["a never left"]);
    harness.config();
    harness.mark(150);
    harness.account(at(1_000));
    expect(harness.told).toEqual(["Filled main/0.0/SOL fired info"]);
    expect(harness.acknowledgements).toEqual(["a never left"]);
    expect(harness.owed).toEqual([]);
  });

  test("whose figures never come is given up in silence, and goes on waiting over a restart", () => {
    const before = new Harness({ rules: filled("shadow", rich) });
    before.events("notifications", [notification("a", "order_filled")]);
    const after = before.restarted({ rules: filled("shadow", rich) });
    expect(after.remembered.held.map(({ key }) => key)).toEqual(["a"]);
    after.pass(10 * 60_000);
    expect(after.remembered.held).toEqual([]);
    expect(after.told).toEqual([]);
    expect(after.acknowledgements).toEqual([]);
    expect(after.all.flatMap((one) => one.keep).map(({ value }) => value)).toContain(null);
  });

  test("lets the live rules beside it decide as soon as they can", () => {
    const both = filled("shadow", "event.type == 'order_filled' && trader.equity > 0.0").concat(`
  - name: Live
    on: notification
    when: event.type == "order_filled" && market.markPrice > 0.0
    severity: warning
    acknowledge: always
    summary: "live"
`);
    const harness = new Harness({ rules: both });
    harness.events("notifications", [notification("a", "order_filled")]);
    expect(harness.acknowledgements).toEqual([]);
    harness.config();
    harness.mark(150);
    expect(harness.told).toEqual(["Live main/0.0/SOL fired warning"]);
    expect(harness.acknowledgements).toEqual(["a always due"]);
    harness.account(at(1_000));
    expect(harness.told.at(-1)).toBe("Filled main/0.0/SOL fired info");
    expect(harness.acknowledgements).toEqual(["a always due"]);
  });
});
