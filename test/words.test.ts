/**
 * The repository's own hygiene: nothing left open, no test switched off, nothing that ties it to one machine or one
 * registry, every version pinned. Patterns are put together from parts so that this file does not match itself.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";

const root = path.join(import.meta.dirname, "..");

type Rule = { name: string; pattern: RegExp; where: (file: string) => boolean; samples: readonly string[] };

const anywhere = () => true;
const isTest = (file: string) => /\.test\.ts$/.test(file);
const isCode = (file: string) => /\.(ts|mjs|cjs|js)$/.test(file);

const rules: readonly Rule[] = [
  {
    name: "a note of something left open",
    pattern: new RegExp(`\\b(${["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"].join("|")})\\b`),
    where: anywhere,
    samples: [`// ${"TO"}DO: later`, `# ${"FIX"}ME`],
  },
  {
    name: "a test switched off, or all others",
    pattern: new RegExp(
      `\\b(it|test|describe|suite)\\.(${["only", "skip", "to" + "do", "fails"].join("|")}|skipIf|runIf)\\b|\\bx(it|describe)\\(`,
    ),
    where: isTest,
    samples: [
      `test.${"on"}ly("x", () => {});`,
      `describe.${"sk"}ip("x", () => {});`,
      `x${"it"}("x", () => {});`,
    ],
  },
  {
    name: "the host of a package registry",
    pattern: new RegExp(
      [
        "registry" + "\\.npm",
        "registry" + "\\.yarnpkg",
        "npm\\.pkg" + "\\.github",
        "npmmirror" + "\\.com",
      ].join("|"),
      "i",
    ),
    where: anywhere,
    samples: [`https://${"registry"}.npmjs.org/ws`],
  },
  {
    name: "a path of one machine",
    pattern: new RegExp(
      `(^|[^\\w.~-])/(${["work", "root", "Users"].join("|")})/[\\w.]|(^|[^\\w.-])[A-Z]:\\\\\\\\?Users`,
    ),
    where: anywhere,
    samples: [`cd ${"/wo"}rk/main`, `"${"/Use"}rs/ann/x"`, `(${"/ro"}ot/.config)`],
  },
  {
    name: "a way around the type checker",
    pattern: new RegExp(`@ts-${"(ignore|nocheck|expect-error)"}|\\bas an${"y"}\\b`),
    where: isCode,
    samples: [`// @ts-${"ig"}nore`, `x as ${"an"}y`],
  },
  {
    name: "a stub",
    pattern: new RegExp(`\\bnot (yet )?implemen${"ted"}\\b|\\bunimplemen${"ted"}\\b`, "i"),
    where: isCode,
    samples: [`throw new Error("not implemen${"ted"}");`],
  },
];

/** Files of the repository, also those about to be added, but not what .gitignore keeps out. */
function ownFiles(): string[] {
  const git = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  const listed = git.status === 0 ? git.stdout.split("\0") : walk("", ignoredNames());
  return [...new Set(listed)].filter((file) => file !== "" && existsSync(path.join(root, file)));
}

/** Without git (an unpacked archive, a container): every file, folders and names of .gitignore aside. */
function walk(folder: string, ignored: ReadonlySet<string>): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = path.posix.join(folder, entry.name);
    if (ignored.has(entry.name) || ignored.has(`${folder}/*`)) return entry.name === ".gitkeep" ? [file] : [];
    return entry.isDirectory() ? walk(file, ignored) : [file];
  });
}

const ignoredNames = () =>
  new Set([
    ".git",
    ...readFileSync(path.join(root, ".gitignore"), "utf8")
      .split("\n")
      .map((line) => line.replace(/\/$/, "")),
  ]);

const isText = (file: string) => !/\.(png|jpe?g|gif|ico|woff2?|ttf|otf|gz|zst|db)$/.test(file);

function offences(file: string, text: string): string[] {
  const found: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    for (const rule of rules) {
      if (rule.where(file) && rule.pattern.test(line))
        found.push(`${file}:${index + 1}: ${rule.name}: ${line.trim().slice(0, 120)}`);
    }
  }
  return found;
}

test("no file says what should not be said", () => {
  const files = ownFiles();
  expect(files).toContain("package.json");
  expect(
    files.filter(isText).flatMap((file) => offences(file, readFileSync(path.join(root, file), "utf8"))),
  ).toEqual([]);
});

/** Doc comments state what a thing is or does: none begins with one of these words. */
const openingWords = [
  "What",
  "Whether",
  "Of",
  "How",
  "That",
  "When",
  "Where",
  "Which",
  "Who",
  "Whose",
  "Why",
];
const opening = new RegExp(`/\\*\\*[\\s*]*(?:${openingWords.join("|")})\\b.*`, "g");

function openings(file: string, text: string): string[] {
  return [...text.matchAll(opening)].map(
    ({ index, 0: found }) =>
      `${file}:${text.slice(0, index).split("\n").length}: ${found.replaceAll(/\s+/g, " ")}`,
  );
}

test("no doc comment begins with a question word", () => {
  const files = ownFiles().filter(isCode);
  expect(files).toContain("src/main.ts");
  expect(files.flatMap((file) => openings(file, readFileSync(path.join(root, file), "utf8")))).toEqual([]);
  for (const word of openingWords) {
    expect(openings("a.ts", `\n/** ${word} it is. */`)).toEqual([`a.ts:2: /** ${word} it is. */`]);
    expect(openings("a.ts", `/**\n * ${word} it is,\n */`)).toEqual([`a.ts:1: /** * ${word} it is,`]);
    expect(openings("a.ts", `/** ${word}ever. It is ${word}. */ // ${word}`)).toEqual([]);
  }
});

describe("each rule can be broken", () => {
  test.each(rules.flatMap((rule) => rule.samples.map((sample) => [rule.name, sample] as const)))(
    "%s: %s",
    (name, sample) => {
      expect(offences("test/sample.test.ts", sample)).toEqual([`test/sample.test.ts:1: ${name}: ${sample}`]);
    },
  );
  test("and ordinary text breaks none", () => {
    const text =
      "the work/life of test.each(rows), /sim/advance, ~/work/x, /var/lib/perpwatch, skip(3), as anyone";
    expect(offences("test/sample.test.ts", text)).toEqual([]);
  });
});

test("nothing large or local is in the repository", () => {
  const files = ownFiles();
  expect(files.filter((file) => statSync(path.join(root, file)).size > 1_000_000)).toEqual([]);
  expect(files.filter((file) => file.startsWith("data/"))).toEqual(["data/.gitkeep"]);
  expect(
    files.filter((file) => /(^|\/)(config\.yaml|\.env|keys\/|node_modules\/|dist\/)/.test(file)),
  ).toEqual([]);
});

type Manifest = { version: string; engines: { node: string }; [section: string]: unknown };
type Lock = {
  packages: Record<string, { version?: string; integrity?: string; resolved?: string; link?: boolean }>;
};
const readJson = (file: string): unknown => JSON.parse(readFileSync(path.join(root, file), "utf8"));
const pinned = (manifest: Manifest) =>
  ["dependencies", "devDependencies", "optionalDependencies", "overrides"].flatMap((section) =>
    Object.entries((manifest[section] ?? {}) as Record<string, unknown>),
  );

test("every version is pinned exactly", () => {
  const versions = pinned(readJson("package.json") as Manifest);
  expect(versions.length).toBeGreaterThan(0);
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version)))).toEqual([]);
});

test("the lockfile names checksums and no addresses, and agrees with package.json", () => {
  const lock = readJson("package-lock.json") as Lock;
  const rows = Object.entries(lock.packages).filter(([folder]) => folder !== "");
  expect(rows.length).toBeGreaterThan(0);
  expect(
    rows.filter(([, row]) => row.resolved !== undefined || row.link === true).map(([folder]) => folder),
  ).toEqual([]);
  expect(rows.filter(([, row]) => row.integrity === undefined).map(([folder]) => folder)).toEqual([]);
  for (const [name, version] of pinned(readJson("package.json") as Manifest)) {
    expect(`${name}@${lock.packages[`node_modules/${name}`]?.version}`).toBe(`${name}@${version}`);
  }
});
