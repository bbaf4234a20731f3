/** The oracle finds what was tampered with in figures of the daemon about itself and in alerts about them. */
import { beforeAll, describe, expect, test } from "vitest";
import type { DaemonFigures } from "../../src/domain/observation.ts";
import type { Logged } from "./log.ts";
import { judgeFigures } from "./oracle/daemon/figures.ts";
import type { Finding } from "./oracle/finding.ts";
import { daemonRules } from "./oracle/rules/daemon.ts";
import { play } from "./played.ts";
import { sampled } from "./sampled.ts";
import type { Outcome } from "./scenario.ts";
import { changed as alerts, brokenIn, observed, unobserved } from "./tampering.ts";

type Change = (entry: Logged) => Logged;

const ofTheDaemon = daemonRules.map(({ rule }) => rule);
const broken = (outcome: Outcome, change: Change): readonly string[] =>
  brokenIn(outcome, change, ofTheDaemon);

const figures = (of: (figures: DaemonFigures) => Partial<DaemonFigures>): Change =>
  observed((one) =>
    one.kind === "daemon" ? { ...one, figures: { ...one.figures, ...of(one.figures) } } : one,
  );

/** Seeds of small worlds, with the rules that fire and end in them. */
const scenarios = [
  [66, ["ClockOff", "SignInsRefused", "MessagesUndelivered"]],
  [79, ["MessagesLost", "DatabaseLarge"]],
  [142, ["EquityMismatch", "RecordsNotUnderstood", "PollsFailing"]],
  [145, ["PollsLate"]],
  [189, ["LoopStalls", "RequestsNearCeiling", "StreamDown"]],
] as const;

/** Rules with a figure in their titles. */
const figured = new Set(scenarios.flatMap(([, rules]) => [...rules] as string[]));
for (const rule of ["PollsFailing", "StreamDown"]) figured.delete(rule);

describe.each(scenarios)("seed %i", (seed, rules) => {
  let outcome: Outcome;
  beforeAll(async () => {
    outcome = await play(seed);
  });

  test("nothing is wrong in the scenario as it was", () => {
    expect(broken(outcome, (entry) => entry)).toEqual([]);
  });

  sampled.each(rules)(
    "%s: one that never came, one that nothing ended, and one that ended at once",
    (rule) => {
      expect(
        broken(
          outcome,
          alerts((one) => (one.alert.rule === rule ? null : one)),
        ),
      ).toEqual([`completeness ${rule}`]);
      const stands = alerts((one) => (one.alert.rule === rule && one.kind === "ended" ? null : one));
      expect(broken(outcome, stands)).toEqual([`late resolve ${rule}`]);
      const ending = { kind: "ended", state: "ended", ending: "recovered" } as const;
      const early = alerts((one) =>
        one.alert.rule === rule && one.kind === "fired"
          ? { ...one, kind: "ended", alert: { ...one.alert, ...ending } }
          : one,
      );
      expect(broken(outcome, early)).toContain(`false resolve ${rule}`);
    },
  );

  sampled.each(rules.filter((rule) => figured.has(rule)))("%s: a figure that is another one", (rule) => {
    const found = broken(
      outcome,
      alerts((one) => {
        if (one.alert.rule !== rule || one.kind !== "fired") return one;
        const summary = one.alert.summary.replace(/\d+/, (digits) => String(Number(digits) + 7));
        expect(summary).not.toBe(one.alert.summary);
        return { ...one, alert: { ...one.alert, summary } };
      }),
    );
    expect(found).toEqual([`soundness ${rule}`]);
  });
});

describe("figures", () => {
  const wrong = (outcome: Outcome, change: Change): readonly Finding[] =>
    judgeFigures({
      ...outcome,
      log: Object.create(outcome.log, { entries: { value: outcome.log.entries.map(change) } }),
    });

  sampled.each<readonly [name: string, seed: number, of: (figures: DaemonFigures) => Partial<DaemonFigures>]>(
    [
      ["timers that are never late", 189, () => ({ loopLagMs: 0 })],
      ["timers that are late", 66, () => ({ loopLagMs: 600 })],
      ["a clock that is right", 66, () => ({ clockOffsetMs: 0 })],
      ["a clock that is off", 142, () => ({ clockOffsetMs: -2_000 })],
      ["schedules that are late", 135, () => ({ lagMs: 3_000 })],
      ["schedules that are never late", 107, () => ({ lagMs: 0 })],
      ["reads that fail", 142, ({ failedPolls }) => ({ failedPolls: failedPolls + 5 })],
      ["reads that work", 142, () => ({ failedPolls: 0 })],
      ["streams that stand", 66, () => ({ streamConnected: true })],
      ["streams that do not", 135, () => ({ streamConnected: false })],
      ["a ceiling that is used", 135, () => ({ budgetUsed: 1 })],
      ["a ceiling that is not", 135, ({ budgetUsed }) => ({ budgetUsed: budgetUsed / 2 })],
      ["a limit", 135, () => ({ rateLimited: true })],
      ["nothing that waits", 66, () => ({ undelivered: 0, oldestUndeliveredMs: 0, waitingChannels: "" })],
      [
        "something that waits for longer",
        66,
        (one) => ({ oldestUndeliveredMs: one.oldestUndeliveredMs + 100 }),
      ],
      ["messages that were not lost", 79, () => ({ deadMessages: 0 })],
      ["messages that were", 142, () => ({ deadMessages: 1 })],
      ["sessions that nobody refused", 66, () => ({ authFailures: 0 })],
      ["sessions that somebody did", 142, ({ authFailures }) => ({ authFailures: authFailures + 20 })],
      ["answers that were understood", 142, () => ({ badRecords: 0 })],
      ["answers that were not", 135, () => ({ badRecords: 1 })],
      ["a database of another size", 142, ({ databaseBytes }) => ({ databaseBytes: databaseBytes + 1 })],
    ],
  )("%s", async (_, seed, of) => {
    expect(wrong(await play(seed), figures(of))).not.toEqual([]);
  });

  sampled("figures that stay away", async () => {
    const outcome = await play(142);
    const halfMs = outcome.log.entries[0]!.atMs + 300_000;
    const less: Change = (entry) =>
      entry.atMs > halfMs
        ? unobserved(({ kind, atMs }) => kind === "daemon" && atMs <= halfMs + 20_000)(entry)
        : entry;
    expect(wrong(outcome, less)).not.toEqual([]);
  });
});
