/** config.example.yaml is valid as it is and with every setting enabled, and states the defaults. */
import fs from "node:fs";
import { expect, test } from "vitest";
import { type DaemonSettings, formatConfigProblem, settingsFromText } from "../../src/daemon/settings.ts";
import { type ConfigFolder, configFolder, rest } from "./config-folder.ts";

const example = fs.readFileSync(new URL("../../config.example.yaml", import.meta.url), "utf8");
/** A disabled setting has no space after its #, a sentence has one. */
const switchedOn = example.replace(/^( *)#(?=[^ #\n])/gm, "$1");

const env = {
  DISCORD_TOKEN: "t".repeat(30),
  DISCORD_WEBHOOK_URL: `https://discord.com/api/webhooks/123456789012345678/${"w".repeat(20)}`,
  SMTP_PASSWORD: "secret",
  SLACK_TOKEN: "xoxb-0123456789-abcdef",
  SLACK_APP_TOKEN: "xapp-1-A1-0123456789",
  PUSHOVER_TOKEN: "a".repeat(30),
  PUSHOVER_USER_KEY: "u".repeat(30),
  TELEGRAM_TOKEN: `123456789:${"t".repeat(35)}`,
  PAGERDUTY_KEY: "k".repeat(32),
  WEBHOOK_SECRET: "s".repeat(24),
  HEARTBEAT_URL: "https://hc.example.org/abc",
  HEARTBEAT_FAIL_URL: "https://hc.example.org/abc/fail",
};

function read(text: string, at: ConfigFolder): { settings: DaemonSettings; warnings: readonly unknown[] } {
  const result = settingsFromText(text, { file: "config.yaml", folder: at.path, env });
  if ("problems" in result) throw new Error(result.problems.map(formatConfigProblem).join("\n"));
  return result;
}

test("as it stands, it needs a key file and nothing else", () => {
  using at = configFolder();
  at.key("keys/main.json", 1);
  const { settings, warnings } = read(example, at);
  expect(warnings).toEqual([]);
  expect(settings.wallets.map((wallet) => wallet.name)).toEqual(["main"]);
  expect(Object.keys(settings.channels)).toEqual(["here"]);
});

test("the stated defaults are the defaults", () => {
  using at = configFolder();
  at.key("keys/main.json", 1);
  const usual = read(rest.replace(/^rules.*$/m, ""), at).settings;
  const { wallets, ruleSetText, ruleTexts, acknowledge, ...shown } = read(example, at).settings;
  expect({ ...usual, ...shown, ruleSet: usual.ruleSet }).toEqual(usual);
  expect(shown.ruleSet.conditions.map(({ fingerprint }) => fingerprint)).toEqual(
    usual.ruleSet.conditions.map(({ fingerprint }) => fingerprint),
  );
  expect({ ...acknowledge, types: {} }).toEqual(usual.acknowledge);
  expect(wallets[0]).toMatchObject({ login: "message", pdaIndices: [0] });
  expect(ruleSetText).not.toBe("");
  expect(ruleTexts.files).toEqual(usual.ruleTexts.files);
});

test("with everything enabled, it is valid too", () => {
  using at = configFolder();
  at.key("keys/main.json", 1);
  at.key("keys/desk/a.json", 2);
  at.keystore("keystore.json", ["8Xk4b2nUo7QwqVf3mT1pZr6cYh5dLs9eJg2aNu4iRt7K"]);
  at.write("page-password", `scrypt$32768$8$3$${"A".repeat(22)}$${"B".repeat(43)}\n`);
  at.write("my-rules/own.yaml", fs.readFileSync(at.file("own.yaml")));
  const { settings } = read(switchedOn, at);
  expect(switchedOn).not.toBe(example);
  expect(Object.keys(settings.channels)).toEqual([
    "here",
    "chat",
    "hook",
    "mail",
    "log",
    "slack",
    "phone",
    "push",
    "alarm",
    "oncall",
    "am",
    "program",
    "script",
    "duty",
  ]);
  expect(settings.wallets.map((wallet) => wallet.name)).toEqual(["main", "watched", "treasury", "a"]);
  expect(settings.ruleSet.conditions.map((rule) => rule.name)).not.toContain("MarginHigh");
  expect(settings).toMatchObject({
    mention: { critical: "@here" },
    acknowledge: { types: { liquidation: "whenAcknowledged" } },
    routing: {
      routes: [{ match: { severity: { in: ["critical"] } } }, { match: { desk: { in: ["alpha"] } } }],
    },
  });
});

test("it holds no secret of its own", () => {
  const secrets = example.match(/(token|password|webhookUrl|secret): (?!\$\{)\S+/g) ?? [];
  expect(secrets.filter((one) => !one.includes("…"))).toEqual([]);
});
