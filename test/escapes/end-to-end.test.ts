/** An exchange whose texts and symbols hold control, direction and invisible characters: all that people read shows them as escapes. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text as wholeText } from "node:stream/consumers";
import { expect, onTestFailed, test } from "vitest";
import { startSimulator } from "../../src/simulator/index.ts";
import { desk, run } from "../cli/run.ts";
import { startDiscord } from "../support/discord.ts";
import { exchangeControls } from "../support/exchange-program.ts";
import { startProgram } from "../support/program.ts";
import { startService } from "../support/service.ts";
import { startSmtp } from "../support/smtp.ts";
import { telegramDialect } from "../support/telegram.ts";

/** A symbol of a market, and a text, of an exchange that means no good. */
const symbol = "S\u001b[2JO\u202eL\u200b\nX";
const shownSymbol = "S\\u001b[2JO\\u202eL\\u200b\\nX";
const title = "Pause\u001b[2J\u202e\u200b\nALL CLEAR";
const shownTitle = "Pause\\u001b[2J\\u202e\\u200b\\nALL CLEAR";
/** Invisible spaces that channels put in themselves stand behind @, : or . and are none of these. */
const raw = /(?!\n)\p{Cc}|[\u202a-\u202e]|L\u200b|e\u200b|\n(?:X|ALL CLEAR)/u;

/** Passes requests on to an exchange, whose market SOL has the symbol of this test. */
async function renaming(url: string) {
  const server = createServer(async (request, response) => {
    const at = (request.url ?? "").replaceAll(encodeURIComponent(symbol), "SOL");
    const { authorization, "content-type": type } = request.headers;
    const body = request.method === "GET" ? undefined : await wholeText(request);
    const answer = await fetch(`${url}${at}`, {
      method: request.method ?? "GET",
      headers: { ...(authorization && { authorization }), ...(type && { "content-type": type }) },
      ...(body === undefined || body === "" ? {} : { body }),
    });
    const text = (await answer.text()).replaceAll('"SOL"', JSON.stringify(symbol));
    const date = answer.headers.get("date");
    response.writeHead(answer.status, {
      "content-type": answer.headers.get("content-type") ?? "application/json",
      ...(date === null ? {} : { date }),
    });
    response.end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

test("a symbol and a notification reach every reader escaped, and no raw character does", {
  timeout: 120_000,
}, async () => {
  using place = desk();
  const simulator = await startSimulator({
    port: 0,
    traders: 1,
    walk: false,
    activity: false,
    keysDir: place.folder,
  });
  await using _simulator = { [Symbol.asyncDispose]: () => simulator.stop() };
  await using exchange = await renaming(simulator.url);
  await using discord = await startDiscord();
  await using smtp = await startSmtp();
  const token = "123456:a-token-of-the-telegram-bot";
  await using telegram = await startService(telegramDialect(token, -100_123));
  const { call } = exchangeControls(simulator.url);
  const [main] = simulator.traders;
  const { authority } = main!;
  for (const other of ["BTC", "ETH"]) await call("position", { authority, symbol: other, size: "0" });
  await call("mark-price", { symbol: "SOL", price: "150" });
  await call("collateral", { authority, amount: "4000" });
  await call("position", { authority, symbol: "SOL", size: "100", entryPrice: "150" });
  place.write(
    "config.yaml",
    [
      `exchange: { baseUrl: "${exchange.url}", requestsPerSecond: 1000, streams: off }`,
      `wallets: [ { name: main, keyFile: "${main!.keyFile}" } ]`,
      "schedules: { traderState: { every: 1s }, markets: { every: 1s }, notifications: { every: 1s } }",
      "history: { path: ./p }",
      "rules: [ shipped:liquidation-risk, shipped:notifications ]",
      "channels:",
      "  here: { type: console }",
      `  chat: { type: discord, webhookUrl: "${discord.webhookUrl}" }`,
      `  mail: { type: email, smtp: { host: ${smtp.host}, port: ${smtp.port}, secure: false }, from: p@example.org, to: [me@example.org] }`,
      `  phone: { type: telegram, token: "${token}", chatId: -100123, apiUrl: "${telegram.url}" }`,
      "routing: { receivers: [ here, chat, mail, phone ] }",
      "dashboard: { listen: off }",
      "",
    ].join("\n"),
  );
  await using daemon = startProgram(["start", "--log-level", "debug", "--log-format", "pretty"], place);
  onTestFailed(() => console.log(JSON.stringify([...daemon.stderr, ...daemon.stdout], null, 1)));
  await daemon.line((line) => line.includes("signed in by message"));
  await call("mark-price", { symbol: "SOL", price: "117.5" });
  await call("notification", {
    source: "admin",
    notificationType: "maintenance",
    title,
    body: `At six. ${title}`,
  });

  const wanted = [shownSymbol, shownTitle];
  await smtp.waitForMail((mail) => mail.subject.includes(shownSymbol), 30_000);
  for (const text of wanted) {
    await daemon.line((line) => line.startsWith("[") && line.includes(text));
    await smtp.waitForMail((mail) => mail.text.includes(text), 30_000);
    // Discord and Telegram show a backslash and a bracket by escapes of their own.
    const inMarkdown = text.replaceAll("\\", "\\\\").replaceAll("[", "\\[");
    await discord.waitForMessage((message) =>
      JSON.stringify(message.embeds).includes(JSON.stringify(inMarkdown).slice(1, -1)),
    );
    await expect.poll(() => telegram.taken.join("\n"), { timeout: 30_000 }).toContain(text);
  }
  const status = await run(["status"], place);
  const listed = await run(["notifications", "list"], place);
  const alerts = await run(["alerts"], place);
  expect(status.stdout).toContain(shownSymbol);
  expect(listed.stdout).toContain(shownTitle);
  expect(alerts.stdout).toContain(shownSymbol);
  const everything: Record<string, string> = {
    status: status.stdout,
    "status --json": (await run(["status", "--json"], place)).stdout,
    list: listed.stdout,
    "list --json": (await run(["notifications", "list", "--json"], place)).stdout,
    alerts: alerts.stdout,
    show: (await run(["alerts", "show", "1"], place)).stdout,
    explain: (await run(["rules", "explain", "LiquidationNear"], place)).stdout,
    log: daemon.stderr.join("\n"),
    console: daemon.stdout.join("\n"),
    ...Object.fromEntries(
      smtp.mails.flatMap((mail, i) => [
        [`subject ${i}`, mail.subject],
        [`mail ${i}`, mail.text],
        [`html ${i}`, mail.html ?? ""],
      ]),
    ),
    discord: discord.messages
      .flatMap(({ text, embeds }) => [text, ...strings(embeds)])
      .join("\u0000")
      .replaceAll("\u0000", " | "),
    telegram: telegram.taken.join(" | "),
  };
  for (const [where, text] of Object.entries(everything)) expect(raw.exec(text)?.[0], where).toBeUndefined();
});

/** All texts in a value. */
function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(strings) : [];
}
