/** Records that do not fit: their number, size and content are chosen by the other side, and what is kept of them has an end. */
import { expect, test } from "vitest";
import { type BadRecord, BadRecords } from "../../src/collect/anomalies/bad-records.ts";
import { readFrame } from "../../src/contract/index.ts";
import type { BadRecordReport } from "../../src/exchange/index.ts";
import { FakeClock } from "../support/clock.ts";

function rig(secrets: readonly string[] = []) {
  const clock = new FakeClock();
  const said: { readonly fields: object; readonly text: string }[] = [];
  const kept: BadRecord[] = [];
  const log = {
    debug: () => {},
    info: () => {},
    warn: (fields: object, text: string) => void said.push({ fields, text }),
  };
  const records = new BadRecords(
    clock,
    log,
    (record) => void kept.push(record),
    () => secrets,
  );
  const take = (report: Partial<BadRecordReport>) =>
    records.take({ endpoint: "e", wallet: null, problem: "p", fields: [], body: () => "b", ...report });
  const at = (path: string) => ({ fields: [{ path, message: "m" }] });
  return { clock, said, kept, records, take, at };
}

const letters = (n: number) => n.toString().replace(/\d/g, (digit) => "abcdefghij"[Number(digit)]!);

test("frames whose keys are chosen are one kind, and make no long lines", () => {
  const { said, kept, records, take } = rig();
  for (let n = 0; n < 50; n++) {
    const key = letters(n) + "k".repeat(100_000);
    const frame = readFrame({ channel: "allMids", slot: 1, slotIndex: 0, mids: { [key]: "none", SOL: 1 } });
    if (frame.kind !== "misfit") throw new Error(frame.kind);
    const { message, fields } = frame.problem;
    take({ endpoint: "stream allMids", problem: message, fields });
  }
  expect(said).toEqual([
    {
      fields: { endpoint: "stream allMids", wallet: null, field: "mids.{}" },
      text: "the exchange sent what is not known here: allMids: mids.{}: expected a number, found text",
    },
  ]);
  expect(kept.map(({ field }) => field)).toEqual(["mids.{}"]);
  expect(records.count).toBe(50);
});

test("a body is made only where it is kept: secrets in it are looked for then", async () => {
  const { kept, clock, take, at } = rig();
  let made = 0;
  const body = () => `b${++made}`;
  for (let n = 0; n < 1_000; n++) take({ ...at("x"), body });
  expect([made, kept.map((one) => one.body)]).toEqual([1, ["b1"]]);
  for (let n = 0; n < 1_000; n++) take({ ...at(letters(n)), body });
  expect([made, kept.length]).toEqual([100, 100]);
  await clock.advance(3_600_000);
  take({ ...at("x"), body });
  expect(made).toBe(101);
});

test("a word that is not known is logged without the tokens in it", () => {
  const { said, records } = rig(["token-of-the-session"]);
  records.unknownWord("orderHistory", "status", `filled token-of-the-session ${"x".repeat(200)}`);
  records.unknownWord("orderHistory", "status", Buffer.from("token-of-the-session").toString("base64"));
  expect(said.map(({ fields }) => fields)).toEqual([
    { endpoint: "orderHistory", field: "status", word: expect.stringMatching(/^filled … x+$/) },
    { endpoint: "orderHistory", field: "status", word: "…" },
  ]);
});

test("paths and problems are cut", () => {
  const { said, kept, take } = rig();
  take({ problem: "x".repeat(5_000), fields: [{ path: "y".repeat(5_000), message: "m" }] });
  expect(said).toEqual([
    {
      fields: { endpoint: "e", wallet: null, field: "y".repeat(200) },
      text: `the exchange sent what is not known here: ${"x".repeat(1_000)}`,
    },
  ]);
  expect(kept).toMatchObject([{ field: "y".repeat(200), problem: "x".repeat(1_000), body: "b" }]);
});

test("however many kinds there are, each is told once, and that there are more is told once", () => {
  const { said, records, take, at } = rig();
  for (let round = 0; round < 2; round++)
    for (let n = 0; n < 1_500; n++) take({ ...at(letters(n)), body: () => null });
  expect(records.count).toBe(3_000);
  expect(said).toHaveLength(1_001);
  expect(said.at(-1)!.text).toBe(
    "more than 1000 kinds of records are not known here: more kinds are only counted",
  );
});

test("an hour keeps 100 bodies in all and tells it once; a kind without a place has one in the next", async () => {
  const { clock, said, kept, take, at } = rig();
  const round = () => {
    for (let n = 0; n < 150; n++) take(at(letters(n)));
  };
  round();
  round();
  expect(kept).toHaveLength(100);
  const full = "100 records that are not known here were kept within an hour: no more are kept in it";
  expect(said.filter(({ text }) => text === full)).toHaveLength(1);
  expect(said).toHaveLength(151);
  // One that is first seen in the middle of the hour has to wait no longer than the others.
  await clock.advance(1_800_000);
  take(at(letters(150)));
  await clock.advance(1_799_999);
  round();
  expect(kept).toHaveLength(100);
  await clock.advance(1);
  for (let n = 101; n <= 150; n++) take(at(letters(n)));
  expect(kept.slice(100).map(({ field }) => field)).toEqual(
    Array.from({ length: 50 }, (_, n) => letters(101 + n)),
  );
  round();
  expect(kept).toHaveLength(200);
  expect(said).toHaveLength(152);
});

test("of a word that is not known its beginning is kept", () => {
  const { said, records } = rig();
  for (const end of ["a", "b"]) records.unknownWord("e", "f", "w".repeat(100) + end.repeat(1_000_000));
  records.unknownWord("e", "f", "v");
  expect(said.map(({ fields }) => fields)).toEqual([
    { endpoint: "e", field: "f", word: "w".repeat(100) },
    { endpoint: "e", field: "f", word: "v" },
  ]);
});
