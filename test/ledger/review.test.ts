/** Instructions from the exchange are refused unless they equal the request, to the byte. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Instruction } from "../../src/contract/index.ts";
import {
  activationInstructions,
  type ExchangeAccounts,
  InstructionsRefused,
  plainInstructions,
  reviewRegistration,
  reviewTransaction,
} from "../../src/ledger/review.ts";
import { addressOf } from "../../src/wallet/address.ts";
import { assembleTransaction } from "../../src/wallet/ledger-transaction.ts";
import { example } from "../contract/example.ts";

// biome-ignore lint/suspicious/noExplicitAny: the examples are JSON of every shape
type Json = any;
const json = (name: string): Json => example(name);

const accounts = json("exchange-keys") as ExchangeAccounts;
const answer = json("build-register-response");
const { traderAuthority: authority } = json("build-register-request");
const given: Instruction[] = answer.instructions;
const asked = { authority, feePayer: authority, maxPositions: 128, registered: false, accounts };
const blockhash = addressOf(new Uint8Array(32).fill(3));

test("the exchange's own registration passes, with its signers", () => {
  const reviewed = reviewRegistration(given, asked);
  expect(reviewed.signers).toEqual([authority, answer.traderOnboarder]);
  expect(reviewed.instructions.map((it) => it.kind)).toEqual(["register", "onboard"]);
  const onlyOnboarding = reviewRegistration([given[1]!], { ...asked, registered: true });
  expect(onlyOnboarding.instructions.map((it) => it.kind)).toEqual(["onboard"]);
});

test("an activation is built alike, and signed by the wallet whoever pays", () => {
  const permission = { onboarder: answer.traderOnboarder, account: given[1]!.keys[4]!.pubkey };
  expect(activationInstructions(asked, permission)).toEqual(reviewRegistration(given, asked));
  const payer = addressOf(new Uint8Array(32).fill(4));
  const paid = activationInstructions({ ...asked, feePayer: payer }, permission);
  expect(paid.signers).toEqual([payer, answer.traderOnboarder, authority]);
});

const key = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(addressOf);
type Change = (all: Instruction[]) => Instruction[];
const edited = (all: Instruction[], at: number, change: (one: Instruction) => Instruction) =>
  all.map((one, index) => (index === at % all.length ? change(one) : one));
/** The exchange names onboarder and permission account; every other account is known. */
const isFree = (instruction: Instruction, at: number) =>
  instruction.data[0] === given[1]!.data[0] && (at === 3 || at === 4);

const changes: Readonly<Record<string, fc.Arbitrary<Change>>> = {
  "a byte of the data": fc.tuple(fc.nat(1), fc.nat(), fc.integer({ min: 1, max: 255 })).map(
    ([which, at, by]) =>
      (all) =>
        edited(all, which, (one) => ({
          ...one,
          data: one.data.map((byte, index) => (index === at % one.data.length ? byte ^ by : byte)),
        })),
  ),
  "longer or shorter data": fc.tuple(fc.nat(1), fc.boolean()).map(
    ([which, longer]) =>
      (all) =>
        edited(all, which, (one) => ({ ...one, data: longer ? [...one.data, 0] : one.data.slice(0, -1) })),
  ),
  "another account": fc.tuple(fc.nat(1), fc.nat(), key).map(
    ([which, at, pubkey]) =>
      (all) =>
        edited(all, which, (one) => {
          const place = isFree(one, at % one.keys.length) ? 5 : at % one.keys.length;
          return { ...one, keys: one.keys.map((it, index) => (index === place ? { ...it, pubkey } : it)) };
        }),
  ),
  "other rights": fc
    .tuple(fc.nat(1), fc.nat(), fc.constantFrom("isSigner" as const, "isWritable" as const))
    .map(
      ([which, at, right]) =>
        (all) =>
          edited(all, which, (one) => ({
            ...one,
            keys: one.keys.map((it, index) =>
              index === at % one.keys.length ? { ...it, [right]: !it[right] } : it,
            ),
          })),
    ),
  "one account more": fc
    .tuple(fc.nat(1), fc.oneof(key, fc.constant(authority as string)), fc.boolean(), fc.boolean())
    .map(
      ([which, pubkey, isSigner, isWritable]) =>
        (all) =>
          edited(all, which, (one) => ({ ...one, keys: [...one.keys, { pubkey, isSigner, isWritable }] })),
    ),
  "one account less": fc.tuple(fc.nat(1), fc.nat()).map(
    ([which, at]) =>
      (all) =>
        edited(all, which, (one) => ({
          ...one,
          keys: one.keys.filter((_, index) => index !== at % one.keys.length),
        })),
  ),
  "another program": fc.tuple(fc.nat(1), key).map(
    ([which, programId]) =>
      (all) =>
        edited(all, which, (one) => ({ ...one, programId })),
  ),
  "another order": fc.constant((all) => all.toReversed()),
  "one instruction more": fc.tuple(fc.nat(2), key).map(
    ([at, programId]) =>
      (all) =>
        all.toSpliced(at, 0, {
          programId,
          keys: [{ pubkey: authority, isSigner: true, isWritable: true }],
          data: [2],
        }),
  ),
  "one instruction less": fc.nat(1).map((at) => (all) => all.toSpliced(at, 1)),
  "an onboarder or a permission account of ours": fc
    .tuple(fc.constantFrom(3, 4), fc.constantFrom(authority as string, answer.traderPda as string))
    .map(
      ([place, pubkey]) =>
        (all) =>
          edited(all, 1, (one) => ({
            ...one,
            keys: one.keys.map((it, index) => (index === place ? { ...it, pubkey } : it)),
          })),
    ),
};

describe("refused", () => {
  test.each(Object.entries(changes))("%s", (_what, change) => {
    fc.assert(
      fc.property(change, (apply) => {
        expect(() => reviewRegistration(apply(given), asked)).toThrow(InstructionsRefused);
      }),
    );
  });

  test("what was asked for otherwise", () => {
    const other = addressOf(new Uint8Array(32).fill(6));
    for (const more of [
      { authority: other },
      { feePayer: other },
      { maxPositions: 64 },
      { registered: true },
      { accounts: { ...accounts, globalConfig: other } },
    ])
      expect(() => reviewRegistration(given, { ...asked, ...more })).toThrow(InstructionsRefused);
    expect(() => reviewRegistration([], { ...asked, registered: true })).toThrow(InstructionsRefused);
  });

  test("accounts of the exchange that are ours, or no address", () => {
    const permission = { onboarder: answer.traderOnboarder, account: given[1]!.keys[4]!.pubkey };
    const build = (more: Partial<ExchangeAccounts>, by = permission) =>
      activationInstructions({ ...asked, accounts: { ...accounts, ...more } }, by);
    expect(() => build({ globalTraderIndex: [authority] })).toThrow(
      /global trader index 0 is .* wallet's own/,
    );
    expect(() => build({ activeTraderBuffer: [answer.traderPda] })).toThrow(/active trader buffer 0/);
    expect(() => build({ globalConfig: "nowhere" })).toThrow(/global configuration is no address/);
    expect(() => build({}, { ...permission, account: authority })).toThrow(/permission account/);
    expect(() => build({}, { ...permission, onboarder: authority })).toThrow(/onboarder/);
    expect(() => build({}, { ...permission, account: "11111111111111111111111111111111" })).toThrow(
      /program/,
    );
  });

  test("a transaction whose bytes are something else", () => {
    const reviewed = reviewRegistration(given, asked);
    const instructions = plainInstructions(reviewed);
    const whole = { feePayer: authority, blockhash, instructions };
    expect(() => reviewTransaction(assembleTransaction(whole), reviewed)).not.toThrow();
    const other = addressOf(new Uint8Array(32).fill(6));
    const extra = { programId: other, accounts: [], data: new Uint8Array() };
    const writes = {
      ...instructions[0]!,
      accounts: instructions[0]!.accounts.map((it, index) =>
        index === 2 ? { ...it, isWritable: true } : it,
      ),
    };
    for (const [change, said] of [
      [{ feePayer: other }, /would pay the fee/],
      [{ instructions: [...instructions, extra] }, /3 instructions instead of 2/],
      [{ instructions: instructions.toReversed() }, /instruction 1 \(register\)/],
      [{ instructions: [writes, instructions[1]!] }, /would be written/],
    ] as const)
      expect(() => reviewTransaction(assembleTransaction({ ...whole, ...change }), reviewed)).toThrow(said);
  });
});
