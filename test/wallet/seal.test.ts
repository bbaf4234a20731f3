import { expect, test } from "vitest";
import { open as openWith, SealBroken, seal as sealWith, sessionInfo } from "../../src/wallet/seal.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { exampleKey } from "./example.ts";

const seal = (key: WalletKey, value: unknown, nonce?: Uint8Array) =>
  sealWith(key.deriveKey(sessionInfo), key.address, value, nonce);
const open = (key: WalletKey, sealed: Uint8Array) =>
  openWith(key.deriveKey(sessionInfo), key.address, sealed);
const session = { access_token: "a.b.c", refresh_token: "r-1", expires_in: 900, note: "μ" };

test("what a wallet sealed it opens again", () => {
  expect(open(exampleKey, seal(exampleKey, session))).toEqual(session);
  expect(open(exampleKey, seal(exampleKey, null))).toBeNull();
});

test("sealed bytes show nothing, and differ each time unless the nonce is handed in", () => {
  const sealed = seal(exampleKey, session);
  expect(Buffer.from(sealed).toString("latin1")).not.toContain("a.b.c");
  expect(Buffer.from(sealed).equals(seal(exampleKey, session))).toBe(false);
  const nonce = new Uint8Array(12).fill(3);
  expect(Buffer.from(seal(exampleKey, session, nonce)).equals(seal(exampleKey, session, nonce))).toBe(true);
  expect(() => seal(exampleKey, session, new Uint8Array(11))).toThrow(RangeError);
  expect(() => seal(exampleKey, undefined)).toThrow(TypeError);
});

test("a change of any byte, a cut and an addition break it", () => {
  const sealed = seal(exampleKey, session);
  for (let i = 0; i < sealed.length; i += 1) {
    const changed = Uint8Array.from(sealed);
    changed[i]! ^= 1;
    expect(() => open(exampleKey, changed)).toThrow(SealBroken);
  }
  for (const cut of [0, 1, 28, sealed.length - 1]) {
    expect(() => open(exampleKey, sealed.subarray(0, cut))).toThrow(SealBroken);
  }
  expect(() => open(exampleKey, Uint8Array.from([...sealed, 0]))).toThrow(SealBroken);
});

test("another wallet cannot open it", () => {
  const other = WalletKey.fromSeed(new Uint8Array(32).fill(1));
  expect(() => open(other, seal(exampleKey, session))).toThrow(SealBroken);
});
