/** The oracle finds what was tampered with in figures that the status shows, in what a reload forgets, and in refusals that go on. */
import { describe, expect, test } from "vitest";
import type { WalletStatus } from "../../src/domain/status.ts";
import { invariants } from "./invariants.ts";
import type { Logged } from "./log.ts";
import { play } from "./played.ts";
import { sampled } from "./sampled.ts";
import type { Outcome } from "./scenario.ts";
import { changed, findingsIn } from "./tampering.ts";

type Shown = Extract<Logged, { kind: "shown" }>;

/** Small worlds, by what comes up in them. */
const seeds = { calm: 16, reload: 2, outage: 44 };

/** Changes what is shown of each wallet. */
const shown =
  (of: (wallet: WalletStatus) => WalletStatus) =>
  (entry: Logged): Logged =>
    entry.kind === "shown" ? { ...entry, wallets: entry.wallets.map(of) } : entry;

const figures = (outcome: Outcome, of: (wallet: WalletStatus) => WalletStatus): readonly string[] =>
  findingsIn(outcome, shown(of), []).flatMap(({ check, seen }) => (check === "figures" ? [seen] : []));

const broken = ({ log, ...outcome }: Outcome, of: (entry: Logged, index: number) => Logged) =>
  invariants.reloadForgetsNothing!({
    ...outcome,
    log: Object.assign(Object.create(log) as typeof log, {}, { entries: log.entries.map(of) }),
  } as Outcome);

describe("figures of the status", () => {
  sampled.each(Object.entries(seeds))("are those of what was read, %s: seed %i", async (_, seed) => {
    expect(figures(await play(seed), (wallet) => wallet)).toEqual([]);
  });

  sampled.each(["equity", "pnl", "pnlToday"])("are judged: %s of a wallet", async (figure) => {
    const found = figures(await play(seeds.calm), (wallet) => {
      const value = wallet.figures[figure];
      return typeof value === "number"
        ? { ...wallet, figures: { ...wallet.figures, [figure]: value + 1 } }
        : wallet;
    });
    expect(found.some((one) => one.startsWith(`${figure} of `))).toBe(true);
  });

  sampled("are judged: those of an account and of a position, and their ages", async () => {
    const found = figures(await play(seeds.calm), (wallet) => ({
      ...wallet,
      accounts: wallet.accounts.map(({ positions, ...account }) => ({
        ...account,
        seenMs: account.seenMs === null ? null : account.seenMs + 60_000,
        figures: { ...account.figures, maintenanceMargin: (account.figures.maintenanceMargin ?? 0) + 1 },
        positions: positions.map((one) => ({ ...one, figures: { ...one.figures, notional: 1 } })),
      })),
    }));
    for (const words of [/^maintenanceMargin of /, /^notional of /, /^figures of \S+ are said to be of /])
      expect(found.filter((one) => words.test(one))).not.toEqual([]);
  });

  sampled("have to be there", async () => {
    const found = figures(await play(seeds.calm), (wallet) => ({
      ...wallet,
      accounts: wallet.accounts.map((account) => ({
        ...account,
        figures: {},
        positions: account.positions.map((one) => ({ ...one, figures: {} })),
      })),
    }));
    for (const words of [/^equity of \S+ is not shown$/, /^markPrice of \S+ is not shown$/])
      expect(found.filter((one) => words.test(one))).not.toEqual([]);
  });

  sampled.each<readonly [string, RegExp, (wallet: WalletStatus) => Partial<WalletStatus>]>([
    [
      "position",
      /^w\d+\/\d+\.\d+\/\w+ is not shown$/,
      ({ accounts }) => ({
        accounts: accounts.map((one) => ({ ...one, positions: one.positions.slice(1) })),
      }),
    ],
    ["account", /^w\d+\/\d+\.\d+ is not shown$/, ({ accounts }) => ({ accounts: accounts.slice(1) })],
    [
      "side",
      /^\S+ is shown both$/,
      ({ accounts }) => ({
        accounts: accounts.map((one) => ({
          ...one,
          positions: one.positions.map((position) => ({ ...position, side: "both" })),
        })),
      }),
    ],
  ])("have to be there and are judged: each %s", async (_, words, of) => {
    const found = figures(await play(seeds.calm), (wallet) => ({ ...wallet, ...of(wallet) }));
    expect(found.filter((one) => words.test(one))).not.toEqual([]);
  });

  sampled.each(["freeCollateral", "marginRatio", "leverage", "initialMargin", "netNotional"])(
    "are judged: %s of an account, and its tier",
    async (figure) => {
      const found = figures(await play(seeds.calm), (wallet) => ({
        ...wallet,
        accounts: wallet.accounts.map((one) => {
          const value = one.figures[figure];
          return {
            ...one,
            riskTier: "none",
            figures:
              typeof value === "number" ? { ...one.figures, [figure]: value * 1.001 + 0.01 } : one.figures,
          };
        }),
      }));
      expect(found.filter((one) => one.startsWith(`${figure} of `))).not.toEqual([]);
      expect(found.filter((one) => one.startsWith("riskTier of "))).not.toEqual([]);
    },
  );

  sampled.each(["liquidationPrice", "entryPrice", "size"])("are judged: %s of a position", async (figure) => {
    const found = figures(await play(seeds.calm), (wallet) => ({
      ...wallet,
      accounts: wallet.accounts.map((one) => ({
        ...one,
        positions: one.positions.map((position) => {
          const value = position.figures[figure];
          return { ...position, figures: { ...position.figures, [figure]: value ? value * 1.01 : 1 } };
        }),
      })),
    }));
    expect(found.filter((one) => one.startsWith(`${figure} of `))).not.toEqual([]);
  });

  sampled("have to be there: each wallet", async () => {
    const found = findingsIn(await play(seeds.calm), (entry) =>
      entry.kind === "shown" ? { ...entry, wallets: entry.wallets.slice(1) } : entry,
    );
    expect(found).toContainEqual(expect.objectContaining({ seen: "w1 is not shown" }));
  });

  sampled("are judged: a change that stays unexplained", async () => {
    const found = figures(await play(seeds.calm), (wallet) => ({ ...wallet, unexplained: "a loss" }));
    expect(found.filter((one) => one.startsWith("not explained"))).not.toEqual([]);
  });
});

describe("a reload that forgets", () => {
  /** The first that is shown after a reload, changed. */
  const forgotten = (outcome: Outcome, of: (entry: Shown) => Shown): readonly string[] => {
    let reloaded = false;
    return broken(outcome, (entry) => {
      if (entry.kind === "life") reloaded = entry.text === "is reloaded";
      return entry.kind === "shown" && reloaded ? of(entry) : entry;
    });
  };

  test("nothing is not found", async () => {
    expect(forgotten(await play(seeds.reload), (entry) => entry)).toEqual([]);
  });

  sampled.each<readonly [string, number, (entry: Shown) => Shown]>([
    [
      "pnl of w1",
      seeds.reload,
      (entry) => ({ ...entry, wallets: entry.wallets.map((one) => ({ ...one, figures: {} })) }),
    ],
    ["alert ", seeds.outage, (entry) => ({ ...entry, firing: [] })],
    ["that markets of null is missing since", seeds.outage, (entry) => ({ ...entry, blind: [] })],
    [
      "how to judge Rule of w1: so",
      seeds.reload,
      (entry) => ({ ...entry, unjudged: [{ rule: "Rule", subject: "w1", detail: "so" }] }),
    ],
  ])("%s", async (what, seed, of) => {
    const found = forgotten(await play(seed), of);
    expect(found.filter((one) => one.includes(` forgot ${what}`))).not.toEqual([]);
  });
});

sampled("an alert by old positions right after an outage is found", async () => {
  const outcome = await play(seeds.outage);
  const prices = outcome.log.entries.flatMap((entry) =>
    entry.kind === "committed"
      ? entry.changes.observations.flatMap(({ kind, atMs }) => (kind === "prices" ? [atMs] : []))
      : [],
  );
  const back = prices.findIndex((ms, index) => index > 0 && ms - prices[index - 1]! > 30_000);
  expect(back).toBeGreaterThan(0);
  const told = changed((one) =>
    one.kind === "fired" && !one.alert.event
      ? {
          ...one,
          atMs: prices[back]! + 1_000,
          alert: { ...one.alert, summary: "near (positions as of 12:00, 1m old)" },
        }
      : one,
  );
  const found = findingsIn(outcome, told).filter(({ expected }) =>
    /^positions that are read first/.test(expected),
  );
  expect(found).not.toEqual([]);
});

sampled("refusals that go on are found", async () => {
  const outcome = await play(seeds.calm);
  const refused = (log: Outcome["log"]) => invariants.refusalsSlowIt!({ ...outcome, log });
  expect(refused(outcome.log)).toEqual([]);
  const entries = outcome.log.entries.map((entry) =>
    entry.kind === "asked" ? { ...entry, status: 429 } : entry,
  );
  const of = <K extends Logged["kind"]>(kind: K) => entries.filter((entry) => entry.kind === kind);
  expect(refused({ entries, of } as unknown as Outcome["log"])).not.toEqual([]);
});
