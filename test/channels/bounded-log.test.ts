import { expect, test } from "vitest";
import { BoundedLog } from "../../src/channels/bounded-log.ts";
import { FakeClock } from "../support/clock.ts";

function rig() {
  const clock = new FakeClock();
  const lines: string[] = [];
  const line = (_fields: object, words: string) => void lines.push(words);
  const log = new BoundedLog({ clock, log: { debug: line, info: line, warn: line }, chat: "Slack" });
  return { clock, lines, log };
}

test("failures do not use up the lines of actions", () => {
  const { lines, log } = rig();
  for (let count = 0; count < 30; count++) log.warn({}, "failure");
  for (let count = 0; count < 30; count++) log.info({}, "act");
  expect(lines.filter((one) => one === "failure")).toHaveLength(20);
  expect(lines.filter((one) => one === "act")).toHaveLength(20);
});

test("a line after its stop starts no timer", () => {
  const { clock, lines, log } = rig();
  for (let count = 0; count < 25; count++) log.info({}, "act");
  log.stop();
  expect(lines.at(-1)).toBe("5 more lines within a minute about presses from Slack");
  log.info({}, "act");
  expect(clock.pending).toBe(0);
});
