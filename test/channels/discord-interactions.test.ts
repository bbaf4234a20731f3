/** Presses and commands on Discord: answered in time, handled once, by allowed people only, and shown to nobody else. */
import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import type { Alert } from "../../src/domain/alerts/alert.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { type DiscordPerson, startDiscord } from "../support/discord.ts";
import { Watched } from "../support/wait.ts";
import { fakeActions } from "./fake-actions.ts";
import { handClock } from "./hand-clock.ts";
import { alert, atMs, change, message, outgoing } from "./messages.ts";

/** Wait of a daemon that does not know the message of a button. */
const asideMs = 1_200;
const never = new AbortController().signal;
const marta: DiscordPerson = { id: "1100000000000000042", username: "marta", roles: [] };
const onCall: DiscordPerson = { id: "1100000000000000043", username: "joe", roles: ["1100000000000000005"] };
const stranger: DiscordPerson = {
  id: "1100000000000000044",
  username: "mallory",
  roles: ["1100000000000000099"],
};
const allow = { users: [marta.id], roles: ["1100000000000000005"] };

async function rig(more: object = { allow }) {
  const clock = handClock();
  const discord = await startDiscord({ now: () => clock.nowMs() });
  const { token, channelId, apiUrl } = discord;
  const settings = channelSettings.parse({ type: "discord", token, channelId, apiUrl, ...more });
  const out = new Writable({ write: (_chunk, _encoding, done) => done() });
  const world = fakeActions(() => clock.nowMs());
  const log = new Watched<string>();
  const line = (fields: object, words: string) => log.add(`${words} ${JSON.stringify(fields)}`);
  const parts = { clock, random: seededRandom(1), out, log: { debug: line, info: line, warn: line } };
  const channel = createChannel("chat", settings, { ...parts, actions: world.actions });
  await channel.start(never);
  await discord.gateway.waitForSession();
  let sessions = 1;
  return {
    /** A daemon with its own database, or another channel, with the same bot in the same Discord channel. */
    async another(name = "chat") {
      const theirs = fakeActions(() => clock.nowMs());
      const heard = new Watched<string>();
      const hear = (fields: object, words: string) => heard.add(`${words} ${JSON.stringify(fields)}`);
      const own = { ...parts, log: { debug: hear, info: hear, warn: hear } };
      const second = createChannel(name, settings, { ...own, actions: theirs.actions });
      await second.start(never);
      sessions += 1;
      await discord.gateway.waitForSession(() => discord.gateway.sessions.length >= sessions);
      return { ...theirs, log: heard, [Symbol.asyncDispose]: () => second.stop() };
    },
    ...{ discord, clock, channel, log, ...world },
    /** A message with buttons in the channel. */
    async post(changes = [change()]) {
      const result = await channel.send(outgoing({ message: message(changes) }), never);
      if (result.kind !== "delivered") throw new Error(result.detail);
      return discord.messages.find(({ id }) => id === result.receipt)!;
    },
    answered: (one: { readonly id: string }) =>
      discord.waitForInteraction(({ id, text }) => id === one.id && text !== ""),
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await discord.close();
    },
  };
}

describe("who may", () => {
  test("nobody is named: no buttons, no commands, and a press is refused", async () => {
    await using one = await rig({});
    const posted = await one.post();
    expect(posted.buttons).toEqual([]);
    const typed = one.discord.type("ack", { alert: 42 }, marta);
    expect(await one.answered(typed)).toMatchObject({
      ephemeral: true,
      text: expect.stringContaining("may not act"),
    });
    expect(one.discord.commands).toEqual([]);
    expect(one.done).toEqual([]);
  });

  test.each([
    ["a named user", marta, true],
    ["somebody with a named role", onCall, true],
    ["anybody else", stranger, false],
  ])("%s", async (_who, person, may) => {
    await using one = await rig();
    const answer = await one.answered(one.discord.press(await one.post(), "Acknowledge", person));
    expect(answer.ephemeral).toBe(true);
    const by = `${person.username} (discord ${person.id})`;
    if (may) {
      expect(answer.text).toContain("Acknowledged #42");
      expect(one.done).toEqual([`ack 42 by ${by}: `]);
    } else {
      expect(answer.text).toMatch(/^Sorry, you may not act here/);
      expect(one.done).toEqual([]);
      expect(one.log.items.join("\n")).toContain(`not allowed to tried to act from Discord {"who":"${by}"`);
    }
  });
});

test("repeated presses of somebody who is not allowed are one log line, and one per minute after it", async () => {
  await using one = await rig();
  const posted = await one.post();
  for (let count = 0; count < 5; count++)
    await one.answered(one.discord.press(posted, "Acknowledge", stranger));
  const lines = () => one.log.items.filter((line) => line.includes("not allowed"));
  expect(lines()).toHaveLength(1);
  one.clock.pass(60_000);
  expect(lines().slice(1)).toEqual([
    expect.stringContaining(`"count":4,"who":["mallory (discord ${stranger.id})"]`),
  ]);
});

describe("a button", () => {
  test("pressed twice acknowledges once, and says who did", async () => {
    await using one = await rig();
    const posted = await one.post();
    await one.answered(one.discord.press(posted, "Acknowledge", marta));
    const second = await one.answered(one.discord.press(posted, "Acknowledge", onCall));
    expect(plain(second.text)).toBe(
      `#42 is acknowledged already by marta (discord ${marta.id}), 2026-11-21 03:41:18 UTC.`,
    );
    expect(one.done).toHaveLength(1);
  });

  test("silences the rule for the subject, up to the level shown, once for any number of presses", async () => {
    await using one = await rig();
    const posted = await one.post();
    const first = await one.answered(one.discord.press(posted, "Silence 1 h", marta));
    expect(first.text).toContain("Silent until 2026-11-21 04:41:18 UTC (silence 1).");
    expect(first.text).toContain("up to critical");
    one.clock.pass(5_000);
    const second = await one.answered(one.discord.press(posted, "Silence 1 h", onCall));
    expect(second.text).toContain("Silent already until 2026-11-21 04:41:18 UTC, by marta");
    await one.answered(one.discord.press(posted, "Silence 8 h", onCall));
    const of = "silence rule=LiquidationNear subject=main/0.0/SOL upTo critical by";
    expect(one.done).toEqual([`${of} marta (discord ${marta.id})`, `${of} joe (discord ${onCall.id})`]);
    expect(one.silences.map(({ endsMs }) => endsMs - atMs)).toEqual([3_600_000, 28_805_000]);
  });

  test("shows the history of its alert, to the person only", async () => {
    await using one = await rig();
    const answer = await one.answered(one.discord.press(await one.post(), "Details", marta));
    expect(answer.ephemeral).toBe(true);
    for (const part of [
      "Alert #42",
      "4.2 % from liquidation",
      "LiquidationNear, about main/0.0/SOL",
      "FIRING critical",
      "delivered 2026-11-21 03:41:18 UTC",
      "Liquidation price: $126.55",
    ])
      expect(answer.text).toContain(part);
  });

  test("of a message from before a restart works", async () => {
    await using one = await rig();
    const posted = await one.post();
    await one.channel.stop();
    await one.channel.start(never);
    await one.discord.gateway.waitForSession((session) => session.open);
    await one.answered(one.discord.press(posted, "Acknowledge", marta));
    expect(one.done).toHaveLength(1);
  });

  test("of a message about another alert under the same number does nothing", async () => {
    await using one = await rig();
    const posted = await one.post([change("fired", { firedAtMs: atMs - 86_400_000 })]);
    for (const label of ["Acknowledge", "Silence 1 h", "Details"]) {
      const pressed = one.discord.press(posted, label, marta);
      // Another daemon with the same bot might know the message.
      await one.clock.asked(asideMs);
      expect(pressed.takenMs).toBeNull();
      one.clock.pass(asideMs);
      expect((await one.answered(pressed)).text).toContain("not known here any more");
    }
    expect(one.done).toEqual([]);
  });

  test("delivered twice by the gateway is handled once", async () => {
    await using one = await rig();
    const pressed = one.discord.press(await one.post(), "Acknowledge", marta);
    pressed.again();
    await one.answered(pressed);
    await one.answered(one.discord.type("status", {}, marta));
    expect(one.discord.requests.filter(({ path }) => path.includes(pressed.id))).toHaveLength(1);
  });

  test("belongs to a firing alert, has its number among others, and is removed when it ends", async () => {
    await using one = await rig();
    const other = { id: 43, severity: "warning" as const, acknowledgedBy: "joe", acknowledgedAtMs: atMs };
    const first = message([change("fired", other), change(), change("ended", { id: 44 })]);
    await one.channel.send(outgoing({ message: first }), never);
    const [posted] = one.discord.messages;
    expect(posted?.buttons.map(({ label }) => label)).toEqual([
      ...["Acknowledge #42", "Silence 1 h #42", "Silence 8 h #42", "Details #42"],
      ...["Silence 1 h #43", "Silence 8 h #43", "Details #43"],
    ]);
    const inReplyTo = { messageId: first.id, receipt: posted!.id, message: first };
    await one.channel.send(outgoing({ message: message([change("ended")]), inReplyTo }), never);
    await one.discord.waitForMessage(({ id, edits }) => id === posted?.id && edits === 1);
    expect(posted?.buttons.map(({ label }) => label)).toEqual(["Silence 1 h", "Silence 8 h", "Details"]);
    expect(one.discord.messages[1]?.buttons).toEqual([]);
  });
});

describe("daemons that share a bot", () => {
  const callbacks = (one: Awaited<ReturnType<typeof rig>>) =>
    one.discord.requests.filter(({ path }) => path.endsWith("/callback")).map(({ status }) => status);

  test.each<[string, Partial<Alert>]>([
    ["another alert under the number", { firedAtMs: atMs - 86_400_000 }],
    ["no such alert", { id: 7 }],
  ])("a button is answered by the one whose message it is; the other knows %s", async (_what, parts) => {
    await using one = await rig();
    await using other = await one.another();
    other.alerts.clear();
    other.alerts.set(parts.id ?? 42, alert(parts));
    const pressed = one.discord.press(await one.post(), "Acknowledge", marta);
    expect((await one.answered(pressed)).text).toContain("Acknowledged #42");
    await one.clock.asked(asideMs);
    one.clock.pass(asideMs);
    await one.discord.waitForRequest(({ path, status }) => path.endsWith("/callback") && status === 400);
    expect([one.done.length, other.done.length, pressed.edits]).toEqual([1, 0, 1]);
    expect(pressed.text).toContain("Acknowledged #42");
  });

  test("of two channels of one daemon in one Discord channel the sender of the message answers", async () => {
    await using one = await rig();
    await using other = await one.another("second");
    const posted = await one.post();
    for (const each of [one, other]) each.receipts.push({ receiver: "chat", receipt: posted.id });
    const pressed = one.discord.press(posted, "Acknowledge", marta);
    await one.answered(pressed);
    await one.clock.asked(asideMs);
    expect([one.done.length, other.done.length]).toEqual([1, 0]);
    expect(callbacks(one)).toEqual([204]);
  });

  test("a press of somebody who is not allowed is refused once, by the sender of the message", async () => {
    await using one = await rig();
    await using other = await one.another();
    other.alerts.clear();
    const pressed = one.discord.press(await one.post(), "Silence 8 h", stranger);
    expect((await one.answered(pressed)).text).toContain("may not act");
    expect(other.log.items.join()).not.toContain("not allowed");
  });

  test("a command is handled by one of them", async () => {
    await using one = await rig();
    await using other = await one.another();
    const typed = one.discord.type("ack", { alert: 42 }, marta);
    expect((await one.answered(typed)).text).toContain("Acknowledged #42");
    await one.discord.waitForRequest(({ path, status }) => path.endsWith("/callback") && status === 400);
    expect([...one.done, ...other.done]).toHaveLength(1);
    expect(callbacks(one).sort()).toEqual([204, 400]);
  });
});

describe("in time", () => {
  test("it is acknowledged at once though the action takes long, which is then stated", async () => {
    await using one = await rig();
    const finish = Promise.withResolvers<"done">();
    one.actions.acknowledgeAlert = () => finish.promise;
    const pressed = one.discord.press(await one.post(), "Acknowledge", marta);
    await one.discord.waitForInteraction(({ id, takenMs }) => id === pressed.id && takenMs !== null);
    await one.clock.asked();
    one.clock.pass(10_000);
    expect((await one.answered(pressed)).text).toContain("takes long");
    finish.resolve("done");
  });

  test("too late for Discord: nothing is done, since Discord has shown a failure", async () => {
    await using one = await rig();
    const posted = await one.post();
    one.discord.press(posted, "Acknowledge", marta, { agoMs: 3_500 });
    await one.log.waitFor((line) => line.startsWith("an interaction came too late"));
    expect(one.done).toEqual([]);
  });

  test("the answer to the acknowledgement is lost: it is handled once", async () => {
    await using one = await rig();
    const posted = await one.post();
    one.discord.fail({ method: "POST", path: /callback$/, effect: { kind: "loseReply" } });
    const answer = await one.answered(one.discord.press(posted, "Acknowledge", marta));
    expect(answer.text).toContain("Acknowledged #42");
    expect(one.done).toHaveLength(1);
  });

  test("the answer cannot be shown at first: it is shown later", async () => {
    await using one = await rig();
    const posted = await one.post();
    one.discord.fail({ method: "PATCH", path: /@original$/, effect: { kind: "status", status: 503 } });
    const pressed = one.discord.press(posted, "Acknowledge", marta);
    await one.discord.waitForRequest(({ path, status }) => path.endsWith("@original") && status === 503);
    await one.clock.asked();
    one.clock.pass(500);
    expect((await one.answered(pressed)).text).toContain("Acknowledged");
    expect(one.done).toHaveLength(1);
  });

  test("the token expired before the answer: done, and the log has the answer", async () => {
    await using one = await rig();
    const posted = await one.post();
    const finish = Promise.withResolvers<"done">();
    one.actions.acknowledgeAlert = async () => {
      one.clock.pass(1);
      return finish.promise;
    };
    const pressed = one.discord.press(posted, "Acknowledge", marta, { agoMs: 2_000 });
    await one.discord.waitForInteraction(({ id, takenMs }) => id === pressed.id && takenMs !== null);
    one.discord.fail({
      path: /@original$/,
      times: 9,
      effect: { kind: "status", status: 401, body: { message: "Invalid Webhook Token", code: 50027 } },
    });
    finish.resolve("done");
    await one.log.waitFor((line) => line.includes("did not take the answer") && line.includes("50027"));
    expect(one.log.items.join("\n")).not.toContain(pressed.token);
  });

  test("a failure is answered, and the next one is handled", async () => {
    await using one = await rig();
    const { acknowledgeAlert } = one.actions;
    one.actions.acknowledgeAlert = () => Promise.reject(new Error("the disk is gone"));
    const posted = await one.post();
    expect((await one.answered(one.discord.press(posted, "Acknowledge", marta))).text).toContain(
      "could not be done",
    );
    one.actions.acknowledgeAlert = acknowledgeAlert;
    expect((await one.answered(one.discord.press(posted, "Acknowledge", marta))).text).toContain(
      "Acknowledged",
    );
  });
});

describe("a command", () => {
  test("is registered, all at once, and the same list again at the next start", async () => {
    await using one = await rig();
    const registered = ({ method, status }: { method: string; status: number | null }) =>
      method === "PUT" && status === 200;
    await one.discord.waitForRequest(registered);
    expect(one.discord.commands.map(({ name }) => name)).toEqual(
      "status positions alerts silence ack funding pnl rules".split(" "),
    );
    await one.channel.stop();
    await one.channel.start(never);
    await one.discord.waitForRequest(
      (request) => one.discord.requests.filter(registered).length === 2 && registered(request),
    );
    expect(one.discord.commands).toHaveLength(8);
  });

  test("status names the wallets and sources without data", async () => {
    await using one = await rig();
    const blind = [{ wallet: "main", source: "traderState", sinceMs: atMs - 60_000, rules: ["Near"] }];
    one.setStatus({ watch: { blind } });
    const { text } = await one.answered(one.discord.type("status", {}, marta));
    expect(text).toContain("No data for main:");
    expect(text).not.toMatch(/blind/i);
  });

  test("whose registration is refused is logged with the fix, and tried again", async () => {
    await using one = await rig({});
    const { token, channelId, apiUrl } = one.discord;
    const settings = channelSettings.parse({ type: "discord", token, channelId, apiUrl, allow });
    const missing = { message: "Missing Access", code: 50001 };
    one.discord.fail({
      method: "PUT",
      path: "/applications/*",
      effect: { kind: "status", status: 403, body: missing },
    });
    const { clock, log, actions } = one;
    const line = (fields: object, words: string) => log.add(`${words} ${JSON.stringify(fields)}`);
    const out = new Writable();
    const parts = {
      clock,
      random: seededRandom(1),
      out,
      log: { debug: line, info: line, warn: line },
      actions,
    };
    const second = createChannel("second", settings, parts);
    await second.start(never);
    await log.waitFor((said) => said.includes("scope applications.commands"));
    one.clock.pass(3_600_000);
    await one.discord.waitForRequest(({ method, status }) => method === "PUT" && status === 200);
    await second.stop();
  });

  test("typed in another channel is ignored; in a thread of the channel it is handled", async () => {
    await using one = await rig();
    const elsewhere = one.discord.type("status", {}, marta, { channelId: one.discord.otherChannelId });
    const threadOf = one.discord.channelId;
    const inThread = one.discord.type("status", {}, marta, { channelId: "1100000000000000077", threadOf });
    await one.answered(inThread);
    expect(elsewhere.takenMs).toBeNull();
  });

  test.each([
    [
      "status",
      {},
      ["perpwatch 1.2.3 is running", "Firing: 1 critical", "main: equity $1,250.00, 1 positions"],
    ],
    [
      "positions",
      {},
      ["main/0.0/SOL long 12 · mark $132.10 · liquidation $126.55 (4.2% away)", "seen 2s ago"],
    ],
    ["positions", { wallet: "nope" }, ["There is no wallet nope. There are: main."]],
    ["alerts", {}, ["1 alert firing", "#42 main: SOL long is 4.2 % from liquidation"]],
    ["funding", {}, ["SOL 0.0013%/h (11.4%/year), longs pay", "main: today -$3.20"]],
    ["pnl", {}, ["main: equity $1,250.00 · today -$12.00"]],
    ["rules", {}, ["LiquidationNear judges 1 · 1 firing", "TooQuiet judges 0 · 2 without data"]],
    ["ack", { alert: 42, comment: "on it" }, ["Acknowledged #42"]],
    ["ack", { alert: 7 }, ["There is no alert #7."]],
    [
      "silence",
      { for: "2h", alert: 42, comment: "known" },
      ["Silent until 2026-11-21 05:41:18 UTC", "up to critical"],
    ],
    ["silence", { for: "1d", matching: "wallet=main" }, ["It holds back wallet=main, up to warning"]],
    ["silence", { for: "soon", alert: 42 }, ['"soon" is no duration']],
    ["silence", { for: "1h" }, ["Name either an alert or what has to match."]],
    ["silence", { for: "1h", matching: "main" }, ["no matcher"]],
    ["frobnicate", {}, ["I do not know this command."]],
  ])("/%s %o", async (name, options, parts) => {
    await using one = await rig();
    one.setStatus({ watch: holding });
    const answer = await one.answered(one.discord.type(name, options as Record<string, string>, onCall));
    expect(answer.ephemeral).toBe(true);
    for (const part of parts) expect(plain(answer.text)).toContain(part);
  });

  test("keeps Discord's limits for any number and names of entries", async () => {
    await using one = await rig();
    const long = "@everyone *".repeat(300);
    const [wallet] = holding.wallets;
    const many = Array.from({ length: 300 }, (_, index) => ({ ...wallet, name: `${index} ${long}` }));
    const firing = many.map((_, id) => ({ ...alert({ id, summary: long }), textAtMs: atMs }));
    const ruleStates = many.map(({ name }) => ({ rule: name, mode: "live", ok: 1, noData: 0, error: 0 }));
    const details = Array.from({ length: 40 }, () => [long, long] as const);
    one.alerts.set(42, alert({ summary: long, subject: long, acknowledgedBy: long }));
    const story = one.actions.alert;
    one.actions.alert = async (id) => {
      const found = await story(id);
      return (
        found && { ...found, changes: Array.from({ length: 90 }, () => ({ ...found.changes[0]!, details })) }
      );
    };
    one.setStatus({ watch: { ...holding, wallets: many, firing, ruleStates } });
    for (const name of ["status", "positions", "alerts", "funding", "pnl", "rules"]) {
      const { text } = await one.answered(one.discord.type(name, {}, marta));
      expect(text).toMatch(/… and \d+ more$/);
      expect(text).not.toContain("@everyone");
    }
    await one.answered(one.discord.press(await one.post(), "Details", marta));
    await one.answered(one.discord.type("ack", { alert: 42 }, marta));
    await one.answered(one.discord.type("positions", { wallet: long.slice(0, 100) }, marta));
  });
});

/** Without markup, which is not tested here. */
const plain = (text: string) => text.replaceAll("**", "").replaceAll("\\", "");

const holding = {
  firing: [{ ...alert(), textAtMs: atMs }],
  ruleStates: [
    { rule: "LiquidationNear", mode: "live", ok: 1, noData: 0, error: 0 },
    { rule: "TooQuiet", mode: "live", ok: 0, noData: 2, error: 0 },
  ],
  markets: [
    { symbol: "SOL", status: "active", figures: { fundingRate: 0.000013, annualizedFundingRate: 0.11388 } },
    { symbol: "BTC", status: "active", figures: { fundingRate: 0.5 } },
  ],
  wallets: [
    {
      ...{
        name: "main",
        authority: "x",
        watchOnly: false,
        signedIn: true,
        sessionDetail: "",
        seenMs: atMs - 2_000,
      },
      unacked: 0,
      figures: { equity: 1_250, pnlToday: -12, pnl: 40, fundingToday: -3.2 },
      accounts: [
        {
          ...{ name: "main/0.0", state: "active", riskTier: "atRisk", seenMs: atMs - 2_000, orders: 0 },
          figures: { unrealizedPnl: -63.5 },
          positions: [
            {
              ...{ name: "main/0.0/SOL", symbol: "SOL", side: "long", seenMs: atMs - 2_000 },
              figures: {
                ...{ size: 12, markPrice: 132.1, liquidationPrice: 126.55, liquidationDistance: 0.042 },
                ...{ unrealizedPnl: -63.5, unsettledFunding: -0.12 },
              },
            },
          ],
        },
      ],
    },
  ],
};
