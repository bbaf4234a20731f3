/**
 * Digests of scenarios that the stage `truth` has played, in files: the stage `repeat` plays those scenarios again, in other processes,
 * and need not play them twice itself.
 */
import fs from "node:fs";
import path from "node:path";
import { playedVersion } from "./progress.ts";

const folder = path.join(import.meta.dirname, "../../.runtime/truth-digests");

export class Digests {
  readonly #version = playedVersion();

  note(seed: number, digest: string): void {
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(fileOf(seed), `${this.#version} ${digest}\n`);
  }

  /** Undefined: this version was not played, or another one was since. */
  of(seed: number): string | undefined {
    if (!fs.existsSync(fileOf(seed))) return undefined;
    const [version, digest] = fs.readFileSync(fileOf(seed), "utf8").trimEnd().split(" ");
    return version === this.#version ? digest : undefined;
  }
}

function fileOf(seed: number): string {
  return path.join(folder, `${seed}`);
}
