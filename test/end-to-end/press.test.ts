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

test("Acknowledge all covers what the message showed: what joined or rose since is left, and what gets worse is told", {
  timeout: 180_000,
}, async () => {
  using folder = temporaryFolder();
  await using discord = await startDiscord();
  const exchange = await startExchange(folder.path, 3);
  await using _exchange = exchange.program;
  const { call } = exchangeControls(exchange.url);
  const wallets = exchange.traders;
  await call("mark-price", { symbol: "SOL", price: "150" });
  for (const [index, { authority }] of wallets.entries()) {
    for (const symbol of ["BTC", "ETH"]) await call("position", { authority, symbol, size: "0" });
    // Critical below $136.1, $135.0 and $125.2; the third a warning below $133.9, and an info before.
    await call("collateral", { authority, amount: ["2500", "2600", "3350"][index] });
    await call("position", { authority, symbol: "SOL", size: "100", entryPrice: "150" });
  }
  const config = path.join(folder.path, "config.yaml");
  writeFileSync(
    config,
    [
      `exchange: { baseUrl: "${exchange.url}", requestsPerSecond: 100 }`,
      "wallets:",
      ...wallets.map(({ keyFile }, i) => `  - { name: w${i + 1}, keyFile: "${keyFile}" }`),
      "schedules: { traderState: { every: 1s }, markets: { every: 1s } }",
      "history: { path: ./perpwatch.db }",
      "dashboard: { listen: off }",
      "rules: [shipped:liquidation-risk]",
      "channels:",
      `  chat: { type: discord, token: "\${DISCORD_TOKEN}", channelId: "${discord.channelId}", apiUrl: "${discord.apiUrl}", allow: { users: ["${marta.id}"] } }`,
      "",
    ].join("\n"),
  );
  const env = { DISCORD_TOKEN: discord.token };
  await using daemon = startProgram(["start", "--config", config], { env });
  onTestFailed(() => console.log(`the daemon's log:\n${daemon.stderr.join("\n")}`));
  await daemon.line((line) => line.includes("watching w1, w2, w3"));
  await discord.gateway.waitForSession(({ open }) => open, patienceMs);
  const answered = (pressed: { readonly id: string }) =>
    discord.waitForInteraction(({ id, text }) => id === pressed.id && text !== "", patienceMs);
  const acknowledged = async () => {
    const listed = startProgram(["alerts", "--json", "--config", config], { env });
    expect(await listed.ended).toEqual({ status: 0, signal: null });
    const { alerts } = JSON.parse(listed.stdout.join("\n")) as {
      readonly alerts: readonly { readonly wallet: string; readonly acknowledgedBy: string | null }[];
    };
    return alerts.flatMap(({ wallet, acknowledgedBy }) => (acknowledgedBy === null ? [] : [wallet])).sort();
  };

  await discord.waitForMessage(({ content }) => content.includes("w3: SOL long"), patienceMs);
  await call("mark-price", { symbol: "SOL", price: "134.5" });
  const all = ({ buttons }: { readonly buttons: readonly { readonly label: string }[] }, count: number) =>
    buttons.some(({ label }) => label === `Acknowledge all ${count}`);
  const root = await discord.waitForMessage((one) => all(one, 2), patienceMs);
  const seen = { ...root, buttons: [...root.buttons] };
  // A third alert joins before the press.
  await call("mark-price", { symbol: "SOL", price: "131.5" });
  await discord.waitForMessage((one) => one.id === root.id && all(one, 3), patienceMs);
  const taken = await answered(discord.press(seen, "Acknowledge all", marta));
  expect(taken.text).toMatch(/^Acknowledged #\d+, #\d+, as the message showed them\./);
  // Both are much nearer than the message showed: they are told again, and nobody takes care of them any more.
  const again = await discord.waitForMessage(
    ({ id, text }) => id !== root.id && /WORSE, still critical.*w[12]:/s.test(text),
    patienceMs,
  );
  expect(again.pings).toBeDefined();
  await expect.poll(acknowledged, { timeout: patienceMs }).toEqual([]);
  // Acknowledged as they are now, they stay so.
  const newest = await discord.waitForMessage((one) => one.id === root.id && all(one, 3), patienceMs);
  const now = await answered(discord.press(newest, "Acknowledge all", marta));
  expect(now.text).toMatch(/^Acknowledged #\d+, #\d+, #\d+/);
  await expect.poll(acknowledged, { timeout: patienceMs }).toEqual(["w1", "w2", "w3"]);
  expect(await daemon.end("SIGTERM")).toEqual({ status: 0, signal: null });
});
