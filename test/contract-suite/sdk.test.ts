/**
 * The exchange's own published SDK as the judge of the simulator: every call that it offers, made over loopback against
 * a simulator that has lived. What parses, what is refused and what needs the real ledger is printed as a table.
 */
import * as sdk from "@ellipsis-labs/rise";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import type { Calls } from "./call.ts";
import { apiCalls } from "./calls-api.ts";
import { ledgerCalls } from "./calls-ledger.ts";
import { liveCalls } from "./calls-live.ts";
import { marginCalls } from "./calls-margin.ts";
import { moreCalls } from "./calls-more.ts";
import { onboardingCalls } from "./calls-onboarding.ts";
import { sessionCalls } from "./calls-session.ts";
import { streamCalls } from "./calls-stream.ts";
import { type Desk, openDesk } from "./desk.ts";
import { reasonOf, reasons } from "./exports.ts";
import { callsOf, exportedCalls, version } from "./surface.ts";
import { type Line, tableOf } from "./table.ts";

const groups: Readonly<Record<string, Calls>> = {
  "HTTP API": apiCalls,
  "signing in and out": sessionCalls,
  streams: streamCalls,
  "kept up to date by the SDK": liveCalls,
  "margin calculators": marginCalls,
  "other exports": moreCalls,
  onboarding: onboardingCalls,
  "ledger and instructions": ledgerCalls,
};
const calls: Calls = Object.assign({}, ...Object.values(groups));

let desk: Desk;
const lines: Line[] = [];
/** The SDK's messages about dropped frames. */
const complaints: string[] = [];

beforeAll(async () => {
  for (const level of ["error", "warn"] as const) {
    vi.spyOn(console, level).mockImplementation((...words: unknown[]) => {
      const text = words.map(String).join(" ");
      // Sockets that it has closed itself, on the way up or later, surprise it.
      if (!/^Event "SOCKET_|CONNECTION_FAILED/.test(text)) complaints.push(text);
    });
  }
  desk = await openDesk();
});

afterAll(async () => {
  await desk?.stop();
  console.log(tableOf(`@ellipsis-labs/rise ${version} on the simulator`, lines));
});

describe("every call of the SDK has a row", () => {
  test("the SDK is the one that is pinned", () => {
    expect(version).toBe(manifest.devDependencies["@ellipsis-labs/rise"]);
  });

  test("calls of its clients", () => {
    const offered = [
      ...callsOf("PhoenixClient", "client"),
      ...callsOf("PhoenixTraderStateManager", "traderStates"),
      ...callsOf("MarginMarketParamsStore", "marginParams"),
    ];
    expect(offered.length).toBeGreaterThan(250);
    const handsOut =
      /^client\.api\.(candles|collateral|exchange|funding|invite|markets|notifications|orderbook|orders|traders|trades)$/;
    const wanted = offered.filter((name) => !handsOut.test(name));
    expect(
      Object.keys(calls)
        .filter((name) => name.includes("."))
        .sort(),
    ).toEqual(wanted.sort());
  });

  test("what its declarations offer is there at run time, and the other way round", () => {
    const client = sdk.createPhoenixClient({ apiUrl: "http://127.0.0.1:1", auth: true });
    const at = (path: string) =>
      path.split(".").reduce((it: unknown, step) => {
        const [name = "", called] = step.split("(");
        const value = (it as Record<string, unknown>)[name];
        return called === undefined ? value : (value as (symbol: string) => unknown).call(it, "SOL");
      }, client as unknown);
    const offered = callsOf("PhoenixClient", "client").map((name) => name.slice("client.".length));
    for (const path of offered) expect([path, typeof at(path)]).toEqual([path, "function"]);
    // The classes behind HTTP have nothing that their declarations leave out.
    for (const group of offered.filter(
      (path) => /^api\.\w+$/.test(path) && offered.some((it) => it.startsWith(`${path}().`)),
    )) {
      const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(at(`${group}()`)));
      for (const method of methods.filter((it) => it !== "constructor"))
        expect(offered).toContain(`${group}().${method}`);
    }
    client.dispose();
  });

  test("exports", () => {
    const without = exportedCalls().filter((name) => !(name in calls) && reasonOf(name) === undefined);
    expect(without).toEqual([]);
    // A reason that fits nothing is out of date.
    const names = exportedCalls();
    const idle = reasons
      .flatMap((it) => it.names)
      .filter(
        (pattern) =>
          !names.some((name) => (typeof pattern === "string" ? pattern === name : pattern.test(name))),
      );
    expect(idle).toEqual([]);
    const rows = Object.keys(calls).filter((name) => !name.includes("."));
    expect(rows.filter((name) => !names.includes(name))).toEqual([]);
    for (const { result, why, names: patterns } of reasons) {
      const fitting = names.filter((name) => !(name in calls) && reasonOf(name)?.names === patterns);
      lines.push({ group: "exports without a row", call: `${fitting.length} exports`, result, note: why });
    }
  });
});

describe.each(Object.keys(groups))("%s", (group) => {
  test.each(Object.keys(groups[group]!))("%s", { timeout: 30_000 }, async (name) => {
    const { kind, make } = calls[name]!;
    const before = complaints.length;
    let line: Line = { group, call: name, result: "FAILED", note: "" };
    try {
      line = { ...line, note: await make(desk) };
      expect(complaints.slice(before)).toEqual([]);
      line = {
        ...line,
        result: { parses: "parses", refused: "refused", chain: "needs the chain", local: "asks nobody" }[
          kind
        ],
      };
    } finally {
      desk.release();
      lines.push(line);
    }
  });
});

test("a stream that the exchange closes is taken up again with new tokens", { timeout: 30_000 }, async () => {
  const client = desk.newClient();
  await desk.signIn(client);
  const { authority } = desk.lived;
  const letters = client.streams!.notifications({ authority })[Symbol.asyncIterator]();
  // Begins with a message at each subscription, which stands after the one above on the same connection.
  const prices = client.streams!.markPrice("ETH")[Symbol.asyncIterator]();
  const before = await client.sessionManager!.getSession();
  const hears = async (notificationType: string) => {
    await desk.sim("notification", {
      trader: "lived",
      source: "general",
      notificationType,
      title: "a",
      body: "b",
    });
    expect((await letters.next()).value).toMatchObject({ notificationType, acked: false });
  };
  await prices.next();
  await hears("before");
  await desk.sim("session", { trader: "lived", action: "expire-access" });
  await prices.next();
  await hears("after");
  const after = await client.sessionManager!.getSession();
  expect([after?.sessionId, after?.accessToken === before?.accessToken]).toEqual([before?.sessionId, false]);
  desk.release();
  const note = "closed with 4401, refreshed, connected and subscribed again";
  lines.push({ group: "streams", call: "reconnection", result: "parses", note });
});
