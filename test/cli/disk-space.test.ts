import { expect, test } from "vitest";
import { diskSpaceFor, spaceWarning } from "../../src/cli/start/disk-space.ts";

test.each([
  [0, 80e9, null],
  [0, 300e6, /^its disk has 300 MB left: when it is full/],
  [3e9, 2e9, null],
  [3e9, 1.4e9, /^the database takes 3\.0 GB, and its disk has 1\.4 GB left/],
  [200e6, 499e6, /^the database takes 200 MB, and its disk has 499 MB left/],
])("a database of %d bytes with %d left", (bytes, freeBytes, said) => {
  const short = spaceWarning({ bytes, freeBytes });
  if (said === null) expect(short).toBeNull();
  else expect(short).toMatch(said);
});

test("the room of a file in a folder that is still to be made is that of the disk it will be on", () => {
  const room = diskSpaceFor("/tmp/perpwatch is not here/nor here/perpwatch.db");
  expect(room?.bytes).toBe(0);
  expect(room?.freeBytes).toBeGreaterThan(0);
  expect(diskSpaceFor(import.meta.filename)?.bytes).toBeGreaterThan(500);
});
