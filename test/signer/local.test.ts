/** Acts of a signer: each is signed as requested or refused, whatever its client states. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { base58 } from "@scure/base";
import { describe, expect, test } from "vitest";
import { plainInstructions, type Reviewed } from "../../src/ledger/review.ts";
import {
  allowedOnboarding,
  allowedStopLoss,
  type OnboardingRequest,
  type StopLossRequest,
} from "../../src/ledger/signing.ts";
import { localSigner, type SignatureEntry } from "../../src/signer/local.ts";
import { LoginForms, memoryForms } from "../../src/signer/login-forms.ts";
import { type SigningAct, SigningRefused, signingAct } from "../../src/signer/signer.ts";
import { verifyBytes } from "../../src/wallet/ed25519.ts";
import {
  assembleTransaction,
  brokenSignatures,
  type LedgerInstruction,
  missingSigners,
  readTransaction,
} from "../../src/wallet/ledger-transaction.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";

const keyOf = (byte: number) => WalletKey.fromSeed(new Uint8Array(32).fill(byte));
const wallet = keyOf(71);
const payer = keyOf(72);
const [a1, a2, a3, a4, a5, a6] = [1, 2, 3, 4, 5, 6].map((byte) => keyOf(byte).address) as [
  string,
  string,
  string,
  string,
  string,
  string,
];
const blockhash = keyOf(7).address;
const nowMs = Date.parse("2026-03-01T12:00:00Z");

function signer(key = wallet, machineMs: number | null = null) {
  const entries: SignatureEntry[] = [];
  const forms = new LoginForms({
    store: memoryForms(),
    baseUrl: "https://perp-api.phoenix.trade",
    domain: null,
  });
  const made = localSigner(key, {
    forms,
    nowMs: machineMs === null ? null : () => machineMs,
    onSignature: (entry) => void entries.push(entry),
  });
  return { made, entries };
}

const text = (nonce = "a1b2c3d4") => `Sign in to the exchange\nwallet:${wallet.address}\nnonce:${nonce}`;
const loginAct = (more: object = {}): SigningAct =>
  ({ kind: "login text", text: text(), nonceId: "n-1", nowMs, ...more }) as SigningAct;

describe("a login text", () => {
  test("is signed unchanged, and recorded with its hash", async () => {
    const { made, entries } = signer();
    const signature = base58.decode(await made.sign(loginAct()));
    expect(verifyBytes(base58.decode(wallet.address), new TextEncoder().encode(text()), signature)).toBe(
      true,
    );
    expect(entries).toEqual([
      {
        act: "login text",
        wallet: wallet.address,
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        refused: null,
      },
    ]);
  });

  test("of another form is refused, and recorded with the reason", async () => {
    const { made, entries } = signer();
    await made.sign(loginAct());
    const refused = await made
      .sign(loginAct({ text: `${text()}\nand everything else` }))
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(SigningRefused);
    expect(refused).toMatchObject({
      message: expect.stringContaining("another form"),
      see: "perpwatch wallet trust",
    });
    expect(entries.map((entry) => entry.refused !== null)).toEqual([false, true]);
    expect(new Set(entries.map(({ hash }) => hash)).size).toBe(2);
  });

  test.each([
    [-6, "behind"],
    [6, "ahead"],
  ])(
    "for an exchange %i min from the machine's time is refused, with the difference",
    async (minutes, side) => {
      const machineMs = nowMs + minutes * 60_000;
      await expect(signer(wallet, machineMs).made.sign(loginAct())).rejects.toThrow(
        `differ by 6m (this machine's is ${side})`,
      );
      await signer(wallet, nowMs + Math.sign(minutes) * 5 * 60_000).made.sign(loginAct());
    },
  );

  test.each([
    ["of yesterday", -86_400_000],
    ["of tomorrow", 86_400_000],
    ["that is over for 21 min", -21 * 60_000],
    ["that begins in 21 min", 21 * 60_000],
  ])("%s is not signed, whatever time its client states", async (_when, awayMs) => {
    const { made, entries } = signer(wallet, nowMs);
    const dated = `${text()}\nissued:${new Date(nowMs + awayMs).toISOString()}`;
    for (let toldMs = nowMs - 2 * 86_400_000; toldMs <= nowMs + 2 * 86_400_000; toldMs += 60_000)
      await expect(made.sign(loginAct({ text: dated, nowMs: toldMs }))).rejects.toThrow(SigningRefused);
    expect(entries.every(({ refused }) => refused !== null)).toBe(true);
  });

  test.each([1, -1])(
    "dated ever further from the machine's time, a second at a time, is signed up to 20 min from it: %i",
    async (way) => {
      const { made, entries } = signer(wallet, nowMs);
      const signedMs: number[] = [];
      for (let creptMs = 0; creptMs <= 1_800_000; creptMs += 1_000) {
        const toldMs = nowMs + way * creptMs;
        const datedMs = toldMs + way * 15 * 60_000;
        const dated = `${text()}\nissued:${new Date(datedMs).toISOString()}`;
        await made.sign(loginAct({ text: dated, nowMs: toldMs })).then(
          () => void signedMs.push(Math.abs(datedMs - nowMs)),
          (error: unknown) => expect(error).toBeInstanceOf(SigningRefused),
        );
      }
      expect(Math.max(...signedMs)).toBe(20 * 60_000);
      expect(entries.at(-1)!.refused).toMatch(/differ by 30m/);
    },
  );
});

const accounts = { globalConfig: a1, globalTraderIndex: [a2], activeTraderBuffer: [a3], perpAssetMap: a4 };
const onboarding = (more: Partial<OnboardingRequest> = {}): OnboardingRequest => ({
  ...{ authority: wallet.address, feePayer: payer.address, maxPositions: 64, registered: false, accounts },
  ...{ onboarder: a5, permission: a6, activation: true, ...more },
});
const stopLoss = (more: Partial<StopLossRequest> = {}): StopLossRequest => ({
  ...{ authority: wallet.address, feePayer: payer.address, pdaIndex: 0, subaccount: 0, accounts },
  ...{ market: a5, spline: a6, assetId: 3 },
  known: { symbol: "SOL", tickSize: 100, baseLotsDecimals: 2, mark: 10, far: false },
  order: {
    triggerTicks: 900n,
    executionTicks: 880n,
    baseLots: 10n,
    side: "ask",
    direction: "below",
    kind: "ioc",
  },
  ...more,
});

function wireOf(
  reviewed: Reviewed,
  instructions = plainInstructions(reviewed),
  feePayer = reviewed.feePayer,
): string {
  return assembleTransaction({ feePayer, blockhash, instructions }).wire;
}

const transfer: LedgerInstruction = {
  programId: "11111111111111111111111111111111",
  accounts: [
    { pubkey: wallet.address, isSigner: true, isWritable: true },
    { pubkey: a1, isSigner: false, isWritable: true },
  ],
  data: Uint8Array.of(2, 0, 0, 0, 0, 202, 154, 59, 0, 0, 0, 0),
};

describe.each([
  [
    "onboarding",
    () => ({ kind: "onboarding", request: onboarding() }) as const,
    allowedOnboarding(onboarding()),
  ],
  ["stop loss", () => ({ kind: "stop loss", request: stopLoss() }) as const, allowedStopLoss(stopLoss())],
] as const)("an %s", (_, act, allowed) => {
  const sign = (wire: string, key = wallet) => signer(key).made.sign({ ...act(), wire } as SigningAct);

  test("is signed by the required signers, one after the other", async () => {
    const once = await sign(wireOf(allowed));
    expect(missingSigners(readTransaction(once))).toContain(payer.address);
    const twice = readTransaction(await sign(once, payer));
    expect(missingSigners(twice).filter((one) => [payer.address, wallet.address].includes(one))).toEqual([]);
    expect(brokenSignatures(twice)).toEqual([]);
  });

  const plain = plainInstructions(allowed);
  const last = plain.length - 1;
  const bent = (change: (instruction: LedgerInstruction) => LedgerInstruction) =>
    plain.map((one, index) => (index === last ? change(one) : one));
  test.each<[string, string]>([
    ["a transfer behind it", wireOf(allowed, [...plain, transfer])],
    ["a transfer before it", wireOf(allowed, [transfer, ...plain])],
    ["nothing in it", wireOf(allowed, [])],
    ["the transfer alone", wireOf(allowed, [transfer])],
    ["it twice", wireOf(allowed, [...plain, ...plain])],
    [
      "another program",
      wireOf(
        allowed,
        bent((one) => ({ ...one, programId: keyOf(50).address })),
      ),
    ],
    ["another payer", wireOf(allowed, plain, wallet.address)],
    [
      "data with a byte more",
      wireOf(
        allowed,
        bent((one) => ({ ...one, data: Uint8Array.from([...one.data, 0]) })),
      ),
    ],
    [
      "data with a changed byte",
      wireOf(
        allowed,
        bent((one) => ({ ...one, data: one.data.with(-1, one.data.at(-1)! ^ 1) })),
      ),
    ],
    [
      "an account swapped",
      wireOf(
        allowed,
        bent((one) => ({ ...one, accounts: one.accounts.with(0, { ...one.accounts[0]!, pubkey: a6 }) })),
      ),
    ],
    [
      "an account less",
      wireOf(
        allowed,
        bent((one) => ({ ...one, accounts: one.accounts.slice(0, -1) })),
      ),
    ],
    [
      "an account more",
      wireOf(
        allowed,
        bent((one) => ({
          ...one,
          accounts: [...one.accounts, { pubkey: wallet.address, isSigner: true, isWritable: true }],
        })),
      ),
    ],
    ["no transaction", "AAAA"],
  ])("with %s is refused", async (_what, wire) => {
    await expect(sign(wire)).rejects.toThrow(SigningRefused);
  });

  test("is not signed by a wallet that has no part in it", async () => {
    await expect(sign(wireOf(allowed), keyOf(99))).rejects.toThrow(/has no part in what/);
  });
});

test("a transaction is recorded with the hash of its message, as on the ledger, with any earlier signatures", async () => {
  const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
  const allowed = allowedOnboarding(onboarding());
  const wire = wireOf(allowed);
  const { message } = readTransaction(wire);
  const [own, payers] = [signer(), signer(payer)];
  const act = { kind: "onboarding", request: onboarding() } as const;
  const once = await own.made.sign({ ...act, wire });
  const twice = await payers.made.sign({ ...act, wire: once });
  expect([...own.entries, ...payers.entries].map(({ hash }) => hash)).toEqual([
    sha256(message),
    sha256(message),
  ]);
  // As README recomputes it from the chain's bytes.
  const recipe = /base64 -d \| tail -c \+\S+ \| sha256sum/.exec(
    readFileSync(path.join(import.meta.dirname, "../../README.md"), "utf8"),
  )![0];
  const signatures = readTransaction(twice).signatures.size;
  const ran = execFileSync("sh", ["-c", recipe.replace("N", String(signatures))], {
    input: twice,
    encoding: "utf8",
  });
  expect(ran.split(" ")[0]).toBe(sha256(message));
});

test.each(["", "AAAA", "not base64", Buffer.alloc(66, 255).toString("base64")])(
  "what is no transaction is noted with the hash of all of it: %#",
  async (unsigned) => {
    const { made, entries } = signer();
    await expect(made.sign({ kind: "login transaction", unsigned, nonceId: "n-1", nowMs })).rejects.toThrow(
      SigningRefused,
    );
    expect(entries.map(({ hash }) => hash)).toEqual([createHash("sha256").update(unsigned).digest("hex")]);
  },
);

test("an unexpected error is not a refusal, and is recorded as a failure", async () => {
  const entries: SignatureEntry[] = [];
  const broken = { check: () => Promise.reject(new TypeError("a bug")) } as unknown as LoginForms;
  const made = localSigner(wallet, { forms: broken, onSignature: (entry) => void entries.push(entry) });
  const thrown = await made.sign(loginAct()).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(TypeError);
  expect(entries).toMatchObject([{ refused: "failed: a bug" }]);
});

test.each<[string, Partial<StopLossRequest["order"]>, Partial<StopLossRequest["known"]>, RegExp]>([
  [
    "far from the mark",
    { triggerTicks: 400n, executionTicks: 390n },
    {},
    /trigger 4 is 60\.0% away from the mark 10/,
  ],
  ["on the wrong side of it", { triggerTicks: 1_100n }, {}, /trigger 11 is not below the mark 10/],
  ["executed far away", { executionTicks: 500n }, {}, /execution price 5 is 44\.4% away/],
  ["by a tick size of another market", {}, { tickSize: 10 }, /trigger 0\.9 is 91\.0% away/],
  [
    "beyond any factor, on purpose",
    { triggerTicks: 90n, executionTicks: 80n },
    { far: true },
    /no such stop loss is signed/,
  ],
])("a stop loss %s is refused by what its bytes say", async (_, order, known, reason) => {
  const base = stopLoss();
  const request = { ...base, order: { ...base.order, ...order }, known: { ...base.known, ...known } };
  const wire = wireOf(allowedStopLoss(request));
  await expect(signer().made.sign({ kind: "stop loss", wire, request })).rejects.toThrow(reason);
});

test.each<[string, SigningAct]>([
  [
    "an onboarder that is the wallet",
    {
      kind: "onboarding",
      wire: wireOf(allowedOnboarding(onboarding())),
      request: onboarding({ onboarder: wallet.address }),
    },
  ],
  [
    "a market that is the fee payer",
    {
      kind: "stop loss",
      wire: wireOf(allowedStopLoss(stopLoss())),
      request: stopLoss({ market: payer.address }),
    },
  ],
])("a request that names %s is refused", async (_, act) => {
  await expect(signer().made.sign(act)).rejects.toThrow(/which is the wallet's own/);
});

test("no wallet pays for an unrelated authority, nor acts as the exchange's onboarder", async () => {
  const forms = new LoginForms({
    store: memoryForms(),
    baseUrl: "https://perp-api.phoenix.trade",
    domain: null,
  });
  const own = localSigner(payer, { forms, mayPayFor: (authority) => authority === wallet.address });
  const stranger = keyOf(98).address;
  for (const [authority, isSigned] of [
    [wallet.address, true],
    [stranger, false],
  ] as const) {
    const request = stopLoss({ authority });
    const signed = own.sign({ kind: "stop loss", wire: wireOf(allowedStopLoss(request)), request });
    if (isSigned) await signed;
    else await expect(signed).rejects.toThrow(/has no part in what/);
  }
  const request = onboarding({ authority: stranger, feePayer: keyOf(97).address, onboarder: payer.address });
  const act = { kind: "onboarding", wire: wireOf(allowedOnboarding(request)), request } as const;
  await expect(own.sign(act)).rejects.toThrow(/has no part in what/);
});

test("a wallet signs in by its configured method only", async () => {
  const forms = new LoginForms({
    store: memoryForms(),
    baseUrl: "https://perp-api.phoenix.trade",
    domain: null,
  });
  const made = localSigner(wallet, { forms, loginOf: () => "transaction" });
  await expect(made.sign(loginAct())).rejects.toThrow(
    "this wallet signs in by transaction, and not by message",
  );
  const other = localSigner(wallet, { forms, loginOf: () => "message" });
  await other.sign(loginAct());
  const act = { kind: "login transaction", unsigned: "AAAA", nonceId: "n", nowMs } as const;
  await expect(other.sign(act)).rejects.toThrow("this wallet signs in by message, and not by transaction");
});

test("a signer of logins alone signs no transaction of the ledger", async () => {
  const forms = new LoginForms({
    store: memoryForms(),
    baseUrl: "https://perp-api.phoenix.trade",
    domain: null,
  });
  const made = localSigner(wallet, { forms, loginsOnly: true });
  await made.sign(loginAct());
  const request = stopLoss();
  const act = { kind: "stop loss", wire: wireOf(allowedStopLoss(request)), request } as const;
  await expect(made.sign(act)).rejects.toThrow(/signs logins and nothing else/);
  await localSigner(wallet, { forms }).sign(act);
});

test.each<[string, unknown]>([
  ["another kind", { kind: "transfer", wire: "AAAA" }],
  ["bytes as they are", { kind: "login text", text: 7, nonceId: "", nowMs }],
  ["a time that is none", { kind: "login text", text: "", nonceId: "", nowMs: Number.NaN }],
  ["more than is asked for", { ...loginAct(), also: "x" }],
  ["a text without an end", { ...loginAct(), text: "x".repeat(5_000) }],
  ["an address that is none", { kind: "onboarding", wire: "AAAA", request: onboarding({ authority: "x" }) }],
  [
    "too many accounts",
    {
      kind: "onboarding",
      wire: "AAAA",
      request: onboarding({ accounts: { ...accounts, globalTraderIndex: Array(65).fill(a1) } }),
    },
  ],
])("an act of %s is none", (_, act) => {
  expect(signingAct.safeParse(act).success).toBe(false);
});
