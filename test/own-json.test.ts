/** JSON of our own: what another program put in its place is a value, or an error that says so. */
import { expect, test } from "vitest";
import { decode, encode } from "../src/domain/text/json.ts";

test("numbers that JSON does not know come back", () => {
  const value = { a: [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, -0, 1], b: null };
  expect(decode(encode(value))).toEqual(value);
});

test("a text that is nested without end is no JSON", () => {
  const deep = 200_000;
  expect(() => decode(`{"$number":${"[".repeat(deep)}${"]".repeat(deep)}}`)).toThrow(SyntaxError);
});
