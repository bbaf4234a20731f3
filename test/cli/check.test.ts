// biome-ignore-all lint/suspicious/noTemplateCurlyInString: configurations hold references to the environment.
/** `check` and `rules check`: mistakes with their lines, and the online checks. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../../src/simulator/index.ts";
import { startDiscord } from "../support/discord.ts";
import { startProgram } from "../support/program.ts";
import { type Desk, desk, plainConfig, run } from "./run.ts";

interface Finding {
  readonly what: string;
  readonly state: string;
  readonly detail: string;
  readonly fix: string | null;
}

test("every mistake is reported with its line, and the status is 2", async () => {
  using place = desk();
  place.write(
    "mine.yaml",
    "rules:\n  - { name: A, scope: trader, when: trader.equty < 1, severity: critical, summary: x }\n",
  );
  place.write("open.json", "[1]", 0o644);
  place.write(
    "config.yaml",
    [
      "walets: []",
      "wallets:",
      "  - { name: main, keyFile: open.json }",
      "channels: { chat: { type: discord, token: ${CHAT_TOKEN}, channelId: 12 } }",
      "rules: [mine.yaml]",
      "",
    ].join("\n"),
  );
  const env = { CHAT_TOKEN: "very.secret.token" };
  const people = await run(["check"], { ...place, env });
  expect(people).toMatchObject({ status: 2, stdout: "" });
  expect(people.stderr).toMatch(/^perpwatch: \d mistakes in the configuration\n/);
  expect(people.stderr).toMatch(
    /config\.yaml:1:1: walets: unknown section walets\n {2}did you mean wallets\?/,
  );
  expect(people.stderr).toMatch(/config\.yaml:3:.*open\.json.*chmod 600/);
  expect(people.stderr).toMatch(/mine\.yaml:2:\d+: .*equty/);
  const json = await run(["check", "--json"], { ...place, env });
  expect(json).toMatchObject({ status: 2, stderr: "" });
  const { problems, error } = json.json() as { error: string; problems: { file: string; line: number }[] };
  // The problems are stated once, as structure.
  expect(error).toBe(`${problems.length} mistakes in the configuration`);
  const places = problems.map(({ file, line }) => `${path.basename(file)}:${line}`);
  expect(places).toEqual(expect.arrayContaining(["config.yaml:1", "config.yaml:3", "mine.yaml:2"]));
  for (const { stdout, stderr } of [people, json]) expect(stdout + stderr).not.toContain("secret.token");
});

test("what is fine is a line a subject, without the tests of the packs that ship", async () => {
  using place = desk();
  place.write("config.yaml", plainConfig);
  const { status, stdout } = await run(["check"], place);
  expect(status).toBe(0);
  expect(stdout.split("\n")).toEqual([
    "wallets: main (watch-only)",
    expect.stringMatching(/^rules: \d+ rules in 12 files$/),
    "channels: here (console)",
    expect.stringMatching(/^schedules: [\d.]+ of 20 requests\/s that are tried first$/),
    `database: ${path.join(place.folder, "perpwatch")} (will be made)`,
    "status page: off",
    "",
    expect.stringMatching(/^warning: .*main is watch-only/),
    "",
    "No mistakes, 1 warning. --online tries it, too.",
    "",
  ]);
  const { tests } = (await run(["check", "--json"], place)).json() as { tests: unknown[] };
  expect(tests).toEqual([]);
});

test("prints wallets, rules by file, channels, and the demand against the ceiling", async () => {
  using place = desk();
  place.write(
    "config.yaml",
    `${plainConfig}exchange: { requestsPerSecond: 0.2 }\nrules: ["shipped:margin", "shipped:notifications"]\n`,
  );
  const people = await run(["check", "--verbose"], place);
  expect(people).toMatchObject({ status: 0, stderr: "" });
  expect(people.stdout).toMatch(/^main +8Xk4b2nUo7QwqVf3mT1pZr6cYh5dLs9eJg2aNu4iRt7K +watch-only +0$/m);
  expect(people.stdout).toMatch(/^ {2}shipped:margin: MarginHigh \(trader\)/m);
  expect(people.stdout).toMatch(/^here +console$/m);
  const silent = people.stdout.split("\n").filter((line) => line.includes("cannot apply"));
  expect(silent).toHaveLength(1);
  expect(silent[0]).toMatch(
    /^warning: \.\/config\.yaml:3: main is watch-only.*: Spot.*, OrderFilled.* cannot/,
  );
  expect(people.stdout).toMatch(/Schedules want [\d.]+ of 0\.2 requests\/s: too many/);
  const { demand, wallets, channels, rules, ok, warnings } = (
    await run(["check", "--json"], place)
  ).json() as {
    ok: boolean;
    warnings: unknown[];
    wallets: unknown[];
    channels: unknown[];
    rules: { file: string; rules: { name: string }[] }[];
    demand: { sources: { source: string; everyMs: number; effectiveMs: number }[] };
  };
  expect(ok).toBe(true);
  expect(warnings).toEqual([
    {
      file: "./config.yaml",
      line: 3,
      path: "wallets[0]",
      message: expect.stringMatching(/^main is watch/) as string,
    },
  ]);
  expect(wallets).toMatchObject([{ name: "main", watchOnly: true, login: null }]);
  expect(channels).toEqual([{ name: "here", type: "console" }]);
  expect(rules.map(({ file }) => file)).toEqual(["shipped:margin", "shipped:notifications"]);
  const state = demand.sources.find(({ source }) => source === "traderState")!;
  expect(state.everyMs).toBe(5_000);
  expect(state.effectiveMs).toBeGreaterThan(5_000);
  // A source that is read once has no interval, and one without wallets is not read.
  expect(people.stdout).toMatch(/^pnl +5m +once a wallet +0$/m);
  expect(people.stdout).toMatch(/^notifications +\d+s +never: no wallet signs in +0$/m);
  expect(people.stdout).toMatch(/\nNo mistakes, 1 warning\. --online tries it, too\.\n$/);
  // The text states the interval that it actually gets.
  expect(people.stdout).toMatch(
    new RegExp(`^traderState +5s +${Math.round(state.effectiveMs / 1_000)}\\.?\\d*s `, "m"),
  );
});

test("without a warning there is nothing but no mistakes", async () => {
  using place = desk();
  place.write("config.yaml", `${plainConfig}rules: ["shipped:margin"]\n`);
  expect((await run(["check"], place)).stdout).toMatch(/\nNo mistakes\. --online tries it, too\.\n$/);
});

describe("rules check", () => {
  const good =
    "rules:\n  - { name: Mine, scope: trader, when: trader.equity < 1.0, severity: info, summary: x, select: { wallet: main } }\n";

  test("files alone, against the wallets of the configuration where there is one", async () => {
    using place = desk();
    place.write("mine.yaml", good);
    const without = await run(["rules", "check", "mine.yaml"], place);
    expect(without.status).toBe(2);
    expect(without.stderr).toMatch(/1 mistake in rules\nmine\.yaml:2:\d+: no wallet is called main/);
    place.write("config.yaml", plainConfig);
    const ran = await run(["rules", "check", "mine.yaml"], place);
    expect(ran).toMatchObject({
      status: 0,
      stderr: "",
      stdout: "1 rule in 1 file\n  mine.yaml: Mine (trader)\n",
    });
    expect((await run(["rules", "check", "mine.yaml", "--json"], place)).json()).toEqual({
      ok: true,
      files: [
        { file: "mine.yaml", rules: [{ name: "Mine", line: 2, about: "trader", severities: ["info"] }] },
      ],
      warnings: [],
    });
  });

  test("a label that no wallet has is warned of, with the one that may be meant", async () => {
    using place = desk();
    place.write(
      "mine.yaml",
      "rules:\n  - { name: A, on: liquidation, severity: info, summary: x, select: { dsk: a } }\n",
    );
    place.write("config.yaml", plainConfig.replace("name: main,", "name: main, labels: { desk: a },"));
    const { warnings } = (await run(["rules", "check", "mine.yaml", "--json"], place)).json() as {
      warnings: { message: string }[];
    };
    expect(warnings).toContainEqual({
      ...{ file: "mine.yaml", line: 2, column: 76, path: "" },
      message: "no wallet has the label dsk: the rule has no subjects (did you mean desk?)",
    });
  });

  test("a percentage where a fraction is meant is warned of at its place, also in an override", async () => {
    using place = desk();
    place.write(
      "mine.yaml",
      "rules:\n  - name: Mine\n    scope: trader\n    when: trader.marginRatio > 80\n    severity: info\n    summary: x\n",
    );
    const override = "ruleOverrides: { OrdersMayBeCancelled: { when: trader.marginRatio > 65 } }\n";
    place.write("config.yaml", `${plainConfig}rules: ["shipped:margin", mine.yaml]\n${override}`);
    const about = "trader.marginRatio is a fraction:";
    const own = `mine.yaml:4:32: ${about} 80 is 8,000%, and 80% is 0.8 (did you mean 0.8?)`;
    const overridden = `./config.yaml:8: ${about} 65 is 6,500%, and 65% is 0.65 (did you mean 0.65?)`;
    expect((await run(["rules", "check", "mine.yaml"], place)).stdout).toContain(`\nwarning: ${own}\n`);
    for (const command of [["check"], ["rules", "check"]]) {
      const { status, stdout } = await run(command, place);
      expect(status).toBe(0);
      expect(stdout).toContain(`\nwarning: ${own}\n`);
      if (command.length === 1) expect(stdout).toContain(`\nwarning: ${overridden}\n`);
    }
    const { warnings } = (await run(["check", "--json"], place)).json() as { warnings: object[] };
    expect(warnings).toContainEqual({
      ...{ file: "mine.yaml", line: 4, column: 32, path: "" },
      message: own.slice("mine.yaml:4:32: ".length),
    });
  });

  test("without files: those of the configuration", async () => {
    using place = desk();
    place.write("config.yaml", plainConfig);
    const ran = await run(["rules", "check"], place);
    expect(ran.status).toBe(0);
    expect(ran.stdout).toMatch(/^\d+ rules in \d+ files\n/);
    for (const line of ran.stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(110);
    expect(ran.stdout).toMatch(/shipped:liquidation-risk: LiquidationNear \(position\)/);
  });

  test("mistakes, with their lines; JSON on request; a file that is not there", async () => {
    using place = desk();
    place.write(
      "bad.yaml",
      "rules:\n  - { name: A, scope: trader }\n  - { name: A, scope: nowhere, when: 1, severity: bad, summary: x }\n",
    );
    const ran = await run(["rules", "check", "bad.yaml"], place);
    expect(ran.status).toBe(2);
    expect(ran.stderr).toMatch(/bad\.yaml:2:(.*\n)*.*bad\.yaml:3:/);
    const { problems } = (await run(["rules", "check", "bad.yaml", "--json"], place)).json() as {
      problems: { line: number }[];
    };
    expect(new Set(problems.map(({ line }) => line))).toEqual(new Set([2, 3]));
    expect(await run(["rules", "check", "gone.yaml"], place)).toMatchObject({
      status: 2,
      stderr: "perpwatch: gone.yaml does not exist\n",
    });
  });
});

describe("check --online", () => {
  let simulator: Simulator;
  let place: Desk;
  beforeAll(async () => {
    place = desk();
    simulator = await startSimulator({
      port: 0,
      traders: 2,
      walk: false,
      keysDir: path.join(place.folder, "keys"),
    });
    const [main, watched] = simulator.traders;
    place.write(
      "config.yaml",
      [
        `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
        "wallets:",
        `  - { name: main, keyFile: ${main!.keyFile} }`,
        `  - { name: watched, authority: ${watched!.authority} }`,
        "channels: { here: { type: console } }",
        "history: { path: ./p }",
        "dashboard: { listen: off }",
        "",
      ].join("\n"),
    );
  });
  afterAll(async () => {
    await simulator.stop();
    place[Symbol.dispose]();
  });

  async function online(): Promise<{ status: number | null; findings: Finding[] }> {
    const ran = await run(["check", "--online", "--json"], place);
    const { online: findings } = ran.json() as { online: Finding[] };
    return { status: ran.status, findings };
  }

  test("signs in, reads each endpoint in use, looks at each channel, and leaves no session behind", async () => {
    const { status, findings } = await online();
    expect(findings.filter(({ state }) => state === "failed")).toEqual([]);
    expect(status).toBe(0);
    const found = findings.map(({ what }) => what);
    expect(found).toEqual([
      ...["markets", "latestMarketsStats", "collateralAssets", "exchangeStatus", "fundingRates", "candles"],
      ...["orderbook", "nextMarketCalendarTransition"],
      ...["main: sign-in", "main/0: traderState", "main/0: traderView", "main/0: portfolioValues"],
      ...["main/0: marketPnl", "main/0: fundingHourly"],
      ...["main/0: liquidationHistory", "main/0: notifications", "main: userCollateralHistory"],
      ...[
        "main: orderHistory",
        "main: tradesHistory",
        "main: userPnl",
        "watched",
        "watched/0: traderState",
        "watched/0: traderView",
        "watched/0: portfolioValues",
        "watched/0: marketPnl",
      ],
      ...["watched/0: fundingHourly", "watched/0: liquidationHistory", "watched: userCollateralHistory"],
      ...["watched: orderHistory", "watched: tradesHistory", "watched: userPnl", "channel here"],
    ]);
    expect(findings.find(({ what }) => what === "main: sign-in")?.detail).toBe("signed in by message");
    expect(simulator.requests.query("/v1/auth/logout").requests.map((one) => one.status)).toEqual([204]);
    // Whatever the daemon's schedules ask for was read here; the past of wallets comes last.
    const asked = (): string[] =>
      Object.keys(simulator.requests.query(undefined).counts)
        .filter((one) => !one.startsWith("/v1/auth/") && one !== "/v1/ws")
        .map((one) => one.replace(/\/([1-9A-HJ-NP-Za-km-z]{32,44}|[A-Z0-9]{2,12})(?=\/|$)/g, "/NAME"));
    const checked = asked();
    const people = await run(["check", "--online"], place);
    const lines = people.stdout.split("\n");
    expect(lines.slice(lines.findIndex((line) => line.startsWith("Online, with")) + 1)).toEqual([
      expect.stringMatching(/^ {2}ok {5}exchange: 8 answers, \d+ markets, trading, /),
      "  ok     main: 12 answers, signed in by message, 2 subaccounts, its inbox can be read",
      "  note   watched: watch-only: public reads, no notifications",
      "  ok     watched: 10 answers, 1 subaccount",
      "  ok     channel here: writes to standard output",
      "",
      "Nothing failed, 1 warning.",
      "",
    ]);
    simulator.requests.clear();
    await using daemon = startProgram(["start"], place);
    await expect.poll(() => asked().some((one) => /pnl/i.test(one)), { timeout: 30_000 }).toBe(true);
    await daemon.end("SIGTERM");
    expect(asked().filter((one) => !checked.includes(one))).toEqual([]);
  });

  test("a keystore that does not open is one finding for the signer, with its own fix", async () => {
    using own = desk();
    const [main, second] = simulator.traders;
    const stored = [main, second].map((one, index) => `  - { name: w${index}, keystore: ${one!.authority} }`);
    own.write(
      "config.yaml",
      [
        `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
        ...["wallets:", ...stored, "channels: { here: { type: console } }", "history: { path: ./p }"],
        ...["dashboard: { listen: off }", "signer: { passphraseFile: ./passphrase }", ""],
      ].join("\n"),
    );
    own.write("passphrase", "the right one");
    for (const { name } of [main!, second!]) {
      const input = simulator.keyOf(name).withKeypair((pair) => `[${[...pair].join(",")}]`);
      expect(await run(["wallet", "import"], { ...own, input })).toMatchObject({ status: 0 });
    }
    own.write("passphrase", "a wrong one");
    const ran = await run(["check", "--online", "--json"], own);
    const { online: findings } = ran.json() as { online: Finding[] };
    expect(findings.filter(({ state }) => state === "failed")).toEqual([
      {
        what: "signer",
        state: "failed",
        detail: expect.stringMatching(/keystore\.json: the passphrase does not open the keystore/),
        fix: expect.stringMatching(
          /^look at .*\/passphrase: it has to hold the passphrase of .*keystore\.json$/,
        ),
      },
    ]);
    expect(ran.status).toBe(1);
  });

  test("a market that a rule names and the exchange does not list is worth knowing", async () => {
    const rule =
      "{ name: Far, scope: market, select: { symbol: [SOLL] }, when: market.markPrice > 1.0, severity: info, summary: far }";
    place.write("far.yaml", `rules:\n  - ${rule}\n`);
    place.write(
      "far-config.yaml",
      [
        `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
        `wallets: [{ name: watched, authority: ${simulator.traders[1]!.authority} }]`,
        "rules: [./far.yaml]",
        "channels: { here: { type: console } }",
        "history: { path: ./p }",
        "dashboard: { listen: off }",
        "",
      ].join("\n"),
    );
    const ran = await run(["check", "--online", "--json", "--config", "far-config.yaml"], place);
    const { online: findings } = ran.json() as { online: Finding[] };
    expect(ran.status).toBe(0);
    expect(findings.find(({ what }) => what === "rule Far")).toMatchObject({
      state: "note",
      detail: "the exchange lists no market SOLL: the rule waits for one that may never come",
      fix: "did you mean SOL?",
    });
  });

  test("a channel that works partly is reported with a remedy", async () => {
    await using discord = await startDiscord();
    discord.permissions.delete("CREATE_PUBLIC_THREADS");
    const { token, channelId, apiUrl } = discord;
    place.write(
      "chat-config.yaml",
      [
        `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
        `wallets: [{ name: watched, authority: ${simulator.traders[1]!.authority} }]`,
        `channels: { chat: { type: discord, token: ${token}, channelId: "${channelId}", apiUrl: "${apiUrl}" } }`,
        "history: { path: ./p }",
        "dashboard: { listen: off }",
        "",
      ].join("\n"),
    );
    const ran = await run(["check", "--online", "--json", "--config", "chat-config.yaml"], place);
    const { online: findings } = ran.json() as { online: Finding[] };
    expect(ran.status).toBe(0);
    expect(findings.filter(({ what }) => what === "channel chat")).toEqual([
      { what: "channel chat", state: "ok", detail: "bot perpwatch in #alerts", fix: null },
      {
        ...{ what: "channel chat", state: "note" },
        detail: "without Create Public Threads what follows a critical message stays in the channel",
        fix: expect.stringMatching(
          /^give the bot Create Public Threads and Send Messages in Threads/,
        ) as string,
      },
    ]);
  });

  test("a wallet that the exchange does not know is one failure, and how to register it", async () => {
    await run(["wallet", "new", "fresh.json"], place);
    place.write(
      "fresh-config.yaml",
      [
        `exchange: { baseUrl: ${simulator.url}, requestsPerSecond: 1000 }`,
        `wallets: [{ name: fresh, keyFile: fresh.json }, { name: main, keyFile: ${simulator.traders[0]!.keyFile}, accounts: { pdaIndices: [0, 7] } }]`,
        "channels: { here: { type: console } }",
        "history: { path: ./p }",
        "dashboard: { listen: off }",
        "",
      ].join("\n"),
    );
    const ran = await run(["check", "--online", "--json", "--config", "fresh-config.yaml"], place);
    const { online: findings } = ran.json() as { online: Finding[] };
    expect(ran.status).toBe(1);
    expect(findings.filter(({ state }) => state === "failed")).toEqual([
      {
        ...{ what: "fresh/0: traderView", state: "failed" },
        detail: "the exchange knows no such trader account",
        fix: expect.stringMatching(
          /^is \w{32,44} its address\? .*`perpwatch onboard register --wallet fresh`$/,
        ) as string,
      },
      {
        ...{ what: "main/7: traderView", state: "failed" },
        detail: "the exchange knows no such trader account",
        fix: "look at the accounts of this wallet (pdaIndices)",
      },
    ]);
  });

  test("what fails is said with how to mend it, what works is tried all the same", async () => {
    await simulator.call("fault", {
      path: "/v1/traders/*",
      status: 403,
      error: "insufficient_role",
      times: 1_000,
    });
    await simulator.call("fault", {
      path: "/v1/view/exchange/status",
      body: '{"active": "maybe"}',
      times: 1_000,
    });
    try {
      const { status, findings } = await online();
      expect(status).toBe(1);
      const failed = findings.filter(({ state }) => state === "failed");
      expect(failed.map(({ what }) => what)).toEqual(
        expect.arrayContaining(["exchangeStatus", "main/0: notifications"]),
      );
      expect(failed.find(({ what }) => what === "exchangeStatus")).toMatchObject({
        detail: expect.stringMatching(/active/) as string,
        fix: expect.stringMatching(/update perpwatch/) as string,
      });
      expect(findings.find(({ what }) => what === "main/0: traderState")?.state).toBe("ok");
      const people = await run(["check", "--online"], place);
      expect(people.status).toBe(1);
      expect(people.stdout).toMatch(/FAILED main\/0: notifications: .*403 insufficient_role\n +fix: /);
      expect(people.stdout).toMatch(/\d checks failed, 1 warning\.\n$/);
    } finally {
      simulator.faults.clear();
    }
  });
});

test.each([
  [200, '{"hello": "world"}'],
  [200, "<html>It works!</html>"],
  [404, "not found"],
])(
  "a server that answers %i %s is read twice, and reported once as a wrong address",
  async (status, body) => {
    using place = desk();
    const asked: (string | undefined)[] = [];
    const stranger = createServer((request, response) => {
      asked.push(request.url);
      response.writeHead(status, { "content-type": "application/json" }).end(body);
    });
    await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve));
    const { port } = stranger.address() as AddressInfo;
    try {
      place.write("config.yaml", `${plainConfig}exchange: { baseUrl: "http://127.0.0.1:${port}" }\n`);
      const ran = await run(["check", "--online", "--json"], place);
      expect(ran.status).toBe(1);
      const { online } = ran.json() as { online: Finding[] };
      expect(online.map(({ what, state }) => [what, state])).toEqual([
        ["exchange", "failed"],
        ["channel here", "ok"],
      ]);
      expect(online[0]).toMatchObject({
        detail: expect.stringContaining(
          `http://127.0.0.1:${port} answers, and not as the exchange does (markets: `,
        ) as string,
        fix: expect.stringMatching(/^is exchange\.baseUrl the exchange's address\?/) as string,
      });
      expect(asked).toHaveLength(2);
    } finally {
      stranger.close();
      stranger.closeAllConnections();
    }
  },
);

test("an exchange that does not answer costs one wait, and channels are looked at all the same", async () => {
  using place = desk();
  place.write("config.yaml", `${plainConfig}exchange: { baseUrl: "http://127.0.0.1:9" }\n`);
  const ran = await run(["check", "--online", "--json"], place);
  expect(ran.status).toBe(1);
  const { online } = ran.json() as { online: Finding[] };
  expect(online.map(({ what, state }) => [what, state])).toEqual([
    ["markets", "failed"],
    ["channel here", "ok"],
  ]);
  expect(online[0]!.fix).toMatch(/exchange\.baseUrl/);
});
