/**
 * Sign-in by a transaction, from both sides: changes that a wallet may make to the challenge are accepted, all others
 * are refused.
 */
import { base58 } from "@scure/base";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Refusal } from "../../src/simulator/server/sessions.ts";
import { challenge, verifyChallenge } from "../../src/simulator/server/transaction-login.ts";
import { BadChallenge, signChallenge } from "../../src/wallet/transaction.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";

const key = WalletKey.fromSeed(new Uint8Array(32).fill(5));
const other = WalletKey.fromSeed(new Uint8Array(32).fill(6));
const nonce = "nonce-1";
const budget = "ComputeBudget111111111111111111111111111111";
const lighthouse = "L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95";
const unsigned = challenge(key.address, nonce);

interface Instruction {
  readonly program: string;
  /** All accounts of the transaction. */
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

/** The parts of a challenge, parsed independently by this test. */
interface Parts {
  readonly signers: readonly string[];
  readonly readonlySigners: number;
  readonly blockhash: Uint8Array;
  readonly instructions: readonly Instruction[];
}

const original: Parts = (() => {
  const bytes = Buffer.from(unsigned, "base64");
  const [wallet, program] = [bytes.subarray(69, 101), bytes.subarray(101, 133)].map((it) =>
    base58.encode(it),
  );
  const memo = { program: program!, accounts: [wallet!], data: bytes.subarray(170) };
  return {
    signers: [wallet!],
    readonlySigners: 0,
    blockhash: bytes.subarray(133, 165),
    instructions: [memo],
  };
})();

/** Assembles a transaction and signs it without any check. */
function signed(parts: Parts, by: WalletKey = key): string {
  const named = parts.instructions.flatMap((it) => [...it.accounts, it.program]);
  const readOnly = [...new Set(named)].filter((it) => !parts.signers.includes(it));
  const accounts = [...parts.signers, ...readOnly];
  const message = Buffer.concat([
    Buffer.from([parts.signers.length, parts.readonlySigners, readOnly.length, accounts.length]),
    ...accounts.map((it) => base58.decode(it)),
    parts.blockhash,
    Buffer.from([parts.instructions.length]),
    ...parts.instructions.map((it) =>
      Buffer.concat([
        Buffer.from([accounts.indexOf(it.program), it.accounts.length]),
        Buffer.from(it.accounts.map((one) => accounts.indexOf(one))),
        Buffer.from([it.data.length]),
        it.data,
      ]),
    ),
  ]);
  const others = parts.signers.slice(1).map(() => Buffer.alloc(64));
  return Buffer.concat([Buffer.from([parts.signers.length]), by.sign(message), ...others, message]).toString(
    "base64",
  );
}

/** @returns 200, or the status of the refusal */
function outcome(wire: string): number {
  try {
    verifyChallenge(key.address, nonce, wire);
    return 200;
  } catch (error) {
    if (error instanceof Refusal) return error.status;
    throw error;
  }
}

const address = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((it) => base58.encode(it));
const tolerated = fc.record({
  program: fc.constantFrom(budget, lighthouse),
  accounts: fc.array(fc.oneof(address, fc.constant(key.address)), { maxLength: 3 }),
  data: fc.uint8Array({ maxLength: 40 }),
});
/** Some instructions before and after the memo. */
const around = fc.tuple(fc.array(tolerated, { maxLength: 3 }), fc.array(tolerated, { maxLength: 3 }));
const among = ([before, after]: readonly [Instruction[], Instruction[]], parts = original): Parts => ({
  ...parts,
  instructions: [...before, ...parts.instructions, ...after],
});

test("the challenge comes back signed by the client as it was, and is taken", () => {
  expect(outcome(signChallenge(key, unsigned, nonce))).toBe(200);
  expect(signed(original)).toBe(signChallenge(key, unsigned, nonce));
});

test("Compute Budget and Lighthouse instructions are tolerated, at any position", () => {
  fc.assert(
    fc.property(around, (them) => {
      expect(outcome(signed(among(them)))).toBe(200);
    }),
  );
});

const changedData = fc
  .tuple(fc.nat(original.instructions[0]!.data.length - 1), fc.integer({ min: 1, max: 255 }))
  .map(([at, by]) => original.instructions[0]!.data.map((byte, index) => (index === at ? byte ^ by : byte)));
const memoWith = (change: Partial<Instruction>): Parts => ({
  ...original,
  instructions: [{ ...original.instructions[0]!, ...change }],
});
/** Each is a forbidden change, besides the tolerated ones. */
const changes: Readonly<Record<string, fc.Arbitrary<Parts>>> = {
  "a byte of the memo": changedData.map((data) => memoWith({ data })),
  "a longer or shorter memo": fc.tuple(fc.boolean(), fc.nat(255)).map(([longer, byte]) => {
    const { data } = original.instructions[0]!;
    return memoWith({ data: longer ? Uint8Array.of(...data, byte) : data.subarray(0, -1) });
  }),
  "accounts of the memo": fc
    .array(fc.oneof(address, fc.constant(key.address)), { maxLength: 3 })
    .filter((it) => !(it.length === 1 && it[0] === key.address))
    .map((accounts) => memoWith({ accounts })),
  "the blockhash": fc
    .uint8Array({ minLength: 32, maxLength: 32 })
    .filter((it) => !Buffer.from(it).equals(original.blockhash))
    .map((blockhash) => ({ ...original, blockhash })),
  "another program": fc
    .record({ program: address, accounts: fc.constant([]), data: fc.uint8Array({ maxLength: 20 }) })
    .map((it) => ({ ...original, instructions: [...original.instructions, it] })),
  "the memo's program": address.map((program) => memoWith({ program })),
  "a second memo": fc.constant({
    ...original,
    instructions: [original.instructions[0]!, original.instructions[0]!],
  }),
  "no memo": fc.constant({ ...original, instructions: [] }),
  "another signer": address.map((it) => ({ ...original, signers: [key.address, it] })),
  "another fee payer": fc.constant({ ...original, signers: [other.address] }),
  "a wallet that is only read": fc.constant({ ...original, readonlySigners: 1 }),
};

test.each(Object.entries(changes))("%s: refused", (_what, change) => {
  fc.assert(
    fc.property(change, around, (parts, them) => {
      expect([400, 403]).toContain(outcome(signed(among(them, parts))));
    }),
  );
});

test("no byte of what was signed can be changed, whether or not it is signed again", () => {
  const wire = Buffer.from(signChallenge(key, unsigned, nonce), "base64");
  fc.assert(
    fc.property(fc.nat(wire.length - 1), fc.integer({ min: 1, max: 255 }), (at, by) => {
      const changed = Buffer.from(wire);
      changed[at] = changed[at]! ^ by;
      expect([400, 403]).toContain(outcome(changed.toString("base64")));
      if (at < 65) return;
      key.sign(changed.subarray(65)).forEach((byte, index) => {
        changed[1 + index] = byte;
      });
      expect([400, 403]).toContain(outcome(changed.toString("base64")));
    }),
    { numRuns: 500 },
  );
});

test("it is refused when cut, extended, or signed by another key", () => {
  const wire = Buffer.from(signChallenge(key, unsigned, nonce), "base64");
  for (let length = 0; length < wire.length; length++)
    expect(outcome(wire.subarray(0, length).toString("base64")), String(length)).toBe(400);
  expect(outcome(Buffer.concat([wire, Buffer.of(0)]).toString("base64"))).toBe(400);
  expect(outcome(`${wire.toString("base64")} `)).toBe(400);
  expect(outcome(unsigned)).toBe(403);
  expect(outcome(signed(original, other))).toBe(403);
  expect(() => verifyChallenge(key.address, "nonce-2", signed(original))).toThrow(Refusal);
});

/** A transaction that a malicious exchange might ask the client to sign. */
const ask = (parts: Parts): string => {
  const wire = Buffer.from(signed(parts), "base64");
  return wire.fill(0, 1, 1 + 64 * wire[0]!).toString("base64");
};
const units = (count: number) => Buffer.concat([Buffer.of(2), u32(count)]);
const price = (microLamports: bigint) => {
  const bytes = Buffer.alloc(9, 3);
  bytes.writeBigUInt64LE(microLamports, 1);
  return bytes;
};
const u32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const free = fc.oneof(
  fc.record({
    program: fc.constant(budget),
    accounts: fc.constant([]),
    data: fc.constantFrom(units(20_000), price(0n), Buffer.concat([Buffer.of(4), u32(99)])),
  }),
  fc.record({
    program: fc.constant(lighthouse),
    accounts: fc.array(address, { maxLength: 2 }),
    data: fc.uint8Array({ minLength: 1, maxLength: 20 }).map((it) => Uint8Array.of(2 + (it[0]! % 10), ...it)),
  }),
);

test("the client signs a memo with the same beside it, and nothing that would cost or do more", () => {
  const some = fc.tuple(fc.array(free, { maxLength: 3 }), fc.array(free, { maxLength: 3 }));
  fc.assert(
    fc.property(some, (them) => {
      expect(outcome(signChallenge(key, ask(among(them)), nonce))).toBe(200);
    }),
  );
  const beside = (program: string, data: Uint8Array) => ask(among([[{ program, accounts: [], data }], []]));
  const refused: [string, RegExp][] = [
    [beside(budget, price(2n ** 63n)), /preferred/],
    [beside(budget, price(1n)), /preferred/],
    [beside(budget, Buffer.of(0, ...u32(1), ...u32(1))), /no budget/],
    [beside(budget, Buffer.of()), /no budget/],
    [beside(lighthouse, Buffer.of(0, 1)), /more than leave a memo/],
    [beside(lighthouse, Buffer.of()), /more than leave a memo/],
    [beside("11111111111111111111111111111111", Buffer.of(2, 0, 0, 0)), /more than leave a memo/],
    [ask(changesOf("another signer")), /one signature|one signer/],
    [ask(changesOf("another fee payer")), /fee payer/],
    [ask(changesOf("no memo")), /no memo/],
    [ask(changesOf("a second memo")), /more than one memo/],
    [ask(changesOf("a wallet that is only read")), /one signer/],
  ];
  for (const [wire, message] of refused) {
    expect(() => signChallenge(key, wire, nonce)).toThrow(BadChallenge);
    expect(() => signChallenge(key, wire, nonce)).toThrow(message);
  }
});

const changesOf = (name: string): Parts => fc.sample(changes[name]!, { numRuns: 1, seed: 1 })[0]!;

test("the client never signs another program's instruction, at any place", () => {
  const known = [budget, lighthouse, original.instructions[0]!.program];
  const foreign = fc.record({
    program: address.filter((it) => !known.includes(it)),
    accounts: fc.array(address, { maxLength: 2 }),
    data: fc.uint8Array({ maxLength: 30 }),
  });
  const some = fc.tuple(fc.array(free, { maxLength: 2 }), fc.array(free, { maxLength: 2 }));
  fc.assert(
    fc.property(foreign, some, fc.boolean(), (one, [before, after], first) => {
      const them: [Instruction[], Instruction[]] = first
        ? [[one, ...before], after]
        : [before, [...after, one]];
      expect(() => signChallenge(key, ask(among(them)), nonce)).toThrow(BadChallenge);
    }),
  );
});
