/** One alert that rises and falls: values against levels, each with its own way back, `for` and `keepFiringFor`. */
import { describe, expect, test } from "vitest";
import { worstSeverityOf } from "../../src/domain/alerts/alert.ts";
import { Harness, position, subaccount } from "./harness.ts";

/** Info above 100 until below 95, warning above 110 until below 108, critical above 120. */
const rules = (forS: number, keepS: number): string => `
rules:
  - name: High
    scope: market
    value: market.markPrice
    levels:
      info: { when: value > 100.0, resolveWhen: value < 95.0 }
      warning: { when: value > 110.0, resolveWhen: value < 108.0 }
      critical: { when: value > 120.0 }
    for: ${forS}s
    keepFiringFor: ${keepS}s
    summary: "{{ value }}"
`;
const quiet = { critical: "never", warning: "never", info: "never", worseBy: 0 };

/** `90*3 115`: a mark a second, three of them of 90. @returns `second what` of each change. */
function run(forS: number, keepS: number, marks: string): string[] {
  const harness = new Harness({ rules: rules(forS, keepS), remind: quiet });
  harness.config();
  const startMs = harness.nowMs;
  for (const part of marks.split(" ")) {
    const [value = "", times = "1"] = part.split("*");
    for (let i = 0; i < Number(times); i++) {
      harness.mark(Number(value));
      harness.pass(1_000);
    }
  }
  return harness.changes.map(({ kind, atMs, alert }) => {
    const what = kind === "ended" ? `ended ${alert.ending}` : `${kind} ${alert.severity}`;
    return `${(atMs - startMs) / 1_000} ${what}`;
  });
}

describe.each([
  [0, 0],
  [0, 5],
  [5, 0],
  [5, 5],
])("levels with for: %ds and keepFiringFor: %ds", (forS, keepS) => {
  /** Held from `atS` on: when the level is taken. */
  const up = (atS: number): number => atS + forS;
  /** Gone from `atS` on: when the level is left. */
  const down = (atS: number): number => atS + keepS;

  test.each<[string, string, string[]]>([
    ["nothing below the lowest", "100*20", []],
    ["the highest that holds is the one that fires", "90*10 125*20", [`${up(10)} fired critical`]],
    [
      "a climb is one alert that rises",
      "101*10 111*10 121*10",
      [`${up(0)} fired info`, `${up(10)} rose warning`, `${up(20)} rose critical`],
    ],
    [
      "a level without a way back of its own is left as soon as it does not hold",
      "125*10 120*20",
      [`${up(0)} fired critical`, `${down(10)} fell warning`],
    ],
    [
      "a band keeps a level that stands, and takes none",
      "109*10 111*10 109*20",
      [`${up(0)} fired info`, `${up(10)} rose warning`],
    ],
    [
      "each level is left by its own band",
      "111*10 107*20 99*20 96*20 94*20",
      [`${up(0)} fired warning`, `${down(10)} fell info`, `${down(70)} ended recovered`],
    ],
    [
      "a fall through all of them ends it, however high it was",
      "125*20 90*20",
      [`${up(0)} fired critical`, `${down(20)} ended recovered`],
    ],
    [
      "what falls and rises again is the same alert",
      "125*10 115*20 125*10",
      [`${up(0)} fired critical`, `${down(10)} fell warning`, `${up(30)} rose critical`],
    ],
    [
      "what comes back after its end is another",
      "105*10 90*10 105*10",
      [`${up(0)} fired info`, `${down(10)} ended recovered`, `${up(20)} fired info`],
    ],
  ])("%s", (_, marks, expected) => {
    expect(run(forS, keepS, marks)).toEqual(expected);
  });

  test("a touch that is shorter than `for` takes no level, and one shorter than `keepFiringFor` leaves none", () => {
    expect(run(forS, keepS, "105*10 115*3 105*10")).toEqual([
      `${up(0)} fired info`,
      ...(forS > 0 ? [] : ["10 rose warning", `${down(13)} fell info`]),
    ]);
    expect(run(forS, keepS, "115*10 105*3 115*10")).toEqual([
      `${up(0)} fired warning`,
      ...(keepS > 0 ? [] : ["10 fell info", `${up(13)} rose warning`]),
    ]);
  });
});

test("a level on its way up does not wait for the one below it to have fired", () => {
  expect(run(10, 0, "105*5 115*20")).toEqual(["10 fired info", "15 rose warning"]);
  expect(run(10, 0, "105*5 125*3 105*20")).toEqual(["10 fired info"]);
});

describe("an acknowledgement", () => {
  const acknowledged = (marks: readonly number[]): (string | null)[] => {
    const harness = new Harness({ rules: rules(0, 0), remind: quiet });
    harness.config();
    return marks.map((mark) => {
      if (mark < 0) {
        const { alert } = harness.changes.at(-1)!;
        harness.see({ kind: "acknowledged", atMs: harness.nowMs, alert, by: "ann", comment: "" });
      } else harness.mark(mark);
      harness.pass(1_000);
      const { firing } = harness.watch.status(harness.nowMs);
      return firing[0]?.acknowledgedBy ?? null;
    });
  };

  test.each<[string, readonly number[], (string | null)[]]>([
    ["is void at a level above the one at which it was given", [105, -1, 115], [null, "ann", null]],
    ["goes on through a fall", [125, -1, 115], [null, "ann", "ann"]],
    ["covers a rise back to its level", [125, -1, 115, 125], [null, "ann", "ann", "ann"]],
    ["covers no level above that", [115, -1, 105, 125], [null, "ann", "ann", null]],
    ["is not of the alert that comes after the end", [115, -1, 90, 115], [null, "ann", null, null]],
  ])("%s", (_, marks, expected) => {
    expect(acknowledged(marks)).toEqual(expected);
  });

  test("keeps what it covers over a restart", () => {
    const before = Harness.seeing({ rules: rules(0, 60), remind: quiet }, 125);
    before.see({
      kind: "acknowledged",
      atMs: before.nowMs,
      alert: before.changes[0]!.alert,
      by: "ann",
      comment: "",
    });
    const after = before.restarted({ rules: rules(0, 0), remind: quiet });
    after.config();
    for (const mark of [115, 125]) {
      after.mark(mark);
      after.pass(1_000);
    }
    expect(after.told).toEqual(["High market/SOL fell warning", "High market/SOL rose critical"]);
    expect(after.changes.at(-1)!.alert.acknowledgedBy).toBe("ann");
  });
});

test("an alert keeps the worst that it came to, over steps, restarts and its end", () => {
  const harness = new Harness({ rules: rules(0, 0), remind: quiet });
  const marks = (h: Harness, ...all: number[]) => {
    for (const mark of all) {
      h.mark(mark);
      h.pass(1_000);
    }
  };
  const worst = (h: Harness) => h.remembered.alerts.find(({ id }) => id === 1)!.worst;
  harness.config();
  marks(harness, 111);
  expect(worst(harness)).toBeUndefined();
  // No step of its life: 118 is within its level, and 118.5 is not worse than that by 5 %.
  marks(harness, 118, 118.5, 112);
  expect(worst(harness)).toMatchObject({ severity: "warning", value: 118 });
  marks(harness, 125);
  expect(worst(harness)).toBeUndefined();
  marks(harness, 160, 111);
  expect(worst(harness)).toMatchObject({
    severity: "critical",
    value: 160,
    summary: expect.stringContaining("160"),
  });
  const after = harness.restarted({ rules: rules(0, 0), remind: quiet });
  after.config();
  marks(after, 119, 90);
  const ended = after.changes.at(-1)!;
  expect([ended.kind, ended.alert.severity]).toEqual(["ended", "warning"]);
  expect(ended.alert.worst).toMatchObject({ severity: "critical", value: 160 });
});

test("a step states the value with the limit of its level while it is beyond that, and then with that of its end", () => {
  const harness = new Harness({
    rules: rules(0, 0),
    remind: { ...quiet, worseBy: 0.1, warning: { every: "10m" } },
  });
  harness.config();
  for (const mark of [111, 125, 109, 90]) {
    harness.mark(mark);
    harness.pass(1_000);
  }
  expect(harness.changes.map(({ kind, limit }) => [kind, limit])).toEqual([
    ["fired", "$111.00, warning above $110.00"],
    ["rose", "$125.00, critical above $120.00"],
    ["fell", "$109.00, warning until below $108.00"],
    ["ended", undefined],
  ]);
});

test("an alert keeps the worst level that it reached", () => {
  const harness = new Harness({ rules: rules(0, 0), remind: quiet });
  harness.config();
  for (const mark of [111, 125, 109, 101, 111, 90]) {
    harness.mark(mark);
    harness.pass(1_000);
  }
  expect(harness.changes.map(({ kind, alert }) => [kind, alert.severity, worstSeverityOf(alert)])).toEqual([
    ["fired", "warning", "warning"],
    ["rose", "critical", "critical"],
    ["fell", "warning", "critical"],
    ["fell", "info", "critical"],
    ["rose", "warning", "critical"],
    ["ended", "warning", "critical"],
  ]);
});

test("an alert whose subject is gone ends with the worst of its steps, reloads or not", () => {
  const near = `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels: { warning: { when: value < 0.3 } }
    summary: "{{ percent(value) }} from liquidation"
`;
  const settings = { rules: near, remind: quiet };
  const held = [subaccount(4_500, [position(100, 150)])];
  const run = (reloads: boolean) => {
    const harness = Harness.seeing(settings, 150, held);
    harness.live(5_000, held, 149);
    harness.account([subaccount(4_400, [])]);
    if (reloads) harness.reload(settings);
    harness.pass(60_000);
    return harness.changes.map(({ kind, alert }) => [kind, alert.ending, alert.worst?.summary]);
  };
  expect(run(false)).toEqual([
    ["fired", null, undefined],
    ["ended", "closed", "27.6% from liquidation"],
  ]);
  expect(run(true)).toEqual(run(false));
});
