/**
 * Decides who is notified of a change, and when: groups, silences, mute times, inhibition, escalation; all of it across
 * restarts.
 */
import { expect, describe as group, test, vi } from "vitest";
import type { DeliveryItem } from "../../src/domain/alerts/delivery.ts";
import type { Silence } from "../../src/domain/alerts/silence.ts";
import {
  describe,
  Harness,
  type HarnessOptions,
  notification,
  position,
  startMs,
  subaccount,
} from "./harness.ts";

const minute = 60_000;
const rules = `
rules:
  - name: MarginHigh
    scope: trader
    value: trader.marginRatio
    levels:
      warning: { when: value > 0.3 }
      critical: { when: value > 0.8 }
    keepFiringFor: 0s
    noData: keep
    summary: "{{ percent(value) }}"
  - name: Filled
    on: notification
    when: event.type == "order_filled"
    severity: info
    summary: "filled"
  - name: Liquidated
    on: notification
    when: event.type == "liquidation"
    severity: critical
    summary: "liquidated"
`;
// 100 SOL long from 150 with $5,000: the margin ratio is what the mark makes of it.
const account = [subaccount(5_000, [position(100, 150)])];
const calm = 150;
const warned = 110;
const near = 104;

function begin(options: Partial<HarnessOptions> = {}): Harness {
  const harness = new Harness({ rules, ...options });
  harness.config();
  look(harness, calm);
  return harness;
}

function look(harness: Harness, mark: number): void {
  harness.config();
  harness.mark(mark);
  harness.account(account);
  harness.events("notifications", []);
}

/** Time passes, and the same is seen all the while. */
function lasts(harness: Harness, mark: number, ms: number): void {
  const untilMs = harness.nowMs + ms;
  while (harness.nowMs < untilMs) {
    harness.pass(Math.min(5_000, untilMs - harness.nowMs));
    look(harness, mark);
  }
}

const items = (harness: Harness): DeliveryItem[] => harness.all.flatMap(({ deliveryItems: owed }) => owed);
/** Ms from the start until each item may leave. */
const releases = (harness: Harness): number[] =>
  items(harness).map(({ releaseAtMs, owedAtMs }) => (releaseAtMs ?? owedAtMs) - startMs);

function again(before: Harness, options: Partial<HarnessOptions> = {}): Harness {
  const after = new Harness({ rules, atMs: before.nowMs + 1_000, remembered: before.remembered, ...options });
  after.config();
  return after;
}

let silences = 0;
function silence(harness: Harness, parts: Partial<Silence>): Silence {
  const made: Silence = {
    ...{ id: ++silences, match: {}, upTo: "warning", author: "ann", comment: "" },
    ...{ startsMs: harness.nowMs, endsMs: harness.nowMs + 10 * minute, createdMs: harness.nowMs },
    ...parts,
  };
  harness.see({ kind: "silenced", atMs: harness.nowMs, silence: made });
  return made;
}

group("groups", () => {
  test("what is not urgent waits groupWait, then groupInterval; what is critical goes at once", () => {
    const harness = begin({ routing: { receivers: ["chat"], incidentBy: "never" } });
    look(harness, warned);
    const at = harness.nowMs - startMs;
    expect(releases(harness)).toEqual([at + 1_000]);
    harness.nowMs += 500;
    harness.events("notifications", [notification("n1", "order_filled")]);
    // Of one wallet: it leaves with the warning.
    expect(releases(harness)[1]).toBe(at + 1_000);
    harness.nowMs += 1_000;
    harness.events("notifications", [notification("n2", "order_filled")]);
    expect(releases(harness)[2]).toBe(at + 6_000);
    look(harness, near);
    expect(releases(harness)[3]).toBe(harness.nowMs - startMs);
    expect(new Set(items(harness).map(({ groupKey }) => groupKey)).size).toBe(1);
    expect(harness.owed.map((one) => one.split(" ")[1])).toEqual([
      "MarginHigh",
      "Filled",
      "Filled",
      "MarginHigh",
    ]);
  });

  test("a groupInterval of an hour lasts an hour", () => {
    const harness = begin({
      routing: { receivers: ["chat"], incidentBy: "never", groupWait: "1s", groupInterval: "1h" },
    });
    harness.events("notifications", [notification("n1", "order_filled")]);
    const [first] = releases(harness);
    for (const id of ["n2", "n3"]) {
      lasts(harness, calm, 15 * minute);
      harness.events("notifications", [notification(id, "order_filled")]);
    }
    expect(releases(harness)).toEqual([first, first! + 60 * minute, first! + 60 * minute]);
    lasts(harness, calm, 140 * minute);
    harness.events("notifications", [notification("n4", "order_filled")]);
    expect(releases(harness)[3]).toBe(harness.nowMs - startMs + 1_000);
  });

  test("a restart forgets no groupInterval, and no moment at which a group leaves", () => {
    const routing = { receivers: ["chat"], incidentBy: "never", groupWait: "1m", groupInterval: "1h" };
    const harness = begin({ routing });
    harness.events("notifications", [notification("n1", "order_filled")]);
    const first = releases(harness)[0]!;
    // It waits still: what comes after a restart leaves with it.
    const second = again(harness, { routing });
    second.events("notifications", [notification("n2", "order_filled")]);
    expect(releases(second)).toEqual([first]);
    // It left.
    lasts(second, calm, 15 * minute);
    const third = again(second, { routing });
    third.events("notifications", [notification("n3", "order_filled")]);
    expect(releases(third)).toEqual([first + 60 * minute]);
    // What was critical counts as well.
    const soon = third.nowMs - startMs;
    look(third, near);
    expect(releases(third).at(-1)).toBe(soon);
    const fourth = again(third, { routing });
    fourth.events("notifications", [notification("n4", "order_filled")]);
    expect(releases(fourth)).toEqual([soon + 60 * minute]);
  });

  test("a clock that was fast before a restart, and an interval that is shorter after it, hold nothing back for longer", () => {
    const routing = { receivers: ["chat"], incidentBy: "never", groupWait: "1s", groupInterval: "15m" };
    const fast = begin({ routing });
    fast.events("notifications", [notification("n1", "order_filled")]);
    const right = again(fast, { routing, atMs: fast.nowMs - 24 * 60 * minute });
    look(right, calm);
    const at = right.nowMs - startMs;
    right.events("notifications", [notification("n2", "order_filled")]);
    lasts(right, calm, 5 * minute);
    right.events("notifications", [notification("n3", "order_filled")]);
    expect(releases(right)).toEqual([at + 15 * minute, at + 15 * minute]);
    const shorter = again(right, { routing: { ...routing, groupInterval: "1m" } });
    look(shorter, calm);
    const then = shorter.nowMs - startMs;
    shorter.events("notifications", [notification("n4", "order_filled")]);
    expect(releases(shorter)).toEqual([then + minute]);
  });

  test("what is kept of a group goes when it begins anew, and of a short interval nothing is kept", () => {
    const routing = {
      receivers: ["chat"],
      groupBy: ["subject"],
      incidentBy: "never",
      groupWait: "1s",
      groupInterval: "15m",
    };
    const groupsOf = (of: Harness) => [...of.remembered.keep.keys()].filter((name) => /^group\//.test(name));
    const harness = begin({ routing });
    harness.events("notifications", [notification("n1", "order_filled")]);
    expect(groupsOf(harness)).toHaveLength(1);
    lasts(harness, calm, 20 * minute);
    look(harness, warned);
    expect(groupsOf(harness)).toHaveLength(1);
    expect(groupsOf(harness)[0]).toContain("subject=main/0.0");
    const brief = again(harness, { routing: { ...routing, groupInterval: "10s" } });
    look(brief, near);
    expect(groupsOf(brief)).toEqual([]);
  });

  test("the end of a critical alert is told at once, like its beginning", () => {
    const harness = begin();
    look(harness, near);
    lasts(harness, calm, 10_000);
    const ended = items(harness).at(-1)!;
    expect(harness.owed.at(-1)).toContain("ended critical recovered");
    expect(ended.releaseAtMs).toBeUndefined();
  });

  test("other labels, another group", () => {
    const harness = begin({ routing: { receivers: ["chat"], groupBy: ["rule"] } });
    look(harness, warned);
    harness.events("notifications", [notification("n1", "order_filled")]);
    expect(items(harness).map(({ groupKey }) => groupKey)).toEqual(["{rule=MarginHigh}", "{rule=Filled}"]);
  });
});

group("silences", () => {
  test("hold what matches, and tell at their end what still fires, as it is then", () => {
    const harness = begin();
    silence(harness, { match: { wallet: { in: ["main"] } } });
    lasts(harness, warned, 5 * minute);
    expect(harness.owed).toEqual([]);
    expect(harness.watch.heldBack).toMatchObject([
      { receivers: ["chat"], why: expect.stringContaining("of ann") },
    ]);
    lasts(harness, warned, 6 * minute);
    expect(harness.owed).toEqual(["chat: MarginHigh main/0.0 fired warning"]);
    expect(harness.watch.heldBack).toEqual([]);
  });

  test("what they held for a channel that is gone meanwhile is told to those of now", () => {
    const before = begin();
    silence(before, { upTo: "critical" });
    before.events("notifications", [notification("n1", "liquidation")]);
    look(before, warned);
    expect(before.owed).toEqual([]);
    const after = again(before, { routing: { receivers: ["team"] } });
    lasts(after, warned, 11 * minute);
    expect(items(after).map(({ receiver, severity }) => `${receiver} ${severity}`)).toEqual([
      "team critical",
      "team warning",
    ]);
  });

  test("what came and went under one is not told", () => {
    const harness = begin();
    silence(harness, {});
    lasts(harness, warned, minute);
    lasts(harness, calm, 12 * minute);
    expect(harness.told).toHaveLength(2);
    expect(harness.owed).toEqual([]);
  });

  test("whoever was told of the beginning is told of the end when the silence is over", () => {
    const harness = begin();
    look(harness, warned);
    silence(harness, {});
    lasts(harness, calm, minute);
    expect(harness.owed).toHaveLength(1);
    lasts(harness, calm, 10 * minute);
    expect(harness.owed.at(-1)).toBe("chat: MarginHigh main/0.0 ended warning recovered");
  });

  test.each([
    ["rose", warned, near, "rose critical"],
    ["fell", near, warned, "fell warning"],
  ])("an alert that %s under one is told so at its end, over a restart, too", (_, first, then, expected) => {
    const before = begin();
    look(before, first);
    silence(before, { upTo: "critical" });
    lasts(before, then, 5 * minute);
    expect(before.owed).toHaveLength(1);
    const after = again(before);
    lasts(after, then, 6 * minute);
    expect(after.owed).toEqual([`chat: MarginHigh main/0.0 ${expected}`]);
  });

  test("what rose under one and falls after it is not told as better than what was told before", () => {
    const harness = begin({ rules: rules.replace("keepFiringFor: 0s", "keepFiringFor: 1m") });
    look(harness, warned);
    silence(harness, { upTo: "critical", endsMs: harness.nowMs + 5 * minute });
    lasts(harness, near, 5 * minute - 10_000);
    lasts(harness, warned, 2 * minute);
    expect(harness.changes.map(({ kind, alert }) => `${kind} ${alert.severity}`).slice(0, 3)).toEqual([
      "fired warning",
      "rose critical",
      "fell warning",
    ]);
    expect(harness.owed).toEqual([
      "chat: MarginHigh main/0.0 fired warning",
      "chat: MarginHigh main/0.0 reminder warning",
    ]);
    expect(harness.watch.heldBack).toEqual([]);
  });

  test("each receiver is told at their end what is new to it", () => {
    const routes = [
      { match: { severity: "critical" }, receivers: ["chat", "phone"] },
      { match: {}, receivers: ["chat"] },
    ];
    const harness = begin({ routing: { receivers: ["chat"], routes } });
    look(harness, warned);
    silence(harness, { upTo: "critical" });
    lasts(harness, near, 11 * minute);
    expect(harness.owed.slice(1).sort()).toEqual([
      "chat: MarginHigh main/0.0 rose critical",
      "phone: MarginHigh main/0.0 fired critical",
    ]);
  });

  test("a rise above their level is told all the same", () => {
    const harness = begin();
    silence(harness, { upTo: "warning" });
    lasts(harness, warned, minute);
    look(harness, near);
    expect(harness.owed).toEqual(["chat: MarginHigh main/0.0 rose critical"]);
  });

  test("events are held and told when the silence is ended, once, also after a restart", () => {
    const before = begin();
    const made = silence(before, { match: { rule: { in: ["Filled"] } } });
    before.events("notifications", [notification("n1", "order_filled"), notification("n2", "order_filled")]);
    expect(before.owed).toEqual([]);
    const after = again(before);
    look(after, calm);
    lasts(after, calm, minute);
    expect(items(after)).toEqual([]);
    after.see({ kind: "silenced", atMs: after.nowMs, silence: { ...made, endsMs: after.nowMs } });
    expect(items(after).map(({ changeId }) => changeId)).toEqual(before.changes.map(({ id }) => id));
    // Together: one message.
    expect(new Set(items(after).map(({ groupKey }) => groupKey)).size).toBe(1);
    const third = again(after);
    lasts(third, calm, 20 * minute);
    expect(items(third)).toEqual([]);
  });

  test("a rule's explanation names what would hold word of it", () => {
    const harness = begin();
    look(harness, warned);
    const held = () => {
      const answer = harness.watch.explain("MarginHigh", "main/0.0", harness.nowMs);
      return answer.kind === "explained" ? answer.explanation.held : answer;
    };
    expect(held()).toEqual([]);
    const { id } = silence(harness, { match: { wallet: { in: ["main"] } } });
    expect(held()).toEqual([`silence ${id} of ann`]);
  });

  test("what somebody takes care of is not brought up again when a silence ends", () => {
    const harness = begin();
    look(harness, warned);
    silence(harness, {});
    harness.see({
      kind: "acknowledged",
      atMs: harness.nowMs,
      alert: harness.changes[0]!.alert,
      by: "ann",
      comment: "",
    });
    lasts(harness, warned, 11 * minute);
    expect(harness.owed.filter((one) => one.includes("reminder"))).toEqual([]);
  });

  test("one that begins later holds from then on", () => {
    const harness = begin();
    silence(harness, { startsMs: harness.nowMs + minute });
    look(harness, warned);
    expect(harness.owed).toHaveLength(1);
    lasts(harness, calm, 2 * minute);
    lasts(harness, warned, minute);
    expect(harness.owed).toHaveLength(2);
  });
});

test.each([
  ["a silence", { receivers: ["chat"] }],
  [
    "a mute time",
    {
      ...{ receivers: ["chat"], mute: ["noon"] },
      muteTimes: { noon: [{ from: "12:00", to: "12:10", upTo: "critical" }] },
    },
  ],
])("what %s held leaves after a restart, though it ended while nobody watched", (_, routing) => {
  const before = begin({ routing });
  silence(before, {});
  look(before, near);
  before.events("notifications", [notification("n1", "order_filled")]);
  before.nowMs += 15 * minute;
  const after = again(before, { routing });
  lasts(after, near, minute);
  // The condition is judged first.
  expect(
    items(after)
      .map(({ alertId }) => alertId)
      .sort(),
  ).toEqual([1, 2]);
});

test("a mute time ends with the clock for what was held before a restart, though nothing new happens in it", () => {
  const routing = {
    receivers: ["chat"],
    mute: ["noon"],
    muteTimes: { noon: [{ from: "12:00", to: "12:10" }] },
  };
  const before = begin({ routing });
  before.events("notifications", [notification("n1", "order_filled")]);
  const after = again(before, { routing });
  lasts(after, calm, 9 * minute);
  expect(items(after)).toEqual([]);
  lasts(after, calm, minute);
  expect(items(after)).toHaveLength(1);
});

group("mute times", () => {
  // The harness begins at 12:00 UTC on a Monday.
  const upTo = (level: string | undefined) => ({
    receivers: ["chat"],
    mute: ["noon"],
    muteTimes: { noon: [{ from: "12:00", to: "12:10", ...(level === undefined ? {} : { upTo: level }) }] },
  });
  const routing = upTo("critical");

  test("hold what is below critical, unless they say otherwise", () => {
    const harness = begin({ routing: upTo(undefined) });
    harness.events("notifications", [notification("n1", "order_filled")]);
    look(harness, warned);
    expect(harness.owed).toEqual([]);
    // It rises: what was held before is part of that.
    look(harness, near);
    harness.events("notifications", [notification("n2", "liquidation")]);
    expect(harness.owed).toEqual([
      "chat: MarginHigh main/0.0 rose critical",
      "chat: Liquidated main/0.0/SOL fired critical",
    ]);
    lasts(harness, near, 9 * minute);
    expect(harness.owed.filter((one) => one.includes("Filled"))).toEqual([]);
    lasts(harness, near, 2 * minute);
    expect(harness.owed.filter((one) => one.includes("Filled"))).toHaveLength(1);
  });

  test("hold nothing but infos where they say so", () => {
    const harness = begin({ routing: upTo("info") });
    harness.events("notifications", [notification("n1", "order_filled")]);
    look(harness, warned);
    expect(harness.owed).toEqual(["chat: MarginHigh main/0.0 fired warning"]);
  });

  test("hold as a silence does, and end with the clock, across a restart", () => {
    const before = begin({ routing });
    look(before, near);
    before.events("notifications", [notification("n1", "order_filled")]);
    expect(before.owed).toEqual([]);
    expect(before.watch.heldBack[0]?.why).toBe("mute time noon");
    const after = again(before, { routing });
    lasts(after, near, 9 * minute);
    expect(items(after)).toEqual([]);
    lasts(after, near, 2 * minute);
    expect(items(after).map(({ alertId, severity }) => [alertId, severity])).toEqual([
      [1, "critical"],
      [2, "info"],
    ]);
  });
});

test("thousands that a weekend holds stop nothing", () => {
  const routing = {
    receivers: ["chat"],
    mute: ["weekdays"],
    muteTimes: { weekdays: [{ days: ["mon-fri"], timezone: "Europe/Berlin" }] },
  };
  const harness = begin({ routing });
  const fills = Array.from({ length: 3_000 }, (_, i) => notification(`n${i}`, "order_filled"));
  // Looking at the calendar is what takes long: not once a minute until Monday for each of them.
  const looks = vi.spyOn(Intl.DateTimeFormat.prototype, "formatToParts");
  harness.events("notifications", fills);
  const looked = looks.mock.calls.length;
  looks.mockRestore();
  expect(looked).toBeLessThan(20_000);
  expect(harness.watch.heldBack).toHaveLength(3_000);
});

group("inhibition", () => {
  const inhibit = [{ source: { rule: "ChannelBroken" }, target: { rule: ["MarginHigh", "Filled"] } }];

  test("holds no event, and nothing that can be judged now", () => {
    const harness = begin({ inhibit, channels: ["chat", "mail"] });
    harness.see({ kind: "channel", atMs: harness.nowMs, channel: "mail", working: false, detail: "gone" });
    look(harness, near);
    harness.events("notifications", [notification("n1", "order_filled")]);
    expect(harness.owed.filter((one) => one.includes("MarginHigh"))).toEqual([
      "chat: MarginHigh main/0.0 fired critical",
    ]);
    expect(harness.owed.filter((one) => one.includes("Filled"))).toHaveLength(1);
  });

  test("holds no ending", () => {
    const harness = begin({ inhibit, channels: ["chat", "mail"] });
    look(harness, near);
    harness.see({ kind: "channel", atMs: harness.nowMs, channel: "mail", working: false, detail: "gone" });
    lasts(harness, calm, 10_000);
    expect(harness.owed.at(-1)).toBe("chat: MarginHigh main/0.0 ended critical recovered");
  });

  test("holds the reminders of what cannot be judged, until its source ends", () => {
    const harness = begin({ inhibit, remind: { critical: { every: "1m" } } });
    look(harness, near);
    harness.see({ kind: "channel", atMs: harness.nowMs, channel: "mail", working: false, detail: "gone" });
    // Nothing is seen any more: what it would say is not known.
    harness.pass(5 * minute);
    const reminders = () =>
      harness.owed.filter((one) => one.includes("MarginHigh") && one.includes("reminder"));
    expect(reminders()).toEqual([]);
    harness.see({ kind: "channel", atMs: harness.nowMs, channel: "mail", working: true, detail: "ok" });
    expect(reminders()).toHaveLength(1);
  });
});

group("escalation", () => {
  const routing = {
    receivers: ["chat"],
    routes: [
      {
        match: { severity: "critical" },
        escalate: [
          { after: "5m", receivers: ["phone"] },
          { after: "10m", receivers: ["oncall"] },
        ],
      },
    ],
  };
  const escalated = (harness: Harness) => harness.owed.filter((one) => one.includes("escalated"));
  const acknowledge = (harness: Harness, id: number) => {
    const alert = harness.changes.findLast((change) => change.alertId === id)!.alert;
    harness.see({ kind: "acknowledged", atMs: harness.nowMs, alert, by: "ann", comment: "" });
  };

  test("tells the next, and the one after, when nobody answers", () => {
    const harness = begin({ routing, remind: { critical: "never" } });
    look(harness, near);
    lasts(harness, near, 4 * minute);
    expect(escalated(harness)).toEqual([]);
    lasts(harness, near, 2 * minute);
    expect(escalated(harness)).toEqual(["phone: MarginHigh main/0.0 escalated critical"]);
    lasts(harness, near, 10 * minute);
    expect(escalated(harness)).toHaveLength(2);
    // Both hear of its end.
    lasts(harness, calm, minute);
    expect(harness.owed.filter((one) => one.includes("ended")).map((one) => one.split(":")[0])).toEqual([
      "chat",
      "phone",
      "oncall",
    ]);
  });

  test.each(["an acknowledgement", "its end", "a fall to a level without one"])("%s ends it", (how) => {
    const harness = begin({ routing, remind: { critical: "never" } });
    look(harness, near);
    lasts(harness, near, minute);
    if (how === "an acknowledgement") acknowledge(harness, 1);
    const mark = how === "its end" ? calm : how === "an acknowledgement" ? near : warned;
    lasts(harness, mark, 20 * minute);
    expect(escalated(harness)).toEqual([]);
  });

  test("with repeat it is told again while nobody answers, and no more once somebody did", () => {
    const repeated = { receivers: ["chat"], escalate: [{ after: "5m", receivers: ["phone"], repeat: 2 }] };
    const unanswered = begin({ routing: repeated, remind: { critical: "never" } });
    look(unanswered, near);
    lasts(unanswered, near, 30 * minute);
    const told = unanswered.changes.filter(({ kind }) => kind === "escalated");
    expect(told.map(({ atMs }) => (atMs - startMs) / minute)).toEqual([5, 10, 15]);
    expect(items(unanswered).filter(({ receiver, quiet }) => receiver === "phone" && !quiet)).toHaveLength(3);
    const answered = begin({ routing: repeated, remind: { critical: "never" } });
    look(answered, near);
    lasts(answered, near, 6 * minute);
    acknowledge(answered, 1);
    lasts(answered, near, 20 * minute);
    expect(escalated(answered)).toHaveLength(1);
  });

  test("with repeat within a minute each time calls", () => {
    const repeated = { receivers: ["chat"], escalate: [{ after: "30s", receivers: ["phone"], repeat: 2 }] };
    const harness = begin({ routing: repeated, remind: { critical: "never" } });
    look(harness, near);
    lasts(harness, near, 5 * minute);
    const told = harness.changes.filter(({ kind }) => kind === "escalated");
    expect(told.map(({ atMs }) => (atMs - startMs) / 1_000)).toEqual([30, 60, 90]);
    expect(items(harness).filter(({ receiver, quiet }) => receiver === "phone" && !quiet)).toHaveLength(3);
  });

  test("whoever it was told to hears reminders, too, until somebody answers", () => {
    const harness = begin({ routing, remind: { critical: { every: "3m" } } });
    look(harness, near);
    lasts(harness, near, 9.5 * minute);
    const phone = () => harness.owed.filter((one) => one.startsWith("phone:"));
    expect(phone().map((one) => one.split(" ")[3])).toEqual(["escalated", "reminder"]);
    acknowledge(harness, 1);
    lasts(harness, near, 20 * minute);
    expect(
      phone()
        .slice(2)
        .map((one) => one.split(" ")[3]),
    ).toEqual(["acknowledged"]);
  });

  test("a step that several ways have from above is one", () => {
    const harness = begin({
      routing: {
        receivers: ["chat"],
        escalate: [{ after: "5m", receivers: ["phone"] }],
        routes: [
          { match: { severity: "critical" }, receivers: ["mail"], continue: true },
          { match: { wallet: "main" }, receivers: ["desk"] },
        ],
      },
      remind: { critical: "never" },
    });
    look(harness, near);
    lasts(harness, near, 6 * minute);
    expect(escalated(harness)).toEqual(["phone: MarginHigh main/0.0 escalated critical"]);
  });

  test("begins anew when an acknowledgement lapses", () => {
    const harness = begin({ routing, remind: { critical: { every: "5m", acknowledgedFor: "20m" } } });
    look(harness, near);
    acknowledge(harness, 1);
    lasts(harness, near, 19 * minute);
    expect(escalated(harness)).toEqual([]);
    lasts(harness, near, 7 * minute);
    expect(escalated(harness)).toEqual(["phone: MarginHigh main/0.0 escalated critical"]);
  });

  test("an event escalates until a person settles it, across restarts", () => {
    const before = begin({ routing });
    before.events("notifications", [notification("n1", "liquidation"), notification("n2", "liquidation")]);
    acknowledge(before, 2);
    lasts(before, calm, 3 * minute);
    const after = again(before, { routing });
    lasts(after, calm, 3 * minute);
    expect(escalated(after)).toEqual(["phone: Liquidated main/0.0/SOL escalated critical"]);
    acknowledge(after, 1);
    const third = again(after, { routing });
    lasts(third, calm, 20 * minute);
    expect(items(third)).toEqual([]);
  });
});

test("whoever was told of an alert hears that somebody takes care of it", () => {
  const harness = begin({ routing: { receivers: ["chat", "mail"] } });
  look(harness, near);
  const [change] = harness.changes;
  harness.see({ kind: "acknowledged", atMs: harness.nowMs, alert: change!.alert, by: "ann", comment: "" });
  expect(harness.changes.map(describe).at(-1)).toContain("acknowledged");
  expect(harness.owed.slice(-2)).toEqual([
    "chat: MarginHigh main/0.0 acknowledged critical",
    "mail: MarginHigh main/0.0 acknowledged critical",
  ]);
});
