/**
 * Runs all attacks in full (PERPWATCH_ATTACKS=all), or with as many inputs as PERPWATCH_ATTACKS says, and prints one table:
 * `npm run attacks [-- FILE…]`. Ends with the status of the tests.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { cells, heading, type Row } from "./measure.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const file = path.join(root, ".runtime", "attacks", "rows.jsonl");
mkdirSync(path.dirname(file), { recursive: true });
rmSync(file, { force: true });
const vitest = path.join(root, "node_modules", "vitest", "vitest.mjs");
const env = {
  PERPWATCH_ATTACKS: "all",
  PERPWATCH_ATTACK_MS: "60000",
  ...process.env,
  PERPWATCH_ATTACK_ROWS: file,
};
const args = [vitest, "run", "--project", "attacks", ...process.argv.slice(2)];
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
