/** Files and texts of a person: configuration, rules, templates, rule tests, schedules, calendars, matchers, questions. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { BadQuestion, readClosing, readPrice } from "../../../src/advice/question.ts";
import { isWrong, parseMatchers } from "../../../src/alerts/routing/match.ts";
import { readCalendar } from "../../../src/channels/rota/calendar.ts";
import { cronProblem } from "../../../src/collect/schedule/calendar.ts";
import { settingsFromText } from "../../../src/daemon/settings.ts";
import { secretsOfAddress } from "../../../src/domain/text/hidden-secrets.ts";
import { exchangeSettings } from "../../../src/exchange/settings.ts";
import { ledgerSettings } from "../../../src/ledger/settings.ts";
import { readSuite } from "../../../src/replay/suite/read.ts";
import { compileMessageTemplate, loadRules } from "../../../src/rules/index.ts";
import { parsePasswordHash } from "../../../src/web/access/password.ts";
import { scheduleMs } from "../../rules/kit.ts";
import { isA, type Parsers, words } from "./kinds.ts";

const root = new URL("../../../", import.meta.url);
const text = (name: string) => readFileSync(new URL(name, root), "utf8");
const authority = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";
const packs = readdirSync(new URL("rules/", root)).filter(
  (name) => name.endsWith(".yaml") && !name.endsWith(".test.yaml"),
);
const rule = `rules:
  - name: Low
    scope: trader
    severity: critical
    summary: "{{ trader.equity }} is low"
    when: trader.equity < 100.0
    for: 30s
`;
/** In place of the packs that come with the program, which are no foreign bytes and take most of the time. */
const shippedRules = mkdtempSync(path.join(tmpdir(), "perpwatch-attacks-"));
writeFileSync(path.join(shippedRules, "own.yaml"), rule);
process.on("exit", () => rmSync(shippedRules, { recursive: true, force: true }));

const config = `wallets: [{ name: a, authority: ${authority} }]
channels: { here: { type: console } }
`;
const longConfig = text("config.example.yaml");
const ruleFrom = (when: string) =>
  `rules: [{ name: R, scope: position, severity: info, summary: s, when: ${JSON.stringify(when)} }]`;
const load = (name: string) =>
  "ruleSet" in
  loadRules({
    files: [{ name: "my.yaml", text: name }],
    ...{ overrides: {}, scheduleMs, wallets: [], timezone: "UTC" },
  } as never);
const calendar = [
  ...["BEGIN:VCALENDAR", "BEGIN:VEVENT", "DTSTART;TZID=Europe/Berlin:20261130T090000"],
  ...["DTEND:20261207T090000Z", "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO"],
  ...["SUMMARY:anna", "END:VEVENT", "END:VCALENDAR", ""],
].join("\r\n");

export const parsers: Parsers = {
  configuration: {
    input: words(
      [
        config,
        `${config}timezone: Europe/Berlin\nrouting: { receivers: [here] }\nremind: { critical: 15m }\n`,
        `${config}exchange: { baseUrl: "https://a.example", requestsPerSecond: 5 }\nhistory: { path: ./p }\n`,
        longConfig.slice(0, 9_000),
        longConfig,
      ],
      1_048_576,
    ),
    run: (input: string) =>
      "settings" in
      settingsFromText(input, { file: "config.yaml", folder: "/nowhere", env: { A: "b" }, shippedRules }),
  },
  rules: {
    input: words([rule, ...packs.map((name) => text(`rules/${name}`).slice(0, 4_000))], 524_288),
    run: load,
  },
  "rule files with many mistakes": {
    input: ({ size, whole }) => {
      const count = { longest: 8_000, large: 300, small: whole(10) }[size];
      return count === 0 ? rule : `rules:\n${`- "\\q" # ${"x".repeat(50)}\n`.repeat(count)}`;
    },
    run: load,
  },
  expressions: {
    input: words(
      [
        "trader.equity < 100.0",
        "position.liquidationDistance < 0.05 && position.notional > 1000.0",
        'maxOver("trader.equity", "1h") - trader.equity > 0.1 * trader.equity',
        'market("BTC").markPrice > 1.0 || wallet.labels.desk == "alpha"',
        "trader.positions.exists(p, p.notional > 1000.0) ? true : false",
      ],
      100_000,
    ),
    run: (input: string) => load(ruleFrom(input)),
  },
  templates: {
    input: words([
      "{{ alert.symbol }} {{ position.side }} {{ usd(position.notional) }}",
      "well after {{ duration(alert.lasted) }}",
      "{{ ago(alert.at) }} {{ alert.description }}",
    ]),
    run: (input: string) => {
      let problems = 0;
      compileMessageTemplate(input, 500, "UTC", () => {
        problems++;
      });
      return problems === 0;
    },
  },
  "rule tests": {
    input: words(
      [
        "rules: [./a.yaml]\ntests:\n  - name: x\n    events: []\n    expect: []\n",
        "rules: [./a.yaml]\ntests:\n  - name: x\n    series: [{ at: 'position[SOL].size', values: '1+2x3 _ 4' }]\n    expect: [{ at: 1m, rule: R, fires: critical }]\n",
      ],
      524_288,
    ),
    run: (input: string) => "suite" in readSuite("a.test.yaml", input),
  },
  cron: {
    input: words(["0 */5 * * * *", "0 0 8 * * 1", "0 0 9 1 jan mon-fri"], 4_096),
    run: (input: string) => cronProblem(input, "UTC") === null,
  },
  "rota calendars": {
    input: words([calendar], 1_048_576),
    run: (input: string) => readCalendar(input, ["anna", "ben"], "UTC").mistakes.length === 0,
  },
  matchers: {
    input: words(["wallet=main", "severity=warning,info", "wallet=~mm-.*", "symbol!~X.*"]),
    run: (input: string) => !isWrong(parseMatchers([input])),
  },
  "questions in chats": {
    input: words(["SOL=120", "SOL=-10%", "BTC=12.5", "SOL"], 4_096),
    run: (input: string) => [readPrice(input, ["SOL", "BTC"]), readClosing(input, ["SOL", "BTC"])],
    mayThrow: isA(BadQuestion),
  },
  "hashes of passwords": {
    input: words([`scrypt$32768$8$3$${"a".repeat(22)}$${"b".repeat(43)}`], 4_096),
    run: (input: string) => parsePasswordHash(input) !== null,
  },
  "addresses of services": {
    input: words(
      [
        "https://api.example.org/v1",
        "http://user:pass@[::1]:8080/a/0123456789abcdef?key=%41%42#x",
        "wss://a.b",
      ],
      4_096,
    ),
    run: (input: string) => {
      secretsOfAddress(input);
      return (
        exchangeSettings.safeParse({ baseUrl: input }).success ||
        ledgerSettings.safeParse({ rpcUrl: input }).success
      );
    },
  },
};
