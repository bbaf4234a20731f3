/**
 * A simulator that has lived, and the SDK on it as its users have it.
 *
 * The SDK is published for another runtime; on Node it needs nothing but Node's own `fetch` and `WebSocket`, which it
 * takes from the global scope. It compares tokens with the machine's clock, so simulated time starts at the present.
 */
import { createPhoenixClient, type PhoenixClient, type PhoenixClientConfig } from "@ellipsis-labs/rise";
import { base58 } from "@scure/base";
import { parseJson } from "../../src/contract/index.ts";
import { type SimulatedTrader, type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { traderAddress } from "../../src/wallet/address.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";

export interface Desk {
  readonly simulator: Simulator;
  /** The client of `lived`, signed in by message. */
  readonly client: PhoenixClient;
  readonly lived: SimulatedTrader;
  /** Subaccount 1 of `lived`, with gold in it. */
  readonly isolatedPda: string;
  /** A client of its own, not signed in; gone after `release`. */
  readonly newClient: (config?: PhoenixClientConfig) => PhoenixClient;
  /** Signs in by message, with the wallet's real key. */
  readonly signIn: (client: PhoenixClient, key?: WalletKey) => Promise<void>;
  readonly sim: (call: string, body: object) => Promise<unknown>;
  /** The value at a path, without the SDK. */
  readonly plain: (path: string) => Promise<unknown>;
  /** A call of the chain's JSON-RPC. */
  readonly rpc: <T>(method: string, params?: unknown[]) => Promise<T>;
  /** Keys that nobody used before. */
  readonly newKey: () => WalletKey;
  /** Closes the clients that were made since the last time. */
  readonly release: () => void;
  readonly stop: () => Promise<void>;
}

export async function openDesk(): Promise<Desk> {
  const simulator = await startSimulator({ seed: 11, speed: 0, traders: 4, pastMs: 86_400_000 });
  const sim = (call: string, body: object) => simulator.call(call, body);
  await live(sim);
  const lived = simulator.traders.find((it) => it.name === "lived") as SimulatedTrader;
  const clients: PhoenixClient[] = [];
  const newClient = (config: PhoenixClientConfig = {}) => {
    const client = createPhoenixClient({
      apiUrl: simulator.url,
      rpcUrl: `${simulator.url}/rpc`,
      auth: true,
      rateLimitRetry: false,
      // A frame with a field that the SDK does not know is no frame.
      ws: { strictMode: true },
      ...config,
    });
    clients.push(client);
    return client;
  };
  const signIn = async (client: PhoenixClient, key = simulator.keyOf("lived")) => {
    const nonce = await client.auth!.getWalletNonce(key.address);
    const signature = base58.encode(key.sign(new TextEncoder().encode(nonce.message)));
    await client.auth!.loginWithWalletSignature(key.address, signature, nonce.nonce_id);
  };
  const client = newClient();
  clients.length = 0;
  await signIn(client);
  const plain = async (path: string) => {
    const session = await client.sessionManager!.getSession();
    const headers = { authorization: `Bearer ${session?.accessToken}` };
    return parseJson(await (await fetch(simulator.url + path, { headers })).text());
  };
  const rpc = async <T>(method: string, params: unknown[] = []): Promise<T> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${simulator.url}/rpc`, { method: "POST", headers, body });
    return ((await answer.json()) as { result: T }).result;
  };
  let keys = 100;
  return {
    simulator,
    client,
    lived,
    isolatedPda: traderAddress(lived.authority, { pdaIndex: 0, subaccount: 1 }),
    newClient,
    signIn,
    sim,
    plain,
    rpc,
    newKey: () => WalletKey.fromSeed(new Uint8Array(32).fill(keys++)),
    release: () => {
      for (const it of clients.splice(0)) it.dispose();
    },
    stop: async () => {
      for (const it of [client, ...clients]) it.dispose();
      await simulator.stop();
    },
  };
}

/** A wallet that everything has happened to: each way to be liquidated, triggers, fills, funding, letters. */
async function live(sim: (call: string, body: object) => Promise<unknown>): Promise<void> {
  const lived = { trader: "lived" };
  const mark = (symbol: string, price: string) => sim("mark-price", { symbol, price });
  const hold = (size: string, more: object = {}) =>
    sim("position", { ...lived, symbol: "SOL", size, ...more });
  const order = (symbol: string, side: string, price: string, size: string, more: object = {}) =>
    sim("order", { ...lived, symbol, side, price, size, ...more });

  await sim("trader", { name: "lived" });
  for (const [symbol, price] of Object.entries({ BTC: "60000", ETH: "3000", SOL: "150", GOLD: "2400" })) {
    await mark(symbol, price);
  }
  // On the book, to the backstop, and against the other side.
  for (const price of ["138", "136.4", "130"]) {
    await mark("SOL", "150");
    await sim("collateral", { ...lived, amount: "150" });
    await hold("10", { entryPrice: "150" });
    if (price === "138") await order("ETH", "bid", "2900", "0.2");
    await mark("SOL", "140");
    await mark("SOL", price);
    await hold("0");
  }
  await mark("SOL", "150");
  await sim("collateral", { ...lived, amount: "2500" });
  await hold("10", { entryPrice: "150", stopLossPrice: "149" });
  await mark("SOL", "148");
  await hold("20", { entryPrice: "148", stopLossPrice: "120", takeProfitPrice: "190" });
  await sim("position", { ...lived, symbol: "BTC", size: "-0.1" });
  await order("SOL", "bid", "147", "5");
  await mark("SOL", "146.5");
  await order("SOL", "bid", "130", "5");
  await order("SOL", "ask", "180", "5", { reduceOnly: true });
  await order("ETH", "ask", "3300", "1");
  await sim("collateral", { ...lived, subaccountIndex: 1, amount: "1500" });
  await sim("position", { ...lived, subaccountIndex: 1, symbol: "GOLD", size: "2" });
  await sim("funding-rate", { symbol: "SOL", ratePercentage: "0.01" });
  await sim("advance", { ms: 10 * 3_600_000 });
  await sim("notification", {
    source: "admin",
    notificationType: "maintenance",
    title: "Soon",
    body: "At noon.",
  });
  await sim("notification", {
    ...lived,
    source: "general",
    notificationType: "welcome",
    title: "Hello",
    body: "You.",
  });
}

/** Fills in the one signature of a transaction, by its bytes alone: a count, as many signatures, what is signed. */
export function signWire(unsigned: string, key: WalletKey): string {
  const bytes = Buffer.from(unsigned, "base64");
  if (bytes[0] !== 1) throw new Error("one signature is wanted");
  bytes.set(key.sign(bytes.subarray(65)), 1);
  return bytes.toString("base64");
}
