/** Sending a planned onboarding when the exchange and the ledger cause difficulties. */
import { expect, test } from "vitest";
import type { Clock } from "../../src/domain/clock.ts";
import { systemClock } from "../../src/domain/clock.ts";
import { createExchange, ExchangeError } from "../../src/exchange/index.ts";
import { type OnboardingOptions, planOnboarding, sendOnboarding } from "../../src/ledger/onboarding.ts";
import { createLedger, LedgerError } from "../../src/ledger/rpc.ts";
import { traderAddress } from "../../src/wallet/address.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { testSigner } from "../exchange/local-exchange.ts";
import { MemorySessions } from "../exchange/rig.ts";
import { quiet, sim } from "../simulator/support.ts";

const key = WalletKey.fromSeed(new Uint8Array(32).fill(51));
const signer = testSigner(key);
const registerPath = "/v1/exchange/send-register-ixs";
const activatePath = "/v1/referral/activate-tx";

/** Each pause of the flow is ten seconds of the simulated ledger. */
async function place() {
  const simulator = await quiet();
  const real = systemClock();
  const exchange = createExchange({
    settings: { baseUrl: simulator.url, requestsPerSecond: 1_000 },
    version: "0.0.0-test",
    clock: real,
    random: Math.random,
    wallets: [{ name: "fresh", key: signer, login: "message" }],
    store: new MemorySessions(),
    onSession: () => {},
    onTrouble: () => {},
    onBadRecord: () => {},
  });
  const startMs = simulator.nowMs();
  const clock: Clock = {
    ...real,
    elapsedMs: () => simulator.nowMs() - startMs,
    sleep: async () => simulator.advance(10_000),
  };
  const parts = {
    client: exchange.client,
    call: { wallet: "fresh", deadlineMs: 2_000 },
    ledger: createLedger({ rpcUrl: `${simulator.url}/rpc` }),
    clock,
    isLostReply: (error: unknown) => error instanceof ExchangeError && error.reason === "unreachable",
  };
  const plan = async (more: Partial<OnboardingOptions> = {}) => {
    const asked = { authority: key.address, feePayer: key.address, maxPositions: 128, referralCode: null };
    const found = await planOnboarding(parts, { ...asked, ...more });
    if (found.kind === "already") throw new Error("already");
    return found;
  };
  return {
    simulator,
    parts,
    plan,
    onboarded: () => simulator.world.wallets.get(key.address)?.accounts.get("0.0")?.onboarded ?? null,
    send: async (more: Partial<OnboardingOptions> = {}) =>
      sendOnboarding(parts, await plan(more), [signer.sign]),
    [Symbol.asyncDispose]: async () => {
      await exchange.stop();
      await simulator.stop();
    },
  };
}

test("a request that never arrived is over once its blockhash is, and may be tried again", async () => {
  await using it = await place();
  await sim(it.simulator, "fault", { path: registerPath, times: 1, drop: "request" });
  expect(await it.send()).toMatchObject({ confirmation: { kind: "expired" }, active: false });
  expect(it.onboarded()).toBeNull();
  expect(await it.send()).toMatchObject({ confirmation: { kind: "confirmed" }, active: true });
  expect(it.onboarded()).toBe(true);
});

test("a reply that got lost leaves the transaction to be found", async () => {
  await using it = await place();
  await sim(it.simulator, "fault", { path: registerPath, times: 1, drop: "reply" });
  const sent = await it.send();
  expect(sent).toMatchObject({ confirmation: { kind: "confirmed" }, active: true });
  expect(it.simulator.world.ledger.transactions.has(sent.signature!)).toBe(true);
});

test("a refusal is a refusal, and nothing is looked for", async () => {
  await using it = await place();
  const fault = { path: registerPath, times: 1, status: 400, error: "invalid_transaction" };
  await sim(it.simulator, "fault", fault);
  await expect(it.send()).rejects.toThrow(/sendRegisterIxs: 400 invalid_transaction/);
  expect(it.onboarded()).toBeNull();
});

test("an activation that is submitted is waited for; one that was done already is done", async () => {
  await using it = await place();
  const referralCode = "EXAMPLE";
  await sim(it.simulator, "fault", { path: activatePath, times: 1, set: { status: "submitted" } });
  const planned = await it.plan({ referralCode });
  const sent = await sendOnboarding(it.parts, planned, [signer.sign]);
  expect(sent).toMatchObject({ confirmation: { kind: "confirmed" }, active: true });
  expect(sent.signature).not.toBeNull();
  // Another process onboarded it between the plan and its sending.
  expect(await sendOnboarding(it.parts, planned, [signer.sign])).toEqual({
    ...{ signature: null, confirmation: { kind: "confirmed" }, active: true },
  });
});

test("a confirmed transaction that the exchange does not show yet is confirmed all the same", async () => {
  await using it = await place();
  const planned = await it.plan();
  await sim(it.simulator, "fault", { path: "/v1/trader/state/*", times: 100, status: 503 });
  expect(
    await sendOnboarding({ ...it.parts, call: { wallet: "fresh", deadlineMs: 100 } }, planned, [signer.sign]),
  ).toMatchObject({
    ...{ confirmation: { kind: "confirmed" }, active: false },
  });
});

test("an account that exists on the ledger is not registered again", async () => {
  await using it = await place();
  await sim(it.simulator, "trader", { authority: key.address, name: "fresh" });
  it.simulator.world.wallets.get(key.address)!.accounts.get("0.0")!.onboarded = false;
  it.simulator.world.wallets.get(key.address)!.accounts.get("0.0")!.sequence += 1;
  for (const referralCode of [null, "EXAMPLE"]) {
    const planned = await it.plan({ referralCode });
    expect(planned.registered).toBe(true);
    expect(planned.reviewed.instructions.map((one) => one.kind)).toEqual(["onboard"]);
  }
  expect(await it.send({ referralCode: "EXAMPLE" })).toMatchObject({ active: true });
});

test("an address with another program's account is not used", async () => {
  await using it = await place();
  const traderAccount = traderAddress(key.address, { pdaIndex: 0, subaccount: 0 });
  const { ledger } = it.parts;
  const owned = (owner: string) => ({
    ...it.parts,
    ledger: {
      ...ledger,
      accounts: async (addresses: readonly string[]) => {
        const found = await ledger.accounts(addresses);
        return addresses.map((one, index) =>
          one === traderAccount ? { owner, lamports: 1n } : found[index]!,
        );
      },
    },
  });
  const asked = { authority: key.address, feePayer: key.address, maxPositions: 128, referralCode: null };
  await expect(planOnboarding(owned(key.address), asked)).rejects.toThrow(LedgerError);
  // A few lamports sent to the address do not make an account.
  const planned = await planOnboarding(owned("11111111111111111111111111111111"), asked);
  expect(planned).toMatchObject({ kind: "plan", registered: false });
});
