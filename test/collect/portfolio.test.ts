/** The exchange's values of accounts, asked for near the end of a quarter. */
import { expect, test } from "vitest";
import { portfolioCollector } from "../../src/collect/collectors/portfolio.ts";
import type { Observation } from "../../src/domain/observation.ts";

const quarterMs = 900_000;
const endMs = Date.UTC(2026, 2, 1, 12, 15);
const account = { pdaIndex: 0, subaccount: 0, address: "account" };

/** Asks 400 ms before the end of the quarter, and has the answer so much later. */
async function read(takesMs: number): Promise<readonly Observation[]> {
  let nowMs = endMs - 400;
  const observed: Observation[] = [];
  const accounts = { complete: () => true, present: () => [account], of: () => [account] };
  const needs = { equityCheck: () => true, midnightMs: () => null };
  const run = {
    wallet: { name: "main" },
    catchUp: false,
    nowMs: () => nowMs,
    call: () => ({}),
    observe: async (one: Observation) => void observed.push(one),
    client: {
      portfolioValues: async () => {
        nowMs += takesMs;
        return [
          { endTime: endMs - quarterMs, value: 100 },
          { endTime: endMs, value: 200 },
        ];
      },
    },
  };
  const collector = portfolioCollector(accounts as never, needs);
  await collector.run(run as never);
  return observed;
}

test.each([100, 2_000])(
  "the value of a quarter that was not over when it was asked for is not of its end (%d ms)",
  async (takesMs) => {
    expect(await read(takesMs)).toMatchObject([
      { kind: "portfolio", values: [{ ofMs: endMs - quarterMs, valueUsd: 100 }] },
    ]);
  },
);
