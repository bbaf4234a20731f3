/** Templates of channels: what they print, and what is refused when they are read. */
import { describe, expect, test } from "vitest";
import { flat, type TemplateFacts, type WordedText } from "../../src/domain/alerts/template-data.ts";
import {
  compileMessageTemplate,
  type Field,
  factReader,
  functionRows,
  messageVocabulary,
} from "../../src/rules/index.ts";
import { env, facts, nowMs, scheduleMs } from "./kit.ts";

interface Told {
  readonly start: number;
  readonly message: string;
  readonly nearest?: string | null;
}

function compiled(text: string, longest = 300, timezone = "UTC") {
  const problems: Told[] = [];
  const template = compileMessageTemplate(text, longest, timezone, (problem) => problems.push(problem));
  return { template, problems };
}

function words(text: string, given: TemplateFacts, longest = 300, timezone = "UTC"): WordedText {
  const { template, problems } = compiled(text, longest, timezone);
  expect(problems).toEqual([]);
  return template!.words({ atMs: nowMs, facts: given });
}

describe("print", () => {
  test.each([
    ["{{ alert.rule }} on {{ alert.symbol }}", { alert: { rule: "Near", symbol: "SOL" } }, "Near on SOL"],
    ["{{ usd(position.notional) }}", { position: { notional: 1234.5 } }, "$1,234.50"],
    ["{{ percent(alert.value) }}", { alert: { value: 0.0812 } }, "8.12%"],
    ["{{ duration(alert.lasted) }}", { alert: { lasted: 150_000 } }, "2m 30s"],
    ["{{ alert.lasted }}", { alert: { lasted: 150_000 } }, "2m 30s"],
    ["{{ ago(alert.firedAt) }}", { alert: { firedAt: nowMs - 723_000 } }, "12m 3s ago"],
    [
      "{{ price(position.markPrice) }}",
      { position: { markPrice: 86.428 }, market: { tickSize: 0.01 } },
      "$86.43",
    ],
    ["{{ position.markPrice }}", { position: { markPrice: 86.428 }, market: { tickSize: 0.01 } }, "$86.43"],
    ["{{ price(position.markPrice) }}", { position: { markPrice: 86.428 } }, "$86.428"],
    ["{{ amount(position.size) }}", { position: { size: -180 } }, "-180"],
    ["{{ alert.labels.desk }}", { alert: { labels: { desk: "alpha" } } }, "alpha"],
    ['{{ alert.details["Mark price"] }}', { alert: { details: { "Mark price": "$1.00" } } }, "$1.00"],
    ['{{ alert.severity == "critical" ? "NOW: " : "" }}x', { alert: { severity: "critical" } }, "NOW: x"],
    ['a{{ has(alert.symbol) ? " of " + alert.symbol : "" }}', { alert: {} }, "a"],
    ["{{ alert.symbol }}{{ position.size }}{{ alert.labels.desk }}", {}, "–––"],
    ["{{ alert.drill }}", { alert: { drill: false } }, "no"],
    ["{{ event.price }} {{ event.side }}", { event: { price: 12.5, side: "bid" } }, "$12.50 bid"],
    ["  \n{{ alert.rule }}\n  ", { alert: { rule: "R" } }, "R"],
  ] satisfies [string, TemplateFacts, string][])("%s", (text, given, wanted) => {
    expect(flat(words(text, given))).toBe(wanted);
  });

  test("times in the configured zone", () => {
    expect(flat(words("{{ alert.at }}", { alert: { at: nowMs } }, 300, "Asia/Tokyo"))).toBe(
      "2026-01-05 21:00:00 GMT+9",
    );
  });

  test("what its author wrote stays apart from what others wrote, and neighbours of one kind are one", () => {
    const given = { alert: { rule: "https:", symbol: "//evil.example" } };
    expect(words("**{{ alert.rule }}{{ alert.symbol }}**!", given)).toEqual([
      { own: "**" },
      { value: "https://evil.example" },
      { own: "**!" },
    ]);
  });

  test("control characters and marks that turn text around are shown as escapes, from either side", () => {
    const given = { alert: { rule: "a\u0007\u001b[31m\u202eb" } };
    expect(flat(words("x\u0007{{ alert.rule }}", given))).toBe(String.raw`x\u0007a\u0007\u001b[31m\u202eb`);
  });

  test("never longer than their bound, however long what they print is", () => {
    const long = { alert: { rule: "🦀".repeat(5_000) } };
    for (const text of [
      "{{ alert.rule }}{{ alert.rule }}",
      "{{ alert.rule }} and much more",
      `${"y".repeat(500)}{{ alert.rule }}`,
    ]) {
      const out = flat(words(text, long, 100));
      expect([...out].length).toBeLessThanOrEqual(100);
      expect(out.endsWith("…")).toBe(true);
    }
  });

  test("a field is read from the data and never from what objects inherit", () => {
    for (const owner of ["alert", "message", "position"])
      expect(
        flat(
          words(
            `{{ ${owner}.${messageVocabulary[owner]![0]!.name} }}`,
            Object.create({ [owner]: { id: "x" } }),
          ),
        ),
      ).toBe("–");
    expect(
      flat(words("{{ alert.labels.constructor }}{{ alert.labels.toString }}", { alert: { labels: {} } })),
    ).toBe("––");
    expect(flat(words('{{ alert.details["__proto__"] }}', { alert: { details: {} } }))).toBe("–");
  });
});

describe("refused, each with its place", () => {
  test.each([
    ["{{ alert.rul }}", 9, "unknown field alert.rul", "rule"],
    ["a {{ alrt.rule }}", 5, "unknown name alrt", "alert"],
    ["{{ usd(alert.rule) }}", 3, "usd takes a number; found text", undefined],
    ["{{ percent(alert.firedAt) }}", 3, "percent takes a number; found a time", undefined],
    ["{{ ago(alert.rule) }}", 3, "ago takes a time, or a duration; found text", undefined],
    ["{{ min(alert.rule, 2) }}", 3, "min takes a number and a number; found text and a number", undefined],
    ["{{ usd(1.0, 2.0) }}", 3, "usd takes a number; found a number and a number", undefined],
    ["{{ usd(1.0 }}", 10, "the expression ends too early: a closing bracket ) is missing", undefined],
    ["{{ usd(1.0] }}", 10, "a closing bracket ) is expected here; found ]", undefined],
    [
      "{{ alert.labels[1.0 }}",
      19,
      "the expression ends too early: a closing bracket ] is missing",
      undefined,
    ],
    ["{{ ) }}", 3, "unexpected )", undefined],
    ["{{ us(alert.value) }}", 3, "unknown function us", "usd"],
    ["{{ alert.rule", 0, "`{{` is never closed by `}}`", undefined],
    ["{{ }}", 3, "the expression ends too early", undefined],
    ["{{ alert }}", 3, "alert is not a value by itself", undefined],
    ["{{ value }}", 3, "`value` belongs to rules: here it is alert.value", "alert.value"],
    ['{{ alert.severity == "fatal" }}', 21, '"fatal" can never be equal to this', undefined],
    ['{{ market("BTC").markPrice }}', 3, "a message knows the market of its alert alone", undefined],
    ['{{ ago("trader.equity", "1h") }}', 3, "ago looks back over series", undefined],
    ["{{ [1, 2].exists(i, i > 1) }}", 3, "exists is a loop: messages have none", undefined],
    ["{{ trader.positions }}", 10, "unknown field trader.positions", undefined],
    ["{{ alert.constructor }}", 9, "unknown field alert.constructor", undefined],
    ["{{ alert.__proto__ }}", 9, "unknown field alert.__proto__", undefined],
    ["{{ constructor.name }}", 3, "unknown name constructor", undefined],
    ["{{ process.env }}", 3, "unknown name process", undefined],
    ["{{ alert.labels }}", 0, "a map cannot be printed", undefined],
    ["x".repeat(4_001), 0, "4001 characters long", undefined],
    ["{{ alert.rule }}".repeat(41), 640, "more than 40 expressions", undefined],
  ])("%s", (text, start, message, nearest) => {
    const { problems } = compiled(text);
    expect(problems).toHaveLength(1);
    expect(problems[0]!.message).toContain(message);
    if (nearest !== undefined) expect(problems[0]!.nearest).toBe(nearest);
    if (!message.includes("cannot be printed")) expect(problems[0]!.start).toBe(start);
  });

  test("all mistakes of one text are told", () => {
    const { problems } = compiled("  {{ alert.rul }} {{ usd(alert.rule) }} {{ nothing }}");
    expect(problems.map(({ start }) => start)).toEqual([11, 21, 43]);
  });
});

test("every field and every printing function can be named", () => {
  const call = (owner: string, { name, type }: Field): string =>
    type === "texts" || type === "numbers" ? `${owner}.${name}.x` : `${owner}.${name}`;
  for (const [owner, fields] of Object.entries(messageVocabulary))
    for (const field of fields) expect(compiled(`{{ ${call(owner, field)} }}`).problems).toEqual([]);
  for (const { group, form } of functionRows)
    if (group === "printing" && !form.startsWith("market("))
      expect(compiled(`{{ ${form} }}`).problems).toEqual([]);
});

describe("what is to be noted down", () => {
  test("is what they name beside the alert and the message, and nothing else", () => {
    const { template } = compiled(
      "{{ alert.rule }} {{ message.id }} {{ usd(trader.equity) }} {{ position.size }}",
    );
    expect(template!.named).toEqual([
      { owner: "trader", field: "equity" },
      { owner: "position", field: "size" },
    ]);
    expect(template!.leads).toBe(false);
    expect(compiled("{{ alert.lead }}").template!.leads).toBe(true);
  });

  test("is read as it is then; what is too old, unknown or not there is left out", () => {
    const read = factReader(
      ["trader.equity", "trader.leverage", "position.size", "event.age", "wallet.labels", "market.bid"].map(
        (path) => {
          const [owner = "", field = ""] = path.split(".");
          return { owner, field };
        },
      ),
      scheduleMs,
    );
    expect(
      read(
        env({
          trader: facts({ equity: 5, leverage: Number.NaN }),
          wallet: facts({ labels: { desk: "a" } }),
          event: facts({ at: nowMs - 1_000 }),
          market: facts({ bid: 3 }, nowMs - 3_600_000),
        }),
      ),
    ).toEqual({ trader: { equity: 5 }, event: { age: 1_000 }, wallet: { labels: { desk: "a" } } });
    expect(read(env())).toBeUndefined();
    expect(factReader([], scheduleMs)(env())).toBeUndefined();
  });
});
