/** A rota in random hours of refusals, hand-overs and kills: each change arrives, and no second person is sent it while the first can be asked. */
import { describe, expect, test } from "vitest";
import type { Step } from "../../src/deliver/probe.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { desk } from "./rota-desk.ts";

const minute = 60_000;
const answers = [
  { status: 200 },
  { status: 200 },
  { status: 200 },
  { status: 503 },
  { status: 400 },
  { status: 401 },
  { status: 429, afterMs: 2_000 },
  { status: 429, afterMs: 90_000 },
  "hang",
] as const;
const steps: readonly Step[] = ["owed-seen", "sealed", "before-send", "sent", "recorded"];

describe("hours of everything", () => {
  // By 4 and 5 somebody else was sent what a person who stood in had before a kill.
  const { SEED, SEEDS = "5" } = process.env;
  const seeds = SEED === undefined ? Array.from({ length: Number(SEEDS) }, (_, i) => i + 1) : [Number(SEED)];
  test.each(seeds)("tell each change to one person; SEED=%d", async (seed) => {
    const random = seededRandom(seed);
    let killed = false;
    let killAt: Step | null = null;
    await using one = await desk("2026-11-23T08:40:00Z", { turn: "09:00" });
    let life = { over: false };
    const start = () => {
      life.over = true;
      const own = { over: false };
      life = own;
      killed = false;
      const probe = (step: Step) => {
        if (step === killAt && !own.over) {
          own.over = true;
          killed = true;
          killAt = null;
        }
        // A process that was killed does nothing any more.
        return own.over ? new Promise<void>(() => {}) : undefined;
      };
      return one.restart({ probe });
    };
    await start();
    const log: string[] = [];
    const people = [
      ["anna", one.far],
      ["ben", one.other],
      ["carla", one.carla],
    ] as const;
    const pass = async (ms: number) => {
      const untilMs = one.clock.nowMs() + ms;
      while (one.clock.nowMs() < untilMs) {
        await one.clock.advance(Math.min(500, untilMs - one.clock.nowMs()));
        if (!killed) continue;
        log.push(`${one.clock.nowMs()} killed`);
        await start();
      }
    };
    const fired = [];
    for (let round = 0; round < 20; round++) {
      for (const [name, far] of people) {
        if (random() < 0.4) continue;
        const answer = answers[Math.floor(random() * answers.length)]!;
        log.push(`${one.clock.nowMs()} ${name} answers ${JSON.stringify(answer)}`);
        far.answer = () => answer;
      }
      const alert = one.alerts.alert({ severity: random() < 0.6 ? "critical" : "info" });
      fired.push(alert);
      await one.owe(one.alerts.step("fired", alert, ["oncall"]));
      if (random() < 0.3) killAt = steps[Math.floor(random() * steps.length)]!;
      await pass(Math.floor(random() * (random() < 0.2 ? 10 * minute : 40_000)));
      if (random() < 0.1) await start();
      const over = random() < 0.5 ? fired.shift() : undefined;
      if (over !== undefined) await one.owe(one.alerts.step("ended", over, ["oncall"]));
    }
    killAt = null;
    for (const [, far] of people) far.answer = () => ({ status: 200 });
    await pass(15 * minute);
    const said = () =>
      [
        ...log.map((line) => [Number(line.slice(0, 13)), line.slice(14)] as const),
        ...people.flatMap(([name, far]) =>
          far.arrivals.map(
            ({ atMs, id, items, attempt, answered }) =>
              [atMs, `${name} ${id} [${items}] attempt ${attempt}: ${answered}`] as const,
          ),
        ),
      ]
        .sort(([a], [b]) => a - b)
        .map(([atMs, text]) => `${new Date(atMs).toISOString()} ${text}`)
        .join("\n");
    expect(one.outbox.figures().undelivered, said()).toBe(0);
    const arrivals = people
      .flatMap(([name, far]) => far.arrivals.map((arrival) => ({ name, ...arrival })))
      .sort((a, b) => a.atMs - b.atMs || a.attempt - b.attempt);
    const messages = new Map<number, string>();
    for (const [index, { name, id, items, answered, atMs }] of arrivals.entries()) {
      for (const item of items) {
        expect(messages.get(item) ?? id, `item ${item} after\n${said()}`).toBe(id);
        messages.set(item, id);
      }
      if (answered !== 200) continue;
      // Nobody recorded that it arrived: whoever has it is asked first, and nobody else while that channel answers.
      const again = arrivals.slice(index + 1).find((one) => one.id === id);
      const failed = arrivals.some(
        (one) =>
          one.name === name && one.answered !== 200 && one.atMs >= atMs && one.atMs <= (again?.atMs ?? 0),
      );
      if (again !== undefined && !failed)
        expect(again.name, `${id}, which ${name} has, after\n${said()}`).toBe(name);
    }
  });
});
