/**
 * README's section on rules, as people use it: what it says to write is written, what it says to type is typed, beside a
 * daemon that watches a simulated exchange; and its table tells every pack and every rule.
 */
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { startSimulator } from "../../src/simulator/index.ts";
import { desk, run } from "../cli/run.ts";
import { startProgram } from "../support/program.ts";

const root = path.join(import.meta.dirname, "..", "..");
const readme = readFileSync(path.join(root, "README.md"), "utf8");
const section = readme.split("\n## Rules\n")[1]!.split("\n## ")[0]!;

/** Blocks of a language, without the indentation of the list that they stand in. */
function blocks(language: string): readonly string[] {
  const found = section.matchAll(new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\``, "gm"));
  return [...found].map(([, indent, text]) => text!.replaceAll(new RegExp(`^${indent}`, "gm"), ""));
}

test("the table tells every pack and each of its rules", () => {
  const rows = new Map(
    [...section.split("\n### ")[0]!.matchAll(/^\| `([a-z-]+)` \|.*?\|(.*?)\|/gm)].map(([, pack, rules]) => [
      pack!,
      rules!.trim(),
    ]),
  );
  const folder = path.join(root, "rules");
  const packs = readdirSync(folder).filter((name) => /^[a-z-]+\.yaml$/.test(name));
  expect([...rows.keys()].sort()).toEqual(packs.map((name) => name.slice(0, -".yaml".length)).sort());
  for (const name of packs) {
    const text = readFileSync(path.join(folder, name), "utf8");
    const rules = [...text.matchAll(/^ {2}- name: (\w+)/gm)].map(([, rule]) => rule).sort();
    expect(rows.get(name.slice(0, -".yaml".length))!.split(", ").sort(), name).toEqual(rules);
  }
});

test("a rule in a minute, by copy and paste", async () => {
  using at = desk();
  const simulator = await startSimulator({ port: 0, traders: 2, keysDir: path.join(at.folder, "keys") });
  try {
    mkdirSync(path.join(at.folder, "my-rules"));
    symlinkSync(path.join(root, "rules"), path.join(at.folder, "rules"));
    const [trader, other] = simulator.traders;
    let config = [
      `exchange: { baseUrl: ${simulator.url} }`,
      `wallets: [{ name: main, keyFile: ${trader!.keyFile} }, { name: hedge, authority: ${other!.authority} }]`,
      "channels: { here: { type: console } }",
      "history: { path: ./perpwatch.db }",
      "dashboard: { listen: off }",
      "",
    ].join("\n");
    const written: string[] = [];
    for (const text of blocks("yaml")) {
      const name = /^# (\S+\.yaml)\n/.exec(text)?.[1];
      if (name === "config.yaml" || /^ruleOverrides:/.test(text)) config += text;
      else if (name !== undefined) at.write(name, text);
      if (name !== undefined) written.push(name);
    }
    expect(written).toEqual([
      "my-rules/margin-mine.yaml",
      "my-rules/margin-mine.test.yaml",
      "config.yaml",
      "config.yaml",
    ]);
    at.write("config.yaml", config);
    // Word that the account was read.
    at.write(
      "my-rules/seen.yaml",
      'rules: [{ name: Seen, scope: trader, when: trader.equity > 0, severity: info, summary: "seen {{ wallet.name }}" }]\n',
    );
    await using daemon = startProgram(["start"], { folder: at.folder });
    await daemon.line((line) => line.includes("seen main"));

    const lines = blocks("sh").flatMap((text) => text.trim().split("\n"));
    const printed: Record<string, string> = {};
    for (const line of lines) {
      const words = line.replace(/ +#.*/, "").split(" ");
      expect(words.shift()).toBe("perpwatch");
      const { status, stdout, stderr } = await run(words, at);
      expect({ line, status, stderr }).toEqual({ line, status: 0, stderr: "" });
      printed[words[1]!] = stdout;
    }
    expect(Object.keys(printed).sort()).toEqual(["backtest", "check", "explain", "shadow", "test"]);
    expect(printed.test).toContain("2 tests in 1 file: all passed.");
    expect(printed.explain).toContain("it runs in shadow mode");
    expect(readFileSync(path.join(at.folder, "picture.svg"), "utf8")).toContain("<svg");
  } finally {
    await simulator.stop();
  }
}, 120_000);
