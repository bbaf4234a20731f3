/** The parsers of foreign bytes, each with where its inputs come from and the errors that it may throw. */
import { readdirSync, readFileSync } from "node:fs";
import { BadQuestion, readClosing, readPrice } from "../../src/advice/question.ts";
import { isWrong, parseMatchers } from "../../src/alerts/match.ts";
import { readPress } from "../../src/channels/buttons.ts";
import { readInteraction } from "../../src/channels/discord/interaction.ts";
import { Poster } from "../../src/channels/post.ts";
import { readCalendar } from "../../src/channels/rota/calendar.ts";
import { judge } from "../../src/channels/slack/verdict.ts";
import { clean, forDiscord, forHtml, safeLink, withoutSecrets } from "../../src/channels/text.ts";
import { cronProblem } from "../../src/collect/calendar.ts";
import { parseDecimal, ticksNearest } from "../../src/contract/amount.ts";
import { allEndpoints } from "../../src/contract/endpoints.ts";
import { parseJson } from "../../src/contract/json.ts";
import { parseReply } from "../../src/contract/reply.ts";
import { readFrame } from "../../src/contract/streams.ts";
import { readTime } from "../../src/contract/time.ts";
import { parseDurationMs } from "../../src/domain/duration.ts";
import { hideSecrets } from "../../src/domain/hidden-secrets.ts";
import { cleanText } from "../../src/exchange/errors.ts";
import { retryAfterMs } from "../../src/exchange/retry-after.ts";
import { tokensFrom } from "../../src/exchange/tokens.ts";
import { decodeChunk, encodeChunk } from "../../src/history/chunk.ts";
import { RecordingWriter } from "../../src/history/recording-code.ts";
import { RecordingReader } from "../../src/history/recording-reader.ts";
import { encodeRollUps, RollUpTable, StoredRollUps } from "../../src/history/rollup-table.ts";
import { readMarketAccount } from "../../src/ledger/market-account.ts";
import { createLedger, LedgerError } from "../../src/ledger/rpc.ts";
import { readSuite } from "../../src/replay/suite/read.ts";
import { compileMessageTemplate, loadRules } from "../../src/rules/index.ts";
import { settingsFromText } from "../../src/settings.ts";
import { formOf } from "../../src/wallet/challenge-text.ts";
import { BadTransaction, readTransaction } from "../../src/wallet/ledger-transaction.ts";
import { BadChallenge } from "../../src/wallet/transaction.ts";
import { BadKey, walletKeyFromText } from "../../src/wallet/wallet-key.ts";
import { scheduleMs } from "../rules/kit.ts";
import { type Chance, changedBytes, changedJson, changedText } from "./hostile-values.ts";

export interface Parser {
  /** Makes an input. */
  readonly input: (by: Chance) => string | Uint8Array;
  /** @returns false where it says that the input is wrong */
  readonly run: (input: never) => unknown;
  readonly mayThrow?: (error: unknown) => boolean;
  /** It has no way to refuse an input. */
  readonly takesAll?: boolean;
  /** The share of the inputs of a fast parser: some need a thousand times as long. */
  readonly share?: number;
}

const root = new URL("../../", import.meta.url);
const text = (name: string) => readFileSync(new URL(name, root), "utf8");
const examples = new URL("test/contract/examples/", root);
const all = readdirSync(examples).map(
  (name) => [name, parseJson(readFileSync(new URL(name, examples), "utf8"))] as const,
);
const replies = all.filter(([name]) => !/^ws-|-request/.test(name)).map(([, json]) => json);
const frames = all
  .filter(([name]) => /^ws-/.test(name))
  .flatMap(([, json]) => (Array.isArray(json) ? json : [json]));
const session = all.find(([name]) => name === "auth-session.json")![1];
const isSyntax = (error: unknown) => error instanceof SyntaxError;
const isA = (kind: new (...parts: never[]) => Error) => (error: unknown) => error instanceof kind;

/** A declared error of stored bytes: what is broken there is told by whoever reads them. */
const isBroken = (error: unknown) =>
  error instanceof RangeError ||
  (error instanceof Error &&
    (error.constructor === Error || "code" in error || error instanceof SyntaxError));

const json = (of: readonly unknown[]) => (by: Chance) => changedJson(by, of);
const words =
  (...of: readonly string[]) =>
  (by: Chance) =>
    changedText(by, of);
const bytes =
  (...of: readonly Uint8Array[]) =>
  (by: Chance) =>
    changedBytes(by, of);

const challenge = JSON.parse(text("test/wallet/examples/auth-transaction-challenge.json")) as {
  unsigned_transaction: string;
};
const authority = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";
const rules = readdirSync(new URL("rules/", root)).filter(
  (name) => name.endsWith(".yaml") && !name.endsWith(".test.yaml"),
);
const ruleTexts = rules.map((name) => text(`rules/${name}`));
const expressions = [
  "trader.equity < 100.0",
  "position.liquidationDistance < 0.05 && position.notional > 1000.0",
  'maxOver("trader.equity", "1h") - trader.equity > 0.1 * trader.equity',
  'market("BTC").markPrice > 1.0 || wallet.labels.desk == "alpha"',
  "trader.positions.exists(p, p.notional > 1000.0) ? true : false",
];
const poster = new Poster({ who: "Slack", secrets: ["xoxb-0123456789-secret", "aa"], timeoutMs: 1 });
const bearer = Array.from(
  { length: 570 },
  (_, index) => "abcdefgh.ijkl-mnopQRST01"[(index * 7919) % 24],
).join("");
const account = (() => {
  const data = Buffer.alloc(64);
  data.write("410128f1a60e56bc", "hex");
  data.write("SOL", 40);
  data.writeBigUInt64LE(100n, 56);
  return data;
})();

const chunk = encodeChunk(
  Array.from({ length: 40 }, (_, index) => {
    const body = new Uint8Array(new Float64Array([Math.sin(index), index, 1e6 * index]).buffer);
    return { seq: index, atMs: 1_000 * index, body };
  }),
  3,
);
const rollUps = (() => {
  const table = new RollUpTable(2, 60_000);
  for (let at = 0; at < 50; at++) table.addTick(at * 7_000, (index) => at * index);
  return { body: encodeRollUps(table), length: table.length };
})();
const recorded = (() => {
  const writer = new RecordingWriter();
  for (const [index, wallet] of ["a", "b", "a"].entries())
    writer.write({
      kind: "failed",
      atMs: 1_000 * index,
      source: "fills",
      wallet,
      detail: "x".repeat(index),
    } as never);
  return Buffer.from(writer.take());
})();

let answer = "";
const ledger = createLedger({ rpcUrl: "http://127.0.0.1:9/" });
/** The answers of a node come from here. */
export function stubFetch(): void {
  globalThis.fetch = (async () => new Response(answer)) as typeof fetch;
}
const rpcAnswers = [
  {
    jsonrpc: "2.0",
    id: 1,
    result: { context: { slot: 1 }, value: [{ owner: authority, lamports: 1, data: ["", "base64"] }] },
  },
  {
    jsonrpc: "2.0",
    id: 1,
    result: { context: { slot: 1 }, value: { blockhash: authority, lastValidBlockHeight: 10 } },
  },
  {
    jsonrpc: "2.0",
    id: 1,
    result: {
      context: { slot: 1 },
      value: [{ confirmationStatus: "confirmed", err: { InstructionError: [0, { Custom: 1 }] } }],
    },
  },
  {
    jsonrpc: "2.0",
    id: 1,
    result: { context: { slot: 1 }, value: { err: null, logs: ["a"], accounts: [{ lamports: 5 }] } },
  },
  {
    jsonrpc: "2.0",
    id: 1,
    result: {
      context: { slot: 1 },
      value: { owner: authority, data: [account.toString("base64"), "base64"] },
    },
  },
  { jsonrpc: "2.0", id: 1, error: { code: -32_005, message: "behind", data: { numSlotsBehind: 5 } } },
];
let asked = 0;

const press = {
  ...{ id: "1", application_id: "2", token: "t", channel_id: "3", type: 3, message: { id: "9" } },
  ...{ member: { user: { id: "4", username: "anna" }, roles: ["5"] }, channel: { id: "3", parent_id: "6" } },
  data: { custom_id: "pw:ack:12:abc:1", name: "perpwatch", options: [{ name: "x", value: 1 }] },
};
const calendar = [
  ...[
    "BEGIN:VCALENDAR",
    "BEGIN:VEVENT",
    "DTSTART;TZID=Europe/Berlin:20261130T090000",
    "DTEND:20261207T090000Z",
  ],
  ...[
    "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO",
    "SUMMARY:anna",
    "EXDATE:20261214T090000Z",
    "END:VEVENT",
    "END:VCALENDAR",
    "",
  ],
].join("\r\n");

export const parsers: Readonly<Record<string, Parser>> = {
  JSON: { input: json(replies), run: (input: string) => parseJson(input), mayThrow: isSyntax },
  "answers of the exchange": {
    input: json(replies),
    run: (input: string) => {
      const found = parseJson(input);
      let fits = false;
      for (const endpoint of allEndpoints) fits = parseReply(endpoint as never, found).ok || fits;
      return fits;
    },
    mayThrow: isSyntax,
    share: 0.1,
  },
  "frames of streams": {
    input: json(frames),
    run: (input: string) => readFrame(parseJson(input)).kind === "message",
    mayThrow: isSyntax,
  },
  "tokens of sessions": {
    takesAll: true,
    input: json([
      (session as { access_token: string }).access_token,
      "eyJhbGciOiJub25lIn0.eyJleHAiOjE3OTEyMTI0MzB9.x",
    ]),
    run: (input: string) =>
      Number.isFinite(
        tokensFrom({ ...(session as object), access_token: input } as never, 1_791_212_430_000)
          .accessExpiresMs,
      ),
  },
  "Retry-After and times": {
    input: words(
      "120",
      "1.5",
      "Wed, 21 Oct 2026 07:28:00 GMT",
      "2026-10-05T15:00:00.123456789Z",
      "1791212430",
    ),
    run: (input: string) => {
      const ms = retryAfterMs(input, 1_791_212_430_000);
      if (ms !== null && !(ms >= 0 && ms <= 300_000)) throw new TypeError(`Retry-After of ${ms} ms`);
      return readTime(input) !== undefined || ms !== null;
    },
  },
  "durations and decimals": {
    input: words("1h30m", "250ms", "1.5d", "0.25", "-1234.5678", "60400"),
    run: (input: string) =>
      [
        parseDurationMs(input),
        parseDecimal(input, 6),
        parseDecimal(input, -2),
        ticksNearest(input, { tickSize: 100, baseLotsDecimals: 4 }),
      ].some((one) => one !== undefined),
  },
  "answers of the ledger": {
    input: json(rpcAnswers),
    run: async (input: string) => {
      answer = input;
      switch (asked++ % 6) {
        case 0:
          return ledger.latestBlockhash();
        case 1:
          return ledger.blockHeight();
        case 2:
          return ledger.status("1".repeat(64));
        case 3:
          return ledger.accounts([authority]);
        case 4:
          return ledger.simulate("AQID", [authority]);
        default:
          return ledger.accountHead(authority, 64);
      }
    },
    mayThrow: isA(LedgerError),
  },
  "accounts of the ledger": {
    input: bytes(account),
    run: (input: Uint8Array) =>
      readMarketAccount("a", { owner: "EtrnLzgbS7nMMy5fbD42kXiUzGg8XQzJ972Xtk1cjWih", data: input }),
    mayThrow: isA(LedgerError),
  },
  transactions: {
    input: bytes(Buffer.from(challenge.unsigned_transaction, "base64")),
    run: (input: Uint8Array) => readTransaction(Buffer.from(input).toString("base64")),
    mayThrow: isA(BadTransaction),
  },
  "login texts": {
    input: words(
      `Sign in to the exchange\nwallet:${authority}\nnonce:9b4f0b8a2c\nexpires:2026-10-05T15:05:00Z`,
    ),
    run: (input: string) =>
      formOf({ text: input, nonceId: "nonce-0001", address: authority, nowMs: 1_791_212_430_000 }),
    mayThrow: isA(BadChallenge),
  },
  "key files": {
    input: words(
      JSON.stringify(Array.from({ length: 64 }, (_, index) => index)),
      "4".repeat(87),
      "1".repeat(44),
    ),
    run: (input: string) => walletKeyFromText(input),
    mayThrow: isA(BadKey),
  },
  configuration: {
    input: words(
      text("config.example.yaml").slice(0, 9_000),
      `wallets: [{ name: a, authority: ${authority} }]\nchannels: { here: { type: console } }\nrules: []\n`,
    ),
    run: (input: string) =>
      "settings" in settingsFromText(input, { file: "config.yaml", folder: "/nowhere", env: { A: "b" } }),
    share: 0.01,
  },
  rules: {
    input: words(...ruleTexts.map((one) => one.slice(0, 4_000))),
    run: (input: string) =>
      "ruleSet" in
      loadRules({
        files: [{ name: "my.yaml", text: input }],
        overrides: {},
        scheduleMs,
        wallets: [],
        timezone: "UTC",
      } as never),
    share: 0.01,
  },
  expressions: {
    input: words(...expressions),
    run: (input: string) =>
      "ruleSet" in
      loadRules({
        files: [
          {
            name: "my.yaml",
            text: `rules: [{ name: R, scope: position, severity: info, summary: s, when: ${JSON.stringify(input)} }]`,
          },
        ],
        ...{ overrides: {}, scheduleMs, wallets: [], timezone: "UTC" },
      } as never),
    share: 0.02,
  },
  templates: {
    input: words(
      "{{ alert.symbol }} {{ position.side }} {{ usd(position.notional) }}",
      "well after {{ duration(alert.lasted) }}",
      "{{ ago(alert.at) }} {{ alert.description }}",
    ),
    run: (input: string) => compileMessageTemplate(input, 500, "UTC", () => {}) !== undefined,
    share: 0.1,
  },
  "rule tests": {
    input: words(
      "rules: [./a.yaml]\ntests:\n  - name: x\n    series: [{ at: 'position[SOL].size', values: '1+2x3 _ 4' }]\n    expect: [{ at: 1m, rule: R, fires: critical }]\n",
    ),
    run: (input: string) => "suite" in readSuite("a.test.yaml", input),
    share: 0.05,
  },
  cron: {
    input: words("0 */5 * * * *", "0 0 8 * * 1", "0 0 9 1 jan mon-fri"),
    run: (input: string) => cronProblem(input, "UTC") === null,
    share: 0.1,
  },
  "rota calendars": {
    input: words(calendar),
    run: (input: string) => readCalendar(input, ["anna", "ben"], "UTC").mistakes.length === 0,
    share: 0.1,
  },
  "answers of Slack": {
    takesAll: true,
    input: json([
      { ok: true, ts: "1.2", channel: "C1" },
      { ok: false, error: "ratelimited" },
      "invalid_token",
    ]),
    run: (input: string) =>
      judge(
        { kind: "answer", status: 200, headers: { "retry-after": input.slice(0, 40) }, text: input },
        poster,
      ).error === null,
  },
  "presses in Discord": {
    input: json([press, { ...press, type: 2 }]),
    run: (input: string) => readInteraction(parseJson(input), "3") !== null,
    mayThrow: isSyntax,
  },
  "ids of buttons": {
    input: words("pw:ack:12:abc:1", "pw:all:abcdefghij:1", "pw:mute:1:a:8:critical"),
    run: (input: string) => readPress(input) !== null,
  },
  "words of services": {
    input: words(
      "535 5.7.8 not AGEAYQ== %41%42 \\u0041\\u0042 61:62:63:64 <@U1> https://a.b/c?d=e",
      "**bold** `code` @everyone # head",
    ),
    run: (input: string) => {
      withoutSecrets(input, ["s3cret-of-some-length", "ab", "üü€"]);
      forDiscord(clean(input), 500);
      forHtml(input);
      return safeLink(input) !== null;
    },
  },
  "texts of refusals": {
    takesAll: true,
    input: words(
      ...["a", "\\", "\\u0041", "🏴\u{e0041}", "ab ", "61:", "%41", "a.b-"].map((part) =>
        part.repeat(50_000),
      ),
    ),
    run: (input: string) => {
      hideSecrets(input.slice(0, 16_384), [bearer]);
      return cleanText(input, [bearer]).length <= 201;
    },
    share: 0.1,
  },
  "questions in chats": {
    input: words("SOL=120", "SOL=-10%", "BTC=12.5", "SOL"),
    run: (input: string) => [readPrice(input, ["SOL", "BTC"]), readClosing(input, ["SOL", "BTC"])],
    mayThrow: isA(BadQuestion),
  },
  matchers: {
    input: words("wallet=main", "severity=warning,info", "wallet=~mm-.*", "symbol!~X.*"),
    run: (input: string) => !isWrong(parseMatchers([input])),
    share: 0.1,
  },
  "stored chunks": {
    input: bytes(chunk),
    run: (input: Uint8Array) => decodeChunk(input, 40, 3),
    mayThrow: isBroken,
  },
  "stored roll-ups": {
    input: bytes(rollUps.body),
    run: (input: Uint8Array) => new StoredRollUps(input, rollUps.length, 2, 60_000).series(1),
    mayThrow: isBroken,
  },
  recordings: {
    input: bytes(recorded),
    run: (input: Uint8Array) => [...new RecordingReader().read(Buffer.from(input))],
    mayThrow: isBroken,
  },
};
