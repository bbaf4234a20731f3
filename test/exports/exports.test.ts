/**
 * perpwatch as a library, from its tarball: the examples of docs/library.md run and have right types, importing an entry does nothing
 * but that, and there is no other way in.
 */
import { copyFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { entries, example, sectionOf } from "./library-page.ts";
import { PackedPackage, root, run } from "./packed-package.ts";

const packed = new PackedPackage();
beforeAll(async () => {
  await packed.pack();
  for (const name of entries)
    copyFileSync(path.join(root, example(name)), path.join(packed.folder, `${name}.ts`));
  packed.write("trace.mjs", trace);
}, 240_000);
afterAll(() => packed[Symbol.dispose]());

/** Tells at the end which libraries and native parts were loaded, and before that whether anything had been started. */
const trace = `
import { registerHooks } from "node:module";
const libraries = new Set();
const native = new Set();
registerHooks({
  load(url, context, next) {
    const found = /node_modules\\/(?!perpwatch\\/)((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
    if (found) libraries.add(found);
    return next(url, context);
  },
});
const { dlopen } = process;
process.dlopen = (...args) => { native.add(args[1]); return dlopen.apply(process, args); };
process.on("exit", () => console.log(JSON.stringify({ libraries: [...libraries].sort(), native: [...native] })));
`;

test.each(entries)("the example of perpwatch/%s prints what its page says", async (name) => {
  expect(await packed.node(`${name}.ts`)).toEqual({ status: 0, stdout: sectionOf(name).output, stderr: "" });
});

describe("types", () => {
  test("of the examples are right, and so are all declarations of the package", async () => {
    expect(await packed.typeErrors(...entries.map((name) => `${name}.ts`))).toBe("");
  });

  test("refuse what an entry does not take", async () => {
    const wrong = [
      ["await api.traderState();", "arguments are missing"],
      ["(await api.markets())[0]?.prize;", "no such field"],
      ['openStream({ message() {} }).subscribe("prices", {});', "no such channel"],
      ["assessAccount({}, new Map(), new Map());", "no account"],
      ['compileExpression("1", { scope: "moon" });', "no such scope"],
      [
        'await (await startSimulator()).call("mark-price", { symbol: "SOL", prize: "1" });',
        "no such parameter",
      ],
    ];
    const head = `import { connect } from "perpwatch/client";
import { assessAccount } from "perpwatch/margin";
import { compileExpression } from "perpwatch/rules";
import { startSimulator } from "perpwatch/simulator";
const { api, openStream } = connect({ baseUrl: "http://127.0.0.1:1" });
`;
    packed.write("wrong.ts", head + wrong.map(([line]) => `${line}\n`).join(""));
    const found = (await packed.typeErrors("wrong.ts")).matchAll(/^(\S+)\((\d+),\d+\): error TS\d+/gm);
    expect([...found].map(([, file, line]) => `${file}:${line}`)).toEqual(
      wrong.map((_, index) => `wrong.ts:${index + 6}`),
    );
  });
});

describe("importing an entry", () => {
  /** Libraries that an entry may load; all of them are JavaScript. */
  const mayLoad: Readonly<Record<string, RegExp>> = {
    margin: /^$/,
    rules: /^(@marcbachmann\/cel-js|yaml|zod|node-cron)$/,
    client: /^(?!better-sqlite3$|discord\.js$|fastify$|@resvg\/)/,
    simulator: /^(?!better-sqlite3$|discord\.js$|undici$|@resvg\/)/,
  };

  test.each(entries)("perpwatch/%s starts nothing and loads what it needs", async (name) => {
    packed.write(
      "import.mjs",
      `const active = () => JSON.stringify(process.getActiveResourcesInfo());
console.log("before"), console.error("before");
const before = active();
await import("perpwatch/${name}");
console.log(active() === before ? "nothing" : active());`,
    );
    const { status, stdout, stderr } = await packed.node("--import", "./trace.mjs", "import.mjs");
    const [, started, loaded = ""] = stdout.split("\n");
    expect({ status, stderr, started }).toEqual({ status: 0, stderr: "before\n", started: "nothing" });
    const { libraries, native } = JSON.parse(loaded) as { libraries: string[]; native: string[] };
    expect(native).toEqual([]);
    expect(libraries.filter((library) => !mayLoad[name]!.test(library))).toEqual([]);
  });

  test("the trace sees a library, and a native part", async () => {
    packed.write("import.mjs", 'import Database from "better-sqlite3"; new Database(":memory:").close();');
    const { stdout } = await packed.node("--import", "./trace.mjs", "import.mjs");
    const { libraries, native } = JSON.parse(stdout);
    expect(libraries).toContain("better-sqlite3");
    expect(native).toEqual([expect.stringMatching(/\.node$/)]);
  });
});

test("there is no other way in", async () => {
  packed.write(
    "ways.mjs",
    `const ways = ["perpwatch", "perpwatch/dist/exports/client.js", "perpwatch/dist/main.js", "perpwatch/exports", "perpwatch/launch.mjs"];
for (const way of ways) console.log(way, await import(way).then(() => "is open", ({ code }) => code));
const { default: manifest } = await import("perpwatch/package.json", { with: { type: "json" } });
console.log(manifest.name);`,
  );
  const { stdout } = await packed.node("ways.mjs");
  const lines = stdout.trim().split("\n");
  expect(lines.at(-1)).toBe("perpwatch");
  expect(lines.slice(0, -1).map((line) => line.split(" ")[1])).toEqual(
    Array(5).fill("ERR_PACKAGE_PATH_NOT_EXPORTED"),
  );
});

describe("the tarball", () => {
  test("names its own files as they are there, in code and declarations", () => {
    const files = new Set(packed.files());
    const own = [...files].filter((name) => /^dist\/.*\.(js|d\.ts)$/.test(name));
    expect(own.length).toBeGreaterThan(500);
    const missing = own.flatMap((file) =>
      [...packed.text(file).matchAll(/(?:\bfrom|\bimport|\bimport\()\s*["'](\.[^"'\s]+)["']/g)].flatMap(
        ([, name]) => {
          const target = path.posix.join(path.posix.dirname(file), name!);
          const wanted = file.endsWith(".d.ts") ? target.replace(/\.js$/, ".d.ts") : target;
          return files.has(wanted) ? [] : [`${file}: ${name}`];
        },
      ),
    );
    expect(missing).toEqual([]);
  });

  test("has declarations of what the entries need alone, and neither sources nor tests", () => {
    const files = packed.files();
    expect(files.filter((name) => /(?<!\.d)\.ts$/.test(name) || name.startsWith("test/"))).toEqual([]);
    const declared = files.filter((name) => name.endsWith(".d.ts")).map((name) => name.split("/")[1]);
    expect(
      declared.filter((folder) => ["daemon", "cli", "engine", "history", "web"].includes(folder!)),
    ).toEqual([]);
    expect(declared.length).toBeGreaterThan(20);
  });

  test("has a program that runs", async () => {
    const program = path.join(packed.folder, "node_modules", ".bin", "perpwatch");
    const { version } = JSON.parse(packed.text("package.json")) as { version: string };
    const said = await run(process.execPath, [program, "--version"], packed.folder);
    expect(said).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
    const listed = await run(process.execPath, [program, "api", "list"], packed.folder);
    expect(listed).toMatchObject({ status: 0, stdout: expect.stringContaining("traderState") });
  });
});
