/** Changes of rules and routes are recorded once each, even if commits fail for a time. */
import { expect, test } from "vitest";
import { ConfigurationNotes } from "../src/daemon/configuration-notes.ts";
import { CommitFailed } from "../src/domain/ports.ts";
import type { Changes, Milestone } from "../src/domain/stored/changes.ts";
import { FakeClock } from "./support/clock.ts";

const settings = (ruleSetText: string) => ({ ruleSetText, routing: { receivers: ["chat"] } });

/** A history that accepts commits, refuses them, or delays them. */
function rig() {
  const stored: Milestone[] = [];
  const disk = { takes: true, ready: Promise.resolve(), asked: () => {} };
  const clock = new FakeClock();
  const store = {
    milestones: async (kind: Milestone["kind"]) => stored.filter((one) => one.kind === kind),
    commit: async (batch: readonly Changes[]) => {
      disk.asked();
      await disk.ready;
      if (!disk.takes) throw new CommitFailed("full", "disk full");
      stored.push(...batch.flatMap(({ milestones }) => milestones));
    },
  };
  const notes = new ConfigurationNotes(store, clock, (error) => {
    throw error;
  });
  const rules = () => stored.flatMap(({ kind, value }) => (kind === "ruleSet" ? [value] : []));
  return { disk, clock, notes, rules };
}

test("the same set is noted once, another one again", async () => {
  const { notes, rules } = rig();
  for (const text of ["a", "a", "b"]) await notes.note(settings(text), 1);
  expect(rules()).toEqual(["a", "b"]);
});

test("a note that could not be committed is written later, once, also with concurrent writes", async () => {
  const { disk, clock, notes, rules } = rig();
  disk.takes = false;
  await notes.note(settings("a"), 1);
  expect(rules()).toEqual([]);
  disk.takes = true;
  const { promise, resolve } = Promise.withResolvers<void>();
  disk.ready = promise;
  const asked = new Promise<void>((done) => {
    disk.asked = done;
  });
  const passed = clock.advance(5_000);
  await asked;
  const noted = notes.note(settings("b"), 2);
  await new Promise((done) => setImmediate(done));
  resolve();
  await Promise.all([passed, noted, notes.stop()]);
  expect(rules()).toEqual(["a", "b"]);
});

test("nothing is tried after the stop", async () => {
  const { disk, clock, notes, rules } = rig();
  disk.takes = false;
  await notes.note(settings("a"), 1);
  await notes.stop();
  disk.takes = true;
  await clock.advance(60_000);
  expect(rules()).toEqual([]);
});
