/** Settings of channels: accepted and refused ones with their messages, and the console's output. */
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import { seededRandom, systemClock } from "../../src/domain/clock.ts";
import { change, message, outgoing } from "./messages.ts";

const token = "MTEwMDAwMDAwMDAwMDAwMDAwMQ.GbotTk.not-a-real-token-000000000";
const webhookUrl = "https://discord.com/api/webhooks/1100000000000000007/abc_DEF-123";
const mail = {
  type: "email",
  smtp: { host: "mail.example.org" },
  from: "a@example.org",
  to: ["b@example.org"],
};

describe("settings", () => {
  test.each([
    ["console", { type: "console" }, { type: "console" }],
    ["a bot", { type: "discord", token, channelId: "1100000000000000003" }, { token }],
    ["a webhook", { type: "discord", webhookUrl }, { webhookUrl }],
    ["a webhook of a thread", { type: "discord", webhookUrl: `${webhookUrl}?thread_id=1` }, {}],
    ["a mail server", mail, { smtp: { host: "mail.example.org", secure: "starttls" } }],
  ])("takes %s", (_what, raw, expected) => {
    expect(channelSettings.parse(raw)).toMatchObject(expected);
  });

  test.each([
    ["an unknown type", { type: "pager" }, "type"],
    ["an unknown key", { type: "console", color: true }, "color"],
    ["a bot without channel", { type: "discord", token }, "channelId"],
    ["a channel by name", { type: "discord", token, channelId: "alerts" }, "channelId"],
    [
      "a token with the word Bot",
      { type: "discord", token: `Bot ${token}`, channelId: "1100000000000000003" },
      "token",
    ],
    ["bot and webhook at once", { type: "discord", webhookUrl, token }, "token"],
    [
      "a mention that is none",
      { type: "discord", webhookUrl, mention: { critical: "@me" } },
      "mention.critical",
    ],
    ["an address that is none", { ...mail, to: ["me"] }, "to.0"],
    ["nobody to write to", { ...mail, to: [] }, "to"],
    ["a header in an address", { ...mail, from: "a@example.org\nBcc: c@example.org" }, "from"],
    ["a user without password", { ...mail, smtp: { host: "h", user: "u" } }, "smtp"],
    ["a port that is none", { ...mail, smtp: { host: "h", port: 70_000 } }, "smtp.port"],
  ])("refuses %s, and says where", (_what, raw, where) => {
    const parsed = channelSettings.safeParse(raw);
    const places = parsed.error?.issues.map((issue) => {
      const keys = issue.code === "unrecognized_keys" ? issue.keys : [];
      return [...issue.path, ...keys].join(".");
    });
    expect(places).toContain(where);
  });

  test("reports every mistake at once, and no secret", () => {
    const raw = { type: "discord", token: "s3cret!", channelId: "x", apiUrl: "ftp://x" };
    const { error } = channelSettings.safeParse(raw);
    expect(error?.issues.map(({ path }) => path.join("."))).toEqual(["token", "channelId", "apiUrl"]);
    expect(JSON.stringify(error?.issues)).not.toContain("s3cret!");
  });
});

describe("console", () => {
  const printed = async (isTTY: boolean, parts = {}, json = false) => {
    const out = Object.assign(new PassThrough(), { isTTY });
    const channel = createChannel(
      "here",
      { type: "console" },
      { clock: systemClock(), random: seededRandom(1), out, json },
    );
    await channel.send(outgoing(parts), new AbortController().signal);
    return String(out.read());
  };

  test("prints a headline and what belongs to it, below", async () => {
    expect(await printed(false)).toBe(
      [
        "FIRING critical: main: SOL long is 4.2 % from liquidation (#42)",
        "    Mark $132.10, liquidation $126.55, margin ratio 78 %.",
        "    Mark price: $132.10 · Liquidation price: $126.55 · Margin ratio: 78 %",
        "    Seen 2026-11-21 03:41:18 UTC, on data 2s old.",
        "    To stop the reminders: perpwatch alerts ack 42",
        "    What to do: https://runbooks.example.org/liquidation",
        "",
      ].join("\n"),
    );
  });

  test("beside a log of JSON lines: one more of them", async () => {
    const text = await printed(false, { message: message([change()], { id: "M1" }) }, true);
    expect(text).toMatch(/^[^\n]+\n$/);
    expect(JSON.parse(text)).toEqual({
      ...{ level: "error", time: "2026-11-21T03:41:18.000Z", channel: "here", message: "M1" },
      msg: "FIRING critical: main: SOL long is 4.2 % from liquidation",
      ...{ kind: "alert", severity: "critical", resolved: false, notes: [], standing: [] },
      alerts: [
        {
          ...{ id: 42, rule: "LiquidationNear", subject: "main/0.0/SOL", wallet: "main", symbol: "SOL" },
          ...{ severity: "critical", lead: "FIRING critical" },
          summary: "main: SOL long is 4.2 % from liquidation",
          description: "Mark $132.10, liquidation $126.55, margin ratio 78 %.",
          figures: { "Mark price": "$132.10", "Liquidation price": "$126.55", "Margin ratio": "78 %" },
          fresh: ["Seen 2026-11-21 03:41:18 UTC, on data 2s old."],
          now: ["To stop the reminders: perpwatch alerts ack 42"],
          runbook: "https://runbooks.example.org/liquidation",
        },
      ],
    });
  });

  test("colours only for a terminal, and only by itself", async () => {
    const nasty = message([change("fired", { summary: "\u001b[2Jgone", description: "a\u001b]0;x\u0007b" })]);
    expect(await printed(false, { message: nasty })).not.toContain("\u001b");
    const coloured = await printed(true, { message: nasty });
    expect(coloured.split("\u001b")).toHaveLength(3);
    expect(coloured).toContain("\u001b[1;31mFIRING critical: \\u001b[2Jgone (#42)\u001b[0m");
  });
});
