/**
 * The whole product as its users run it: the simulated exchange and the daemon as processes on the real clock, a real
 * mail server with TLS, a Discord that the real discord.js speaks to. Moved by control calls.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { base58 } from "@scure/base";
import { expect, onTestFailed, test } from "vitest";
import { colours } from "../../src/channels/discord/render.ts";
import { temporaryFolder } from "../history/folder.ts";
import { type DiscordMessage, startDiscord } from "../support/discord.ts";
import { exchangeControls, startExchange } from "../support/exchange-program.ts";
import { followLink } from "../support/page.ts";
import { startProgram } from "../support/program.ts";
import { type ReceivedMail, startSmtp } from "../support/smtp.ts";

/** The patience of tests: a step of a second takes a busy machine longer. */
const patienceMs = 40_000;
const password = "smtp-pa55word-never-to-be-shown";

/** Every writing of a wallet's secret key that might turn up somewhere. */
function writings(keyFile: string): string[] {
  const bytes = Uint8Array.from(JSON.parse(readFileSync(keyFile, "utf8")) as number[]);
  return [bytes, bytes.subarray(0, 32)].flatMap((part) => [
    [...part].join(","),
    [...part].join(", "),
    base58.encode(part),
    Buffer.from(part).toString("hex"),
    Buffer.from(part).toString("base64").replace(/=+$/, ""),
    Buffer.from(part).toString("base64url"),
    Buffer.from(part).toString("latin1"),
  ]);
}

const idIn = ({ messageId }: ReceivedMail) => /^<([^@]+)@example\.org>$/.exec(messageId)?.[1];
const idOf = ({ embeds }: DiscordMessage) => embeds[0]?.footer?.text.split(" · ").at(-1);

test("a falling price is told on Discord and by email, its end too, and what was handled is acknowledged", {
  timeout: 180_000,
}, async () => {
  using folder = temporaryFolder();
  await using discord = await startDiscord();
  await using smtp = await startSmtp({ tls: "starttls", auth: { user: "watch", password } });
  const exchange = await startExchange(folder.path);
  await using _exchange = exchange.program;
  const { call, notifications } = exchangeControls(exchange.url);
  const [main, other] = exchange.traders;
  const { authority } = main!;
  const SOL = (price: string) => call("mark-price", { symbol: "SOL", price });

  await call("position", { authority, symbol: "BTC", size: "0" });
  await call("position", { authority, symbol: "ETH", size: "0" });
  await call("mark-price", { symbol: "ETH", price: "3010" });
  await SOL("150");
  await call("collateral", { authority, amount: "4000" });
  await call("position", { authority, symbol: "SOL", size: "100", entryPrice: "150" });

  writeFileSync(path.join(folder.path, "ca.pem"), smtp.ca);
  const every = ["traderState", "markets", "notifications", "liquidations", "collateral", "orders", "fills"];
  writeFileSync(
    path.join(folder.path, "config.yaml"),
    [
      `exchange: { baseUrl: "${exchange.url}", requestsPerSecond: 100 }`,
      "wallets:",
      `  - { name: main, keyFile: "${main!.keyFile}", labels: { desk: alpha } }`,
      `  - { name: watched, authority: ${other!.authority} }`,
      "schedules:",
      ...every.map((source) => `  ${source}: { every: 1s }`),
      "history: { path: ./perpwatch.db }",
      "rules: [shipped:liquidation-risk, shipped:notifications]",
      "ruleOverrides: { LiquidationNear: { keepFiringFor: 1s } }",
      "channels:",
      `  chat: { type: discord, token: "\${DISCORD_TOKEN}", channelId: "${discord.channelId}", apiUrl: "${discord.apiUrl}" }`,
      "  mail:",
      "    type: email",
      `    smtp: { host: ${smtp.host}, port: ${smtp.port}, secure: starttls, caFile: ca.pem, user: watch, password: "\${SMTP_PASSWORD}" }`,
      "    from: perpwatch <perpwatch@example.org>",
      "    to: [me@example.org]",
      "routing: { receivers: [chat, mail] }",
      "acknowledge: { types: { order_filled: whenDelivered } }",
      "dashboard: { listen: 127.0.0.1:0 }",
      "",
    ].join("\n"),
  );
  const config = path.join(folder.path, "config.yaml");
  await using daemon = startProgram(["start", "--config", config, "--log-level", "debug"], {
    env: { DISCORD_TOKEN: discord.token, SMTP_PASSWORD: password },
  });
  onTestFailed(() => console.log(`the daemon's log:\n${daemon.stderr.join("\n")}`));
  await daemon.line((line) => line.includes("watching main, watched"));
  await discord.gateway.waitForSession(({ open }) => open, patienceMs);

  // A price that carries the position next to its liquidation.
  await SOL("117.5");
  const [mail, message] = await Promise.all([
    smtp.waitForMail(({ subject }) => subject.includes("SOL"), patienceMs),
    discord.waitForMessage(({ text }) => text.includes("SOL"), patienceMs),
  ]);
  const summary = /main: SOL long is (\d\.\d+)% from liquidation/;
  expect(mail.subject).toMatch(/^FIRING critical: main: SOL long is \d\.\d+% from liquidation \(#1\)$/);
  expect(Number(summary.exec(mail.subject)?.[1])).toBeLessThan(5);
  expect(mail).toMatchObject({
    from: "perpwatch@example.org",
    to: ["me@example.org"],
    secure: true,
    user: "watch",
  });
  expect(mail.text).toMatch(
    /\(\$11,750(?:\.00)?\) · Mark price: \$117\.50* · Liquidation price: \$1\d\d\.\d+/,
  );
  expect(mail.text).toMatch(/^Now: sell [\d.]+ SOL reduce-only, or deposit \S+ to main\/0\.0: /m);
  expect(mail.text).toMatch(/on data (less than a second|[\d.]+s) old/);
  expect(mail.html).toContain("SOL long is");
  expect(idIn(mail)).toMatch(/^[1-9A-HJ-NP-Za-km-z]{16,22}$/);
  expect(mail.text.trimEnd().endsWith(` ${idIn(mail)}`)).toBe(true);
  expect(mail.headers.get("in-reply-to")).toBeUndefined();

  expect(message).toMatchObject({ via: "bot", channelId: discord.channelId, replyTo: null });
  expect(message.content).toMatch(
    /^🔴 \*\*FIRING critical: main: SOL long is \d\.\d+% from liquidation\*\* \(#1\)$/,
  );
  expect(message.embeds[0]?.color).toBe(colours.critical);
  expect(message.embeds[0]?.description).toMatch(/^Now: sell /m);
  expect(message.nonce).toBe(idOf(message));
  expect(message.nonce).toMatch(/^[1-9A-HJ-NP-Za-km-z]{16,22}$/);
  expect(message.nonce).not.toBe(idIn(mail));

  // It recovers: the same thread says so.
  await SOL("150");
  const [endingMail, ending] = await Promise.all([
    smtp.waitForMail(({ subject }) => subject.startsWith("RESOLVED"), patienceMs),
    discord.waitForMessage(({ channelId }) => channelId === message.id, patienceMs),
  ]);
  expect(endingMail.subject).toMatch(/^RESOLVED: main: SOL long is \d\d\.\d+% from liquidation \(#1\)$/);
  expect(endingMail.headers.get("in-reply-to")).toBe(mail.messageId);
  expect(endingMail.headers.get("references")).toMatch(
    new RegExp(`^<thread\\.\\w+@example\\.org> ${mail.messageId}$`),
  );
  expect(endingMail.messageId).not.toBe(mail.messageId);
  expect(endingMail.text).toMatch(/Fired .* UTC, lasted/);
  expect(ending.content).toMatch(/^🟢 \*\*RESOLVED: main: SOL long/);
  expect(ending.embeds[0]?.color).toBe(colours.good);
  await discord.waitForMessage(
    ({ id, content }) => id === message.id && content.includes("RESOLVED"),
    patienceMs,
  );
  expect(message.content).toMatch(
    /^🟢 \*\*RESOLVED .* UTC\*\*\n~~FIRING critical: main: SOL long .*~~ \(#1\)$/,
  );
  expect(message.embeds[0]?.color).toBe(colours.good);

  // A fill is acknowledged to the exchange once both channels have told it: the mail server is unwell at first.
  const fills = async () =>
    (await notifications(authority)).filter((one) => one.notificationType === "order_filled");
  const unwell = smtp.fail({ at: "data", code: 451, times: 100 });
  await call("order", { authority, symbol: "ETH", side: "bid", price: "2990", size: "0.1" });
  await call("mark-price", { symbol: "ETH", price: "2985" });
  const chatted = await discord.waitForMessage(({ text }) => text.includes("order filled"), patienceMs);
  expect(chatted.content).toMatch(/^🔵 \*\*INFO: main: order filled: bought 0\.1 ETH at /);
  await expect.poll(() => unwell.left(), { timeout: patienceMs }).toBeLessThan(99);
  expect(await fills()).toMatchObject([{ ackedMs: null }]);
  smtp.clearFaults();
  await smtp.waitForMail(({ subject }) => subject.includes("order filled"), patienceMs);
  await expect.poll(fills, { timeout: patienceMs }).toMatchObject([{ ackedMs: expect.any(Number) }]);

  // What a person has to see is told, and stays unacknowledged until a person says so.
  await call("notification", { authority, notificationType: "spot_collateral_liquidation" });
  const sold = await smtp.waitForMail(({ subject }) => subject.includes("sold spot collateral"), patienceMs);
  await discord.waitForMessage(({ text }) => text.includes("sold spot collateral"), patienceMs);
  const soldState = async () =>
    (await notifications(authority)).find((one) => one.notificationType === "spot_collateral_liquidation");
  expect(await soldState()).toMatchObject({ ackedMs: null });
  const alertId = /\(#(\d+)\)$/.exec(sold.subject)?.[1] ?? "";
  const acknowledge = startProgram(["alerts", "ack", alertId, "--config", config], {
    env: { DISCORD_TOKEN: discord.token, SMTP_PASSWORD: password },
  });
  expect(await acknowledge.ended).toEqual({ status: 0, signal: null });
  await expect.poll(soldState, { timeout: patienceMs }).toMatchObject({ ackedMs: expect.any(Number) });

  // One message for each of these on each channel, and nothing else.
  expect(smtp.mails.map(({ subject }) => subject)).toHaveLength(4);
  expect(discord.messages.map(({ content }) => content)).toHaveLength(4);

  const page = /status page (http:\/\/[\d.:]+)/.exec(daemon.stderr.join("\n"))?.[1];
  expect((await fetch(`${page}/api/v1/status`)).status).toBe(401);
  const asked = startProgram(["page", "--config", config], { env: { DISCORD_TOKEN: discord.token } });
  await asked.ended;
  const [link] = asked.stdout;
  const headers = await followLink(link!);
  const pages = await Promise.all(
    ["/", "/api/v1/status", "/metrics"].map(async (at) => (await fetch(`${page}${at}`, { headers })).text()),
  );
  expect(pages[1]).toContain('"main"');

  const toldMs = performance.now();
  expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
  expect(performance.now() - toldMs).toBeLessThan(10_000);
  expect(await exchange.program.end("SIGTERM")).toEqual({ status: 0, signal: null });

  // Nothing secret was printed, served, sent, or stored in clear.
  const database = readdirSync(folder.path).filter((name) => name.startsWith("perpwatch.db"));
  expect(database.length).toBeGreaterThan(0);
  const shown = new Map<string, string>([
    ["stdout", daemon.stdout.join("\n")],
    ["stderr", daemon.stderr.join("\n")],
    ["command", [...acknowledge.stdout, ...acknowledge.stderr].join("\n")],
    ["pages", pages.join("\n")],
    ["mails", smtp.mails.map(({ raw, text }) => `${raw}\n${text}`).join("\n")],
    ["messages", discord.messages.map(({ text }) => text).join("\n")],
    ...database.map((name) => [name, readFileSync(path.join(folder.path, name), "latin1")] as const),
  ]);
  const login = [new URL(link!).hash.replace("#login=", ""), headers.cookie.replace(/^.*=/, "")];
  const secrets = [...writings(main!.keyFile), discord.token, password, ...login];
  // Of tokens of sessions only their form is known here.
  const jwt = /eyJ[\w-]{10,}\.[\w-]+\.[\w-]+/;
  for (const [where, text] of shown) {
    for (const secret of secrets) expect(text.includes(secret), `a secret in ${where}`).toBe(false);
    expect(jwt.exec(text)?.[0], `a token in ${where}`).toBeUndefined();
  }
});
