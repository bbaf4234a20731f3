/** The outbox with the channels that ship, against a local Discord and a local mail server. */
import { Writable } from "node:stream";
import { expect, test } from "vitest";
import type { Channel } from "../../src/channels/channel.ts";
import { channelSettings, createChannel } from "../../src/channels/registry.ts";
import { createOutbox, type Outbox, type OutboxOptions } from "../../src/deliver/index.ts";
import type { ChartSeries } from "../../src/domain/alerts/chart.ts";
import { seededRandom, systemClock } from "../../src/domain/clock.ts";
import type { Charts } from "../../src/domain/ports.ts";
import { CommitFailed } from "../../src/domain/ports.ts";
import type { Changes } from "../../src/domain/stored/changes.ts";
import { openStore } from "../../src/history/index.ts";
import { alertmanagerDialect, pagerdutyDialect } from "../support/dialects.ts";
import { startDiscord } from "../support/discord.ts";
import { startService } from "../support/service.ts";
import { startSmtp } from "../support/smtp.ts";
import { Alerts, temporaryFolder, together } from "./support.ts";

/** For an event that comes, on however busy a machine. */
const eventMs = 60_000;

async function world() {
  const [discord, smtp, folder, clock] = [
    await startDiscord(),
    await startSmtp(),
    temporaryFolder(),
    systemClock(),
  ];
  const store = openStore({ path: folder.file, clock });
  const random = seededRandom(11);
  const made: Outbox[] = [];
  const observed: string[] = [];
  const boot = async (more: Partial<OutboxOptions> = {}, chat: "bot" | "webhook" = "bot") => {
    const deps = { clock, random, out: new Writable({ write: (_chunk, _encoding, done) => done() }) };
    const channel = (name: string, settings: unknown): [string, Channel] => [
      name,
      createChannel(name, channelSettings.parse(settings), deps),
    ];
    const { token, channelId, apiUrl, webhookUrl } = discord;
    const bot = { type: "discord", token, channelId, apiUrl };
    const outbox = createOutbox({
      channels: new Map([
        channel("chat", chat === "bot" ? bot : { type: "discord", webhookUrl }),
        channel("mail", {
          type: "email",
          smtp: { host: smtp.host, port: smtp.port, secure: false },
          ...{ from: "watch@example.org", to: ["me@example.net"] },
        }),
      ]),
      ...{ store, clock, random, sender: "perpwatch on test", instance: "/one.db", drainMs: 50 },
      observe: (one) => {
        if (one.kind === "channel") observed.push(`${one.channel} ${one.working}`);
      },
      ...more,
    });
    made.push(outbox);
    await outbox.start(new AbortController().signal);
    return outbox;
  };
  const owe = async (outbox: Outbox, one: Changes) => {
    await store.commit([one]);
    outbox.committed(one);
  };
  return {
    ...{ discord, smtp, store, clock, boot, owe, observed, alerts: new Alerts(clock) },
    async [Symbol.asyncDispose]() {
      for (const outbox of made) await outbox.stop();
      await discord.close();
      await smtp.close();
      await store.close();
      folder[Symbol.dispose]();
    },
  };
}

test("an alert and its end: on Discord a thread and an edit, by mail a thread; a sick Discord holds up no mail", async () => {
  await using one = await world();
  const outbox = await one.boot();
  // Until the mail is there, however long that takes.
  one.discord.fail({ effect: { kind: "rateLimit", retryAfterMs: 300 }, times: Number.POSITIVE_INFINITY });
  const alert = one.alerts.alert({ summary: "SOL is near" });
  await one.owe(outbox, one.alerts.step("fired", alert, ["chat", "mail"]));
  const mail = await one.smtp.waitForMail(({ subject }) => subject.includes("SOL is near"), eventMs);
  await one.discord.waitForRequest(({ status }) => status === 429, eventMs);
  expect(one.discord.messages).toEqual([]);
  one.discord.clearFaults();
  const first = await one.discord.waitForMessage(({ text }) => text.includes("FIRING critical"), eventMs);
  await one.owe(outbox, one.alerts.step("ended", alert, ["chat", "mail"]));
  const ended = await one.discord.waitForMessage(
    ({ text, channelId }) => channelId !== one.discord.channelId && text.includes("RESOLVED"),
    eventMs,
  );
  expect(ended.channelId).toBe(first.id);
  const reply = await one.smtp.waitForMail(({ subject }) => subject.includes("RESOLVED"), eventMs);
  await outbox.idle();
  expect(first.edits).toBe(1);
  expect(reply.raw).toContain(`In-Reply-To: ${/^Message-ID: (.*)$/m.exec(mail.raw)?.[1]}`);
  const messages = await one.store.messages({});
  expect(
    messages
      .map(({ receiver, status, attempts }) => `${receiver} ${status} ${attempts > 1 ? "again" : "at once"}`)
      .sort(),
  ).toEqual([
    "chat delivered again",
    "chat delivered at once",
    "mail delivered at once",
    "mail delivered at once",
  ]);
  expect(messages.map(({ id }) => id)).toContain(first.nonce);
});

test("a message that Discord took but nobody recorded is sent again under its nonce after a restart: one arrives", async () => {
  await using one = await world();
  const lost = Promise.withResolvers<void>();
  const dead = {
    ...{
      deliveryItems: one.store.deliveryItems.bind(one.store),
      messages: one.store.messages.bind(one.store),
    },
    alerts: one.store.alerts.bind(one.store),
    alertChanges: one.store.alertChanges.bind(one.store),
    commit: (batch: readonly Changes[]) =>
      batch.some(({ messages }) => messages.some(({ status }) => status === "delivered"))
        ? Promise.reject(new CommitFailed("io", "this run is over"))
        : one.store.commit(batch),
  };
  const before = await one.boot({ store: dead, probe: (step) => void (step === "sent" && lost.resolve()) });
  await one.owe(before, one.alerts.step("fired", one.alerts.alert()));
  await lost.promise;
  await before.stop();
  expect(await one.store.messages({})).toMatchObject([{ status: "sealed" }]);
  const after = await one.boot();
  await after.idle();
  expect(await one.store.messages({})).toMatchObject([
    { status: "delivered", receipt: one.discord.messages[0]?.id },
  ]);
  expect(one.discord.messages).toHaveLength(1);
});

test("what was taken in a thread, but recorded by nobody, is found there after a restart; receipts name thread and message", async () => {
  await using one = await world();
  const lost = Promise.withResolvers<void>();
  let dying = false;
  const dead = {
    ...{
      deliveryItems: one.store.deliveryItems.bind(one.store),
      messages: one.store.messages.bind(one.store),
    },
    alerts: one.store.alerts.bind(one.store),
    alertChanges: one.store.alertChanges.bind(one.store),
    commit: (batch: readonly Changes[]) =>
      dying && batch.some(({ messages }) => messages.some(({ status }) => status === "delivered"))
        ? Promise.reject(new CommitFailed("io", "this run is over"))
        : one.store.commit(batch),
  };
  const before = await one.boot({
    store: dead,
    probe: (step) => void (dying && step === "sent" && lost.resolve()),
  });
  const alert = one.alerts.alert();
  await one.owe(before, one.alerts.step("fired", alert));
  await before.idle();
  dying = true;
  await one.owe(before, one.alerts.step("reminder", alert));
  await lost.promise;
  await before.stop();
  const after = await one.boot();
  await after.idle();
  const [root, below] = one.discord.messages;
  expect(below?.channelId).toBe(root?.id);
  expect((await one.store.messages({})).map(({ receipt }) => receipt)).toEqual([
    root?.id,
    `${root?.id}/${below?.id}`,
  ]);
  await one.owe(after, one.alerts.step("worsened", alert));
  await after.idle();
  expect(one.discord.messages.map(({ channelId }) => channelId === root?.id)).toEqual([false, true, true]);
});

test.each([
  ["of an incident", "incident/{}/1"],
  ["of a group", "all/{}"],
])("no edit takes back an end that was told, nor after a restart: alerts %s", async (_of, group) => {
  await using one = await world();
  let outbox = await one.boot();
  const [first, second, third] = [1, 2, 3].map((at) =>
    one.alerts.alert({ summary: `account ${at} is near`, subject: `main/0.${at}`, rule: `R${at}` }),
  );
  const tell = async (...steps: Parameters<typeof one.alerts.step>[]) => {
    await one.owe(outbox, together(steps.map((step) => one.alerts.step(...step))));
    await outbox.idle();
  };
  await tell(
    ["fired", first!, ["chat"], group],
    ["fired", second!, ["chat"], group],
    ["fired", third!, ["chat"], group],
  );
  await tell(
    ["reminder", first!, ["chat"], group],
    ["reminder", second!, ["chat"], group],
    ["reminder", third!, ["chat"], group],
  );
  const isStruck = (
    alertId: number,
    { embeds }: { readonly embeds: readonly { readonly title?: string }[] },
  ) => embeds.some(({ title = "" }) => title.startsWith("~~") && title.includes(`#${alertId}:`));
  const isTold = (...ids: number[]) =>
    one.discord.waitForMessage(
      (shown) => shown.text.includes("STILL FIRING") && ids.every((id) => isStruck(id, shown)),
      eventMs,
    );
  await tell(["ended", first!, ["chat"], group]);
  const reminder = await isTold(1);
  await tell(["ended", second!, ["chat"], group]);
  await isTold(1, 2);
  await outbox.stop();
  outbox = await one.boot();
  const calm = { ...third!, severity: "warning" as const };
  // A fall calls nobody: in an incident it is quiet.
  const quietly = one.alerts.step("fell", calm, ["chat"], group);
  const owed = quietly.deliveryItems.map((item) => ({ ...item, quiet: true as const }));
  await one.owe(outbox, group.startsWith("incident") ? { ...quietly, deliveryItems: owed } : quietly);
  await outbox.idle();
  await one.discord.waitForMessage(
    ({ id, text }) => id === reminder.id && text.includes("BETTER, now warning"),
    eventMs,
  );
  const now = one.discord.messages.find(({ id }) => id === reminder.id)!;
  expect([1, 2, 3].map((id) => isStruck(id, now))).toEqual([true, true, false]);
});

test("a channel that was deleted is told once, what is owed there waits, and the other channel works", async () => {
  await using one = await world();
  const outbox = await one.boot({}, "webhook");
  one.discord.removeChannel();
  await one.owe(outbox, one.alerts.step("fired", one.alerts.alert(), ["chat", "mail"]));
  await one.smtp.waitForMail(() => true);
  await outbox.idle();
  expect(one.observed.filter((line) => line === "chat false")).toHaveLength(1);
  expect(outbox.status().map(({ name, waiting, working }) => [name, waiting, working])).toEqual([
    ["chat", 1, false],
    ["mail", 0, true],
  ]);
});

/** A figure that falls, a point each 15 s of six hours. */
const falling = (atMs: number, to: number): ChartSeries => ({
  ...{ title: "main/0.0/SOL: position.liquidationDistance", unit: "ratio" },
  points: Array.from(
    { length: 1_440 },
    (_, at) => [atMs - (1_440 - at) * 15_000, 0.2 - (at / 1_440) * to] as const,
  ),
  thresholds: [
    { severity: "critical", value: 0.05 },
    { severity: "info", value: Number.POSITIVE_INFINITY },
  ],
});

test("a mail's chart is what was when it was sealed: the repeat by another run is the same mail to the byte", async () => {
  await using one = await world();
  let to = 0.1;
  const asked: number[] = [];
  const charts: Charts = {
    series: async (id) => {
      asked.push(id);
      return falling(one.clock.nowMs(), to);
    },
  };
  const alert = one.alerts.alert();
  one.smtp.fail({ at: "afterData", drop: true });
  const before = await one.boot({ charts });
  await one.owe(before, one.alerts.step("fired", alert, ["chat", "mail"]));
  // The whole mail has arrived, and its acceptance is lost.
  await one.smtp.waitForMail(({ cut }) => cut, eventMs);
  await before.stop();
  // The figure went on, and the rule may be another one by now.
  to = 0.19;
  const after = await one.boot({ charts });
  const mails = await Promise.all(
    [0, 1].map((at) => one.smtp.waitForMail((mail) => one.smtp.mails[at] === mail, eventMs)),
  );
  await after.idle();
  expect(mails[0]?.inline).toMatchObject([{ type: "image/png" }]);
  expect(mails[1]?.raw).toBe(mails[0]?.raw);
  expect(asked).toEqual([alert.id]);
  const sealed = await one.store.messages({});
  expect(sealed.map(({ receiver, content }) => [receiver, content.chart?.alertId])).toEqual(
    expect.arrayContaining([
      ["chat", undefined],
      ["mail", alert.id],
    ]),
  );
  const chart = sealed.find(({ receiver }) => receiver === "mail")?.content.chart;
  expect(chart?.points.length).toBeLessThanOrEqual(202);
  expect(chart?.points.at(-1)?.[1]).toBeCloseTo(0.1, 3);
  expect(chart?.thresholds).toEqual([{ severity: "critical", value: 0.05 }]);
  expect(JSON.stringify(chart).length).toBeLessThan(6_000);
});

test.each([
  ["is not read in time", () => new Promise<null>(() => {})],
  ["cannot be read", () => Promise.reject(new Error("the disk is gone"))],
  ["is none", () => Promise.resolve(null)],
])("a series that %s: the mail leaves without it", async (_what, series) => {
  await using one = await world();
  const outbox = await one.boot({ charts: { series } });
  await one.owe(outbox, one.alerts.step("fired", one.alerts.alert(), ["mail"]));
  expect((await one.smtp.waitForMail(() => true, eventMs)).inline).toEqual([]);
  await outbox.idle();
});

test("PagerDuty and Alertmanager are told of each alert of a storm, and of each one's end: nothing there stays open", async () => {
  await using one = await world();
  const key = "0123456789abcdef0123456789abcdef";
  await using pager = await startService(pagerdutyDialect(key));
  await using manager = await startService(alertmanagerDialect("watch", "pass"));
  const deps = { clock: one.clock, random: seededRandom(3), out: new Writable() };
  const made = (name: string, settings: unknown): [string, Channel] => [
    name,
    createChannel(name, channelSettings.parse(settings), deps),
  ];
  const outbox = await one.boot({
    channels: new Map([
      made("chat", { type: "pagerduty", routingKey: key, apiUrl: pager.url }),
      made("mail", { type: "alertmanager", url: manager.url, user: "watch", password: "pass" }),
    ]),
  });
  const { alerts } = one;
  // One large group, and more groups than are told one by one elsewhere.
  const all = Array.from({ length: 90 }, (_, i) => alerts.alert({ subject: `main/0.0/S${i}` }));
  const groupOf = (i: number) => (i < 60 ? "large" : `group ${i}`);
  for (const kind of ["fired", "ended"] as const) {
    await one.owe(
      outbox,
      together(all.map((alert, i) => alerts.step(kind, alert, ["chat", "mail"], groupOf(i)))),
    );
    await outbox.idle();
  }
  const events = pager.taken.map((text) => JSON.parse(text) as { event_action: string; dedup_key: string });
  const keys = (action: string) =>
    new Set(events.filter((event) => event.event_action === action).map((event) => event.dedup_key));
  expect(keys("trigger").size).toBe(all.length);
  expect(keys("resolve")).toEqual(keys("trigger"));
  const given = manager.taken.flatMap(
    (text) => JSON.parse(text) as { labels: { subject: string }; endsAt: string }[],
  );
  const over = new Map(given.map(({ labels, endsAt }) => [labels.subject, Date.parse(endsAt) <= Date.now()]));
  expect(over.size).toBe(all.length);
  expect([...over].filter(([, ended]) => !ended)).toEqual([]);
}, 60_000);
