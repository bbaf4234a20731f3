/** Values of maps by key: texts of a subject, and limits, whose names are recorded. */

import type { Names } from "../names.ts";
import type { Compiling, Run } from "../node.ts";
import { plainDouble, type StaticType, text as textType } from "../types.ts";
import { readKey, readLimit } from "./fields.ts";

export class LimitMaps {
  readonly #names: Names;

  constructor(names: Names) {
    this.#names = names;
  }

  /** @param path path of the value, as written */
  value(path: string, map: Compiling, type: StaticType & { kind: "map" }, key: Run): Compiling {
    return type.of === "texts"
      ? { type: textType, run: readKey(path, map.run, key, type.missing) }
      : { type: plainDouble, run: this.limit(path, map.run, key) };
  }

  limit(path: string, map: Run, key: Run): Run {
    return readLimit(path, map, key, this.#hasMarket);
  }

  /** Records the name of a limit that is read. */
  read(name: string): void {
    const { gathered } = this.#names;
    gathered.limits.add(name);
    if (!this.#hasMarket) gathered.marketlessLimits.add(name);
  }

  get #hasMarket(): boolean {
    const { owners, scopes } = this.#names.naming;
    return owners !== undefined || scopes.includes("market");
  }
}
