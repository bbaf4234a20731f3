/** The lines of context of alerts about missing data that name what is not read. */
import type { AlertChange } from "../../../src/domain/alerts/alert.ts";

export interface Row {
  /** The missing data in words. */
  readonly words: string;
  readonly schedule: string;
  /** Empty: no wallet's. */
  readonly wallets: readonly string[];
  /** Markets; empty: all. */
  readonly symbols: readonly string[];
  /** More than these that are not named. */
  readonly more: boolean;
  /** Null: none is stated. */
  readonly cause: string | null;
  /** The time of the last reading as it is told: `never`, or with its date. */
  readonly read: string;
  readonly text: string;
}

const line = /^([a-z' -]+?)(?: of ([\w, ]+))? \(schedule (\w+)\): (?:(.+), )?last read (.+)$/;
const others = / and \d+ more$/;

/** @param names of all wallets */
export function rowsOf(
  { details }: Pick<AlertChange, "details">,
  names: ReadonlySet<string>,
): readonly Row[] {
  return details.flatMap(([name, text]) => {
    const found = name === "Not read" ? line.exec(text) : null;
    if (found === null) return [];
    const [, words = "", whose = "", schedule = "", cause = null, read = ""] = found;
    const listed = whose === "" ? [] : whose.replace(others, "").split(", ");
    return {
      ...{ words, schedule, cause, read, text, more: others.test(whose) },
      ...{
        wallets: listed.filter((one) => names.has(one)),
        symbols: listed.filter((one) => !names.has(one)),
      },
    };
  });
}
