/** `perpwatch rules test` as people meet it. */
import { expect, test } from "vitest";
import { desk, plainConfig, run } from "./run.ts";

const rules = `
rules:
  - name: Low
    scope: market
    when: market.markPrice < 100.0
    severity: warning
    for: 0s
    keepFiringFor: 0s
    summary: "{{ market.symbol }} at {{ price(market.markPrice) }}"
`;
const tests = (price: number) => `
tests:
  - name: it falls
    series: { market/SOL: { markPrice: "120 ${price}" } }
    expect:
      - { at: 0s, alerts: [] }
      - { at: 5s, alerts: [{ rule: Low, subject: market/SOL }], messages: ["SOL at $90"] }
  - name: no data
    series: { market/SOL: { markPrice: "_" } }
    expect: [{ at: 1m, alerts: [{ rule: Low, dataState: noData }], messages: [] }]
`;

test("the tests beside the configured rules are run, by check too", async () => {
  using at = desk();
  at.write("config.yaml", `${plainConfig}rules: ["./*.yaml"]\n`.replace("./*.yaml", "./low.yaml"));
  at.write("low.yaml", rules);
  at.write("low.test.yaml", tests(90));
  const passed = await run(["rules", "test"], at);
  expect(passed).toMatchObject({ status: 0, stderr: "" });
  expect(passed.stdout).toBe("ok     low.test.yaml: 2 tests\n2 tests in 1 file: all passed.\n");
  expect((await run(["check"], at)).stdout).toContain("\nRule tests\n2 tests in 1 file: all passed.\n");
  expect((await run(["check", "--verbose"], at)).stdout).toContain(
    "Rule tests\nok     low.test.yaml: 2 tests\n",
  );

  at.write("low.test.yaml", tests(110));
  const failed = await run(["rules", "test"], at);
  expect(failed.status).toBe(1);
  expect(failed.stdout).toBe(
    [
      "FAILED low.test.yaml:3: it falls",
      "       at 5s (low.test.yaml:7): other alerts than expected (- expected, + found)",
      "         - Low market/SOL firing",
      "           then market/SOL: markPrice $110.00",
      "       at 5s (low.test.yaml:7): other messages than expected (- expected, + found)",
      '         - title "SOL at $90"',
      "2 tests in 1 file: 1 failed, 1 passed.",
      "",
    ].join("\n"),
  );
  expect((await run(["check"], at)).status).toBe(1);
  const json = (await run(["rules", "test", "--json"], at)).json() as { ok: boolean; files: unknown[] };
  expect(json).toMatchObject({
    ok: false,
    files: [
      {
        file: "low.test.yaml",
        tests: [
          { name: "it falls", line: 3, ok: false, failures: [{ atMs: 5_000, line: 7, what: "alerts" }, {}] },
          { name: "no data", ok: true },
        ],
      },
    ],
  });
});

test("a failure that names no subject shows the figures of all", async () => {
  using at = desk();
  at.write("low.yaml", rules);
  at.write("low.test.yaml", tests(110).replace(", subject: market/SOL", ""));
  const { stdout } = await run(["rules", "test", "low.test.yaml", "--filter", "falls"], at);
  expect(stdout).toContain("         - Low (any) firing\n           then market/SOL: markPrice $110.00\n");
});

test("a part of them, a folder, and files that are wrong", async () => {
  using at = desk();
  at.write("low.yaml", rules);
  at.write("low.test.yaml", tests(110));
  expect((await run(["rules", "test", "low.test.yaml", "--filter", "data"], at)).status).toBe(0);
  expect((await run(["rules", "test", ".", "--filter", "falls"], at)).status).toBe(1);
  const none = await run(["rules", "test", ".", "--filter", "rises"], at);
  expect(none).toMatchObject({ status: 2, stderr: 'perpwatch: no test has "rises" in its name\n' });
  at.write("low.test.yaml", `rules: [./lwo.yaml]\n${tests(90)}`);
  const wrong = await run(["rules", "test", "low.test.yaml"], at);
  expect(wrong.status).toBe(2);
  expect(wrong.stderr).toContain("low.test.yaml:1:1: ./lwo.yaml does not exist (looked for lwo.yaml)");
  at.write("low.test.yaml", tests(90).replace("markPrice", "markPrize"));
  expect((await run(["rules", "test", "low.test.yaml"], at)).stderr).toContain(
    "low.test.yaml:4:29: market/SOL has no markPrize",
  );
});

test("the packs that ship keep what they promise", async () => {
  using at = desk();
  at.write("config.yaml", plainConfig);
  const ran = await run(["rules", "test"], at);
  expect(ran.stdout).toContain("all passed.");
  expect(ran.status).toBe(0);
});

test("files of rule tests are no rule files", async () => {
  using at = desk();
  at.write("config.yaml", `${plainConfig}rules: ["./*low*.yaml"]\n`);
  at.write("low.yaml", rules);
  at.write("low.test.yaml", tests(90));
  expect((await run(["rules", "check"], at)).stdout).toContain("1 rule in 1 file");
  at.write("config.yaml", `${plainConfig}rules: [./low.test.yaml]\n`);
  expect((await run(["rules", "check"], at)).stderr).toContain(
    "./low.test.yaml is a file of rule tests and holds no rules: perpwatch rules test runs it",
  );
});

test("a limit that differs by market is that of the position's own market, else the default, else missing", async () => {
  using at = desk();
  at.write(
    "much.yaml",
    `rules:
  - name: Much
    scope: position
    when: position.notional > wallet.limits.inventory
    severity: warning
    keepFiringFor: 0s
    summary: "{{ position.symbol }}: {{ usd(position.notional) }} of {{ usd(wallet.limits.inventory) }}"
`,
  );
  at.write(
    "much.test.yaml",
    `wallets:
  main: { limits: { inventory: { SOL: 500, default: 100 } } }
  other: { limits: { inventory: { SOL: 500 } } }
tests:
  - name: by market
    series:
      main/0.0/SOL: { side: long, size: 2, notional: "400 600" }
      main/0.0/BTC: { side: long, size: 2, notional: "400 600" }
      other/0.0/BTC: { side: long, size: 2, notional: "400 600" }
    expect:
      - at: 0s
        alerts: [{ rule: Much, subject: main/0.0/BTC }]
        messages: ["BTC: $400.00 of $100.00"]
      - at: 5s
        alerts: [{ rule: Much, subject: main/0.0/BTC }, { rule: Much, subject: main/0.0/SOL }]
        messages: ["SOL: $600.00 of $500.00"]
`,
  );
  const { stdout } = await run(["rules", "test", "much.test.yaml"], at);
  expect(stdout).toBe("ok     much.test.yaml: 1 test\n1 test in 1 file: all passed.\n");
});
