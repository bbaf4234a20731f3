import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  discriminants,
  instructionNames,
  instructionRecord,
  kindOf,
  onboardInstruction,
  readOnboard,
  readRegister,
  readStopLoss,
  registerInstruction,
  stopLossInstruction,
} from "../../src/contract/index.ts";
import { logAuthority } from "../../src/wallet/address.ts";
import { example } from "./example.ts";

// biome-ignore lint/suspicious/noExplicitAny: the examples are JSON of every shape
type Json = any;
const json = (name: string): Json => example(name);

const keys = json("exchange-keys");
const answer = json("build-register-response");
const [register, onboard] = answer.instructions;
const common = { logAuthority: logAuthority(), globalConfig: keys.globalConfig };
const authority = json("build-register-request").traderAuthority as string;

test("discriminants are hashes of the instructions' names", () => {
  for (const [kind, name] of Object.entries(instructionNames)) {
    const hash = createHash("sha256").update(name).digest("hex").slice(0, 16);
    expect(discriminants[kind as keyof typeof discriminants], kind).toBe(hash);
  }
});

test("register and onboarding come out as the exchange builds them", () => {
  expect(
    instructionRecord(
      registerInstruction({
        ...common,
        payer: authority,
        authority,
        traderAccount: answer.traderPda,
        maxPositions: 128,
      }),
    ),
  ).toEqual(register);
  const parts = {
    ...common,
    traderOnboarder: answer.traderOnboarder,
    permissionAccount: onboard.keys[4].pubkey,
    traderAccount: answer.traderPda,
    globalTraderIndex: keys.globalTraderIndex,
    activeTraderBuffer: keys.activeTraderBuffer,
  };
  expect(instructionRecord(onboardInstruction(parts))).toEqual(onboard);
  expect(instructionRecord(onboardInstruction({ ...parts, cosigner: authority })).keys.at(-1)).toEqual({
    pubkey: authority,
    isSigner: true,
    isWritable: false,
  });
});

test("what was written is read again", () => {
  expect(readRegister(Uint8Array.from(register.data))).toEqual({
    maxPositions: 128,
    preferences: 0,
    pdaIndex: 0,
    subaccount: 0,
  });
  expect(readOnboard(Uint8Array.from(onboard.data))?.map((it) => it.target)).toEqual([0, 1, 3, 2, 4, 5]);
  const u64 = fc.bigInt(0n, 2n ** 64n - 1n);
  const order = fc.record({
    triggerTicks: u64,
    executionTicks: u64,
    baseLots: u64,
    side: fc.constantFrom("bid" as const, "ask" as const),
    direction: fc.constantFrom("above" as const, "below" as const),
    kind: fc.constantFrom("ioc" as const, "limit" as const),
  });
  const parts = {
    ...common,
    ...{ funder: authority, traderAccount: authority, perpAssetMap: authority, orderbook: authority },
    ...{ globalTraderIndex: [authority], activeTraderBuffer: [authority], spline: authority },
    ...{ positionAuthority: authority, stopLossAccount: authority },
  };
  fc.assert(
    fc.property(order, (it) => {
      const { data } = stopLossInstruction({ ...parts, order: it });
      expect(readStopLoss(data)).toEqual(it);
      expect(readStopLoss(data.subarray(0, 34))).toBeNull();
    }),
  );
});

test("bytes that are something else are read as nothing", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      expect([readRegister(bytes), readOnboard(bytes), readStopLoss(bytes)]).toEqual([null, null, null]);
      expect(kindOf(bytes)).toBeNull();
    }),
  );
  const short = Uint8Array.from(onboard.data.slice(0, -1));
  expect(readOnboard(short)).toBeNull();
});
