/** The simulator as a program: its settings, and its run. */
import { readFileSync, statSync } from "node:fs";
import { z } from "zod";
import type { Clock } from "../domain/clock.ts";
import { moreMarketSpecs } from "./markets/markets.ts";
import { BadScenario, parseScenario } from "./scenario.ts";
import { plainWords } from "./server/plain-words.ts";
import { type Simulator, startSimulator } from "./simulator.ts";

const moreSymbols = moreMarketSpecs.map(({ symbol }) => symbol);

const flagNumber = (check: z.ZodNumber) => z.coerce.number().pipe(check);

/** Settings of `perpwatch simulate`, by option name in camelCase. Numbers may be text. */
export const simulateSettings = z.strictObject({
  port: flagNumber(z.int().min(0).max(65_535)).default(8_899),
  host: z.string().default("127.0.0.1"),
  seed: flagNumber(
    z
      .int()
      .min(0)
      .max(2 ** 32 - 1),
  ).default(1),
  speed: flagNumber(z.number().min(0).max(10_000)).default(1),
  traders: flagNumber(z.int().min(0).max(10_000)).default(10),
  /** Symbols listed besides the default ones, comma-separated. */
  markets: z
    .string()
    .transform((text) => text.split(",").map((symbol) => symbol.trim().toUpperCase()))
    .refine((symbols) => symbols.every((symbol) => moreSymbols.includes(symbol)), {
      error: `must be among ${moreSymbols.join(", ")}`,
    })
    .optional(),
  keysDir: z.string().optional(),
  /** Path of a scenario file. */
  scenario: z.string().optional(),
  /** `off`: answers only in the forms of the contract. */
  observed: z.enum(["on", "off"]).default("on"),
  /** `off`: prices and traders change by control calls and the scenario only. */
  walk: z.enum(["on", "off"]).default("on"),
  requestsPerSecond: flagNumber(z.number().positive()).optional(),
  accessTtl: flagNumber(z.number().positive()).optional(),
  refreshTtl: flagNumber(z.number().positive()).optional(),
});
export type SimulateSettings = z.output<typeof simulateSettings>;

/** Invalid settings; one line for each mistake. */
export class BadSettings extends Error {
  override readonly name = "BadSettings";
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

export interface Output {
  readonly write: (text: string) => unknown;
}

/**
 * Starts the simulator, and prints one JSON line when it is ready: `{ "url", "traders": [{ name, authority, traderPda,
 * keyFile }] }`.
 * @param raw settings by name, as in `simulateSettings`
 * @throws {BadSettings} before anything listens or is written
 */
export async function runSimulator(
  raw: Readonly<Record<string, unknown>>,
  stdout: Output,
  stderr: Output,
  clock?: Clock,
): Promise<Simulator> {
  const parsed = simulateSettings.safeParse(raw, { error: plainWords });
  if (!parsed.success) {
    throw new BadSettings(parsed.error.issues.map((it) => `${it.path.join(".")}: ${it.message}`));
  }
  const { walk, keysDir, scenario, accessTtl, refreshTtl, requestsPerSecond, markets, observed, ...plain } =
    parsed.data;
  const simulator = await startSimulator({
    ...plain,
    ...(markets === undefined ? {} : { markets }),
    observed: observed === "on",
    walk: walk === "on",
    keysDir: keysDir ?? null,
    scenario: scenario === undefined ? null : scenarioText(scenario),
    requestsPerSecond: requestsPerSecond ?? null,
    ...(accessTtl === undefined ? {} : { accessTtlMs: accessTtl * 1_000 }),
    ...(refreshTtl === undefined ? {} : { refreshTtlMs: refreshTtl * 1_000 }),
    ...(clock === undefined ? {} : { clock }),
    onProblem: (problem) => stderr.write(`${problem}\n`),
  });
  stdout.write(`${JSON.stringify({ url: simulator.url, traders: simulator.traders })}\n`);
  return simulator;
}

const maxScenarioBytes = 1_024 * 1_024;

function scenarioText(path: string): string {
  let text: string;
  try {
    const stat = statSync(path);
    if (!stat.isFile() || stat.size > maxScenarioBytes)
      throw new BadSettings([`scenario: ${path} is no file, or larger than ${maxScenarioBytes / 1_024} KiB`]);
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof BadSettings) throw error;
    throw new BadSettings([`scenario: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`]);
  }
  try {
    parseScenario(text);
  } catch (error) {
    if (error instanceof BadScenario) throw new BadSettings(error.problems.map((it) => `${path}: ${it}`));
    throw error;
  }
  return text;
}
