/** The text of a message, common to all channels: order of its parts, times, endings, and text from data. */
import { describe, expect, test } from "vitest";
import { documentOf } from "../../src/channels/document.ts";
import { leadOf } from "../../src/channels/message/lead.ts";
import { plainLines } from "../../src/channels/message/lines.ts";
import {
  clean,
  forDiscord,
  forHtml,
  safeLink,
  shorten,
  withoutSecrets,
} from "../../src/channels/message/text.ts";
import { render } from "../../src/channels/message.ts";
import type { Alert, AlertChange, AlertChangeKind, Ending } from "../../src/domain/alerts/alert.ts";
import type { Message } from "../../src/domain/alerts/delivery.ts";
import { formatTime } from "../../src/domain/text/time-text.ts";
import { atMs, change, message } from "./messages.ts";

const lines = (sent: Message, timezone?: string) =>
  plainLines(render(sent, timezone === undefined ? {} : { timezone }));
const text = (kind: AlertChangeKind, parts: Partial<Alert> = {}, more: Partial<AlertChange> = {}) =>
  lines(message([change(kind, parts, more)])).join("\n");

test("has its parts in order: summary, level, age of the data, what to do, and number", () => {
  const sent = message();
  expect(lines(sent)).toEqual([
    "FIRING critical: main: SOL long is 4.2 % from liquidation",
    "",
    "Mark $132.10, liquidation $126.55, margin ratio 78 %.",
    "Mark price: $132.10 · Liquidation price: $126.55 · Margin ratio: 78 %",
    "Seen 2026-11-21 03:41:18 UTC, on data 2s old.",
    "To stop the reminders: perpwatch alerts ack 42",
    "What to do: https://runbooks.example.org/liquidation",
    "Alert #42, rule LiquidationNear",
    "",
    `perpwatch on nuc · ${sent.id}`,
  ]);
});

test("first the value and its limit, then what to do, then the rest of the description", () => {
  const description = "Mark $132.10. Now: add collateral,\nor reduce.";
  const parts = { limit: "4.2 %, critical below 5 %" };
  expect(lines(message([change("fired", { description }, parts)])).slice(2, 6)).toEqual([
    "Value 4.2 %, critical below 5 %.",
    "Now: add collateral,",
    "or reduce.",
    "Mark $132.10.",
  ]);
  expect(text("ended", { description, ending: "recovered" }, {})).not.toContain("Now:");
});

test("advice about an account is shown once, the newest, with the first alert that has it", () => {
  const advice = (line: string, account = "main/0.0") => ({ account, line });
  const of = (id: number, more: Partial<AlertChange>, parts: Partial<Alert> = {}) =>
    change("fired", { id, description: "", ...parts }, { id, ...more });
  const changes = [
    of(1, { advice: [advice("Sell 1 SOL.")] }),
    of(2, { advice: [advice("Sell 2 SOL."), advice("Sell 9 ETH.", "main/0.1")], atMs: atMs + 1 }),
    of(3, { advice: [advice("Sell 9 ETH.", "main/0.1")] }),
  ];
  const advised = (sent: Message, apart = false) =>
    render(sent, apart ? { apart } : {}).blocks.map(({ description }) => description);
  expect(advised(message(changes))).toEqual(["Sell 2 SOL.", "Sell 9 ETH.", ""]);
  // An alert that is read alone is complete.
  expect(advised(message(changes), true)).toEqual(["Sell 1 SOL.", "Sell 2 SOL.\nSell 9 ETH.", "Sell 9 ETH."]);
  // The advice is not moved to an alert that does not show it.
  const sent = message(changes);
  const [first, ...others] = sent.content.items;
  for (const more of [{ passed: true as const }, { body: [{ text: "mine", isFigure: false }] }]) {
    const items = [{ ...first!, ...more }, ...others];
    expect(advised({ ...sent, content: { ...sent.content, items } as Message["content"] })[1]).toBe(
      "Sell 2 SOL.\nSell 9 ETH.",
    );
  }
});

test("advice that a database of an earlier version has as lines alone is shown", () => {
  const advice = ["Sell 1 SOL.", "Sell 2 BTC."] as unknown as AlertChange["advice"] & object;
  const sent = message([change("fired", { description: "" }, { advice })]);
  expect(render(sent).blocks.map(({ description }) => description)).toEqual(["Sell 1 SOL.\nSell 2 BTC."]);
  expect(documentOf(sent, {})).toMatchObject({ alerts: [{ advice: ["Sell 1 SOL.", "Sell 2 BTC."] }] });
});

test("amounts that clear an account are what to do now, and the rule's own words only add to them", () => {
  const said = (now: string, more: Partial<AlertChange> = {}) => {
    const advice = [{ account: "main/0.0", line: "Sell 1 SOL.", clears: true as const }];
    const limit = "4 %, critical below 5 %";
    return lines(
      message([change("fired", { description: `Mark $1. ${now}` }, { limit, advice, ...more })]),
    ).slice(2, 6);
  };
  const generic = "Now: add collateral to main/0.0, or reduce the position; a stop loss costs less.";
  const first = ["Value 4 %, critical below 5 %.", "Now: sell 1 SOL."];
  expect(said(generic)).toEqual([...first, "A stop loss costs less.", "Mark $1."]);
  expect(said("Now: deposit to main/0.0 at once.").slice(0, 3)).toEqual([...first, "Mark $1."]);
  expect(said("Now: call the desk.")).toEqual([...first, "Call the desk.", "Mark $1."]);
  const figured = "Now: add collateral, or reduce the $9.00 by limit orders.";
  expect(said(figured)).toEqual([...first, figured.replace("Now: a", "A"), "Mark $1."]);
  // No amount clears it: the rule's text is the only advice.
  const none = { account: "main/0.0", line: "No deposit ends all alerts." };
  expect(said(generic, { advice: [none] }).slice(1, 3)).toEqual([none.line, generic]);
});

test("a message names amounts and general words for one account once", () => {
  const description = "Now: add collateral.";
  const of = (id: number, account: string, clears: boolean) => {
    const advice = [{ account, line: "Sell 1 SOL.", ...(clears ? { clears: true as const } : {}) }];
    return change("fired", { id, description }, { id, advice });
  };
  const sent = message([of(1, "main/0.0", true), of(2, "main/0.0", true), of(3, "main/0.1", false)]);
  expect(render(sent).blocks.map((block) => block.description)).toEqual([
    "Now: sell 1 SOL.",
    "",
    "Sell 1 SOL.\nNow: add collateral.",
  ]);
});

test("commands are those of this installation", () => {
  const commandLine = (words: string) => `npm run -s perpwatch -- ${words} --config /c.yaml`;
  expect(plainLines(render(message(), { commandLine }))).toContain(
    "To stop the reminders: npm run -s perpwatch -- alerts ack 42 --config /c.yaml",
  );
});

test("the effect of an acknowledgement is stated before it and after it", () => {
  const quietIfAcknowledged = "for 1h, unless its value gets worse by 20%";
  expect(text("fired", {}, { quietIfAcknowledged })).toContain(
    "To stop the reminders for 1h, unless its value gets worse by 20%: perpwatch alerts ack 42",
  );
  const acknowledged = { acknowledgedBy: "ann", acknowledgedAtMs: atMs };
  expect(text("fell", acknowledged, { quietIfAcknowledged })).toMatch(
    /Acknowledged by ann at .* UTC: quiet for 1h, unless its value gets worse by 20%\./,
  );
});

test("the command that acknowledges several alerts is shown once", () => {
  const quiet = (value: string) => ({ quietIfAcknowledged: `for 1h, unless its value falls below ${value}` });
  const sent = message([
    change("fired", { id: 4 }, quiet("3%")),
    change("fired", { id: 3 }, quiet("4%")),
    change("fired", { id: 7, severity: "info" }),
    change("fell", { id: 8 }),
    change("ended", { id: 9 }),
    change("worsened", { id: 2, severity: "warning" }),
  ]);
  const nows = (apart: boolean) => render(sent, { apart }).blocks.map(({ now }) => now);
  const first = "To stop the reminders for 1h, unless its value falls below 3%: perpwatch alerts ack 4";
  expect(nows(false)).toEqual([
    [first, "All 3 of them: perpwatch alerts ack 4 3 2"],
    ["Once acknowledged it is quiet for 1h, unless its value falls below 4%."],
    ...[[], [], [], []],
  ]);
  expect(nows(true).map((lines) => lines.map((line) => line.split(": ")[1]))).toEqual([
    ...[["perpwatch alerts ack 4"], ["perpwatch alerts ack 3"], [], [], [], ["perpwatch alerts ack 2"]],
  ]);
});

test("an empty description is left out", () => {
  expect(text("fired", { description: "–" })).not.toContain("–");
  expect(text("fired", { description: "–, but" })).toContain("–, but");
});

test("alerts that a message of an earlier version only counted are counted", () => {
  const sent = message();
  const more = { ...sent, content: { ...sent.content, more: 20 } };
  expect(lines(more)).toContain("20 more are not named here: perpwatch alerts lists them.");
});

describe("leads", () => {
  const cases: readonly [AlertChangeKind, Partial<Alert>, string][] = [
    ["fired", {}, "FIRING critical"],
    ["fired", { event: true }, "CRITICAL"],
    ["rose", {}, "WORSE, now critical"],
    ["fell", { severity: "warning" }, "BETTER, now warning"],
    ["worsened", {}, "WORSE, still critical"],
    ["changed", { severity: "warning" }, "CHANGED, still warning"],
    ["reminder", { severity: "warning" }, "STILL FIRING warning"],
    ["acknowledged", {}, "ACKNOWLEDGED, still critical"],
    ["acknowledged", { event: true, state: "ended" }, "ACKNOWLEDGED"],
    ["ended", { ending: "recovered" }, "RESOLVED"],
    ["ended", { ending: "closed" }, "CLOSED"],
    ["ended", { ending: "liquidated" }, "LIQUIDATED"],
    ["ended", { ending: "deleveraged" }, "AUTO-DELEVERAGED"],
    ["ended", { ending: "flipped" }, "FLIPPED"],
    ["ended", { ending: "ruleChanged" }, "RULE CHANGED"],
    ["ended", { ending: "noLongerWatched" }, "NO LONGER WATCHED"],
  ];
  test.each(cases)("%s %j: %s", (kind, parts, lead) => {
    const one = change(kind, parts);
    expect(leadOf(one)).toBe(lead);
    expect(lines(message([one]))[0]).toMatch(new RegExp(`^${lead}: `));
  });
});

describe("endings", () => {
  test("a recovery is the only one that is called resolved, and green", () => {
    const tones = (
      [
        "recovered",
        "closed",
        "liquidated",
        "deleveraged",
        "flipped",
        "ruleChanged",
        "noLongerWatched",
      ] as const
    ).map((ending) => {
      const rendering = render(message([change("ended", { ending })]));
      if (ending !== "recovered")
        expect(plainLines(rendering).join("\n")).not.toMatch(/resolved|nothing to do/i);
      return rendering.tone;
    });
    expect(tones).toEqual(["good", "over", "critical", "critical", "over", "over", "over"]);
  });

  test("a recovery is not green while a critical alert of its group fires", () => {
    const beside = (parts: object) => {
      const alerts = [
        { id: 1, severity: "critical" as const, summary: "main: SOL long is 1 % away", ...parts },
      ];
      const content = { resolved: true, standing: { alerts, more: 0 } };
      const { tone, blocks, headline } = render(message([change("ended")], { content }));
      expect(headline).toMatch(/^RESOLVED: /);
      return [tone, blocks[0]!.tone];
    };
    expect(beside({})).toEqual(["over", "over"]);
    expect(beside({ severity: "warning" })).toEqual(["good", "good"]);
    expect(beside({ gone: true })).toEqual(["good", "good"]);
  });

  test("the last summary of an ended alert is marked as past, and its description is omitted", () => {
    const ended = text("ended", { ending: "liquidated" });
    expect(ended).toMatch(
      /^LIQUIDATED: main\/0\.0\/SOL \(before: main: SOL long is 4\.2 % from liquidation\)\n/,
    );
    expect(ended).not.toContain("Mark $132.10, liq");
    expect(ended).toContain("Fired 2026-11-21 03:29:15 UTC, lasted 12m 3s.");
  });

  test("a summary that names its subject first does not name it twice", () => {
    const summary = "main/0.0/SOL: nearly everything points one way";
    const ended = text("ended", { ending: "ruleChanged", summary });
    expect(ended).toMatch(/^RULE CHANGED: main\/0\.0\/SOL \(before: nearly everything points one way\)\n/);
  });

  test("a rule that was changed says that an acknowledgement ends with its alert", () => {
    const acknowledged = { acknowledgedBy: "ann", acknowledgedAtMs: atMs - 60_000 };
    expect(text("ended", { ending: "ruleChanged", ...acknowledged })).toContain(
      "\nNow: look at it yourself, do not wait for another alert. The rule was changed or removed: this alert ends, and fires anew only where a new rule holds. What it watched may be no better.\nThe acknowledgement by ann ends with it.\n",
    );
    expect(text("ended", { ending: "ruleChanged" })).toContain(
      "\nNow: look at it yourself, do not wait for another alert. The rule was changed or removed: this alert ends, and fires anew",
    );
  });

  test("several alerts that ended in one way state it in their title", () => {
    const titled = (...endings: Ending[]) => {
      const sent = message(endings.map((ending, id) => change("ended", { ending, id: id + 1 })));
      return render({ ...sent, content: { ...sent.content, title: "2 × LiquidationNear of main" } }).headline;
    };
    expect(titled("ruleChanged", "ruleChanged")).toBe("RULE CHANGED: 2 × LiquidationNear of main");
    expect(titled("recovered", "recovered")).toBe("RESOLVED: 2 × LiquidationNear of main");
    expect(titled("recovered", "closed")).toBe("2 × LiquidationNear of main");
  });

  test("an ended alert shows its ending first, and the time of its figures", () => {
    const at = (ending: Ending, more: Partial<AlertChange> = {}) =>
      lines(message([change("ended", { ending, dataAtMs: atMs - 63_000 }, more)]));
    const closed = at("closed");
    expect(closed.slice(2, 6)).toEqual([
      "The position is closed. Nothing of it is left to watch.",
      "The figures are from before it was closed, seen 2026-11-21 03:40:15 UTC.",
      "Mark price: $132.10 · Liquidation price: $126.55 · Margin ratio: 78 %",
      "Ended 2026-11-21 03:41:18 UTC.",
    ]);
    expect(closed.join()).not.toContain("on data");
    expect(at("liquidated")[2]).toBe(
      "Now: look at what is left of main/0.0; the exchange liquidated the position.",
    );
    expect(at("noLongerWatched").slice(2, 4)).toEqual([
      "Now: look at it yourself; perpwatch sends nothing more about it. It may be no better.",
      "The figures are the last ones, seen 2026-11-21 03:40:15 UTC.",
    ]);
    expect(at("flipped", { stands: "short" })[2]).toBe(
      "The position changed its side: it is short now, and watched as a new one.",
    );
    expect(at("closed", { details: [] }).join()).not.toContain("figures");
    // Figures from before the event are not shown after it.
    expect(at("deleveraged", { happenedMs: atMs - 67_000 })[3]).toBe(
      `The figures are from before the deleveraging at ${formatTime(atMs - 67_000, "UTC")}.`,
    );
  });

  test.each<[string, Partial<Alert>, Partial<AlertChange>, string, string]>([
    [
      "a position that another one replaced",
      { ending: "closed" },
      { stands: "another" },
      "CLOSED: main/0.0/SOL (before: ",
      "It was replaced by another position of the same name, which is watched as a new one.",
    ],
    [
      "a position that was liquidated, where another one stands",
      { ending: "liquidated" },
      { stands: "another" },
      "LIQUIDATED: main/0.0/SOL (before: ",
      "\nNow: look at what is left of main/0.0; the exchange liquidated the position. Another one of the same name stands there now, and is watched as a new one.\n",
    ],
    [
      "an account of which nothing is left",
      { ending: "liquidated", subject: "main/0.0", symbol: null },
      { stands: "noPositions" },
      "LIQUIDATED: main/0.0 has no positions any more (before: ",
      "\nNow: look at what is left of the collateral of main/0.0; the exchange liquidated what it held.\n",
    ],
    [
      "an account of which something is left",
      { ending: "liquidated", subject: "main/0.0", symbol: null },
      {},
      "LIQUIDATED: main/0.0 (before: ",
      "\nNow: look at what is left of main/0.0; the exchange liquidated something of it.\n",
    ],
    [
      "a position that was auto-deleveraged",
      { ending: "deleveraged" },
      {},
      "AUTO-DELEVERAGED: main/0.0/SOL (before: ",
      "\nNow: look whether a hedge of it elsewhere stands alone; the exchange auto-deleveraged the position.\n",
    ],
    [
      "an account of which nothing was left by deleveraging",
      { ending: "deleveraged", subject: "main/0.0", symbol: null },
      { stands: "noPositions" },
      "AUTO-DELEVERAGED: main/0.0 has no positions any more (before: ",
      "\nNow: look at what is left of the collateral of main/0.0; the exchange auto-deleveraged what it held.\n",
    ],
  ])("says what stands there now: %s", (_, alert, more, headline, meaning) => {
    const ended = text("ended", alert, more);
    expect(ended.startsWith(headline)).toBe(true);
    expect(ended).toContain(meaning);
    expect(ended).not.toContain("left to watch");
  });

  test("a recovery shows the present state, without requests", () => {
    const ended = text("ended", { summary: "main: SOL long is 14 % from liquidation" });
    expect(ended).toMatch(/^RESOLVED: main: SOL long is 14 % from liquidation\n/);
    expect(ended).not.toMatch(/What to do|alerts ack/);
  });
});

describe("freshness", () => {
  const cases: readonly [string, string, string[]][] = [
    ["young data", text("fired", { dataAtMs: atMs - 200 }), ["on data less than a second old"]],
    ["old data", text("fired", { dataAtMs: atMs - 95_000 }), ["on data 1m 35s old"]],
    ["already so", text("fired", { alreadySo: true }), ["Already so when perpwatch started watching."]],
    [
      "already so, told again",
      text("reminder", { alreadySo: true, firedAtMs: atMs - 60_000 }),
      ["Firing since 2026-11-21 03:40:18 UTC."],
    ],
    ["a reminder", text("reminder", { firedAtMs: atMs - 60_000 }), ["Firing since 2026-11-21 03:40:18 UTC."]],
    [
      "an event",
      text("fired", { event: true }, { happenedMs: atMs - 4_000 }),
      ["Happened 2026-11-21 03:41:14 UTC, seen 4s later."],
    ],
    [
      "an event at once",
      text("fired", { event: true }, { happenedMs: atMs - 300 }),
      ["Happened 2026-11-21 03:41:17 UTC."],
    ],
    [
      "nothing newer than the last",
      text("reminder", { dataAtMs: atMs - 446_000, firedAtMs: atMs - 600_000 }, { past: true }),
      ["Last seen 2026-11-21 03:33:52 UTC, 7m 26s ago.", "Firing since 2026-11-21 03:31:18 UTC."],
    ],
    [
      "an alert that a liquidation ends later",
      text("ended", { ending: "liquidated", endedAtMs: atMs }, { happenedMs: atMs - 61_000 }),
      ["Happened 2026-11-21 03:40:17 UTC, the alert ended 1m 1s later."],
    ],
    ["an event without its time", text("fired", { event: true }), ["Seen 2026-11-21 03:41:18 UTC."]],
  ];
  test.each(cases)("%s", (_what, said, expected) => {
    for (const sentence of expected) expect(said).toContain(sentence);
  });

  test("a reading from long before the newest of its message says so", () => {
    const seen = (ms: number) => {
      const newest = change("fired", { id: 2, subject: "north/0.0/SOL" }, { id: 9, atMs: atMs + ms });
      return lines(message([change("worsened"), newest])).find((line) =>
        /^(Old: s|S)een 2026-11-21 03:41:18/.test(line),
      );
    };
    expect(seen(10_000)).toBe("Seen 2026-11-21 03:41:18 UTC, on data 2s old.");
    expect(seen(270_000)).toBe(
      "Old: seen 2026-11-21 03:41:18 UTC, 4m 30s before the newest here, on data 2s old then.",
    );
  });

  test("a delayed message says so, by the times of its alerts", () => {
    const late = message([change()], { sealedAtMs: atMs + 840_000 });
    const because = "anna: Slack did not answer within 10 s";
    const insteadOf = { because, insteadOf: "anna" };
    const why = `In place of anna, who is on duty and did not get it: ${because}.`;
    expect(render(message([change()]), {}, { heldMs: 0, ...insteadOf }).notes).toEqual([why]);
    expect(render(message([change()]), {}, { heldMs: 90_000, ...insteadOf }).notes).toEqual([
      `${why} Held 1m 30s. The times below are the true ones.`,
    ]);
    expect(lines(late)[1]).toBe("Delivered late: held 14m. The times below are the true ones.");
    expect(lines(message([change()], { sealedAtMs: atMs + 5_000 })).join()).not.toContain("late");
  });

  test("alerts gathered by an incident are not late by that, but by a delay of the message", () => {
    const gathered = message([change()], { sealedAtMs: atMs + 300_000, content: { incident: { id: "I1" } } });
    expect(lines(gathered).join()).not.toContain("late");
    const held = { heldMs: 120_000, because: "status 503" };
    expect(plainLines(render(gathered, {}, held))[1]).toContain(
      "Delivered late: held 2m, because status 503.",
    );
  });

  test("a late message states the delay and its reason", () => {
    const why = { heldMs: 840_000, because: "connect ECONNREFUSED\n10.0.0.2:587" };
    expect(plainLines(render(message(), {}, why))[1]).toBe(
      "Delivered late: held 14m, because connect ECONNREFUSED\\n10.0.0.2:587. The times below are the true ones.",
    );
  });

  test("improved or ended alerts have no request to acknowledge", () => {
    expect(text("fired")).toContain("alerts ack");
    expect(text("fell", { severity: "warning" })).not.toContain("alerts ack");
    expect(text("ended", { ending: "recovered" })).not.toContain("alerts ack");
  });

  test.each([
    ["UTC", "2026-11-21 03:41:18 UTC"],
    ["Europe/Berlin", "2026-11-21 04:41:18 CET"],
    ["America/New_York", "2026-11-20 22:41:18 GMT-5"],
    ["Asia/Kolkata", "2026-11-21 09:11:18 GMT+5:30"],
  ])("times in %s carry their zone", (zone, expected) => {
    expect(formatTime(atMs, zone)).toBe(expected);
  });
});

describe("what now", () => {
  test.each([
    ["an info asks for nothing", text("fired", { severity: "info" }), /^(?!.*alerts ack)/s],
    ["an event asks for nothing", text("fired", { event: true }), /^(?!.*alerts ack)/s],
    [
      "who has it already",
      text("reminder", { acknowledgedBy: "ana", acknowledgedAtMs: atMs }),
      /Acknowledged by ana at 2026-11-21 03:41:18 UTC\./,
    ],
    ["no link that is none", text("fired", { runbook: "javascript:alert(1)" }), /^(?!.*javascript)/s],
  ])("%s", (_what, said, expected) => {
    expect(said).toMatch(expected);
  });
});

test("several alerts: the worst and how many more, then each with its lead and number", () => {
  const sent = message([change(), change("ended", { id: 40, ending: "closed", summary: "hedge: BTC" })]);
  const said = lines(sent);
  expect(said[0]).toBe("FIRING critical: main: SOL long is 4.2 % from liquidation (+1 more alert)");
  expect(said).toContain("FIRING critical #42: main: SOL long is 4.2 % from liquidation");
  expect(said).toContain("CLOSED #40: main/0.0/SOL (before: hedge: BTC)");
  expect(render(sent).tone).toBe("critical");
  const quiet = message([
    change("fired", { severity: "info" }),
    change("fired", { id: 40, severity: "info" }),
  ]);
  expect(lines(quiet)[0]).toBe("2 alerts of main");
});

test("a title that somebody acknowledged counts the others that nobody has", () => {
  const by = { acknowledgedBy: "ana", acknowledgedAtMs: atMs };
  const others = [
    change("acknowledged", { id: 2, ...by }),
    change("worsened", { id: 3, severity: "warning" }),
    change("fired", { id: 4, severity: "info" }),
    change("ended", { id: 5, state: "ended", ending: "recovered" }),
  ];
  const titled = (...changes: AlertChange[]) => lines(message(changes))[0];
  const what = "main: SOL long is 4.2 % from liquidation";
  expect(titled(change("acknowledged", by), ...others)).toBe(
    `ACKNOWLEDGED, still critical: ${what} (+4 more alerts, 1 not acknowledged)`,
  );
  expect(titled(change("acknowledged", by), others[0]!)).toBe(
    `ACKNOWLEDGED, still critical: ${what} (+1 more alert)`,
  );
  expect(titled(change(), ...others)).toBe(`FIRING critical: ${what} (+4 more alerts)`);
});

test("a test message says that it is one", () => {
  const sent = message([], { content: { kind: "test", title: "Test of chat" } });
  expect(lines(sent).slice(0, 2)).toEqual(["Test of chat", "This is a test. Nothing has happened."]);
  expect(render(sent).tone).toBe("test");
});

describe("text from data", () => {
  test.each([
    ["a\u0000b\u001b[31mc\u0007", "a\\u0000b\\u001b[31mc\\u0007"],
    ["a\r\nb\rc\td", "a\nb\\rc d"],
    ["ev\u202eil\u2066x\u200b", "ev\\u202eil\\u2066x\\u200b"],
    ["half \ud83d", "half \ufffd"],
    ["family 👨‍👩‍👧 stays", "family 👨‍👩‍👧 stays"],
  ])("clean %j", (raw, expected) => {
    expect(clean(raw)).toBe(expected);
  });

  test.each([
    ["@everyone", "@\u200beveryone"],
    ["<@123> <#1> <t:1>", "\\<@\u200b123> \\<#1> \\<t:1>"],
    ["**b** _i_ ~~s~~ `c` ||x||", "\\*\\*b\\*\\* \\_i\\_ \\~\\~s\\~\\~ \\`c\\` \\|\\|x\\|\\|"],
    ["[a](http://b)", "\\[a\\](http:\u200b//b)"],
    ["# h\n> q\n- l\n  # x", "\\# h\n\\> q\n\\- l\n  \\# x"],
    ["a # b > c - d", "a # b > c - d"],
    ["order_filled -4.2 %", "order\\_filled -4.2 %"],
    ["\\*", "\\\\\\*"],
    ["discord.gg/abc", "discord.\u200bgg/abc"],
  ])("on Discord %j", (raw, expected) => {
    expect(forDiscord(raw)).toBe(expected);
  });

  test.each([
    ["****", 5, "\\*\\*…"],
    ["****", 8, "\\*\\*\\*\\*"],
    ["👍👍👍", 5, "👍👍…"],
    ["abc", 3, "abc"],
  ])("on Discord %j within %i", (raw, most, expected) => {
    expect(forDiscord(raw, most)).toBe(expected);
  });

  test("in HTML", () => {
    expect(forHtml(`<a href="x" id='y'>&`)).toBe("&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;");
  });

  test.each([
    ["https://a.example/b?c=d", "https://a.example/b?c=d"],
    ["javascript:alert(1)", null],
    ["data:text/html,x", null],
    ["not a link", null],
    [null, null],
  ])("as a link %j", (raw, expected) => {
    expect(safeLink(raw)).toBe(expected);
  });

  test("cut between characters", () => {
    expect(shorten("a👍👍", 4)).toBe("a👍…");
    expect(shorten("abcd", 4)).toBe("abcd");
  });

  test("without secrets, in any of their forms, on one short line", () => {
    const told = withoutSecrets(
      `no s3cret/word\n${encodeURIComponent("s3cret/word")} ${btoa("s3cret/word")} ${"x".repeat(400)}`,
      ["s3cret/word", ""],
    );
    expect(told).toMatch(/^no …\\n… … x+…$/);
    expect(told.length).toBe(300);
  });
});

describe("the title of several alerts", () => {
  const worse = (
    id: number,
    subject: string,
    kind: AlertChangeKind = "worsened",
    severity: Alert["severity"] = "critical",
  ) => change(kind, { id, subject, severity, summary: `${subject} is near` }, { id });
  const titleOf = (changes: AlertChange[], passed: readonly number[] = []) => {
    const sent = message([change("fired"), ...changes]);
    const items = sent.content.items.map((item) =>
      passed.includes(item.change.alertId) ? { ...item, passed: true as const } : item,
    );
    return render({ ...sent, content: { ...sent.content, items } }).headline;
  };
  const first = "FIRING critical: main: SOL long is 4.2 % from liquidation";

  test.each<[string, AlertChange[], string]>([
    [
      "an account that is not in it",
      [worse(2, "north/0.0/SOL")],
      `${first} (+1 more alert, north/0.0 got worse)`,
    ],
    [
      "an account once",
      [worse(2, "north/0.0/SOL"), worse(3, "north/0.0")],
      `${first} (+2 more alerts, north/0.0 got worse)`,
    ],
    ["the account of the title", [worse(2, "main/0.0/ETH")], `${first} (+1 more alert)`],
    ["a warning", [worse(2, "north/0.0", "worsened", "warning")], `${first} (+1 more alert)`],
    ["a wallet, and a pair", [worse(2, "north"), worse(3, "pair/basis")], `${first} (+2 more alerts)`],
    [
      "more than three",
      [1, 2, 3, 4].map((n) => worse(10 + n, `w${n}/0.1/SOL`, "rose")),
      `${first} (+4 more alerts, w1/0.1, w2/0.1, w3/0.1 and others got worse)`,
    ],
  ])("names accounts that got worse: %s", (_, changes, title) => {
    expect(titleOf(changes)).toBe(title);
  });

  test("an alert that no longer holds has not got worse", () => {
    expect(titleOf([worse(2, "north/0.0/SOL")], [2])).toBe(`${first} (+1 more alert)`);
  });
});

test.each([
  [
    { until: "stays critical until above 6 %" },
    "Also firing, critical: other (stays critical until above 6 %) (#7)",
  ],
  [
    { until: "no longer critical if that lasts" },
    "Also firing, critical: other (no longer critical if that lasts) (#7)",
  ],
  [{}, "Also firing, critical: other (#7)"],
])("another alert says how it stands: %o", (more, line) => {
  const alerts = [{ id: 7, severity: "critical" as const, summary: "other", ...more }];
  expect(lines(message([change()], { content: { standing: { alerts, more: 0 } } }))).toContain(line);
});
