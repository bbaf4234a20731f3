/**
 * Faults that tests put in the way of requests: refused, slow, cut off, or answered with rubbish. The first fault that
 * matches a request applies to it; control calls are never hit.
 */

export interface Fault {
  readonly id: number;
  /** Exact, or a prefix that ends in `*`. The query does not count. */
  readonly path: string;
  /** Any when null. */
  readonly method: string | null;
  /** The number of requests that it still hits; null: all until it is cleared. */
  times: number | null;
  readonly status: number | null;
  /** `error` of the body. */
  readonly error: string | null;
  /** Waits before anything else, in the simulator's real time. */
  readonly delayMs: number;
  /** Header `Retry-After`, as it is. */
  readonly retryAfter: string | null;
  /** Sent in place of the answer: text as it is, anything else as JSON. */
  readonly body: unknown;
  /**
   * `request`: the connection ends before an answer; `reply`: the request is carried out and its answer is lost;
   * `body`: the answer breaks off in its middle.
   */
  readonly drop: "request" | "reply" | "body" | null;
  /** Fields taken out of the real answer, as `snapshot.subaccounts.0.collateral`. */
  readonly omit: readonly string[];
  /** Fields put into the real answer, by the same kind of path. */
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

  /** Takes the fault of a request, when there is one. */
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

/** The real answer with fields taken out and put in. */
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
