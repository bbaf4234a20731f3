/**
 * A tenth of `npm run soak`, with every labelled step: the daemon is killed again and again while events come in and its
 * channels misbehave in turn. Nothing is lost, nothing is acknowledged before it was told, nothing arrives twice but where a
 * channel cannot know.
 */
import { expect, test } from "vitest";
import { temporaryFolder } from "../history/folder.ts";
import { soak, soakTable, steps } from "../soak/deliveries.ts";
import { channelNames, troubles } from "../soak/far-sides.ts";

test("killed at random while its channels misbehave, it loses nothing and repeats nothing but in the window", {
  // Some forty seconds of two cores; on a busy machine it takes what it takes.
  timeout: 900_000,
}, async () => {
  using folder = temporaryFolder();
  const seed = Number(process.env.SOAK_SEED ?? Math.floor(Math.random() * 2 ** 31));
  const result = await soak({
    folder: folder.path,
    events: 2_000,
    kills: 20,
    perStep: 1,
    seed,
    longestLifeMs: 800,
  });
  console.log(soakTable(result));

  const nothing = { chat: [], mail: [], hook: [] };
  expect(result.lost).toEqual(nothing);
  expect(result.inTwo).toEqual(nothing);
  expect(result.acknowledgedEarly).toEqual([]);
  expect(result.unacknowledged).toBe(0);
  expect(result.dead).toBe(0);
  expect(result.copies.chat).toBe(0);
  expect(result.mostInWindow.mail).toBeLessThanOrEqual(1);
  expect(result.copies.mail).toBeLessThanOrEqual(result.inWindow.mail + result.mailsWithoutAnswer);

  // It was put to the test at all.
  expect(result.events).toBeGreaterThanOrEqual(2_000);
  expect(result.kills.random).toBe(20);
  for (const step of steps) expect(result.kills.steps[step]).toBe(1);
  for (const name of channelNames) {
    expect(result.messages[name]).toBeGreaterThan(5);
    for (const trouble of troubles) expect(result.troubles[name][trouble]).toBeGreaterThan(0);
  }
});
