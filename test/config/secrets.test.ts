/** No output repeats a secret, wherever it is in the configuration and whatever mistakes surround it. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is the configuration's own syntax.
import { inspect } from "node:util";
import { base58 } from "@scure/base";
import { expect, test } from "vitest";
import { formatConfigProblem, settingsFromText } from "../../src/daemon/settings.ts";
import { exampleSeed, leaks } from "../wallet/example.ts";
import { type ConfigFolder, configFolder, rest } from "./config-folder.ts";

const word = "correct-horse-battery";
const key = base58.encode(exampleSeed);
const env = { WORD: word, KEY: key };

function output(text: string, at: ConfigFolder): string {
  const result = settingsFromText(text, { file: "config.yaml", folder: at.path, env });
  return "problems" in result
    ? `${result.problems.map(formatConfigProblem).join("\n")}\n${inspect(result, { depth: 9 })}`
    : `settings\n${JSON.stringify(result.warnings)}\n${inspect(result.settings.wallets)}${JSON.stringify(result.settings.wallets)}${result.settings.ruleSetText}`;
}

/** `@` is replaced by the secret: as it is, as a variable, and in quotes. */
const places = [
  "channels: { chat: { type: discord, token: @, channelId: 1 } }",
  "channels: { chat: { type: discord, token: [@], channelId: 1 } }",
  "channels: { chat: { type: discord, token: { a: @ }, channelId: 1 } }",
  "channels: { chat: { type: discord, webhookUrl: @ } }",
  "channels: { chat: { type: discord, webhookUrl: https://host/@ } }",
  "channels: { mail: { type: email, smtp: { host: h, user: u, password: @, port: 0 } } }",
  "channels: { mail: { type: email, smtp: { password: @ ]",
  "channels:\n  mail:\n   smtp:\n  password: @\n x: y",
  "channels:\n  mail:\n    smtp: &@\n",
  "channels:\n  mail:\n    smtp: *@\n",
  "channels:\n  mail:\n    smtp: !@ x\n",
  "wallets: [{ name: x, secret: @, keyDir: x }]",
  "wallets: [{ name: x, secret: @@ }]",
  "wallets: [{ name: x, secret: @, login: x }]",
  // A URL may contain a password or a key in any part, also where none belongs.
  "exchange: { baseUrl: https://h/@ }",
  "exchange: { baseUrl: https://h/v1?k=@ }",
  "exchange: { baseUrl: 'h://@' }",
  "dashboard: { listen: https://h/@ }",
  "channels: { chat: { type: telegram, token: 1:x, chatId: 1, apiUrl: http://h/@ } }",
  "heartbeat: { url: http://h/@ }",
];
/** Only values of the environment are known to be secret here. */
const elsewhere = [
  "timezone: @",
  "exchange: { baseUrl: https://@:@host/v1?@, requestsPerSecond: @ }",
  "schedules: { markets: { every: @ }, pnl: { cron: '@ * * * *' }, funding: @ }",
  "history: { path: @, retention: { samples: @ } }",
  "dashboard: { listen: @ }",
  "rules: [@, './@/*.yaml', 'shipped:@']",
  "ruleOverrides: { Far: { for: @, when: @, severity: @, summary: '{{ @ }}' } }",
  "routing: { receivers: [@], routes: [{ match: { severity: @, wallet: [@] }, receivers: @ }] }",
  "remind: { critical: { every: @ }, warning: @, worseBy: @ }",
  "acknowledge: { notifications: @, types: { a: @ } }",
  "mention: { critical: @ }",
  "channels: { chat: { type: @ } }",
  "channels: { mail: { type: email, from: @, to: [@, a@b], smtp: { host: @, port: @, secure: @ } } }",
  "channels: { chat: { type: discord, tokenFile: @, channelId: @ } }",
  "wallets: [{ name: @, authority: @ }, { name: y, keyFile: @ }, { keyDir: @ }, { name: z, login: @, secret: x }]",
  "walletDefaults: { labels: { a: [@] }, limits: { a: @ }, accounts: @, login: @ }",
];

const forms = [
  (secret: string) => secret,
  (secret: string) => `"${secret}"`,
  (secret: string) => `'${secret}'`,
];
const cases = [
  ...places.flatMap((place) =>
    [word, key, "${WORD}", "${KEY}"].flatMap((secret) =>
      forms.map((form) => place.replaceAll("@", form(secret))),
    ),
  ),
  ...elsewhere.flatMap((place) => ["${WORD}", "${KEY}"].map((secret) => place.replaceAll("@", secret))),
];

test.each(cases.map((text) => [text.replaceAll(word, "WORD").replaceAll(key, "KEY"), text]))(
  "%s",
  (_shown, text) => {
    using at = configFolder();
    const own = new Set([...text.matchAll(/^(\w+):/gm)].map(([, section]) => section));
    const missing = rest.split("\n").filter((line) => !own.has(line.split(":")[0]));
    const told = output(`${text}\n${missing.join("\n")}`, at);
    expect(told.length).toBeGreaterThan(10);
    expect(told).not.toContain(word);
    expect(leaks(told)).toEqual([]);
  },
);

test("a password in an address is not repeated", () => {
  using at = configFolder();
  const told = output(`exchange: { baseUrl: "https://me:${word}@exchange.example" }\n${rest}`, at);
  expect(told).toContain('may not hold a user name or password, found "https://…@exchange.example"');
  expect(leaks(told)).toEqual([]);
});

test("a key that contains its secret is not repeated", () => {
  using at = configFolder();
  for (const text of [
    `channels: { chat: { type: discord, token:${word} } }${rest.replace(/^channels.*$/m, "")}`,
    `channels: { chat: { type: discord, "${key}": x } }${rest.replace(/^channels.*$/m, "")}`,
    `"${key}": 3${rest}`,
  ]) {
    const told = output(text, at);
    expect(told).toContain("unknown");
    expect(told).not.toContain(word);
    expect(leaks(told)).toEqual([]);
  }
});
