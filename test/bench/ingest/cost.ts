/**
 * Measures the cost of an answer from its bytes to its commit, against a bare loop that parses, validates and inserts the
 * same ticks with the same settings; in one process, without a network, in turns, by processor time.
 *
 *   daemon   bytes ─► parse ─► validate ─► translate ─► windows, 20 rules ─► commit (ticks and recording)
 *   by hand  bytes ─► parse ─► validate ─► translate ─► windows, 20 conditions ─► insert: just this and nothing else
 *   bare     bytes ─► parse ─► validate ─────────────────────────────────► insert (ticks packed beforehand)
 *
 * What is written by hand (hand.ts) is the floor: a daemon that does all that a rule asks for cannot be nearer to the bare loop.
 *
 * 64 answers make a transaction on both sides. Marks move every 2 s of the time that is told; what that costs, which depends
 * on the number of wallets and not of answers, is told apart. Where the microseconds go is measured on the same answers, one
 * stage after the other.
 *
 *   node test/bench/ingest/cost.ts ROUNDS WALLETS [daemon|bare: that side alone, for a profiler]
 */
import path from "node:path";
import { subaccountState } from "../../../src/collect/translate/trader-state.ts";
import { endpoints } from "../../../src/contract/endpoints.ts";
import { parseJson } from "../../../src/contract/json.ts";
import { parseReply } from "../../../src/contract/reply.ts";
import type { SubaccountState } from "../../../src/domain/account.ts";
import { seededRandom } from "../../../src/domain/clock.ts";
import type { Observation, Tick } from "../../../src/domain/observation.ts";
import { type Changes, changes } from "../../../src/domain/stored/changes.ts";
import { openDatabase } from "../../../src/history/database.ts";
import { openStore } from "../../../src/history/index.ts";
import { cpuUs, median } from "../daemon/figures.ts";
import { benchFolder, newWatch, noRules, prices, rulesText } from "../daemon/judging.ts";
import { type BenchWallet, benchWallets, statsText } from "../daemon/world.ts";
import { ByHand } from "./hand.ts";
import { ingestSide, perCommit, readReply, toldClock } from "./side.ts";
import { tellPast } from "./stored-samples.ts";
import { Account, ingestRules } from "./world.ts";

export interface CostResult {
  readonly wallets: number;
  readonly bytes: number;
  /** The number of series in an answer's tick. */
  readonly series: number;
  /** Processor time, µs an answer; medians over the rounds. */
  readonly daemonUs: number;
  readonly bareUs: number;
  /** The same arithmetic, windows and conditions, written for these accounts and rules alone. */
  readonly handUs: number;
  /** Bare against daemon: 1 is as fast. */
  readonly ratio: number;
  readonly bestRatio: number;
  /** Bare against what is written by hand. */
  readonly handRatio: number;
  /** µs an answer, stage by stage. */
  readonly stages: Readonly<Record<string, number>>;
  /** A change of all marks: for each account, µs. */
  readonly marksUsPerAccount: number;
}

const everyMs = 5_000;
const marksEveryMs = 2_000;
const [roundCount = "60", walletCount = "500", only] = process.argv.slice(2);
const rounds = Number(roundCount);
const warmUp = Math.max(4, Math.round(rounds / 4));
const wallets = benchWallets(Number(walletCount));
const folder = benchFolder();
const random = seededRandom(7);
const startMs = Date.UTC(2026, 0, 1);

function daemonSide(of: readonly BenchWallet[], name: string) {
  const clock = toldClock(startMs);
  const store = openStore({ path: path.join(folder, `${name}.db`), clock });
  const ticks: Tick[] = [];
  const watch = newWatch(of, ingestRules, startMs);
  const side = ingestSide({
    wallets: of,
    watch,
    store,
    clock,
    onCommitted: (committed) => {
      if (ticks.length < of.length) ticks.push(...committed.ticks.filter(({ owner }) => owner !== "markets"));
    },
  });
  let [call, marksDueMs] = [0, startMs];
  return {
    watch,
    ticks,
    /** @returns µs of the answers, and of the marks between them */
    async round(answers: readonly Buffer[], roundMs: number): Promise<{ statesUs: number; marksUs: number }> {
      let marksUs = 0;
      const fromUs = cpuUs();
      for (const [i, bytes] of answers.entries()) {
        const atMs = roundMs + Math.floor((i / answers.length) * everyMs);
        clock.tell(atMs);
        if (atMs >= marksDueMs) {
          marksDueMs = atMs + marksEveryMs;
          await side.settle();
          const marksFromUs = cpuUs();
          await side.prices(Buffer.from(statsText(call++)), atMs);
          await side.settle();
          marksUs += cpuUs() - marksFromUs;
        }
        await side.state(of[i]!, bytes, atMs);
      }
      await side.settle();
      return { statesUs: cpuUs() - fromUs - marksUs, marksUs };
    },
    async stop(): Promise<void> {
      await side.stop();
      await store.close();
    },
  };
}

function bareSide() {
  const { db, close } = openDatabase(path.join(folder, "bare.db"));
  const insert = db.prepare("INSERT INTO ticks VALUES (?, ?, ?, ?, ?)");
  let seq = 0;
  let packed: readonly Buffer[] = [];
  const waiting: number[] = [];
  const write = db.transaction(() => {
    for (const atMs of waiting)
      insert.run(++seq, atMs, 1 + (seq % wallets.length), 1, packed[seq % packed.length]);
  });
  const flush = (): void => {
    write();
    waiting.length = 0;
  };
  return {
    pack(ticks: readonly Tick[]): void {
      packed = ticks.map(({ values }) => Buffer.from(new Float64Array(values).buffer));
    },
    round(answers: readonly Buffer[], atMs: number): number {
      const fromUs = cpuUs();
      for (const bytes of answers) {
        if (readReply(endpoints.traderState, bytes).snapshot.subaccounts.length === 0)
          throw new Error("an answer without an account");
        waiting.push(atMs);
        if (waiting.length === perCommit) flush();
      }
      flush();
      return cpuUs() - fromUs;
    },
    close,
  };
}

function handSide(series: number) {
  const { db, close } = openDatabase(path.join(folder, "hand.db"));
  const insert = db.prepare("INSERT INTO ticks VALUES (?, ?, ?, ?, ?)");
  const byHand = new ByHand(wallets.length, series, startMs);
  const rows = Array.from({ length: perCommit }, () => Buffer.alloc(series * 8));
  let seq = 0;
  let waiting = 0;
  const write = db.transaction((atMs: number) => {
    for (let i = 0; i < waiting; i++) insert.run(++seq, atMs, 1 + (seq % wallets.length), 1, rows[i]!);
  });
  const flush = (atMs: number): void => {
    write(atMs);
    waiting = 0;
  };
  return {
    round(answers: readonly Buffer[], roundMs: number): number {
      const fromUs = cpuUs();
      for (const [i, bytes] of answers.entries()) {
        const { snapshot } = readReply(endpoints.traderState, bytes);
        for (const row of snapshot.subaccounts) {
          const values = byHand.take(i, row, roundMs);
          rows[waiting++]!.set(new Uint8Array(values.buffer));
        }
        if (waiting === perCommit) flush(roundMs);
      }
      flush(roundMs);
      return cpuUs() - fromUs;
    },
    close,
  };
}

/** The stages that the answers of a round go through. */
function stagesOf() {
  const few = wallets.slice(0, perCommit);
  const watches = {
    none: newWatch(few, noRules, startMs),
    plain: newWatch(few, rulesText(false), startMs),
    all: newWatch(few, ingestRules, startMs),
  };
  const clock = toldClock(startMs);
  const ticksOnly = openStore({ path: path.join(folder, "ticks.db"), clock });
  const recorded = openStore({ path: path.join(folder, "recorded.db"), clock });
  const times = new Map<string, number[]>();
  let filled = false;
  /** The last translation: the next answers share with it what is the same, as the collector has it. */
  let before: readonly (readonly SubaccountState[])[] = [];
  return {
    async round(answers: readonly Buffer[], atMs: number): Promise<void> {
      const time = async <T>(name: string, work: () => T | Promise<T>): Promise<T> => {
        const fromUs = cpuUs();
        const result = await work();
        const known = times.get(name) ?? [];
        times.set(name, known);
        known.push((cpuUs() - fromUs) / answers.length);
        return result;
      };
      const parsed = await time("parse", () => answers.map((bytes) => parseJson(bytes.toString("utf8"))));
      const records = await time("validate", () =>
        parsed.map((json) => {
          const reply = parseReply(endpoints.traderState, json);
          if (!reply.ok) throw new Error(reply.problem.message);
          return reply.record;
        }),
      );
      const seen = await time("translate", () =>
        records.map(
          ({ slot, slotIndex, snapshot }, i): Observation => ({
            kind: "accounts",
            wallet: few[i]!.name,
            pdaIndex: 0,
            atMs,
            slot,
            slotIndex,
            subaccounts: snapshot.subaccounts.map((row, place) =>
              subaccountState(row, () => {}, before[i]?.[place]),
            ),
          }),
        ),
      );
      before = seen.map((one) => (one.kind === "accounts" ? one.subaccounts : []));
      for (const one of Object.values(watches)) one.observe(prices(0, atMs));
      const outcomes: Changes[] = [];
      for (const [name, watch] of Object.entries(watches))
        await time(name, () => {
          for (const one of seen) {
            const outcome = watch.observe(one);
            if (name === "all") outcomes.push(outcome.changes);
          }
        });
      if (!filled)
        tellPast(
          watches.all,
          outcomes.flatMap(({ ticks }) => ticks),
          atMs,
          random,
        );
      filled = true;
      await time("ticks", () => ticksOnly.commit(outcomes));
      await time("recorded", () => recorded.commit([...outcomes, changes({ observations: seen })]));
    },
    async close(): Promise<Readonly<Record<string, number>>> {
      await ticksOnly.close();
      await recorded.close();
      const us = (name: string): number => median(times.get(name)!.slice(warmUp));
      return {
        parse: us("parse"),
        validate: us("validate"),
        translate: us("translate"),
        "risk and facts": us("none"),
        rules: us("plain") - us("none"),
        windows: us("all") - us("plain"),
        "ticks to SQLite": us("ticks"),
        recording: us("recorded") - us("ticks"),
      };
    },
  };
}

const accounts = wallets.map(() => new Account(random, ["BTC", "SOL"]));
const next = (): Buffer[] => accounts.map((one) => one.next());
const daemon = daemonSide(wallets, "daemon");
const bare = bareSide();
let roundMs = startMs;
await daemon.round(next(), roundMs);
bare.pack(daemon.ticks);
tellPast(daemon.watch, daemon.ticks, roundMs, random);
const stages = only === undefined ? stagesOf() : null;
const hand = handSide(daemon.ticks[0]!.values.length);
const measured: { daemonUs: number; bareUs: number; handUs: number; marksUs: number }[] = [];
let bytes = 0;
for (let round = 0; round < warmUp + rounds; round++) {
  roundMs += everyMs;
  const answers = next();
  bytes = answers[0]!.length;
  let [daemonUs, marksUs, bareUs, handUs] = [Number.NaN, Number.NaN, Number.NaN, Number.NaN];
  const runDaemon = async (): Promise<void> => {
    if (only === "bare") return;
    const spent = await daemon.round(answers, roundMs);
    daemonUs = spent.statesUs / answers.length;
    marksUs = spent.marksUs / answers.length / (everyMs / marksEveryMs);
  };
  // Who begins changes, so that neither always follows the other.
  if (round % 2 === 0) await runDaemon();
  if (only !== "daemon") bareUs = bare.round(answers, roundMs) / answers.length;
  if (only === undefined) handUs = hand.round(answers, roundMs) / answers.length;
  if (round % 2 === 1) await runDaemon();
  await stages?.round(answers.slice(0, perCommit), roundMs);
  if (round >= warmUp) measured.push({ daemonUs, bareUs, handUs, marksUs });
}
const known = await stages?.close();
const of = (pick: (one: (typeof measured)[number]) => number): number => median(measured.map(pick));
const least = (pick: (one: (typeof measured)[number]) => number): number => Math.min(...measured.map(pick));
const result: CostResult = {
  wallets: wallets.length,
  bytes,
  series: daemon.ticks[0]!.values.length,
  daemonUs: of((one) => one.daemonUs),
  bareUs: of((one) => one.bareUs),
  handUs: of((one) => one.handUs),
  handRatio: of((one) => one.bareUs / one.handUs),
  ratio: of((one) => one.bareUs / one.daemonUs),
  bestRatio: least((one) => one.bareUs) / least((one) => one.daemonUs),
  stages: known ?? {},
  marksUsPerAccount: of((one) => one.marksUs),
};
await daemon.stop();
bare.close();
hand.close();
process.stdout.write(`${JSON.stringify(result)}\n`);
