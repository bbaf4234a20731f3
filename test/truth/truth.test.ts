/** Plans of scenarios, and what the invariants make of logs that were tampered with. */
import { beforeAll, describe, expect, test } from "vitest";
import type { MessageContent, MessageItem } from "../../src/domain/alerts/delivery.ts";
import type { Observation } from "../../src/domain/observation.ts";
import { VirtualTime } from "./clock.ts";
import { shippedRules } from "./coverage.ts";
import { faultKinds, lifeKinds } from "./faults.ts";
import { invariants, violations } from "./invariants.ts";
import type { Logged } from "./log.ts";
import { eventRules } from "./oracle/events.ts";
import { predicates } from "./oracle/rules/index.ts";
import { play } from "./played.ts";
import { reportOf } from "./report.ts";
import { type Outcome, planOf } from "./scenario.ts";

const itemsOf = (content: MessageContent, of: (item: MessageItem) => MessageItem): MessageContent => ({
  ...content,
  items: content.items.map(of),
});

test("another seed is another scenario", () => {
  expect(planOf(2)).toEqual(planOf(2));
  expect(planOf(2)).not.toEqual(planOf(3));
});

test("all faults, and all that happens to the process, come up soon", () => {
  const found = new Set<string>();
  for (let seed = 1; seed <= 100; seed++) {
    const { faults, life } = planOf(seed).troubles;
    for (const { kind } of [...faults, ...life]) found.add(kind);
  }
  expect([...found].sort()).toEqual([...faultKinds, ...lifeKinds].sort());
});

test("the oracle has a predicate for each shipped rule", () => {
  const own = [...predicates.map(({ rule }) => rule), ...eventRules];
  expect(own.toSorted()).toEqual([...shippedRules()].sort());
});

describe("an invariant finds what breaks it", () => {
  let outcome: Outcome;
  beforeAll(async () => {
    outcome = await play(17);
  });

  test("and in the scenario as it was nothing is wrong", () => {
    expect(violations(outcome)).toEqual([]);
  });

  /** Names of the invariants that do not hold of a log made of this one. */
  function broken(change: (entries: Logged[]) => Logged[], more: Partial<Outcome> = {}): readonly string[] {
    const log = Object.create(outcome.log, { entries: { value: change([...outcome.log.entries]) } });
    return Object.keys(invariants).filter(
      (name) => invariants[name]!({ ...outcome, log, ...more }).length > 0,
    );
  }
  const unchanged = (entries: Logged[]) => entries;

  test("the log itself breaks none", () => {
    expect(broken(unchanged)).toEqual([]);
  });

  test("a message that arrives twice", () => {
    const again = outcome.log.of("arrived")[0]!;
    expect(broken((entries) => [...entries, again])).toEqual(["exactlyOnce"]);
  });

  test("another content under the same id", () => {
    const found = broken((entries) =>
      entries.flatMap((entry): Logged[] => {
        if (entry.kind !== "arrived") return [entry];
        const { message } = entry;
        const other = { ...message, content: { ...message.content, title: "another" } };
        return [entry, { ...entry, message: other }];
      }),
    );
    expect(found).toEqual(["exactlyOnce"]);
  });

  test("a message that left before it was committed", () => {
    const left = outcome.log.of("attempt")[0]!;
    expect(broken(([first, ...rest]) => [first!, { ...left, atMs: first!.atMs }, ...rest])).toEqual([
      "sealedFirst",
    ]);
  });

  test("a message that never arrived", () => {
    expect(broken((entries) => entries.filter(({ kind }) => kind !== "arrived"))).toContain("nothingLost");
  });

  test("an owed item that is gone", () => {
    expect(broken(unchanged, { owed: [] })).toEqual(["nothingLost"]);
  });

  test("an acknowledgement out of nowhere", () => {
    const { atMs } = outcome.log.entries[0]!;
    const entry = {
      kind: "acknowledged",
      life: 1,
      wallet: "w1",
      key: "notification:general:w1:1",
      atMs,
    } as const;
    expect(broken((entries) => [entry, ...entries])).toEqual(["acknowledgedAfterwards"]);
  });

  test("a daemon that broke, and one that does not run", () => {
    expect(broken(unchanged, { faults: ["the daemon broke"] })).toEqual(["lives"]);
    expect(broken(unchanged, { status: null })).toEqual(["wellAgain"]);
  });

  test("an alert about a position that is gone, and one without data", () => {
    const alert = { ...outcome.status!.watch.firing[0]!, id: 999 };
    const firing = (rule: string, subject: string) => ({
      status: {
        ...outcome.status!,
        watch: { ...outcome.status!.watch, firing: [{ ...alert, rule, subject }] },
      },
    });
    expect(broken(unchanged, firing("LiquidationNear", "w1/0.7/SOL"))).toEqual(["noneStandsForNothing"]);
    expect(broken(unchanged, firing("Blind", "w1"))).toEqual(["wellAgain"]);
  });

  test("a daemon that asks nothing for a minute", () => {
    const fromMs = outcome.log.entries[0]!.atMs + 450_000;
    const isIn = ({ kind, atMs }: Logged) => kind === "sent" && atMs > fromMs && atMs < fromMs + 60_000;
    expect(broken((entries) => entries.filter((entry) => !isIn(entry)))).toEqual(["asksOn"]);
  });

  test("alerts that fire and are not shown, and one that is shown and does not fire", () => {
    const others = (of: (entry: Logged & { kind: "shown" }) => Logged) =>
      broken((entries) => entries.map((one) => (one.kind === "shown" ? of(one) : one)));
    expect(others((one) => ({ ...one, firing: [] }))).toEqual(["showsWhatFires"]);
    const ghost = { id: 999, rule: "Blind", subject: "w1" };
    expect(others((one) => ({ ...one, firing: [...one.firing, ghost] }))).toContain("showsWhatFires");
  });

  test("a daemon that commits nothing for some seconds", () => {
    const fromMs = outcome.log.entries[0]!.atMs + 450_000;
    const isIn = ({ kind, atMs }: Logged) => kind === "committed" && atMs > fromMs && atMs < fromMs + 8_000;
    expect(broken((entries) => entries.filter((entry) => !isIn(entry)))).toContain("goesOn");
  });

  test("what was delivered and is not acknowledged", () => {
    expect(broken((entries) => entries.filter(({ kind }) => kind !== "acknowledged"))).toEqual([
      "acknowledgedAtAll",
    ]);
  });

  test("a daemon that asks for no prices for a minute", () => {
    const fromMs = outcome.log.entries[0]!.atMs + 450_000;
    const isIn = (entry: Logged) =>
      (entry.kind === "sent" || entry.kind === "asked") &&
      entry.target.startsWith("/v1/markets/stats/latest") &&
      entry.atMs > fromMs &&
      entry.atMs < fromMs + 60_000;
    expect(broken((entries) => entries.filter((entry) => !isIn(entry)))).toEqual(["pricesHaveAShare"]);
  });

  test.each([
    [19, 0, 0],
    [23, 0, 1],
    [23, 3, 1],
    [23, 4, 0],
    [43, 9, 1],
  ])("no request of prices for %i s after %i reads of them failed: %i found", (seconds, failures, found) => {
    const fromMs = outcome.log.entries[0]!.atMs + 450_000;
    const toMs = fromMs + seconds * 1_000;
    const { atMs: lastMs } = outcome.log.of("committed").findLast(({ atMs }) => atMs <= fromMs)!;
    const failed: Observation = {
      ...{ kind: "failed", source: "markets", wallet: null, symbol: null, atMs: lastMs },
      ...{ reason: "timeout", detail: "" },
    };
    const isOfPrices = (one: Observation): boolean => one.kind === "prices" && !one.live;
    const entries = outcome.log.entries.flatMap((entry): readonly Logged[] => {
      if (entry.atMs < lastMs || entry.atMs >= toMs) return [entry];
      if (entry.kind === "sent" || entry.kind === "asked")
        return entry.atMs > fromMs && entry.target.startsWith("/v1/markets/stats/latest") ? [] : [entry];
      if (entry.kind !== "committed") return [entry];
      const left = entry.changes.observations.filter((one) => !isOfPrices(one));
      const observations = entry.atMs === lastMs ? Array.from({ length: failures }, () => failed) : left;
      return [{ ...entry, changes: { ...entry.changes, observations } }];
    });
    const log = Object.create(outcome.log, { entries: { value: entries } });
    expect(invariants.pricesHaveAShare!({ ...outcome, log })).toHaveLength(found);
  });

  test("a payment whose history nobody asks for", async () => {
    const paid = await play(24);
    const isOfHistory = (entry: Logged) =>
      entry.kind === "sent" && entry.target.includes("/collateral-history");
    const log = Object.create(paid.log, {
      entries: { value: paid.log.entries.filter((one) => !isOfHistory(one)) },
    });
    expect(invariants.paymentsAreLookedUp!(paid)).toEqual([]);
    expect(invariants.paymentsAreLookedUp!({ ...paid, log })).toHaveLength(1);
  });

  test.each([
    ["right after the message", "critical", 5_000],
    ["of a warning after five minutes", "warning", 300_000],
  ] as const)("a reminder %s", (_, severity, afterMs) => {
    const found = broken((entries) =>
      entries.map((entry): Logged => {
        if (entry.kind !== "committed") return entry;
        const { alertChanges, deliveryItems: owed } = entry.changes;
        const fired = alertChanges.find(
          ({ id, kind, alert }) =>
            kind === "fired" && alert.severity === severity && owed.some(({ changeId }) => changeId === id),
        );
        if (!fired) return entry;
        const reminder = { ...fired, id: -fired.id, kind: "reminder" as const, atMs: fired.atMs + afterMs };
        const item = { ...owed.find(({ changeId }) => changeId === fired.id)!, changeId: -fired.id };
        const changes = {
          ...entry.changes,
          alertChanges: [...alertChanges, reminder],
          deliveryItems: [...owed, item],
        };
        return { ...entry, changes };
      }),
    );
    expect(found).toContain("remindedSeldom");
  });

  test.each<[what: string, of: (content: MessageContent) => MessageContent]>([
    ["title", (content) => ({ ...content, title: content.title.replaceAll(/\d/g, "7") })],
    ["severity", (content) => ({ ...content, severity: content.severity === "info" ? "critical" : "info" })],
    ["good news", (content) => ({ ...content, resolved: !content.resolved })],
    ["count", (content) => ({ ...content, more: 3 })],
    ["list of items", (content) => ({ ...content, items: content.items.slice(1) })],
    ["leading words", (content) => itemsOf(content, (one) => ({ ...one, lead: "FIRING" }))],
    [
      "detail",
      (content) =>
        itemsOf(content, ({ change, ...rest }) => ({
          ...rest,
          change: { ...change, details: [["Mark", "1"]] },
        })),
    ],
  ])("a message with another %s than was decided", (_, of) => {
    const found = broken((entries) =>
      entries.map((entry): Logged => {
        if (entry.kind !== "arrived") return entry;
        const { message } = entry;
        return { ...entry, message: { ...message, content: of(message.content) } };
      }),
    );
    expect(found).toContain("messagesSayWhatWasDecided");
  });

  test("word that it is worse, where the value is the same", () => {
    const found = broken((entries) =>
      entries.map((entry): Logged => {
        if (entry.kind !== "committed") return entry;
        const { alertChanges, deliveryItems: owed } = entry.changes;
        const told = alertChanges.filter(({ id, kind, alert }) => {
          const isOwed = owed.some(({ changeId }) => changeId === id);
          return isOwed && kind === "fired" && alert.value !== null;
        });
        const again = told.map((one) => ({ ...one, id: -one.id, kind: "worsened" as const }));
        return { ...entry, changes: { ...entry.changes, alertChanges: [...alertChanges, ...again] } };
      }),
    );
    expect(found).toContain("worseIsWorse");
  });

  test("the report has all of it", () => {
    const text = reportOf(outcome, ["exactlyOnce: chat x arrived again"]);
    expect(text).toContain("--seeds 17");
    expect(text).toContain("exactlyOnce: chat x arrived again");
    for (const { message } of outcome.log.of("arrived")) expect(text).toContain(message.content.title);
  });
});

test("a half-open stream that nobody gives up", async () => {
  const outcome = await play(6);
  expect(invariants.halfOpenIsNoticed!(outcome)).toEqual([]);
  const entries = outcome.log.entries.filter(({ kind }) => kind !== "streamEnds");
  const log = Object.create(outcome.log, { entries: { value: entries } });
  expect(invariants.halfOpenIsNoticed!({ ...outcome, log })).not.toEqual([]);
});

describe("virtual time", () => {
  test("timers run in the order of their moments, and then of their setting", async () => {
    const time = new VirtualTime(0);
    const ran: string[] = [];
    for (const [ms, name] of [
      [30, "c"],
      [10, "a"],
      [20, "b"],
      [10, "a2"],
    ] as const)
      time.after(ms, () => ran.push(`${name} ${time.elapsedMs}`));
    await time.runTo(25);
    expect(ran).toEqual(["a 10", "a2 10", "b 20"]);
    expect(time.nowMs).toBe(25);
  });

  test("it stands still while work goes on, however it is done", async () => {
    const time = new VirtualTime(0);
    const clock = time.clock();
    const ran: string[] = [];
    clock.after(1, async () => {
      for (let i = 0; i < 20; i++) await new Promise(setImmediate);
      ran.push(`turns ${clock.elapsedMs()}`);
      await time.pending(new Promise((resolve) => setTimeout(resolve, 20)));
      ran.push(`thread ${clock.elapsedMs()}`);
    });
    clock.after(2, () => ran.push("later"));
    await time.runTo(10);
    expect(ran).toEqual(["turns 1", "thread 1", "later"]);
  });

  test("a process that stands still runs its timers at the end, and takes what reached it after them", async () => {
    const time = new VirtualTime(0);
    const [one, other] = [time.clock(), time.clock()];
    const ran: string[] = [];
    const note = (name: string) => () => ran.push(`${name} ${Math.floor(time.elapsedMs)}`);
    one.arrive(4.5, note("answer"));
    one.after(20, note("late"));
    one.after(5, note("early"));
    const cancel = one.after(6, note("cancelled"));
    one.after(200, note("in time"));
    other.after(7, note("other"));
    time.after(3, () => one.stall(100));
    time.after(50, cancel);
    time.after(60, () => one.stall(43.5));
    await time.runTo(150);
    expect(ran).toEqual(["other 7", "early 103", "late 103", "answer 103"]);
    expect(one.stalledForMs).toBe(0);
    await time.runTo(300);
    expect(ran.at(-1)).toBe("in time 200");
  });

  test("timers die with their process", async () => {
    const time = new VirtualTime(0);
    const [one, other] = [time.clock(), time.clock(500)];
    const ran: string[] = [];
    one.after(1, () => ran.push("one"));
    other.after(1, () => ran.push(`other ${other.nowMs()}`));
    one.kill();
    await time.runTo(10);
    expect(ran).toEqual(["other 501"]);
  });
});
