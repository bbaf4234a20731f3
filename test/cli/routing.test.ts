/** Silences from a shell, over the local API's real socket; and the route of an alert, without a daemon. */
import { createServer } from "node:http";
import path from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { DashboardSource } from "../../src/domain/ports.ts";
import { openDashboard } from "../web/open.ts";
import { alert, nowMs } from "../web/world.ts";
import { desk, run } from "./run.ts";

const wallets =
  "wallets: [{ name: main, authority: GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD, labels: { desk: alpha } }]\n";

async function daemon(of: Partial<DashboardSource> = {}) {
  const dashboard = await openDashboard(of);
  const place = desk();
  place.write(
    "config.yaml",
    `history: { path: ${dashboard.socketPath.replace(/\.sock$/, "")} }\nchannels: { here: { type: console } }\n${wallets}`,
  );
  return {
    asked: dashboard.asked,
    run: (...args: string[]) => run(args, place),
    async [Symbol.asyncDispose]() {
      place[Symbol.dispose]();
      await dashboard[Symbol.asyncDispose]();
    },
  };
}

describe("silence", () => {
  test("add prints what it silences, until when, and the matching firing alerts", async () => {
    await using it = await daemon({
      silence: async (wish) => ({
        kind: "done",
        silence: {
          ...{
            id: 3,
            match: { wallet: { in: ["main"] } },
            upTo: "warning",
            author: wish.author,
            comment: wish.comment,
          },
          ...{ startsMs: nowMs, endsMs: nowMs + 28_800_000, createdMs: nowMs },
        },
        holds: [alert({ id: 57, severity: "warning", summary: "main: margin ratio 71 %" })],
      }),
    });
    const { status, stdout, stderr } = await it.run(
      "silence",
      "add",
      "wallet=main",
      "--for",
      "8h",
      "--comment",
      "known",
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^Silence 3: wallet=main, up to warning, until \S+ \S+ UTC\.\n/);
    expect(stdout).toContain("Of what fires now it holds 1 alert:\n  #57 warning main: margin ratio 71 %");
    expect(stdout).toContain("Critical alerts are sent all the same");
  });

  const slips = ["walet=main", "rule!=Nope", "wallet=~mian"];
  const sentences = [
    "no wallet and no rule has the label walet (did you mean wallet?)",
    "no rule is called Nope; it may have been removed",
  ];

  test("what the configuration does not have is not silenced", async () => {
    await using it = await daemon();
    const { status, stdout, stderr } = await it.run("silence", "add", ...slips, "--for", "8h");
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(
      `perpwatch: ${sentences.join("; ")}. Nothing is silenced; --force does it all the same\n`,
    );
    expect(it.asked.filter(([name]) => name === "silence")).toEqual([]);
  });

  test("with --force it is, with a warning", async () => {
    await using it = await daemon();
    const { status, stdout, stderr } = await it.run("silence", "add", ...slips, "--for", "8h", "--force");
    expect(status).toBe(0);
    expect(stdout).toContain("Silence 1: ");
    expect(stderr).toBe(sentences.map((one) => `warning: ${one}\n`).join(""));
  });

  test("check warns of those of the running daemon that ask for what nothing has", async () => {
    const of = (id: number, label: string, endsMs: number) => ({
      ...{ id, author: "ann", comment: "", upTo: "warning" as const, startsMs: 0, createdMs: 0, endsMs },
      match: { [label]: { in: ["main"] } },
    });
    const silences = () => [
      of(1, "wallet", nowMs + 60_000),
      of(2, "walet", nowMs + 60_000),
      of(3, "valet", nowMs),
    ];
    await using it = await daemon({ silences });
    const warning =
      "silence 2 may match nothing: no wallet and no rule has the label walet (did you mean wallet?)";
    const { status, stdout } = await it.run("check");
    expect(status).toBe(0);
    expect(stdout.match(/silence \d.*/g)).toEqual([warning]);
    expect(stdout).toMatch(/No mistakes, \d+ warnings?\./);
    expect(JSON.parse((await it.run("check", "--json")).stdout)).toMatchObject({ silences: [warning] });
  });

  test("a preview asks for one", async () => {
    await using it = await daemon();
    const { status, stdout } = await it.run(
      "silence",
      "add",
      "severity=info",
      "--for",
      "1h",
      "--preview",
      "--by",
      "ann",
    );
    expect(status).toBe(0);
    expect(stdout).toContain("Nothing is silenced yet. It would hold");
    // Its end is by the daemon's clock, not by this machine's.
    const wish = { matchers: ["severity=info"], author: "ann", endsMs: nowMs + 3_600_000 };
    expect(it.asked).toMatchObject([["silence", wish, true]]);
  });

  test("its end is by the clock of a daemon that answers slowly, too", { timeout: 30_000 }, async () => {
    using place = desk();
    place.write("config.yaml", `history: { path: slow.db }\n${wallets}`);
    let endsMs = 0;
    const server = createServer((request, response) => {
      const answer = (body: object) => response.end(JSON.stringify(body));
      response.setHeader("content-type", "application/json");
      if (request.method === "GET") setTimeout(() => answer({ silences: [], nowMs }), 2_500);
      else
        void text(request).then((sent) => {
          ({ endsMs } = JSON.parse(sent));
          const times = { startsMs: nowMs, endsMs, createdMs: nowMs };
          const of = {
            id: 1,
            match: { wallet: { in: ["main"] } },
            upTo: "warning",
            author: "ann",
            comment: "",
          };
          answer({ silence: { ...of, ...times }, holds: [] });
        });
    });
    await new Promise<void>((resolve) => server.listen(path.join(place.folder, "slow.db.sock"), resolve));
    const { status } = await run(["silence", "add", "wallet=main", "--for", "1h"], place);
    server.close();
    expect({ status, endsMs }).toEqual({ status: 0, endsMs: nowMs + 3_600_000 });
  });

  test.each([
    [["silence", "add", "wallet=main"], 2, "say for how long: --for 8h, or --until TIME"],
    [["silence", "add", "nonsense", "--for", "1h"], 2, '"nonsense" is no matcher'],
    [["silence", "add", "a=b", "--for", "soon"], 2, "Expected a duration such as 30m, 8h or 7d."],
    [["silence", "expire", "x"], 2, "a silence's id is a number such as 3"],
    [["silence", "expire", "2"], 1, "silence 2 is over already"],
    [["silence", "expire", "9"], 1, "there is no silence 9"],
  ])("%j ends with %i and the reason", async (args, status, words) => {
    await using it = await daemon();
    const outcome = await it.run(...args);
    expect({ ...outcome }).toMatchObject({ status, stderr: expect.stringContaining(words) });
  });

  test("list, expire", async () => {
    const times = { startsMs: nowMs, endsMs: nowMs + 60_000, createdMs: nowMs };
    await using it = await daemon({
      silences: () => [
        {
          id: 1,
          match: { rule: { notIn: ["Blind"] } },
          upTo: "critical",
          author: "ann",
          comment: "known",
          ...times,
        },
      ],
    });
    expect((await it.run("silence")).stdout).toMatch(/1 +\S.* +critical +rule!=Blind +ann +known/);
    expect(JSON.parse((await it.run("silence", "list", "--json")).stdout)).toMatchObject({
      silences: [{ id: 1 }],
    });
    expect((await it.run("silence", "expire", "1")).stdout).toBe("Silence 1 is over.\n");
  });
});

describe("routing test", () => {
  const config = `
wallets: [{ name: main, authority: GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD, labels: { desk: alpha } }]
channels: { here: { type: console }, there: { type: console }, phone: { type: console } }
routing:
  receivers: [here]
  muteTimes: { always: [{}], really: [{ upTo: critical }] }
  routes:
    - match: { desk: alpha }
      groupBy: [wallet, symbol]
      routes:
        - match: { severity: critical }
          receivers: [there]
          escalate: [{ after: 5m, receivers: [phone] }]
        - match: { severity: [info, warning] }
          mute: [always]
    - match: { symbol: SOL }
      mute: [always, really]
`;

  test("prints the way down the tree, the group, mute times and escalation; a wallet's labels come by themselves", async () => {
    using place = desk();
    place.write("config.yaml", config);
    const { status, stdout, stderr } = await run(
      ["routing", "test", "--labels", "severity=critical,wallet=main"],
      place,
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toBe(
      [
        "desk=alpha severity=critical wallet=main",
        "",
        "routing",
        "  route 1: desk=alpha",
        "    route 1: severity=critical",
        "      sends to there",
        "      in the group of wallet=main and no symbol: after 1s, then every 5s at most; critical at once",
        "      not acknowledged in 5m: sends to phone",
        "",
      ].join("\n"),
    );
    const all = await run(["routing", "test", "--labels", "severity=critical"], place);
    expect(all.stdout).toContain("in the group of ");
    expect(all.stdout).not.toContain("{");
    const info = await run(["routing", "test", "--labels", "severity=info", "desk=alpha", "--json"], place);
    expect(JSON.parse(info.stdout)).toMatchObject({
      ways: [{ receivers: ["here"], mute: ["always"], muteNow: ["always"] }],
    });
    const critical = await run(["routing", "test", "--labels", "severity=critical", "symbol=SOL"], place);
    expect(critical.stdout).toContain("mute at always, really (now: really)");
    const mistakes = ["severty=critical", "rule=Blnd", "wallet=mian", "severity=critcal", "desk=none"];
    const mistyped = await run(["routing", "test", "--labels", ...mistakes], place);
    expect(mistyped.status).toBe(0);
    expect(mistyped.stderr.split("\n")).toEqual([
      "warning: no wallet and no rule has the label severty (did you mean severity?)",
      "warning: no rule is called Blnd (did you mean Blind?); it may have been removed",
      "warning: no wallet is called mian (did you mean main?); it may have been removed",
      "warning: no severity is called critcal (did you mean critical?)",
      "",
    ]);
    const other = await run(["routing", "test", "--labels", "wallet"], place);
    expect(other).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('"wallet" is no label with a value'),
    });
  });

  test("the labels of a rule that is named come by themselves, over those of the wallet, as an alert of it has them", async () => {
    using place = desk();
    place.write(
      "own.yaml",
      "rules:\n  - { name: Own, on: fill, when: event.size > 0, severity: info, summary: a, labels: { team: risk, desk: own } }\n",
    );
    place.write(
      "config.yaml",
      `${config.replace("match: { desk: alpha }", "match: { team: risk, desk: own }")}rules: [own.yaml]\n`,
    );
    const labels = ["--labels", "rule=Own", "severity=critical", "wallet=main"];
    const { stdout, stderr } = await run(["routing", "test", ...labels], place);
    expect(stderr).toBe("");
    expect(stdout).toContain("desk=own team=risk rule=Own severity=critical wallet=main\n");
    expect(stdout).toContain("sends to there\n");
    const over = await run(["routing", "test", ...labels, "team=other"], place);
    expect(over.stdout).toContain("sends to here\n");
  });
});
