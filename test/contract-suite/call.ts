/**
 * The checks of one call of the SDK: how it is made here, and what has to come of it.
 *
 *   parses      it asks the simulator, and what comes back fits the SDK's own schema (or the row's own question)
 *   refused     it has to be refused, with this status: the route is no part of the contract
 *   chain       it reads accounts or runs programs that only the real ledger has; it has to fail here, and say so
 *   local       it asks nobody: what it makes of the simulator's answers is looked at
 */
import { expect } from "vitest";
import type { Desk } from "./desk.ts";

export type Kind = "parses" | "refused" | "chain" | "local";

export interface Call {
  readonly kind: Kind;
  /** @returns what the table shows beside the result. */
  readonly make: (desk: Desk) => Promise<string>;
}
export type Calls = Readonly<Record<string, Call>>;

type Make<T> = (desk: Desk) => T | Promise<T>;

/**
 * A call whose answer is looked at. A GET is asked again in the plain: a field that the SDK drops is one that it does not
 * know, which is how a misspelled optional field would show. And it is answered once more with every value broken: a
 * row that parses that could not fail.
 * @param beyond paths of fields that the exchange's description has and the SDK has not; `*` is any name
 */
export function reads<T>(
  make: Make<T>,
  look: (answer: T, desk: Desk) => string,
  beyond: string[] = [],
): Call {
  return {
    kind: "parses",
    make: async (desk) => {
      desk.simulator.requests.clear();
      const answer = await make(desk);
      const note = look(answer, desk);
      const asked = desk.simulator.requests.query("/v1/*").requests.filter((it) => it.method === "GET");
      for (const path of new Set(asked.map((it) => it.path))) {
        const query = asked.find((it) => it.path === path)?.query;
        const plain = await desk.plain(`${path}?${query}`);
        if (asked.length === 1) allKnown(plain, answer, beyond);
        await desk.sim("fault", { path, method: "GET", times: 1, status: 200, body: broken(plain) });
        const again = Promise.resolve().then(async () => look(await make(desk), desk));
        await expect(again).rejects.toThrow();
      }
      return beyond.length === 0 ? note : `${note}; beyond the SDK: ${beyond.join(", ")}`;
    },
  };
}

function allKnown(plain: unknown, parsed: unknown, beyond: readonly string[]): void {
  const known = pathsOf(parsed);
  const unknown = [...pathsOf(plain)].filter((path) => !known.has(path));
  const allowed = beyond.map((path) => {
    const names = path.replace(/[.[\]]/g, "\\$&").replaceAll("*", "[^.]+");
    return new RegExp(`^${names}(?!\\w)`);
  });
  expect(unknown.filter((path) => !allowed.some((it) => it.test(path)))).toEqual([]);
  expect(allowed.filter((it) => !unknown.some((path) => it.test(path)))).toEqual([]);
}

/** The same shape with something else in every place. */
function broken(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(broken);
  if (typeof value !== "object" || value === null) return { broken: [] };
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, broken(inner)]));
}

export const parses = (make: Make<string>): Call => ({ kind: "parses", make: async (desk) => make(desk) });
export const local = (make: Make<string>): Call => ({ kind: "local", make: async (desk) => make(desk) });

export function refused(status: number, why: string, make: Make<unknown>): Call {
  return {
    kind: "refused",
    make: async (desk) => {
      await expect(Promise.resolve().then(() => make(desk))).rejects.toMatchObject({ status });
      return `${status}: ${why}`;
    },
  };
}

export function chain(why: string, make: Make<unknown>, failure: RegExp): Call {
  return {
    kind: "chain",
    make: async (desk) => {
      await expect(Promise.resolve().then(() => make(desk))).rejects.toThrow(failure);
      return why;
    },
  };
}

/** Expects rows in a list; returns their number. */
export function some(rows: readonly unknown[], what = "rows"): string {
  expect(rows.length).toBeGreaterThan(0);
  return `${rows.length} ${what}`;
}

/** Keys, authorities and lots are text or numbers with a brand in the SDK's types. */
export const branded = <T>(value: unknown): T => value as T;

/** Paths of all fields, with `[]` for members of lists. */
function pathsOf(value: unknown, path = "", into = new Set<string>()): Set<string> {
  const under = path === "" ? "" : `${path}.`;
  if (Array.isArray(value)) for (const it of value) pathsOf(it, `${path}[]`, into);
  else if (typeof value === "object" && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      into.add(`${under}${name}`);
      pathsOf(inner, `${under}${name}`, into);
    }
  }
  return into;
}
