/** The oracle finds what was tampered with in alerts about missing data, in reasons of ends, and in what is read when. */
import { beforeAll, describe, expect, test } from "vitest";
import type { AlertChange } from "../../src/domain/alert.ts";
import { invariants } from "./invariants.ts";
import type { Logged } from "./log.ts";
import { type Outcome, planOf, runScenario } from "./scenario.ts";
import { changed as alerts, brokenIn as broken, findingsIn, observed } from "./tampering.ts";

const played = new Map<number, Promise<Outcome>>();
function play(seed: number): Promise<Outcome> {
  const outcome = played.get(seed) ?? runScenario(planOf(seed));
  played.set(seed, outcome);
  return outcome;
}

/** Small worlds, by what comes up in them. */
const seeds = { stake: 17, near: 24, endings: 58, taken: 124, calm: 16 };

/** Changes each alert of the changes that `isIt` holds of. */
const retold = (
  isIt: (change: AlertChange) => boolean,
  of: (alert: AlertChange["alert"]) => Partial<AlertChange["alert"]>,
): ((entry: Logged) => Logged) =>
  alerts((one) => (isIt(one) ? { ...one, alert: { ...one.alert, ...of(one.alert) } } : one));

const isBlind = ({ kind, alert }: AlertChange): boolean => kind === "fired" && alert.rule === "Blind";
const lead = /(\d+(?:\.\d+)?)%( from liquidation)/;

describe.each(Object.entries(seeds))("%s: seed %i", (_, seed) => {
  test("nothing is wrong in the scenario as it was", async () => {
    expect(broken(await play(seed), (entry) => entry)).toEqual([]);
  });
});

describe("what is at stake while data are missing", () => {
  let outcome: Outcome;
  beforeAll(async () => {
    outcome = await play(seeds.stake);
  });

  test("another distance", () => {
    const change = retold(
      (one) => isBlind(one) && lead.test(one.alert.summary),
      ({ summary }) => ({
        summary: summary.replace(lead, (_, digits, rest) => `${Number(digits) + 1}%${rest}`),
      }),
    );
    expect(broken(outcome, change)).toEqual(["soundness Blind"]);
  });

  test("a position that nobody held", () => {
    const change = retold(
      (one) => isBlind(one) && lead.test(one.alert.summary),
      ({ summary }) => ({
        summary: summary.replace(" long was", " short was"),
      }),
    );
    expect(broken(outcome, change)).toEqual(["soundness Blind"]);
  });

  test("a warning where a position is near liquidation", async () => {
    const change = retold(
      ({ alert }) => alert.rule === "Blind" && alert.severity === "critical",
      () => ({ severity: "warning" }),
    );
    expect(broken(await play(seeds.near), change)).toContain("soundness Blind");
  });
});

test("an exchange that answers is said to answer nothing", async () => {
  const change = retold(isBlind, () => ({
    summary: "No data for 40s: no read of the exchange succeeds since 12:00:00",
  }));
  expect(broken(await play(seeds.stake), change)).toContain("false no-data Blind");
});

describe("reasons of ends", () => {
  test("a position that its trader closed", async () => {
    const change = retold(
      ({ kind, alert }) => kind === "ended" && alert.ending === "closed",
      () => ({ ending: "liquidated" }),
    );
    expect(broken(await play(seeds.endings), change).some((one) => one.startsWith("false resolve"))).toBe(
      true,
    );
  });

  test("a position that the exchange took", async () => {
    const change = retold(
      ({ kind, alert }) => kind === "ended" && alert.ending === "liquidated",
      () => ({ ending: "closed" }),
    );
    expect(broken(await play(seeds.taken), change).some((one) => one.startsWith("false resolve"))).toBe(true);
  });
});

describe("what is read when", () => {
  test("accounts that are not read for minutes", async () => {
    const outcome = await play(seeds.calm);
    const { atMs } = outcome.log.entries[0]!;
    const dark = (ms: number) => ms > atMs + 400_000 && ms < atMs + 580_000;
    const found = findingsIn(outcome, (entry) =>
      entry.kind === "committed" && dark(entry.atMs)
        ? {
            ...entry,
            changes: {
              ...entry.changes,
              observations: entry.changes.observations.filter(({ kind }) => kind !== "accounts"),
            },
          }
        : entry,
    );
    expect(found.some(({ check, rule }) => check === "completeness" && rule === "Blind")).toBe(true);
  });

  test("states that the stream showed and nobody observed", async () => {
    const found = findingsIn(await play(seeds.calm), (entry) =>
      entry.kind === "committed"
        ? {
            ...entry,
            changes: {
              ...entry.changes,
              observations: entry.changes.observations.filter(
                (one) => one.kind !== "accounts" || one.told === undefined,
              ),
            },
          }
        : entry,
    );
    expect(found.some(({ check, rule }) => check === "completeness" && rule === "stream")).toBe(true);
  });

  test("a list of markets that was never read, and nobody was told", async () => {
    const found = findingsIn(await play(seeds.calm), (entry) =>
      entry.kind === "committed"
        ? {
            ...entry,
            changes: {
              ...entry.changes,
              observations: entry.changes.observations.filter(({ kind }) => kind !== "marketConfig"),
            },
          }
        : entry,
    );
    expect(found.some(({ check, subject }) => check === "no data" && subject === "markets")).toBe(true);
  });

  test("prices that go back", async () => {
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

  test("requests without a bound", async () => {
    const outcome = await play(seeds.calm);
    const entries = outcome.log.entries.map((entry) =>
      entry.kind === "sent" ? { ...entry, underWay: entry.underWay + 64 } : entry,
    );
    const log = Object.create(outcome.log, { entries: { value: entries } });
    expect(invariants.requestsAreBounded!({ ...outcome, log })).toHaveLength(1);
    expect(invariants.requestsAreBounded!(outcome)).toEqual([]);
  });
});
