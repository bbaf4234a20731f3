import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import {
  addressBytes,
  BadAddress,
  isAddress,
  logAuthority,
  programAddress,
  traderAddress,
} from "../../src/wallet/address.ts";
import { isOnCurve } from "../../src/wallet/ed25519.ts";
import { exampleAddress } from "./example.ts";

test.each([
  [0, 0, "6JMzcBHW9QMNkeXGLvD37tn4Y5gMrBiBTBVkUp6WEVye"],
  [0, 1, "CkXEUDLBWDUB13JT3QhE6yovoR1A3n5MsREkbqm58JxM"],
  [1, 0, "7sgTLBQZsNXJEutYiyViwnseRSAKANMewaquvvfX2o1P"],
])("trader account %i.%i", (pdaIndex, subaccount, address) => {
  expect(traderAddress(exampleAddress, { pdaIndex, subaccount })).toBe(address);
  // The second time it comes from the cache.
  expect(traderAddress(exampleAddress, { pdaIndex, subaccount })).toBe(address);
});

test("the log authority", () => {
  expect(logAuthority()).toBe("GdxfTLSsdSY37G6fZoYtdGDSfgFnbT2EmRpuePZxWShS");
});

test("another program derives other addresses, cached apart", () => {
  const index = { pdaIndex: 0, subaccount: 0 };
  expect(traderAddress(exampleAddress, index, exampleAddress)).not.toBe(traderAddress(exampleAddress, index));
});

test("derived addresses are no points of the curve, public keys are", () => {
  for (let i = 0; i < 50; i += 1) {
    const derived = programAddress([Uint8Array.of(i)], exampleAddress);
    expect(isOnCurve(addressBytes(derived))).toBe(false);
    const { x } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
    expect(isOnCurve(Buffer.from(x!, "base64url"))).toBe(true);
  }
});

/** y as 32 little-endian bytes. */
function littleEndian(y: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, i) => Number((y >> BigInt(8 * i)) & 255n));
}

test.each([
  // y = 1 is the neutral element, y = 0 has x = √−1, 4/5 is the base point.
  [1n, true],
  [0n, true],
  [46316835694926478169428394003475163141307993866256225615783033603165251855960n, true],
  [2n, false],
  [3n, true],
  [7n, false],
])("y = %s: %s", (y, expected) => {
  expect(isOnCurve(littleEndian(y))).toBe(expected);
  const negative = littleEndian(y);
  negative[31]! |= 0x80;
  // The highest bit is the sign of x and not part of y.
  expect(isOnCurve(negative)).toBe(expected);
});

test("what is no address is refused, and not repeated", () => {
  for (const text of [
    "",
    "abc",
    `${exampleAddress}1`,
    exampleAddress.slice(0, 30),
    "0".repeat(44),
    "1".repeat(31),
    "z".repeat(44),
  ]) {
    expect(isAddress(text)).toBe(false);
    expect(() => addressBytes(text)).toThrow(BadAddress);
  }
  expect(isAddress("1".repeat(32))).toBe(true);
  expect(() => addressBytes("7".repeat(80))).toThrow(/^[^7]*$/);
  expect(() => traderAddress(exampleAddress, { pdaIndex: 256, subaccount: 0 })).toThrow(RangeError);
  expect(() => traderAddress(exampleAddress, { pdaIndex: 0, subaccount: -1 })).toThrow(RangeError);
});
