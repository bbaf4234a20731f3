/** The keys of a signer, in this process with a clock that the test advances. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { signerHost } from "../../src/cli/signing/signer-host.ts";
import { FakeClock } from "../support/clock.ts";
import { startProgram } from "../support/program.ts";
import { type Desk, desk } from "./run.ts";
import { askerAt } from "./signer-client.ts";

const act = { kind: "login text", text: "Sign in", nonceId: "n-1", nowMs: 0 } as const;

/** @param wallet of the lines; empty: any */
const refusalsIn = (place: Desk, wallet = "") =>
  readFileSync(path.join(place.folder, "signatures.log"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly wallet: string; readonly refused: string })
    .filter((line) => wallet === "" || line.wallet === wallet)
    .map(({ refused }) => refused);

/** The number of refusals that lines stand for. */
const countOf = (lines: readonly string[]) =>
  lines.reduce((sum, line) => sum + 1 + Number(/\((\d+) refusals? before/.exec(line)?.[1] ?? 0), 0);

function hostIn(place: Desk) {
  place.write("config.yaml", "wallets: []\nhistory: { path: ./p }\n");
  const clock = new FakeClock("2026-03-01T12:00:00Z");
  const host = signerHost({
    config: path.join(place.folder, "config.yaml"),
    ...{ env: {}, clock, feePayer: null, elsewhere: null, loginsOnly: false, loadsBy: "" },
    passphrase: () => null,
    tell: () => {},
    warn: () => {},
  });
  const refusals = (wallet = "") => refusalsIn(place, wallet);
  const flood = (count: number, wallet = "a") => {
    for (let n = 0; n < count; n++) host.noteRefused?.(wallet, act, "no key");
  };
  return { clock, host, refusals, flood };
}

test("a flood of refusals has the lines of its pace, and their number counts each refusal, also the last ones", async () => {
  using place = desk();
  const { clock, host, refusals, flood } = hostIn(place);
  await host.loadByItself();
  flood(500);
  expect(refusals()).toEqual(Array.from({ length: 60 }, () => "no key"));
  await clock.advance(5_000);
  expect(refusals().slice(60)).toEqual(["no key (439 refusals before it have no line)"]);
  flood(10);
  await clock.advance(5_000);
  expect(refusals().slice(61)).toEqual(["no key (9 refusals before it have no line)"]);
  await clock.advance(3_600_000);
  flood(1);
  expect(refusals().slice(62)).toEqual(["no key"]);
});

test("a wallet whose refusals come amid a flood of another one's has a line of its own", async () => {
  using place = desk();
  const { clock, host, refusals, flood } = hostIn(place);
  await host.loadByItself();
  flood(100);
  flood(1, "b");
  flood(100);
  await clock.advance(10_000);
  expect(refusals("b")).toEqual(["no key"]);
  expect(countOf(refusals())).toBe(201);
});

test("refusals of names without end are counted together beyond the first 16, each of them once", async () => {
  using place = desk();
  const { host, refusals, flood } = hostIn(place);
  await host.loadByItself();
  flood(60);
  for (let name = 0; name < 1_000; name++) flood(2, `n${name}`);
  host.end();
  const rest = refusals().slice(60);
  expect(rest.slice(0, 16)).toEqual(Array(16).fill("no key (1 refusals before it have no line)"));
  expect(rest.slice(16)).toEqual(["no key (1967 refusals before it have no line, of other wallets, too)"]);
  expect(countOf(refusals())).toBe(2_060);
});

test.each(["SIGTERM", "SIGINT"] as const)(
  "the refusals that wait for a line have it at %s",
  async (signal) => {
    using place = desk();
    place.write("config.yaml", "wallets: []\nhistory: { path: ./p }\nsigner: { socket: ./signer.sock }\n");
    await using signer = startProgram(["signer"], place);
    await signer.line((line) => line.includes("listens at"));
    using asker = askerAt(place);
    for (let n = 0; n < 100; n++) await asker.ask({ do: "sign", wallet: "a", act });
    await signer.end(signal);
    expect(countOf(refusalsIn(place))).toBe(100);
  },
);
