/** Scenarios that several test files look at, each played once by a process. Nobody changes them: a change is made of a copy. */
import { type Outcome, planOf, runScenario } from "./scenario.ts";

const outcomes = new Map<number, Promise<Outcome>>();

export function play(seed: number): Promise<Outcome> {
  const outcome = outcomes.get(seed) ?? runScenario(planOf(seed));
  outcomes.set(seed, outcome);
  return outcome;
}
