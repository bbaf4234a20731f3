/** Texts of alerts that fire speak of now, or state the time of their figures. */
import { describe, expect, test } from "vitest";
import { explanationText } from "../../src/cli/commands/rules/explain.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { event, Harness, position, startMs, subaccount } from "./harness.ts";

const rules = `
rules:
  - name: Under
    scope: trader
    when: trader.unrealizedPnl < -100.0
    severity: critical
    for: 0s
    summary: "unrealized {{ usd(trader.unrealizedPnl) }}"
  - name: Falls
    scope: trader
    when: 'drawdown("trader.equity", "10m") > 0.02'
    severity: critical
    for: 0s
    summary: "down {{ percent(drawdown(\\"trader.equity\\", \\"10m\\")) }}"
`;

/** 100 SOL long at 150. */
const held = [subaccount(8_000, [position(100, 150)])];
const timed = { rules, remind: { critical: { every: "10m" }, worseBy: 0 } };

const losing = `
rules:
  - name: Losing
    scope: position
    when: position.unrealizedPnl < -100.0
    severity: critical
    for: 0s
    summary: "unrealized {{ usd(position.unrealizedPnl) }}"
`;

/** Two alerts that fired at 147, at 146 since. */
function fell(): Harness {
  const h = Harness.seeing(timed, 150, held);
  h.live(20_000, held, 150);
  h.live(5_000, held, 147);
  h.live(30_000, held, 146);
  return h;
}

const ofRule = (h: Harness, rule: string, kind?: AlertChange["kind"]): AlertChange[] =>
  h.changes.filter((change) => change.alert.rule === rule && (kind === undefined || change.kind === kind));

/** Summary, and age of its figures in seconds. */
function present(h: Harness, rule: string): [string, number] {
  const { summary, textAtMs } = h.watch.present(ofRule(h, rule)[0]!.alertId, h.nowMs)!;
  return [summary, (h.nowMs - textAtMs) / 1_000];
}

test("an alert is presented by what was judged last, not by what was notified", () => {
  const h = fell();
  expect(h.told).toEqual(["Under main/0.0 fired critical", "Falls main/0.0 fired critical"]);
  expect(present(h, "Under")).toEqual(["unrealized -$400.00", 0]);
  expect(present(h, "Falls")).toEqual(["down 5%", 0]);
  expect(h.watch.present(1_000, h.nowMs)).toBeNull();
});

test("what cannot be judged any more is presented as it was judged last, with the time of that", () => {
  const h = fell();
  const lastMs = h.nowMs;
  h.pass(60_000);
  expect(present(h, "Under")).toEqual(["unrealized -$400.00", (h.nowMs - lastMs) / 1_000]);
  expect(present(h, "Falls")).toEqual(["down 5%", (h.nowMs - lastMs) / 1_000]);
});

test("a reminder of what cannot be judged tells the last judgement and its time", () => {
  const h = fell();
  const lastMs = h.nowMs;
  h.pass(600_000);
  for (const [rule, summary] of [
    ["Under", "unrealized -$400.00"],
    ["Falls", "down 5%"],
  ] as const) {
    const [reminder] = ofRule(h, rule, "reminder");
    expect(reminder).toMatchObject({ past: true, alert: { summary, dataAtMs: lastMs } });
  }
});

test("a reminder of what can be judged is of now", () => {
  const h = fell();
  h.live(600_000, held, 145.5);
  const [reminder] = ofRule(h, "Under", "reminder");
  expect(reminder!.alert.summary).toBe("unrealized -$450.00");
  expect(reminder).not.toHaveProperty("past");
});

/** Back at 150, where nothing holds, for so long. */
function gone(keepFiringFor: string, ms: number, remindEvery = "1m"): Harness {
  const lasting = rules.replaceAll("for: 0s", `for: 0s\n    keepFiringFor: ${keepFiringFor}`);
  const h = Harness.seeing(
    { rules: lasting, remind: { critical: { every: remindEvery }, worseBy: 0 } },
    150,
    held,
  );
  h.live(20_000, held, 150);
  h.live(30_000, held, 147);
  h.live(ms, held, 150);
  return h;
}

test("nothing is reminded of that does not hold and only waits to end, until it holds again", () => {
  const h = gone("10m", 240_000);
  expect(ofRule(h, "Under").map(({ kind }) => kind)).toEqual(["fired"]);
  h.live(15_000, held, 146);
  expect(ofRule(h, "Under").map(({ kind, alert }) => `${kind} ${alert.summary}`)).toEqual([
    "fired unrealized -$300.00",
    "reminder unrealized -$400.00",
  ]);
});

test("what only waits to end is presented as gone, until it holds again", () => {
  const h = gone("10m", 60_000);
  const { alertId } = ofRule(h, "Under")[0]!;
  expect(h.watch.present(alertId, h.nowMs)).toMatchObject({ summary: "unrealized $0.00", gone: true });
  h.live(5_000, held, 146);
  expect(h.watch.present(alertId, h.nowMs)).not.toHaveProperty("gone");
});

test("what waited to end and cannot be judged any more is reminded of", () => {
  const h = gone("10m", 40_000);
  expect(ofRule(h, "Under").map(({ kind }) => kind)).toEqual(["fired"]);
  h.pass(60_000);
  expect(ofRule(h, "Under").map(({ kind }) => kind)).toEqual(["fired", "reminder"]);
});

test("a rule that fires although nothing of it holds is explained with the time of its end", () => {
  const h = gone("10m", 60_000);
  const goneMs = startMs + 55_000;
  const explained = h.watch.explain("Under", "main/0.0", h.nowMs);
  expect(explained).toMatchObject({ explanation: { state: "firing", gone: { endsMs: goneMs + 600_000 } } });
  expect(
    explanationText(explained.kind === "explained" ? explained.explanation : never(), "UTC", plain),
  ).toContain("It no longer holds, and ends at 2026-01-05 12:10:55 UTC unless it returns.");
  h.live(5_000, held, 146);
  expect(h.watch.explain("Under", "main/0.0", h.nowMs)).not.toHaveProperty("explanation.gone");
});

test("a rule that fires until resolveWhen holds is explained as that", () => {
  const stays = `
rules:
  - name: Under
    scope: trader
    value: trader.unrealizedPnl
    levels:
      critical: { when: value < -200.0, resolveWhen: value > -50.0 }
    for: 0s
    summary: "unrealized {{ usd(trader.unrealizedPnl) }}"
`;
  const h = Harness.seeing({ rules: stays }, 150, held);
  h.live(5_000, held, 147);
  h.live(5_000, held, 149);
  const explained = h.watch.explain("Under", "main/0.0", h.nowMs);
  expect(explained).toMatchObject({ explanation: { state: "firing", gone: { endsMs: null } } });
  expect(
    explanationText(explained.kind === "explained" ? explained.explanation : never(), "UTC", plain),
  ).toContain("No `when` holds any more: it ends once `resolveWhen` does.");
});

const plain = Object.assign((_: unknown, text: string) => text, { width: 100 });

function never(): never {
  throw new Error("it was not explained");
}

test("a reminder after a restart waits ten seconds to be judged, and says when it was seen last", () => {
  const h = fell();
  const after = h.restarted(timed, 600_000);
  after.pass(9_000);
  expect(ofRule(after, "Under", "reminder")).toEqual([]);
  after.pass(2_000);
  const [reminder] = ofRule(after, "Under", "reminder");
  expect(reminder).toMatchObject({
    past: true,
    alert: { summary: "unrealized -$300.00", dataAtMs: startMs + 20_000 },
  });
  const [firing] = after.watch.status(after.nowMs).firing.filter(({ rule }) => rule === "Under");
  expect(firing!.textAtMs).toBe(startMs + 20_000);
});

test("a reminder that was due before a restart is sent once its condition was judged, and not where it no longer holds", () => {
  const holds = fell().restarted(timed, 600_000);
  holds.pass(2_000);
  holds.live(1_000, held, 147);
  const [reminder] = ofRule(holds, "Under", "reminder");
  expect(reminder!.alert.summary).toBe("unrealized -$300.00");
  expect(reminder).not.toHaveProperty("past");
  const gone = fell().restarted(timed, 600_000);
  gone.pass(2_000);
  gone.live(30_000, held, 150);
  expect(ofRule(gone, "Under").map(({ kind }) => kind)).not.toContain("reminder");
});

test("a daemon that is restarted again and again without a reading sends reminders all the same", () => {
  let h = fell();
  let reminders = 0;
  // Twenty minutes, of which ten have to pass before each.
  for (let life = 0; life < 30; life++) {
    h = h.restarted(timed, 5_000);
    h.pass(35_000);
    reminders += ofRule(h, "Under", "reminder").length;
  }
  expect(reminders).toBe(2);
});

test("no reminder is sent of a position that was closed before a start, though its end waits for its reason", () => {
  const before = Harness.seeing({ ...timed, rules: losing }, 150, held);
  before.live(20_000, held, 150);
  before.live(25_000, held, 147);
  const after = before.restarted({ ...timed, rules: losing }, 600_000);
  after.pass(3_000);
  after.live(80_000, [subaccount(8_000, [])], 147);
  expect(ofRule(after, "Losing").map(({ kind }) => kind)).toEqual(["ended"]);
});

test("no reminder is sent of a position that was closed before a stop, while its account is not read after the start", () => {
  const options = { ...timed, rules: losing };
  const before = Harness.seeing(options, 150, held);
  before.live(20_000, held, 150);
  before.live(25_000, held, 147);
  before.account([subaccount(8_000, [])]);
  const after = before.restarted(options, 600_000);
  after.pass(30_000);
  expect(ofRule(after, "Losing")).toEqual([]);
});

test("the ten seconds after a start begin when something is first due, and anew after the process stood still", () => {
  const steps = (h: Harness) => ofRule(h, "Under").map(({ kind }) => kind);
  const after = fell().restarted(timed, 60_000);
  after.pass(3_000);
  // The clock was an hour slow, or the process stood still.
  after.nowMs += 3_600_000;
  after.pass(1_000);
  after.nowMs += 3_600_000;
  after.pass(3_000);
  expect(steps(after)).toEqual([]);
  after.live(90_000, held, 150);
  expect(steps(after)).toEqual(["ended"]);
});

describe("nobody answered", () => {
  const chained = {
    rules: losing,
    remind: { critical: { every: "2h" }, worseBy: 0 },
    routing: { receivers: ["chat"], escalate: [{ after: "5m", receivers: ["phone"] }] },
  };
  const steps = (h: Harness) => ofRule(h, "Losing").map(({ kind }) => kind);
  const firing = () => {
    const h = Harness.seeing(chained, 150, held);
    h.live(20_000, held, 150);
    h.live(5_000, held, 147);
    return h;
  };

  test("is not said of a position that is closed and waits for its end", () => {
    const h = firing();
    h.live(285_000, held, 147);
    h.account([subaccount(8_000, [])]);
    for (let passed = 0; passed < 40_000; passed += 5_000) {
      h.mark(147);
      h.pass(5_000);
    }
    expect(steps(h)).toEqual(["fired"]);
    h.live(60_000, [subaccount(8_000, [])], 147);
    expect(steps(h)).toEqual(["fired", "ended"]);
  });

  test("is said after a start once the alert was judged, and not where it no longer holds", () => {
    const holds = firing().restarted(chained, 600_000);
    holds.pass(2_000);
    expect(steps(holds)).toEqual([]);
    holds.live(2_000, held, 147, 1_000);
    const [escalated] = ofRule(holds, "Losing", "escalated");
    expect(escalated).not.toHaveProperty("past");
    expect(steps(holds)).toEqual(["escalated"]);
    const gone = firing().restarted(chained, 600_000);
    gone.pass(2_000);
    gone.live(90_000, held, 150);
    expect(steps(gone)).toEqual(["ended"]);
    const unread = firing().restarted(chained, 600_000);
    unread.pass(11_500);
    expect(steps(unread)).toEqual(["escalated"]);
  });
});

test("what a mute time held back is not reported at its end while it waits to end, and as new once it holds again", () => {
  const options = {
    rules: losing.replace("for: 0s", "for: 0s\n    keepFiringFor: 5m"),
    routing: {
      ...{ receivers: ["chat"], mute: ["noon"] },
      muteTimes: { noon: [{ from: "12:00", to: "12:02", upTo: "critical" }] },
    },
  };
  const h = Harness.seeing(options, 150, held);
  h.live(20_000, held, 150);
  h.live(30_000, held, 147);
  h.live(100_000, held, 150);
  expect(h.owed).toEqual([]);
  expect(h.watch.heldBack.map(({ why }) => why)).toEqual([
    "its condition is gone, or was not judged since the start",
  ]);
  h.live(15_000, held, 147);
  expect(h.owed).toEqual(["chat: Losing main/0.0/SOL fired critical"]);
});

test("an acknowledgement shows what was judged last", () => {
  const h = fell();
  h.pass(60_000);
  const { alert } = ofRule(h, "Under")[0]!;
  h.see({ kind: "acknowledged", atMs: h.nowMs, alert, by: "ann", comment: "" });
  expect(ofRule(h, "Under", "acknowledged")).toMatchObject([
    { past: true, alert: { summary: "unrealized -$400.00" } },
  ]);
});

test("an alert that ends because its rule was changed shows what was judged last", () => {
  const h = fell();
  h.reload({ ...timed, rules: rules.replaceAll("-100.0", "-100000.0").replaceAll("0.02", "0.9") });
  h.pass(1_000);
  const ended = ofRule(h, "Under", "ended");
  expect(ended).toMatchObject([
    { alert: { ending: "ruleChanged", summary: "unrealized -$400.00", dataAtMs: startMs + 55_000 } },
  ]);
  expect(ofRule(h, "Falls", "ended")).toMatchObject([
    { alert: { ending: "ruleChanged", summary: "down 5%" } },
  ]);
});

test("an alert that ends because its rule is gone shows what was judged last", () => {
  const h = fell();
  h.reload({ ...timed, rules: rules.replace("name: Under", "name: Other") });
  h.live(10_000, held, 146);
  expect(ofRule(h, "Under", "ended")).toMatchObject([
    { alert: { summary: "unrealized -$400.00", dataAtMs: startMs + 55_000 } },
  ]);
});

test("an account that was liquidated shows how it stood before", () => {
  const h = fell();
  h.pass(1_000);
  h.account([subaccount(100, [])]);
  h.pass(1_000);
  const fields = { role: "liquidatee", positionClosed: true };
  h.events("liquidations", [
    event({
      kind: "liquidation",
      key: "l",
      happenedMs: h.nowMs - 1_000,
      seenMs: h.nowMs,
      slot: h.slot,
      fields,
    }),
  ]);
  h.pass(30_000);
  expect(ofRule(h, "Under", "ended")).toMatchObject([
    { alert: { ending: "liquidated", summary: "unrealized -$400.00", dataAtMs: startMs + 55_000 } },
  ]);
});

test("the status states the change of collateral for which a profit is not known", () => {
  const loss =
    'rules:\n  - { name: Loss, scope: wallet, when: wallet.pnl < -5000.0, severity: critical, summary: "s" }';
  const h = Harness.seeing({ rules: loss }, 150, held);
  h.events("collateral", []);
  h.live(10_000, held, 150);
  expect(h.watch.status(h.nowMs).wallets[0]).not.toHaveProperty("unexplained");
  h.account([subaccount(7_500, [position(100, 150)])]);
  expect(h.watch.status(h.nowMs).wallets[0]!.unexplained).toBe("a withdrawal, or a loss of $500.00");
});

test("an alert that fires with what ends a no-data alert states its own figures", () => {
  const h = Harness.seeing(
    {
      rules: `${rules}
  - name: Cleared
    scope: trader
    value: countOver("notification", "10m", "notification.type == 'risk_engine_cancel_order'")
    when: value >= 3.0
    severity: critical
    for: 0s
    summary: "{{ amount(value) }} cancelled, {{ amount(countOver('notification', '10m')) }} in all"
`,
    },
    150,
    held,
  );
  const inbox = (...types: string[]) =>
    h.events(
      "notifications",
      types.map((type, index) =>
        event({ kind: "notification", key: `n${index}`, happenedMs: h.nowMs - 5_000, fields: { type } }),
      ),
    );
  inbox();
  h.live(20_000, held, 147);
  h.live(5 * 60_000, held, 147);
  expect(ofRule(h, "Blind").map(({ kind }) => kind)).toEqual(["fired"]);
  const types = ["risk_engine_cancel_order", "risk_engine_cancel_order", "risk_engine_cancel_order"];
  inbox(...types, "announcement");
  expect(ofRule(h, "Cleared").map(({ alert }) => alert.summary)).toEqual(["3 cancelled, 4 in all"]);
  expect(ofRule(h, "Blind", "ended")).toHaveLength(1);
});

const near = `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels: { critical: { when: value < 0.05 } }
    for: 0s
    keepFiringFor: 0s
    summary: "{{ position.symbol }} {{ percent(value) }}"
`;
const endangered = [subaccount(1_000, [position(100, 150)])];

test.each([
  ["no data", 3_000, Number.POSITIVE_INFINITY, 2_100],
  ["data each half minute", 3_000, 30_000, 2_100],
  ["data every ten seconds", 3_000, 10_000, 2_100],
])(
  "standstills again and again put reminders off by twenty seconds at most: %s",
  (_, everyMs, dataMs, forMs) => {
    const h = Harness.seeing({ rules: near }, 150, endangered);
    h.live(60_000, endangered, 150);
    const startMs = h.nowMs;
    let [nextDataMs, nextStopMs] = [startMs + dataMs, startMs + everyMs];
    while (h.nowMs < startMs + 3_600_000) {
      h.pass(500);
      if (h.nowMs >= nextDataMs) {
        nextDataMs = h.nowMs + dataMs;
        h.config();
        h.mark(150);
        h.account(endangered);
      }
      if (h.nowMs >= nextStopMs) {
        h.nowMs += forMs;
        h.see({ kind: "time", atMs: h.nowMs });
        nextStopMs = h.nowMs + everyMs;
      }
    }
    const reminders = h.changes.filter(({ kind, alert }) => kind === "reminder" && alert.rule === "Near");
    // One in five minutes.
    expect(reminders.length).toBeGreaterThanOrEqual(10);
  },
);
