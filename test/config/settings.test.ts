/** The result of a valid configuration: values, keys, rules, and warnings. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is the configuration's own syntax.
import fs from "node:fs";
import path from "node:path";
import { base58 } from "@scure/base";
import { describe, expect, test } from "vitest";
import { scheduleSettings } from "../../src/collect/settings.ts";
import {
  type Environment,
  formatConfigProblem,
  formatConfigWarning,
  readSettings,
  settingsFromText,
} from "../../src/daemon/settings.ts";
import { defaultRetention } from "../../src/history/index.ts";
import { exampleAddress, exampleSeed } from "../wallet/example.ts";
import { authority, type ConfigFolder, configFolder, oneRule, rest } from "./config-folder.ts";

function read(text: string, at: ConfigFolder, env: Environment = {}) {
  const result = settingsFromText(text, { file: "config.yaml", folder: at.path, env });
  if ("problems" in result) throw new Error(result.problems.map(formatConfigProblem).join("\n"));
  return result;
}

function told(text: string, at: ConfigFolder, env: Environment = {}): string[] {
  const result = settingsFromText(text, { file: "config.yaml", folder: at.path, env });
  return "problems" in result ? result.problems.map(formatConfigProblem) : [];
}

const channels = "channels: { here: { type: console } }\nrules: own.yaml\n";

test("omitted settings have their defaults", () => {
  using at = configFolder();
  const { settings, warnings } = read(rest, at);
  expect(settings).toMatchObject({
    file: "config.yaml",
    folder: at.path,
    exchange: { requestsPerSecond: "auto" },
    timezone: "UTC",
    wallets: [
      { name: "watched", authority, labels: {}, limits: {}, pdaIndices: [0], login: "message", key: null },
    ],
    schedules: scheduleSettings.parse({}),
    history: { path: at.file("data/perpwatch.db"), retention: defaultRetention },
    ruleFiles: ["own.yaml"],
    channels: { here: { type: "console" } },
    routing: { receivers: ["here"], routes: [] },
    mention: {},
    advice: { order: ["transfer", "reduce", "deposit"], headroom: 0.5 },
    dashboard: { host: "127.0.0.1", port: 8787, login: "always" },
  });
  expect(warnings).toEqual([]);
});

test("freshness is relative to the intervals that the ceiling permits, not to the configured ones", () => {
  using at = configFolder();
  const rule = oneRule.replace("scope: market", "scope: trader").replace("market.markPrice", "trader.equity");
  at.write("own.yaml", rule);
  const accounts = Array.from({ length: 200 }, (_, i) => i).join(", ");
  const wallets = `wallets: [{ name: big, authority: ${authority}, accounts: { pdaIndices: [${accounts}] } }]\n`;
  const { settings } = read(`${wallets}${channels}exchange: { requestsPerSecond: 5 }\n`, at);
  const [far] = settings.ruleSet.conditions;
  // 200 requests a round at less than 5 a second.
  expect(far?.staleAfterMs.traderState).toBeGreaterThan(3 * 40_000);
});

test("a section without content is as if it were not there", () => {
  using at = configFolder();
  expect(read(`${rest}remind:\nmention:\n  # critical: "@here"\nhistory:\n`, at).settings.mention).toEqual(
    {},
  );
});

describe("wallets", () => {
  test("have limits by market, in place of all that others have under the name", () => {
    using at = configFolder();
    const text = `${channels}walletDefaults: { limits: { a: 1, b: { SOL: 2 } } }
wallets:
  - { name: one, authority: ${authority}, limits: { a: { sol: 5, default: 0.5 } } }
`;
    expect(read(text, at).settings.wallets[0]!.limits).toEqual({
      "a[SOL]": 5,
      "a[default]": 0.5,
      "b[SOL]": 2,
    });
    expect(told(text.replace("0.5", "none"), at)[0]).toMatch(
      /^config\.yaml:5:\d+: wallets\[0\]\.limits\.a\.default: expected a number/,
    );
  });

  test("a key is that of the address beside it", () => {
    using at = configFolder();
    const first = at.key("first.json", 1);
    const of = (address: string) =>
      `${channels}wallets: [{ name: a, keyFile: first.json, address: ${address} }]`;
    expect(read(of(first), at).settings.wallets).toMatchObject([{ authority: first }]);
    expect(told(of(authority), at)).toEqual([
      expect.stringContaining(
        `wallets[0].keyFile: this is the key of ${first}, not of the address that is named`,
      ),
    ]);
  });

  test("have keys from files, folders, text and the environment, or none", () => {
    using at = configFolder();
    const first = at.key("first.json", 1);
    const second = at.key("desk/second.json", 2);
    const third = at.key("desk/third.key", 3);
    at.write("desk/.hidden", "x");
    at.write("desk/notes.md", "x");
    at.write("secret.txt", `${base58.encode(new Uint8Array(32).fill(4))}\n`);
    const text = `${channels}walletDefaults: { labels: { desk: alpha, live: true }, limits: { a: 1 }, login: transaction }
wallets:
  - { name: 7, keyFile: first.json, login: message, labels: { desk: 1.10 }, limits: { b: 2.5 } }
  - { keyDir: ./desk, accounts: { pdaIndices: [7, 0, 7] } }
  - { name: fourth, secretFile: secret.txt }
  - { name: fifth, secret: ${"${MAIN}"} }
  - { name: watched, authority: ${authority.replace("GHY", "GHZ")} }
`;
    const { settings, warnings } = read(text, at, { MAIN: keypairText(5) });
    expect(
      settings.wallets.map(({ key, ...one }) => ({ ...one, signs: key?.address === one.authority })),
    ).toMatchObject([
      {
        name: "7",
        authority: first,
        labels: { desk: "1.10", live: "true" },
        limits: { a: 1, b: 2.5 },
        pdaIndices: [0],
        login: "message",
        signs: true,
      },
      { name: "second", authority: second, pdaIndices: [0, 7], login: "transaction", signs: true },
      { name: "third", authority: third, labels: { desk: "alpha", live: "true" }, signs: true },
      { name: "fourth", signs: true },
      { name: "fifth", signs: true },
      { name: "watched", signs: false },
    ]);
    expect(warnings.map(formatConfigWarning).filter((one) => one.includes("not read"))).toEqual([
      "config.yaml:6: key files end in .json or .key; not read: notes.md",
    ]);
  });

  test("with unusable key files are reported with the file and the fix", () => {
    using at = configFolder();
    at.key("open.json", 1);
    fs.chmodSync(at.file("open.json"), 0o644);
    at.write("short.json", "[1,2,3]");
    const pair = [...exampleSeed, ...new Uint8Array(32).fill(9)];
    at.write("mixed.json", JSON.stringify(pair));
    at.write("desk/a b.json", JSON.stringify(pair));
    fs.mkdirSync(at.file("none"));
    const lines = told(
      `${channels}wallets:
  - { name: a, keyFile: open.json }
  - { name: b, keyFile: short.json }
  - { name: c, keyFile: mixed.json, labels: 3 }
  - { keyDir: desk }
  - { keyDir: none }
  - { keyDir: gone }
`,
      at,
    );
    const file = (name: string) => at.file(name);
    expect(lines).toEqual([
      `config.yaml:4:25: wallets[0].keyFile: ${file("open.json")}: the key file can be read by others than its owner: every user of this machine (mode 0644). Fix: chmod 600 ${file("open.json")}`,
      `config.yaml:5:25: wallets[1].keyFile: ${file("short.json")}: a JSON keypair has 64 numbers, this one 3`,
      `config.yaml:6:25: wallets[2].keyFile: ${file("mixed.json")}: the public half of the keypair does not belong to its secret half`,
      "config.yaml:6:45: wallets[2].labels: expected a mapping (key: value), found 3",
      `config.yaml:7:15: wallets[3].keyDir: ${file("desk/a b.json")}: rename it, letters, digits, _ and - make a wallet's name`,
      `config.yaml:8:15: wallets[4].keyDir: ${file("none")} holds no key file: *.json or *.key`,
      `config.yaml:9:15: wallets[5].keyDir: ${file("gone")} does not exist`,
    ]);
  });
});

describe("values", () => {
  test("from the environment take the kind that is wanted, also between braces", () => {
    using at = configFolder();
    const { settings } = read(
      `${rest.replace(/^channels.*$/m, "")}
exchange: { baseUrl: "http://127.0.0.1:\${PORT}", requestsPerSecond: \${RATE} }
channels: { chat: { type: discord, token: \${TOKEN}, channelId: \${ID} }, mail: { type: email, from: a@b, to: ["\${TO}"], smtp: { host: $\${X}, port: \${PORT}, secure: \${TLS} } } }
`,
      at,
      { PORT: "587", RATE: "2.5", TOKEN: "t".repeat(30), ID: "123456789012345678", TO: "me@b", TLS: "false" },
    );
    expect(settings.exchange).toEqual({
      baseUrl: "http://127.0.0.1:587",
      streams: "auto",
      requestsPerSecond: 2.5,
    });
    expect(settings.channels).toMatchObject({
      chat: { token: "t".repeat(30), channelId: "123456789012345678" },
      mail: { to: ["me@b"], smtp: { host: "${X}", port: 587, secure: false } },
    });
  });

  test("are never parsed as YAML when they come from the environment", () => {
    using at = configFolder();
    const value = 'a: b # c\n"{[';
    const { settings } = read(`${rest.replace("watched,", "watched, labels: { note: ${NOTE} },")}`, at, {
      NOTE: value,
    });
    expect(settings.wallets[0]?.labels).toEqual({ note: value });
  });

  test("numbers where a text is wanted are taken as they were written", () => {
    using at = configFolder();
    const text = `${rest.replace(/^channels.*$/m, "")}channels:
  chat: { type: discord, token: ${"1".repeat(24)}, channelId: 123456789012345678 }
  mail: { type: email, from: a@b, to: [a@b], smtp: { host: h, user: 007, password: 0.10 } }
`;
    expect(read(text, at).settings.channels).toMatchObject({
      chat: { token: "1".repeat(24), channelId: "123456789012345678" },
      mail: { smtp: { user: "007", password: "0.10" } },
    });
  });

  test("may stand in files of their own, which have to be private", () => {
    using at = configFolder();
    at.write("token", `${"t".repeat(30)}\n`);
    at.write("ca.pem", "PEM", 0o644);
    at.write("password", "open sesame");
    const text = (token: string) => `${rest.replace(/^channels.*$/m, "")}channels:
  chat: { type: discord, ${token}, channelId: "123456789012345678" }
  mail: { type: email, from: a@b, to: [a@b], smtp: { host: h, user: u, passwordFile: ./password, caFile: ca.pem } }
`;
    expect(read(text("tokenFile: token"), at).settings.channels).toMatchObject({
      chat: { token: "t".repeat(30) },
      mail: { smtp: { password: "open sesame", ca: "PEM" } },
    });
    expect(read(text("tokenFile: ~/token"), at, { HOME: at.path }).settings.channels.chat).toMatchObject({
      token: "t".repeat(30),
    });
    fs.chmodSync(at.file("token"), 0o644);
    expect(told(text("tokenFile: token"), at)).toEqual([
      `config.yaml:6:37: channels.chat.tokenFile: ${at.file("token")} can be read by others than its owner: every user of this machine (mode 0644). Fix: chmod 600 ${at.file("token")}`,
    ]);
    expect(told(text("tokenFile: token, token: abc"), at)[0]).toBe(
      "config.yaml:6:26: channels.chat.tokenFile: token and tokenFile are both given: one is enough",
    );
    at.write("token", "\n");
    expect(told(text("tokenFile: token"), at)).toEqual([
      `config.yaml:6:37: channels.chat.tokenFile: ${at.file("token")} is empty`,
    ]);
  });
});

describe("rules", () => {
  const withRules = (rules: string) => `${rest.replace(/^rules.*$/m, "")}${rules}\n`;

  test("come from the included packs by default", () => {
    using at = configFolder();
    const all = read(withRules(""), at).settings;
    const packs = fs
      .readdirSync(path.join(import.meta.dirname, "../../rules"))
      .filter((name) => !name.endsWith(".test.yaml"))
      .map((name) => `shipped:${name.replace(/\.yaml$/, "")}`)
      .sort();
    expect(all.ruleFiles).toEqual(packs);
    expect(read(withRules("rules: shipped"), at).settings.ruleSetText).toBe(all.ruleSetText);
    const one = read(withRules("rules: [shipped:margin, own.yaml]"), at).settings;
    expect(one.ruleFiles).toEqual(["shipped:margin", "own.yaml"]);
  });

  test("come from files of one's own by patterns, each file once", () => {
    using at = configFolder();
    at.write("r/b.yaml", oneRule.replace("Far", "B"));
    at.write("r/a.yaml", oneRule.replace("Far", "A"));
    at.write("r/x [1].yaml", oneRule.replace("Far", "X"));
    fs.symlinkSync(at.file("r/a.yaml"), at.file("r/z.yaml"));
    const { settings } = read(withRules('rules: ["r/[ab].yaml", r/*.yaml, "r/x [1].yaml"]'), at);
    expect(settings.ruleFiles).toEqual(["r/a.yaml", "r/b.yaml", "r/x [1].yaml"]);
    expect(settings.ruleSet.conditions.map((rule) => rule.name)).toEqual(["A", "B", "X"]);
    expect(settings.ruleSet.conditions[0]?.file).toBe("r/a.yaml");
  });

  test("and overrides are one text, that tells sets apart", () => {
    using at = configFolder();
    const text = (more: string) => read(`${rest}${more}`, at, { FOR: "17s" }).settings.ruleSetText;
    expect(text("")).toBe(text("timezone: UTC"));
    expect(text("ruleOverrides: { Far: { for: 3s } }")).not.toBe(text(""));
    const { settings } = read(`${rest}ruleOverrides: { Far: { for: \${FOR} } }`, at, { FOR: "17s" });
    expect(settings.ruleSet.conditions[0]?.forMs).toBe(17_000);
    expect(settings.ruleSetText).not.toContain("17s");
  });
});

test("a secret address that is sent over http to another machine causes a warning, and is not shown", () => {
  using at = configFolder();
  const warnings = (channel: string, more = "") =>
    read(`${rest.replace("here: { type: console }", `here: ${channel}`)}${more}`, at).warnings.map(
      formatConfigWarning,
    );
  const plain = [
    warnings("{ type: ntfy, topic: t0p1c-never, url: http://ntfy.lan }"),
    warnings('{ type: webhook, url: "http://nas.lan:8080/s3cret-never" }'),
    warnings('{ type: webhook, url: "http://nas.lan:8080/?key=s3cret-never" }'),
    warnings(
      "{ type: console }",
      'heartbeat: { url: "http://up.lan/s3cret-never", failUrl: "http://up.lan/f" }\n',
    ),
  ].flat();
  expect(plain).toHaveLength(5);
  for (const line of plain) {
    expect(line).toMatch(/leaves this machine without TLS/);
    expect(line).not.toMatch(/never|lan/);
  }
  for (const channel of [
    "{ type: ntfy, topic: t0p1c }",
    "{ type: ntfy, topic: t0p1c, url: http://127.0.0.1:2586 }",
    '{ type: webhook, url: "https://nas.lan/s3cret" }',
    '{ type: webhook, url: "http://nas.lan:8080" }',
    '{ type: alertmanager, url: "http://am.lan:9093" }',
  ])
    expect(warnings(channel), channel).toEqual([]);
  expect(warnings("{ type: console }", 'heartbeat: { url: "https://up.lan/x" }\n')).toEqual([]);
});

test("rarely intended settings cause a warning", () => {
  using at = configFolder();
  const text = `${rest.replace("here: { type: console }", "here: { type: console }, spare: { type: console }, anna: { type: console }, duty: { type: rota, people: [anna, here], turn: Mon 09:00 }, idle: { type: rota, people: [anna, here], turn: Mon 09:00 }")}
routing:
  receivers: [here]
  routes:
    - { match: { team: alpha }, receivers: [here, duty] }
    # What only alerts of the built-in rules carry.
    - { match: { source: markets }, receivers: [here] }
    - { match: { channel: chat }, receivers: [here] }
    - { match: { failing: Far }, receivers: [here] }
acknowledge: { types: { order_filed: always } }
`;
  expect(read(text, at).warnings.map(formatConfigWarning)).toEqual([
    "config.yaml:9: no wallet and no rule has the label team: the route matches nothing",
    "config.yaml:3: no route leads to the channel spare",
    "config.yaml:3: no route leads to the channel idle",
    "config.yaml:14: order_filed is no known type of notification (did you mean order_filled?)",
  ]);
});

test("a file is read from where it is, with its paths relative to it", async () => {
  using at = configFolder();
  const result = await readSettings(at.write("config.yaml", rest), {});
  expect(result).toMatchObject({ settings: { folder: at.path, ruleFiles: [at.file("own.yaml")] } });
});

/** A keypair as JSON text, from a seed of one repeated byte. */
function keypairText(fill: number): string {
  using at = configFolder();
  at.key("k.json", fill);
  return fs.readFileSync(at.file("k.json"), "utf8").trim();
}

test("the example wallet is the example's", () => {
  using at = configFolder();
  const secret = base58.encode(exampleSeed);
  const { settings } = read(`${channels}wallets: [{ name: x, secret: ${secret} }]`, at);
  expect(settings.wallets[0]?.authority).toBe(exampleAddress);
});

test("a wallet of the keystore signs in by its address, and the keystore has to have it", () => {
  using at = configFolder();
  const line = `wallets: [{ name: x, keystore: ${authority} }]`;
  const problemsOf = (text: string) => {
    const result = settingsFromText(`${channels}${text}`, { file: "config.yaml", folder: at.path, env: {} });
    return "problems" in result ? result.problems.map(({ message }) => message) : result.settings.wallets;
  };
  expect(problemsOf(line)).toEqual([
    `there is no keystore ${at.file("keystore.json")}; make one: perpwatch wallet import`,
  ]);
  at.keystore("keystore.json", []);
  expect(problemsOf(line)).toEqual([
    "the keystore has no key of this address; add it: perpwatch wallet import",
  ]);
  at.keystore("keystore.json", [authority]);
  expect(problemsOf(line)).toMatchObject([{ authority, keptIn: "keystore", login: "message" }]);
  // A separate signer reads its keystore itself.
  expect(problemsOf(`${line}\nsigner: { socket: ./s, keystore: ./none.json }`)).toMatchObject([
    { authority },
  ]);
  expect(problemsOf("wallets: [{ name: x, keystore: hunter2 }]")).toEqual([
    "expected an address, base58 of 32 bytes; what was found is none",
  ]);
});
