/** Tables of all commands fit into 100 columns when the output is no terminal, and lose no word. */
import path from "node:path";
import { expect, test } from "vitest";
import { changes } from "../../src/domain/stored/changes.ts";
import { openStore } from "../../src/history/index.ts";
import { acknowledgement, alert, alertChange, event, message, owedItem, t0 } from "../history/examples.ts";
import { openDashboard } from "../web/open.ts";
import { darkStatus, status } from "../web/world.ts";
import { desk, plainConfig, run } from "./run.ts";

const [rule, wallet] = ["NearLiquidationAfterHours", "market-maker-of-the-second-desk"];
const subject = `${wallet}/0.0/1MBONK`;
const summary = `${wallet}: 1MBONK short is 2.57 % from liquidation, 0.4 daily moves, while its market is after hours`;
const key = "notification:event:312345678:4123:0:1:2";
const id = "4uQeVj5tqViQh7yWWGStvk4uQeVj5tqViQh7yWWGStvk";

const config = plainConfig.replace(
  "name: main,",
  `name: ${wallet}, labels: { desk: alpha, book: perpetuals, team: night },`,
);

/** Lines that are too long, except sentences. */
function far(text: string): string[] {
  return text.split("\n").filter((line) => [...line].length > 100 && !/^(warning: |#\d)/.test(line));
}

/** The words of a text, independent of lines and columns. */
function words(text: string): Set<string> {
  return new Set(text.split(/\s+/));
}

async function left() {
  const place = desk();
  place.write("config.yaml", config);
  const store = openStore({ path: path.join(place.folder, "perpwatch") });
  const one = alert({
    ...{ rule, subject, wallet, summary, severity: "info", worstSeverity: "critical" },
    ...{ acknowledgedBy: "somebody-at-night", acknowledgedAtMs: t0 + 9_000 },
  });
  const fields = { type: "admin", title: summary, body: null, side: "ask", size: 12.5, price: 131.4 };
  await store.commit([
    changes({
      alerts: [one],
      alertChanges: [
        alertChange({
          alert: one,
          happenedMs: t0,
          details: [
            ["Mark", "$132.10"],
            ["Liquidation", "$126.55"],
          ],
        }),
      ],
      deliveryItems: [owedItem({ status: "sealed", messageId: id })],
      messages: [
        message({
          id,
          attempts: 1,
          lastFailure: "unreachable",
          lastDetail: "getaddrinfo ENOTFOUND discord.com",
        }),
      ],
      events: [event({ key, wallet, fields })],
      acknowledgements: [acknowledgement({ key, wallet })],
    }),
  ]);
  await store.close();
  return place;
}

test("of what a daemon left", async () => {
  using place = await left();
  for (const [args, shown] of [
    [["alerts"], [rule, subject, summary]],
    [
      ["alerts", "show", "1"],
      [rule, subject, summary, id, "ENOTFOUND"],
    ],
    [["status"], [rule, subject, summary]],
    [["notifications"], [key.replace("notification:", ""), wallet, summary]],
    [
      ["history", "events", "--since", "2025-12-01T00:00:00Z"],
      [`${wallet}/0.1`, summary],
    ],
  ] as const) {
    const ran = await run([...args], place);
    expect(far(ran.stdout), args.join(" ")).toEqual([]);
    expect(
      [...words(shown.join(" "))].filter((word) => !words(ran.stdout).has(word)),
      ran.stdout,
    ).toEqual([]);
  }
});

test("of what needs no daemon", { timeout: 60_000 }, async () => {
  using place = desk();
  place.write("config.yaml", config);
  for (const args of [
    ["check", "--verbose"],
    ["api"],
    ["rules", "vocabulary"],
    ["channels", "vocabulary"],
    ["wallet", "list"],
  ]) {
    const ran = await run(args, place);
    expect(ran.status, ran.stderr).toBe(0);
    expect(far(ran.stdout), args.join(" ")).toEqual([]);
  }
});

test("of a daemon that runs", async () => {
  for (const told of [status, darkStatus]) {
    await using dashboard = await openDashboard({ status: told });
    using place = desk();
    place.write(
      "config.yaml",
      `history: { path: ${dashboard.socketPath.replace(/\.sock$/, "")} }\nchannels: { here: { type: console } }\n`,
    );
    const { stdout } = await run(["status"], place);
    expect(stdout).toContain("Positions\nPOSITION");
    const tables = stdout.split("\n\n").slice(1, -1).join("\n");
    expect(far(tables)).toEqual([]);
    const wide = (await run(["status"], { ...place, columns: 250 })).stdout;
    const lost = [...words(wide)].filter((word) => word === word.toLowerCase() && !words(stdout).has(word));
    expect(lost).toEqual([]);
  }
});
