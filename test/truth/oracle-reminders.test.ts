/** The oracle finds reminders that do not come or come too late, and what got worse and was not told. */
import { describe, expect } from "vitest";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { play } from "./played.ts";
import { sampled } from "./sampled.ts";
import type { Outcome } from "./scenario.ts";
import { changed, findingsIn } from "./tampering.ts";

/** Worlds that other files of this stage look at, too, by what comes up in them. */
const seeds = { reminded: 24, gone: 58, worse: 124 };

const near = ["LiquidationNear"];

const expected = (
  outcome: Outcome,
  of: (change: AlertChange) => AlertChange | readonly AlertChange[] | null,
  rules?: readonly string[],
) => findingsIn(outcome, changed(of), rules).map((one) => `${one.check} ${one.rule}: ${one.expected}`);

describe("an alert that fires on", () => {
  sampled("is not reminded of", async () => {
    const found = expected(await play(seeds.reminded), (one) => (one.kind === "reminder" ? null : one), near);
    expect(found).toContainEqual(
      expect.stringMatching(/^completeness LiquidationNear: a reminder of alert /),
    );
  });

  sampled("is reminded of a minute late", async () => {
    const found = expected(
      await play(seeds.reminded),
      (one) => (one.kind === "reminder" ? { ...one, atMs: one.atMs + 60_000 } : one),
      near,
    );
    expect(found).toContainEqual(
      expect.stringMatching(/^completeness LiquidationNear: a reminder of alert /),
    );
  });

  sampled("is reminded of right before its end, when it was gone", async () => {
    const found = expected(await play(seeds.gone), (one) =>
      one.kind === "ended" && one.alert.ending === "recovered"
        ? [{ ...one, kind: "reminder", alert: { ...one.alert, state: "firing", ending: null } }, one]
        : one,
    );
    expect(found).toContainEqual(expect.stringMatching(/^soundness \w+: it has been gone for \d+ ms/));
  });

  sampled("got worse, and nobody was told", async () => {
    const outcome = await play(seeds.worse);
    const found = expected(outcome, (one) => (one.kind === "worsened" ? null : one), near);
    expect(found).toContainEqual(expect.stringMatching(/^completeness LiquidationNear: word that alert /));
  });
});
