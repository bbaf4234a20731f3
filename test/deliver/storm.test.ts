/**
 * A storm on a channel that takes one message a second: what is critical is there within seconds all the same, the rest is
 * folded, and nothing is lost. On a clock that is moved by hand, so that no other work on the machine shows in it.
 */
import { expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import type { Changes } from "../../src/domain/stored/changes.ts";
import { rig, together } from "./support.ts";

const second = 1_000;
const stepMs = 250;

const exactly = (ms: number): number => ms;
const inWholeSeconds = (ms: number): number => Math.ceil(ms / second) * second;

test.each([
  { told: "exactly", waits: exactly, seed: 11 },
  { told: "in whole seconds", waits: inWholeSeconds, seed: 11 },
  // Here some of what is lesser takes critical ones of its group along in a slot of its own.
  { told: "in whole seconds", waits: inWholeSeconds, seed: 8 },
])(
  "5,000 events in a minute, 2 % critical, one message a second, told $told when the next may come; seed $seed",
  { timeout: 300_000 },
  async ({ waits, seed }) => {
    await using one = await rig();
    const { alerts, clock } = one;
    const random = seededRandom(seed);
    const startedMs = clock.nowMs();
    let freeAtMs = 0;
    const acceptedAt = new Map<number, number>();
    one.far.answer = ({ atMs, items }) => {
      if (atMs < freeAtMs) return { status: 429, afterMs: waits(freeAtMs - atMs) };
      freeAtMs = atMs + second;
      for (const id of items) acceptedAt.set(id, atMs);
      return { status: 200 };
    };
    const critical = new Map<number, number>();
    const lesser = new Map<number, number>();
    const releases = new Map<string, number>();
    let owed = 0;
    const event = (): Changes => {
      owed++;
      const severity = random() < 0.02 ? "critical" : random() < 0.2 ? "warning" : "info";
      const wallet = `mm-${Math.floor(random() * 50)}`;
      (severity === "critical" ? critical : lesser).set(owed, clock.nowMs());
      // As routes have it: what is not urgent waits for its group, a second at first and five from then on.
      const before = releases.get(wallet) ?? 0;
      const releaseMs =
        before > clock.nowMs() ? before : Math.max(clock.nowMs() + second, before + 5 * second);
      if (severity !== "critical") releases.set(wallet, releaseMs);
      const waitMs = severity === "critical" ? 0 : releaseMs - clock.nowMs();
      const alert = alerts.alert({ severity, wallet, event: true, state: "ended", rule: `Rule ${severity}` });
      return alerts.step("fired", alert, ["chat"], wallet, waitMs);
    };
    const all = 5_000;
    for (let atMs = 0; owed < all; atMs += stepMs) {
      const due = Math.min(all, Math.ceil((all * (atMs + stepMs)) / (60 * second)));
      await one.owe(together(Array.from({ length: due - owed }, event)));
      await clock.advance(stepMs);
    }
    for (let i = 0; acceptedAt.size < all && i < 600; i++) await clock.advance(second);

    const told = one.far.accepted.flatMap(({ items }) => items);
    const waitsMs = [...critical].map(
      ([id, atMs]) => (acceptedAt.get(id) ?? Number.POSITIVE_INFINITY) - atMs,
    );
    waitsMs.sort((a, b) => a - b);
    const p = (share: number) => waitsMs[Math.min(waitsMs.length - 1, Math.floor(share * waitsMs.length))]!;
    const attempts = one.far.arrivals.length;
    console.log(
      `${one.far.accepted.length} messages, ${attempts} attempts, largest ${Math.max(
        ...one.far.accepted.map(({ items }) => items.length),
      )}, critical: ${critical.size}, p50 ${p(0.5)} ms, p99 ${p(0.99)} ms, most ${p(1)} ms, over after ${
        (clock.nowMs() - startedMs) / second
      } s, lesser wait at most ${Math.max(...[...lesser].map(([id, atMs]) => (acceptedAt.get(id) ?? Number.NaN) - atMs))} ms`,
    );
    expect(told.toSorted((a, b) => a - b)).toEqual(Array.from({ length: all }, (_, i) => i + 1));
    expect(p(0.99)).toBeLessThan(3 * second);
    // Made late, so that as much as possible is in them, and not in vain.
    expect(attempts).toBeLessThan(one.far.accepted.length * 1.1);
    // What is not critical stands back, but no longer than the storm lasts.
    const waited = [...lesser].map(([id, atMs]) => (acceptedAt.get(id) ?? Number.POSITIVE_INFINITY) - atMs);
    expect(Math.max(...waited)).toBeLessThan(70 * second);
  },
);
