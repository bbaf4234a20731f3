/**
 * Daemons are killed with SIGKILL at each labelled step between an observation and its acknowledgement, at several
 * occurrences of each, and started again on the same databases: on the real clock, with a simulated exchange, a Discord
 * and a mail server that live on. Meanwhile the exchange writes notes into the inboxes, and a price falls, and rises or
 * takes the positions.
 *
 *  - nothing is lost: every note, every beginning, every end and every liquidation arrives on both channels, and a
 *    position that was liquidated is never told as anything else
 *  - no note is acknowledged before it was delivered, and the delivery recorded, on both
 *  - nothing arrives twice but a mail that was accepted and not recorded when the daemon died; on Discord the nonce
 *    closes that window too
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../src/history/index.ts";
import { startSimulator } from "../../src/simulator/index.ts";
import { temporaryFolder } from "../history/folder.ts";
import { CrashRig, type Moment } from "../support/crash-rig.ts";
import type { Step } from "../support/daemon-child.ts";
import { startDiscord } from "../support/discord.ts";
import { startSmtp } from "../support/smtp.ts";

/** Daemons side by side in a process, each with a wallet and a database of its own. */
const side = 4;
/** The occurrences of a step at which a daemon dies. Those of each poll reach into the first rounds of polls. */
const often = [1, 2, 4, 7, 11];
const each = [1, 2, 3, 4, 5];
const steps: Readonly<Record<Step, readonly number[]>> = {
  observed: often,
  judged: often,
  committed: often,
  "owed-seen": each,
  sealed: each,
  "before-send": each,
  sent: [...each, 6],
  recorded: each,
  "ack-due": each,
  "ack-sent": each,
  "ack-recorded": each,
};
/** Killed while the other side's answer is on its way: it has accepted, and the daemon does not know. */
const unanswered = ["Discord accepted", "mail accepted"] as const;
const unansweredTimes = 2;

type Where = Step | (typeof unanswered)[number];
const channels = ["chat", "mail"] as const;
type ChannelName = (typeof channels)[number];

/** A copy of a message that a channel accepted. */
interface Accepted {
  readonly channel: ChannelName;
  readonly id: string;
  /** As it was sent, before any edit. */
  readonly text: string;
}

const rules = `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    resolveWhen: position.liquidationDistance > 0.10
    severity: critical
    keepFiringFor: 0s
    staleAfter: 10m
    noData: keep
    summary: "{{ wallet.name }} is near"
  - name: Taken
    on: liquidation
    when: event.role == "liquidatee"
    severity: critical
    summary: "{{ wallet.name }} was taken"
  - name: Note
    on: notification
    when: event.source == "general"
    severity: info
    acknowledge: whenDelivered
    summary: "({{ event.title }})"
`;

/** The phrases of a wallet's messages about its position. */
const phrases = {
  firing: (name: string) => new RegExp(`FIRING critical( #\\d+)?: ${name} is near`),
  resolved: (name: string) => new RegExp(`RESOLVED( #\\d+)?: ${name} is near`),
  liquidated: (name: string) => new RegExp(`LIQUIDATED( #\\d+)?: ${name}/0\\.0/SOL`),
  taken: (name: string) => new RegExp(`${name} was taken`),
} as const;
type Phrase = keyof typeof phrases;

test("killed at every step, it loses nothing, acknowledges nothing early, and repeats nothing but in the window", {
  // Some forty seconds of two cores; on a busy machine it takes what it takes.
  timeout: 1_200_000,
}, async () => {
  using folder = temporaryFolder();
  await using discord = await startDiscord();
  await using smtp = await startSmtp();
  const keysDir = path.join(folder.path, "keys");
  await using simulator = await startSimulator({ walk: false, traders: side, keysDir });
  const names = simulator.traders.map(({ name }) => name);
  const SOL = (price: number) => simulator.call("mark-price", { symbol: "SOL", price: price.toFixed(2) });
  /** Longs at this price, a quarter of it away from liquidation. */
  const hold = async (price: number) => {
    const amount = ((price * 4_000) / 150).toFixed(2);
    const position = { symbol: "SOL", size: "100", entryPrice: price.toFixed(2) };
    for (const trader of names) {
      await simulator.call("collateral", { trader, amount });
      await simulator.call("position", { trader, ...position });
    }
  };
  for (const trader of names)
    for (const symbol of ["BTC", "ETH"]) await simulator.call("position", { trader, symbol, size: "0" });
  await SOL(150);
  await hold(150);

  writeFileSync(folder.file("rules.yaml"), rules);
  const places = simulator.traders.map(({ name, keyFile }) => {
    const place = path.join(folder.path, name);
    mkdirSync(place);
    const chat = `token: "${discord.token}", channelId: "${discord.channelId}", apiUrl: "${discord.apiUrl}"`;
    const mail = `smtp: { host: ${smtp.host}, port: ${smtp.port}, secure: false }`;
    const config = `
exchange: { baseUrl: "${simulator.url}", requestsPerSecond: 100 }
wallets: [ { name: ${name}, keyFile: "${keyFile}" } ]
schedules: { traderState: { every: 250ms }, markets: { every: 250ms }, notifications: { every: 250ms } }
history: { path: ./perpwatch.db }
rules: [ ../rules.yaml ]
channels:
  chat: { type: discord, ${chat} }
  mail: { type: email, ${mail}, from: perpwatch@example.org, to: [ me@example.org ] }
dashboard: { listen: off }
`;
    writeFileSync(path.join(place, "config.yaml"), config, { mode: 0o600 });
    return { config: path.join(place, "config.yaml"), database: path.join(place, "perpwatch.db") };
  });

  /** The messages that both channels have accepted so far, copy by copy. */
  const accepted = (): Accepted[] => [
    ...discord.messages.map(({ nonce }) => ({
      channel: "chat" as const,
      id: nonce ?? "",
      text: sent(nonce),
    })),
    ...smtp.mails.map(({ messageId, text }) => ({
      channel: "mail" as const,
      id: messageId.slice(1, messageId.indexOf("@")),
      text,
    })),
  ];
  const firstTexts = new Map<string | null, string>();
  const sent = (nonce: string | null) => {
    const known = firstTexts.get(nonce);
    if (known !== undefined) return known;
    const text = discord.requests
      .map(({ body }) => body as { readonly nonce?: string } | undefined)
      .filter((body) => body?.nonce === nonce)
      .map((body) => JSON.stringify(body))[0]!;
    firstTexts.set(nonce, text);
    return text;
  };
  const idsTelling = (all: readonly Accepted[], channel: ChannelName, words: RegExp) =>
    new Set(all.filter((one) => one.channel === channel && words.test(one.text)).map(({ id }) => id));
  const inboxOf = (name: string) =>
    [...simulator.world.wallets.values()]
      .filter((wallet) => wallet.name === name)
      .flatMap(({ notifications }) => notifications.all())
      .filter(({ source }) => source === "general");

  /** The place of each daemon's death, kill by kill. */
  const deaths: (readonly Where[])[] = [];
  const notes: { readonly daemon: number; readonly words: RegExp; readonly life: number }[] = [];
  const note = async (daemon: number) => {
    const title = `note ${notes.length + 1}`;
    notes.push({ daemon, words: new RegExp(`\\(${title}\\)`), life: deaths.length });
    const trader = names[daemon];
    await simulator.call("notification", { trader, source: "general", notificationType: "note", title });
  };
  const everyNote = () => Promise.all(names.map((_, daemon) => note(daemon)));

  // What moves moves when all that is to be told of the move before has arrived, over as many lives as that takes.
  const told: Record<Phrase, number> = { firing: 0, resolved: 0, liquidated: 0, taken: 0 };
  const arrived = async (phrase: Phrase) => {
    told[phrase]++;
    const isThere = (channel: ChannelName) => () => {
      const all = accepted();
      return names.every((name) => idsTelling(all, channel, phrases[phrase](name)).size >= told[phrase]);
    };
    await Promise.all([
      discord.waitForMessage(isThere("chat"), 300_000),
      smtp.waitForMail(isThere("mail"), 300_000),
    ]);
  };
  let over = false;
  const story = async () => {
    // New positions are opened where the ones before were taken: an older price is no danger to them.
    for (let level = 150; !over; ) {
      await SOL(level * 0.783);
      await arrived("firing");
      if (told.firing % 2 > 0) {
        await SOL(level);
        await arrived("resolved");
        continue;
      }
      level *= 0.7447;
      await SOL(level);
      await Promise.all([arrived("liquidated"), arrived("taken")]);
      await hold(level);
    }
  };

  /** By id: where the daemon died while this message was accepted and not recorded. */
  const inWindow = new Map<string, Where[]>();
  const tooEarly: { readonly what: string; readonly where: Where }[] = [];
  /** After a kill: what the channels and the exchange hold, against what the databases do. */
  const examine = async (died: readonly Where[]) => {
    // What the dead left in their sockets arrives first.
    await smtp.waitForNobody(180_000);
    deaths.push(died);
    const all = accepted();
    for (const [daemon, { database }] of places.entries()) {
      const where = died[daemon]!;
      const store = openStore({ path: database, readonly: true });
      const messages = await store.messages({});
      await store.close();
      const recorded = new Set(messages.filter(({ status }) => status === "delivered").map(({ id }) => id));
      const known = new Set(messages.map(({ id }) => id));
      for (const id of new Set(all.map((one) => one.id)))
        if (known.has(id) && !recorded.has(id)) inWindow.set(id, [...(inWindow.get(id) ?? []), where]);
      for (const { title, acked } of inboxOf(names[daemon]!)) {
        if (!acked) continue;
        for (const channel of channels) {
          const ids = [...idsTelling(all, channel, new RegExp(`\\(${title}\\)`))];
          if (!ids.some((id) => recorded.has(id))) tooEarly.push({ what: `${title} on ${channel}`, where });
        }
      }
    }
  };

  const commits = new Set<number>();
  const watching = Promise.withResolvers<void>();
  await using rig = new CrashRig({
    configs: places.map(({ config }) => config),
    cache: path.join(folder.path, "compiled"),
    onStep(daemon, step) {
      if (step === "ack-recorded" && !over) void note(daemon);
      if (commits.size === side || step !== "committed" || !inboxRead(daemon)) return;
      commits.add(daemon);
      if (commits.size === side) watching.resolve();
    },
  });
  // The first life finds nothing to tell; from here on everything is news.
  const inboxRead = (daemon: number) =>
    simulator.requests.query(`/v1/traders/${simulator.traders[daemon]!.traderPda}/notifications`).count > 2;
  await rig.lifeWhile(() => watching.promise);

  const rounds = Math.max(...Object.values(steps).map((occurrences) => occurrences.length));
  const plan = Array.from({ length: rounds }, (_, round) =>
    Object.entries(steps).flatMap(([step, occurrences]) => {
      const occurrence = occurrences[round];
      return occurrence === undefined ? [] : [{ step: step as Step, occurrence }];
    }),
  ).flat();
  expect(plan.length % side, "each kill ends every daemon at a moment of the plan").toBe(0);
  const moments: Moment[] = [...plan];
  const telling = story();
  telling.catch(() => {});
  while (moments.length > 0) {
    const some = moments.splice(0, side);
    await everyNote();
    await Promise.race([rig.lifeUntil(some), telling.then(() => {})]);
    await examine(some.map(({ step }) => step));
  }
  for (let time = 0; time < unansweredTimes; time++) {
    await everyNote();
    await rig.lifeWhile(() => {
      const before = discord.messages.length;
      discord.fail({ effect: { kind: "stallBody" } });
      return discord.waitForMessage(() => discord.messages.length > before, 180_000);
    });
    await examine(names.map(() => "Discord accepted"));
    await everyNote();
    await rig.lifeWhile(() => {
      const before = smtp.mails.length;
      smtp.fail({ at: "afterData", drop: true });
      return smtp.waitForMail(() => smtp.mails.length > before, 180_000);
    });
    await examine(names.map(() => "mail accepted"));
  }

  // The last life: what is open comes to its end.
  over = true;
  const settled = async () => {
    await telling;
    const everything = () => names.flatMap(inboxOf);
    await expect.poll(() => everything().every(({ acked }) => acked), { timeout: 180_000 }).toBe(true);
  };
  const unsettled = await rig.lifeWhile(settled, 400_000).then(() => null, String);

  const all = accepted();
  const lost = notes.filter(({ words }) => channels.some((one) => idsTelling(all, one, words).size === 0));
  const inTwo = notes.filter(({ words }) => channels.some((one) => idsTelling(all, one, words).size > 1));
  const repeated = [...Map.groupBy(all, ({ id }) => id)].flatMap(([id, copies]) =>
    copies.slice(1).map(({ channel }, i) => ({ id, channel, where: inWindow.get(id)?.[i] })),
  );

  const counted = (places: readonly (Where | undefined)[], where: Where) =>
    places.filter((one) => one === where).length;
  const copies = (channel: ChannelName) => repeated.filter((one) => one.channel === channel);
  console.table(
    Object.fromEntries(
      [...(Object.keys(steps) as Step[]), ...unanswered].map((where) => [
        where,
        {
          killed: counted(deaths.flat(), where),
          lost: counted(
            lost.map(({ life, daemon }) => deaths[life]?.[daemon]),
            where,
          ),
          "acknowledged early": counted(
            tooEarly.map((one) => one.where),
            where,
          ),
          "twice on Discord": counted(
            copies("chat").map((one) => one.where),
            where,
          ),
          "twice by mail": counted(
            copies("mail").map((one) => one.where),
            where,
          ),
        },
      ]),
    ),
  );
  const { firing, liquidated } = told;
  console.log(
    `${deaths.length} kills of ${side} daemons, ${notes.length} notes, ${side} × ${firing} falls and ${liquidated} ` +
      `liquidations, ${all.length} messages`,
  );

  expect(plan.length).toBeGreaterThanOrEqual(50);
  expect(lost).toEqual([]);
  expect(tooEarly).toEqual([]);
  expect(inTwo).toEqual([]);
  const others = all.flatMap(({ text }) => text.match(/\b(CLOSED|FLIPPED|NO LONGER WATCHED)\b/g) ?? []);
  expect(others).toEqual([]);
  for (const [phrase, words] of Object.entries(phrases))
    for (const channel of channels)
      expect(
        names.map((name) => `${name}: ${idsTelling(all, channel, words(name)).size} ${phrase} on ${channel}`),
      ).toEqual(names.map((name) => `${name}: ${told[phrase as Phrase]} ${phrase} on ${channel}`));
  // The window, and nothing but the window; on Discord not even that.
  expect(repeated.filter(({ where }) => where === undefined)).toEqual([]);
  expect(copies("chat")).toEqual([]);
  expect(unsettled).toBeNull();
});
