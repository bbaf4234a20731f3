/** Registration, activation and stop losses in the simulator: accepted and refused requests, and their effects. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Instruction } from "../../src/contract/index.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { traderAddress } from "../../src/wallet/address.ts";
import {
  assembleTransaction,
  type LedgerInstruction,
  signatureOf,
  signTransaction,
} from "../../src/wallet/ledger-transaction.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { type Answer, ask, quiet, read, signIn, sim } from "./support.ts";

/** Text of a refusal, without its code. */
const said = ({ json }: Answer): string => json.error.replace(/^[a-z_]+: /, "");

const keyOf = (seed: number) => WalletKey.fromSeed(new Uint8Array(32).fill(seed));
const [newcomer, sponsor, stranger] = [keyOf(21), keyOf(22), keyOf(23)];

async function rpc(simulator: Simulator, method: string, params: unknown[] = []) {
  const answer = await ask(simulator, "/rpc", { body: { jsonrpc: "2.0", id: 1, method, params } });
  expect(answer.status).toBe(200);
  return answer.json;
}

const latest = async (simulator: Simulator): Promise<string> =>
  (await rpc(simulator, "getLatestBlockhash")).result.value.blockhash;

const plain = ({ programId, keys, data }: Instruction): LedgerInstruction => ({
  programId,
  accounts: keys,
  data: Uint8Array.from(data),
});

async function build(simulator: Simulator, more: object = {}) {
  const body = { traderAuthority: newcomer.address, txFeePayer: newcomer.address, ...more };
  return ask(simulator, "/v1/exchange/build-register-ixs", { body });
}

const send = (simulator: Simulator, transaction: string, more: object = {}) =>
  ask(simulator, "/v1/exchange/send-register-ixs", {
    body: { transaction, traderAuthority: newcomer.address, txFeePayer: newcomer.address, ...more },
  });

interface Change {
  readonly feePayer?: WalletKey;
  readonly instructions?: (all: LedgerInstruction[]) => LedgerInstruction[];
  readonly blockhash?: string;
  readonly signers?: readonly WalletKey[];
}

async function transaction(
  simulator: Simulator,
  built: { instructions: Instruction[] },
  change: Change = {},
) {
  const { feePayer = newcomer, signers = [feePayer] } = change;
  const all = built.instructions.map(plain);
  const whole = assembleTransaction({
    feePayer: feePayer.address,
    blockhash: change.blockhash ?? (await latest(simulator)),
    instructions: change.instructions?.(all) ?? all,
  });
  return signers.reduce(signTransaction, whole);
}

const state = async (simulator: Simulator, authority: string) =>
  (await read(simulator, "traderState", `/v1/trader/state/${authority}`)).snapshot;

test("a wallet is registered, and the world holds it from then on", async () => {
  await using simulator = await quiet();
  expect((await state(simulator, newcomer.address)).capabilities.state).toBe("cold");
  const built = (await build(simulator, { maxPositions: 64 })).json;
  const traderPda = traderAddress(newcomer.address, { pdaIndex: 0, subaccount: 0 });
  expect(built).toMatchObject({ traderPda, maxPositions: 64, includeRegisterTrader: true });
  expect(built.instructions).toHaveLength(2);
  const signed = await transaction(simulator, built);
  const answer = await send(simulator, signed.wire, { maxPositions: 64 });
  expect(answer.json).toMatchObject({
    signature: signatureOf(signed),
    traderPda,
    includeRegisterTrader: true,
  });
  const snapshot = await state(simulator, newcomer.address);
  expect(snapshot.capabilities.state).toBe("active");
  expect(snapshot.subaccounts).toMatchObject([{ subaccountIndex: 0, collateral: "0", positions: [] }]);
  const view = await read(simulator, "traderView", `/v1/view/trader/${traderPda}`);
  expect(view).toMatchObject({ maxPositions: 64, state: "active" });
  const [status] = (await rpc(simulator, "getSignatureStatuses", [[signatureOf(signed)]])).result.value;
  expect(status).toMatchObject({ err: null, confirmationStatus: "confirmed" });
  await sim(simulator, "advance", { ms: 32 * 400 });
  const later = (await rpc(simulator, "getSignatureStatuses", [[signatureOf(signed), "1".repeat(64)]]))
    .result;
  expect(later.value).toMatchObject([{ confirmationStatus: "finalized", confirmations: null }, null]);
  // It trades as other accounts do.
  await sim(simulator, "collateral", { authority: newcomer.address, amount: "500" });
  expect((await state(simulator, newcomer.address)).subaccounts[0].collateral).toBe("500000000");
  expect(await build(simulator)).toMatchObject({
    status: 409,
    json: { error: expect.stringMatching(/^already_onboarded/) },
  });
  expect((await send(simulator, signed.wire, { maxPositions: 64 })).status).toBe(409);
});

test("Compute Budget instructions are allowed anywhere in a registration", async () => {
  await using simulator = await quiet();
  const built = (await build(simulator)).json;
  // SetComputeUnitLimit and SetComputeUnitPrice.
  const budget = (data: number[]): LedgerInstruction => ({
    programId: "ComputeBudget111111111111111111111111111111",
    accounts: [],
    data: Uint8Array.from(data),
  });
  const signed = await transaction(simulator, built, {
    instructions: (all) => [budget([2, 64, 13, 3, 0]), ...all, budget([3, 1, 0, 0, 0, 0, 0, 0, 0])],
  });
  expect((await send(simulator, signed.wire)).status).toBe(200);
  expect((await state(simulator, newcomer.address)).capabilities.state).toBe("active");
});

test("an account that exists on the ledger already is only onboarded", async () => {
  await using simulator = await quiet();
  const built = (await build(simulator)).json;
  const first = await transaction(simulator, built, { instructions: ([register]) => [register!] });
  const sent = await rpc(simulator, "sendTransaction", [first.wire, { encoding: "base64" }]);
  expect(sent.result).toBe(signatureOf(first));
  const snapshot = await state(simulator, newcomer.address);
  expect([snapshot.capabilities.state, snapshot.subaccounts.length]).toEqual(["cold", 1]);
  const again = (await build(simulator)).json;
  expect(again).toMatchObject({ includeRegisterTrader: false });
  expect(again.instructions).toHaveLength(1);
  expect(said(await send(simulator, (await transaction(simulator, built)).wire))).toMatch(/2 instructions/);
  expect((await send(simulator, (await transaction(simulator, again)).wire)).status).toBe(200);
  expect((await state(simulator, newcomer.address)).capabilities.state).toBe("active");
});

test("a registration that is not what the exchange built is refused, each with its reason", async () => {
  await using simulator = await quiet();
  const built = (await build(simulator)).json;
  const onboarder = built.traderOnboarder as string;
  const refused = async (change: Change, more: object = {}) => {
    const { wire } = await transaction(simulator, built, change);
    const answer = await send(simulator, wire, more);
    return `${answer.status} ${said(answer)}`;
  };
  const edit = (at: number, by: (one: LedgerInstruction) => LedgerInstruction): Change => ({
    instructions: (all) => all.map((one, index) => (index === at ? by(one) : one)),
  });
  const withByte = (at: number, value: number) => (one: LedgerInstruction) => ({
    ...one,
    data: one.data.map((byte, index) => (index === at ? value : byte)),
  });
  const withKey = (at: number, pubkey: string) => (one: LedgerInstruction) => ({
    ...one,
    accounts: one.accounts.map((it, index) => (index === at ? { ...it, pubkey } : it)),
  });
  const memo: LedgerInstruction = {
    programId: "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
    accounts: [],
    data: new Uint8Array([1]),
  };
  expect(await refused({ signers: [] })).toMatch(/^400 The signature of .* is missing/);
  expect(await refused({ blockhash: "11111111111111111111111111111112" })).toBe(
    "400 The blockhash is not recent",
  );
  expect(await refused({ feePayer: sponsor, signers: [sponsor, newcomer] })).toMatch(/^400 The fee payer is/);
  expect(await refused({ instructions: (all) => [...all, memo] })).toMatch(
    /^400 .*3 instructions instead of 2/,
  );
  expect(await refused({ instructions: (all) => all.toReversed() })).toMatch(
    /^400 Instruction 0 \(register\)/,
  );
  expect(await refused(edit(0, withByte(8, 64)))).toMatch(/^400 Instruction 0 \(register\): its data/);
  expect(await refused(edit(0, withKey(4, stranger.address)))).toMatch(/account 4 \(authority\)/);
  expect(await refused(edit(1, withByte(13, 0)))).toMatch(/^400 Instruction 1 \(onboard\): its data/);
  expect(await refused(edit(1, withKey(4, stranger.address)))).toMatch(/account 4 \(permission account\)/);
  expect(await refused(edit(1, (one) => ({ ...one, accounts: one.accounts.slice(0, -1) })))).toMatch(
    /no account/,
  );
  const paying = edit(1, (one) => ({
    ...one,
    accounts: one.accounts.map((it, index) => (index === 3 ? { ...it, isWritable: true } : it)),
  }));
  expect(await refused(paying)).toBe("400 The onboarder would pay");
  expect(await refused({}, { maxPositions: 32 })).toMatch(/its data/);
  for (const name of ["traderPdaIndex", "traderSubaccountIndex"])
    expect(await refused({}, { [name]: 1 })).toMatch(new RegExp(`^400 .*${name}`));
  expect(await refused({}, { maxPositions: 31 })).toMatch(/^400 .*maxPositions/);
  expect(await refused({}, { maxPositions: 129 })).toMatch(/^400 .*maxPositions/);
  expect((await build(simulator, { maxPositions: 31 })).status).toBe(400);
  expect(said(await build(simulator, { txFeePayer: onboarder }))).toMatch(/must not be the onboarder/);
  expect(said(await send(simulator, "AQID"))).toMatch(/malformed/);
  // One byte of the signature is changed.
  const bytes = Buffer.from((await transaction(simulator, built)).wire, "base64");
  const slot = bytes.readUInt8(1) === 0 ? 65 : 1;
  bytes[slot] = bytes[slot]! ^ 1;
  expect((await send(simulator, bytes.toString("base64"))).status).toBe(400);
  const old = (await transaction(simulator, built)).wire;
  await sim(simulator, "advance", { ms: 151 * 400 });
  expect(said(await send(simulator, old))).toBe("The blockhash is not recent");
  simulator.world.ledger.lamports.set(newcomer.address, 6_000n);
  expect(said(await send(simulator, (await transaction(simulator, built)).wire))).toMatch(/insufficient/);
  expect((await state(simulator, newcomer.address)).capabilities.state).toBe("cold");
  expect(simulator.world.wallets.has(newcomer.address)).toBe(false);
});

/** A session of a wallet without a name in the simulator. */
async function login(simulator: Simulator, key: WalletKey): Promise<string> {
  const nonce = (await ask(simulator, `/v1/auth/nonce?wallet_pubkey=${key.address}`)).json;
  const body = {
    wallet_pubkey: key.address,
    nonce_id: nonce.nonce_id,
    signature: key.signText(nonce.message),
  };
  return (await ask(simulator, "/v1/auth/login/wallet", { body })).json.access_token;
}

test("a referral activates a trader, with the authority's signature and in its session only", async () => {
  await using simulator = await quiet();
  const bearer = await login(simulator, newcomer);
  const permission = (await ask(simulator, "/v1/referral/activation-permission")).json;
  const built = (await build(simulator, { txFeePayer: sponsor.address })).json;
  expect(built.instructions[1].keys[4].pubkey).toBe(permission.permission_account);
  const cosigned = (all: LedgerInstruction[]) =>
    all.map((one, index) =>
      index === all.length - 1
        ? {
            ...one,
            accounts: [...one.accounts, { pubkey: newcomer.address, isSigner: true, isWritable: false }],
          }
        : one,
    );
  const activate = async (change: Change, more: object = {}, token: string | undefined = bearer) => {
    const { wire, blockhash } = await transaction(simulator, built, {
      ...{ feePayer: sponsor, signers: [sponsor, newcomer], instructions: cosigned },
      ...change,
    });
    const body = {
      ...{ referral_code: "EXAMPLE", trader_authority: newcomer.address, transaction: wire },
      ...{ recent_blockhash: blockhash, ...more },
    };
    const answer = await ask(
      simulator,
      "/v1/referral/activate-tx",
      token === "" ? { body } : { body, bearer: token },
    );
    return answer.status === 200 ? answer.json.status : `${answer.status} ${said(answer)}`;
  };
  expect(await activate({}, {}, "")).toBe("401 missing_bearer_token");
  expect(await activate({}, {}, (await signIn(simulator)).access_token)).toBe("403 insufficient_role");
  expect(await activate({}, { referral_code: "UNKNOWN" })).toMatch(/^400 .*referral code/);
  expect(await activate({}, { trader_subaccount_index: 1 })).toMatch(/^400 Only the default/);
  expect(await activate({}, { recent_blockhash: sponsor.address })).toMatch(/^400 recent_blockhash/);
  expect(await activate({ signers: [sponsor] })).toMatch(/^400 The signature of .* is missing/);
  expect(await activate({ signers: [sponsor], instructions: (all) => all })).toMatch(
    /^400 Instruction 1.*authority/,
  );
  expect(await activate({})).toBe("activated");
  expect((await state(simulator, newcomer.address)).capabilities.state).toBe("active");
  expect(await activate({})).toBe("already_activated");
});

test("the deprecated activations do it all by themselves", async () => {
  await using simulator = await quiet();
  const authority = newcomer.address;
  const go = async (path: string, body: object) => (await ask(simulator, path, { body })).status;
  expect(await go("/v1/referral/activate", { authority, referral_code: "NOBODY" })).toBe(400);
  expect(await go("/v1/referral/activate", { authority, referral_code: "EXAMPLE" })).toBe(200);
  expect(await go("/v1/invite/activate", { authority, code: "EXAMPLE" })).toBe(409);
  expect((await state(simulator, authority)).capabilities.state).toBe("active");
});

test("a stop loss is built in a session, and set on the position when executed", async () => {
  await using simulator = await quiet();
  const { access_token: bearer } = await signIn(simulator);
  const main = simulator.keyOf("main");
  const place = (more: object = {}, token = bearer) =>
    ask(simulator, "/v1/ix/place-stop-loss-order", {
      bearer: token,
      body: {
        ...{ authority: main.address, traderPdaIndex: 0, symbol: "BTC", side: "ask", numBaseLots: 2_500 },
        ...{ stopLossTriggerPriceInTicks: 50_000, stopLossExecutionPriceInTicks: 49_500, ...more },
      },
    });
  const refused = async (more: object) => {
    const answer = await place(more);
    return `${answer.status} ${said(answer)}`;
  };
  expect(await refused({ side: "bid" })).toMatch(/^400 side/);
  expect(await refused({ numBaseLots: 2_501 })).toMatch(/^400 The size/);
  expect(await refused({ numBaseLots: 0 })).toMatch(/^400 The size/);
  expect(await refused({ symbol: "ETH" })).toMatch(/^400 There is no position/);
  expect(await refused({ symbol: "NONE" })).toMatch(/^404/);
  expect(await refused({ stopLossTriggerPrice: 1 })).toMatch(/^400/);
  expect(await refused({ stopLossExecutionPriceInTicks: undefined })).toMatch(/^400 stopLoss/);
  expect(await refused({ authority: newcomer.address })).toBe("403 insufficient_role");
  expect(await refused({ numBaseLots: undefined })).toMatch(/^400/);
  const built = await place();
  expect(built.status).toBe(200);
  expect(built.json).toHaveLength(1);
  const signed = await transaction(simulator, { instructions: built.json }, { feePayer: main });
  const before = simulator.world.ledger.lamports.get(main.address);
  expect(before).toBeUndefined();
  const dry = await rpc(simulator, "simulateTransaction", [
    signed.wire,
    { encoding: "base64", sigVerify: true, accounts: { encoding: "base64", addresses: [main.address] } },
  ]);
  expect(dry.result.value).toMatchObject({ err: null, accounts: [{ lamports: expect.any(Number) }] });
  expect(dry.result.value.accounts[0].lamports).toBeLessThan(10_000_000_000);
  const stopOf = async () => {
    const { subaccounts } = await state(simulator, main.address);
    const btc = subaccounts[0].positions.find((it: { symbol: string }) => it.symbol === "BTC");
    return btc.stopLossTriggers.map((it: { trigger: object }) => it.trigger);
  };
  expect(await stopOf()).toEqual([]);
  const sent = await rpc(simulator, "sendTransaction", [signed.wire, { encoding: "base64" }]);
  expect(sent.result).toBe(signatureOf(signed));
  expect(await stopOf()).toMatchObject([
    { triggerPriceTicks: "50000", executionPriceTicks: "49500", side: "ask" },
  ]);
  const twice = await rpc(simulator, "sendTransaction", [signed.wire, { encoding: "base64" }]);
  expect(twice.error).toMatchObject({ code: -32_002, data: { err: "AlreadyProcessed" } });
});

test("the ledger answers known calls, and refuses others with an error", async () => {
  await using simulator = await quiet();
  const main = simulator.traders[0]!;
  const height = (await rpc(simulator, "getBlockHeight")).result;
  const { blockhash, lastValidBlockHeight } = (await rpc(simulator, "getLatestBlockhash")).result.value;
  expect(lastValidBlockHeight).toBe(height + 150);
  expect((await rpc(simulator, "isBlockhashValid", [blockhash])).result.value).toBe(true);
  await sim(simulator, "advance", { ms: 150 * 400 });
  expect((await rpc(simulator, "isBlockhashValid", [blockhash])).result.value).toBe(true);
  await sim(simulator, "advance", { ms: 400 });
  expect((await rpc(simulator, "isBlockhashValid", [blockhash])).result.value).toBe(false);
  const accounts = [
    [main.traderPda, stranger.address, traderAddress(stranger.address, { pdaIndex: 0, subaccount: 0 })],
  ];
  const { value } = (await rpc(simulator, "getMultipleAccounts", [...accounts, { encoding: "base64" }]))
    .result;
  expect(value).toMatchObject([
    { owner: "EtrnLzgbS7nMMy5fbD42kXiUzGg8XQzJ972Xtk1cjWih" },
    { data: ["", "base64"] },
    null,
  ]);
  expect((await rpc(simulator, "getBalance", [stranger.address])).result.value).toBe(10_000_000_000);
  const codeOf = async (body: unknown) => (await ask(simulator, "/rpc", { body })).json.error?.code;
  expect(await codeOf({ jsonrpc: "2.0", id: 1, method: "getCluster" })).toBe(-32_601);
  expect(await codeOf({ jsonrpc: "2.0", id: 1, method: "getBalance", params: ["x"] })).toBe(-32_602);
  expect(
    await codeOf({
      jsonrpc: "2.0",
      id: 1,
      method: "sendTransaction",
      params: ["AQID", { encoding: "base64" }],
    }),
  ).toBe(-32_602);
  expect(await codeOf({ id: 1, method: "getSlot" })).toBe(-32_600);
  expect(await codeOf([])).toBe(-32_600);
  expect((await ask(simulator, "/rpc", { raw: "{" })).status).toBe(400);
  expect((await ask(simulator, "/rpc")).status).toBe(405);
  const call = { jsonrpc: "2.0", method: "getSlot" };
  const batch = await ask(simulator, "/rpc", { body: [{ ...call, id: 1 }, { ...call, id: "b" }, call] });
  expect(batch.json.map((it: { id: unknown }) => it.id)).toEqual([1, "b"]);
  expect((await ask(simulator, "/rpc", { body: call })).status).toBe(204);
});

test("nothing that is sent makes chain or onboarding stumble", async () => {
  await using simulator = await quiet();
  const built = (await build(simulator)).json;
  const good = (await transaction(simulator, built)).wire;
  const bytes = Buffer.from(good, "base64");
  const methods = [
    "getBalance",
    "getAccountInfo",
    "getMultipleAccounts",
    "getSignatureStatuses",
    "isBlockhashValid",
  ];
  const mutated = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 3 }).map((edits) => {
    const copy = Buffer.from(bytes);
    for (const [at, byte] of edits) copy[at] = byte;
    return copy.toString("base64");
  });
  const wire = fc.oneof(fc.base64String(), mutated, fc.string());
  const call = fc.oneof(
    fc.record({
      jsonrpc: fc.constant("2.0"),
      id: fc.oneof(fc.nat(), fc.string(), fc.constant(null)),
      method: fc.constantFrom(...methods, "sendTransaction", "simulateTransaction", "getLatestBlockhash"),
      params: fc.oneof(
        fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 3 }),
        fc.tuple(wire, fc.constant({ encoding: "base64", skipPreflight: true })),
        fc.tuple(wire, fc.constant({ encoding: "base64", accounts: { addresses: [newcomer.address] } })),
      ),
    }),
    fc.jsonValue({ maxDepth: 2 }),
  );
  await fc.assert(
    fc.asyncProperty(call, async (body) => {
      const answer = await ask(simulator, "/rpc", { body });
      expect([200, 204], answer.text).toContain(answer.status);
    }),
    { numRuns: 150 },
  );
  await fc.assert(
    fc.asyncProperty(wire, async (sent) => {
      const { status, text } = await send(simulator, sent);
      expect([200, 400, 409], text).toContain(status);
    }),
    { numRuns: 150 },
  );
});
