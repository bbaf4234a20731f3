/** Templates of channels: read with the configuration; each mistake is reported at its place. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is the configuration's own syntax.
import { expect, test } from "vitest";
import { appliedKeys } from "../../src/cli/reload-text.ts";
import { formatConfigProblem, settingsFromText } from "../../src/daemon/settings.ts";
import { type ConfigFolder, configFolder, rest } from "./config-folder.ts";

const env = { HOME: "/nowhere", HELD: "secret-word {{ alert.secretword }}", GOOD: "{{ alert.rule }}" };
const others = rest.split("\n").filter((line) => !line.startsWith("channels:"));

function read(at: ConfigFolder, channels: string) {
  const text = `channels:\n${channels}${others.join("\n")}`;
  return settingsFromText(text, { file: "config.yaml", folder: at.path, env });
}

function good(at: ConfigFolder, channels: string) {
  const result = read(at, channels);
  if ("problems" in result) throw new Error(result.problems.map(formatConfigProblem).join("\n"));
  return result.settings;
}

test("every mistake is reported at once, with line, column and a suggestion", () => {
  using at = configFolder();
  const result = read(
    at,
    `  here:
    type: console
    templates:
      title: "{{ alert.rul }} and {{ alrt.rule }}"
      body: |
        First {{ alert.symbol }},
        then {{ usd(alert.symbol) }}
        and {{ us(alert.value) }}
      fired: { title: 'it''s {{ alert.sevrity }}' }
      resolved: { titel: x }
      finished: { title: x }
      rose: { body: "" }
      fell: { body: "{{ alert.rule" }
      ended: text
  chat:
    type: console
    templates: { body: "{{ [1].map(i, i) }}", titles: x }
`,
  );
  const told = "problems" in result ? result.problems : [];
  expect(
    told.map(
      ({ line, column, path, message, nearest }) =>
        `${line}:${column} ${path}: ${message}${nearest ? ` ~ ${nearest}` : ""}`,
    ),
  ).toEqual([
    "5:24 channels.here.templates.title: unknown field alert.rul ~ rule",
    "5:38 channels.here.templates.title: unknown name alrt ~ alert",
    "8:17 channels.here.templates.body: usd takes a number; found text",
    "9:16 channels.here.templates.body: unknown function us ~ usd",
    "10:39 channels.here.templates.fired.title: unknown field alert.sevrity ~ severity",
    "11:19 channels.here.templates.resolved.titel: unknown key titel ~ title",
    "12:7 channels.here.templates.finished: unknown key finished",
    "13:21 channels.here.templates.rose.body: expected a text, found an empty text",
    "14:22 channels.here.templates.fell.body: `{{` is never closed by `}}`",
    '15:14 channels.here.templates.ended: expected a mapping (key: value), found "text"',
    "18:28 channels.chat.templates.body: map is a loop: messages have none",
    "18:47 channels.chat.templates.titles: unknown key titles ~ title",
  ]);
});

test("a template applies to its channel; the channel itself is the same without it", () => {
  using at = configFolder();
  const plain = good(at, "  here: { type: console }\n  chat: { type: console }\n");
  const own = good(
    at,
    `  here: { type: console, templates: { title: "{{ alert.symbol }} {{ usd(trader.equity) }}", ended: { body: "{{ position.size }}" } } }
  chat: { type: console, templates: { resolved: { title: "\${GOOD}" } } }
`,
  );
  expect(own.channels).toEqual(plain.channels);
  expect(plain.templates).toEqual({ channels: {}, named: [] });
  expect(own.templates.named).toEqual([
    { owner: "trader", field: "equity" },
    { owner: "position", field: "size" },
    // The digits of prices.
    { owner: "market", field: "tickSize" },
  ]);
  expect(own.templates.channels).toMatchObject({
    here: {
      all: { title: { text: "{{ alert.symbol }} {{ usd(trader.equity) }}" } },
      byKind: { ended: { body: {} } },
    },
    chat: { all: {}, byKind: { resolved: { title: { text: "{{ alert.rule }}" } } } },
  });
  expect(appliedKeys(plain, own)).toEqual(["channels.here.templates (new)", "channels.chat.templates (new)"]);
  expect(appliedKeys(own, good(at, "  here: { type: console }\n  chat: { type: console }\n"))).toEqual([
    "channels.here.templates (gone)",
    "channels.chat.templates (gone)",
  ]);
});

test("nothing that came from the environment is repeated", () => {
  using at = configFolder();
  const result = read(at, '  here: { type: console, templates: { title: "${HELD}" } }\n');
  const told = "problems" in result ? result.problems : [];
  expect(told.map(({ message, nearest, allowed }) => [message, nearest, allowed])).toEqual([
    ["what the environment holds for it is no template: write it here", null, []],
  ]);
});
