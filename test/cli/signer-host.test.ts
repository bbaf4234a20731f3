/** The keys of a signer's process in this process, on a clock that is moved. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { signerHost } from "../../src/cli/signer-host.ts";
import { FakeClock } from "../support/clock.ts";
import { type Desk, desk } from "./run.ts";

const act = { kind: "login text", text: "Sign in", nonceId: "n-1", nowMs: 0 } as const;

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
  const refusals = () =>
    readFileSync(path.join(place.folder, "signatures.log"), "utf8")
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { readonly refused: string }).refused);
  const flood = (count: number) => {
    for (let n = 0; n < count; n++) host.noteRefused?.("a", act, "no key");
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
