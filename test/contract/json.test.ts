/** JSON that nests as deeply as it likes, with integers that no double holds. */
import { expect, test } from "vitest";
import { parseJson } from "../../src/contract/json.ts";
import { overlong } from "../../src/contract/reply.ts";
import { readFrame } from "../../src/contract/stream/stream-frames.ts";

test("integers beyond 2^53 stay exact in JSON of any depth", () => {
  const big = "18446744073709551615";
  const inner = `{"sequence":${big},"small":12,"text":"${big} \\"${big}","share":0.1234567890123456,"large":1e30}`;
  const expected = {
    sequence: big,
    small: 12,
    text: `${big} "${big}`,
    share: 0.1234567890123456,
    large: 1e30,
  };
  expect(parseJson(inner)).toEqual(expected);
  const deep = 30_000;
  let value = parseJson(`${"[".repeat(deep)}${inner}${"]".repeat(deep)}`);
  for (let level = 0; level < deep; level++) value = (value as unknown[])[0];
  expect(value).toEqual(expected);
  expect(() => parseJson(`${"[".repeat(deep)}${inner}`)).toThrow(SyntaxError);
});

test("a frame whose code is no text and no number has no code", () => {
  for (const code of [{ toString: 1, valueOf: null }, [1], true])
    expect(readFrame({ channel: "error", error: "no", code })).toMatchObject({ kind: "control", code: null });
});

test("lists that are longer than any reply's, and JSON that nests without end, are found quickly", () => {
  expect(overlong({ a: [{ items: new Array(20_001).fill({}) }] })).toBe(20_001);
  expect(overlong({ a: [{ items: new Array(20_000).fill({}) }] })).toBeNull();
  const text = `${"[".repeat(300_000)}9007199254740993${"]".repeat(300_000)}`;
  expect(() => parseJson(text)).toThrow(/nested too deeply/);
  // Depth is told before a parser takes 50 times as much memory.
  const unclosed = `9007199254740993,["\\"${"[".repeat(1_000_000)}",${"[".repeat(1_000)}`;
  for (const one of [unclosed, unclosed.slice(17)])
    expect(() => parseJson(`[${one}`)).toThrow(/nested too deeply/);
  expect(() => parseJson(unclosed.slice(0, -1))).toThrow(/JSON/);
});
