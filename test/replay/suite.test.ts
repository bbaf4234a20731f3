/** Rule tests: their syntax, their effects on the engine, and the reports of mistakes and failures. */
import { describe, expect, test } from "vitest";
import { parseSteps } from "../../src/replay/suite/notation.ts";
import { readSuite } from "../../src/replay/suite/read.ts";
import { readySuite, runTest } from "../../src/replay/suite/run.ts";
import { formatProblem, vocabulary } from "../../src/rules/index.ts";
import { scheduleMs } from "../engine/harness.ts";

const rules = `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < 0.1, resolveWhen: value > 0.12 }
      critical: { when: value < 0.05 }
    for: 10s
    keepFiringFor: 10s
    summary: "{{ wallet.name }} {{ position.symbol }} {{ percent(value) }}"
  - name: Rate
    scope: market
    when: market.fundingRate > 0.001
    severity: info
    for: 0s
    keepFiringFor: 0s
    summary: "{{ market.symbol }}"
  - name: Gone
    on: liquidation
    when: event.role == "liquidatee"
    severity: critical
    summary: "{{ wallet.name }} lost {{ event.symbol }}"
`;

const wording = {
  lead: (change: { kind: string; alert: { severity: string } }) => `${change.kind} ${change.alert.severity}`,
};

/** The report of a suite: its problems, or each failure with its difference. */
async function run(text: string, ruleText = rules): Promise<string> {
  const read = readSuite("a.test.yaml", text);
  if ("problems" in read) return read.problems.map(formatProblem).join("\n");
  const files = [{ name: "a.yaml", text: ruleText }];
  const ready = readySuite({ suite: read.suite, files, scheduleMs, wording });
  if ("problems" in ready) return ready.problems.map(formatProblem).join("\n");
  const lines: string[] = [];
  for (const one of read.suite.tests) {
    for (const { atMs, line, what, diff, values } of (await runTest(ready, one)).failures) {
      lines.push(`${one.name} ${atMs / 1_000}s line ${line} ${what}`);
      lines.push(
        ...diff.map(({ mark, text: found }) => `${mark} ${found}`),
        ...values.map((value) => `= ${value}`),
      );
    }
  }
  return lines.join("\n");
}

/** A suite of one test. */
const one = (body: string) => `tests:\n  - name: t\n${body.replace(/^/gm, "    ")}`;

describe("the notation of series", () => {
  const field = (scope: "position" | "market" | "daemon" | "trader", name: string) =>
    vocabulary[scope].find((candidate) => candidate.name === name)!;
  const number = field("position", "liquidationDistance");
  const steps = (text: string, of = number): string => {
    const problems: string[] = [];
    const found = parseSteps(text, of, ({ offset, message }) => problems.push(`${offset}: ${message}`));
    return found === null
      ? problems.join("; ")
      : found.map((step) => (step.kind === "value" ? String(step.value) : step.kind)).join(" ");
  };

  test.each([
    ["0.3", "0.3"],
    ["0.3 0.2x2 0.04", "0.3 0.2 0.2 0.2 0.04"],
    ["1+2x3", "1 3 5 7"],
    ["0.1+0.1x2", "0.1 0.2 0.3"],
    ["10-2.5x2", "10 7.5 5"],
    ["-1-1x1", "-1 -2"],
    ["5% 20%-5%x2", "0.05 0.2 0.15 0.1"],
    ["inf -inf nan 1e3", "Infinity -Infinity NaN 1000"],
    ["1 _ _x3 2", "1 failed failed failed failed 2"],
    ["1 stale gonex1", "1 silent gone gone"],
    ["1x0", "1"],
    ["abc 1", "0: liquidationDistance is a number, and abc is none"],
    ["1 2y", "2: liquidationDistance is a number, and 2y is none"],
    ["1x9999999", "0: more than 1000000 steps"],
  ])("%s", (text, expected) => expect(steps(text)).toBe(expected));

  test("of other kinds of fields", () => {
    expect(steps("true falsex1", field("position", "hasStopLoss"))).toBe("true false false");
    expect(steps("long shortx1", field("position", "side"))).toBe("long short short");
    expect(steps("5s 1m30sx1", field("daemon", "lag"))).toBe("5000 90000 90000");
    expect(steps("-2s", field("daemon", "clockOffset"))).toBe("-2000");
    expect(steps("5s inf", field("trader", "fundingUntilMaintenance"))).toBe("5000 Infinity");
    expect(steps("up", field("position", "side"))).toBe("0: side cannot be up");
    expect(steps("yes", field("position", "hasStopLoss"))).toBe(
      "0: hasStopLoss is true or false, and yes is none",
    );
  });
});

describe("what a test can do", () => {
  test("alerts are pending, fire, rise, fall and end, each at its time", async () => {
    const text = one(`
series:
  main/0.0/SOL: { position.liquidationDistance: "0.3 0.09x3 0.04x5 0.2x10" }
expect:
  - { at: 4s, alerts: [], messages: [] }
  - at: 5s
    alerts: [{ rule: Near, subject: main/0.0/SOL, state: pending, severity: warning }]
  - at: 15s
    alerts: [{ rule: Near, state: firing, severity: warning, value: 9%, labels: {} }]
    messages: [main SOL 9%]
  - at: 35s
    alerts: [{ rule: Near, severity: critical, summary: main SOL 4% }]
    messages: [{ lead: rose critical, to: you, severity: critical, subject: main/0.0/SOL }]
  - at: 1m5s
    alerts: [{ rule: Near, ending: recovered }]
    messages: [{ lead: ended critical, description: "" }]
`);
    expect(await run(text)).toBe("");
  });

  test("what differs is shown, with the figures of then", async () => {
    const text = one(`
series:
  main/0.0/SOL: { position.liquidationDistance: 0.04 }
  market/SOL: { fundingRate: "0.002 _x20" }
expect:
  - at: 12s
    alerts: [{ rule: Near, severity: warning }, { rule: Near, subject: main/0.0/BTC }]
    messages: [main BTC 4%, main SOL 4%]
`);
    expect(await run(text)).toBe(
      [
        "t 12s line 8 alerts",
        "- Near (any) firing warning",
        "+ Near main/0.0/SOL firing critical",
        "- Near main/0.0/BTC firing",
        "+ Rate market/SOL firing info: SOL",
        "= main/0.0/SOL: liquidationDistance 4% (2s ago)",
        "= market/SOL: fundingRate 0.2%/h (12s ago)",
        "t 12s line 8 messages",
        '- title "main BTC 4%"',
        '+ title "SOL"',
        '  title "main SOL 4%"',
      ].join("\n"),
    );
  });

  test("only the rules that are asked for are looked at", async () => {
    const series =
      "series: { market/SOL: { fundingRate: 0.002 }, main/0.0/SOL: { liquidationDistance: 0.9 } }";
    expect(await run(one(`${series}\nexpect: [{ at: 1s, rules: [Near], alerts: [], messages: [] }]`))).toBe(
      "",
    );
    expect(
      await run(one(`${series}\nexpect: [{ at: 1s, rules: [Rate], alerts: [], messages: [] }]`)),
    ).toContain("+ Rate");
  });

  test("a failed read neither fires nor resolves; Blind is looked at where it is named", async () => {
    const text = one(`
series:
  main/0.0/SOL: { position.liquidationDistance: "0.04x2 _x30" }
expect:
  - { at: 2m, alerts: [{ rule: Near, severity: critical }] }
  - { at: 2m, alerts: [{ rule: Near, severity: critical }, { rule: Blind, subject: main, severity: critical }] }
`);
    expect(await run(text)).toBe("");
    // Missing answers have the same effect, and so has a source that fails for all.
    expect(await run(text.replace("_x30", "stale"))).toBe("");
    const outage = text
      .replace("0.04x2 _x30", "0.04")
      .replace("expect:", "failed: [{ from: 15s, source: markets }]\n    expect:");
    expect(await run(outage.replace("subject: main,", "subject: exchange,"))).toBe("");
    expect(await run(outage)).toContain("- Blind main firing critical");
  });

  test("an expectation can state the data state of a rule with its alert", async () => {
    const text = one(`
series:
  main/0.0/SOL: { position.liquidationDistance: "0.04x2 _x30" }
expect:
  - { at: 10s, alerts: [{ rule: Near, state: firing, dataState: ok }] }
  - { at: 2m, alerts: [{ rule: Near, severity: critical, dataState: noData }] }
`);
    expect(await run(text)).toBe("");
    const other = text.replace("state: firing, dataState: ok", "subject: main/0.0/SOL, dataState: noData");
    expect(await run(other)).toContain(
      "t 10s line 7 alerts\n- Near main/0.0/SOL data noData\n+ Near main/0.0/SOL data ok\n+ Near main/0.0/SOL firing critical",
    );
  });

  describe("an empty list fails where a rule was never judged", () => {
    const unjudged = (list: string, what: string) =>
      `t 120s line 5 ${what}\n- Near judged\n+ Near never judged: main/0.0/SOL: ${list}`;

    test.each(["alerts: []", "messages: []", "alerts: [], messages: []"])("%s", async (lists) => {
      const text = (series: string, more = "") =>
        one(`series: { main/0.0/SOL: ${series} }\nexpect:\n  - { at: 2m, ${lists}${more} }`);
      const what = lists.startsWith("alerts") ? "alerts" : "messages";
      expect(await run(text("{ notional: 5 }"))).toContain(unjudged("", what));
      expect(await run(text('{ liquidationDistance: "_" }'))).toContain("+ Near never judged: ");
      expect(await run(text("{ liquidationDistance: 0.9 }"))).toBe("");
      // Only the compared rules have to be judged.
      expect(await run(text("{ liquidationDistance: 0.9 }", ", rules: [Rate]"))).toContain(
        "+ Rate never judged: market: market.fundingRate was not seen yet",
      );
      const rated = text("{ notional: 5 }, market/SOL: { fundingRate: 0 }", ", rules: [Rate]");
      expect(await run(rated)).toBe("");
    });

    test("of a test that expects other things, those that it names have to be judged", async () => {
      const text = (series: string) =>
        one(
          `series: { main/0.0/SOL: { ${series} }, market/SOL: { fundingRate: 0 } }\nexpect:\n  - { at: 0s, alerts: [] }\n  - { at: 10s, alerts: [{ rule: Near, subject: main/0.0/SOL }] }`,
        );
      expect(await run(text('liquidationDistance: "0.9x2 0.01"'))).not.toContain("never judged");
      expect(await run(text("notional: 5"))).toContain(
        "t 0s line 5 alerts\n- Near judged\n+ Near never judged",
      );
    });

    test("a rule that is expected to lack data need not be judged", async () => {
      const text = one(
        'series: { main/0.0/SOL: { liquidationDistance: "_" } }\nexpect:\n  - { at: 1m, rules: [Near], messages: [] }\n  - { at: 1m, alerts: [{ rule: Near, dataState: noData }] }',
      );
      expect(await run(text)).toBe("");
    });
  });

  describe("expectNothing fails where a rule was never judged", () => {
    const near = "t 120s line 4 expectNothing\n- Near judged\n+ Near never judged: ";
    const judgedToo = "\nexpectNothing: 2m";

    test.each<[string, string, string]>([
      ["a field is not given", "{ main/0.0/SOL: { notional: 5 } }", "main/0.0/SOL: "],
      ["a field is not a number", "{ main/0.0/SOL: { liquidationDistance: nan } }", "main/0.0/SOL: "],
      ["each read fails", '{ main/0.0/SOL: { liquidationDistance: "_" } }', ""],
    ])("%s", async (_, series, reason) => {
      const text = `series: ${series}${judgedToo}`;
      expect(await run(one(text))).toContain(near + reason);
      // Another rule of the files that is judged does not count.
      const both = series.replace(/ }$/, ", market/SOL: { fundingRate: 0 } }");
      if (reason !== "") expect(await run(one(`series: ${both}${judgedToo}`))).toContain(near + reason);
    });

    test("no rule of the files has a subject or an event", async () => {
      expect(await run(one("series: { main: { equity: 5 } }\nexpectNothing: 2m"))).toBe(
        [
          "t 120s line 4 expectNothing",
          "- Near judged",
          "+ Near never judged: no subject of it existed (scope position)",
          "- Rate judged",
          "+ Rate never judged: no subject of it existed (scope market)",
          "- Gone judged",
          "+ Gone never judged: no new liquidation event of its wallets happened",
        ].join("\n"),
      );
    });

    test("an event was fetched as the past", async () => {
      const event = (more: string) =>
        one(
          `series: { main: { equity: 5 } }\nevents: [{ at: 5s, on: liquidation, wallet: main, symbol: SOL, role: other${more} }]\nexpectNothing: 2m`,
        );
      expect(await run(event(""))).toBe("");
      expect(await run(event(", past: true"))).toContain("+ Gone never judged: no new liquidation event");
    });

    test("listed rules have to be judged, and no other", async () => {
      const text = (judged: string) =>
        one(
          `series: { main/0.0/SOL: { notional: 5 }, market/SOL: { fundingRate: 0 } }\nexpectNothing: { for: 2m, judged: [${judged}] }`,
        );
      expect(await run(text("Rate"))).toBe("");
      expect(await run(text("Rate, Gone"))).toBe(
        "t 120s line 4 expectNothing\n- Gone judged\n+ Gone never judged: no new liquidation event of its wallets happened",
      );
      expect(await run(text("Rat"))).toContain("no rule is called Rat\n  did you mean Rate?");
      expect(await run(one("expectNothing: { judged: Rate }"))).toContain("judged must be a list");
      // An alert of a rule that is not listed still fails the test.
      const fires = one(
        "series: { main/0.0/SOL: { liquidationDistance: 0.01 }, market/SOL: { fundingRate: 0 } }\nexpectNothing: { for: 2m, judged: [Rate] }",
      );
      expect(await run(fires)).toContain("Near main/0.0/SOL fired critical");
    });

    test("one known judgement is enough, also before a restart", async () => {
      const text = `series: { main/0.0/SOL: { liquidationDistance: "0.5 _" } }\nrestart: [1m]\nexpectNothing: 2m`;
      expect(await run(one(text))).toBe("");
    });

    test("a subject that is never judged beside one that is fails where the data state of that subject is expected", async () => {
      const text = `
series: { main/0.0/SOL: { liquidationDistance: 0.5 }, main/0.0/BTC: { notional: 5 } }
expect: [{ at: 1m, alerts: [{ rule: Near, subject: main/0.0/SYMBOL, dataState: ok }] }]
expectNothing: 2m`;
      expect(await run(one(text.replace("SYMBOL", "SOL")))).toBe("");
      expect(await run(one(text.replace("SYMBOL", "BTC")))).toMatch(
        /^t 60s line \d alerts\n- Near main\/0\.0\/BTC/,
      );
    });

    test("missing data that is expected as such is no failure", async () => {
      const text = `
series: { main/0.0/SOL: { notional: 5 } }
expect: [{ at: 1m, alerts: [{ rule: Near, dataState: noData }] }]
expectNothing: 2m`;
      expect(await run(one(text))).toBe("");
    });
  });

  test("nothing is expected, and something comes", async () => {
    const text = one('series: { market/SOL: { fundingRate: "0 0x3 0.002 0" } }\nexpectNothing: true');
    expect(await run(text)).toBe(
      [
        "t 30s line 4 expectNothing",
        "+ at 25s: Rate market/SOL fired info: SOL",
        "= market/SOL: fundingRate 0%/h",
      ].join("\n"),
    );
  });

  test("events come once, with their own fields", async () => {
    const text = one(`
series: { main/0.0/SOL: { liquidationDistance: 0.9 } }
events:
  - { at: 7s, on: liquidation, wallet: main, account: 0.0, symbol: sol, role: liquidatee, kind: adl, size: 3 }
  - { at: 8s, on: liquidation, wallet: main, symbol: SOL, role: adl_counterparty }
expect:
  - { at: 6s, alerts: [] }
  - { at: 9s, alerts: [{ rule: Gone, subject: main/0.0/SOL }], messages: [main lost SOL] }
  - { at: 20s, alerts: [], messages: [] }
`);
    expect(await run(text)).toBe("");
  });

  test("a restart in the middle affects only the downtime", async () => {
    const text = (restart: string) =>
      one(`
series: { main/0.0/SOL: { liquidationDistance: 0.04 } }
restart: ${restart}
expect:
  - { at: 16s, alerts: [{ rule: Near, severity: critical }], messages: [main SOL 4%] }
  - { at: 1m, alerts: [{ rule: Near, severity: critical, alreadySo: false }], messages: [] }
`);
    expect(await run(text("[6s]"))).toBe("");
    // It held for 5 s before and needs 5 more after: the time in between does not count.
    const down = await run(text("[{ at: 6s, for: 20s }]"));
    expect(down).toContain(
      "t 16s line 7 alerts\n- Near (any) firing critical\n+ Near main/0.0/SOL pending critical",
    );
    expect(down).toContain("t 60s");
  });

  test("an acknowledgement is taken, and lapses with a rise", async () => {
    const text = one(`
series: { main/0.0/SOL: { liquidationDistance: "0.09x5 0.04" } }
acknowledge: [{ at: 20s, rule: Near, by: me }]
expect:
  - { at: 22s, alerts: [{ rule: Near, severity: warning, acknowledged: true }] }
  - { at: 1m, alerts: [{ rule: Near, severity: critical, acknowledged: false }] }
`);
    expect(await run(text)).toBe("");
  });

  test("wallets, limits, routes, reminders and overrides are the file's own", async () => {
    const text = `
interval: 10s
start: 2026-03-01T23:59:00Z
timezone: Europe/Berlin
wallets: { main: { labels: { desk: alpha }, limits: { most: 0.5 } }, other: }
routing: { receivers: [all], routes: [{ match: { desk: alpha }, receivers: [desk] }] }
remind: { critical: { every: 1m } }
ruleOverrides: { Rate: { enabled: false }, Near: { for: 0s, levels: { warning: { when: value < wallet.limits.most } } } }
tests:
  - name: t
    series:
      main/0.0/SOL: { liquidationDistance: 0.4 }
      market/SOL: { fundingRate: 1 }
    expect: [{ at: 0s, alerts: [{ rule: Near, severity: warning }], messages: [{ to: desk }] }]
  - name: reminded
    series: { main/0.0/SOL: { liquidationDistance: 0.01 } }
    expect: [{ at: 2m, messages: [{ to: desk, lead: fired critical }, { lead: reminder critical }, { lead: reminder critical }] }]
`;
    expect(await run(text)).toBe("");
  });

  test("messages are those that leave: grouped, folded, and with the newest of each alert", async () => {
    const settings = (routing: string) => `
rules: [a.yaml]
wallets: { main: , second: , third: , fourth: }
routing: { receivers: [you], ${routing} }
`;
    const joined = `${settings("groupWait: 10s, groupInterval: 0s")}
tests:
  - name: what joins a group within its wait is in its message, which counts from its first item
    series:
      main/0.0/SOL: { liquidationDistance: 0.09 }
      main/0.0/BTC: { liquidationDistance: "1 0.09x10" }
    expect:
      - { at: 5s, messages: [] }
      - { at: 10s, messages: [2 × Near of main] }
      - { at: 1m, messages: [] }
  - name: an alert that ends while it waits is told as over, once
    series: { market/SOL: { fundingRate: "0x3 1 0x10" } }
    expect: [{ at: 1m, messages: [{ rule: Rate, lead: ended info }] }]
`;
    expect(await run(joined)).toBe("");
    const restarted = (restart: string, expected: string) => `${settings("groupWait: 3m, groupInterval: 0s")}
tests:
  - name: t
    series:
      main/0.0/SOL: { liquidationDistance: 0.09 }
      main/0.0/BTC: { liquidationDistance: "1x5 0.09x40" }
    ${restart}
    expect: [{ at: 5m, rules: [Near], messages: [${expected}] }]
`;
    expect(await run(restarted("failed: []", "2 × Near of main"))).toBe("");
    // A stop does not wait for groups.
    expect(await run(restarted("restart: [12s]", "main SOL 9%, main BTC 9%"))).toBe("");
    const storm = (routing: string, expected: string) => `${settings(routing)}
tests:
  - name: t
    series:
      main/0.0/SOL: { liquidationDistance: 0.01 }
      second/0.0/SOL: { liquidationDistance: 0.01 }
      third/0.0/SOL: { liquidationDistance: 0.01 }
      fourth/0.0/SOL: { liquidationDistance: 0.01 }
    expect: [{ at: 20s, messages: [${expected}] }]
`;
    expect(await run(storm("incidentBy: never, stormFold: 3", '"4 × Near; the worst: main SOL 1%"'))).toBe(
      "",
    );
    const each = "main SOL 1%, second SOL 1%, third SOL 1%, fourth SOL 1%";
    expect(await run(storm("incidentBy: never, stormFold: 4", each))).toBe("");
    expect(await run(storm("incidentBy: never, groupBy: []", "4 × Near"))).toBe("");
    // All of them are one incident.
    expect(await run(storm("stormFold: 3", "4 × Near"))).toBe("");
  });

  test("pairs and books follow from what the wallets hold", async () => {
    const together = `
rules:
  - name: Naked
    scope: pair
    when: abs(pair.nakedNotional) > 100.0
    severity: critical
    for: 0s
    summary: "{{ usd(pair.nakedNotional) }}"
  - name: Large
    scope: book
    by: none
    when: book.grossNotional > 900.0
    severity: info
    for: 0s
    summary: "{{ usd(book.grossNotional) }}"
`;
    const text = `
pairs: { basis: { legs: [main/SOL, hedge/SOL] } }
tests:
  - name: t
    series:
      main/0.0/SOL: { size: "10 10x2 0.1", notional: "500 500x2 5" }
      hedge/0.0/SOL: { size: -10, notional: 500 }
      market/SOL: { markPrice: 50 }
    expect:
      - { at: 10s, alerts: [{ rule: Large, subject: book/Large }] }
      - { at: 20s, rules: [Naked], alerts: [{ rule: Naked, subject: pair/basis }] }
`;
    expect(await run(text, together)).toBe("");
  });

  test("books by label follow from the wallets with the label, and name the wallet of an unknown part", async () => {
    const desks = `
rules:
  - name: DeskLoss
    scope: book
    by: desk
    value: book.pnlToday
    levels: { warning: { when: value < -1000.0 } }
    for: 0s
    summary: "{{ book.label }} {{ usd(value) }}, fees {{ usd(book.feesToday) }}"
`;
    const text = (fees: string) => `
wallets: { one: { labels: { desk: alpha } }, two: { labels: { desk: alpha } }, other: { labels: { desk: beta } } }
tests:
  - name: t
    series:
      one: { pnlToday: "-400 -600x3", feesToday: 5x4 }
      two: { pnlToday: -500x4, feesToday: "${fees}" }
      other: { pnlToday: -10x4, feesToday: 0x4 }
      one/0.0: { equity: 100x4 }
      two/0.0: { equity: 100x4 }
      other/0.0: { equity: 100x4 }
    expect:
      - at: 6s
        alerts: [{ rule: DeskLoss, subject: book/DeskLoss/desk=alpha, summary: "alpha -$1,100.00, fees $7.00" }]
`;
    expect(await run(text("2x4"), desks)).toBe("");
    // A mistake in the label is reported, with the known labels.
    expect(await run(text("2x4"), desks.replace("by: desk", "by: dsk"))).toContain(
      "no wallet has the label dsk",
    );
    const unknown = text("2x4")
      .replace("pnlToday: -500x4", "equity: 100x4")
      .replace(/, summary: .*"/, ", dataState: noData");
    expect(await run(unknown, desks)).toBe("");
  });

  test("lists and mappings are given as they are, texts with blanks one by one", async () => {
    const orders = `
rules:
  - name: Reduce
    scope: trader
    when: trader.orders.exists(o, o.symbol == "SOL" && o.reduceOnly)
    severity: info
    for: 0s
    keepFiringFor: 0s
    summary: "{{ trader.name }}"
  - name: Reads
    scope: daemon
    when: daemon.failingReads == "a b"
    severity: info
    for: 0s
    keepFiringFor: 0s
    summary: x
`;
    const text = one(`
series:
  main/0.0: { trader.orders: [[], [{ symbol: SOL, reduceOnly: true }], _] }
  daemon: { failingReads: ["", "a b"] }
expect:
  - { at: 0s, alerts: [] }
  - { at: 5s, alerts: [{ rule: Reduce }, { rule: Reads }] }
`);
    expect(await run(text, orders)).toBe("");
    expect(
      await run(
        text.replace("[[], [{ symbol: SOL, reduceOnly: true }], _]", "[{ symbol: SOL, reduceOnly: true }]"),
        orders,
      ),
    ).toContain("t 0s line 8 alerts\n+ Reduce main/0.0 firing info: main/0.0");
  });

  test("items of lists have their own kinds of fields, and what an account may do is a mapping", async () => {
    const old = `
rules:
  - name: Old
    scope: trader
    when: trader.orders.exists(o, o.age > duration("1h")) && !trader.capabilities.placeLimitOrder
    severity: info
    summary: "{{ trader.name }}"
`;
    const text = one(`
series:
  main/0.0:
    trader.orders: [[{ age: 59m }], [{ age: 61m }, { age: 5s }]]
    trader.capabilities: { placeLimitOrder: false }
expect:
  - { at: 0s, alerts: [] }
  - { at: 5s, alerts: [{ rule: Old }] }
`);
    expect(await run(text, old)).toBe("");
    const wrong = await run(text.replace("age: 59m", "age: soon, ago: 1"), old);
    expect(wrong).toContain("age is a duration, and soon is none");
    expect(wrong).toContain("unknown key ago");
  });

  test("figures of the day that are given are not worked out anew from histories", async () => {
    const fees = `
rules:
  - name: Fees
    scope: wallet
    when: wallet.feesToday > 1.0
    severity: info
    for: 30s
    summary: "{{ usd(wallet.feesToday) }}, {{ usd(wallet.fundingToday) }}"
`;
    const text = one(`
series: { main: { feesToday: 12, fundingToday: -3 } }
expect:
  - { at: 40s, alerts: [{ rule: Fees, summary: "$12.00, -$3.00" }] }
`);
    expect(await run(text, fees)).toBe("");
  });

  test("a position that is gone is gone, and comes back as another", async () => {
    const text = one(`
series:
  main/0.0/SOL: { side: long, liquidationDistance: "0.04x3 gonex20 0.04" }
  main/0.0/BTC: { liquidationDistance: 1 }
expect:
  - { at: 1m30s, alerts: [{ rule: Near, ending: closed }] }
  - { at: 2m30s, alerts: [{ rule: Near, severity: critical }] }
`);
    expect(await run(text)).toBe("");
  });
});

describe("mistakes are reported at their places", () => {
  const cases: [name: string, text: string, told: string][] = [
    ["no test", "tests: []", "a.test.yaml:1:8: there is no test\n    tests: []\n           ^"],
    [
      "nothing expected",
      "tests:\n  - { name: t }",
      "a.test.yaml:2:5: expect is missing: a test without it cannot fail\n      - { name: t }\n        ^\n  allowed: expect, expectNothing",
    ],
    [
      "an unknown key",
      one("expectNothing: 1m\nserie: {}"),
      "a.test.yaml:4:5: unknown key serie\n        serie: {}\n        ^\n  did you mean series?\n  allowed: name, series, events, failed, restart, acknowledge, expect, expectNothing",
    ],
    [
      "an unknown field",
      one("expectNothing: 1m\nseries: { market/SOL: { markPrize: 1 } }"),
      "a.test.yaml:4:29: market/SOL has no markPrize",
    ],
    [
      "a field of another scope",
      one("expectNothing: 1m\nseries: { market/SOL: { trader.equity: 1 } }"),
      "a.test.yaml:4:29: market/SOL is a market: it has no trader.equity",
    ],
    [
      "a name as people call it",
      one("expectNothing: 1m\nseries: { main/SOL: { size: 1 } }"),
      "did you mean main/0.0/SOL?",
    ],
    [
      "a value of another kind",
      one('expectNothing: 1m\nseries: { market/SOL: { markPrice: "1 2 x 3" } }'),
      "a.test.yaml:4:45: markPrice is a number, and x is none",
    ],
    [
      "an enum's member",
      one("expectNothing: 1m\nseries: { main/0.0/SOL: { side: lomg } }"),
      "did you mean long?",
    ],
    [
      "what follows from times",
      one("expectNothing: 1m\nseries: { main: { dataAge: 1s } }"),
      "wallet.dataAge follows from the times of the answers",
    ],
    [
      "gone markets",
      one("expectNothing: 1m\nseries: { market/SOL: { markPrice: 1 gone } }"),
      "market/SOL cannot be gone: positions and accounts can",
    ],
    [
      "times out of order",
      one("expect: [{ at: 5s, alerts: [] }, { at: 1s, alerts: [] }]"),
      "a.test.yaml:3:44: expectations stand in the order of their times",
    ],
    [
      "no duration",
      one("expect: [{ at: 5, alerts: [] }]"),
      "a.test.yaml:3:20: at must be a duration, found 5",
    ],
    [
      "nothing to look at",
      one("expect: [{ at: 5s }]"),
      "alerts or messages is missing: nothing is expected here",
    ],
    [
      "a rule that is not there",
      one("expect: [{ at: 5s, alerts: [{ rule: Neat }] }]"),
      "a.test.yaml:3:1: no rule is called Neat\n  did you mean Near?",
    ],
    [
      "an event of nobody",
      one("expectNothing: 1m\nevents: [{ at: 1s, on: liquidation }]"),
      "a.test.yaml:4:14: wallet is missing: whose event it is",
    ],
    [
      "an event's field",
      one("expectNothing: 1m\nevents: [{ at: 1s, on: fill, wallet: main, prize: 1 }]"),
      "unknown key prize",
    ],
    [
      "an unknown wallet",
      one("expectNothing: 1m\nseries: { main: { equity: 1 } }\nevents: [{ at: 1s, on: fill, wallet: mian }]"),
      "did you mean main?",
    ],
    [
      "two tests of one name",
      `${one("expectNothing: 1m")}\n  - { name: t, expectNothing: 1m }`,
      "a.test.yaml:4:13: the test t is there already, in line 2",
    ],
    [
      "a route",
      `routing: { receivers: [] }\n${one("expectNothing: 1m")}`,
      "a.test.yaml:1:23: routing.receivers: ",
    ],
    ["no YAML", "tests: [", "a.test.yaml:1:9: not valid YAML"],
    ["an alias", "tests: &a [ *a ]", "aliases (*name) are not taken"],
  ];
  test.each(cases)("%s", async (_, text, told) => expect(await run(text)).toContain(told));

  test("all of them at once", async () => {
    const text = one("expect: [{ at: x, alerts: 5 }]\nfailed: [{ source: market }]\nrestart: [y]");
    expect((await run(text)).match(/^a\.test\.yaml:\d+:\d+/gm)).toEqual([
      "a.test.yaml:3:20",
      "a.test.yaml:4:24",
      "a.test.yaml:5:15",
    ]);
  });
});

test("an account whose figures hold on without a position is not ended by the liquidation that took it", async () => {
  const marginHigh = `
rules:
  - name: MarginHigh
    scope: trader
    when: trader.marginRatio > 0.8
    severity: warning
    for: 0s
    keepFiringFor: 5m
    summary: "{{ trader.name }}"
`;
  const text = one(`series:
  main/0.0: { marginRatio: "90%x8 10%" }
  main/0.0/SOL: { size: "10x3 gone" }
events:
  - { at: 20s, on: liquidation, wallet: main, account: 0.0, symbol: SOL, role: liquidatee, kind: market }
expect:
  - { at: 30s, alerts: [{ rule: MarginHigh }] }
  - { at: 2m, alerts: [{ rule: MarginHigh }] }`);
  expect(await run(text, marginHigh)).toBe("");
});
