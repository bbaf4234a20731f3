/**
 * Faults for requests: refused, delayed, cut off, or answered with invalid data. The first fault that matches a request
 * applies; control calls are never affected.
 */

export interface Fault {
  readonly id: number;
  /** Exact, or a prefix that ends in `*`; without the query. */
  readonly path: string;
  /** Null: any. */
  readonly method: string | null;
  /** Number of requests that it still affects; null: all until it is cleared. */
  times: number | null;
  readonly status: number | null;
  /** `error` of the body. */
  readonly error: string | null;
  /** Delay before anything else, in real time. */
  readonly delayMs: number;
  /** The header `Retry-After`, literally. */
  readonly retryAfter: string | null;
  /** Sent instead of the answer: text literally, anything else as JSON. */
  readonly body: unknown;
  /**
   * `request`: the connection ends before an answer; `reply`: the request is executed and its answer is lost; `body`:
   * the answer ends in its middle.
   */
  readonly drop: "request" | "reply" | "body" | null;
  /** Fields removed from the real answer, such as `snapshot.subaccounts.0.collateral`. */
  readonly omit: readonly string[];
  /** Fields set in the real answer, by paths of the same form. */
  readonly set: Readonly<Record<string, unknown>>;
  hits: number;
}

export class Faults {
  #faults: Fault[] = [];
  #nextId = 1;

  add(fault: Omit<Fault, "id" | "hits">): Fault {
    const added = { ...fault, id: this.#nextId++, hits: 0 };
    this.#faults.push(added);
    return added;
  }

  list(): readonly Fault[] {
    return this.#faults;
  }

  clear(): void {
    this.#faults = [];
  }

  /** Finds the fault of a request and counts it. */
  take(method: string, path: string): Fault | null {
    if (this.#faults.length === 0) return null;
    const fault = this.#faults.find(
      (it) => (it.method === null || it.method === method) && it.times !== 0 && pathFits(it.path, path),
    );
    if (!fault) return null;
    fault.hits += 1;
    if (fault.times !== null) fault.times -= 1;
    return fault;
  }
}

/** Exact, or a prefix that ends in `*`. */
export function pathFits(pattern: string, path: string): boolean {
  return pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}

/** The real answer with fields removed and set. */
export function altered(text: string, fault: Fault): string {
  if (fault.omit.length === 0 && Object.keys(fault.set).length === 0) return text;
  const root: unknown = JSON.parse(text);
  for (const path of fault.omit) {
    const spot = find(root, path);
    if (spot) delete spot.parent[spot.name];
  }
  for (const [path, value] of Object.entries(fault.set)) {
    const spot = find(root, path);
    if (spot) spot.parent[spot.name] = value;
  }
  return JSON.stringify(root);
}

function find(root: unknown, path: string): { parent: Record<string, unknown>; name: string } | null {
  const parts = path.split(".");
  const name = parts.pop() as string;
  let at: unknown = root;
  for (const part of parts) {
    if (typeof at !== "object" || at === null) return null;
    at = (at as Record<string, unknown>)[part];
  }
  return typeof at === "object" && at !== null ? { parent: at as Record<string, unknown>, name } : null;
}
