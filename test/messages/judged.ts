/** The steps in the lives of alerts that rule tests come to: real judgements of made-up worlds. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { leadOf } from "../../src/channels/message/lead.ts";
import { scheduleSettings, schedulesMs } from "../../src/collect/settings.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { Replay } from "../../src/replay/replay.ts";
import { playTest } from "../../src/replay/suite/play-test.ts";
import { readSuite } from "../../src/replay/suite/read.ts";
import { type ReadySuite, readySuite } from "../../src/replay/suite/run.ts";
import { formatProblem } from "../../src/rules/index.ts";

export const packs = path.join(import.meta.dirname, "..", "..", "rules");

/** @param file a suite of rule tests   @returns the changes of each of its tests, by its name */
export async function changesOf(file: string): Promise<ReadonlyMap<string, readonly AlertChange[]>> {
  const ready = readyOf(file);
  const { suite, settings } = ready;
  const found = new Map<string, readonly AlertChange[]>();
  for (const test of suite.tests) {
    const replay = new Replay({ settings, past: null, fromMs: suite.startMs });
    await playTest({
      ...{ suite, test, ruleSet: settings.ruleSet, replay },
      figures: new Map(),
      onExpectation: () => {},
    });
    replay.finish();
    found.set(test.name, replay.journal.changes);
  }
  return found;
}

/** @returns a suite of rule tests, ready to be played */
function readyOf(file: string): ReadySuite {
  const read = readSuite(file, readFileSync(file, "utf8"));
  if ("problems" in read) throw new Error(read.problems.map(formatProblem).join("\n"));
  const files = read.suite.rules.map(({ name }) => {
    const pack = /^shipped:(.+)$/.exec(name)?.[1];
    const at = pack === undefined ? path.join(path.dirname(file), name) : path.join(packs, `${pack}.yaml`);
    return { name, text: readFileSync(at, "utf8") };
  });
  const ready = readySuite({
    suite: read.suite,
    files,
    scheduleMs: schedulesMs(scheduleSettings.parse({}), read.suite.startMs),
    wording: { lead: leadOf },
  });
  if ("problems" in ready) throw new Error(ready.problems.map(formatProblem).join("\n"));
  return ready;
}
