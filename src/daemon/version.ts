/** The version of the program, read from its package.json: the one place where it stands. */
import { readFileSync } from "node:fs";

export const version: string = (
  JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string }
).version;
