/**
 * perpwatch as a program finds it that depends on it: packed by npm (which builds it), and unpacked into an empty folder, with the
 * libraries of its `dependencies` and nothing else beside it. Nothing is asked of a registry.
 */
import { spawn } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { npmCommand } from "../../launch.mjs";

export const root = path.join(import.meta.dirname, "..", "..");
/** The files that a build needs beside those of the package. */
const forTheBuild = ["src", "package-lock.json", "tsconfig.json", "tsconfig.build.json", "test/exports"];

export interface Manifest {
  readonly files: readonly string[];
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, at most a minute and a half. */
export function run(program: string, args: readonly string[], cwd: string): Promise<Ran> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|INIT_CWD|NODE_|VITEST)/.test(name),
  );
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...Object.fromEntries(inherited), NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 90_000,
      killSignal: "SIGKILL",
    });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => {
        said[name] += text;
      });
    child.once("error", reject);
    child.once("close", (status) => resolve({ status, ...said }));
  });
}

export class PackedPackage implements Disposable {
  readonly #outside = realpathSync(mkdtempSync(path.join(tmpdir(), "perpwatch-packed-")));
  /** The folder of the program that depends on it. */
  readonly folder = path.join(this.#outside, "program");
  /** The package in there. */
  readonly installed = path.join(this.folder, "node_modules", "perpwatch");

  /** @throws {Error} with the output of npm when it cannot be built */
  async pack(): Promise<void> {
    const checkout = path.join(this.#outside, "checkout");
    const { files } = manifestOf(root);
    for (const name of ["package.json", "README.md", "LICENSE", ...files, ...forTheBuild])
      if (name !== "dist") cpSync(path.join(root, name), path.join(checkout, name), { recursive: true });
    linkAll(path.join(root, "node_modules"), path.join(checkout, "node_modules"));
    const [npm = "", ...before] = npmCommand(process.execPath, process);
    const packed = await run(
      npm,
      [...before, "pack", "--silent", "--pack-destination", this.#outside],
      checkout,
    );
    const [tarball] = readdirSync(this.#outside).filter((name) => name.endsWith(".tgz"));
    if (packed.status !== 0 || tarball === undefined)
      throw new Error(`npm pack: ${packed.status}\n${packed.stdout}${packed.stderr}`);
    mkdirSync(this.installed, { recursive: true });
    const into = ["-xzf", path.join(this.#outside, tarball), "--strip-components=1", "-C", this.installed];
    const unpacked = await run("tar", into, this.#outside);
    if (unpacked.status !== 0) throw new Error(`tar: ${unpacked.stderr}`);
    const { dependencies, bin } = manifestOf(this.installed);
    // Types of Node are the program's own.
    for (const name of [...Object.keys(dependencies), "@types/node"]) this.#link(name);
    for (const [name, file] of Object.entries(bin)) {
      mkdirSync(path.join(this.folder, "node_modules", ".bin"), { recursive: true });
      symlinkSync(path.join(this.installed, file), path.join(this.folder, "node_modules", ".bin", name));
    }
    this.write("package.json", JSON.stringify({ type: "module" }));
  }

  #link(library: string): void {
    const link = path.join(this.folder, "node_modules", library);
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(path.join(root, "node_modules", library), link);
  }

  write(name: string, text: string): void {
    writeFileSync(path.join(this.folder, name), text);
  }

  /** The package's files, with slashes. */
  files(): readonly string[] {
    return readdirSync(this.installed, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(this.installed, path.join(entry.parentPath, entry.name)))
      .map((name) => name.split(path.sep).join("/"));
  }

  text(file: string): string {
    return readFileSync(path.join(this.installed, file), "utf8");
  }

  /** Runs a script of the program under Node. */
  node(...args: readonly string[]): Promise<Ran> {
    return run(process.execPath, ["--disable-warning=ExperimentalWarning", ...args], this.folder);
  }

  /** The mistakes that tsc finds in files of the program, under strict settings that check declarations as well. */
  async typeErrors(...names: readonly string[]): Promise<string> {
    const compilerOptions = {
      ...{
        module: "nodenext",
        moduleResolution: "nodenext",
        target: "es2024",
        types: ["node"],
        noEmit: true,
      },
      ...{
        strict: true,
        noUncheckedIndexedAccess: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
      },
    };
    this.write("tsconfig.json", JSON.stringify({ compilerOptions, files: names }));
    const tsc = path.join(root, "node_modules", ".bin", "tsc");
    const { status, stdout, stderr } = await run(tsc, ["-p", "tsconfig.json"], this.folder);
    return status === 0 ? "" : `${stdout}${stderr}`;
  }

  [Symbol.dispose](): void {
    rmSync(this.#outside, { recursive: true, force: true });
  }
}

export function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as Manifest;
}

/** A folder of links to what is in another: whoever empties it leaves the other alone. */
function linkAll(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isFile()) copyFileSync(source, target);
    else symlinkSync(source, target);
  }
}
