/** Silences set by people from a shell and from chats at the same time. */
import { expect, test } from "vitest";
import { Silencing } from "../src/daemon/answers/silencing.ts";
import type { Silence } from "../src/domain/alerts/silence.ts";
import type { Observation } from "../src/domain/observation.ts";
import { FakeClock } from "./support/clock.ts";

/** A watch that processes observations with a delay. */
function world() {
  const clock = new FakeClock("2026-11-21T03:41:18Z");
  const silences: Silence[] = [];
  const told = Promise.withResolvers<void>();
  const ingest = {
    watch: { silences, status: () => ({ firing: [] }) },
    observe: async (seen: Observation & { kind: "silenced" }) => {
      await told.promise;
      silences.push(seen.silence);
    },
  };
  const source = new Silencing(ingest as unknown as ConstructorParameters<typeof Silencing>[0], clock);
  const wish = (wallet: string, endsMs = clock.nowMs() + 3_600_000) => ({
    ...{ matchers: [`wallet=${wallet}`], author: "ann", comment: "", endsMs },
  });
  return { clock, source, silences, wish, hear: told.resolve };
}

test("two people who silence at once have a silence each", async () => {
  const { source, silences, wish, hear } = world();
  const both = Promise.all([source.add(wish("a"), false), source.add(wish("b"), false)]);
  await source.add(wish("c"), true);
  hear();
  const ids = (await both).map((one) => (one.kind === "done" ? one.silence.id : null));
  expect(ids).toEqual([1, 2]);
  expect(silences.map(({ id }) => id)).toEqual([1, 2]);
  const next = await source.add(wish("d"), false);
  expect(next).toMatchObject({ silence: { id: 3 } });
});

test("a silence whose end is not a valid time is refused", async () => {
  const { clock, source, silences, wish, hear } = world();
  hear();
  for (const endsMs of [9e15, Number.POSITIVE_INFINITY, clock.nowMs() + 11 * 31_536_000_000])
    expect(await source.add(wish("a", endsMs), false)).toEqual({
      kind: "wrong",
      problem: "a silence ends within ten years",
    });
  expect(silences).toEqual([]);
});
