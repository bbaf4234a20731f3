/**
 * A script of control calls at simulated times, from the start:
 *
 *   - { at: 10s, call: mark-price, with: { symbol: SOL, price: "140" } }
 *   - { at: 40s, call: mark-price, with: { symbol: SOL, price: "151" } }
 *
 * or, repeated, `{ loop: 60s, steps: [ … ] }`.
 */
import { LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import { parseDurationMs } from "../domain/text/duration.ts";
import { controlCalls } from "./server/control-bodies.ts";
import { plainWords } from "./server/plain-words.ts";

export interface ScenarioStep {
  readonly atMs: number;
  readonly call: string;
  readonly with: unknown;
}

export interface Scenario {
  readonly steps: readonly ScenarioStep[];
  /** Repeats after this time; null: runs once. */
  readonly loopMs: number | null;
}

/** An invalid scenario; `problems` names each mistake. */
export class BadScenario extends Error {
  override readonly name = "BadScenario";
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

const duration = z
  .string()
  .transform((text) => parseDurationMs(text))
  .refine((ms) => ms !== undefined, "must be a duration such as 10s");
const step = z.strictObject({
  at: duration,
  call: z.enum(controlCalls.filter((it) => it !== "advance") as [string, ...string[]]),
  with: z.record(z.string(), z.unknown()).default({}),
});
const shape = z.strictObject({ loop: duration.optional(), steps: z.array(step) });

/** @throws {BadScenario} */
export function parseScenario(text: string): Scenario {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  if (document.errors.length > 0) throw new BadScenario(document.errors.map((it) => it.message));
  const value: unknown = document.toJS();
  const list = Array.isArray(value) ? { steps: value } : value;
  const parsed = shape.safeParse(list, { error: plainWords });
  if (!parsed.success) {
    throw new BadScenario(
      parsed.error.issues.map((it) => {
        const path = Array.isArray(value) ? it.path.slice(1) : it.path;
        const node = document.getIn(path, true) as { range?: readonly number[] } | undefined;
        const at = node?.range?.[0];
        const line = at === undefined ? "" : `line ${lines.linePos(at).line}: `;
        return `${line}${path.join(".") || "the scenario"}: ${it.message}`;
      }),
    );
  }
  const steps = parsed.data.steps.map((it) => ({ atMs: it.at as number, call: it.call, with: it.with }));
  steps.sort((a, b) => a.atMs - b.atMs);
  const loopMs = parsed.data.loop ?? null;
  const last = steps.at(-1)?.atMs ?? 0;
  if (loopMs !== null && (loopMs <= last || loopMs < 1_000)) {
    throw new BadScenario(["loop: must be longer than the last step's time, and a second at least"]);
  }
  return { steps, loopMs };
}

/** Returns the steps that are due, in order. */
export class ScenarioPlayer {
  readonly #scenario: Scenario;
  #round = 0;
  #next = 0;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  /** The next step that is due at `sinceStartMs`, with its time; undefined when there is none. */
  take(sinceStartMs: number): { readonly step: ScenarioStep; readonly dueMs: number } | undefined {
    const { steps, loopMs } = this.#scenario;
    if (steps.length === 0) return undefined;
    if (this.#next === steps.length) {
      if (loopMs === null) return undefined;
      this.#round += 1;
      this.#next = 0;
    }
    const step = steps[this.#next] as ScenarioStep;
    const dueMs = this.#round * (loopMs ?? 0) + step.atMs;
    if (dueMs > sinceStartMs) return undefined;
    this.#next += 1;
    return { step, dueMs };
  }
}
