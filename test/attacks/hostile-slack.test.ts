/** A daemon whose Slack floods it over Socket Mode, or whose Telegram answers each poll at once with presses. */
import { afterAll, beforeAll, describe, test } from "vitest";
import { attackMs, HostileSurroundings } from "./attacked-daemon.ts";
import { ids, type SlackOrders, socketsOfMalice, updatesOfMalice } from "./hostile-slack.ts";
import { isWhole } from "./measure.ts";
import { canary } from "./secret-finder.ts";

/** The sample: what once did harm. */
const sample: ReadonlySet<string> = new Set([
  ...["answers unread", "deep", "presses of somebody allowed", "one at a time"],
]);
const chosen = <T extends string>(all: readonly T[]) =>
  isWhole ? all : all.filter((one) => sample.has(one));

const bot = canary(30);
const app = canary(30);
const phone = canary(35);
let surroundings: HostileSurroundings;

beforeAll(async () => {
  surroundings = await HostileSurroundings.start("hostile-slack.ts");
  surroundings.finder.add("Slack token", bot);
  surroundings.finder.add("Slack app token", app);
  surroundings.finder.add("Telegram token", phone);
}, 60_000);
afterAll(() => surroundings?.[Symbol.asyncDispose]());

function channels(port: string): readonly string[] {
  const slack = `token: xoxb-${bot}, appToken: xapp-${app}, channel: ${ids.channel}, allow: { users: [${ids.user}] }`;
  const telegram = `token: "123456789:${phone}", chatId: ${ids.chat}, allow: { users: [${ids.person}] }`;
  return [
    `chat: { type: slack, ${slack}, apiUrl: "http://127.0.0.1:${port}/slack" }`,
    `phone: { type: telegram, ${telegram}, apiUrl: "http://127.0.0.1:${port}" }`,
  ];
}

const floods = (socket: SlackOrders["socket"] | undefined) =>
  !(["hello and gone", "disconnects", undefined, null] as unknown[]).includes(socket);

const attacked = (name: string, given: Partial<SlackOrders>) =>
  surroundings.attack({
    name,
    ...{ channels, orders: { socket: null, updates: null, ...given }, tried: ["chat", "phone"] },
    ...{ connects: given.socket !== undefined, presses: true, floods: floods(given.socket) },
  });

describe(`for ${attackMs / 1_000} s: Slack's Socket Mode`, () => {
  test.each(chosen(socketsOfMalice))("%s", { timeout: attackMs + 120_000 }, (socket) =>
    attacked(`hostile Socket Mode: ${socket}`, { socket }),
  );
});

describe(`for ${attackMs / 1_000} s: Telegram's updates`, () => {
  test.each(chosen(updatesOfMalice))("%s", { timeout: attackMs + 120_000 }, (updates) =>
    attacked(`hostile Telegram: ${updates}`, { updates }),
  );
});
