/** Files that are replaced atomically, also if a killed process left a temporary file. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { replaceFile } from "../../src/files/replace.ts";

test("the temporary file of a killed process with the same id does not matter", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "perpwatch-"));
  try {
    const file = path.join(folder, "login-forms.json");
    writeFileSync(file, "old");
    writeFileSync(`${file}.${process.pid}.draft`, "half of a t");
    replaceFile(file, "new");
    expect(readFileSync(file, "utf8")).toBe("new");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["login-forms.json"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
