/** Writes recorded runs; see runs.ts. */
import fs from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { brotliCompressSync, constants } from "node:zlib";
import Database from "better-sqlite3";
import { planOf, runScenario } from "../truth/scenario.ts";
import {
  type Decided,
  decide,
  fileOf,
  linesOf,
  readRun,
  recordedSeeds,
  runsFolder,
  withoutNumbers,
} from "./runs.ts";

const packed = (bytes: Buffer | string): Buffer =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_LGWIN]: 22 } });

async function record(seed: number): Promise<void> {
  let bytes: Buffer | null = null;
  const plan = planOf(seed);
  const outcome = await runScenario(plan, async (file) => {
    const database = new Database(file);
    database.exec("VACUUM");
    bytes = database.serialize();
    database.close();
  });
  if (bytes === null || outcome.replayed === null) {
    console.log(`${seed}: cannot be replayed`);
    return;
  }
  const [sections] = outcome.sections;
  const signing: string[] = [];
  const wallets = (sections!.wallets as Record<string, unknown>[]).map(({ secret, ...rest }) => {
    const { authority } = outcome.simulator.traders.find(({ name }) => name === rest.name)!;
    if (secret !== undefined) signing.push(String(rest.name));
    return { ...rest, authority };
  });
  const run = { seed, startMs: plan.start.atMs, signing, sections: { ...sections, wallets } };
  fs.mkdirSync(runsFolder, { recursive: true });
  fs.writeFileSync(fileOf(seed, "json"), `${JSON.stringify(run)}\n`);
  fs.writeFileSync(fileOf(seed, "db.br"), packed(bytes));
  const { changes } = await decideAgain(seed);
  if (!isDeepStrictEqual(changes, outcome.replayed.map(withoutNumbers)))
    throw new Error(`seed ${seed}: a replay by addresses decides something else than one by keys`);
}

async function decideAgain(seed: number): Promise<Decided> {
  const decided = await decide(readRun(seed));
  fs.writeFileSync(fileOf(seed, "jsonl.br"), packed(linesOf(decided).join("\n")));
  const bytes = fs.statSync(fileOf(seed, "db.br")).size + fs.statSync(fileOf(seed, "jsonl.br")).size;
  const rules = [...new Set(endedRules(decided))].sort().join(" ");
  console.log(
    `${seed}: ${decided.changes.length} changes, ${decided.messages.length} messages, ${decided.mails.length} mails, ${bytes} bytes; ended: ${rules}`,
  );
  return decided;
}

/** Rules of which an alert ended, or an event happened. */
function endedRules({ changes }: Decided): readonly string[] {
  return (changes as { kind: string; alert: { rule: string; event: unknown } }[])
    .filter(({ kind, alert }) => kind === "ended" || alert.event)
    .map(({ alert }) => alert.rule);
}

const asked = process.argv.slice(2).map(Number);
for (const seed of asked) await record(seed);
if (asked.length === 0) for (const seed of recordedSeeds()) await decideAgain(seed);
