/** Changes of a file by several processes: one at a time, also beside the lock of a process that was killed. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { changeAlone, replaceFile } from "../../src/files/index.ts";

/** A folder of its own with a file. */
function place(): Disposable & { readonly folder: string; readonly file: string } {
  const folder = mkdtempSync(path.join(tmpdir(), "perpwatch-"));
  const file = path.join(folder, "record.json");
  writeFileSync(file, "old");
  return { folder, file, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

test("the lock lasts for the change, whatever becomes of it", async () => {
  using it = place();
  const lock = `${path.basename(it.file)}.lock`;
  expect(await changeAlone(it.file, (isHeld) => [isHeld(), readdirSync(it.folder).sort()])).toEqual([
    true,
    ["record.json", lock],
  ]);
  const failing = changeAlone(it.file, () => {
    throw new Error("no disk");
  });
  await expect(failing).rejects.toThrow("no disk");
  expect(readdirSync(it.folder)).toEqual(["record.json"]);
});

test("whoever waits has it when the other one is done", async () => {
  using it = place();
  writeFileSync(`${it.file}.lock`, "");
  const waiting = changeAlone(it.file, () => "mine", 3_600_000);
  rmSync(`${it.file}.lock`);
  expect(await waiting).toBe("mine");
});

test("a lock that a killed process left holds nobody up for long", async () => {
  using it = place();
  writeFileSync(`${it.file}.lock`, "");
  const ended = await Promise.all([1, 2, 3].map((number) => changeAlone(it.file, () => number, 50)));
  expect(ended.sort()).toEqual([1, 2, 3]);
  expect(readdirSync(it.folder)).toEqual(["record.json"]);
});

test("a process whose lock was taken for one that was left writes nothing, and leaves the other's lock", async () => {
  using it = place();
  const lock = `${it.file}.lock`;
  const late = changeAlone(it.file, (isHeld) => {
    rmSync(lock);
    writeFileSync(`${it.folder}/other`, "");
    writeFileSync(lock, "");
    replaceFile(it.file, "late", isHeld);
  });
  await expect(late).rejects.toThrow(/was not written: another process changes it/);
  expect(readFileSync(it.file, "utf8")).toBe("old");
  expect(readdirSync(it.folder).sort()).toEqual(["other", "record.json", "record.json.lock"]);
});

test("a folder that cannot be written is an error at once", async () => {
  using it = place();
  await expect(changeAlone(path.join(it.folder, "missing", "record.json"), () => {})).rejects.toThrow(
    /ENOENT/,
  );
});
