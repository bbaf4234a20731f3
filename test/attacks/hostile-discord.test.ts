/** A daemon whose Discord answers with malice, over REST, to its webhook, or over its gateway. */
import { afterAll, beforeAll, describe, test } from "vitest";
import { attackMs, HostileSurroundings } from "./attacked-daemon.ts";
import { type DiscordOrders, gatewaysOfMalice, ids, restOfMalice } from "./hostile-discord.ts";
import { isWhole } from "./measure.ts";
import { canary } from "./secret-finder.ts";

/** The sample: what once did harm, or came near it. */
const sample: ReadonlySet<string> = new Set([
  ...["endless body", "large refusal", "beat 0", "beat of a century", "large frames", "reconnect at once"],
  "presses",
]);
const chosen = <T extends string>(all: readonly T[]) =>
  isWhole ? all : all.filter((one) => sample.has(one));

const token = canary(40);
const hook = canary(40);
let surroundings: HostileSurroundings;

beforeAll(async () => {
  surroundings = await HostileSurroundings.start("hostile-discord.ts");
  surroundings.finder.add("Discord token", token);
  surroundings.finder.add("Discord webhook", hook);
}, 60_000);
afterAll(() => surroundings?.[Symbol.asyncDispose]());

function channels(port: string): readonly string[] {
  const api = `apiUrl: "http://127.0.0.1:${port}/api"`;
  return [
    `chat: { type: discord, token: ${token}, channelId: "${ids.channel}", ${api}, allow: { users: ["${ids.user}"] } }`,
    `hook: { type: discord, webhookUrl: "http://127.0.0.1:${port}/api/webhooks/${ids.application}/${hook}" }`,
  ];
}

const attacked = (name: string, given: Partial<DiscordOrders>) =>
  surroundings.attack({
    name,
    ...{ channels, orders: { rest: null, gateway: null, ...given }, tried: ["chat", "hook"] },
    ...{ connects: given.gateway !== undefined, presses: given.gateway === "presses" },
  });

describe(`for ${attackMs / 1_000} s: answers of Discord`, () => {
  test.each(chosen(restOfMalice))("%s", { timeout: attackMs + 120_000 }, (rest) =>
    attacked(`hostile Discord: ${rest}`, { rest }),
  );
});

describe(`for ${attackMs / 1_000} s: its gateway`, () => {
  test.each(chosen(gatewaysOfMalice))("%s", { timeout: attackMs + 120_000 }, (gateway) =>
    attacked(`hostile gateway: ${gateway}`, { gateway }),
  );
});
