/**
 * `npm run truth:planted`: proof that the scenarios find defects. Each planted defect is put into a copy of the project, and
 * seeds are played in it until one of them has a violation that the project as it is does not have.
 */
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";
import { refuse, scriptOptions } from "../../support/script-options.ts";
import { type Defect, defects } from "./defects.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** Parts of the project that a scenario needs; libraries are shared. */
const copied = ["src", "test", "rules", "fonts", "package.json", "package-lock.json", "tsconfig.json"];

const seedsFile = fileURLToPath(new URL("seeds.json", import.meta.url));

interface Found {
  readonly seed: number;
  /** The first line of the violation. */
  readonly violation: string;
}

const help = `Usage: npm run truth:planted -- [options]

Puts each planted defect into a copy of the project and plays seeds in it until one of them has a violation that the project
as it is does not have. The seed that found a defect last (seeds.json) is played first. Prints a line for each: the seed that
found it, and by which check. Ends with 1 if one was not found, or if the text that it replaces is not in its file exactly once.

  --only A,B      defects whose names contain one of these
  --seeds A..B    seeds to play after the known one (1..200)
  --jobs N        defects at a time (1)
  --write         notes the seeds that found them in seeds.json
  --list          prints their names, each with the seed that found it last, and plays nothing
  --help          prints this

Examples:
  npm run truth:planted -- --jobs 2
  npm run truth:planted -- --list
  npm run truth:planted -- --only margin,outbox --seeds 1..60 --write`;

/** Runs of seeds without a defect, by seed; true: it has violations of its own. */
const plain = new Map<number, Promise<boolean>>();

async function main(): Promise<void> {
  const { values } = scriptOptions(help, {
    options: {
      only: { type: "string", default: "" },
      seeds: { type: "string", default: "1..200" },
      jobs: { type: "string", default: "1" },
      write: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
    },
  });
  const names = values.only.split(",");
  const chosen = defects.filter(({ name }) => names.some((part) => name.includes(part)));
  if (chosen.length === 0) refuse(`--only: no defect has such a name: ${values.only}; --list names all`);
  const wrong = values.seeds.split(",").find((one) => !/^\d+(\.\.\d+)?$/.test(one));
  if (wrong !== undefined) refuse(`--seeds: "${wrong}" is neither a seed nor a range such as 1..200`);
  const known = JSON.parse(fs.readFileSync(seedsFile, "utf8")) as Record<string, number>;
  if (values.list) {
    for (const { name } of chosen) console.log(`${known[name] ?? "–"}`.padStart(6), name);
    return;
  }
  let missed = 0;
  let next = 0;
  const width = Math.max(...chosen.map(({ name }) => name.length)) + 2;
  const each = async (): Promise<void> => {
    while (next < chosen.length) {
      const defect = chosen[next++]!;
      const first = known[defect.name];
      const found = await hunt(defect, first === undefined ? values.seeds : `${first},${values.seeds}`);
      if (found === null) missed++;
      else known[defect.name] = found.seed;
      const verdict = found === null ? "not found" : `seed ${found.seed}: ${found.violation.slice(0, 120)}`;
      console.log(`${defect.name.padEnd(width)}${verdict}`);
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, each));
  if (values.write) {
    const sorted = defects.flatMap(({ name }) => (known[name] === undefined ? [] : [[name, known[name]]]));
    fs.writeFileSync(seedsFile, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
  }
  console.log(
    `${chosen.length - missed} of ${chosen.length} planted defects found within seeds ${values.seeds}`,
  );
  process.exit(missed > 0 ? 1 : 0);
}

async function hunt(defect: Defect, seeds: string): Promise<Found | null> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-planted-"));
  try {
    for (const name of copied) fs.cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
    fs.symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
    plant(defect, folder);
    for await (const found of violationsOf(folder, seeds)) {
      const known = plain.get(found.seed) ?? violates(found.seed);
      plain.set(found.seed, known);
      if (!(await known)) return found;
    }
    return null;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws where a text is not there exactly once */
export function plant({ name, changes }: Defect, folder: string): void {
  for (const { file, from, to } of changes) {
    const text = fs.readFileSync(path.join(folder, file), "utf8");
    const count = text.split(from).length - 1;
    if (count !== 1) throw new Error(`${name}: ${count} places in ${file} read ${JSON.stringify(from)}`);
    fs.writeFileSync(
      path.join(folder, file),
      text.replace(from, () => to),
    );
  }
}

async function violates(seed: number): Promise<boolean> {
  for await (const _ of violationsOf(root, String(seed))) return true;
  return false;
}

/**
 * The violations that seeds have in a copy of the project, as they are found.
 * @throws where the run breaks off before its last seed
 */
async function* violationsOf(folder: string, seeds: string): AsyncGenerator<Found> {
  const out = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-planted-"));
  const child = spawn(
    process.execPath,
    [path.join(folder, "test/truth/run.ts"), "--seeds", seeds, "--out", out],
    // A group of its own, so that its workers end with it.
    { cwd: folder, stdio: ["ignore", "pipe", "inherit"], detached: true },
  );
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  try {
    let seed: number | null = null;
    let whole = false;
    for await (const line of readline.createInterface({ input: child.stdout })) {
      whole ||= /^\d+ scenarios, /.test(line);
      const bad = /^seed +(\d+) .*\d+ violations, /.exec(line);
      if (bad) seed = Number(bad[1]);
      else if (seed !== null) {
        yield { seed, violation: line.trim() };
        seed = null;
      }
    }
    if (!whole) throw new Error(`${folder}: the run of seeds ${seeds} broke off`);
  } finally {
    if (child.exitCode === null) process.kill(-child.pid!);
    await ended;
    fs.rmSync(out, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
