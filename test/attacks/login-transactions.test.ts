/**
 * Login transactions that an exchange changed: what is signed is, read by a parser of other authors, one memo that names the
 * challenge, and beside it nothing that costs or does anything.
 */
import { createPublicKey, verify } from "node:crypto";
import { base58 } from "@scure/base";
import {
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getTransactionEncoder,
} from "@solana/kit";
import { expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import { BadChallenge, signChallenge } from "../../src/wallet/transaction.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { exampleAddress, exampleKey } from "../wallet/example.ts";
import { inputs, Meter, report, seed } from "./measure.ts";

const random = seededRandom(seed);
const whole = (below: number) => Math.floor(random() * below);
const pick = <T>(list: readonly T[]): T => list[whole(list.length)]!;
const bytes = (length: number) => Buffer.from(Array.from({ length }, () => whole(256)));

const wallet = Buffer.from(base58.decode(exampleAddress));
const programs = {
  memo: "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
  oldMemo: "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
  budget: "ComputeBudget111111111111111111111111111111",
  lighthouse: "L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95",
  system: "11111111111111111111111111111111",
  token: "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
  exchange: "EtrnLzgbS7nMMy5fbD42kXiUzGg8XQzJ972Xtk1cjWih",
} as const;
const nonceId = "a1b2c3d4-0000-4000-8000-00000000abcd";
const stranger = Buffer.from(base58.decode(WalletKey.fromSeed(new Uint8Array(32).fill(7)).address));

interface Instruction {
  readonly program: string;
  readonly accounts: readonly Uint8Array[];
  readonly data: Uint8Array;
}

const memoTexts = [
  `exchange sign-in:${nonceId}`,
  `perpwatch-example-challenge:${nonceId}`,
  `${nonceId}`,
  `Sign in\nnonce: ${nonceId} ✓`,
];
const badMemos = [
  "",
  nonceId.slice(1),
  `transfer ${nonceId}\u0000`,
  `\u202e${nonceId}`,
  "sign-in:nonce-0002",
];
const u32 = (kind: number) => Buffer.concat([Buffer.of(kind), bytes(4)]);
const price = (value: bigint) => {
  const data = Buffer.alloc(9, 3);
  data.writeBigUInt64LE(value, 1);
  return data;
};

const free = (): Instruction =>
  pick([
    { program: programs.budget, accounts: [], data: u32(pick([1, 2, 4])) },
    { program: programs.budget, accounts: [], data: price(0n) },
    {
      program: programs.lighthouse,
      accounts: pick([[], [wallet], [stranger, wallet]]),
      data: Buffer.concat([Buffer.of(2 + whole(14)), bytes(whole(20))]),
    },
  ]);

const hostile = (): Instruction =>
  pick([
    { program: programs.budget, accounts: [], data: price(pick([1n, 70_000n, 2n ** 40n, 2n ** 64n - 1n])) },
    { program: programs.budget, accounts: [], data: bytes(whole(12)) },
    { program: programs.lighthouse, accounts: [wallet], data: Buffer.of(whole(2), 1, 2) },
    { program: programs.lighthouse, accounts: [], data: Buffer.of() },
    // A transfer of lamports, one of tokens, an order.
    {
      program: programs.system,
      accounts: [wallet, stranger],
      data: Buffer.of(2, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0),
    },
    {
      program: programs.token,
      accounts: [stranger, stranger, wallet],
      data: Buffer.of(3, 1, 0, 0, 0, 0, 0, 0, 0),
    },
    { program: programs.exchange, accounts: [wallet], data: bytes(16) },
    {
      program: pick([programs.memo, programs.oldMemo]),
      accounts: [wallet],
      data: Buffer.from(pick(memoTexts)),
    },
    { program: base58.encode(bytes(32)), accounts: [], data: bytes(4) },
  ]);

/** A compact-u16; `padded`: in more bytes than it takes. */
function count(value: number, padded = false): Buffer {
  const out: number[] = [];
  let left = value;
  while (left >= 0x80) {
    out.push((left & 0x7f) | 0x80);
    left >>= 7;
  }
  out.push(left);
  return padded ? Buffer.from([...out.slice(0, -1), out.at(-1)! | 0x80, 0]) : Buffer.from(out);
}

/** A transaction, plain or with something changed in its structure. */
function transaction(): Buffer {
  const isPlain = random() < 0.4;
  const chance = (share: number) => !isPlain && random() < share;
  const memoAccounts = chance(0.08) ? [stranger] : pick([[], [wallet]]);
  const instructions: Instruction[] = [
    {
      program: pick([programs.memo, programs.oldMemo]),
      accounts: memoAccounts,
      data: chance(0.1) ? Buffer.from(pick(badMemos)) : Buffer.from(pick(memoTexts)),
    },
  ];
  if (random() < 0.6)
    for (let more = whole(4); more > 0; more--)
      instructions.splice(whole(instructions.length + 1), 0, free());
  if (chance(0.3)) instructions.splice(whole(instructions.length + 1), 0, hostile());
  if (chance(0.03)) instructions.splice(0, 1);
  const signers = chance(0.05) ? [wallet, stranger] : chance(0.05) ? [stranger, wallet] : [wallet];
  const accounts: Uint8Array[] = [...signers];
  const indexOf = (account: Uint8Array) => {
    const known = accounts.findIndex((one) => Buffer.compare(one, account) === 0);
    if (known >= 0 && !chance(0.03)) return known;
    return accounts.push(account) - 1;
  };
  const written = instructions.map(({ program, accounts: used, data }) => {
    const program32 = Buffer.from(base58.decode(program));
    const indices = [...used.map(indexOf), ...(chance(0.02) ? [whole(256)] : [])];
    return Buffer.concat([
      Buffer.of(chance(0.02) ? whole(256) : indexOf(program32)),
      count(indices.length, chance(0.02)),
      Buffer.from(indices),
      count(data.length, chance(0.02)),
      data,
    ]);
  });
  if (chance(0.03)) accounts.reverse();
  if (chance(0.03)) accounts.push(...Array.from({ length: whole(30) }, () => bytes(32)));
  const header = [signers.length, 0, chance(0.05) ? whole(256) : whole(accounts.length - signers.length + 1)];
  if (chance(0.03)) header[1] = whole(3);
  if (chance(0.03)) header[0] = whole(4);
  const asked = chance(0.03) ? whole(4) : signers.length;
  const version = chance(0.05) ? [Buffer.of(0x80 | whole(pick([1, 2, 128])))] : [];
  const lookups = version.length > 0 ? [count(whole(2)), bytes(pick([0, 34]))] : [];
  return Buffer.concat([
    count(asked, chance(0.02)),
    ...Array.from({ length: asked }, () => (chance(0.2) ? bytes(64) : Buffer.alloc(64))),
    ...version,
    Buffer.from(header),
    count(accounts.length, chance(0.02)),
    ...accounts,
    bytes(32),
    count(written.length, chance(0.02)),
    ...written,
    ...lookups,
  ]);
}

/** The bytes themselves, changed. */
function garbled(wire: Buffer): Buffer {
  const at = whole(wire.length);
  switch (whole(7)) {
    case 0: {
      const flipped = Buffer.from(wire);
      flipped[at]! ^= 1 << whole(8);
      return flipped;
    }
    case 1:
      return wire.subarray(0, at);
    case 2:
      return Buffer.concat([wire, bytes(1 + whole(3))]);
    case 3:
      return Buffer.concat([wire.subarray(0, at), bytes(1 + whole(2)), wire.subarray(at)]);
    case 4:
      return Buffer.concat([wire.subarray(0, at), wire.subarray(at + 1 + whole(3))]);
    case 5: {
      const other = transaction();
      return Buffer.concat([wire.subarray(0, at), other.subarray(Math.min(at, other.length))]);
    }
    default: {
      const flipped = Buffer.from(wire);
      flipped[65 + whole(Math.max(1, wire.length - 65))] = pick([0, 1, 2, 0x7f, 0x80, 0xff]);
      return flipped;
    }
  }
}

const publicKey = createPublicKey({
  key: { kty: "OKP", crv: "Ed25519", x: wallet.toString("base64url") },
  format: "jwk",
});

/** The reasons why a signed transaction is not the allowed form; empty: it is. */
function faults(unsigned: Buffer, signed: string): string[] {
  const wire = Buffer.from(signed, "base64");
  const found: string[] = [];
  const hold = (condition: boolean, fault: string) => void (condition || found.push(fault));
  hold(wire.subarray(65).equals(unsigned.subarray(65)), "the message was changed");
  const decoded = getTransactionDecoder().decode(wire);
  hold(Buffer.from(getTransactionEncoder().encode(decoded)).equals(wire), "not written in the canonical way");
  const message = getCompiledTransactionMessageDecoder().decode(decoded.messageBytes);
  if (message.version !== "legacy") return [...found, "not a legacy transaction"];
  const { header, staticAccounts, instructions } = message;
  hold(header.numSignerAccounts === 1 && header.numReadonlySignerAccounts === 0, "another number of signers");
  hold(header.numReadonlyNonSignerAccounts < staticAccounts.length, "more accounts only read than listed");
  hold(Object.keys(decoded.signatures).join() === exampleAddress, "another signer");
  hold(staticAccounts[0] === exampleAddress, "another fee payer");
  hold(new Set(staticAccounts).size === staticAccounts.length, "an account twice");
  const signature = decoded.signatures[exampleAddress as keyof typeof decoded.signatures];
  hold(signature !== undefined && signature !== null, "no signature");
  if (signature)
    hold(verify(null, Buffer.from(decoded.messageBytes), publicKey, signature), "a signature that fails");
  let memos = 0;
  for (const { programAddressIndex, accountIndices = [], data = new Uint8Array() } of instructions) {
    const program = staticAccounts[programAddressIndex];
    hold(
      accountIndices.every((index) => index < staticAccounts.length),
      "an account that is not listed",
    );
    if (program === programs.memo || program === programs.oldMemo) {
      memos++;
      const text = new TextDecoder("utf-8", { fatal: true }).decode(data as Uint8Array);
      hold(
        text.includes(nonceId) &&
          /^[^\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\u2028\u2029]*$/u.test(text.replaceAll("\n", "")),
        "another memo",
      );
      hold(
        accountIndices.every((index) => index === 0),
        "a memo of another account",
      );
    } else if (program === programs.budget) {
      const [kind] = data;
      const isLimit = kind !== undefined && [1, 2, 4].includes(kind) && data.length === 5;
      hold(isLimit || Buffer.from(data).equals(price(0n)), "a budget that costs");
    } else hold(program === programs.lighthouse && data.length > 0 && data[0]! >= 2, `program ${program}`);
  }
  hold(memos === 1, `${memos} memos`);
  return found;
}

const many = inputs(20_000, 1_000_000);
test(`whatever is signed of ${many} changed login transactions is a memo (seed ${seed})`, {
  timeout: 3_600_000,
}, () => {
  const meter = new Meter();
  for (let index = 0; index < many; index++) {
    let wire = transaction();
    if (random() < 0.5)
      for (let more = 1 + whole(3); more > 0 && wire.length > 0; more--) wire = garbled(wire);
    const unsigned = wire.toString("base64");
    const signed = meter.try(
      () => signChallenge(exampleKey, unsigned, nonceId),
      (error) => error instanceof BadChallenge,
    );
    if (signed === undefined) continue;
    const found = faults(wire, signed);
    if (found.length > 0) expect(found, `${unsigned} (input ${index})`).toEqual([]);
  }
  report(meter.row("login transactions"));
  expect(meter.accepted).toBeGreaterThan(many / 20);
  expect(meter.refused).toBeGreaterThan(many / 20);
  expect(meter.longestMs).toBeLessThan(1_000);
});
