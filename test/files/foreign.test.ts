/** Files that are read: who could change them, and file types that are refused. */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { readTextFile, type TextFile } from "../../src/config/index.ts";
import { filesMatching } from "../../src/daemon/settings/file-pattern.ts";
import { refuseShared } from "../../src/history/index.ts";
import { type Desk, desk } from "../cli/run.ts";

const limits = { largestBytes: 100 };

/** Writes a file with the folders above it. */
function write(place: Desk, name: string, text: string): string {
  fs.mkdirSync(path.dirname(path.join(place.folder, name)), { recursive: true });
  return place.write(name, text);
}

test("a link of a database that leads nowhere is called that", () => {
  using place = desk();
  const file = path.join(place.folder, "p");
  fs.symlinkSync(path.join(place.folder, "none"), `${file}-wal`);
  expect(() => refuseShared(file, "changeAndRead")).toThrow(
    `${file}-wal is a link to what does not exist. Fix: rm ${file}-wal, or`,
  );
});

describe("a file to read", () => {
  test("that everybody may change is refused with the command to type, quoted for a shell", () => {
    using place = desk();
    const file = write(place, "it's mine.yaml", "a: 1\n");
    fs.chmodSync(file, 0o646);
    expect(readTextFile(file, limits)).toEqual({
      wrong:
        "can be changed by others than its owner: every user of this machine (mode 0646). " +
        `Fix: chmod go-w '${file.replace("'", "'\\''")}'`,
    });
    expect(readTextFile(file, { ...limits, from: "anyones" })).toMatchObject({ text: "a: 1\n" });
    fs.chmodSync(file, 0o644);
    const read = readTextFile(file, limits) as Extract<TextFile, { readonly text: string }>;
    expect([read.text, read.exposed()]).toEqual(["a: 1\n", expect.stringContaining("chmod 600")]);
  });

  test("in a folder in which everybody may swap it is refused, unless the folder is like /tmp", () => {
    using place = desk();
    const file = write(place, "open/c.yaml", "a: 1\n");
    const folder = path.dirname(file);
    fs.chmodSync(file, 0o600);
    fs.chmodSync(folder, 0o777);
    expect(readTextFile(file, limits)).toEqual({
      wrong: expect.stringMatching(
        /can be swapped by others: its folder \S+ can be changed.*Fix: chmod go-w \S+\/open,/,
      ),
    });
    fs.chmodSync(folder, 0o1777);
    expect(readTextFile(file, limits)).toMatchObject({ text: "a: 1\n" });
  });

  test("by a link is checked at its target", () => {
    using place = desk();
    const file = write(place, "open/c.yaml", "a: 1\n");
    const link = path.join(place.folder, "link.yaml");
    fs.symlinkSync(file, link);
    fs.chmodSync(file, 0o600);
    expect(readTextFile(link, limits)).toHaveProperty("text");
    fs.chmodSync(path.dirname(file), 0o777);
    expect(readTextFile(link, limits)).toEqual({ wrong: expect.stringContaining(path.dirname(file)) });
    fs.chmodSync(path.dirname(file), 0o700);
    fs.chmodSync(file, 0o606);
    expect(readTextFile(link, limits)).toEqual({ wrong: expect.stringContaining("mode 0606") });
  });

  test.each([
    ["/proc/self/status", "is no file of a disk"],
    ["/proc/kmsg", "is no file of a disk"],
    ["/dev/zero", "is no file of a disk"],
    ["/dev/tty", "is no file of a disk"],
    ["/sys/kernel/uevent_seqnum", "is no file of a disk"],
  ])("is none of the system: %s", (file, text) => {
    expect(readTextFile(file, limits)).toEqual({ wrong: expect.stringContaining(text) });
  });

  test("is not a named pipe, and one without a writer does not block", () => {
    using place = desk();
    const pipe = path.join(place.folder, "pipe");
    expect(spawnSync("mkfifo", ["-m", "600", pipe]).status).toBe(0);
    expect(readTextFile(pipe, limits)).toEqual({ wrong: "is not a regular file" });
  });

  test("is not read when it is too large", () => {
    using place = desk();
    const file = write(place, "large", "");
    fs.truncateSync(file, 1e12);
    expect(readTextFile(file, limits)).toEqual({ wrong: expect.stringContaining("is too large") });
  });
});

describe("a pattern", () => {
  test("finds what is in its folder, links to files and to folders of it included", () => {
    using place = desk();
    const elsewhere = write(place, "elsewhere/shared.yaml", "");
    for (const name of ["rules/b.yaml", "rules/deep/a.yaml", "rules/..data/c.yaml"]) write(place, name, "");
    const rules = path.join(place.folder, "rules");
    fs.symlinkSync(elsewhere, path.join(rules, "shared.yaml"));
    fs.symlinkSync(rules, path.join(rules, "deep", "loop"));
    expect(filesMatching("rules/**/*.yaml", path.join(rules, "**", "*.yaml"))).toEqual({
      matches: ["b.yaml", "deep/a.yaml", "shared.yaml"].map((one) => path.join(rules, one)),
    });
  });

  test.each([
    ["../*.yaml", "leaves its folder by .."],
    ["*/../x*.yaml", "leaves its folder by .."],
    ["rules/lin[k]ed/*.yaml", "leaves its folder, to "],
    ["rules/{..,deep}/*.md", "leaves its folder, to "],
    ["/proc/*/environ", "files of the system"],
    ["/dev/**", "files of the system"],
    ["/**/*.yaml", "does not end"],
    ["deep/**/*.yaml", "does not end"],
    ["many/*.yaml", "matches 1001 files, at most 1000"],
  ])("%s is refused", (pattern, text) => {
    using place = desk();
    write(place, "elsewhere/shared.yaml", "");
    write(place, `deep/${"d/".repeat(20)}x.yaml`, "");
    write(place, "rules/own.yaml", "");
    write(place, "note.md", "");
    fs.symlinkSync(path.join(place.folder, "elsewhere"), path.join(place.folder, "rules", "linked"));
    fs.mkdirSync(path.join(place.folder, "many"));
    if (pattern.startsWith("many"))
      for (let i = 0; i < 1_001; i++) fs.writeFileSync(path.join(place.folder, "many", `${i}.yaml`), "");
    expect(filesMatching(pattern, path.resolve(place.folder, pattern))).toEqual({
      wrong: expect.stringContaining(text),
    });
  });
});
