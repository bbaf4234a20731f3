/** Titles of messages about several alerts. */
import { expect, test } from "vitest";
import { titleOf } from "../../src/alerts/pending/reported.ts";
import type { AlertChangeKind, Ending } from "../../src/domain/alerts/alert.ts";
import { change } from "../channels/messages.ts";

const of = (
  account: string,
  rule = "LiquidationNear",
  kind: AlertChangeKind = "ended",
  ending: Ending = "recovered",
) =>
  change(kind, {
    ...{ subject: `${account}/SOL`, wallet: account.split("/")[0]!, rule, summary: `${account} is near` },
    ...(kind === "ended" ? { ending } : {}),
  });
const all = ["main/0.0", "hedge/0.0", "spare/0.1", "other/0.0"];

test("the end of several says how many, and names their accounts: three, or two and the number of the others", () => {
  const ended = all.map((account) => of(account));
  expect(titleOf(ended.slice(0, 2), null)).toBe("2 × LiquidationNear of main/0.0 and hedge/0.0");
  expect(titleOf(ended.slice(0, 3), null)).toBe("3 × LiquidationNear of main/0.0, hedge/0.0 and spare/0.1");
  expect(titleOf(ended, null)).toBe("4 × LiquidationNear of main/0.0, hedge/0.0 and 2 more");
  // Alerts of one account name it once, whatever their rules.
  const both = [of("main/0.0"), of("main/0.0", "MarginHigh"), of("hedge/0.0")];
  expect(titleOf(both, null)).toBe("3 alerts of main/0.0 and hedge/0.0");
  expect(titleOf([...ended, of("main/0.0", "MarginHigh")], null)).toBe(
    "5 alerts of main/0.0, hedge/0.0 and 2 more",
  );
});

test("those that ended for several reasons are counted, and their accounts named", () => {
  const mixed = [of("main/0.0"), of("hedge/0.0", "LiquidationNear", "ended", "closed")];
  expect(titleOf(mixed, null)).toBe("2 × LiquidationNear of main/0.0 and hedge/0.0");
  expect(titleOf([...mixed, of("spare/0.1", "MarginHigh")], null)).toBe(
    "3 alerts of main/0.0, hedge/0.0 and spare/0.1",
  );
});

test("alerts of one wallet name that, and a digest says what is worst; others are counted", () => {
  expect(titleOf([of("main/0.0"), of("main/0.1", "MarginHigh")], null)).toBe("2 alerts of main");
  expect(titleOf([of("main/0.0"), of("hedge/0.0")], "digest")).toBe(
    "2 × LiquidationNear; the worst: main/0.0 is near",
  );
  const ofDaemon = change("ended", { subject: "daemon", wallet: null, rule: "A" });
  expect(titleOf([of("main/0.0"), ofDaemon], null)).toBe("2 alerts");
  expect(titleOf([of("main/0.0", "A", "fired"), of("hedge/0.0", "B", "fired")], null)).toBe("2 alerts");
});
