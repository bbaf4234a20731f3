import { expect, test } from "vitest";
import { compress, decompress } from "../../src/history/samples/compression.ts";

test("a few bytes do not become hundreds of megabytes", () => {
  const bomb = compress(new Uint8Array(200_000_000));
  expect(bomb.length).toBeLessThan(20_000);
  expect(() => decompress(bomb)).toThrow(/larger than|buffer/i);
  expect(() => decompress(bomb, 1_000)).toThrow(/larger than|buffer/i);
  expect(decompress(compress("a".repeat(1_000)), 1_000).toString()).toBe("a".repeat(1_000));
});
