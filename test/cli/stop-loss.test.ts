/** `perpwatch stop-loss` as a process: what it prints, and that it sends nothing. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { brokenSignatures, missingSigners, readTransaction } from "../../src/wallet/ledger-transaction.ts";
import { ask, quiet, sim } from "../simulator/support.ts";
import { desk, run } from "./run.ts";

test("the transaction goes to standard output, the explanation beside it, and nothing to the ledger", async () => {
  using at = desk();
  await using simulator = await quiet({ keysDir: path.join(at.folder, "keys") });
  at.write(
    "config.yaml",
    [
      `exchange: { baseUrl: ${simulator.url} }`,
      `ledger: { rpcUrl: ${simulator.url}/rpc }`,
      "wallets: [{ name: main, keyFile: ./keys/main.json }]",
      "channels: { here: { type: console } }",
      "dashboard: { listen: off }",
    ].join("\n"),
  );
  const stopLoss = (...args: string[]) => run(["stop-loss", "--symbol", "BTC", ...args], at);
  const authority = simulator.keyOf("main").address;

  const unsigned = await stopLoss("--trigger-price", "58000");
  expect(unsigned.status).toBe(0);
  const transaction = readTransaction(unsigned.stdout.trim());
  expect(missingSigners(transaction)).toEqual([authority]);
  expect(unsigned.stderr).toMatch(/falls below \$58,000, sell 0\.2500 \(all of it\) at \$57,420 or better/);
  expect(unsigned.stderr).toMatch(/position +long 0\.2500 BTC, entered at \$60,400/);
  expect(unsigned.stderr).toMatch(/mark +\$60,400; the trigger is 3\.97% away/);
  expect(unsigned.stderr).toMatch(/at worst +-\$745\.00 against entry/);

  expect(await stopLoss("--trigger-price", "58000", "--sign")).toMatchObject({
    ...{ status: 2, stdout: "", stderr: expect.stringContaining("Nothing was signed or sent") },
  });
  const signed = await stopLoss("--trigger-price", "58000", "--sign", "--yes", "--json");
  const told = signed.json() as { transaction: string; signed: boolean };
  expect(told).toMatchObject({ signed: true, symbol: "BTC", order: { side: "ask" }, signers: [authority] });
  expect(missingSigners(readTransaction(told.transaction))).toEqual([]);
  expect(brokenSignatures(readTransaction(told.transaction))).toEqual([]);
  // Only the signer's process writes it: nothing else holds the key. Each command also signs in.
  const entries = readFileSync(path.join(at.folder, "data", "signatures.log"), "utf8")
    .trim()
    .split("\n");
  const acts = entries.map((line) => JSON.parse(line) as { act: string });
  expect(acts.filter(({ act }) => act !== "login text")).toEqual([
    expect.objectContaining({ act: "stop loss", wallet: authority, refused: null }),
  ]);

  expect(await stopLoss("--trigger-price", "61000")).toMatchObject({
    ...{ status: 2, stdout: "", stderr: expect.stringContaining("is not below the mark") },
  });
  expect(await stopLoss("--trigger-price", "20000")).toMatchObject({
    ...{
      status: 2,
      stdout: "",
      stderr: expect.stringMatching(/66\.9% away from the mark 60400; 50% are the most/),
    },
  });
  expect(await stopLoss("--trigger-price", "20000", "--far", "yes")).toMatchObject({
    ...{ status: 2, stdout: "", stderr: expect.stringContaining("Expected the sentence") },
  });
  const far = await stopLoss(
    "--trigger-price",
    "20000",
    "--far",
    "these prices are far from the mark on purpose",
  );
  expect(far.status).toBe(0);
  // The exchange and the ledger disagree.
  const marketPath = "/v1/view/exchange/market/BTC";
  const market = (await ask(simulator, marketPath)).json;
  await sim(simulator, "fault", { path: marketPath, status: 200, body: { ...market, tickSize: 1_000 } });
  const differs = await stopLoss("--trigger-price", "58000");
  expect(differs).toMatchObject({ status: 1, stdout: "" });
  expect(differs.stderr).toContain("the tick size of BTC is 1000 by the exchange and 100 by the ledger");
  expect(differs.stderr).not.toContain("please report");
  expect(simulator.world.ledger.transactions.size).toBe(0);
  expect(simulator.sessions.list().every((session) => session.revoked)).toBe(true);
}, 60_000);
