/** Rows and schema of a database that somebody may have made: packed rows, recordings, copies. */
import Database from "better-sqlite3";
import { HistoryError } from "../../../src/history/errors.ts";
import { migrate, migrations } from "../../../src/history/migrations.ts";
import { RecordingReader } from "../../../src/history/recording/recording-reader.ts";
import { RecordingWriter } from "../../../src/history/recording/recording-writer.ts";
import { decodeChunk, encodeChunk } from "../../../src/history/samples/chunk.ts";
import { encodeRollUps, RollUpTable, StoredRollUps } from "../../../src/history/samples/rollup-table.ts";
import { refuseActive, refuseOtherSchema } from "../../../src/history/trust.ts";
import { bytes, isBroken, type Parsers } from "./kinds.ts";

const chunk = encodeChunk(
  Array.from({ length: 40 }, (_, index) => {
    const body = new Uint8Array(new Float64Array([Math.sin(index), index, 1e6 * index]).buffer);
    return { seq: index, atMs: 1_000 * index, body };
  }),
  3,
);
const rollUps = (() => {
  const table = new RollUpTable(2, 60_000);
  for (let at = 0; at < 50; at++) table.addTick(at * 7_000, (index) => at * index);
  return { body: encodeRollUps(table), length: table.length };
})();
const recorded = (() => {
  const writer = new RecordingWriter();
  for (const [index, wallet] of ["a", "b", "a"].entries())
    writer.write({
      ...{ kind: "failed", atMs: 1_000 * index, source: "fills", wallet },
      detail: "x".repeat(index),
    } as never);
  return Buffer.from(writer.take());
})();

const database = (() => {
  const db = new Database(":memory:");
  migrate(db, "copy");
  const image = db.serialize();
  db.close();
  return image;
})();

export const parsers: Parsers = {
  "stored chunks": {
    input: bytes([chunk]),
    run: (input: Uint8Array) => decodeChunk(input, 40, 3),
    mayThrow: isBroken,
  },
  "stored roll-ups": {
    input: bytes([rollUps.body]),
    run: (input: Uint8Array) => new StoredRollUps(input, rollUps.length, 2, 60_000).series(1),
    mayThrow: isBroken,
  },
  recordings: {
    input: bytes([recorded]),
    run: (input: Uint8Array) => [...new RecordingReader().read(Buffer.from(input))],
    mayThrow: isBroken,
  },
  "copies of databases": {
    input: (by) => {
      const image = Buffer.from(database);
      for (let more = 1 + by.whole(6); more > 0; more--)
        image[by.whole(by.share(0.5) ? 2_048 : image.length)] = by.whole(256);
      return by.share(0.1) ? image.subarray(0, by.whole(image.length)) : image;
    },
    run: (input: Uint8Array) => {
      const db = new Database(Buffer.from(input));
      try {
        db.pragma("trusted_schema = OFF");
        refuseActive(db, "copy");
        refuseOtherSchema(db, "copy", migrations);
      } finally {
        db.close();
      }
    },
    mayThrow: (error) => error instanceof HistoryError || isBroken(error),
  },
};
