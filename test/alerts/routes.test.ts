/** The tree of routes, its matchers, its groups, and the times at which it is mute. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matchersText, matches, matchSettings, parseMatchers } from "../../src/alerts/routing/match.ts";
import { isMute, muteEndMs, muteTimesSettings } from "../../src/alerts/routing/mute.ts";
import { allReceivers, groupKeyOf, routingSettings, waysFor } from "../../src/alerts/routing/route.ts";

describe("matchers", () => {
  const labels = { severity: "critical", wallet: "mm-7", rule: "LiquidationNear" };

  test.each<[unknown, boolean]>([
    [{}, true],
    [{ severity: "critical" }, true],
    [{ severity: ["info", "critical"] }, true],
    [{ severity: "critical", wallet: "main" }, false],
    [{ wallet: { matches: "mm-.*" } }, true],
    [{ wallet: { matches: "mm-" } }, false],
    [{ wallet: { matches: "mm-[0-9]+|main" } }, true],
    [{ wallet: { notMatches: "mm-.*" } }, false],
    [{ wallet: { not: ["main", "hedge"] } }, true],
    [{ desk: "" }, true],
    [{ desk: "alpha" }, false],
    [{ level: 3 }, false],
    // What every object has by itself is no label.
    [{ constructor: { matches: "x.*" } }, false],
    [{ toString: { notMatches: "x.*" } }, true],
    [{ valueOf: "" }, true],
  ])("%j: %s", (wanted, expected) => {
    expect(matches(matchSettings.parse(wanted), labels)).toBe(expected);
  });

  test.each([
    ["(a+)+b", "a group in a pattern cannot repeat"],
    ["mm-(", "is no pattern: unterminated group"],
    ["(?=x)x", "does not look around"],
    ["(a)\\1", "has no references"],
    [".*.*.*.*x", "repeats at most three times"],
    [`${".?".repeat(60)}x`, "too many ways to fit"],
    [`${"(.|)".repeat(40)}x`, "too many ways to fit"],
    [`${"(?:.|..)".repeat(20)}x`, "too many ways to fit"],
    [`${"\\p{L}?".repeat(30)}x`, "too many ways to fit"],
    [`${"[(?]?".repeat(30)}x`, "too many ways to fit"],
    [`${"\\*?".repeat(30)}x`, "too many ways to fit"],
  ])("the pattern %s is refused: %s", (text, words) => {
    const { error } = matchSettings.safeParse({ wallet: { matches: text } });
    expect(JSON.stringify(error?.issues)).toContain(words);
  });

  test.each([
    "mm-(a|b|c|d|e|f)-(main|hedge)",
    "a?b|c?d|e?f|g?h|i?j|k?l|m?n|o?p",
    "(?:mm|desk)-.*?x?",
    "\\?\\?[?|]*",
  ])("the pattern %s is taken", (text) => {
    expect(matchSettings.safeParse({ wallet: { matches: text } }).success).toBe(true);
  });

  test("no pattern that is taken takes long", () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom("a", ".", "*", "+", "|", "[ab]", "{1,3}", "?", "(", ")"),
          maxLength: 12,
        }),
        fc.integer({ min: 1, max: 30 }),
        (part, times) => {
          const text = part.repeat(times);
          const parsed = matchSettings.safeParse({ wallet: { matches: text } });
          if (!parsed.success) return;
          const started = performance.now();
          matches(parsed.data, { wallet: `${"a".repeat(290)}!` });
          // One that explodes takes hours; a busy machine takes seconds.
          expect(performance.now() - started).toBeLessThan(60_000);
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each([
    [["wallet=main"], "wallet=main"],
    [["severity=warning,info", "rule!=Blind"], "severity=warning|info, rule!=Blind"],
    [["wallet=~mm-.*", "symbol!~X.*"], "wallet=~mm-.*, symbol!~X.*"],
  ])("%j as people type it", (texts, shown) => {
    const parsed = parseMatchers(texts);
    expect("wrong" in parsed ? parsed.wrong : matchersText(parsed)).toBe(shown);
  });

  test.each([
    [["wallet"], '"wallet" is no matcher; they look like wallet=main'],
    [["wallet=a", "wallet=b"], "wallet is given twice"],
    [["__proto__=a"], '"__proto__=a" is no matcher'],
    [["wallet=~(a+)+"], "wallet.matches: a group in a pattern cannot repeat"],
  ])("%j is told what is wrong with it", (texts, words) => {
    expect(parseMatchers(texts)).toMatchObject({ wrong: expect.stringContaining(words) });
  });
});

test("a group by a name that every object has is the one of alerts without that label", () => {
  const [way] = waysFor(routingSettings.parse({ receivers: ["chat"], groupBy: ["constructor"] }), {});
  expect(groupKeyOf(way!, { rule: "A" })).toBe("{constructor=}");
});

describe("the tree", () => {
  const routing = routingSettings.parse({
    receivers: ["chat"],
    groupWait: "2s",
    routes: [
      { match: { rule: "Noise" }, receivers: ["log"], continue: true },
      {
        match: { desk: "alpha" },
        receivers: ["alpha"],
        groupBy: ["wallet", "symbol"],
        mute: ["nights"],
        routes: [
          {
            match: { severity: "critical" },
            mute: [],
            escalate: [
              { after: "5m", receivers: ["pager"] },
              { after: "1m", receivers: ["chat"] },
            ],
          },
          { match: { severity: "info" }, receivers: ["log"] },
        ],
      },
      { match: { severity: "critical" }, receivers: ["chat", "mail"] },
    ],
  });
  const way = (labels: Record<string, string>) =>
    waysFor(routing, labels).map(({ path, receivers }) => [path.join("."), receivers]);

  test.each<[Record<string, string>, unknown]>([
    [{ severity: "info" }, [["", ["chat"]]]],
    [{ severity: "critical" }, [["2", ["chat", "mail"]]]],
    [{ desk: "alpha", severity: "critical" }, [["1.0", ["alpha"]]]],
    [{ desk: "alpha", severity: "warning" }, [["1", ["alpha"]]]],
    [
      { desk: "alpha", severity: "info", rule: "Noise" },
      [
        ["0", ["log"]],
        ["1.1", ["log"]],
      ],
    ],
    [{ rule: "Noise" }, [["0", ["log"]]]],
  ])("%j takes %j", (labels, expected) => {
    expect(way(labels)).toEqual(expected);
  });

  test("what a route does not say it has from above", () => {
    const [critical] = waysFor(routing, { desk: "alpha", severity: "critical" });
    expect(critical).toMatchObject({
      groupBy: ["wallet", "symbol"],
      groupWaitMs: 2_000,
      groupIntervalMs: 5_000,
      mute: [],
      escalate: [
        { afterMs: 60_000, receivers: ["chat"] },
        { afterMs: 300_000, receivers: ["pager"] },
      ],
    });
    expect(waysFor(routing, { desk: "alpha", severity: "warning" })[0]?.mute).toEqual(["nights"]);
  });

  test("a group is a route and the values of its labels", () => {
    const labels = { desk: "alpha", severity: "warning", wallet: "a", symbol: "SOL", rule: "X" };
    const key = (more: Record<string, string>) =>
      groupKeyOf(waysFor(routing, { ...labels, ...more })[0]!, { ...labels, ...more });
    expect(key({ rule: "Y" })).toBe(key({}));
    expect(key({ symbol: "BTC" })).not.toBe(key({}));
    expect(key({ severity: "critical" })).not.toBe(key({}));
  });

  test("every receiver is known, those of escalations too", () => {
    expect([...allReceivers(routing)].sort()).toEqual(["alpha", "chat", "log", "mail", "pager"]);
  });
});

describe("mute times", () => {
  const times = (raw: unknown) => muteTimesSettings.parse({ it: raw }).it!;
  const at = (text: string) => Date.parse(text);

  test.each<[unknown, string, string, boolean]>([
    // 2026-11-21 is a Saturday.
    [[{ from: "22:00", to: "07:00" }], "UTC", "2026-11-21T23:30:00Z", true],
    [[{ from: "22:00", to: "07:00" }], "UTC", "2026-11-21T07:00:00Z", false],
    [[{ from: "22:00", to: "07:00" }], "Asia/Tokyo", "2026-11-21T13:00:00Z", true],
    [[{ days: ["sat", "sun"] }], "UTC", "2026-11-22T00:00:00Z", true],
    [[{ days: ["mon-fri"] }], "UTC", "2026-11-21T12:00:00Z", false],
    [[{ days: ["fri-sun"] }], "UTC", "2026-11-21T12:00:00Z", true],
    // It belongs to the day on which it begins: Friday's night ends on Saturday morning.
    [[{ days: ["fri"], from: "22:00", to: "07:00" }], "UTC", "2026-11-21T06:59:00Z", true],
    [[{ days: ["sat"], from: "22:00", to: "07:00" }], "UTC", "2026-11-21T06:59:00Z", false],
    [[{ days: ["sat"], from: "18:00", to: "24:00" }], "UTC", "2026-11-21T23:59:00Z", true],
    [[{ from: "09:00", to: "10:00", timezone: "America/New_York" }], "UTC", "2026-11-21T14:30:00Z", true],
  ])("%j in %s at %s: %s", (raw, timezone, text, expected) => {
    expect(isMute(times(raw), at(text), timezone)).toBe(expected);
  });

  test.each<[unknown, string, string, string | null]>([
    [[{ from: "22:00", to: "07:05" }], "UTC", "2026-11-21T23:30:10Z", "2026-11-22T07:05:00Z"],
    [[{ days: ["sat-sun"] }], "UTC", "2026-11-21T12:00:00Z", "2026-11-23T00:00:00Z"],
    // The clock goes back in that night: it is an hour longer.
    [[{ from: "22:00", to: "07:00" }], "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T06:00:00Z"],
    // And forward in this one.
    [[{ from: "22:00", to: "07:00" }], "Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-29T05:00:00Z"],
    [[{}], "UTC", "2026-11-21T12:00:00Z", null],
    [[{ from: "22:00", to: "07:00" }], "UTC", "2026-11-21T12:00:00Z", "2026-11-21T12:00:00Z"],
  ])("%j in %s, mute at %s, ends at %s", (raw, timezone, text, end) => {
    expect(muteEndMs(times(raw), at(text), timezone)).toBe(end === null ? null : at(end));
  });

  test.each([
    [[{ from: "22:00" }], "from and to belong together"],
    [[{ from: "7:00", to: "8:00" }], "must be a time of day"],
    [[{ days: ["caturday"] }], "must be a day or days"],
    [[{ from: "07:00", to: "07:00" }], "the same"],
    [[{ from: "07:00", to: "08:00", timezone: "Mars/Olympus" }], "is no time zone"],
    [[{ from: "07:00", to: "08:00", upTo: "disaster" }], "expected one of"],
  ])("%j: %s", (raw, words) => {
    expect(JSON.stringify(muteTimesSettings.safeParse({ it: raw }).error?.issues)).toContain(words);
  });
});
