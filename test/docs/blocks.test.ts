/**
 * Every code block of README and docs is run or loaded as a reader would: here, or in the test that is named beside it. What
 * needs somebody else's account, the network or a person is listed with the reason.
 */
import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { formatConfigProblem, settingsFromText } from "../../src/daemon/settings.ts";
import { startSimulator } from "../../src/simulator/index.ts";
import { desk, run } from "../cli/run.ts";
import { authority, configFolder, oneRule } from "../config/config-folder.ts";
import { startProgram } from "../support/program.ts";

const root = path.join(import.meta.dirname, "..", "..");
const pages = [
  "README.md",
  ...["docs", "docs/channels"].flatMap((folder) =>
    readdirSync(path.join(root, folder))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${folder}/${name}`),
  ),
];

interface Block {
  readonly page: string;
  readonly language: string;
  readonly text: string;
  /** `README.md: rules:` */
  readonly name: string;
}

/** Without the indentation of the list that they stand in. */
function blocksOf(page: string): readonly Block[] {
  const found = readFileSync(path.join(root, page), "utf8").matchAll(/^( *)```([a-z]+)\n([\s\S]*?)^ *```$/gm);
  return [...found].map(([, indent, language, whole]) => {
    const text = whole!.replaceAll(new RegExp(`^${indent}`, "gm"), "");
    return { page, language: language!, text, name: `${page}: ${text.split("\n")[0]!.replace(/ +#.*/, "")}` };
  });
}

const blocks = pages.flatMap(blocksOf);

/** Run elsewhere: by page and language, or by the first line. */
const elsewhere: readonly (readonly [pattern: RegExp, test: string])[] = [
  [/^README\.md: (npm start|\[12:51:25\])/, "cli/demo.test.ts"],
  [
    /^README\.md: # my-rules\/margin|^README\.md: # config\.yaml$|^README\.md: ruleOverrides:/,
    "docs/readme-rules.test.ts",
  ],
  [/^README\.md: perpwatch wallet import /, "cli/wallet-keystore.test.ts"],
  [/^README\.md: perpwatch rules /, "docs/readme-rules.test.ts"],
  [
    /^README\.md: (# try\.yaml$|# my-rules\/near|perpwatch (simulate|start) |curl |FIRING warning)/,
    "docs/readme-simulator.test.ts",
  ],
  [/^README\.md: rules:/, "docs/rules.test.ts"],
  [/^docs\/rules\.md: (rules|values):/, "docs/rules.test.ts"],
  [/^docs\/rule-tests\.md: (tests:|FAILED)/, "docs/rule-tests.test.ts"],
  [/^docs\/templates\.md: (FIRING|SOL is)/, "docs/templates.test.ts"],
  [/^docs\/messages\.md: /, "docs/messages.test.ts"],
  [/^docs\/channels\/webhook\.md: \{/, "docs/channels.test.ts"],
  [/^docs\/channels\/oncall\.md: #!/, "channels/goalert.test.ts"],
  [/^docs\/channels\/rota\.md: BEGIN/, "config/rotas.test.ts"],
  [/^docs\/page\.md: perpwatch /, "cli/page.test.ts"],
  [/^docs\/library\.md: (?!npm pack)/, "exports/exports.test.ts"],
  [/^docs\/channels\/rota\.md: npm run -s perpwatch -- rota/, "cli/rota.test.ts"],
];

/** Run by nobody, and why. */
const notRun: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [
    /^README\.md: npm run -s perpwatch -- wallet import/,
    "asks for a secret on a terminal (cli/consent.test.ts)",
  ],
  [/^README\.md: sudo perpwatch service/, "needs systemd, and root (cli/service.test.ts, sandbox/)"],
  [/^README\.md: perpwatch onboard /, "signs at a ledger, and needs a referral (cli/onboard.test.ts)"],
  [
    /^docs\/rule-tests\.md: +- MarginMine judged/,
    "two lines out of what is printed (cli/rule-tests.test.ts)",
  ],
  [/^docs\/page\.md: server \{/, "needs nginx"],
  [/^docs\/library\.md: npm pack/, "asks a registry for libraries (exports/exports.test.ts does without)"],
  [/^docs\/channels\/command\.md: #!\/bin\/sh/, "needs jq and wall"],
  [
    /^docs\/channels\/(?!console)[a-z]+\.md: npm run -s perpwatch -- check --online/,
    "needs the service, and mostly an account of it (test/channels/)",
  ],
];

const isSettings = ({ language, text }: Block) =>
  language === "yaml" && !/^(rules|values|tests|wallets):\n +- \{? ?name: \w+\n/m.test(text);
const shellHere =
  /^docs\/rule-tests\.md: \$ |^docs\/channels\/console\.md: npm run |^README\.md: (install -m 600 config|npm run -s perpwatch -- check|perpwatch (history|silence|stop-loss|api) )/;
const isElsewhere = ({ name }: Block) => elsewhere.some(([pattern]) => pattern.test(name));
const settingsBlocks = blocks.filter((block) => isSettings(block) && !isElsewhere(block));
const shellBlocks = blocks.filter(({ name }) => shellHere.test(name));

test("each block is run or loaded, or has a reason why not", () => {
  const told = blocks.map((block) => {
    const ways = [
      ...elsewhere.filter(([pattern]) => pattern.test(block.name)),
      ...notRun.filter(([pattern]) => pattern.test(block.name)),
      ...(settingsBlocks.includes(block) ? ["settings"] : []),
      ...(shellBlocks.includes(block) ? ["shell"] : []),
    ];
    return `${block.name}: ${ways.length}`;
  });
  expect(told.filter((one) => !one.endsWith(": 1"))).toEqual([]);
  for (const [pattern, what] of [...elsewhere, ...notRun])
    expect(
      blocks.some(({ name }) => pattern.test(name)),
      what,
    ).toBe(true);
  for (const [, file] of elsewhere) readFileSync(path.join(root, "test", file));
});

/** The rest of a configuration, as a reader of these pages has it already. */
const usual: Readonly<Record<string, string>> = {
  wallets: `wallets: [{ name: main, authority: ${authority} }, { name: hedge, authority: 8Xk4b2nUo7QwqVf3mT1pZr6cYh5dLs9eJg2aNu4iRt7K }]`,
  channels:
    "channels: { here: { type: console }, chat: { type: console }, mail: { type: console }, phone: { type: console } }",
  rules: "rules: [shipped, own.yaml]",
};

describe("settings are taken as they stand", () => {
  test.each(settingsBlocks.map((block) => [block.name, block.text] as const))("%s", (_, text) => {
    using at = configFolder();
    at.write("own.yaml", oneRule);
    at.key("keys/main.json", 1);
    at.keystore("keystore.json", [authority]);
    for (const { text: ics } of blocks.filter(({ language }) => language === "ics"))
      at.write("oncall.ics", ics);
    at.write("page-password", passwordHash);
    at.write("discord.url", `https://discord.com/api/webhooks/123456789012345678/${"w".repeat(20)}`);
    for (const name of new Set([...text.matchAll(/\w*[fF]ile: "?(\.\/[\w./-]+)/g)].map(([, file]) => file!)))
      if (!/discord\.url|page-password|\/keys\//.test(name))
        at.write(name, /url|heartbeat/.test(name) ? "https://example.com/x\n" : `${"t".repeat(40)}\n`);
    const keys = [...text.matchAll(/^(\w+):/gm)].map(([, key]) => key!);
    // A channel is added to those that are there.
    const more = ["here", "chat", "mail", "phone"].filter(
      (name) => !new RegExp(`^  ${name}:`, "m").test(text),
    );
    const channels = more.map((name) => `  ${name}: { type: console }\n`).join("");
    const rest = Object.entries(usual).flatMap(([key, line]) => (keys.includes(key) ? [] : [line]));
    const whole = [text.replace(/^channels:\n/m, `channels:\n${channels}`), ...rest, ""].join("\n");
    const env = Object.fromEntries(
      [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [name!, secretOf(name!)]),
    );
    const result = settingsFromText(whole, { file: "config.yaml", folder: at.path, env });
    if ("problems" in result) throw new Error(result.problems.map(formatConfigProblem).join("\n"));
  });
});

/** The hash of a password that nobody knows. */
const passwordHash = `scrypt$32768$8$3$${"A".repeat(22)}$${"B".repeat(43)}`;

/** Something of the form of each secret. */
function secretOf(name: string): string {
  if (/^DISCORD_WEBHOOK/.test(name))
    return `https://discord.com/api/webhooks/123456789012345678/${"w".repeat(20)}`;
  if (name === "SLACK_WEBHOOK_URL") return "https://hooks.slack.com/services/T0/B0/x";
  if (name === "SLACK_TOKEN") return "xoxb-0123456789-abcdef";
  if (name === "SLACK_APP_TOKEN") return "xapp-1-A1-0123456789";
  if (name.startsWith("PUSHOVER_")) return "p".repeat(30);
  if (name === "TELEGRAM_TOKEN") return `123456789:${"t".repeat(35)}`;
  if (name === "LEDGER_RPC_URL") return "http://127.0.0.1:8899/rpc";
  return "s".repeat(32);
}

test("what is typed does what it says, beside a daemon at a simulated exchange", async () => {
  using at = desk();
  const simulator = await startSimulator({
    port: 0,
    walk: false,
    traders: 2,
    keysDir: path.join(at.folder, "keys"),
  });
  try {
    for (const name of ["rules", "config.example.yaml"])
      symlinkSync(path.join(root, name), path.join(at.folder, name));
    const [trader] = simulator.traders;
    // As in README's demo: long, with the mark above the trigger of the stop loss.
    await simulator.call("mark-price", { symbol: "SOL", price: "150" });
    const position = { symbol: "SOL", size: "20", entryPrice: "150" };
    await simulator.call("position", { trader: trader!.name, ...position });
    at.write(
      "config.yaml",
      [
        `exchange: { baseUrl: ${simulator.url} }`,
        `ledger: { rpcUrl: ${simulator.url}/rpc }`,
        `wallets: [{ name: main, keyFile: ${trader!.keyFile} }]`,
        "channels: { here: { type: console }, chat: { type: console } }",
        "history: { path: ./perpwatch.db }",
        "dashboard: { listen: off }",
        "rules: [shipped, ./seen.yaml]",
        "",
      ].join("\n"),
    );
    at.write(
      "my.test.yaml",
      'rules: seen.yaml\ntests:\n  - { name: data, series: { main/0.0: { equity: "5 5" } }, expect: [{ at: 5s, alerts: [{ rule: Seen, subject: main/0.0 }] }] }\n',
    );
    // Word that the account was read.
    at.write(
      "seen.yaml",
      'rules: [{ name: Seen, scope: trader, when: trader.equity > 0, severity: info, summary: "seen {{ wallet.name }}" }]\n',
    );
    await using daemon = startProgram(["start"], { folder: at.folder });
    await daemon.line((line) => line.includes("seen main"));
    const failed: unknown[] = [];
    for (const { text } of shellBlocks)
      for (const line of text.trim().split("\n")) {
        const [command, into] = line.replace(/ +# .*/, "").split(" > ");
        if (/^(cp|install) /.test(command!)) continue;
        const words = wordsOf(command!.replace(/^(npm run -s perpwatch --|\$ perpwatch) /, "perpwatch "));
        // Nobody can be asked here.
        if (words.includes("--sign")) words.push("--yes");
        expect(words.shift()).toBe("perpwatch");
        const { status, stdout, stderr } = await run(words, { folder: at.folder });
        if (status !== 0) failed.push({ line, status, stdout: stdout.slice(-600), stderr });
        else if (into === "tx.txt") expect(stdout, line).not.toBe("");
      }
    expect(failed).toEqual([]);
  } finally {
    await simulator.stop();
  }
}, 120_000);

/** As a shell splits them. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, plain]) => double ?? single ?? plain!,
  );
}
