/** The ledger's node over a real socket: its answers, and the errors when it fails. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { createLedger, LedgerError } from "../../src/ledger/rpc.ts";
import { traderAddress } from "../../src/wallet/address.ts";
import { quiet } from "../simulator/support.ts";

type Reply =
  | { status?: number; body?: unknown; raw?: string; headers?: Record<string, string> }
  | "hang"
  | "drop";

async function node(reply: (method: string, params: unknown[]) => Reply) {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      const { method, params, id } = JSON.parse(text);
      const answer = reply(method, params);
      if (answer === "hang") return;
      if (answer === "drop") return void request.socket.destroy();
      response.writeHead(answer.status ?? 200, { "content-type": "application/json", ...answer.headers });
      response.end(answer.raw ?? JSON.stringify({ jsonrpc: "2.0", id, ...(answer.body as object) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    rpcUrl: `http://127.0.0.1:${port}/secret-key-of-the-provider`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

test("the simulated chain is read", async () => {
  await using simulator = await quiet();
  const ledger = createLedger({ rpcUrl: `${simulator.url}/rpc` });
  const { lastValidBlockHeight } = await ledger.latestBlockhash();
  expect(lastValidBlockHeight - (await ledger.blockHeight())).toBe(150n);
  const [main] = simulator.traders;
  const nobody = traderAddress(main!.traderPda, { pdaIndex: 0, subaccount: 0 });
  const [trader, wallet, nothing] = await ledger.accounts([main!.traderPda, main!.authority, nobody]);
  expect(trader!.owner).toBe("EtrnLzgbS7nMMy5fbD42kXiUzGg8XQzJ972Xtk1cjWih");
  expect(wallet).toEqual({ owner: "11111111111111111111111111111111", lamports: 10_000_000_000n });
  expect(nothing).toBeNull();
  expect(await ledger.status("1".repeat(64))).toBeNull();
  await expect(ledger.status("x")).rejects.toThrow(LedgerError);
  await expect(ledger.accounts(["x"])).rejects.toThrow(LedgerError);
});

const refusals: [string, Reply, RegExp][] = [
  [
    "an error",
    { body: { error: { code: -32_005, message: "Node is behind" } } },
    /getBlockHeight: .*behind/i,
  ],
  ["HTTP 500", { status: 500, raw: "boom" }, /getBlockHeight: .*500/],
  ["HTTP 429", { status: 429, raw: "{}" }, /getBlockHeight: .*429/],
  ["no JSON", { raw: "<html>" }, /getBlockHeight: /],
  [
    "a redirect",
    { status: 307, raw: "", headers: { location: "http://127.0.0.1:9/" } },
    /getBlockHeight: it redirects to another address, which is not followed/,
  ],
  ["too much", { raw: `"${"x".repeat(1_000_001)}"` }, /getBlockHeight: an answer of more than 1000000 bytes/],
  [
    "another type",
    { body: { result: "high" } },
    /getBlockHeight: the answer has another form than expected \(/,
  ],
  ["a fraction", { body: { result: 1.5 } }, /getBlockHeight: the answer has another form/],
  ["nothing", { body: {} }, /getBlockHeight: /],
  ["a list", { raw: "[]" }, /getBlockHeight: /],
  ["null", { raw: "null" }, /getBlockHeight: /],
  ["a hang-up", "drop", /getBlockHeight: it cannot be reached/],
  ["silence", "hang", /getBlockHeight: no answer in time/],
];
test.each(refusals)("%s is reported in one line, without the node's address", async (_what, reply, said) => {
  await using place = await node(() => reply);
  const error = await createLedger({ rpcUrl: place.rpcUrl, patienceMs: 300 })
    .blockHeight()
    .catch((it: unknown) => it);
  expect(error).toBeInstanceOf(LedgerError);
  const { message, stack } = error as Error;
  expect(message).toMatch(said);
  expect(`${message}${stack}`).not.toContain("secret-key-of-the-provider");
  expect(message).not.toContain("\n");
});

test("the error of a failed transaction is kept as text", async () => {
  const value = [
    { slot: 1, confirmations: 1, err: { InstructionError: [0, { Custom: 1 }] }, confirmationStatus: null },
  ];
  await using place = await node(() => ({ body: { result: { context: { slot: 1 }, value } } }));
  const status = await createLedger({ rpcUrl: place.rpcUrl }).status("1".repeat(64));
  expect(status).toEqual({ confirmation: "processed", error: '{"InstructionError":[0,{"Custom":1}]}' });
});

test("a simulation is never signed for, and takes whatever blockhash is new", async () => {
  let asked: unknown[] = [];
  await using place = await node((_method, params) => {
    asked = params;
    const value = { err: null, logs: ["a"], accounts: [null] };
    return { body: { result: { context: { slot: 1 }, value } } };
  });
  const result = await createLedger({ rpcUrl: place.rpcUrl }).simulate("AQID", [
    "11111111111111111111111111111111",
  ]);
  expect(result).toEqual({ error: null, logs: ["a"], lamportsAfter: [null] });
  expect(asked).toMatchObject([
    "AQID",
    { sigVerify: false, replaceRecentBlockhash: true, encoding: "base64" },
  ]);
});

const key = "Ab3dEf6hIj9kLm";
const addresses: [string, (url: string) => string, string][] = [
  ["a path segment", (url) => `${url}/v2/${key}/rpc`, key],
  ["a query value", (url) => `${url}/?api-key=${key}`, key],
  ["a query without a name", (url) => `${url}/?${key}`, key],
  ["an encoded segment", (url) => `${url}/Ab%2Fd%C3%A9f6hIj9kLm`, "Ab/déf6hIj9kLm"],
  ["an encoded segment, as it stands", (url) => `${url}/Ab%2Fd%C3%A9f6hIj9kLm`, "Ab%2fd%c3%a9f6hIj9kLm"],
  ["a key in other letters", (url) => `${url}/${key}`, key.toUpperCase()],
  ["path and query", (url) => `${url}/${key}?x=1`, `/${key}?x=1`],
];
test.each(addresses)(
  "a node that repeats %s of its address is not heard in that",
  async (_what, at, echo) => {
    const text = `no plan for ${echo} (${echo}), pay up`;
    const value = {
      ...{ err: { Custom: text }, logs: [text], accounts: [null] },
    };
    await using place = await node((method) =>
      method === "getBlockHeight"
        ? { body: { error: { code: -32_603, message: text } } }
        : { body: { result: { context: { slot: 1 }, value } } },
    );
    const ledger = createLedger({ rpcUrl: at(new URL(place.rpcUrl).origin) });
    const error = (await ledger.blockHeight().catch((it: unknown) => it)) as Error;
    expect(error).toBeInstanceOf(LedgerError);
    const { logs, error: failed } = await ledger.simulate("AQID", []);
    for (const said of [error.message, String(error.stack), ...logs, String(failed)]) {
      expect(said.toLowerCase()).not.toContain(echo.toLowerCase());
      expect(said.toLowerCase()).not.toContain("f6hij9klm");
    }
    for (const said of [error.message, ...logs, failed]) {
      expect(said).toMatch(/no plan for .*\[ledger\.rpcUrl\].* pay up/);
    }
  },
);

test("short words of the address are no secrets", async () => {
  await using place = await node(() => ({ body: { error: { code: -32_603, message: "v2 rpc main" } } }));
  const ledger = createLedger({ rpcUrl: `${new URL(place.rpcUrl).origin}/v2/rpc?net=main` });
  await expect(ledger.blockHeight()).rejects.toThrow(/v2 rpc main/);
});

test.each<[string, (ledger: ReturnType<typeof createLedger>) => Promise<unknown>, unknown]>([
  [
    "latestBlockhash",
    (ledger) => ledger.latestBlockhash(),
    { value: { blockhash: 7, lastValidBlockHeight: 1 } },
  ],
  ...["", "odd", "0OIl".repeat(11), "1".repeat(31), "1".repeat(45)].map(
    (blockhash): [string, (ledger: ReturnType<typeof createLedger>) => Promise<unknown>, unknown] => [
      `latestBlockhash, ${blockhash || "empty"}`,
      (ledger) => ledger.latestBlockhash(),
      { value: { blockhash, lastValidBlockHeight: 1 } },
    ],
  ),
  [
    "accounts, an owner that is no address",
    (ledger) => ledger.accounts(["11111111111111111111111111111111"]),
    { value: [{ owner: "x", lamports: 1 }] },
  ],
  [
    "accounts, a negative balance",
    (ledger) => ledger.accounts(["11111111111111111111111111111111"]),
    { value: [{ owner: "11111111111111111111111111111111", lamports: -1 }] },
  ],
  [
    "accounts, a balance of more than 64 bits",
    (ledger) => ledger.accounts(["11111111111111111111111111111111"]),
    { value: [{ owner: "11111111111111111111111111111111", lamports: 2 ** 70 }] },
  ],
  [
    "simulate, a negative balance",
    (ledger) => ledger.simulate("AQID", []),
    { value: { accounts: [{ lamports: -1 }] } },
  ],
  [
    "status",
    (ledger) => ledger.status("1".repeat(64)),
    { value: [{ confirmationStatus: "maybe", err: null }] },
  ],
  [
    "accounts",
    (ledger) => ledger.accounts(["11111111111111111111111111111111"]),
    { value: [{ owner: "x" }] },
  ],
  ["simulate", (ledger) => ledger.simulate("AQID", []), { value: { logs: "a" } }],
  ["simulate, nothing", (ledger) => ledger.simulate("AQID", []), { value: null }],
])("an answer to %s of another form is an error with its place", async (_what, ask, value) => {
  await using place = await node(() => ({
    body: { result: { context: { slot: 1 }, ...(value as object) } },
  }));
  const asking = ask(createLedger({ rpcUrl: place.rpcUrl }));
  await expect(asking).rejects.toThrow(LedgerError);
  await expect(asking).rejects.toThrow(/another form than expected at value/);
});

test("balances beyond what a double holds are exact", async () => {
  const raw =
    '{"jsonrpc":"2.0","id":"0","result":{"context":{"slot":1},"value":[{"owner":"11111111111111111111111111111111","lamports":500000000000000001}]}}';
  await using place = await node(() => ({ raw }));
  expect(await createLedger({ rpcUrl: place.rpcUrl }).accounts(["11111111111111111111111111111111"])).toEqual(
    [{ owner: "11111111111111111111111111111111", lamports: 500_000_000_000_000_001n }],
  );
});

test("the head of an account is no longer than what was asked for, and is base64", async () => {
  await using simulator = await quiet();
  const { marketPubkey } = simulator.world.markets.get("SOL")!.spec;
  const honest = createLedger({ rpcUrl: `${simulator.url}/rpc` });
  expect((await honest.accountHead(marketPubkey, 64))?.data).toHaveLength(64);
  expect(
    await honest.accountHead(traderAddress(marketPubkey, { pdaIndex: 0, subaccount: 9 }), 64),
  ).toBeNull();
  const values: [unknown, RegExp][] = [
    [{ owner: marketPubkey, data: ["AAAA", "base64"] }, /more data than requested/],
    [{ owner: marketPubkey, data: ["*", "base64"] }, /another form than expected at value\.data\.0/],
    [{ owner: marketPubkey, data: ["AA==", "base58"] }, /another form/],
    [{ data: ["AA==", "base64"] }, /another form/],
  ];
  for (const [value, said] of values) {
    await using place = await node(() => ({ body: { result: { context: { slot: 1 }, value } } }));
    const ledger = createLedger({ rpcUrl: place.rpcUrl });
    await expect(ledger.accountHead(marketPubkey, 2)).rejects.toThrow(said);
  }
});
