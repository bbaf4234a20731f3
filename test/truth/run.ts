/**
 * `npm run truth`: scenarios of the whole daemon in virtual time against the simulated exchange, with faults, each from a seed.
 *
 *   npm run truth -- --seeds 1..1000 [--jobs 2] [--twice] [--coverage] [--out FOLDER]
 *   npm run truth -- --seeds 57 --show
 *   npm run truth -- --seeds 57 --shrink                       the same violation with less: FOLDER/seed-57.json
 *   npm run truth -- --plan FOLDER/seed-57.json                plays that
 *   node --inspect-brk test/truth/run.ts --here --seeds 57      in this process, for a debugger
 *
 * A line for each scenario, with the time of the processor that it took. `--twice` runs each again and compares the hashes. A
 * scenario in which an invariant does not hold, or of which the oracle finds something that is not true, is written to a file in
 * FOLDER, with its event log (`--show`: each is). `--coverage` prints which troubles met which worlds, and how often each rule fired
 * and ended. Ends with 1 if anything was found. Interrupted, it says which seeds are left.
 */
import { type ChildProcess, fork } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Coverage, type Reach, reachOf } from "./coverage.ts";
import { violations } from "./invariants.ts";
import { lineOf } from "./oracle/finding.ts";
import { judge } from "./oracle/judge.ts";
import { around, reportOf } from "./report.ts";
import { type Outcome, type Plan, planOf, runScenario } from "./scenario.ts";
import { shrink } from "./shrink.ts";

interface Task {
  readonly seed: number;
  readonly twice: boolean;
  readonly show: boolean;
  readonly out: string;
}

interface Done {
  readonly seed: number;
  readonly wallets: number;
  readonly messages: number;
  readonly tookMs: number;
  readonly violations: readonly string[];
  readonly reach: Reach;
}

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
  if (show || found.length > 0) {
    fs.mkdirSync(out, { recursive: true });
    fs.writeFileSync(path.join(out, `seed-${seed}.txt`), reportOf(outcome, found));
  }
  const messages = outcome.log.of("arrived").length;
  return {
    ...{ seed, wallets: plan.world.wallets.length, messages, violations: found },
    tookMs: outcome.tookMs + judgedMs,
    reach: reachOf(plan, judgement),
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "1..20" },
      jobs: { type: "string", default: "1" },
      twice: { type: "boolean", default: false },
      show: { type: "boolean", default: false },
      coverage: { type: "boolean", default: false },
      shrink: { type: "boolean", default: false },
      plan: { type: "string" },
      here: { type: "boolean", default: false },
      out: { type: "string", default: ".runtime/truth" },
    },
  });
  const range = /^(\d+)(?:\.\.(\d+))?$/.exec(values.seeds);
  if (!range) throw new Error("--seeds: expected a range such as 1..1000, or one seed");
  const first = Number(range[1]);
  const last = Number(range[2] ?? first);
  const { twice, show, out } = values;
  if (values.shrink) return shrinkTo(first, out);
  if (values.plan !== undefined) return play(JSON.parse(fs.readFileSync(values.plan, "utf8")) as Plan);
  const startedMs = performance.now();
  const under = new Set<number>();
  let next = first;
  let done = 0;
  let bad = 0;
  let sumMs = 0;
  const coverage = new Coverage();
  const tell = ({ seed, wallets, messages, tookMs, violations: found, reach }: Done): void => {
    done++;
    coverage.add(reach);
    sumMs += tookMs;
    const verdict =
      found.length === 0 ? "" : `  ${found.length} violations, ${path.join(out, `seed-${seed}.txt`)}`;
    console.log(
      `seed ${String(seed).padStart(6)}  ${(tookMs / 1_000).toFixed(2).padStart(6)} s  ${String(wallets).padStart(2)} wallets  ${String(messages).padStart(4)} messages${verdict}`,
    );
    for (const line of found.slice(0, 5)) console.log(`    ${line}`);
    if (found.length > 0) bad++;
  };
  const end = (): never => {
    if (values.coverage) for (const line of coverage.lines()) console.log(line);
    const perScenario = done === 0 ? 0 : sumMs / done / 1_000;
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
    console.log(
      `${done} scenarios in ${seconds} s, ${perScenario.toFixed(2)} s of the processor each; ${bad} with violations`,
    );
    const open = Math.min(next, ...under);
    if (open <= last) console.log(`not all were run: go on with --seeds ${open}..${last}`);
    process.exit(bad > 0 || open <= last ? 1 : 0);
  };
  process.once("SIGINT", end);
  const jobs = Math.min(Number(values.jobs), last - first + 1);
  const each = async (child: ChildProcess): Promise<void> => {
    while (next <= last) {
      const seed = next++;
      under.add(seed);
      const answer = await ask(child, { seed, twice, show, out });
      under.delete(seed);
      tell(answer);
    }
    child.disconnect();
  };
  if (values.here) for (; next <= last; next++) tell(await work({ seed: next, twice, show, out }));
  else {
    const children = Array.from({ length: jobs }, () => fork(fileURLToPath(import.meta.url), ["--work"]));
    await Promise.all(children.map(each));
  }
  end();
}

/** Names of the checks that fail, each with the rule that it is about. */
function checksOf(outcome: Outcome): readonly string[] {
  const names = violations(outcome).map((line) => line.split(":")[0]!);
  return [...names, ...judge(outcome).findings.map(({ check, rule }) => `${check} ${rule}`)];
}

async function shrinkTo(seed: number, out: string): Promise<void> {
  const plan = planOf(seed);
  const [check] = checksOf(await runScenario(plan));
  if (check === undefined) throw new Error(`nothing is wrong in seed ${seed}`);
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

async function play(plan: Plan): Promise<void> {
  const outcome = await runScenario(plan);
  const findings = judge(outcome).findings.map(lineOf);
  console.log(reportOf(outcome, [...violations(outcome), ...findings]));
}

/** @throws where the process ends instead of answering */
function ask(child: ChildProcess, task: Task): Promise<Done> {
  return new Promise((resolve, reject) => {
    const ended = (status: number | null, signal: string | null) =>
      reject(new Error(`seed ${task.seed}: the process ended with ${status ?? signal}`));
    child.once("exit", ended);
    child.once("message", (done) => {
      child.off("exit", ended);
      resolve(done as Done);
    });
    child.send(task);
  });
}

if (process.argv[2] === "--work") {
  process.on("disconnect", () => process.exit());
  process.on("message", async (task: Task) => void process.send?.(await work(task)));
} else await main();
