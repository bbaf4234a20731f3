/**
 * From the moment at which an observation is handed over that makes a critical alert fire, until the other side of a channel
 * has the message: judged, committed, sealed, committed, sent. Nothing else is under way.
 *
 *   node test/bench/delivery/accepted.ts SAMPLES
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { startDiscord } from "../../support/discord.ts";
import { startService } from "../../support/service.ts";
import { startSmtp } from "../../support/smtp.ts";
import { quantile } from "../daemon/figures.ts";
import { type Desk, desk, notification, titleOf } from "./desk.ts";

export interface AcceptedResult {
  readonly channels: readonly {
    readonly channel: string;
    readonly samples: number;
    readonly p50: number;
    readonly p95: number;
    readonly p99: number;
    readonly max: number;
  }[];
}

const samples = Number(process.argv[2] ?? 200);
/** Not measured: code is compiled, connections are opened. */
const warmUp = 20;

/** Longer than any sample takes; then something is broken. */
const patienceMs = 30_000;
const late = (): Promise<never> =>
  new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`no message in ${patienceMs} ms`)), patienceMs).unref();
  });

let n = 0;
async function measure(one: Desk, there: (words: string) => Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  for (let i = 0; i < warmUp + samples; i++) {
    const words = titleOf(++n, "critical");
    const accepted = there(words);
    const startMs = performance.now();
    void one.observe("w0", [notification("w0", n, "critical")]);
    await Promise.race([accepted, late()]);
    if (i >= warmUp) taken.push(performance.now() - startMs);
    await one.outbox.idle();
    await sleep(5);
  }
  return taken;
}

const channels: AcceptedResult["channels"][number][] = [];
async function channel(
  name: string,
  settings: object,
  there: (words: string) => Promise<unknown>,
): Promise<void> {
  const one = await desk(1, { [name]: settings });
  await sleep(1_000);
  const ms = await measure(one, there);
  await one.stop();
  channels.push({
    ...{ channel: name, samples: ms.length, p50: quantile(ms, 0.5), p95: quantile(ms, 0.95) },
    ...{ p99: quantile(ms, 0.99), max: Math.max(...ms) },
  });
}

{
  let look = (_text: string): void => {};
  await using hook = await startService(({ text }) => {
    look(text);
    return { status: 202, body: "taken" };
  });
  const there = (words: string) =>
    new Promise<void>((resolve) => {
      look = (text) => {
        if (text.includes(`${words}"`)) resolve();
      };
    });
  await channel("webhook", { type: "webhook", url: `${hook.url}/` }, there);
}
{
  await using discord = await startDiscord();
  const { token, channelId, apiUrl } = discord;
  await channel("Discord bot", { type: "discord", token, channelId, apiUrl }, async (words) => {
    const before = discord.messages.length;
    await discord.waitForMessage(({ text }) => discord.messages.length > before && text.includes(words));
  });
}
{
  await using smtp = await startSmtp();
  const { host, port } = smtp;
  const mail = {
    type: "email",
    smtp: { host, port, secure: false },
    from: "a@example.org",
    to: ["b@example.org"],
  };
  await channel("email", mail, async () => {
    const before = smtp.mails.length;
    await smtp.waitForMail(() => smtp.mails.length > before);
  });
}
const result: AcceptedResult = { channels };
if (!process.stdout.write(`${JSON.stringify(result)}\n`)) await once(process.stdout, "drain");
process.exit(0);
