/** `npm run attacks`: all attacks in full, and one table of what they found. `help` below tells how it is called. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { refuse, scriptOptions } from "../support/script-options.ts";
import { cells, heading, type Row } from "./measure.ts";

const help = `Usage: npm run attacks -- [options] [FILE...]

Attacks daemons, signers and parsers with hostile input, and prints a table: what was tried, accepted and refused, and the longest
time and most memory that an input took. Takes many hours: a million inputs for each parser.

  FILE            only test files with this in their path: parsers, listener, hostile-smtp
  --only PATTERN  only tests with this in their name, a regular expression
  --inputs N      as many for each in place of all
  --from N        parsers: the first input (0), so that a long run can be made in parts
  --seconds N     each flood lasts as long (60)
  --gap MS        a flood may keep a poll of a 1 s schedule waiting for less than this (3000); on a quiet machine 1500 is held
  --seed N        of the inputs that are random
  --help          prints this

Ends with 1 where an attack had an effect, with 2 where the options cannot be used.

Examples:
  npm run attacks
  npm run attacks -- parsers --only "^expressions" --inputs 10000
  npm run attacks -- parsers --only "^copies" --seed 1 --from 250000 --inputs 250000
  npm run attacks -- listener --seconds 5`;

const { values, positionals } = scriptOptions(help, {
  allowPositionals: true,
  options: {
    only: { type: "string" },
    inputs: { type: "string", default: "all" },
    from: { type: "string" },
    seconds: { type: "string", default: "60" },
    gap: { type: "string" },
    seed: { type: "string" },
  },
});
const isNumber = (text: string) => /^[1-9]\d*$/.test(text);
for (const name of ["seconds", "gap", "seed"] as const)
  if (values[name] !== undefined && !isNumber(values[name])) refuse(`--${name} takes a number`);
if (values.from !== undefined && !/^\d+$/.test(values.from)) refuse("--from takes a number");
if (values.inputs !== "all" && !isNumber(values.inputs)) refuse("--inputs takes a number, or all");

const root = fileURLToPath(new URL("../../", import.meta.url));
const file = path.join(root, ".runtime", "attacks", "rows.jsonl");
mkdirSync(path.dirname(file), { recursive: true });
rmSync(file, { force: true });
const vitest = path.join(root, "node_modules", "vitest", "vitest.mjs");
const env = {
  ...process.env,
  PERPWATCH_ATTACKS: values.inputs,
  PERPWATCH_ATTACK_MS: String(Number(values.seconds) * 1_000),
  PERPWATCH_ATTACK_ROWS: file,
  ...(values.from !== undefined && { PERPWATCH_ATTACK_FROM: values.from }),
  ...(values.gap !== undefined && { PERPWATCH_GAP_MS: values.gap }),
  ...(values.seed !== undefined && { PERPWATCH_SEED: values.seed }),
};
const only = values.only === undefined ? [] : ["-t", values.only];
const args = [vitest, "run", "--project", "attacks", ...only, ...positionals];
const [status] = (await once(
  spawn(process.execPath, args, { cwd: root, env, stdio: "inherit" }),
  "close",
)) as [number | null];
const rows = existsSync(file)
  ? readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => cells(JSON.parse(line) as Row))
  : [];
const table = [heading, ...rows];
const widths = heading.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
for (const row of table)
  console.log(
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join("  "),
  );
process.exitCode = status ?? 1;
