/**
 * Adding an endpoint takes what ARCHITECTURE.md says it takes: its very lines, put into a copy of the sources, give a
 * typed client, a command and an answer of the simulator, and the compiler is content.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";

const root = path.join(import.meta.dirname, "..", "..");
const copy = mkdtempSync(path.join(tmpdir(), "perpwatch-endpoint-"));
afterAll(() => rmSync(copy, { recursive: true, force: true }));

interface Block {
  readonly file: string;
  /** The object that it goes into; null: the end of the file. */
  readonly into: string | null;
  readonly lines: readonly string[];
}

/** The blocks of code under "add an endpoint". */
function blocks(): Block[] {
  const text = readFileSync(path.join(root, "ARCHITECTURE.md"), "utf8");
  const section = text.split("**add an endpoint**")[1]?.split("\n**")[0] ?? "";
  return [...section.matchAll(/```ts\n\/\/ (\S+?)(?:, in (\w+))?\n([\s\S]*?)```/g)].map(
    ([, file, into, code]) => ({
      file: file!,
      into: into ?? null,
      lines: code!.trimEnd().split("\n"),
    }),
  );
}

function run(program: string, args: readonly string[]): Promise<{ status: number | null; text: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: copy, stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (part) => (text += part));
    child.once("error", reject);
    child.once("close", (status) => resolve({ status, text }));
  });
}

test("the lines of ARCHITECTURE.md add an endpoint, fewer than ten of them", async () => {
  const found = blocks();
  expect(found.length).toBe(3);
  expect(found.flatMap(({ lines }) => lines).length).toBeLessThan(10);

  cpSync(path.join(root, "src"), path.join(copy, "src"), { recursive: true });
  for (const name of ["package.json", "tsconfig.json", "tsconfig.build.json"])
    cpSync(path.join(root, name), path.join(copy, name));
  symlinkSync(path.join(root, "node_modules"), path.join(copy, "node_modules"));
  for (const { file, into, lines } of found) {
    const at = path.join(copy, file);
    let text = readFileSync(at, "utf8");
    const added = `${lines.join("\n")}\n`;
    if (into === null) text += added;
    else {
      const head = new RegExp(`(export const ${into} = .*\\{\n)`);
      expect(text, file).toMatch(head);
      text = text.replace(head, (line) => line + added);
    }
    // What an editor adds by itself: the names that are used now.
    if (file.includes("contract/endpoints"))
      text = `import { oraclePrice } from "../records/market.ts";\n${text}`;
    writeFileSync(at, text);
  }

  const compiled = await run(path.join(root, "node_modules", ".bin", "tsc"), [
    "--noEmit",
    "-p",
    "tsconfig.build.json",
  ]);
  expect(compiled).toEqual({ status: 0, text: "" });

  const serve = `
    import { startSimulator } from "./src/simulator/index.ts";
    const simulator = await startSimulator({ port: 0, traders: 1, walk: false, speed: 0, keysDir: null });
    console.log(simulator.url);
  `;
  writeFileSync(path.join(copy, "serve.ts"), serve);
  const server = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", "serve.ts"], {
    cwd: copy,
  });
  onTestFinished(() => void server.kill("SIGKILL"));
  const [line] = (await once(server.stdout, "data")) as [Buffer];
  const url = line.toString().trim();
  const api = (...words: string[]) => run(process.execPath, ["src/main.ts", "api", ...words]);
  const described = await api("describe", "oraclePrice");
  expect(described.text).toContain("oraclePrice: Oracle price of one market in USD.");
  const [asked, refused, misused] = await Promise.all([
    api("oraclePrice", "--symbol", "SOL", "--url", url),
    api("oraclePrice", "--symbol", "NOPE", "--url", url),
    api("oraclePrice", "--url", url),
  ]);
  expect(asked).toEqual({ status: 0, text: expect.stringMatching(/^symbol: SOL\noraclePrice: [\d.]+\n$/) });
  expect(refused).toEqual({ status: 1, text: expect.stringMatching(/oraclePrice.*404/) });
  expect(misused).toEqual({ status: 2, text: expect.stringContaining("--symbol: required") });
});
