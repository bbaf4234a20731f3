/** Every mistake is reported with its line, the value found and the allowed values, and hides no other. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is the configuration's own syntax.
import { describe, expect, test } from "vitest";
import {
  type ConfigProblem,
  formatConfigProblem,
  readSettings,
  settingsFromText,
} from "../../src/daemon/settings.ts";
import { authority, type ConfigFolder, configFolder, rest } from "./config-folder.ts";

const env = { HOME: "/nowhere", PORT: "587", WORD: "some", EMPTY: "" };

function problems(text: string, at: ConfigFolder): readonly ConfigProblem[] {
  const result = settingsFromText(text, { file: "config.yaml", folder: at.path, env });
  return "problems" in result ? result.problems : [];
}

/** `line:column path: message`, and the suggestion. */
const brief = ({ line, column, path, message, nearest }: ConfigProblem) =>
  `${line}:${column} ${path === "" ? "" : `${path}: `}${message}${nearest === null ? "" : ` ~ ${nearest}`}`;

/** The other sections are appended; keys that a case contains are left out. */
function completed(text: string): string {
  const own = new Set([...text.matchAll(/^(\w+):/gm)].map(([, key]) => key));
  const missing = rest.split("\n").filter((line) => !own.has(line.split(":")[0]));
  return `${text}\n${missing.join("\n")}`;
}

const cases: readonly (readonly [text: string, told: readonly string[]])[] = [
  // The file itself
  [
    "exchange: [",
    [
      "3:1 this line fits none above it: is it indented as it should be, and is every bracket and quote closed?",
    ],
  ],
  ["exchange:\n\tbaseUrl: x", ["2:1 a tab cannot indent in YAML: use spaces"]],
  ['timezone: "UTC', ["6:1 a closing quote is missing before here"]],
  [
    "wallets:\n  - name: main\n   authority: x",
    [
      "3:1 this line is indented otherwise than what it belongs to: a list's items begin with - in one column, their keys stand in another",
    ],
  ],
  ["timezone: UTC\u0000", ["1:14 a control character stands here: the file is no plain text"]],
  ["timezone: UTC\ntimezone: UTC", ["2:1 the key timezone stands here for the second time"]],
  [
    "exchange: &x {}\nremind: *x",
    ["2:9 an alias (*name) is not taken: write the value out, or put it in quotes"],
  ],
  ["timezone: !own UTC", ["1:11 a tag (!name) is not taken"]],
  ["? [a]\n: b", ["1:3 a key has to be a name"]],
  ["advice: { order: [deposit, deposit] }", ["1:11 advice.order: names a kind twice"]],
  [
    "advice: { order: [sell], headroom: -1 }",
    [
      '1:19 advice.order[0]: expected transfer, reduce or deposit, found "sell"',
      "1:36 advice.headroom: expected a share of a daily move from 0 to 10, such as 0.5, found -1",
    ],
  ],
  // Sections and keys
  ["wallet: []", ["1:1 wallet: unknown section wallet ~ wallets"]],
  ["__proto__: {}", ["1:1 a key has to be a name"]],
  ["pager: []", ["1:1 pager: unknown section pager"]],
  ["exchange: { stream: auto }", ["1:13 exchange.stream: unknown key stream ~ streams"]],
  ["exchange: { streams: on }", ['1:22 exchange.streams: expected auto or off, found "on"']],
  [
    "exchange:\n  requestPerSecond: 3",
    ["2:3 exchange.requestPerSecond: unknown key requestPerSecond ~ requestsPerSecond"],
  ],
  ["exchange: 3", ["1:11 exchange: expected a mapping (key: value), found 3"]],
  ["exchange: []", ["1:1 exchange: expected a mapping (key: value), found an empty list"]],
  ["exchange:\n  requestsPerSecond: 0", ["2:22 exchange.requestsPerSecond: expected at least 0.1, found 0"]],
  [
    "exchange: { requestsPerSecond: .inf }",
    ["1:32 exchange.requestsPerSecond: expected auto or a number, found .inf"],
  ],
  [
    "exchange: { requestsPerSecond: fast }",
    ['1:32 exchange.requestsPerSecond: expected auto or a number, found "fast"'],
  ],
  [
    "exchange: { baseUrl: http://exchange.example }",
    [
      "1:22 exchange.baseUrl: has to begin with https:// (http:// only for this machine: 127.0.0.1, [::1], localhost), " +
        'found "http://exchange.example"',
    ],
  ],
  // Variables
  ["timezone: ${NOWHERE}", ["1:11 the environment variable NOWHERE is not set"]],
  ["timezone: ${PORTT}", ["1:11 the environment variable PORTT is not set ~ PORT"]],
  [
    "timezone: ${a-b}",
    ['1:11 "a-b" is no name of an environment variable: letters, digits and _ are allowed'],
  ],
  ["${WORD}: UTC", ["1:1 a variable is taken in values only, not in keys"]],
  [
    "timezone: ${WORD}thing",
    ['1:11 timezone: expected a time zone such as UTC or Europe/Berlin, found "(not shown)"'],
  ],
  // Time zone, history, page
  [
    "timezone: Europe/Berln",
    [
      '1:11 timezone: expected a time zone such as UTC or Europe/Berlin, found "Europe/Berln" ~ Europe/Berlin',
    ],
  ],
  [
    "history: { retention: { samples: 35 } }",
    [
      "1:34 history.retention.samples: expected forever or a duration such as 250ms, 5s, 10m, 4h or 7d, found 35",
    ],
  ],
  [
    "history: { retention: { events: 1d } }",
    ['1:33 history.retention.events: has to be 7d or more, or forever, found "1d"'],
  ],
  ["history: { retention: { weeks: 1y } }", ["1:25 history.retention.weeks: unknown key weeks"]],
  [
    "dashboard: { listen: 8787 }",
    [
      "1:22 dashboard.listen: expected HOST:PORT such as 127.0.0.1:8787 (port 0: a free one), or off, found 8787",
    ],
  ],
  [
    "dashboard: { listen: 127.0.0.1:70000 }",
    [
      "1:22 dashboard.listen: expected HOST:PORT such as 127.0.0.1:8787 (port 0: a free one), or off, " +
        'found "127.0.0.1:70000"',
    ],
  ],
  // Schedules
  ["schedules: { trades: { every: 5s } }", ["1:14 schedules.trades: unknown key trades"]],
  [
    "schedules:\n  traderState: { evry: 5s }",
    [
      "2:3 schedules.traderState.every: missing: expected a text",
      "2:18 schedules.traderState.evry: unknown key evry ~ every",
    ],
  ],
  [
    "schedules: { markets: { every: 5 } }",
    ["1:32 schedules.markets.every: has to be a duration such as 5s, 10m or 1h30m, found 5"],
  ],
  [
    "schedules: { traderState: { every: 1s, atRisk: 5s } }",
    ['1:48 schedules.traderState.atRisk: is for wallets at risk: at most as long as every, found "5s"'],
  ],
  ["schedules: { markets: 5s }", ['1:23 schedules.markets: expected a mapping (key: value), found "5s"']],
  // Wallets
  ["wallets: []", ["1:1 wallets: expected a list with at least 1 entry, found an empty list"]],
  ["wallets: main", ['1:10 wallets: expected a list, found "main"']],
  [
    "wallets:\n  - name: a b\n    authority: nope",
    [
      '2:11 wallets[0].name: expected letters, digits, _ and -, at most 64, found "a b"',
      "3:16 wallets[0].authority: expected an address, base58 of 32 bytes; what was found is none",
    ],
  ],
  [
    `wallets:\n  - name: market\n    authority: ${authority}`,
    [
      "2:11 wallets[0].name: expected another name than markets, fundingRates, market, exchange, daemon, book, pair, " +
        'found "market"',
    ],
  ],
  [
    `wallets:\n  - name: x\n    authority: ${authority}\n    keyFile: a.json`,
    [
      "2:5 wallets[0]: a wallet has one of keyFile, secret, keystore, authority or keyDir; found keyFile and authority",
    ],
  ],
  [
    "wallets: [{ name: x }]",
    [
      "1:11 wallets[0]: a wallet has one of keyFile, secret, keystore, authority or keyDir; found none of them",
    ],
  ],
  [
    "wallets: [{ name: x, keyfile: a.json }]",
    [
      "1:22 wallets[0].keyfile: unknown key keyfile: a wallet has one of keyFile, secret, keystore, authority or keyDir; found none of them ~ keyFile",
    ],
  ],
  [`wallets: [{ authority: ${authority} }]`, ["1:11 wallets[0].name: missing: expected a text"]],
  [
    `wallets:\n  - { name: x, authority: ${authority}, session: external }`,
    ["2:73 wallets[0].session: unknown key session"],
  ],
  [
    `wallets:\n  - { name: x, authority: ${authority}, labels: { symbol: y } }`,
    ["2:83 wallets[0].labels.symbol: the label symbol is given by perpwatch itself"],
  ],
  [
    `wallets:\n  - { name: x, authority: ${authority}, accounts: { pdaIndices: [0, 256] } }`,
    ["2:101 wallets[0].accounts.pdaIndices[1]: expected at most 255, found 256"],
  ],
  [
    `wallets:\n  - { name: x, authority: ${authority}, accounts: some }`,
    ['2:83 wallets[0].accounts: expected all or a mapping (key: value), found "some"'],
  ],
  [
    `wallets:\n  - { name: x, authority: ${authority}, limits: { most: lots } }`,
    ['2:89 wallets[0].limits.most: expected a number or a mapping (key: value), found "lots"'],
  ],
  [
    `wallets:\n  - { name: x, authority: ${authority} }\n  - { name: x, keyDir: . }`,
    ["3:7 wallets[1].name: unknown key name"],
  ],
  [
    `wallets:\n  - { name: x, authority: ${authority} }\n  - { name: y, authority: ${authority} }`,
    ["3:27 wallets[1].authority: y has the authority of x, at config.yaml:2: a wallet is watched once"],
  ],
  [
    `wallets:\n  - { name: x, authority: ${authority} }\n  - { name: x, keyFile: none.json }`,
    [
      "3:13 wallets[1].name: the name x is taken already, at config.yaml:2",
      "3:25 wallets[1].keyFile: FOLDER/none.json: the key file does not exist",
    ],
  ],
  [
    `wallets:\n  - { name: x, authority: ${authority}, labels: { a-b: y } }`,
    ["2:83 wallets[0].labels.a-b: a label's name has letters, digits and _"],
  ],
  [
    `wallets:\n  - { name: x, authority: ${authority}, accounts: { pdaIndices: [1.5] } }`,
    ["2:98 wallets[0].accounts.pdaIndices[0]: expected a whole number, found 1.5"],
  ],
  [
    "walletDefaults: { login: mesage }",
    ['1:26 walletDefaults.login: expected message or transaction, found "mesage" ~ message'],
  ],
  // Channels
  [
    "channels:\n  chat: { type: discrod }",
    [
      '2:17 channels.chat.type: expected console, discord, email, webhook, slack, telegram, ntfy, pagerduty, pushover, alertmanager, command or rota, found "discrod" ~ discord',
    ],
  ],
  [
    "channels:\n  chat: {}",
    [
      "2:3 channels.chat.type: missing: expected console, discord, email, webhook, slack, telegram, ntfy, pagerduty, pushover, alertmanager, command or rota",
    ],
  ],
  ["channels: {}", ["1:1 channels: expected at least one channel, such as { here: { type: console } }"]],
  [
    "channels:\n  a b: { type: console }",
    ["2:3 channels.(not shown): a channel's name has letters, digits, _ and -, at most 64"],
  ],
  [
    "channels:\n  chat:\n    type: discord\n    chanelId: 12",
    [
      "2:3 channels.chat.token: missing: expected a text",
      "2:3 channels.chat.channelId: missing: expected a text",
      "4:5 channels.chat.chanelId: unknown key chanelId ~ channelId",
    ],
  ],
  [
    "channels:\n  mail:\n    type: email\n    smtp: { host: h, port: 99999, secure: maybe }\n    from: nobody",
    [
      "2:3 channels.mail.to: missing: expected a list",
      "4:28 channels.mail.smtp.port: expected at most 65535, found 99999",
      '4:43 channels.mail.smtp.secure: expected true, false or starttls, found "maybe"',
      '5:11 channels.mail.from: must be an address: me@example.org or Name <me@example.org>, found "nobody"',
    ],
  ],
  [
    `channels: { chat: { type: discord, token: ${"x".repeat(30)}, channelId: "123456789012345678", apiUrl: http://discord.example/api } }`,
    [
      "1:116 channels.chat.apiUrl: has to begin with https:// (http:// only for this machine: 127.0.0.1, [::1], localhost), " +
        'found "http://discord.example/…"',
    ],
  ],
  [
    "channels: { chat: { type: discord, webhookUrl: http://discord.example/api/webhooks/123456789012345678/secret } }",
    [
      "1:48 channels.chat.webhookUrl: has to begin with https:// (http:// only for this machine: 127.0.0.1, [::1], localhost), " +
        "found a value that is not shown",
    ],
  ],
  // References between sections
  ["routing: { receivers: [her] }", ['1:24 routing.receivers[0]: no channel is called "her" ~ here']],
  [
    "routing:\n  receivers: [here]\n  routes:\n    - match: { severity: critcal, wallet: [watched, other] }\n      receivers: [there]",
    [
      '4:26 routing.routes[0].match.severity: "critcal" is no severity ~ critical',
      '4:53 routing.routes[0].match.wallet[1]: no wallet is called "other"',
      '5:19 routing.routes[0].receivers[0]: no channel is called "there" ~ here',
    ],
  ],
  [
    "routing:\n  receivers: [her]\n  routes:\n    - match: { rule: Fur }\n      receivers: []",
    [
      '2:15 routing.receivers[0]: no channel is called "her" ~ here',
      '4:22 routing.routes[0].match.rule: no rule is called "Fur" ~ Far',
      "5:7 routing.routes[0].receivers: expected a list with at least 1 entry, found an empty list",
    ],
  ],
  [
    `wallets: [{ name: w, authority: ${authority}, labels: { desk: a } }]\nrouting:\n  receivers: [here]\n  routes:\n    - match: { desc: a }\n      receivers: [here]`,
    [
      "5:16 routing.routes[0].match.desc: no wallet and no rule has the label desc: the route matches nothing ~ desk",
    ],
  ],
  [
    "routing:\n  receivers: [here]\n  routes: [{ match: { wallets: watched }, receivers: [here] }]",
    [
      "3:23 routing.routes[0].match.wallets: no wallet and no rule has the label wallets: the route matches nothing ~ wallet",
    ],
  ],
  ["routing: { routes: [] }", ["1:1 routing.receivers: missing: expected a list"]],
  [
    "remind: { critical: { every: soon }, warning: sometimes }",
    [
      '1:30 remind.critical.every: expected a duration such as 5m or 1h, found "soon"',
      '1:47 remind.warning: expected never or a mapping (key: value), found "sometimes"',
    ],
  ],
  [
    "remind: { critical: { evry: 5m } }",
    [
      "1:11 remind.critical.every: missing: expected a duration such as 5m or 1h",
      "1:23 remind.critical.evry: unknown key evry ~ every",
    ],
  ],
  [
    'routing: { receivers: [here], muteTimes: { n: [{ days: [mon-fry], from: "22:00", to: "07:00" }] } }',
    [
      '1:57 routing.muteTimes.n[0].days[0]: must be a day or days: mon, tue, wed, thu, fri, sat, sun, mon-fri, found "mon-fry"',
    ],
  ],
  [
    "remind:\n  warning: { every: 1h, upTo: 5m }",
    [
      '2:31 remind.warning.upTo: is what the pauses between reminders grow to: at least as long as every, found "5m"',
    ],
  ],
  [
    "acknowledge: { notifications: always }",
    ['1:31 acknowledge.notifications: expected whenHandled or never, found "always"'],
  ],
  [
    "mention: { critical: everybody }",
    [
      '1:22 mention.critical: must be <@&ROLE_ID> or <@USER_ID> with the number of the role or user (17 to 20 digits) in place of the word, @here or @everyone, found "everybody"',
    ],
  ],
  // Rules
  ["rules: ./nope/*.yaml", ["1:8 rules: no file matches ./nope/*.yaml (looked for FOLDER/nope/*.yaml)"]],
  [
    "rules:\n  - own.yaml\n  - gone.yaml",
    ["3:5 rules[1]: gone.yaml does not exist (looked for FOLDER/gone.yaml)"],
  ],
  ["rules: .", ["1:8 rules: . is a folder: name its files, as in *.yaml"]],
  ["rules: shiped", ["1:8 rules: shiped does not exist (looked for FOLDER/shiped) ~ shipped"]],
  ["rules: shipped:margn", ["1:8 rules: no rule pack is called shipped:margn ~ shipped:margin"]],
  // References to rules, while other mistakes prevent some rules from being read.
  [
    "rules: [own.yaml, gone.yaml]\nruleOverrides: { Fur: { for: 5s }, Drawdown: { for: 5s } }\nrouting: { receivers: [here], routes: [{ match: { rule: [Fir, Drawdown, Far] }, receivers: [here] }] }",
    [
      "1:19 rules[1]: gone.yaml does not exist (looked for FOLDER/gone.yaml)",
      "2:18 ruleOverrides.Fur: no rule is called Fur in the rule files that could be read ~ Far",
      '3:58 routing.routes[0].match.rule[0]: no rule is called "Fir" in the rule files that could be read ~ Far',
    ],
  ],
  [
    "ruleOverrides: { Fur: { for: 5s }, Far: { foor: 5s } }\nrouting: { receivers: [here], routes: [{ match: { rule: Fir }, receivers: [here] }] }",
    [
      "1:18 ruleOverrides.Fur: no rule is called Fur ~ Far",
      "1:43 ruleOverrides.Far.foor: unknown key foor ~ for",
      '2:57 routing.routes[0].match.rule: no rule is called "Fir" ~ Far',
    ],
  ],
  ["ruleOverrides: { Fur: { for: 5s } }", ["1:18 ruleOverrides.Fur: no rule is called Fur ~ Far"]],
  ["ruleOverrides:\n  Far: { foor: 5s }", ["2:10 ruleOverrides.Far.foor: unknown key foor ~ for"]],
  ["ruleOverrides:\n  Far:\n    for: soon", ["3:10 ruleOverrides.Far.for: soon is no duration"]],
];

test.each(cases)("%s", (text, told) => {
  using at = configFolder();
  const told_ = told.map((line) => line.replaceAll("FOLDER", at.path));
  expect(problems(completed(text), at).map(brief)).toEqual(told_);
});

describe("files that are no configuration", () => {
  const read = async (file: string) => {
    const result = await readSettings(file, env);
    return "problems" in result ? result.problems.map(formatConfigProblem) : ["none"];
  };

  test("say what is wrong with them", async () => {
    using at = configFolder();
    const told: [name: string, content: string | Uint8Array, wrong: string][] = [
      ["empty.yaml", "", ": the file is empty: config.example.yaml shows what it may hold"],
      ["comments.yaml", "# nothing\n", ": the file is empty: config.example.yaml shows what it may hold"],
      ["list.yaml", "- a", ":1:1: a configuration is a mapping of sections, such as wallets: and channels:"],
      [
        "text.yaml",
        "hello",
        ":1:1: a configuration is a mapping of sections, such as wallets: and channels:",
      ],
      [
        "two.yaml",
        "timezone: UTC\n---\na: 1",
        ":2:1: a second document begins here (---): a configuration is one",
      ],
      ["latin.yaml", new Uint8Array([0x61, 0x3a, 0x20, 0xe9]), ": the configuration is not UTF-8 text"],
      ["utf16.yaml", Buffer.from("\uFEFFa: 1", "utf16le"), ": the configuration is not UTF-8 text"],
      [
        "huge.yaml",
        `# ${"x".repeat(1_048_576)}`,
        ": the configuration is too large: 1025 KiB, at most 1024 KiB are allowed",
      ],
    ];
    for (const [name, content, wrong] of told) {
      const file = at.write(name, content);
      expect(await read(file)).toEqual([`${file}${wrong}`]);
    }
    expect(await read(at.file("none.yaml"))).toEqual([
      `${at.file("none.yaml")}: the configuration does not exist: config.example.yaml is one to begin with`,
    ]);
    expect(await read(at.path)).toEqual([`${at.path}: the configuration is a folder, not a file`]);
    expect(await read(at.file("own.yaml/x"))).toEqual([
      `${at.file("own.yaml/x")}: the configuration does not exist: part of its path is no folder`,
    ]);
  });

  test("a byte order mark and Windows' line ends do no harm", async () => {
    using at = configFolder();
    const text = `\uFEFF${completed("timezone: UTC").replaceAll("\n", "\r\n")}`;
    expect(await read(at.write("c.yaml", text))).toEqual(["none"]);
    const wrong = text.replace("UTC", "Nowhere");
    expect(await read(at.write("c.yaml", wrong))).toEqual([
      `${at.file("c.yaml")}:1:11: timezone: expected a time zone such as UTC or Europe/Berlin, found "Nowhere"`,
    ]);
  });

  test.each([
    [
      "alias bombs",
      `a: &a [1]\n${[..."bcdefghij"].map((it, i) => `${it}: &${it} [${"*@,".repeat(9).replaceAll("@", "abcdefghij"[i]!)}]`).join("\n")}`,
    ],
    ["brackets", "[".repeat(20_000)],
    ["dashes", "- ".repeat(20_000)],
    ["keys in keys", "? ".repeat(5_000)],
    ["lines", Array.from({ length: 400 }, (_, i) => `${" ".repeat(i)}a:`).join("\n")],
    ["sections", Array.from({ length: 3_000 }, (_, i) => `k${i}: 1`).join("\n")],
  ])("%s end in problems, and not in many", (_name, text) => {
    using at = configFolder();
    const found = problems(text, at);
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThanOrEqual(100);
    // Omissions are reported.
    expect(found.some((one) => one.message.startsWith("more than 99 mistakes"))).toBe(found.length === 100);
  });
});

test.each(["[", "]", "[] ", ": ", "- ", "! ", '""', "a:\n", "|\n"])(
  "a file full of %j is refused at once",
  (piece) => {
    using at = configFolder();
    const before = process.memoryUsage();
    const start = process.threadCpuUsage();
    const found = problems(`a: ${piece.repeat(1_000_000 / piece.length)}`, at);
    const { user } = process.threadCpuUsage(start);
    expect(found[0]!.message).toMatch(/holds too much/);
    // The parser itself would take seconds and hundreds of MB.
    expect(user / 1_000).toBeLessThan(1_000);
    expect(process.memoryUsage().heapUsed - before.heapUsed).toBeLessThan(100_000_000);
  },
);

test("a configuration of 1,500 wallets holds as much as it may", () => {
  using at = configFolder();
  const wallets = Array.from(
    { length: 1_500 },
    (_, index) => `  - { name: w${index}, authority: ${authority}, labels: { desk: alpha } }`,
  );
  const found = problems(completed(["wallets:", ...wallets].join("\n")), at);
  expect(found.map(({ message }) => message).join("\n")).not.toMatch(/holds too much/);
});

test("mistakes of all files are reported together, the configuration first, each file from top to bottom", () => {
  using at = configFolder();
  at.write(
    "a.yaml",
    "rules:\n  - name: A\n    scope: market\n    when: market.markPrize > 1\n    severity: info\n    summary: a\n",
  );
  const text = completed(
    "rules: [own.yaml, a.yaml, gone.yaml]\ntimezone: Nowhere\nexchange: { requestsPerSecond: 0 }",
  );
  expect(problems(text, at).map((one) => `${one.file}:${one.line}`)).toEqual([
    "config.yaml:1",
    "config.yaml:2",
    "config.yaml:3",
    "a.yaml:4",
  ]);
});

test("a mistake of a rule file shows its line; one of the configuration does not", () => {
  using at = configFolder();
  at.write(
    "own.yaml",
    "rules:\n  - name: A\n    scope: market\n    when: market.markPrize > 1\n    severity: info\n    summary: a\n",
  );
  const told = problems(completed("exchange: { requestsPerSecond: 0 }"), at).map(formatConfigProblem);
  expect(told).toEqual([
    "config.yaml:1:32: exchange.requestsPerSecond: expected at least 0.1, found 0",
    expect.stringMatching(
      /^own\.yaml:4:18: .*markPrize.*\n {4} {4}when: market\.markPrize > 1\n +\^\n {2}did you mean markPrice\?/,
    ),
  ]);
});

test("a digest's expression, time zone and receivers are looked at, each at its place", () => {
  using at = configFolder();
  const told = (digest: string) =>
    problems(completed(`digest: ${digest}`), at).map(({ path, message }) => `${path}: ${message}`);
  expect(told('{ cron: "61 0 8 * * *", receivers: [here] }')).toEqual([
    expect.stringMatching(/^digest\.cron: not a cron expression/),
  ]);
  expect(told("{ timezone: Nowhere, receivers: [here] }")).toEqual([
    expect.stringMatching(/^digest\.timezone: Nowhere is no time zone/),
  ]);
  expect(told("{ receivers: [hear] }")).toEqual(['digest.receivers[0]: no channel is called "hear"']);
  expect(told("{ receivers: [here] }")).toEqual([]);
});

test("routes and inhibitions may name every alert that perpwatch raises itself", () => {
  using at = configFolder();
  const own =
    "Blind, ExchangeUnreachable, RuleFailing, NotWatched, StateDamaged, ChannelBroken, MessagesDropped, DrillFailed, InboxDiffers, UnknownNotification";
  const text = `routing:\n  receivers: [here]\n  routes: [{ match: { rule: [${own}] }, receivers: [here] }]\ninhibit: [{ source: { rule: NotWatched }, target: { rule: [${own}] } }]`;
  expect(problems(completed(text), at)).toEqual([]);
  for (const name of own.split(", ")) {
    at.write(
      "own.yaml",
      `rules:\n  - name: ${name}\n    scope: market\n    when: market.markPrice > 1\n    severity: info\n    summary: a\n`,
    );
    expect(problems(completed(""), at).map(({ message }) => message)).toEqual([
      `${name} is an alert of perpwatch's own: choose another name`,
    ]);
  }
});

test("of many names the suggestion and the number of others are shown, each once", () => {
  const names = Array.from({ length: 60 }, (_, i) => `name${i}`);
  const told = formatConfigProblem({
    ...{ file: "config.yaml", line: 1, column: 1, path: "", message: "m", source: "" },
    allowed: [...names, "name1", "wanted"],
    nearest: "wanted",
  });
  expect(told).toContain("\n  allowed: wanted, name0, name1, name2,");
  expect(told).toMatch(/name38, … and 21 more$/);
  const few = { ...{ file: "f", line: 1, column: 1, path: "", message: "m", source: "" }, nearest: "b" };
  expect(formatConfigProblem({ ...few, allowed: ["a", "b", "a"] })).toMatch(/allowed: a, b$/);
});
