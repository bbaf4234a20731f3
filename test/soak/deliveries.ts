/**
 * Notifications come in at a simulated exchange while the daemon is killed with SIGKILL, over and over, at random moments
 * and at each labelled step, and while its channels misbehave in turn. What is looked at afterwards: whether every one was
 * told, on each channel and in one message only, whether any was acknowledged before that, and which messages arrived twice.
 *
 * An event counts as told when its alert is among those of a message that the database holds as delivered, and that
 * message arrived at the channel's far side and names the event, in its text or in a file of it.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "../../src/domain/clock.ts";
import { startSimulator } from "../../src/simulator/index.ts";
import { CrashRig } from "../support/crash-rig.ts";
import type { Step } from "../support/daemon-child.ts";
import { type ChannelName, channelNames, FarSides, type Trouble, troubles } from "./far-sides.ts";
import { Judge } from "./judge.ts";

export const steps = [
  "observed",
  "judged",
  "committed",
  "owed-seen",
  "sealed",
  "before-send",
  "sent",
  "recorded",
  "ack-due",
  "ack-sent",
  "ack-recorded",
] as const satisfies readonly Step[];

export interface SoakOptions {
  /** For databases and keys. */
  readonly folder: string;
  readonly events: number;
  /** Kills at random moments. */
  readonly kills: number;
  /** The number of deaths at each labelled step, besides. */
  readonly perStep: number;
  readonly seed: number;
  /** Longest life before a random kill, from the first commit on, ms. */
  readonly longestLifeMs: number;
  /** Told of progress. */
  readonly say?: (line: string) => void;
}

export interface SoakResult {
  readonly seed: number;
  readonly events: number;
  readonly kills: { readonly random: number; readonly steps: Readonly<Record<string, number>> };
  /** Lives in which a channel met each trouble. */
  readonly troubles: Readonly<Record<ChannelName, Readonly<Record<Trouble, number>>>>;
  /** By channel: events that no accepted message names. */
  readonly lost: Readonly<Record<ChannelName, readonly string[]>>;
  /** Events that two messages of one receiver tell of. */
  readonly inTwo: Readonly<Record<ChannelName, readonly string[]>>;
  /** Acknowledged at the exchange while a channel had not got it, as of a kill. */
  readonly acknowledgedEarly: readonly string[];
  /** Events that nobody acknowledged in the end. */
  readonly unacknowledged: number;
  readonly messages: Readonly<Record<ChannelName, number>>;
  /** Copies beyond the first one of a message. */
  readonly copies: Readonly<Record<ChannelName, number>>;
  /** Most messages that one kill left accepted in that life and not recorded; those whose answer was cut off do not count. */
  readonly mostInWindow: Readonly<Record<ChannelName, number>>;
  /** The same, of all kills. */
  readonly inWindow: Readonly<Record<ChannelName, number>>;
  /** Mails that the server took and then cut the line. */
  readonly mailsWithoutAnswer: number;
  readonly dead: number;
  readonly largestMessage: number;
  readonly tookMs: number;
}

/** Wallets whose inboxes fill. */
const wallets = 5;
const rules = `
rules:
${(["critical", "warning", "info"] as const)
  .map(
    (severity) => `  - name: Told_${severity}
    on: notification
    when: event.source == "general" && event.type == "${severity}"
    severity: ${severity}
    acknowledge: whenDelivered
    summary: "{{ event.title }}"`,
  )
  .join("\n")}
`;

export async function soak(options: SoakOptions): Promise<SoakResult> {
  const { folder, events, kills, perStep, seed, longestLifeMs, say = () => {} } = options;
  const beganMs = performance.now();
  const random = seededRandom(seed);
  await using far = await FarSides.start();
  const keysDir = path.join(folder, "keys");
  await using simulator = await startSimulator({ walk: false, traders: wallets, keysDir });
  const place = path.join(folder, "daemon");
  mkdirSync(place);
  const database = path.join(place, "perpwatch.db");
  const config = path.join(place, "config.yaml");
  writeFileSync(path.join(place, "rules.yaml"), rules);
  const configure = (away: ReadonlySet<ChannelName>) =>
    writeFileSync(
      config,
      `exchange: { baseUrl: "${simulator.url}", requestsPerSecond: 200 }
wallets:
${simulator.traders.map(({ name, keyFile }) => `  - { name: ${name}, keyFile: "${keyFile}" }`).join("\n")}
schedules: { notifications: { every: 250ms, whenStreaming: 1s } }
history: { path: ./perpwatch.db }
rules: [ ./rules.yaml ]
routing: { receivers: [ ${channelNames.join(", ")} ], groupBy: [ wallet, rule ], groupWait: 50ms, groupInterval: 200ms, stormFold: 20 }
dashboard: { listen: off }
${far.config(away)}`,
      { mode: 0o600 },
    );

  const any = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;
  let written = 0;
  const titleOf = (n: number) => `event ${n} of ${seed}`;
  const write = async () => {
    const n = ++written;
    const severity = n % 20 === 7 ? "critical" : n % 4 === 0 ? "warning" : "info";
    const trader = any(simulator.traders).name;
    const title = titleOf(n);
    await simulator.call("notification", { trader, source: "general", notificationType: severity, title });
  };
  /**
   * Writes so many in four bursts within this time; those that are left when it is over, at once.
   * @param goesOn writes one now and then after that, for a step that has not come yet
   */
  const writing = (many: number, ms: number, goesOn: boolean) => {
    let left = many;
    const over = new AbortController();
    const some = async (most: number) => {
      for (let n = 0; n < most && left > 0; n++) {
        left--;
        await write();
      }
    };
    const run = async () => {
      for (let burst = 0; burst < 4 && !over.signal.aborted; burst++) {
        await some(Math.ceil(many / 4));
        await sleep(ms / 4, undefined, { signal: over.signal }).catch(() => {});
      }
      await some(left);
      while (goesOn && !over.signal.aborted) {
        await sleep(250, undefined, { signal: over.signal }).catch(() => {});
        await write();
      }
    };
    const done = run();
    return {
      async end() {
        over.abort();
        await done;
      },
    };
  };

  const inboxes = () =>
    [...simulator.world.wallets.values()].map(({ notifications }) =>
      notifications.all().filter(({ source }) => source === "general"),
    );
  const early: string[] = [];
  const looked = new Set<string>();
  const windows = zeros();
  const mostInWindow = zeros();
  let unansweredBefore = new Map<string, number>();
  /** After a kill: what the far sides and the exchange hold, against what the database does. */
  const examine = async () => {
    await far.quiet();
    using judge = new Judge(database);
    const arrived = new Map(channelNames.map((name) => [name, far.texts(name)]));
    // Each that was accepted and is not recorded was so because of the kill, unless its line was cut.
    const unanswered = new Map<string, number>();
    const count = (id: string, by: number) => unanswered.set(id, (unanswered.get(id) ?? 0) + by);
    for (const name of channelNames) for (const id of far.accepted(name)) count(id, 1);
    for (const id of far.mailsWithoutAnswer) count(id, -1);
    const found = zeros();
    for (const { id, receiver } of judge.open())
      if ((unanswered.get(id) ?? 0) > (unansweredBefore.get(id) ?? 0)) found[receiver]++;
    unansweredBefore = unanswered;
    for (const name of channelNames) {
      windows[name] += found[name];
      mostInWindow[name] = Math.max(mostInWindow[name], found[name]);
    }
    for (const { title, acked } of inboxes().flat()) {
      if (!acked || title === null || looked.has(title)) continue;
      looked.add(title);
      const [alertId] = judge.alerts(title);
      const tellings = alertId === undefined ? null : judge.tellings(alertId);
      for (const name of channelNames)
        if (
          !tellings?.[name].some(
            ({ id, delivered }) => delivered && arrived.get(name)?.get(id)?.includes(title),
          )
        )
          early.push(`${title} on ${name}`);
    }
  };

  configure(new Set());
  const watching = Promise.withResolvers<void>();
  let commits = 0;
  /** Resolves when the daemon of this life has begun to commit. */
  let works = Promise.withResolvers<void>();
  await using rig = new CrashRig({
    configs: [config],
    cache: path.join(folder, "compiled"),
    onStep(_, step) {
      const read = simulator.traders.every(
        ({ traderPda }) => simulator.requests.query(`/v1/traders/${traderPda}/notifications`).count > 2,
      );
      if (step === "committed") works.resolve();
      if (step === "committed" && read && ++commits > 20) watching.resolve();
    },
  });
  // The first life finds nothing to tell; from here on everything is news.
  await rig.lifeWhile(() => watching.promise);

  const plan: ("random" | Step)[] = [
    ...Array.from({ length: kills }, () => "random" as const),
    ...steps.flatMap((step) => Array.from({ length: perStep }, () => step)),
  ];
  shuffle(plan, random);
  const met = Object.fromEntries(
    channelNames.map((name) => [name, Object.fromEntries(troubles.map((trouble) => [trouble, 0]))]),
  ) as Record<ChannelName, Record<Trouble, number>>;
  const killed: Record<string, number> = Object.fromEntries(steps.map((step) => [step, 0]));
  let killedAtRandom = 0;
  let turn = 0;
  for (const [life, when] of plan.entries()) {
    const unwell: [ChannelName, Trouble][] = [];
    const other = any(channelNames);
    if (when === "random") {
      // One channel after the other meets one trouble after the other; now and then a second one has its own.
      const first = channelNames[turn % channelNames.length]!;
      unwell.push([first, troubles[Math.floor(turn / channelNames.length) % troubles.length]!]);
      turn++;
      if (other !== first && random() < 0.5) unwell.push([other, any(troubles)]);
    } else {
      // A step has to be come to, so only what passes soon befalls a channel here.
      unwell.push([other, any(["429 with Retry-After", "5xx", "accept, then hang up"] as const)]);
    }
    configure(new Set(unwell.flatMap(([name, trouble]) => (trouble === "DNS failure" ? [name] : []))));
    for (const [name, trouble] of unwell) {
      met[name][trouble]++;
      far.trouble(name, trouble, when === "random" ? any([1, 2, 3, 4]) : 1, random);
    }
    const lifeMs = 50 + random() * longestLifeMs;
    const many = Math.ceil((events - written) / (plan.length - life));
    const words = writing(many, lifeMs, when !== "random");
    works = Promise.withResolvers();
    if (when === "random") {
      // Some die while they start; most of them later, however slow the machine is.
      const early = random() < 0.2;
      await rig.lifeWhile(async () => {
        if (!early) await works.promise;
        await sleep(lifeMs);
      });
      killedAtRandom++;
    } else {
      await rig.lifeUntil([{ step: when, occurrence: any([1, 2, 3]) }], 180_000);
      killed[when] = (killed[when] ?? 0) + 1;
    }
    far.mend();
    await examine();
    await words.end();
    if ((life + 1) % 20 === 0) say(`${life + 1} kills, ${written} events, ${looked.size} acknowledged`);
  }

  // The last life, in which all is well: what is owed comes to its end, or stands still for too long.
  configure(new Set());
  await rig.lifeWhile(async () => {
    let open = Number.POSITIVE_INFINITY;
    for (let sinceMs = performance.now(); performance.now() - sinceMs < 180_000; await sleep(100)) {
      const now = inboxes()
        .flat()
        .filter(({ acked }) => !acked).length;
      if (now === 0) return;
      if (now < open) sinceMs = performance.now();
      open = now;
    }
  }, 600_000);
  await examine();

  using judge = new Judge(database);
  const lost = lists();
  const inTwo = lists();
  const messages = zeros();
  const copies = zeros();
  const arrived = new Map<ChannelName, ReadonlyMap<string, string>>();
  for (const name of channelNames) {
    const all = far.accepted(name);
    arrived.set(name, far.texts(name));
    messages[name] = new Set(all).size;
    copies[name] = all.length - messages[name];
  }
  for (let n = 1; n <= written; n++) {
    const title = titleOf(n);
    const tellings = judge.alerts(title).map((id) => judge.tellings(id));
    for (const name of channelNames) {
      const all = tellings.flatMap((one) => one[name]);
      if (!all.some(({ id, delivered }) => delivered && arrived.get(name)?.get(id)?.includes(title)))
        lost[name].push(title);
      if (all.length > 1) inTwo[name].push(title);
    }
  }
  const { byStatus, largest } = judge.totals();
  return {
    ...{ seed, events: written, kills: { random: killedAtRandom, steps: killed }, troubles: met },
    ...{ lost, inTwo, acknowledgedEarly: early, messages, copies, mostInWindow, inWindow: windows },
    unacknowledged: inboxes()
      .flat()
      .filter(({ acked }) => !acked).length,
    mailsWithoutAnswer: far.mailsWithoutAnswer.length,
    dead: byStatus.dead ?? 0,
    largestMessage: largest,
    tookMs: performance.now() - beganMs,
  };
}

const zeros = (): Record<ChannelName, number> => ({ chat: 0, mail: 0, hook: 0 });
const lists = (): Record<ChannelName, string[]> => ({ chat: [], mail: [], hook: [] });

function shuffle<T>(all: T[], random: () => number): void {
  for (let i = all.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [all[i], all[j]] = [all[j]!, all[i]!];
  }
}

/** The result as people read it. */
export function soakTable(result: SoakResult): string {
  const { kills, lost, inTwo, copies, messages, inWindow, mostInWindow } = result;
  const words: Record<ChannelName, string> = { chat: "Discord bot", mail: "email", hook: "webhook" };
  const labelled = Object.values(kills.steps).reduce((sum, n) => sum + n, 0);
  const rows = [
    ["", ...channelNames.map((name) => words[name])],
    ["events lost", ...channelNames.map((name) => String(lost[name].length))],
    ["events told in two messages", ...channelNames.map((name) => String(inTwo[name].length))],
    ["messages", ...channelNames.map((name) => String(messages[name]))],
    ["second copies of a message", ...channelNames.map((name) => String(copies[name]))],
    ["accepted and not recorded at a kill", ...channelNames.map((name) => String(inWindow[name]))],
    ["… most at one kill", ...channelNames.map((name) => String(mostInWindow[name]))],
    ...troubles.map((trouble) => [
      `lives with ${trouble}`,
      ...channelNames.map((name) => String(result.troubles[name][trouble])),
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[i]!))).join("  "),
  );
  return [
    `${result.events} events, ${kills.random} kills at random moments and ${labelled} at labelled steps, seed ${result.seed}, ${(
      result.tookMs / 1_000
    ).toFixed(0)} s`,
    ...lines,
    `acknowledged but undelivered: ${result.acknowledgedEarly.length}; never acknowledged: ${result.unacknowledged}; dead messages: ${result.dead}`,
    `mails taken without an answer: ${result.mailsWithoutAnswer}; the largest message stands for ${result.largestMessage} events`,
  ].join("\n");
}
