/**
 * An alert that is answered from the phone: the daemon as a process, with a Telegram chat, a Slack channel and Pushover at once. Whoever
 * answers first, the others learn of it where they are.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFailed, test } from "vitest";
import type { AlertStory } from "../../src/domain/ports.ts";
import { temporaryFolder } from "../history/folder.ts";
import { exchangeControls, startExchange } from "../support/exchange-program.ts";
import { startProgram } from "../support/program.ts";
import { Pushover } from "../support/pushover.ts";
import { startService } from "../support/service.ts";
import { SlackChannel } from "../support/slack.ts";
import { startSlackSockets } from "../support/slack-sockets.ts";
import { TelegramChat } from "../support/telegram.ts";

const patienceMs = 40_000;
const telegramToken = "123456789:AAF-telegram-token-never-shown";
const slackToken = "xoxb-0123456789-never-shown";
const appToken = "xapp-1-A1-0123456789-never-shown";
const pushoverToken = "aTokenNeverToBeShown0123456789";
const userKey = "uKeyNeverToBeShownAnywhere0123";
const marta = { id: 4242, first_name: "Marta", username: "marta" };
const joe = { id: "U00000JOE0", username: "joe" };
const channel = "C0123456789";

test("an answer on one of three channels reaches the others, and an emergency is over with it", {
  timeout: 180_000,
}, async () => {
  using folder = temporaryFolder();
  const chat = new TelegramChat({ token: telegramToken, chatId: 7 });
  await using telegram = await startService(chat.dialect);
  await using sockets = await startSlackSockets();
  const room = new SlackChannel({ token: slackToken, channel, appToken, sockets });
  await using slack = await startService(room.dialect);
  const phone = new Pushover({ token: pushoverToken, user: userKey });
  await using pushover = await startService(phone.dialect);
  const exchange = await startExchange(folder.path);
  await using _exchange = exchange.program;
  const { call } = exchangeControls(exchange.url);
  const { authority, keyFile } = exchange.traders[0]!;
  for (const symbol of ["BTC", "ETH"]) await call("position", { authority, symbol, size: "0" });
  await call("mark-price", { symbol: "SOL", price: "150" });
  await call("collateral", { authority, amount: "4000" });
  await call("position", { authority, symbol: "SOL", size: "100", entryPrice: "150" });

  const config = path.join(folder.path, "config.yaml");
  const channels = {
    chat: {
      ...{ type: "telegram", token: telegramToken, chatId: 7, apiUrl: telegram.url },
      allow: { users: [marta.id] },
    },
    room: {
      ...{ type: "slack", token: slackToken, appToken, channel, apiUrl: `${slack.url}/api` },
      allow: { users: [joe.id] },
    },
    alarm: { type: "pushover", token: pushoverToken, userKey, apiUrl: pushover.url },
  };
  writeFileSync(
    config,
    [
      `exchange: { baseUrl: "${exchange.url}", requestsPerSecond: 100 }`,
      `wallets: [{ name: main, keyFile: "${keyFile}" }]`,
      "schedules: { traderState: { every: 1s }, markets: { every: 1s } }",
      "history: { path: ./perpwatch.db }",
      "dashboard: { listen: off }",
      "rules: [shipped:liquidation-risk]",
      "ruleOverrides: { LiquidationNear: { keepFiringFor: 1s }, AccountLiquidationNear: { enabled: false } }",
      `channels: ${JSON.stringify(channels)}`,
      "",
    ].join("\n"),
    { mode: 0o600 },
  );
  await using daemon = startProgram(["start", "--config", config]);
  onTestFailed(() => console.log(`the daemon's log:\n${daemon.stderr.join("\n")}`));
  await daemon.line((line) => line.includes("watching main"));
  const show = async (id: string): Promise<AlertStory> => {
    const shown = startProgram(["alerts", "show", id, "--json", "--config", config]);
    expect(await shown.ended).toEqual({ status: 0, signal: null });
    return JSON.parse(shown.stdout.join("\n")) as AlertStory;
  };

  await call("mark-price", { symbol: "SOL", price: "117.5" });
  const message = await chat.messages.waitFor(({ text }) => text.includes("SOL long is"), patienceMs);
  const alertId = /ack (\d+)/.exec(message.text)?.[1] ?? "";
  const shown = await room.messages.waitFor(({ text }) => text.includes("SOL long is"), patienceMs);
  const push = await phone.pushes.waitFor(({ priority }) => priority === 2, patienceMs);
  expect(shown.buttons.map(({ label }) => label)).toContain("Acknowledge");

  const { callback_data } = message.buttons.find(({ text }) => text === "Acknowledge")!;
  const press = chat.press(message.id, callback_data, marta);
  const { notice } = await chat.presses.waitFor(
    (one) => one.id === press.id && one.notice !== null,
    patienceMs,
  );
  expect(notice).toContain(`Acknowledged #${alertId}`);
  expect((await show(alertId)).alert.acknowledgedBy).toBe("marta (telegram 4242)");
  const who = "Acknowledged by marta (telegram 4242)";
  await chat.messages.waitFor(({ id, text }) => id === message.id && text.includes(who), patienceMs);
  await room.messages.waitFor(({ ts, text }) => ts === shown.ts && text.includes(who), patienceMs);
  for (const { buttons } of [message, shown]) expect(JSON.stringify(buttons)).not.toContain("pw:ack:");
  await phone.pushes.waitFor((one) => one === push && one.cancelled, patienceMs);

  // It recovers and comes back: this time it is answered on the phone's lock screen.
  await call("mark-price", { symbol: "SOL", price: "150" });
  await chat.messages.waitFor(({ text }) => text.includes("RESOLVED"), patienceMs);
  await call("mark-price", { symbol: "SOL", price: "117.5" });
  const again = await phone.pushes.waitFor((one) => one !== push && one.priority === 2, patienceMs);
  phone.acknowledge(again, "pixel");
  const there = "Acknowledged by pixel (pushover uKeyN…)";
  await chat.messages.waitFor(({ text }) => text.includes(there), patienceMs);
  await room.messages.waitFor(({ text }) => text.includes(there), patienceMs);
  expect(phone.tooEarly).toBe(0);
  expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
  const told = daemon.stderr.join("\n");
  for (const secret of [telegramToken, slackToken, appToken, pushoverToken, userKey, "t1ck3t"])
    expect(told).not.toContain(secret);
});
