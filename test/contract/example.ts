/** The example records: one invented world, a JSON file a record. */
import { readFileSync } from "node:fs";
import { parseJson } from "../../src/contract/json.ts";

export const examplesFolder = new URL("./examples/", import.meta.url);

/** An example as JSON, by file name without its ending. */
export function example(name: string): unknown {
  return parseJson(readFileSync(new URL(`${name}.json`, examplesFolder), "utf8"));
}
