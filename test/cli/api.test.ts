/** `perpwatch api` against the simulated exchange over its socket, and its shell completion. */
import { spawnSync } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkArguments, readCall } from "../../src/cli/commands/api/arguments.ts";
import { exampleOf } from "../../src/cli/commands/api/describe.ts";
import { allEndpoints } from "../../src/contract/index.ts";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { type Desk, desk, run } from "./run.ts";

const someKey = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";

let simulator: Simulator;
let place: Desk;

beforeAll(async () => {
  place = desk();
  simulator = await startSimulator({
    port: 0,
    traders: 2,
    walk: true,
    activity: true,
    pastMs: 6 * 3_600_000,
    speed: 0,
    keysDir: path.join(place.folder, "keys"),
  });
  const [name] = simulator.traders.map((trader) => trader.name);
  place.write(
    "config.yaml",
    [
      `exchange: { baseUrl: ${simulator.url} }`,
      `wallets: [{ name: main, keyFile: keys/${name}.json }]`,
      // A mistake elsewhere and a missing secret do not matter to this command.
      "channels: { chat: { type: discord, token: $" + "{NOT_SET}, channelId: 12 } }",
      "",
    ].join("\n"),
  );
});
afterAll(async () => {
  await simulator.stop();
  place[Symbol.dispose]();
});

const api = (...words: string[]) => run(["api", ...words], place);

/** A server that answers every request with the next of its pages, from 1. */
async function pages(page: (asked: number) => object) {
  const self = { asked: 0, url: "" };
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(page(++self.asked)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  self.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(self, {
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

describe("what there is", () => {
  test("list names every endpoint under its group", async () => {
    const people = await api("list");
    expect(people.status).toBe(0);
    for (const { name, summary } of allEndpoints)
      expect(people.stdout).toMatch(
        new RegExp(`^  ${name} .*${summary.slice(0, 20).replace(/[()]/g, ".")}`, "m"),
      );
    expect(people.stdout.match(/^\S.*$/gm)).toEqual([
      "Exchange",
      "Market data",
      "Trader data",
      "Histories",
      "Notifications",
      "Authentication",
      "Onboarding and instructions",
      "Deprecated",
    ]);
    const rows = (await api("list", "--json")).json() as { name: string; paged: boolean }[];
    expect(rows.map(({ name }) => name)).toEqual(allEndpoints.map(({ name }) => name));
    expect(rows.find(({ name }) => name === "fundingHourly")?.paged).toBe(true);
  });

  test("describe shows parameters with bounds and defaults, the answer's fields, and the paging", async () => {
    const { status, stdout } = await api("describe", "fundinghourly");
    expect(status).toBe(0);
    expect(stdout).toContain("GET /v1/users/{user_pubkey}/funding-hourly");
    expect(stdout).toMatch(/--authority \* .*public key.*on the wire user_pubkey/);
    expect(stdout).toMatch(/--limit .*integer, 1 to 200; default 50/);
    expect(stdout).toMatch(/^ {4}fundingPayment +a decimal$/m);
    expect(stdout).toMatch(/cursor = nextCursor/);
  });

  test("a similar name is suggested", async () => {
    const { status, stderr } = await api("markts");
    expect(status).toBe(2);
    expect(stderr).toContain("there is no endpoint markts; did you mean markets?");
  });

  test("the help of an endpoint is its description and the command's options", async () => {
    const { status, stdout } = await api("candles", "--help");
    expect(status).toBe(0);
    expect(stdout).toMatch(/--timeframe \*/);
    expect(stdout).toMatch(/--url <url>/);
    expect(stdout).toContain("\nExample:\n  perpwatch api candles --symbol SOL --timeframe 1h\n");
  });

  test("the example of each endpoint works without changes", async () => {
    for (const endpoint of allEndpoints) {
      const [, , name, ...words] = exampleOf(endpoint).split(" ");
      expect(name).toBe(endpoint.name);
      const { args, options } = await readCall(
        endpoint,
        words,
        async (file) => (file.endsWith(".json") ? '[{"type":"general","id":1}]' : "x"),
        Date.UTC(2026, 0, 5),
      );
      const ofWallet = options.wallet === null ? {} : { authority: someKey, traderPubkey: someKey };
      const known = Object.fromEntries(Object.entries(ofWallet).filter(([key]) => key in endpoint.params));
      expect(() => checkArguments(endpoint, { ...known, ...args }), exampleOf(endpoint)).not.toThrow();
    }
  });
});

describe("asking", () => {
  test("an open endpoint needs no configuration, only a URL", async () => {
    using bare = desk();
    const words = ["api", "exchangeStatus", "--url", simulator.url];
    expect((await run(["api", "--url", simulator.url, "--json", "exchangeStatus"], bare)).status).toBe(0);
    expect(await run(words, bare)).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^active: true$/m),
    });
    expect((await run([...words, "--json"], bare)).json()).toMatchObject({ active: true });
  });

  test("a wallet's name stands for its addresses and its session", async () => {
    const state = (await api("traderState", "--wallet", "main", "--json")).json() as { authority: string };
    expect(state.authority).toBe(simulator.traders[0]!.authority);
    // Only a session may read an inbox.
    const before = await fetch(`${simulator.url}/sim/requests`).then((answer) => answer.json());
    const inbox = await api("notifications", "--wallet", "main", "--limit", "5");
    expect(inbox).toMatchObject({ status: 0, stderr: "" });
    const after = await fetch(`${simulator.url}/sim/requests`).then((answer) => answer.json());
    expect(JSON.stringify(before)).not.toBe(JSON.stringify(after));
    expect(JSON.stringify(after)).toContain("/v1/auth/logout");
  });

  test("without a wallet, an endpoint that needs a session is refused", async () => {
    const { authority } = simulator.traders[0]!;
    const { traderAddress } = await import("../../src/wallet/address.ts");
    const traderPubkey = traderAddress(authority, { pdaIndex: 0, subaccount: 0 });
    const { status, stderr } = await api("notifications", "--traderPubkey", traderPubkey, "--limit", "5");
    expect(status).toBe(1);
    expect(stderr).toMatch(/notifications.*session of a wallet/);
  });

  test("names may be written as on the wire or with dashes, times as people do", async () => {
    const { authority } = simulator.traders[0]!;
    for (const spelling of ["--authority", "--authority_pubkey", "--authority-pubkey"])
      expect((await api("traderState", spelling, authority, "--trader-pda-index=0")).status, spelling).toBe(
        0,
      );
    const rates = await api(
      "fundingRates",
      "--symbol",
      "SOL",
      "--start-time",
      "2026-01-01T00:00:00Z",
      "--end-time",
      "2026-01-02",
    );
    expect(rates).toMatchObject({ status: 0, stderr: "" });
    const candles = await api("candles", "--symbol", "SOL", "--timeframe", "1h", "--start-time", "7d");
    expect(candles).toMatchObject({ status: 0, stderr: "" });
    expect(
      (await api("candles", "--symbol", "SOL", "--timeframe", "1h", "--start-time", "yore")).status,
    ).toBe(2);
  });

  test("every mistake in the arguments at once, before anything is sent", async () => {
    const { status, stderr, stdout } = await api("fundingHourly", "--limt", "3", "--symbol");
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toContain("--limt: there is no such parameter; did you mean --limit?");
    expect(stderr).toContain("--symbol needs a value");
    const bounds = await api("fundingHourly", "--limit", "999");
    expect(bounds.status).toBe(2);
    expect(bounds.stderr).toContain("--authority: required");
    expect(bounds.stderr).toMatch(/--limit: must be at most 200/);
    expect((await api("markets", "--all")).stderr).toContain("--all: markets has no pages to follow");
  });

  test("a refusal is reported with its endpoint and status", async () => {
    const { status, stderr } = await api("market", "--symbol", "NOPE");
    expect(status).toBe(1);
    expect(stderr).toMatch(/market.*404/);
    expect((await api("market", "--symbol", "NOPE", "--json")).json()).toMatchObject({
      error: expect.any(String),
    });
  });

  test("--all follows the pages to the end: a line a row, none twice, none left out", async () => {
    const whole = (await api("collateralHistory", "--json")).status;
    expect(whole).toBe(2);
    const page = await api("marketFills", "--symbol", "SOL", "--limit", "1000", "--json");
    const known = (page.json() as { data: object[] }).data.map((row) => JSON.stringify(row));
    expect(known.length).toBeGreaterThan(20);
    const paged = await api("marketFills", "--symbol", "SOL", "--limit", "7", "--all", "--json");
    expect(paged.status).toBe(0);
    const rows = paged.stdout.trim().split("\n");
    expect(rows.map((row) => JSON.stringify(JSON.parse(row)))).toEqual(known);
    expect(paged.stderr).toBe(`marketFills: ${Math.ceil(known.length / 7)} pages, ${known.length} rows\n`);
  });

  test("--all ends where a server repeats a cursor, however long its circle", async () => {
    const page = (at: number) => ({ data: [], hasMore: true, nextCursor: `page-${at % 3}` });
    await using server = await pages((asked) => page(asked));
    const { status, stderr } = await api("marketFills", "--symbol", "SOL", "--all", "--url", server.url);
    expect(status).toBe(1);
    expect(stderr).toContain("marketFills: page 4 leads back to a page that was read before");
    expect(server.asked).toBe(4);
  });

  test("--all for people holds so many rows; as JSON there is no end to them", async () => {
    const one = await api("marketFills", "--symbol", "SOL", "--limit", "1", "--json");
    const [row] = (one.json() as { data: object[] }).data;
    const data = Array.from({ length: 15_000 }, () => row);
    const last = 7;
    await using server = await pages((asked) => {
      return asked < last ? { data, hasMore: true, nextCursor: `page-${asked}` } : { data, hasMore: false };
    });
    const words = ["marketFills", "--symbol", "SOL", "--all", "--url", server.url];
    const people = await api(...words);
    expect({ status: people.status, stdout: people.stdout }).toEqual({ status: 1, stdout: "" });
    expect(people.stderr).toContain("more than 100,000 rows; with --json each is written as it comes");
    expect(server.asked).toBe(last);
    server.asked = 0;
    const lines = await api(...words, "--json");
    expect(lines.status).toBe(0);
    expect(lines.stdout.split("\n")).toHaveLength(last * 15_000 + 1);
  });

  test("what changes something is not sent without a yes", async () => {
    const words = ["ackUpTo", "--wallet", "main", "--before-timestamp", "2026-01-01T00:00:00Z"];
    const asked = await api(...words);
    expect(asked.status).toBe(2);
    expect(asked.stderr).toMatch(
      /ackUpTo changes something at .*\nNothing was signed or sent: nobody can be asked here\..*--yes/,
    );
    expect((await api(...words, "--yes")).status).toBe(0);
  });

  test("a wallet signs in elsewhere than configured only with a yes", async () => {
    const elsewhere = simulator.url.replace("127.0.0.1", "localhost");
    const signedIn = async () => {
      const { counts } = (await fetch(`${simulator.url}/sim/requests`).then((it) => it.json())) as {
        counts: Record<string, number>;
      };
      return counts["/v1/auth/nonce"] ?? 0;
    };
    const words = ["notifications", "--wallet", "main", "--limit", "5"];
    const before = await signedIn();
    const asked = await api(...words, "--url", elsewhere);
    expect(asked).toMatchObject({ status: 2, stdout: "" });
    expect(asked.stderr).toContain(
      `main would sign in at ${elsewhere}, but its exchange is ${simulator.url}`,
    );
    expect(asked.stderr).toMatch(
      /can act as main\.\nNothing was signed or sent: nobody can be asked here\..*--yes/,
    );
    expect(await signedIn()).toBe(before);
    expect(await api(...words, "--url", elsewhere, "--yes")).toMatchObject({ status: 0, stderr: "" });
    expect(await signedIn()).toBe(before + 1);
    // Not where nobody signs in, and not at the same address.
    expect((await api("authNonce", "--wallet", "main", "--url", elsewhere)).status).toBe(0);
    expect((await api(...words, "--url", `${simulator.url}/`)).status).toBe(0);
    expect((await api("notifications", "--help")).stdout).toMatch(/--yes .*without asking/);
  });

  test("a value may come from a file, as secrets should", async () => {
    place.write("symbol.txt", "SOL\n");
    expect(await api("market", "--symbol", "@symbol.txt")).toMatchObject({ status: 0 });
    const gone = await api("market", "--symbol", "@nowhere.txt");
    expect(gone).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("nowhere.txt does not exist"),
    });
    for (const [file, reason] of [
      ["/dev/zero", "is no file of a disk"],
      ["pipe", "is not a regular file"],
      ["large", "is too large"],
    ] as const) {
      if (file === "pipe") spawnSync("mkfifo", [path.join(place.folder, file)]);
      if (file === "large") place.write(file, "x".repeat(1_100_000));
      const ran = await api("market", "--symbol", `@${file}`);
      expect(ran).toMatchObject({ status: 2, stderr: expect.stringContaining(`${file} ${reason}`) });
    }
    const endless = await run(["api", "market", "--symbol", "@-", "--url", simulator.url], {
      ...place,
      input: "x".repeat(1_100_000),
    });
    expect(endless).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("more than 1024 KiB came over standard input"),
    });
  });
});

describe("completion", () => {
  const words = async (...typed: string[]): Promise<string[]> => {
    const { stdout } = await run(["complete-words", "--", ...typed], place);
    return stdout.split("\n").flatMap((line) => line.split("\t")[0] || []);
  };

  test("offers commands, endpoints, parameters, values and wallets", async () => {
    expect(await words("no")).toEqual(["notifications"]);
    expect(await words("alerts", "")).toEqual(expect.arrayContaining(["list", "show", "ack"]));
    expect(await words("api", "fundingH")).toEqual(["fundingHistory", "fundingHourly"]);
    expect(await words("api", "describe", "fundingHo")).toEqual(["fundingHourly"]);
    expect(await words("api", "fundingHourly", "--l")).toEqual(["--limit"]);
    expect(await words("api", "portfolioValues", "--resolution", "1")).toEqual(
      expect.arrayContaining(["1h", "1d"]),
    );
    expect(await words("api", "markets", "--wallet", "")).toEqual(["main"]);
  });

  test.each(["bash", "zsh", "fish"])("has a script for %s", async (shell) => {
    const { status, stdout } = await run(["completion", shell]);
    expect(status).toBe(0);
    expect(stdout).toContain("perpwatch complete-words --");
  });

  test("names no other shell", async () => {
    expect((await run(["completion", "tcsh"])).status).toBe(2);
  });
});
