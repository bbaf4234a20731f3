/**
 * From a condition being true at the exchange to its message being accepted by a channel, with every schedule at 1 s and
 * `for: 0s`: the real daemon in this process against the real simulator in another one, over sockets. Two kinds: a mark
 * that falls, and an account that loses collateral. Each sample starts at a random moment; the clock starts before the
 * change is asked of the simulator and stops when the channel has the text.
 *
 *   node test/bench/daemon/latency.ts SAMPLES
 */
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { startDaemon } from "../../../src/daemon/app.ts";
import { settingsFromText } from "../../../src/daemon/settings.ts";
import { sources } from "../../../src/domain/sources.ts";
import { quantile } from "./figures.ts";
import { benchFolder } from "./judging.ts";
import { end, start } from "./process.ts";

export interface LatencyResult {
  readonly samples: number;
  readonly kinds: Readonly<
    Record<
      string,
      {
        readonly samples: number;
        readonly p50: number;
        readonly p95: number;
        readonly p99: number;
        readonly max: number;
      }
    >
  >;
}

interface Trader {
  readonly name: string;
  readonly authority: string;
  readonly keyFile: string;
}

/** Longer than any sample takes; then something is broken. */
const patienceMs = 20_000;
const everyMs = 1_000;

const wanted = Number(process.argv[2] ?? 60);
const folder = benchFolder();
const simulator = start(
  [path.join(import.meta.dirname, "simulated.ts"), "3", path.join(folder, "keys")],
  null,
);
const { url, traders } = JSON.parse(await simulator.line) as { url: string; traders: Trader[] };

async function control<T>(call: string, body?: object): Promise<T> {
  const answer = await fetch(`${url}/sim/${call}`, {
    ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
    headers: { "content-type": "application/json" },
  });
  if (!answer.ok) throw new Error(`${call}: ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** Each trader has a market of its own, so that several samples can be under way at once. */
const { markets: listed, accounts } = await control<{
  markets: { symbol: string; markPrice: string }[];
  accounts: { authority: string; subaccountIndex: number; collateral: string }[];
}>("state");
// GOLD is held in isolated subaccounts only.
const markets = listed.filter(({ symbol }) => symbol !== "GOLD");
const watched = traders.map((trader, i) => {
  const { symbol, markPrice } = markets[i]!;
  const account = accounts.find((one) => one.authority === trader.authority && one.subaccountIndex === 0)!;
  return { ...trader, symbol, mark: Number(markPrice), collateral: Number(account.collateral) };
});
for (const { authority, symbol, mark } of watched) {
  const size = (100 / mark).toFixed(2);
  await control("position", {
    authority,
    symbol,
    size: size === "0.00" ? "0.01" : size,
    entryPrice: String(mark),
  });
}

const rules = watched.flatMap(({ name, symbol, mark, collateral }) => [
  `  - { name: Mark, scope: position, select: { wallet: [${name}], symbol: [${symbol}] }, severity: critical, for: 0s, keepFiringFor: 0s, when: position.markPrice < ${mark * 0.995}, summary: "mark of ${name}" }`,
  `  - { name: Collateral, scope: trader, select: { wallet: [${name}] }, severity: critical, for: 0s, keepFiringFor: 0s, when: trader.subaccount == 0 && trader.collateral < ${(collateral * 0.95).toFixed(2)}, summary: "collateral of ${name}" }`,
]);
fs.writeFileSync(
  path.join(folder, "rules.yaml"),
  `rules:\n${rules.map((rule, i) => rule.replace(/name: (\w+)/, `name: $1${i}`)).join("\n")}\n`,
);
const config = `exchange: { baseUrl: "${url}", requestsPerSecond: 1000 }
wallets:
${watched.map(({ name, keyFile }) => `  - { name: ${name}, keyFile: "${keyFile}" }`).join("\n")}
schedules: { ${sources.map((source) => `${source}: { every: ${everyMs}ms }`).join(", ")} }
history: { path: "${path.join(folder, "latency.db")}" }
rules: ["${path.join(folder, "rules.yaml")}"]
channels: { here: { type: console } }
routing: { receivers: [here] }
dashboard: { listen: "off" }
`;
const read = settingsFromText(config, { file: null, folder, env: {} });
if ("problems" in read) throw new Error(JSON.stringify(read.problems, null, 1));

/** Whoever waits for a message, by what stands in it. */
const waiting = new Map<string, (atMs: number) => void>();
const out = new Writable({
  write(chunk: Buffer, _encoding, done) {
    const atMs = performance.now();
    const text = chunk.toString();
    for (const [words, resolve] of waiting) {
      if (!text.includes(words)) continue;
      waiting.delete(words);
      resolve(atMs);
    }
    done();
  },
});
const message = (words: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`no message "${words}" in ${patienceMs} ms`)),
      patienceMs,
    );
    waiting.set(words, (atMs) => {
      clearTimeout(timer);
      resolve(atMs);
    });
  });

const daemon = await startDaemon(read.settings, {
  log: pino({ level: process.env.BENCH_LOG ?? "silent" }, pino.destination(2)),
  out,
});
await sleep(5_000);

const taken: Record<string, number[]> = { "mark price": [], collateral: [] };
let left = wanted;

async function sample(
  kind: string,
  words: string,
  change: () => Promise<unknown>,
  back: () => Promise<unknown>,
) {
  await sleep(Math.random() * everyMs);
  const fired = message(words);
  const startMs = performance.now();
  await change();
  taken[kind]!.push((await fired) - startMs);
  const over = message(words);
  await back();
  await over;
}

await Promise.all(
  watched.map(async ({ name, symbol, mark, authority, collateral }) => {
    for (let i = 0; left > 0; i++) {
      left--;
      if (i % 2 === 0) {
        const set = (share: number) =>
          control("mark-price", { symbol, price: (mark * share).toPrecision(6) });
        await sample(
          "mark price",
          `mark of ${name}`,
          () => set(0.99),
          () => set(1),
        );
      } else {
        const set = (share: number) =>
          control("collateral", { authority, amount: (collateral * share).toFixed(2) });
        await sample(
          "collateral",
          `collateral of ${name}`,
          () => set(0.9),
          () => set(1),
        );
      }
    }
  }),
);
await daemon.stop();
await end(simulator);

const all = Object.entries(taken);
const kinds = [...all, ["both", all.flatMap(([, ms]) => ms)] as const].map(([kind, ms]) => [
  kind,
  {
    samples: ms.length,
    p50: quantile(ms, 0.5),
    p95: quantile(ms, 0.95),
    p99: quantile(ms, 0.99),
    max: Math.max(...ms),
  },
]);
const result: LatencyResult = { samples: wanted, kinds: Object.fromEntries(kinds) };
if (!process.stdout.write(`${JSON.stringify(result)}\n`)) await once(process.stdout, "drain");
process.exit(0);
