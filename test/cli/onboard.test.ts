/** `perpwatch onboard` as a process, against the simulated exchange and its ledger. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { ask, quiet, read, sim } from "../simulator/support.ts";
import { type Desk, desk, type Ran, run } from "./run.ts";

const fresh = WalletKey.fromSeed(new Uint8Array(32).fill(41));
const sponsor = WalletKey.fromSeed(new Uint8Array(32).fill(42));

interface Place extends AsyncDisposable {
  readonly simulator: Simulator;
  run(...args: string[]): Promise<Ran>;
  check(...args: string[]): Promise<Ran>;
  /** Requests that would change something at the exchange. */
  sent(): Promise<string[]>;
  state(): Promise<string>;
  /** Entries of the signature log. */
  signatures(): object[];
}

async function place(
  wallet = "keyFile: ./fresh.json",
  ledger: "configured" | null = "configured",
  baseUrl?: string,
): Promise<Place> {
  const simulator = await quiet();
  const at: Desk = desk();
  const keyFile = (name: string, key: WalletKey) =>
    key.withKeypair((pair) =>
      writeFileSync(path.join(at.folder, name), JSON.stringify([...pair]), { mode: 0o600 }),
    );
  keyFile("fresh.json", fresh);
  keyFile("sponsor.json", sponsor);
  at.write(
    "config.yaml",
    [
      `exchange: { baseUrl: ${baseUrl ?? simulator.url} }`,
      ...(ledger !== null ? [`ledger: { rpcUrl: ${simulator.url}/rpc }`] : []),
      `wallets: [{ name: fresh, ${wallet} }]`,
      "channels: { here: { type: console } }",
      "dashboard: { listen: off }",
    ].join("\n"),
  );
  return {
    simulator,
    run: (...args) => run(["onboard", ...args], at),
    check: (...args) => run(["check", ...args], at),
    sent: async () => {
      const { requests } = (await ask(simulator, "/sim/requests")).json as {
        requests: { path: string; method: string }[];
      };
      return requests.filter((it) => /send-register|activate-tx/.test(it.path)).map((it) => it.path);
    },
    state: async () =>
      (await read(simulator, "traderState", `/v1/trader/state/${fresh.address}`)).snapshot.capabilities.state,
    signatures: () =>
      readFileSync(path.join(at.folder, "data", "signatures.log"), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as object),
    [Symbol.asyncDispose]: async () => {
      at[Symbol.dispose]();
      await simulator.stop();
    },
  };
}

test("a wallet is registered after a summary, and a second time there is nothing to do", async () => {
  await using it = await place();
  const asked = await it.run("register");
  expect(asked).toMatchObject({ status: 2, stderr: expect.stringContaining("Nothing was signed or sent") });
  expect(asked.stdout).toMatch(/1\. register trader account \w+\n +of \w+ .*room for 128 positions/);
  expect(asked.stdout).toMatch(/2\. let the exchange's onboarder .*\n +limit orders, market orders/);
  expect(asked.stdout).toMatch(new RegExp(`fee payer +${fresh.address} \\(fresh\\)`));
  expect(asked.stdout).toMatch(/costs +0\.0\d+ SOL, as the ledger foresees it; 9\.\d+ SOL stay/);
  expect([await it.sent(), await it.state()]).toEqual([[], "cold"]);

  const done = await it.run("register", "--yes", "--json", "--max-positions", "40");
  expect(done).toMatchObject({ status: 0, stderr: expect.stringContaining("room for 40 positions") });
  const told = done.json() as { signature: string; traderAccount: string };
  expect(told).toMatchObject({ wallet: "fresh", result: "registered", active: true });
  expect(await it.state()).toBe("active");
  // Only the signer's process writes it: nothing else holds the key.
  expect(it.signatures()).toEqual([
    expect.objectContaining({ act: "onboarding", wallet: fresh.address, refused: null }),
  ]);
  expect(it.simulator.world.ledger.transactions.has(told.signature)).toBe(true);
  expect(it.simulator.world.accounts.get(told.traderAccount)).toMatchObject({
    maxPositions: 40,
    onboarded: true,
  });

  const again = await it.run("register", "--yes");
  expect(again).toMatchObject({ status: 0, stdout: expect.stringContaining("onboarded already") });
  expect(await it.sent()).toHaveLength(1);
}, 60_000);

test("another key pays for a wallet without a key here", async () => {
  await using it = await place(`authority: ${fresh.address}`);
  expect(await it.run("register", "--yes")).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("name a key file that can, with --fee-payer"),
  });
  expect(await it.run("activate", "--referral", "EXAMPLE", "--yes")).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("signed by the wallet itself"),
  });
  const done = await it.run("register", "--yes", "--fee-payer", "./sponsor.json");
  expect(done).toMatchObject({ status: 0, stdout: expect.stringContaining("fresh is registered") });
  expect(it.simulator.world.ledger.lamports.get(sponsor.address)).toBeLessThan(10_000_000_000n);
  expect(it.simulator.world.ledger.lamports.get(fresh.address)).toBeUndefined();
}, 60_000);

test("a referral activates in the wallet's session, which is ended again; a separate payer signs as well", async () => {
  await using it = await place();
  const refused = await it.run("activate", "--referral", "NOBODY", "--yes");
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("activateReferralTx: 400") });
  expect(await it.state()).toBe("cold");
  const done = await it.run("activate", "--referral", "EXAMPLE", "--fee-payer", "sponsor.json", "--yes");
  expect(done).toMatchObject({ status: 0, stderr: "" });
  expect(done.stdout).toMatch(new RegExp(`fee payer +${sponsor.address}`));
  expect(done.stdout).toMatch(new RegExp(`signer +${fresh.address} \\(fresh\\)`));
  expect(done.stdout).toMatch(/fresh is activated/);
  expect(await it.state()).toBe("active");
  expect(it.simulator.sessions.list().every((session) => session.revoked)).toBe(true);
  const again = await it.run("activate", "--referral", "EXAMPLE", "--yes");
  expect(again).toMatchObject({ status: 0, stdout: expect.stringContaining("onboarded already") });
  expect(again.stdout).toContain("the referral code EXAMPLE was not used");
  const told = (await it.run("activate", "--referral", "EXAMPLE", "--yes", "--json")).json();
  expect(told).toMatchObject({ result: "already", signature: null, referralUsed: false });
}, 60_000);

test("an exchange that hands out something else is found out before anything is signed", async () => {
  await using it = await place();
  const body = { traderAuthority: fresh.address, txFeePayer: fresh.address };
  const built = (await ask(it.simulator, "/v1/exchange/build-register-ixs", { body })).json;
  const drain = {
    programId: "11111111111111111111111111111111",
    keys: [
      { pubkey: fresh.address, isSigner: true, isWritable: true },
      { pubkey: sponsor.address, isSigner: false, isWritable: true },
    ],
    data: [2, 0, 0, 0, 0, 202, 154, 59, 0, 0, 0, 0],
  };
  for (const [instructions, said] of [
    [[drain, ...built.instructions], /3 instructions instead of 2/],
    [[drain, built.instructions[1]], /instruction 1 \(register\): program 1{32} instead of/],
  ] as const) {
    await sim(it.simulator, "fault", {
      path: "/v1/exchange/build-register-ixs",
      times: 1,
      status: 200,
      body: { ...built, instructions },
    });
    const ran = await it.run("register", "--yes");
    expect(ran).toMatchObject({ status: 1, stdout: "" });
    expect(ran.stderr).toMatch(/not what was asked for, so nothing is signed/);
    expect(ran.stderr).toMatch(said);
  }
  expect(await it.sent()).toEqual([]);
}, 60_000);

test("an answer that is lost on the way does not lose the transaction", async () => {
  await using it = await place();
  await sim(it.simulator, "fault", { path: "/v1/exchange/send-register-ixs", times: 1, drop: "reply" });
  const done = await it.run("register", "--yes");
  expect(done).toMatchObject({ status: 0, stdout: expect.stringContaining("fresh is registered") });
  expect(done.stderr).toMatch(/looking for the transaction on the ledger/);
  expect(await it.state()).toBe("active");
}, 60_000);

test("an exchange that answers with another transaction's signature is not believed", async () => {
  await using it = await place();
  await sim(it.simulator, "fault", {
    path: "/v1/exchange/send-register-ixs",
    times: 1,
    status: 200,
    body: { signature: "1".repeat(64), traderPda: fresh.address },
  });
  const foreign = await it.run("register", "--yes");
  expect(foreign).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/the signature of another transaction/),
  });
  expect(await it.state()).toBe("cold");
}, 60_000);

test("an exchange on this machine has its ledger beside it", async () => {
  await using it = await place("keyFile: ./fresh.json", null);
  expect(await it.run("register", "--yes")).toMatchObject({ status: 0 });
  expect(await it.state()).toBe("active");
}, 60_000);

test("missing parts are reported", async () => {
  await using it = await place("keyFile: ./fresh.json", null, "https://exchange.example");
  expect(await it.run("register")).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("ledger.rpcUrl is not configured"),
  });
  expect(await it.run("register", "--wallet", "other")).toMatchObject({
    status: 2,
    stderr: "perpwatch: no wallet is called other; configured: fresh\n",
  });
  expect(await it.run("register", "--fee-payer", "./none.json")).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("the key file does not exist"),
  });
}, 60_000);

test("check --online asks the ledger, too", async () => {
  await using it = await place();
  const ledger = async () => {
    const { online } = (await it.check("--online", "--json")).json() as { online: { what: string }[] };
    return online.find((one) => one.what === "ledger");
  };
  expect(await ledger()).toMatchObject({ state: "ok", detail: expect.stringMatching(/^block height \d+$/) });
  await sim(it.simulator, "fault", { path: "/rpc", status: 500 });
  expect(await ledger()).toMatchObject({ state: "failed", detail: expect.stringContaining("500") });
}, 60_000);

test("a payer without funds is reported by the ledger before anything is signed", async () => {
  await using it = await place();
  it.simulator.world.ledger.lamports.set(fresh.address, 20_000n);
  expect(await it.run("register", "--yes")).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^perpwatch: ledger: the transaction would fail: .*insufficient lamports/),
  });
  expect(await it.sent()).toEqual([]);
}, 60_000);
