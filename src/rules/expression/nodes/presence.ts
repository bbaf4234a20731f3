/** Asks whether a value is there: missing is `false`, stale stays unknown. */

import { Unknown } from "../../value.ts";
import type { Run } from "../node.ts";

export function isThere(run: Run): Run {
  return (env) => {
    const value = run(env);
    if (!(value instanceof Unknown)) return true;
    return isNotThere(value) ? false : value;
  };
}

/** For whatever reason: `has` asks no more than that. */
function isNotThere({ unknown }: Unknown): boolean {
  return unknown === "missing" || unknown === "absent" || unknown === "unset";
}
