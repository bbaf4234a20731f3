/**
 * `npm run truth`: scenarios of the whole daemon in virtual time against the simulated exchange, with faults, each from a seed.
 * `help` below tells how it is called. A scenario in which an invariant does not hold, or of which the oracle finds something that is
 * not true, is written to a file with its event log. Each worker plays fifty scenarios and is replaced by another process.
 */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { refuse, scriptOptions } from "../support/script-options.ts";
import { chosenSeeds } from "./choose.ts";
import { Coverage, enoughScenarios, least, reachOf } from "./coverage.ts";
import { violations } from "./invariants.ts";
import { lineOf } from "./oracle/finding.ts";
import { judge } from "./oracle/judge.ts";
import { type Done, Progress, playedVersion } from "./progress.ts";
import { around, reportOf } from "./report.ts";
import { type Outcome, type Plan, planOf, runScenario } from "./scenario.ts";
import { shrink } from "./shrink.ts";

interface Task {
  readonly seed: number;
  readonly twice: boolean;
  readonly show: boolean;
  readonly out: string;
}

const maxSeeds = 1_000_000;
/** From so many seeds on, that many random accounts are advised as well. */
const manySeeds = 100;
const accountsOfMany = 10_000;

/** Options that cannot be used: told without a stack. */
class Misuse extends Error {}

/** A scenario that takes longer stands still: something in it never returns. */
const stuckAfterMs = 600_000;
/** A process grows over its scenarios, since little of its memory is ever given back. */
const scenariosOfWorker = 50;

const help = `Usage: npm run truth -- [options]

Plays scenarios of ten simulated minutes, each from a seed, and says what is wrong in them: a line for each, with
the CPU seconds that it took. Ends with 1 if anything was found or not all were played.

  --seeds A..B    seeds to play: ranges and single ones, with commas between them (1..20)
  --cover         plays only those of the seeds that it takes so that each trouble meets each feature of a plan in
                  ${least.pairs} scenarios and some more, as far as there are so many
  --jobs N        processes at a time (1)
  --out FOLDER    reports of scenarios in which something is wrong, and done.jsonl, which records what was played
                  (.runtime/truth); a record of another version begins anew
  --resume        leaves out what that record has, and counts it; refused where it is of another version
  --coverage      prints which troubles met which features in scenarios, and how often each rule fired and ended; names
                  each pair that met in fewer than ${least.pairs} scenarios, and each shipped rule that fired or ended fewer than
                  ${least.rules} times; from ${enoughScenarios} scenarios on, ends with 1 if there are any
  --twice         plays each again and compares the hashes
  --show          writes a report of each scenario
  --shrink        leaves out what the first violation of the seed does not need, in at most 120 plays:
                  FOLDER/seed-N.json
  --accounts N    random accounts whose advice is held against the exchange's calculator afterwards, as in
                  test/advice/amounts.test.ts (${accountsOfMany}, of fewer than ${manySeeds} seeds none)
  --plan FILE     plays a file that --shrink wrote, and prints its report
  --here          plays in this process, for a debugger
  --help          prints this

A scenario that does not end within ${stuckAfterMs / 1_000} s counts as violating ("stuck"), and so does a process that ends before
its scenario ("died"): play the seed with --here to see where. Ends with 2 where the options cannot be used.

Examples:
  npm run truth -- --seeds 1..1000 --jobs 2
  npm run truth -- --seeds 1..10000 --cover --jobs 2 --coverage
  npm run truth -- --seeds 1..10000 --jobs 2 --coverage --resume
  npm run truth -- --seeds 57 --show
  npm run truth -- --seeds 1..50 --twice
  npm run truth -- --seeds 57 --shrink
  npm run truth -- --plan .runtime/truth/seed-57.json
  node launch.mjs --node --inspect-brk test/truth/run.ts --here --seeds 57`;

async function work({ seed, twice, show, out }: Task): Promise<Done> {
  const plan = planOf(seed);
  const outcome = await runScenario(plan);
  const judging = performance.now();
  const judgement = judge(outcome);
  const judgedMs = performance.now() - judging;
  const found = [
    ...violations(outcome),
    ...judgement.findings.map((one) => [lineOf(one), ...around(outcome, one)].join("\n        ")),
  ];
  if (twice && (await runScenario(planOf(seed))).digest !== outcome.digest)
    found.push("the second run differs from the first");
  const file = path.join(out, `seed-${seed}.txt`);
  if (show || found.length > 0) {
    fs.mkdirSync(out, { recursive: true });
    fs.writeFileSync(file, reportOf(outcome, found));
    // One of an earlier run tells of what is no longer so.
  } else fs.rmSync(file, { force: true });
  const messages = outcome.log.of("arrived").length;
  return {
    ...{ seed, wallets: plan.world.wallets.length, messages, violations: found },
    tookMs: outcome.tookMs + judgedMs,
    reach: reachOf(outcome, judgement),
  };
}

async function main(): Promise<void> {
  const { values } = scriptOptions(help, {
    options: {
      seeds: { type: "string", default: "1..20" },
      jobs: { type: "string", default: "1" },
      twice: { type: "boolean", default: false },
      show: { type: "boolean", default: false },
      cover: { type: "boolean", default: false },
      coverage: { type: "boolean", default: false },
      shrink: { type: "boolean", default: false },
      accounts: { type: "string" },
      plan: { type: "string" },
      here: { type: "boolean", default: false },
      out: { type: "string", default: ".runtime/truth" },
      resume: { type: "boolean", default: false },
    },
  });
  const given = process.argv
    .slice(2)
    .filter((one) => one !== "--resume")
    .map((one) => (/^[\w./,-]+$/.test(one) ? one : JSON.stringify(one)))
    .join(" ");
  const named = [...new Set(values.seeds.split(",").flatMap(seedsOf))];
  const jobs = Number(values.jobs);
  if (!Number.isInteger(jobs) || jobs < 1)
    throw new Misuse(`--jobs: expected a number from 1 on, found "${values.jobs}"`);
  const accounts = Number(values.accounts ?? (named.length < manySeeds ? 0 : accountsOfMany));
  if (!Number.isInteger(accounts) || accounts < 0)
    throw new Misuse(`--accounts: expected a number from 0 on, found "${values.accounts}"`);
  const { twice, show, out } = values;
  if (values.plan !== undefined) return play(planIn(values.plan), values.plan);
  if (values.shrink && named.length > 1) throw new Misuse("--shrink: takes one seed, such as --seeds 57");
  if (values.shrink) return shrinkTo(named[0]!, out);
  const startedMs = performance.now();
  const progress = recordIn(out, values.resume);
  const played = (): readonly Done[] => named.flatMap((seed) => progress.done.get(seed) ?? []);
  const before = played();
  if (before.length > 0) {
    console.log(`${before.length} scenarios were played before`);
    for (const {
      seed,
      violations: [first],
    } of before)
      if (first !== undefined) console.log(`seed ${seed}: ${first}`);
  }
  const tell = (one: Done): void => {
    const { seed, wallets, messages, tookMs, violations: found } = one;
    progress.add(one);
    const file = path.join(out, `seed-${seed}.txt`);
    const verdict = found.length > 0 ? `  ${found.length} violations, ${file}` : show ? `  ${file}` : "";
    console.log(
      `seed ${String(seed).padStart(6)}  ${(tookMs / 1_000).toFixed(2).padStart(6)} s  ${String(wallets).padStart(2)} wallets  ${String(messages).padStart(4)} messages${verdict}`,
    );
    for (const line of found.slice(0, 5)) console.log(`    ${line}`);
  };
  const plans = values.cover ? new Map(named.map((seed) => [seed, planOf(seed)])) : null;
  /** The scenarios to play next, by what was played. */
  const next = (): readonly number[] => {
    const left = named.filter((seed) => !progress.done.has(seed));
    if (plans === null) return left;
    const more = chosenSeeds(
      new Map(left.map((seed) => [seed, plans.get(seed)!])),
      least.pairs,
      coverageOf(played()).met(),
    );
    console.log(`${more.length} of ${left.length} scenarios are chosen`);
    return more;
  };
  let chosen = next();
  let waiting = [...chosen];
  const end = (isAdviceWrong = false): never => {
    const done = played();
    const open = chosen.filter((seed) => !progress.done.has(seed)).length;
    const failed = values.coverage && isShort(done);
    const bad = done.filter((one) => one.violations.length > 0).map(({ seed }) => seed);
    const sumMs = done.reduce((sum, { tookMs }) => sum + tookMs, 0);
    const perScenario = done.length === 0 ? 0 : sumMs / done.length / 1_000;
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
    console.log(
      `${done.length} scenarios, ${perScenario.toFixed(2)} CPU seconds each, this run ${seconds} s; ${bad.length === 0 ? "none" : bad.length} with violations${bad.length === 0 ? "" : `: ${bad.join(", ")}`}`,
    );
    if (open > 0) console.log(`${open} were not played: go on with npm run truth -- ${given} --resume`);
    process.exit(bad.length > 0 || open > 0 || failed || isAdviceWrong ? 1 : 0);
  };
  process.once("SIGINT", () => end());
  const task = (seed: number): Task => ({ seed, twice, show, out });
  const line = async (): Promise<void> => {
    while (waiting.length > 0) {
      const child = fork(fileURLToPath(import.meta.url), ["--work"]);
      for (let played = 0; child.connected && played < scenariosOfWorker && waiting.length > 0; played++)
        tell(await ask(child, task(waiting.shift()!)));
      if (child.connected) child.disconnect();
    }
  };
  while (waiting.length > 0) {
    if (values.here) while (waiting.length > 0) tell(await work(task(waiting.shift()!)));
    else await Promise.all(Array.from({ length: jobs }, line));
    // Others make up for pairs that did not meet as planned.
    if (plans !== null) chosen = next();
    waiting = chosen.filter((seed) => !progress.done.has(seed));
  }
  end(accounts > 0 && !isAdviceRight(accounts));
}

/** Advises random accounts in a process of its own, which prints what is wrong. */
function isAdviceRight(accounts: number): boolean {
  const root = path.join(import.meta.dirname, "..", "..");
  const test = ["vitest", "run", "--project", "main", "test/advice/amounts.test.ts"];
  const env = { ...process.env, PERPWATCH_ACCOUNTS: String(accounts) };
  const run = { cwd: root, env, stdio: "inherit" as const };
  return spawnSync(process.execPath, ["launch.mjs", "--tool", ...test], run).status === 0;
}

/** @param text one seed, or a range of them */
function seedsOf(text: string): readonly number[] {
  const [, from, to = from] = /^(\d+)(?:\.\.(\d+))?$/.exec(text) ?? [];
  const [first, last] = [Number(from), Number(to)];
  if (!(first <= last))
    throw new Misuse(`--seeds: expected a range such as 1..1000, or seeds such as 7,12, found "${text}"`);
  if (last - first >= maxSeeds) throw new Misuse(`--seeds: at most ${maxSeeds} at a time, found "${text}"`);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function coverageOf(done: readonly Done[]): Coverage {
  const coverage = new Coverage();
  for (const { reach } of done) coverage.add(reach);
  return coverage;
}

/** Prints the coverage. @returns true if it is short of what so many scenarios have to reach */
function isShort(done: readonly Done[]): boolean {
  const coverage = coverageOf(done);
  for (const text of coverage.lines()) console.log(text);
  const short = coverage.short();
  for (const text of short) console.log(`short: ${text}`);
  return short.length > 0 && done.length >= enoughScenarios;
}

/** Names of the checks that fail, each with the rule that it is about. */
function checksOf(outcome: Outcome): readonly string[] {
  const names = violations(outcome).map((line) => line.split(":")[0]!);
  return [...names, ...judge(outcome).findings.map(({ check, rule }) => `${check} ${rule}`)];
}

async function shrinkTo(seed: number, out: string): Promise<void> {
  const plan = planOf(seed);
  const [check] = checksOf(await runScenario(plan));
  if (check === undefined) throw new Misuse(`nothing is wrong in seed ${seed}`);
  const { plan: small, played } = await shrink(plan, async (one) =>
    checksOf(await runScenario(one)).includes(check),
  );
  const file = path.join(out, `seed-${seed}.json`);
  fs.mkdirSync(out, { recursive: true });
  fs.writeFileSync(file, JSON.stringify(small, null, 1));
  const { world, troubles } = small;
  console.log(
    `${check}: ${world.deeds.length} of ${plan.world.deeds.length} deeds, ${troubles.faults.length + troubles.life.length} troubles left after ${played} plays: ${file}`,
  );
}

/** A plan that --shrink wrote. */
function planIn(file: string): Plan {
  try {
    const plan = JSON.parse(fs.readFileSync(file, "utf8")) as Plan;
    if (plan.start && plan.world && plan.troubles) return plan;
  } catch (error) {
    throw new Misuse(`--plan ${file}: ${error instanceof Error ? error.message : error}`);
  }
  throw new Misuse(`--plan ${file}: no plan that --shrink wrote`);
}

function recordIn(folder: string, resume: boolean): Progress {
  try {
    return new Progress(folder, playedVersion(), resume);
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error));
  }
}

async function play(plan: Plan, file: string): Promise<void> {
  const outcome = await runScenario(plan);
  const found = [...violations(outcome), ...judge(outcome).findings.map(lineOf)];
  console.log(reportOf(outcome, found, `--plan ${file}`));
  if (found.length > 0) process.exitCode = 1;
}

/** Hands a scenario to a process, which is killed if the scenario does not end. That it does not, or ends the process, is a violation. */
function ask(child: ChildProcess, task: Task): Promise<Done> {
  return new Promise((resolve) => {
    const ended = (status: number | null, signal: string | null) => {
      clearTimeout(timer);
      resolve(unplayed(task, `died: the process ended with ${status ?? signal}`));
    };
    const timer = setTimeout(() => {
      child.off("exit", ended);
      const text = `stuck: the scenario did not end within ${stuckAfterMs / 1_000} s`;
      child.once("exit", () => resolve(unplayed(task, text)));
      child.kill("SIGKILL");
    }, stuckAfterMs);
    child.once("exit", ended);
    child.once("message", (done) => {
      clearTimeout(timer);
      child.off("exit", ended);
      resolve(done as Done);
    });
    child.send(task);
  });
}

const unplayed = ({ seed }: Task, violation: string): Done => ({
  ...{ seed, wallets: planOf(seed).world.wallets.length, messages: 0, tookMs: stuckAfterMs },
  violations: [violation],
  reach: { troubles: [], features: [], rules: [] },
});

if (process.argv[2] === "--work") {
  process.on("disconnect", () => process.exit());
  process.on("message", async (task: Task) => void process.send?.(await work(task)));
} else
  await main().catch((error: unknown) => {
    const { code = "" } = error as { readonly code?: string };
    if (error instanceof Misuse || code === "ENOENT") refuse((error as Error).message);
    console.error(error);
    process.exitCode = 2;
  });
