/**
 * An alert that is settled from the chat where it arrived: the daemon as a process, a Discord that the real discord.js speaks to,
 * and people who press its buttons.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, onTestFailed, test } from "vitest";
import type { AlertStory } from "../../src/domain/ports.ts";
import { temporaryFolder } from "../history/folder.ts";
import { startDiscord } from "../support/discord.ts";
import { exchangeControls, startExchange } from "../support/exchange-program.ts";
import { startProgram } from "../support/program.ts";

const patienceMs = 40_000;
const marta = { id: "1200000000000000001", username: "marta", roles: [] };
const stranger = { id: "1200000000000000002", username: "mallory", roles: ["1200000000000000003"] };

test("a press on Acknowledge is recorded with who and when; a stranger's is refused", {
  timeout: 180_000,
}, async () => {
  using folder = temporaryFolder();
  await using discord = await startDiscord();
  const exchange = await startExchange(folder.path);
  await using _exchange = exchange.program;
  const { call } = exchangeControls(exchange.url);
  const { authority, keyFile } = exchange.traders[0]!;
  for (const symbol of ["BTC", "ETH"]) await call("position", { authority, symbol, size: "0" });
  await call("mark-price", { symbol: "SOL", price: "150" });
  await call("collateral", { authority, amount: "4000" });
  await call("position", { authority, symbol: "SOL", size: "100", entryPrice: "150" });

  const config = path.join(folder.path, "config.yaml");
  writeFileSync(
    config,
    [
      `exchange: { baseUrl: "${exchange.url}", requestsPerSecond: 100 }`,
      `wallets: [{ name: main, keyFile: "${keyFile}" }]`,
      "schedules: { traderState: { every: 1s }, markets: { every: 1s } }",
      "history: { path: ./perpwatch.db }",
      "dashboard: { listen: off }",
      "rules: [shipped:liquidation-risk]",
      "ruleOverrides: { LiquidationNear: { keepFiringFor: 1s } }",
      "channels:",
      `  chat: { type: discord, token: "\${DISCORD_TOKEN}", channelId: "${discord.channelId}", apiUrl: "${discord.apiUrl}", allow: { users: ["${marta.id}"] } }`,
      `mention: { critical: "<@${marta.id}>" }`,
      "routing: { receivers: [chat] }",
      "",
    ].join("\n"),
  );
  const env = { DISCORD_TOKEN: discord.token };
  await using daemon = startProgram(["start", "--config", config], { env });
  onTestFailed(() => console.log(`the daemon's log:\n${daemon.stderr.join("\n")}`));
  await daemon.line((line) => line.includes("watching main"));
  await discord.gateway.waitForSession(({ open }) => open, patienceMs);

  const show = async (id: string): Promise<AlertStory> => {
    const shown = startProgram(["alerts", "show", id, "--json", "--config", config], { env });
    expect(await shown.ended).toEqual({ status: 0, signal: null });
    return JSON.parse(shown.stdout.join("\n")) as AlertStory;
  };
  const answered = (pressed: { readonly id: string }) =>
    discord.waitForInteraction(({ id, text }) => id === pressed.id && text !== "", patienceMs);

  await call("mark-price", { symbol: "SOL", price: "117.5" });
  const message = await discord.waitForMessage(({ text }) => text.includes("SOL long is"), patienceMs);
  const alertId = /#(\d+)/.exec(message.content)?.[1] ?? "";
  expect(message.buttons.map(({ label }) => label)).toEqual([
    "Acknowledge",
    "Silence 1 h",
    "Silence 8 h",
    "Details",
  ]);

  const refused = await answered(discord.press(message, "Acknowledge", stranger));
  expect(refused).toMatchObject({ ephemeral: true, text: expect.stringContaining("may not act here") });
  await daemon.line((line) => line.includes("not allowed") && line.includes("mallory (discord"));
  expect((await show(alertId)).alert).toMatchObject({ acknowledgedBy: null, acknowledgedAtMs: null });

  const beforeMs = Date.now();
  const taken = await answered(discord.press(message, "Acknowledge", marta));
  const afterMs = Date.now();
  expect(taken).toMatchObject({ ephemeral: true, text: expect.stringContaining(`Acknowledged #${alertId}`) });
  const { alert, changes } = await show(alertId);
  expect(alert.acknowledgedBy).toBe(`marta (discord ${marta.id})`);
  expect(alert.acknowledgedAtMs).toBeGreaterThanOrEqual(beforeMs - 1_000);
  expect(alert.acknowledgedAtMs).toBeLessThanOrEqual(afterMs + 1_000);
  expect(changes.map(({ kind }) => kind)).toContain("acknowledged");
  // Everybody in the channel sees it on the message, whose button is gone.
  await discord.waitForMessage(
    ({ id, text }) => id === message.id && text.includes("Acknowledged by"),
    patienceMs,
  );
  expect(message.buttons.map(({ label }) => label)).toEqual(["Silence 1 h", "Silence 8 h", "Details"]);

  // The end goes below it, and its receipt says where.
  await call("mark-price", { symbol: "SOL", price: "150" });
  const ending = await discord.waitForMessage(({ channelId }) => channelId === message.id, patienceMs);
  expect(ending.content).toContain("RESOLVED");
  await discord.waitForMessage(
    ({ id, content }) => id === message.id && content.includes("RESOLVED"),
    patienceMs,
  );
  await expect
    .poll(async () => (await show(alertId)).messages.map(({ receipt }) => receipt), { timeout: patienceMs })
    .toContain(`${message.id}/${ending.id}`);
  expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
});
