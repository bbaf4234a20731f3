/**
 * Answers that arrive more slowly than `staleAfter`. Time counts for `for` and `keepFiringFor` up to the moment at which
 * the last answer became stale, and a source that is stale for 30 s of any two minutes is reported.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Harness, mainWallet, position, startMs, subaccount } from "./harness.ts";

/** Inputs are stale after three intervals of their schedule. */
const staleAfterMs = 15_000;
const near = (forText: string, keepFiringFor: string, noData = "keep"): string => `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    for: ${forText}
    keepFiringFor: ${keepFiringFor}
    noData: ${noData}
    summary: "near"
`;
const held = [position(100, 150)];
const endangered = [subaccount(1_000, held)];
const safe = [subaccount(5_000, held)];

function answer(h: Harness, accounts = endangered): void {
  h.config();
  h.mark(150);
  h.account(accounts);
}

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);

describe("a rule that is true in every answer", () => {
  test.each([16, 20, 30, 44])("fires with answers every %i s", (everyS) => {
    const h = new Harness({ rules: near("1m", "0s") });
    // 15 s of each interval count: 60 s are reached 15 s after the fourth answer.
    for (let i = 0; i < 4; i++) {
      answer(h);
      expect(h.told).toEqual([]);
      h.pass(everyS * 1_000);
    }
    // The last span ends at the very moment of staleness, at which the answer still counts.
    expect(h.told).toEqual(["Near main/0.0/SOL fired critical"]);
  });

  test("ends after it recovered, with answers every 44 s", () => {
    const h = new Harness({ rules: near("0s", "1m") });
    answer(h);
    expect(h.told).toEqual(["Near main/0.0/SOL fired critical"]);
    for (let i = 0; i < 4; i++) {
      h.pass(44_000);
      answer(h, safe);
    }
    expect(h.told).toHaveLength(1);
    h.pass(14_999);
    expect(h.told).toHaveLength(1);
    h.pass(1);
    expect(h.told.at(-1)).toBe("Near main/0.0/SOL ended critical recovered");
  });

  test("counts the fresh part of every interval and nothing else, whatever the intervals and restarts", () => {
    const gaps = fc.array(fc.record({ gapS: fc.integer({ min: 1, max: 60 }), restart: fc.boolean() }), {
      minLength: 1,
      maxLength: 30,
    });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 5, max: 120 }), (list, forS) => {
        let h = new Harness({ rules: near(`${forS}s`, "0s") });
        let knownMs = 0;
        let fired = false;
        answer(h);
        for (const { gapS, restart } of list) {
          const gapMs = gapS * 1_000;
          h.pass(gapMs);
          fired ||= h.told.includes("Near main/0.0/SOL fired critical");
          const spanMs = Math.min(gapMs, staleAfterMs);
          expect(fired).toBe(knownMs + spanMs >= forS * 1_000);
          if (fired) return;
          // What is stored includes the span up to staleness, once it is over.
          const stored = gapMs > staleAfterMs;
          if (!restart || stored) knownMs += spanMs;
          if (restart)
            h = new Harness({ rules: near(`${forS}s`, "0s"), remembered: h.remembered, atMs: h.nowMs });
          answer(h);
        }
      }),
      { seed, numRuns: 200 },
    );
  });

  test("does not count the time in which the process stood still", () => {
    const h = new Harness({ rules: near("40s", "0s") });
    answer(h);
    h.nowMs += 600_000;
    h.see({ kind: "time", atMs: h.nowMs });
    for (let i = 0; i < 2; i++) {
      answer(h);
      h.pass(20_000);
    }
    answer(h);
    h.pass(9_999);
    expect(h.told).toEqual([]);
    h.pass(1);
    expect(h.told).toEqual(["Near main/0.0/SOL fired critical"]);
  });
});

describe("a source that answers now and then", () => {
  const rules = near("0s", "0s", "alert");
  const blind = (h: Harness): string[] =>
    h.changes
      .filter(({ alert, kind }) => alert.rule === "Blind" && kind !== "reminder")
      .map(({ kind, atMs }) => `${kind} ${(atMs - startMs) / 1_000}`);
  const answers = (h: Harness, everyS: number, times: number): void => {
    for (let i = 0; i < times; i++) {
      answer(h, safe);
      h.pass(everyS * 1_000);
    }
  };

  test.each([24, 30, 44])(
    "is reported once, with answers every %i s, and resolved once they are frequent again",
    (everyS) => {
      const h = new Harness({ rules });
      answers(h, everyS, Math.ceil(600 / everyS));
      expect(blind(h).map((one) => one.split(" ")[0])).toEqual(["fired"]);
      const endsMs = h.nowMs;
      answers(h, 5, 24);
      expect(blind(h)).toHaveLength(2);
      expect(blind(h)[1]).toMatch(/^ended/);
      const endedMs = h.changes.at(-1)!.atMs;
      // It is resolved once it was read for 30 s without a break.
      expect(endedMs).toBe(endsMs + 30_000);
    },
  );

  test("is reported at 30 s of two minutes", () => {
    const h = new Harness({ rules });
    // Stale from 1 ms after second 15 to second 30, and from 45 to 60: 2 ms are left for the third time.
    answers(h, 30, 3);
    expect(blind(h)).toEqual(["fired 75.003"]);
  });

  test("is not reported where it is stale for less than 30 s of any two minutes", () => {
    const h = new Harness({ rules });
    answers(h, 18, 60);
    expect(blind(h)).toEqual([]);
  });

  test("after an outage of minutes is resolved with its first answer", () => {
    const h = new Harness({ rules });
    answer(h, safe);
    h.pass(600_000);
    answer(h, safe);
    expect(blind(h)).toEqual(["fired 45.001", "ended 600"]);
    // The next one is counted anew.
    h.pass(30_000);
    answer(h, safe);
    expect(blind(h)).toHaveLength(2);
  });

  test("after an outage is resolved with its first answer, although one was late before", () => {
    const h = new Harness({ rules });
    answer(h, safe);
    h.pass(17_000);
    answer(h, safe);
    h.pass(83_000);
    answer(h, safe);
    expect(blind(h)).toEqual(["fired 60.002", "worsened 90.002", "ended 100"]);
  });

  test("prices are resolved with their first answer after an outage soon after the start", () => {
    const h = new Harness({ rules });
    h.config();
    h.account(safe);
    h.pass(5);
    for (let i = 0; i < 6; i++) {
      answer(h, safe);
      h.pass(5_000);
    }
    for (let i = 0; i < 12; i++) {
      h.account(safe);
      h.pass(5_000);
    }
    expect(blind(h)).toEqual(["fired 70.001"]);
    answer(h, safe);
    expect(blind(h)).toEqual(["fired 70.001", "ended 90.005"]);
  });

  test("prices that come right after the positions after an outage are no answers now and then", () => {
    const h = new Harness({ rules });
    for (let i = 0; i < 6; i++) {
      answer(h, safe);
      h.pass(5_000);
    }
    h.account(safe);
    h.pass(120_000);
    h.config();
    h.pass(50);
    h.account(safe);
    h.pass(50);
    h.mark(150);
    h.pass(1_000);
    expect(blind(h)).toEqual(["fired 70.001", "worsened 75.001", "ended 150.1"]);
  });

  test("for 40 of 80 s is reported twice, the second time until that is over", () => {
    const h = new Harness({ rules });
    for (let i = 0; i < 240; i++) {
      h.config();
      h.mark(150);
      if (i % 16 < 8) h.account(safe);
      h.pass(5_000);
    }
    expect(blind(h).map((one) => one.split(" ")[0])).toEqual(["fired", "ended", "fired"]);
    answers(h, 5, 11);
    expect(blind(h)).toHaveLength(3);
    answers(h, 5, 2);
    expect(blind(h)).toHaveLength(4);
  });

  test("every 50 s is reported and resolved once, then reported until it is over", () => {
    const h = new Harness({ rules });
    answers(h, 50, 20);
    expect(blind(h).map((one) => one.split(" ")[0])).toEqual(["fired", "ended", "fired"]);
  });

  test("twelve wallets that answer now and then are one outage, not a new one with each answer", () => {
    const wallets = Array.from({ length: 12 }, (_, i) => ({
      ...mainWallet,
      name: `w${i}`,
      authority: `${mainWallet.authority.slice(0, -2)}${String.fromCharCode(65 + i)}1`,
    }));
    const h = new Harness({ rules, wallets });
    const turns = (everyS: number, passedS: number): void => {
      for (let second = 0; second < passedS; second++) {
        h.config();
        h.mark(150);
        for (const [i, { name }] of wallets.entries())
          if (second % everyS === Math.floor(i / 3)) h.account(safe, name);
        h.pass(1_000);
      }
    };
    turns(5, 30);
    // All of them are stale for 25 s, then all answer within 4 s.
    turns(40, 900);
    const told = (): string[] => h.told.filter((one) => !one.includes("reminder") && !one.startsWith("Near"));
    expect(told()).toEqual(["Blind exchange fired warning"]);
    turns(5, 150);
    expect(told().slice(1)).toEqual(["Blind exchange ended warning recovered"]);
  });

  test("whatever answers when: no outage is left once all answer again", () => {
    const wallets = Array.from({ length: 6 }, (_, i) => ({
      ...mainWallet,
      name: `w${i}`,
      authority: `${i}`,
    }));
    const rounds = fc.array(fc.tuple(fc.subarray(wallets), fc.boolean(), fc.integer({ min: 1, max: 40 })), {
      minLength: 1,
      maxLength: 40,
    });
    let reported = 0;
    fc.assert(
      fc.property(rounds, (list) => {
        const h = new Harness({ rules, wallets });
        const round = (answering: readonly { readonly name: string }[], market: boolean): void => {
          if (market) h.config();
          if (market) h.mark(150);
          for (const { name } of answering) h.account(safe, name);
        };
        for (const [answering, market, seconds] of list) {
          round(answering, market);
          h.pass(seconds * 1_000);
        }
        for (let i = 0; i < 30; i++) {
          round(wallets, true);
          h.pass(5_000);
        }
        reported += h.changes.length;
        const { firing, blind: left } = h.watch.status(h.nowMs);
        expect(firing).toEqual([]);
        expect(left).toEqual([]);
        expect(h.watch.status(h.nowMs).wallets).toHaveLength(6);
      }),
      { seed, numRuns: 60 },
    );
    expect(reported).toBeGreaterThan(20);
  });
});
