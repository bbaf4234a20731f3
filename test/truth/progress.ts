/**
 * The record of a run, FOLDER/done.jsonl: the version that is played in its first line, then a line for each scenario that was. A run
 * that was interrupted goes on from it.
 */
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import type { Reach } from "./coverage.ts";

/** The result of one scenario; plain data, since it crosses processes. */
export interface Done {
  readonly seed: number;
  readonly wallets: number;
  readonly messages: number;
  /** Time of the processor, ms. */
  readonly tookMs: number;
  readonly violations: readonly string[];
  readonly reach: Reach;
}

export class Progress {
  /** By seed. */
  readonly done = new Map<number, Done>();
  readonly #file: string;

  /**
   * Adds to the record that is there, or begins a new one where that is of another version.
   * @param resume scenarios that it has count as done
   * @throws where the record to resume is of another version
   */
  constructor(folder: string, version: string, resume: boolean) {
    this.#file = path.join(folder, "done.jsonl");
    fs.mkdirSync(folder, { recursive: true });
    const lines = fs.existsSync(this.#file) ? fs.readFileSync(this.#file, "utf8").split("\n") : [];
    // The last line is empty, or was broken off.
    const [first, ...rest] = lines.slice(0, -1);
    const played =
      first === undefined ? version : (JSON.parse(first) as { readonly version: string }).version;
    if (resume && played !== version)
      throw new Error(
        `${this.#file} is of version ${played}, and this is ${version}: without --resume its record begins anew`,
      );
    for (const line of resume ? rest : []) {
      const one = JSON.parse(line) as Done;
      this.done.set(one.seed, one);
    }
    const kept = [JSON.stringify({ version }), ...(played === version ? rest : [])];
    fs.writeFileSync(this.#file, `${kept.join("\n")}\n`);
  }

  add(one: Done): void {
    this.done.set(one.seed, one);
    fs.appendFileSync(this.#file, `${JSON.stringify(one)}\n`);
  }
}

/** The version in package.json, with a hash of all that a scenario is made of. */
export function playedVersion(): string {
  const root = path.join(import.meta.dirname, "../..");
  const hash = createHash("sha256");
  for (const folder of ["src", "rules", "test/truth"])
    for (const name of fs
      .readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
      .sort()) {
      const file = path.join(root, folder, name);
      if (fs.statSync(file).isFile()) hash.update(`${folder}/${name}\n`).update(fs.readFileSync(file));
    }
  const { version } = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")) as {
    readonly version: string;
  };
  return `${version}-${hash
    .update(fs.readFileSync(path.join(root, "package-lock.json")))
    .digest("hex")
    .slice(0, 12)}`;
}
