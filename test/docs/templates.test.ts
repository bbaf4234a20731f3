/** docs/templates.md is made from the vocabulary, says what that says now, and its example is valid as it stands. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { templateKinds } from "../../src/channels/message/template.ts";
import { printers, templatesMarkdown } from "../../src/cli/commands/channels/reference.ts";
import { sampleFacts } from "../../src/cli/commands/channels/sample.ts";
import { formatConfigProblem, settingsFromText } from "../../src/daemon/settings.ts";
import { compileMessageTemplate, functionRows, messageVocabulary } from "../../src/rules/index.ts";
import { configFolder, rest } from "../config/config-folder.ts";

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
const written = read("docs/templates.md");
const blocks = (page: string) => [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text!);

test("the page is current (npm run docs writes it anew)", () => {
  expect(written).toBe(templatesMarkdown());
});

test("it tells every field of alert and message, every step, and every formatter", () => {
  const section = (title: string) => written.split(`\n### ${title}\n`)[1]?.split("\n#")[0] ?? "";
  for (const owner of ["alert", "message"])
    for (const { name } of messageVocabulary[owner]!) expect(section(owner)).toContain(`| \`${name}\` |`);
  for (const owner of Object.keys(messageVocabulary))
    if (owner !== "alert" && owner !== "message") expect(section("Of rules")).toContain(`\`${owner}\``);
  for (const kind of templateKinds) expect(written).toContain(`| \`${kind}\` |`);
  for (const { group, name } of functionRows)
    if (group === "printing" && name !== "market")
      expect(
        printers().some(({ form }) => form.startsWith(`${name}(`)),
        name,
      ).toBe(true);
});

describe.each(["docs/templates.md", "README.md"])("examples in %s", (page) => {
  const examples = blocks(read(page)).filter((text) => text.includes("templates:"));

  test("are valid as they stand", () => {
    expect(examples.length).toBeGreaterThan(0);
    using at = configFolder();
    at.write("discord.url", `https://discord.com/api/webhooks/123456789012345678/${"w".repeat(20)}`);
    for (const text of examples) {
      const whole = text + rest.replace(/^channels.*$/m, "");
      const result = settingsFromText(whole, { file: page, folder: at.path, env: {} });
      if ("problems" in result) throw new Error(result.problems.map(formatConfigProblem).join("\n"));
      expect(Object.keys(result.settings.templates.channels)).toEqual(Object.keys(parse(text).channels));
    }
  });
});

test("a preview knows something for every field that can be named", () => {
  const facts = sampleFacts();
  for (const [owner, fields] of Object.entries(messageVocabulary)) {
    if (owner === "alert" || owner === "message") continue;
    for (const { name, type } of fields) {
      if (type === "texts" || type === "numbers") continue;
      const template = compileMessageTemplate(`{{ ${owner}.${name} }}`, 300, "UTC", ({ message }) => {
        throw new Error(message);
      })!;
      const [part] = template.words({ atMs: 0, facts });
      expect(part, `${owner}.${name}`).not.toEqual({ value: "–" });
    }
  }
});
