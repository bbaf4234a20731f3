import fc from "fast-check";
import { expect, test } from "vitest";
import { addressOf } from "../../src/wallet/address.ts";
import {
  assembleTransaction,
  BadTransaction,
  brokenSignatures,
  type LedgerInstruction,
  missingSigners,
  readTransaction,
  signatureOf,
  signTransaction,
} from "../../src/wallet/ledger-transaction.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { exampleRecord } from "./example.ts";

const keyOf = (seed: number) => WalletKey.fromSeed(new Uint8Array(32).fill(seed));
const [payer, other, stranger] = [keyOf(1), keyOf(2), keyOf(3)];
const blockhash = addressOf(new Uint8Array(32).fill(9));
const program = addressOf(new Uint8Array(32).fill(7));
const place = addressOf(new Uint8Array(32).fill(8));

const instruction: LedgerInstruction = {
  programId: program,
  accounts: [
    { pubkey: payer.address, isSigner: true, isWritable: true },
    { pubkey: other.address, isSigner: true, isWritable: false },
    { pubkey: place, isSigner: false, isWritable: true },
  ],
  data: Uint8Array.of(1, 2, 3),
};
const assembled = () =>
  assembleTransaction({ feePayer: payer.address, blockhash, instructions: [instruction] });

test("an assembled transaction is parsed again, and signed by the required signers", () => {
  const unsigned = assembled();
  expect(unsigned).toMatchObject({ version: 0, feePayer: payer.address, blockhash });
  expect(unsigned.instructions).toEqual([instruction]);
  expect(missingSigners(unsigned)).toEqual([payer.address, other.address]);
  expect(signatureOf(unsigned)).toBeNull();
  const half = signTransaction(unsigned, other);
  expect(missingSigners(half)).toEqual([payer.address]);
  const signed = signTransaction(half, payer);
  expect(missingSigners(signed)).toEqual([]);
  expect(brokenSignatures(signed)).toEqual([]);
  expect(signatureOf(signed)).toBe(addressOf(payer.sign(unsigned.message)));
  expect(readTransaction(signed.wire)).toEqual(signed);
  expect(() => signTransaction(unsigned, stranger)).toThrow(/does not have to sign/);
});

test("the widest rights of an account count", () => {
  const read = { ...instruction, accounts: [{ pubkey: place, isSigner: false, isWritable: false }] };
  const { instructions } = assembleTransaction({
    feePayer: payer.address,
    blockhash,
    instructions: [read, instruction],
  });
  expect(instructions[0]!.accounts).toEqual([{ pubkey: place, isSigner: false, isWritable: true }]);
});

test("a legacy transaction made elsewhere is read", () => {
  const wire = exampleRecord("auth-login-transaction-request").signed_transaction!;
  const read = readTransaction(wire);
  expect(read).toMatchObject({ version: "legacy" });
  expect(read.instructions).toHaveLength(1);
  expect(brokenSignatures(read)).toEqual([]);
});

test("invalid bytes are not accepted as a transaction", () => {
  const bytes = Buffer.from(signTransaction(signTransaction(assembled(), payer), other).wire, "base64");
  for (const wire of ["", "***", "AQID", bytes.toString("base64url")])
    expect(() => readTransaction(wire)).toThrow(BadTransaction);
  const cut = fc.integer({ min: 1, max: bytes.length - 1 });
  fc.assert(
    fc.property(cut, (length) => {
      expect(() => readTransaction(bytes.subarray(0, length).toString("base64"))).toThrow(BadTransaction);
    }),
  );
  expect(() => readTransaction(Buffer.concat([bytes, Buffer.of(0)]).toString("base64"))).toThrow(
    BadTransaction,
  );
  // Any changed byte is refused, or breaks a signature.
  const change = fc.tuple(fc.integer({ min: 0, max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 }));
  fc.assert(
    fc.property(change, ([at, by]) => {
      const changed = Buffer.from(bytes);
      changed[at] = changed[at]! ^ by;
      let read: ReturnType<typeof readTransaction>;
      try {
        read = readTransaction(changed.toString("base64"));
      } catch (error) {
        expect(error).toBeInstanceOf(BadTransaction);
        return;
      }
      expect(brokenSignatures(read).length).toBeGreaterThan(0);
    }),
    { numRuns: 400 },
  );
});

test("what the ledger would refuse is not assembled", () => {
  const long = { ...instruction, data: new Uint8Array(1_200) };
  const whole = { feePayer: payer.address, blockhash };
  expect(() => assembleTransaction({ ...whole, instructions: [long] })).toThrow(/the ledger takes 1232/);
  expect(() => assembleTransaction({ ...whole, feePayer: "x", instructions: [] })).toThrow(BadTransaction);
  expect(() => assembleTransaction({ ...whole, blockhash: "x", instructions: [] })).toThrow(BadTransaction);
});

test("bytes without a required signer are not a transaction", () => {
  for (const bytes of [Buffer.alloc(38), Buffer.from([0, 0, 0, 0, 1, ...new Uint8Array(65), 0])])
    expect(() => readTransaction(bytes.toString("base64"))).toThrow(BadTransaction);
});
