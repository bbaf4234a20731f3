/** Tests if a value exists: false if it is missing, unknown if it is stale. */

import { Unknown } from "../../value.ts";
import type { Run } from "../node.ts";

export function isThere(run: Run): Run {
  return (env) => {
    const value = run(env);
    if (!(value instanceof Unknown)) return true;
    return isNotThere(value) ? false : value;
  };
}

/** True for each reason that means "missing". */
function isNotThere({ unknown }: Unknown): boolean {
  return unknown === "missing" || unknown === "absent" || unknown === "unset";
}
