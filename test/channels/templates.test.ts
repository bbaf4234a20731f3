/** Message templates of a channel. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { consoleText } from "../../src/channels/console/channel.ts";
import { discordBody, endedBody, plainBodies } from "../../src/channels/discord/render.ts";
import { documentOf } from "../../src/channels/document.ts";
import { mailParts } from "../../src/channels/email/render.ts";
import { plainLines } from "../../src/channels/message/lines.ts";
import { applyTemplates, templateKindOf, templateKinds } from "../../src/channels/message/template.ts";
import { render } from "../../src/channels/message.ts";
import type { AlertChangeKind } from "../../src/domain/alerts/alert.ts";
import type { MessageContent } from "../../src/domain/alerts/delivery.ts";
import { atMs, change, message } from "./messages.ts";
import { inWordsOf, templatesOf } from "./wording.ts";

const firstLine = (written: Parameters<typeof templatesOf>[0], changes = [change()]) =>
  plainLines(render(inWordsOf(message(changes), written)))[0];

describe("a title", () => {
  test("follows the lead", () => {
    expect(firstLine({ title: "{{ alert.symbol }} of {{ alert.wallet }}" })).toBe(
      "FIRING critical: SOL of main",
    );
  });

  test("that contains the lead, anywhere, is the whole line", () => {
    expect(firstLine({ title: "{{ alert.symbol }}: {{ alert.lead }}" })).toBe("SOL: FIRING critical");
  });

  test("of one kind is the whole line, and takes precedence over the general one", () => {
    const written = { title: "any", fired: { title: "Look at {{ alert.symbol }}" } };
    expect(firstLine(written)).toBe("Look at SOL");
    expect(firstLine(written, [change("reminder")])).toBe("STILL FIRING critical: any");
  });

  test("never hides that an alert is a drill", () => {
    expect(firstLine({ fired: { title: "Look" } }, [change("fired", { drill: true })])).toBe("DRILL: Look");
  });

  test("is one line, whatever is in it", () => {
    expect(firstLine({ title: "a\n{{ alert.summary }}" }, [change("fired", { summary: "b\nc" })])).toBe(
      "FIRING critical: a b c",
    );
  });

  test("that is empty, or has only unknown values, leaves the default text", () => {
    const usual = "FIRING critical: main: SOL long is 4.2 % from liquidation";
    expect(firstLine({ title: "{{ position.size }} {{ alert.labels.desk }}" })).toBe(usual);
  });

  test("names each of several alerts", () => {
    const two = [change("fired", { id: 1, symbol: "SOL" }), change("fired", { id: 2, symbol: "BTC" })];
    const lines = plainLines(render(inWordsOf(message(two), { title: "{{ alert.symbol }}!" })));
    expect(lines[0]).toBe("FIRING critical: SOL! (+1 more alert)");
    expect(lines).toContain("FIRING critical #1: SOL!");
    expect(lines).toContain("FIRING critical #2: BTC!");
    const bare = plainLines(render(inWordsOf(message(two), { fired: { title: "{{ alert.symbol }}!" } })));
    expect(bare[0]).toBe("SOL! (+1 more alert)");
    expect(bare).toContain("#2: BTC!");
  });
});

describe("a body", () => {
  test("replaces description, figures, times and what to do; link, number and footer stay", () => {
    const sent = inWordsOf(message(), {
      body: 'Mark {{ alert.details["Mark price"] }}\n{{ alert.freshness }}',
    });
    expect(plainLines(render(sent))).toEqual([
      "FIRING critical: main: SOL long is 4.2 % from liquidation",
      "",
      "Mark $132.10",
      "Seen 2026-11-21 03:41:18 UTC, on data 2s old.",
      "What to do: https://runbooks.example.org/liquidation",
      "Alert #42, rule LiquidationNear",
      "",
      `perpwatch on nuc · ${sent.id}`,
    ]);
  });

  test("may contain the default parts", () => {
    const parts = "{{ alert.description }}\n{{ alert.figures }}\n{{ alert.freshness }}\n{{ alert.whatNow }}";
    const usual = message();
    expect(plainLines(render(inWordsOf(usual, { body: parts })))).toEqual(plainLines(render(usual)));
  });

  test("shows times in the channel's zone, and ages relative to its finalization", () => {
    const sent = message([change()], { sealedAtMs: atMs + 90_000 });
    const options = { timezone: "Asia/Tokyo" };
    const body = inWordsOf(sent, { body: "{{ alert.at }}, {{ ago(alert.at) }}, {{ ago(now) }}" }, options);
    expect(render(body, options).blocks[0]!.description).toBe(
      "2026-11-21 12:41:18 GMT+9, 1m 30s ago, just now",
    );
  });

  test("has the facts recorded when the message became pending", () => {
    const facts = { position: { markPrice: 86.428, notional: 1e5 }, market: { tickSize: 0.01 } };
    const sent = inWordsOf(message([change("fired", {}, { facts })]), {
      body: "{{ price(position.markPrice) }} {{ usd(position.notional) }} {{ percent(alert.value) }} {{ trader.equity }}",
    });
    expect(render(sent).blocks[0]!.description).toBe("$86.43 $100,000 4.2% –");
  });
});

test.each([
  ["event", "fired", { event: true }],
  ["fired", "fired", {}],
  ["rose", "rose", {}],
  ["fell", "fell", {}],
  ["worsened", "worsened", {}],
  ["changed", "changed", {}],
  ["reminder", "reminder", {}],
  ["escalated", "escalated", {}],
  ["escalated", "escalated", { event: true }],
  ["acknowledged", "acknowledged", {}],
  ["resolved", "ended", { ending: "recovered" }],
  ["ended", "ended", { ending: "liquidated" }],
] as const)("%s is the template of an alert that %s", (kind, how: AlertChangeKind, parts) => {
  expect(templateKindOf(change(how, parts))).toBe(kind);
  expect(firstLine({ [kind]: { title: "Told so" } }, [change(how, parts)])).toBe("Told so");
  const others = Object.fromEntries(
    templateKinds.filter((one) => one !== kind).map((one) => [one, { title: "No" }]),
  );
  expect(firstLine(others, [change(how, parts)])).not.toBe("No");
});

describe("a failing template does not stop a message", () => {
  const failing = {
    text: "",
    leads: false,
    words: () => {
      throw new Error("no way");
    },
  };

  test("the default text is sent, and the reason is reported", () => {
    const faults: string[] = [];
    const sent = message();
    const { body } = templatesOf({ body: "mine" }).all;
    const told = applyTemplates(sent, { all: { title: failing, body: body! }, byKind: {} }, {}, (detail) =>
      faults.push(detail),
    );
    expect(faults).toEqual(["the title of fired: no way"]);
    expect(plainLines(render(told)).slice(0, 3)).toEqual([
      "FIRING critical: main: SOL long is 4.2 % from liquidation",
      "",
      "mine",
    ]);
  });

  test("a digest and a test have their own text", () => {
    for (const content of [
      { kind: "test", title: "Test" },
      { kind: "digest", title: "Today" },
    ] satisfies Partial<MessageContent>[]) {
      const sent = message([], { content });
      expect(inWordsOf(sent, { title: "mine", body: "mine" })).toBe(sent);
    }
    const sent = message();
    expect(applyTemplates(sent, undefined, {}, () => {})).toBe(sent);
  });
});

const unseen = (text: string) =>
  ["\u202e", "\u0007", "\u001b"].filter((character) => text.includes(character));

/** Everything that a symbol, a rule's text or a notice of the exchange might try. */
const hostile =
  "@everyone **b** <!channel> <b>x</b> [a](https://evil.example) `c` \u202e\u0007# {{ alert.id }}";
const markup = {
  title: "**{{ alert.symbol }}**",
  body: "__{{ alert.symbol }}__\n> <b>own</b> {{ alert.symbol }}",
};
const attacked = () => inWordsOf(message([change("fired", { symbol: hostile })]), markup);

describe("values are data, on every channel", () => {
  test("Discord: the author's markup counts, that of values does not", () => {
    const { content, embeds, allowed_mentions } = discordBody(render(attacked()), null);
    expect(content).toMatch(
      /^🔴 \*\*FIRING critical:\*\* \*\*@\u200beveryone \\\*\\\*b\\\*\\\* \\<!channel>/,
    );
    expect(embeds[0]!.description).toMatch(/^__@\u200beveryone /);
    expect(embeds[0]!.description).toContain("\n> <b>own</b> @\u200beveryone");
    expect(allowed_mentions).toEqual({ parse: [] });
    for (const text of [content, embeds[0]!.description!]) {
      expect(text).not.toContain("https://");
      expect(text).not.toContain("[a](");
      expect(text).not.toContain("@everyone");
      expect(unseen(text)).toEqual([]);
      // A value is not evaluated as a template.
      expect(text).toContain("{{ alert.id }}");
    }
    expect(plainBodies(render(attacked()), null)[0]!.content).not.toContain("@everyone");
  });

  test("mail: text is text, of author and values", () => {
    const { html, text, subject } = mailParts(render(attacked()));
    expect(html).not.toMatch(/<b>/);
    expect(html).toContain("&lt;b&gt;own&lt;/b&gt;");
    expect(text).toContain("<b>own</b>");
    expect(unseen(subject + text + html)).toEqual([]);
    expect(subject).not.toContain("\n");
  });

  test("console: nothing draws", () => {
    expect(unseen(consoleText(render(attacked()), false))).toEqual([]);
  });

  test("programs get the text in their fields, and the figures as before", () => {
    const sent = inWordsOf(message(), { title: "T {{ alert.symbol }}", body: "B" });
    expect(documentOf(sent, {})).toMatchObject({
      title: "FIRING critical: T SOL",
      alerts: [
        { summary: "T SOL", description: "B", lead: "FIRING critical", figures: { "Mark price": "$132.10" } },
      ],
    });
  });
});

test("whatever a value is, it stays a value on every channel, within its room", () => {
  const dangerous = fc.constantFrom(
    "@",
    "everyone",
    "://",
    "](",
    "<",
    "!here>",
    "&",
    "*",
    "_",
    "~",
    "`",
    "\\",
    "{{",
    "#",
    "\n",
    "x",
  );
  const text = fc.oneof(
    fc.array(dangerous, { maxLength: 40 }).map((parts) => parts.join("")),
    fc.string({ unit: "binary" }),
  );
  const written = {
    title: "<@1> {{ alert.symbol }}{{ alert.rule }}!",
    body: "**{{ alert.rule }}**{{ alert.symbol }} {{ usd(alert.value) }}",
  };
  fc.assert(
    fc.property(text, text, fc.double(), fc.integer({ min: 1, max: 12 }), (symbol, rule, value, count) => {
      const changes = Array.from({ length: count }, (_, i) =>
        change("fired", { id: i + 1, symbol, rule, value }),
      );
      const rendering = render(inWordsOf(message(changes), written));
      const { content, embeds, allowed_mentions } = discordBody(rendering, null);
      expect(allowed_mentions).toEqual({ parse: [] });
      for (const shown of [
        content,
        ...embeds.flatMap(({ title = "", description = "" }) => [title, description]),
      ]) {
        expect(shown).not.toMatch(/@(everyone|here)|:\/\/|(?<!\\)\]\(/);
        expect(shown.isWellFormed()).toBe(true);
      }
      const { html } = mailParts(rendering);
      expect(
        html.match(
          /<(?!\/?(?:!doctype|html|head|meta|title|style|body|div|table|tr|td|h1|h2|p|span|a|br)\b)/g,
        ),
      ).toBeNull();
    }),
    { numRuns: 150 },
  );
});

describe("limits hold", () => {
  const long = {
    title: "T{{ alert.summary }}".repeat(9),
    body: `${"**own** ".repeat(400)}{{ alert.description }}`,
  };
  const parts = { summary: "[s]".repeat(400), description: "<d>".repeat(2_000) };
  const sizes = ({ content, embeds }: ReturnType<typeof discordBody>) => {
    expect(content.length).toBeLessThanOrEqual(2_000);
    let all = 0;
    for (const { title = "", description = "", fields = [], footer } of embeds) {
      expect(title.length).toBeLessThanOrEqual(256);
      expect(description.length).toBeLessThanOrEqual(4_096);
      const text = [
        title,
        description,
        footer?.text ?? "",
        ...fields.flatMap(({ name, value }) => [name, value]),
      ];
      all += text.join("").length;
    }
    expect(all).toBeLessThanOrEqual(6_000);
  };

  test.each([1, 2, 9, 10, 40])("on Discord, with %d alerts", (count) => {
    const changes = Array.from({ length: count }, (_, i) => change("fired", { id: i + 1, ...parts }));
    const sent = render(inWordsOf(message(changes), long));
    sizes(discordBody(sent, "<@&123456789012345678>"));
    for (const body of plainBodies(sent, null)) sizes(body);
    sizes(endedBody(sent, [{ alertId: 1, words: "RESOLVED 2026-11-21 03:41:18 UTC", tone: "good" }]));
  });

  test("a mail stays below what programs show whole, with 50 of the longest", () => {
    const changes = Array.from({ length: 50 }, (_, i) => change("fired", { id: i + 1, ...parts }));
    const { html, subject } = mailParts(render(inWordsOf(message(changes), long)));
    expect(Buffer.byteLength(html)).toBeLessThan(102_000);
    expect(subject.length).toBeLessThanOrEqual(160);
  });
});
