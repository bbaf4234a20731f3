/** The oracle finds what was tampered with in alerts about missing data, in reasons of ends, and in what is read when. */
import { beforeAll, describe, expect, test } from "vitest";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { invariants } from "./invariants.ts";
import type { Logged } from "./log.ts";
import { play } from "./played.ts";
import { sample, sampled } from "./sampled.ts";
import type { Outcome } from "./scenario.ts";
import { changed as alerts, brokenIn, findingsIn as findingsOf, observed, unobserved } from "./tampering.ts";

/** No shipped rule is judged here: what is missing is. */
const broken = (outcome: Outcome, change: (entry: Logged) => Logged) => brokenIn(outcome, change, []);
const findingsIn = (outcome: Outcome, change: (entry: Logged) => Logged) => findingsOf(outcome, change, []);

/** Small worlds, by what comes up in them. */
const seeds = { stake: 17, near: 24, endings: 58, taken: 124, calm: 16, beside: 190 };

/** Changes each alert of the changes that `isIt` holds of. */
const retold = (
  isIt: (change: AlertChange) => boolean,
  of: (alert: AlertChange["alert"]) => Partial<AlertChange["alert"]>,
): ((entry: Logged) => Logged) =>
  alerts((one) => (isIt(one) ? { ...one, alert: { ...one.alert, ...of(one.alert) } } : one));

const alertsOf = ({ log }: Outcome): readonly AlertChange[] =>
  log.of("committed").flatMap(({ changes }) => changes.alertChanges);

const isBlind = ({ kind, alert }: AlertChange): boolean => kind === "fired" && alert.rule === "Blind";
const lead = /(\d+(?:\.\d+)?)%( from liquidation)/;

describe.each(sample(Object.entries(seeds)))("%s: seed %i", (_, seed) => {
  test("nothing is wrong in the scenario as it was", async () => {
    expect(broken(await play(seed), (entry) => entry)).toEqual([]);
  });
});

describe("what is at stake while data are missing", () => {
  let outcome: Outcome;
  beforeAll(async () => {
    outcome = await play(seeds.stake);
  });

  sampled("another distance", () => {
    const change = retold(
      (one) => isBlind(one) && lead.test(one.alert.summary),
      ({ summary }) => ({
        summary: summary.replace(lead, (_, digits, rest) => `${Number(digits) + 1}%${rest}`),
      }),
    );
    expect(broken(outcome, change)).toEqual(["soundness Blind", "figures Blind"]);
  });

  sampled("no liquidation price where it had one", () => {
    const change = retold(
      (one) => isBlind(one) && lead.test(one.alert.summary),
      ({ summary }) => ({
        summary: summary.replace(/ was \S+% from liquidation /, " had no liquidation price "),
      }),
    );
    expect(broken(outcome, change)).toContain("soundness Blind");
  });

  sampled("nothing of how far its price has moved, though prices come", () => {
    const change = retold(
      ({ alert }) => alert.rule === "Blind",
      ({ summary }) => ({ summary: summary.replace(/, mark \w+ [\d.]+% since/, "") }),
    );
    const found = findingsIn(outcome, change);
    expect(found.some(({ expected }) => expected.includes("how far its price has moved"))).toBe(true);
  });

  sampled("a position that nobody held", () => {
    const change = retold(
      (one) => isBlind(one) && lead.test(one.alert.summary),
      ({ summary }) => ({
        summary: summary.replace(" long was", " short was"),
      }),
    );
    expect(broken(outcome, change)).toEqual(["soundness Blind", "figures Blind"]);
  });

  sampled("a warning where a position is near liquidation", async () => {
    const change = retold(
      ({ alert }) => alert.rule === "Blind" && alert.severity === "critical",
      () => ({ severity: "warning" }),
    );
    expect(broken(await play(seeds.near), change)).toContain("soundness Blind");
  });
});

sampled("an exchange that answers is said to answer nothing", async () => {
  const change = retold(isBlind, () => ({
    summary: "No data for 40s: no read of the exchange succeeds since 12:00:00",
  }));
  expect(broken(await play(seeds.stake), change)).toContain("false no-data Blind");
});

describe("what alerts about missing data say of them", () => {
  let outcome: Outcome;
  beforeAll(async () => {
    outcome = await play(seeds.stake);
  });
  type Alert = AlertChange["alert"];

  /** Changes the words of alerts, and of their lines of context; `isIt` holds of no other. */
  const reworded =
    (isIt: (change: AlertChange) => boolean, of: (text: string) => string): ((entry: Logged) => Logged) =>
    (entry) =>
      alerts((one) =>
        isIt(one)
          ? {
              ...one,
              alert: { ...one.alert, summary: of(one.alert.summary) } satisfies Alert,
              details: one.details.map(([name, text]) => [name, of(text)] as const),
            }
          : one,
      )(entry);
  const isEnd = ({ kind, alert }: AlertChange): boolean => kind === "ended" && alert.rule === "Blind";

  sampled.each([
    ["another status", / 502|HTTP 502/g, (text: string) => text.replace("502", "503")],
    ["a limit in place of a status", /HTTP 502/g, () => "rate limited (HTTP 429)"],
    ["time-outs in place of a status", /HTTP 502/g, () => "timed out"],
    ["another beginning of a limit", /rate limited since \d\d/g, () => "rate limited since 11"],
    [
      "a later refusal as the beginning of a limit",
      /rate limited since [\d:]+/g,
      () => "rate limited since 23:56:30",
    ],
    [
      "a refused connection in place of a limit",
      /rate limited since [\d:]+ [A-Z]+-\d/g,
      () => "connection refused",
    ],
  ])("%s", (_, words, into) => {
    const change = reworded(isBlind, (text) => text.replace(words, into));
    expect(broken(outcome, change)).toEqual(["false no-data Blind"]);
  });

  sampled("no cause where all reads fail for one", () => {
    const change = reworded(isBlind, (text) => text.replace(/ \(HTTP 502\)$/, "").replace("HTTP 502, ", ""));
    expect(broken(outcome, change)).toEqual(["false no-data Blind"]);
  });

  sampled.each([
    ["a time without data that is ten times as long", / for (\d\d)s:/, " for $1m:"],
    ["another time since which it is missing", /since (\d\d):(\d\d):(\d\d GMT-3) \(/, "since $1:00:$3 ("],
    ["another last reading in a line of context", /last read (\S+) \d\d/, "last read $1 11"],
    ["another cause than in the lines of context", /\(HTTP 502\)$/, "(timed out)"],
    ["a figure of which nothing is known", /^/, "77 "],
  ])("%s", (_, words, into) => {
    const change = reworded(isBlind, (text) => text.replace(words, into));
    expect(broken(outcome, change)).toContain("figures Blind");
  });

  sampled("numbers of wallets", async () => {
    const change = reworded(isBlind, (text) => text.replace(/on \d+ of \d+ wallets/, "on 5 of 50 wallets"));
    expect(broken(await play(seeds.near), change)).toContain("figures Blind");
  });

  sampled.each([
    [
      "an age of the last reading that is ten times as long",
      /liquidation (\d\d)s ago/,
      "liquidation $1m ago",
    ],
    ["a price that moved the other way", /mark up/, "mark down"],
    ["a price that moved further", /mark (up|down) /, "mark $1 1"],
  ])("%s", (_, words, into) => {
    const change = reworded(isBlind, (text) => text.replace(words, into));
    expect(broken(outcome, change)).toEqual(["soundness Blind"]);
  });

  sampled.each([
    ["an end after another time", /after .*$/, "after 9m 59s"],
    ["another time at which it began", /^(\d\d\d\d)-(\d\d-\d\d) /, "2001-$2 "],
  ])("%s", (_, words, into) => {
    const change = reworded(isEnd, (text) => text.replace(words, into));
    expect(broken(outcome, change)).toContain("figures Blind");
  });

  sampled("data that no rule has to judge by", () => {
    const change = reworded(isBlind, (text) => text.replace("schedule traderState", "schedule portfolio"));
    expect(broken(outcome, change)).toContain("false no-data Blind");
  });
});

sampled("deposits that were answered are called missing", async () => {
  const change = alerts((one) =>
    isBlind(one)
      ? {
          ...one,
          details: one.details.map(
            ([name, text]) =>
              [
                name,
                text.replace(
                  /^.*\(schedule \w+\)/,
                  "deposits and withdrawals of w2, w4, w5 (schedule collateral)",
                ),
              ] as const,
          ),
        }
      : one,
  );
  const found = findingsIn(await play(seeds.near), change);
  expect(
    found.some(({ check, expected }) => check === "false no-data" && expected.includes("are there")),
  ).toBe(true);
});

describe("reasons of ends", () => {
  sampled("a position that its trader closed", async () => {
    const change = retold(
      ({ kind, alert }) => kind === "ended" && alert.ending === "closed",
      () => ({ ending: "liquidated" }),
    );
    expect(broken(await play(seeds.endings), change).some((one) => one.startsWith("false resolve"))).toBe(
      true,
    );
  });

  sampled("a position that the exchange took", async () => {
    const change = retold(
      ({ kind, alert }) => kind === "ended" && alert.ending === "liquidated",
      () => ({ ending: "closed" }),
    );
    expect(broken(await play(seeds.taken), change).some((one) => one.startsWith("false resolve"))).toBe(true);
  });
});

describe("what is read when", () => {
  sampled("accounts that are not read for minutes", async () => {
    const outcome = await play(seeds.calm);
    const { atMs } = outcome.log.entries[0]!;
    const dark = (ms: number) => ms > atMs + 400_000 && ms < atMs + 580_000;
    const found = findingsIn(outcome, (entry) =>
      dark(entry.atMs) ? unobserved(({ kind }) => kind === "accounts")(entry) : entry,
    );
    expect(found.some(({ check, rule }) => check === "completeness" && rule === "Blind")).toBe(true);
  });

  sampled("accounts that are read now and then only, and nobody was told", async () => {
    const outcome = await play(seeds.calm);
    const { atMs } = outcome.log.entries[0]!;
    const isDark = (ms: number) => ms > atMs + 300_000 && ms < atMs + 500_000 && (ms - atMs) % 50_000 > 5_000;
    const found = findingsIn(outcome, (entry) =>
      isDark(entry.atMs) ? unobserved(({ kind }) => kind === "accounts")(entry) : entry,
    );
    expect(found.some(({ expected }) => expected.includes("too old for"))).toBe(true);
  });

  sampled("an account that is not read, and recovers", async () => {
    const outcome = await play(seeds.taken);
    const end = alertsOf(outcome).find(
      ({ kind, alert }) =>
        kind === "ended" && alert.rule === "LiquidationNear" && alert.ending === "recovered",
    )!;
    const found = findingsIn(
      outcome,
      unobserved(({ kind, atMs }) => kind === "accounts" && atMs > end.atMs - 150_000 && atMs <= end.atMs),
    );
    expect(found.some(({ expected }) => expected.includes("was not read for"))).toBe(true);
  });

  sampled("states that the stream showed and nobody observed", async () => {
    const found = findingsIn(
      await play(seeds.calm),
      unobserved((one) => one.kind === "accounts" && one.told !== undefined),
    );
    expect(found.some(({ check, rule }) => check === "completeness" && rule === "stream")).toBe(true);
  });

  sampled("a list of markets that was never read, and nobody was told", async () => {
    const found = findingsIn(
      await play(seeds.calm),
      unobserved(({ kind }) => kind === "marketConfig"),
    );
    expect(found.some(({ check, subject }) => check === "no data" && subject === "markets")).toBe(true);
  });

  sampled.each(["collateral", "liquidations", "notifications"])("%s that nobody reads", async (source) => {
    const found = findingsIn(
      await play(seeds.calm),
      unobserved((one) => one.kind === "events" && one.source === source),
    );
    expect(found.some(({ check, subject }) => check === "no data" && subject.startsWith(source))).toBe(true);
  });

  sampled("prices that go back", async () => {
    let nth = 0;
    const found = findingsIn(
      await play(seeds.calm),
      observed((one) =>
        one.kind === "prices" && ++nth === 40
          ? {
              ...one,
              markets: one.markets.map((market) => ({ ...market, exchangeMs: market.exchangeMs - 20_000 })),
            }
          : one,
      ),
    );
    expect(found.some(({ seen }) => seen.includes("goes back"))).toBe(true);
  });

  sampled("requests without a bound", async () => {
    const outcome = await play(seeds.calm);
    const entries = outcome.log.entries.map((entry) =>
      entry.kind === "sent" ? { ...entry, underWay: entry.underWay + 64 } : entry,
    );
    const log = Object.create(outcome.log, { entries: { value: entries } });
    expect(invariants.requestsAreBounded!({ ...outcome, log })).toHaveLength(1);
    expect(invariants.requestsAreBounded!(outcome)).toEqual([]);
  });
});

describe("the end of an alert", () => {
  const isRead = ({ kind, alert }: AlertChange): boolean =>
    kind === "ended" && alert.rule === "Blind" && alert.ending === "recovered";

  sampled("about missing data says that no rule needs what all rules need", async () => {
    const found = broken(
      await play(seeds.stake),
      retold(isRead, ({ summary }) => ({ summary: `No rule needs it any more: ${summary}` })),
    );
    expect(found).toContain("false resolve Blind");
  });

  sampled("about missing data comes before all of it is read", async () => {
    const outcome = await play(seeds.stake);
    const ends = new Set(
      outcome.log
        .of("committed")
        .flatMap(({ changes }) => changes.alertChanges.filter(isRead))
        .map(({ atMs }) => atMs),
    );
    expect(ends.size).toBeGreaterThan(0);
    // Nothing was read of positions since long before.
    const found = broken(
      outcome,
      unobserved(
        (one) => one.kind === "accounts" && [...ends].some((ms) => one.atMs <= ms && one.atMs > ms - 60_000),
      ),
    );
    expect(found).toContain("false resolve Blind");
  });

  sampled("about a wallet does not name the others that are still missing", async () => {
    const found = findingsIn(
      await play(seeds.beside),
      alerts((one) => ({
        ...one,
        details: one.details.filter(([name]) => name !== "Still without data"),
      })),
    );
    expect(found.some(({ expected }) => expected.includes('"Still without data"'))).toBe(true);
  });

  sampled.each(["closed", "noLongerWatched", "ruleChanged"] as const)(
    "of a position that stays says %s",
    async (ending) => {
      const outcome = await play(seeds.endings);
      const found = brokenIn(
        outcome,
        retold(
          ({ kind, alert }) =>
            kind === "ended" && alert.ending === "recovered" && alert.subject.split("/").length === 3,
          () => ({ ending }),
        ),
        [],
      );
      expect(found).toContainEqual(expect.stringMatching(/^false resolve /));
    },
  );
});
