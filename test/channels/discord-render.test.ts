/** Discord's limits hold for any text of a rule, an exchange or a market. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  has,
  type Overwrite,
  permissionBits,
  permissionsIn,
} from "../../src/channels/discord/permissions.ts";
import { discordBody, endedBody, listOf, plainBodies } from "../../src/channels/discord/render.ts";
import { render } from "../../src/channels/message.ts";
import { messageProblems } from "../support/discord-limits.ts";
import { change, message } from "./messages.ts";

const seed = Math.trunc(Math.random() * 1e9);

/** Texts that grow when escaped, and that are far too long. */
const nasty = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc.constantFrom(
    "",
    " ",
    "*".repeat(9_000),
    "@everyone ".repeat(900),
    "👍".repeat(5_000),
    "a\n".repeat(5_000),
    "https://x ".repeat(700),
  ),
);
const changes = fc.array(
  fc.record({
    kind: fc.constantFrom("fired", "rose", "reminder", "ended", "acknowledged"),
    summary: nasty,
    description: nasty,
    runbook: fc.option(
      fc.constantFrom("https://r.example", `https://r.example/${"x".repeat(3_000)}`, "nonsense"),
    ),
    details: fc.array(fc.tuple(nasty, nasty), { maxLength: 40 }),
  }),
  { maxLength: 40 },
);

test("every message fits: sent, as plain text, and marked as ended", () => {
  fc.assert(
    fc.property(changes, nasty, nasty, (list, title, sender) => {
      const made = list.map(({ kind, summary, description, runbook, details }, index) =>
        change(kind, { id: index + 1, summary, description, runbook }, { details }),
      );
      const rendering = render(message(made, { content: { title, sender } }));
      const ended = made.map(({ alertId }) => ({
        alertId,
        words: "RESOLVED 2026-11-21 03:41:18 UTC",
        tone: "good" as const,
      }));
      for (const body of [
        discordBody(rendering, "<@&1100000000000000005>"),
        ...plainBodies(rendering, "<@&1100000000000000005>"),
        endedBody(rendering, ended),
        endedBody(rendering, ended.slice(1)),
      ]) {
        expect(messageProblems({ ...body })).toEqual([]);
        const footer = body.embeds.at(-1)?.footer?.text ?? body.content;
        expect(footer.length).toBeGreaterThan(0);
      }
    }),
    { seed, numRuns: 150 },
  );
});

test("the message can be found by its id for any length of the sender's name", () => {
  const sent = message([change()], { content: { sender: "n".repeat(9_000) } });
  for (const body of [discordBody(render(sent), null), ...plainBodies(render(sent), null)]) {
    expect(body.embeds.at(-1)?.footer?.text ?? body.content).toMatch(new RegExp(` ${sent.id}$`));
  }
});

test("a group of 12 alerts: an embed for each as far as Discord takes them, and a file that names all", () => {
  const made = Array.from({ length: 12 }, (_, index) =>
    change("fired", { id: 100 + index }, { id: index + 1 }),
  );
  const standing = { alerts: [{ id: 7, severity: "info" as const, summary: "main: quiet" }], more: 3 };
  const rendering = render(message(made, { content: { standing } }));
  const body = discordBody(rendering, null);
  for (const { alertId } of made)
    expect(listOf(rendering)).toContain(`FIRING critical #${alertId}: main: SOL`);
  expect(listOf(render(message(made.slice(0, 10))))).toBeNull();
  expect(body.embeds).toHaveLength(10);
  expect(body.embeds.slice(0, 9).map(({ title }) => /#(\d+)/.exec(title ?? "")?.[1])).toEqual(
    made.slice(0, 9).map(({ alertId }) => String(alertId)),
  );
  const last = body.embeds[9];
  expect(last?.description).toBe("**and 3 more**: all 12 are in alerts.txt");
  expect(last?.fields?.[0]).toMatchObject({
    ...{ name: "Other alerts", value: "Also firing, info: main: quiet (#7)\nAlso firing: 3 more" },
  });
  const gone = { alerts: standing.alerts.map((one) => ({ ...one, gone: true as const })), more: 0 };
  expect(
    discordBody(render(message(made, { content: { standing: gone } })), null).embeds[9]?.fields?.[0],
  ).toEqual({
    ...{ name: "Other alerts", value: "Ending, was info: main: quiet (#7)" },
  });
  expect(body.embeds.map(({ footer }) => footer === undefined)).toEqual([...Array(9).fill(true), false]);
  expect(messageProblems({ ...body })).toEqual([]);
});

test("of four alerts with more figures than there is room for, each keeps its times and how to acknowledge it", () => {
  const details = Array.from({ length: 40 }, (_, index) => [`Figure ${index}`, "1".repeat(60)] as const);
  const made = [1, 2, 3, 4].map((id) => change("fired", { id, subject: `w${id}/0.0/SOL` }, { id, details }));
  const texts = discordBody(render(message(made)), null).embeds.map(({ description = "" }) => description);
  expect(texts[0]).toContain("All 4 of them: perpwatch alerts ack 1 2 3 4");
  for (const text of texts) {
    expect(text).toContain("Mark $132.10, liquidation $126.55, margin ratio 78 %.");
    expect(text).toContain("on data 2s old");
    // Every figure has its value.
    expect(text).toMatch(/Figure 0: 1{60} · (Figure \d+: 1{60} · )*…\n/);
  }
});

describe("permissions", () => {
  const { Administrator, "View Channel": view, "Send Messages": send } = permissionBits;
  const guild = (everyone: bigint, role: bigint, owner = "9") => ({
    id: "1",
    owner_id: owner,
    roles: [
      { id: "1", permissions: String(everyone) },
      { id: "2", permissions: String(role) },
      { id: "3", permissions: String(Administrator) },
    ],
  });
  const member = { id: "7", roles: ["2"] };
  const over = (id: string, type: number, allow: bigint, deny: bigint): Overwrite => ({
    id,
    type,
    allow: String(allow),
    deny: String(deny),
  });

  test.each([
    ["of everyone", guild(view | send, 0n), [], true],
    ["of nobody", guild(view, 0n), [], false],
    ["of the bot's role", guild(view, send), [], true],
    ["of an administrator's role", guild(0n, Administrator), [over("1", 0, 0n, send)], true],
    ["of the owner", guild(0n, 0n, "7"), [], true],
    ["denied to everyone here", guild(view | send, 0n), [over("1", 0, 0n, send)], false],
    [
      "denied to everyone, allowed to the role",
      guild(view | send, 0n),
      [over("1", 0, 0n, send), over("2", 0, send, 0n)],
      true,
    ],
    [
      "allowed to the role, denied to the bot",
      guild(view, send),
      [over("2", 0, send, 0n), over("7", 1, 0n, send)],
      false,
    ],
    ["denied to a role that the bot has not", guild(view | send, 0n), [over("3", 0, 0n, send)], true],
  ] as const)("%s", (_what, server, overwrites, expected) => {
    expect(has(permissionsIn(server, overwrites, member), "Send Messages")).toBe(expected);
  });
});
