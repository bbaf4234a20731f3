/**
 * The architecture as tables, held against the source: which folder may know which, which library belongs where, and which
 * folders touch neither clock, chance nor the world. ARCHITECTURE.md says why; when it and this file differ, one is wrong.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: samples of source are strings that hold templates.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { channelTypes } from "../src/channels/registry.ts";
import { ambientUses, importsOf } from "./source-scanner.ts";

const root = path.join(import.meta.dirname, "..");

/** Folder → folders that it may import, itself aside. daemon/ and cli/ may import all; only cli/ and main.ts import daemon/, and only main.ts cli/. */
const mayImport = {
  domain: [],
  contract: ["domain"],
  margin: ["domain"],
  files: ["domain"],
  wallet: ["domain", "files"],
  config: ["domain", "files"],
  history: ["domain", "files"],
  rules: ["domain", "margin"],
  alerts: ["domain", "rules", "state"],
  channels: ["domain"],
  state: ["domain", "margin", "rules"],
  advice: ["domain", "margin", "rules", "state"],
  evaluate: ["domain", "rules", "alerts", "state", "advice"],
  engine: ["domain", "margin", "rules", "alerts", "state", "advice", "evaluate"],
  ingest: ["domain", "alerts", "evaluate", "state", "engine"],
  signer: ["domain", "files", "contract", "wallet", "ledger"],
  exchange: ["domain", "contract", "wallet", "signer"],
  simulator: ["domain", "contract", "wallet", "margin"],
  ledger: ["domain", "contract", "wallet"],
  collect: ["domain", "contract", "exchange", "wallet"],
  deliver: ["domain", "alerts", "exchange", "channels"],
  web: ["domain", "files"],
  replay: ["domain", "rules", "alerts", "state", "engine", "ingest"],
  exports: ["domain", "contract", "margin", "exchange", "simulator", "rules"].concat([
    "wallet",
    "signer",
    "collect",
    "channels",
    "replay",
  ]),
} as const satisfies Record<string, readonly string[]>;

/**
 * The entries of package.json's `exports`, which no folder imports: each is one part of perpwatch, with what that needs to be used alone.
 * `figures.ts` and `schedule.ts` are parts of `rules.ts`.
 */
const entryMayImport: Readonly<Record<string, readonly string[]>> = {
  "exports/client.ts": ["exchange", "contract", "domain", "wallet", "signer"].concat(["collect", "margin"]),
  "exports/margin.ts": ["margin"],
  "exports/simulator.ts": ["simulator"],
  "exports/rules.ts": ["rules", "domain", "replay", "channels"],
  "exports/figures.ts": ["rules", "domain"],
  "exports/schedule.ts": ["collect", "domain"],
};

/** The folders and the file in which everything is put together. */
const roof = ["daemon", "cli", "main.ts"];

/** Folders that decide and do not act: no I/O, no clock, no chance, no environment. */
const pureFolders = [
  "domain",
  "contract",
  "margin",
  "rules",
  "alerts",
  "state",
  "advice",
  "evaluate",
  "engine",
];

/** The one file in them that holds the real thing, to be handed in: systemClock. */
const ambientFiles = ["domain/clock.ts"];

/** Library → folders that may use it, beside the roof. A library that is not listed may be used by the roof alone. */
const libraryFolders: Readonly<Record<string, readonly string[]>> = {
  "better-sqlite3": ["history"],
  "discord.js": ["channels"],
  "@resvg/resvg-js": ["channels"],
  nodemailer: ["channels"],
  undici: ["exchange", "channels"],
  ws: ["exchange", "simulator", "channels"],
  jose: ["exchange", "simulator"],
  "@scure/base": ["contract", "wallet", "exchange", "simulator"],
  "@marcbachmann/cel-js": ["rules"],
  "@solana/kit": ["wallet", "ledger"],
  yaml: ["domain", "config", "rules", "replay", "simulator"],
  zod: [
    "domain",
    "state",
    "evaluate",
    "engine",
    "contract",
    "config",
    "wallet",
    "history",
    "rules",
    "alerts",
    "channels",
    "exchange",
    "simulator",
    "ledger",
    "signer",
    "collect",
  ].concat(["deliver", "web", "replay", "engine"]),
  "node-cron": ["collect", "deliver"],
  fastify: ["simulator", "web"],
  "prom-client": ["web"],
};

/** Parts of Node that only some folders may use. Pure folders use none at all. */
const nodeFolders: Readonly<Record<string, readonly string[]>> = {
  "node:crypto": ["wallet", "signer", "exchange", "simulator", "history", "channels", "deliver", "web"],
  "node:child_process": ["channels"],
  "node:worker_threads": ["history"],
  "node:module": [],
};

/** Folders that may read the environment; elsewhere settings arrive as values. */
const environmentFolders = ["config", "wallet"];

/** A longer file holds more than one idea. */
const maxLines = 400;
/** A folder with more files of its own wants subfolders. */
const maxFiles = 20;

type SourceFiles = ReadonlyMap<string, string>; // path below src/, with slashes → text

/** Everything wrong with a set of source files, a line each. */
function problemsOf(files: SourceFiles, declared: readonly string[]): string[] {
  const problems: string[] = [];
  for (const [file, text] of files) {
    const folder = folderOf(file);
    const isRoof = roof.includes(folder);
    if (!isRoof && !(folder in mayImport)) problems.push(`${file}: "${folder}" is no folder of the table`);
    for (const { specifier } of importsOf(text)) {
      const problem = specifier.startsWith(".")
        ? relativeProblem(file, specifier, files)
        : libraryProblem(file, specifier, declared);
      if (problem !== undefined) problems.push(`${file}: ${problem}`);
    }
    const lines = text.split("\n").length - 1;
    if (lines > maxLines) problems.push(`${file}: ${lines} lines, more than ${maxLines}`);
    const uses = ambientUses(text);
    if (ambientFiles.includes(file)) continue;
    if (pureFolders.includes(folder))
      problems.push(...uses.map((use) => `${file}: uses ${use} in a pure folder`));
    else if (!isRoof && !environmentFolders.includes(folder) && readsEnvironment(text)) {
      problems.push(`${file}: reads the environment`);
    }
  }
  for (const [folder, { length }] of Map.groupBy(files.keys(), path.posix.dirname))
    if (length > maxFiles) problems.push(`${folder}: ${length} files, more than ${maxFiles}`);
  problems.push(...cyclesIn(files).map((cycle) => `import cycle: ${cycle.join(" → ")}`));
  return problems;
}

/** "engine/watch.ts" → "engine"; a file directly in src/ is its own folder. */
const folderOf = (file: string) => file.split("/")[0]!;

const readsEnvironment = (text: string) =>
  ambientUses(text).includes("process") && /\bprocess\.env\b/.test(text);

const resolveImport = (file: string, specifier: string) =>
  path.posix.join(path.posix.dirname(file), specifier);

function relativeProblem(file: string, specifier: string, files: SourceFiles): string | undefined {
  const target = resolveImport(file, specifier);
  if (target.startsWith("..")) return `imports ${specifier}, which lies outside src/`;
  if (!files.has(target)) return `imports ${specifier}, which does not exist`;
  const [from, to] = [folderOf(file), folderOf(target)];
  if (from === to) return undefined;
  if (to === "exports") return `nobody may know exports (${specifier})`;
  if (from === "exports")
    return entryMayImport[file]?.includes(to) ? undefined : `this entry may not know ${to} (${specifier})`;
  if (from === "daemon" && to === "cli") return "daemon may not know cli";
  if (roof.includes(from)) return undefined;
  const allowed: readonly string[] = mayImport[from as keyof typeof mayImport] ?? [];
  return allowed.includes(to) ? undefined : `${from} may not know ${to} (${specifier})`;
}

function libraryProblem(file: string, specifier: string, declared: readonly string[]): string | undefined {
  const folder = folderOf(file);
  if (specifier === "(computed)") return roof.includes(folder) ? undefined : "imports something computed";
  if (specifier.startsWith("node:")) {
    if (pureFolders.includes(folder)) return `${specifier} in a pure folder`;
    const allowed = nodeFolders[specifier];
    return allowed === undefined || allowed.includes(folder) || roof.includes(folder)
      ? undefined
      : `${specifier} does not belong in ${folder}`;
  }
  const library = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  if (!declared.includes(library)) return `${library} is not among the dependencies`;
  if (roof.includes(folder) || libraryFolders[library]?.includes(folder)) return undefined;
  return `${library} does not belong in ${folder}`;
}

/** Each cycle once, as the files on the way round. Imports of types count as others do. */
function cyclesIn(files: SourceFiles): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const walk = (file: string, trail: readonly string[]) => {
    const seenAt = trail.indexOf(file);
    if (seenAt !== -1) {
      cycles.push([...trail.slice(seenAt), file]);
      return;
    }
    if (done.has(file)) return;
    for (const { specifier } of importsOf(files.get(file) ?? "")) {
      if (specifier.startsWith(".")) walk(resolveImport(file, specifier), [...trail, file]);
    }
    done.add(file);
  };
  for (const file of files.keys()) walk(file, []);
  return cycles;
}

function readSources(): SourceFiles {
  const folder = path.join(root, "src");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => name.split(path.sep).join("/"))
    .filter((name) => name.endsWith(".ts"))
    .sort();
  return new Map(names.map((name) => [name, readFileSync(path.join(folder, name), "utf8")]));
}

const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
  dependencies: Record<string, string>;
};
const declared = Object.keys(manifest.dependencies);

test("the source keeps to the tables", () => {
  const files = readSources();
  expect(files.size).toBeGreaterThan(0);
  expect(problemsOf(files, declared)).toEqual([]);
});

/** The oracle of the fault simulation (test/truth/oracle/) is worth something only as long as it shares nothing with what it judges. */
test("the oracle knows data and the exchange's own library, and nothing that computes or decides", () => {
  const folder = path.join(root, "test", "truth", "oracle");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  expect(names.length).toBeGreaterThan(10);
  const allowed = [
    /^src\/domain\//,
    /^test\/truth\/oracle\//,
    /^test\/truth\/names\.ts$/,
    /^test\/desk\/numbers\.ts$/,
  ];
  const shapes = [/^src\/simulator\/state\.ts$/, /^test\/truth\//];
  const problems = names.flatMap((name) =>
    importsOf(readFileSync(path.join(folder, name), "utf8")).flatMap(({ specifier, typeOnly }) => {
      if (specifier === "@ellipsis-labs/rise") return [];
      const to = path.posix.join("test/truth/oracle", path.posix.dirname(name), specifier);
      const may =
        specifier.startsWith(".") && [...allowed, ...(typeOnly ? shapes : [])].some((one) => one.test(to));
      return may ? [] : [`${name} imports ${specifier}`];
    }),
  );
  expect(problems).toEqual([]);
});

test("the tables themselves are sound", () => {
  const folders = Object.keys(mayImport);
  const named = [...Object.values(mayImport).flat(), ...Object.values(libraryFolders).flat(), ...pureFolders];
  expect(named.filter((folder) => !folders.includes(folder))).toEqual([]);
  expect(Object.keys(libraryFolders).filter((library) => !declared.includes(library))).toEqual([]);
  expect([...new Set(Object.values(entryMayImport).flat())].sort()).toEqual([...mayImport.exports].sort());
  // Folder by folder along the table: no way leads back.
  const asFiles = Object.entries(mayImport).map(([folder, others]) => {
    const text = others.map((other) => `import "../${other}/x.ts";`).join("\n");
    return [`${folder}/x.ts`, text] as const;
  });
  expect(cyclesIn(new Map(asFiles))).toEqual([]);
  expect(existsSync(path.join(root, "src", "main.ts"))).toBe(true);
});

describe("ARCHITECTURE.md tells what there is", () => {
  const text = readFileSync(path.join(root, "ARCHITECTURE.md"), "utf8");
  test("on a page that is read in one sitting", () => {
    expect(text.split("\n").length).toBeLessThanOrEqual(201);
  });

  const picture = text.slice(text.indexOf("## One way"), text.indexOf("Follow one answer"));
  const rows = text
    .slice(text.indexOf("## Folders"), text.indexOf("## Invariants"))
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|").map((cell) => cell.trim()));
  const filesAbove = (cell = "") =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!.replace(/\/$/, ""));

  test("the folders, with what each knows", () => {
    const told = rows
      .filter((row) => row.length === 5)
      .map(([, folder, , knows]) => [filesAbove(folder)[0], knows]);
    const sorted = (folders: readonly (readonly [string | undefined, string | undefined])[]) =>
      folders.map(([folder, knows]) => `${folder}: ${knows?.split(", ").sort().join(", ")}`).sort();
    const held = Object.entries(mayImport).map(
      ([folder, known]) => [folder, known.join(", ") || "nothing"] as const,
    );
    expect(sorted(told as [string, string][])).toEqual(sorted(held));
  });

  test("what is above them", () => {
    const told = rows.filter((row) => row.length === 4).flatMap(([, files]) => filesAbove(files));
    expect(told.sort()).toEqual([...roof].sort());
  });

  test("the channels", () => {
    expect(channelTypes.filter((type) => !new RegExp(`\\b${type}\\b`).test(picture))).toEqual([]);
  });

  test("files and folders that are there", () => {
    const listed = ["src", "test", "rules", "docs"].flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" }).map(
        (name) => `/${folder}/${name.split(path.sep).join("/")}`,
      ),
    );
    const pages = ["internals", "decisions"].flatMap((folder) =>
      readdirSync(path.join(root, "docs", folder)).map((name) => path.join("docs", folder, name)),
    );
    const texts = ["ARCHITECTURE.md", "CONTRIBUTING.md", ...pages].map((name) =>
      readFileSync(path.join(root, name), "utf8"),
    );
    const named = texts.flatMap((page) =>
      [...page.matchAll(/`([\w./-]+(?:\.ts|\.mjs|\.md|\/))`/g)].map(([, name]) => name!),
    );
    expect(named.length).toBeGreaterThan(300);
    const isThere = (name: string) =>
      existsSync(path.join(root, name)) || listed.some((one) => one.endsWith(`/${name.replace(/\/$/, "")}`));
    expect(named.filter((name) => !isThere(name))).toEqual([]);
  });
});

describe("bad source is told", () => {
  const cases: [name: string, files: Record<string, string>, told: string][] = [
    [
      "a folder looks upwards",
      { "domain/a.ts": 'import { x } from "../engine/b.ts";', "engine/b.ts": "" },
      "domain/a.ts: domain may not know engine (../engine/b.ts)",
    ],
    [
      "a type is a dependency too",
      { "rules/a.ts": 'import type { X } from "../history/b.ts";', "history/b.ts": "" },
      "rules/a.ts: rules may not know history (../history/b.ts)",
    ],
    [
      "a re-export",
      { "alerts/a.ts": 'export * as b from "../engine/b.ts";', "engine/b.ts": "" },
      "alerts/a.ts: alerts may not know engine (../engine/b.ts)",
    ],
    [
      "an import inside a function",
      { "channels/a.ts": 'const f = async () => (await import("../exchange/b.ts")).x;', "exchange/b.ts": "" },
      "channels/a.ts: channels may not know exchange (../exchange/b.ts)",
    ],
    [
      "an import type expression",
      { "margin/a.ts": 'let x: import("../contract/b.ts").X;', "contract/b.ts": "" },
      "margin/a.ts: margin may not know contract (../contract/b.ts)",
    ],
    [
      "the daemon from below",
      { "deliver/a.ts": 'import "../daemon/app.ts";', "daemon/app.ts": "" },
      "deliver/a.ts: deliver may not know daemon (../daemon/app.ts)",
    ],
    [
      "the command line from the daemon",
      { "daemon/a.ts": 'import "../cli/b.ts";', "cli/b.ts": "" },
      "daemon/a.ts: daemon may not know cli",
    ],
    [
      "an entry of the package from inside",
      { "cli/a.ts": 'import "../exports/margin.ts";', "exports/margin.ts": "" },
      "cli/a.ts: nobody may know exports (../exports/margin.ts)",
    ],
    [
      "an entry beyond its part",
      { "exports/margin.ts": 'import "../contract/b.ts";', "contract/b.ts": "" },
      "exports/margin.ts: this entry may not know contract (../contract/b.ts)",
    ],
    ["an unknown folder", { "util/a.ts": "" }, 'util/a.ts: "util" is no folder of the table'],
    [
      "a file that is not there",
      { "margin/a.ts": 'import { x } from "./b.js";' },
      "margin/a.ts: imports ./b.js, which does not exist",
    ],
    [
      "a file outside src",
      { "cli/a.ts": 'import x from "../../package.json";' },
      "cli/a.ts: imports ../../package.json, which lies outside src/",
    ],
    [
      "a library in the wrong folder",
      { "web/a.ts": 'import Database from "better-sqlite3";' },
      "web/a.ts: better-sqlite3 does not belong in web",
    ],
    [
      "a library's inner file",
      { "rules/a.ts": 'import { x } from "ws/lib/x.js";' },
      "rules/a.ts: ws does not belong in rules",
    ],
    [
      "a development tool",
      { "cli/a.ts": 'import fc from "fast-check";' },
      "cli/a.ts: fast-check is not among the dependencies",
    ],
    [
      "files in a pure folder",
      { "rules/a.ts": 'import { readFileSync } from "node:fs";' },
      "rules/a.ts: node:fs in a pure folder",
    ],
    [
      "hashing where no keys are",
      { "collect/a.ts": 'import { createHash } from "node:crypto";' },
      "collect/a.ts: node:crypto does not belong in collect",
    ],
    [
      "something computed",
      { "channels/a.ts": "await import(`./${name}.ts`);" },
      "channels/a.ts: imports something computed",
    ],
    ["the clock", { "engine/a.ts": "const t = Date.now();" }, "engine/a.ts: uses Date.now in a pure folder"],
    [
      "the date of today",
      { "alerts/a.ts": "const t = new Date().getTime();" },
      "alerts/a.ts: uses new Date() in a pure folder",
    ],
    [
      "the date of today without parentheses",
      { "alerts/a.ts": "const t = +new Date;" },
      "alerts/a.ts: uses new Date() in a pure folder",
    ],
    [
      "chance",
      { "margin/a.ts": "const r = Math.random();" },
      "margin/a.ts: uses Math.random in a pure folder",
    ],
    [
      "monotonic time",
      { "domain/a.ts": "performance.now()" },
      "domain/a.ts: uses performance.now in a pure folder",
    ],
    [
      "a timer in a template",
      { "engine/a.ts": "const s = `${setTimeout(f, 1)}`;" },
      "engine/a.ts: uses setTimeout() in a pure folder",
    ],
    [
      "the environment in a pure folder",
      { "contract/a.ts": "process.env.URL" },
      "contract/a.ts: uses process in a pure folder",
    ],
    [
      "the environment in another",
      { "exchange/a.ts": "const url = process.env.URL;" },
      "exchange/a.ts: reads the environment",
    ],
    [
      "two files in a ring",
      { "margin/a.ts": 'import "./b.ts";', "margin/b.ts": 'import { type A } from "./a.ts";' },
      "import cycle: margin/a.ts → margin/b.ts → margin/a.ts",
    ],
    [
      "two files that know each other's types",
      {
        "margin/a.ts": 'import type { B } from "./b.ts";',
        "margin/b.ts": 'export type { A } from "./a.ts";',
      },
      "import cycle: margin/a.ts → margin/b.ts → margin/a.ts",
    ],
    ["a long file", { "margin/a.ts": "\n".repeat(401) }, "margin/a.ts: 401 lines, more than 400"],
    [
      "a folder of many files",
      Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`margin/part-${index}.ts`, ""])),
      "margin: 21 files, more than 20",
    ],
    ["a loose file", { "util.ts": "" }, 'util.ts: "util.ts" is no folder of the table'],
    [
      "three files in a ring",
      { "cli/a.ts": 'import "./b.ts";', "cli/b.ts": 'import "./c.ts";', "cli/c.ts": 'import "./b.ts";' },
      "import cycle: cli/b.ts → cli/c.ts → cli/b.ts",
    ],
  ];
  test.each(cases)("%s", (_name, files, told) => {
    expect(problemsOf(new Map(Object.entries(files)), declared)).toEqual([told]);
  });
});

test("what only looks like code is not told", () => {
  const text = [
    '// import "../history/a.ts"; Date.now()',
    '/* import x from "undici" */',
    "const text = 'import \"ws\"; Math.random()';",
    'const half = `from "ws" ${a / b} import "ws" ${`Date.now()`}`;',
    'const pattern = /import "ws"[/"]/g, quotient = total / count / 2;',
    "const at = new Date(ms), zone = Date.UTC(2026, 0), t = clock.performance.now(), all = [...Date.parse(x)];",
    "const own = { import: 1, fetch: 2 }; own.import; this.fetch(); service.process.run();",
    "export default { from: 'here' };",
    'export const from = "../engine/b.ts";',
    'import.meta.dirname; export type { Side } from "./side.ts"; import { type A, b as from } from "./b.ts";',
  ].join("\n");
  expect(importsOf(text)).toEqual([
    { specifier: "./side.ts", typeOnly: true },
    { specifier: "./b.ts", typeOnly: false },
  ]);
  expect(ambientUses(text)).toEqual([]);
});
