/** Finds the endpoint of a method and path, for servers. Literal segments precede parameters, in any order of entries. */
import type { Endpoint, Method } from "./endpoint.ts";

export type RouteMatch =
  | { readonly kind: "found"; readonly endpoint: Endpoint; readonly path: Readonly<Record<string, string>> }
  /** 404. */
  | { readonly kind: "unknown" }
  /** 405; `allow` is for the header. */
  | { readonly kind: "otherMethod"; readonly allow: readonly Method[] };

interface Branch {
  readonly literal: Map<string, Branch>;
  /** At most one parameter branch; the endpoint at its end names the parameter. */
  parameter: Branch | null;
  readonly ends: Map<Method, { endpoint: Endpoint; names: readonly string[] }>;
}

export interface Router {
  /** `path` is the URL's path as sent (percent-encoded), without the query. */
  match(method: string, path: string): RouteMatch;
}

export function createRouter(endpoints: Iterable<Endpoint>): Router {
  const root = branch();
  for (const endpoint of endpoints) {
    const names: string[] = [];
    let at = root;
    for (const segment of endpoint.path.split("/").slice(1)) {
      if (segment.startsWith("{")) {
        names.push(segment.slice(1, -1));
        at.parameter ??= branch();
        at = at.parameter;
      } else {
        const next = at.literal.get(segment) ?? branch();
        at.literal.set(segment, next);
        at = next;
      }
    }
    const taken = at.ends.get(endpoint.method);
    if (taken) throw new Error(`${endpoint.name} and ${taken.endpoint.name} have one route`);
    at.ends.set(endpoint.method, { endpoint, names });
  }

  function match(method: string, path: string): RouteMatch {
    const segments: string[] = [];
    for (const raw of path.split("/").slice(1)) {
      const segment = decoded(raw);
      if (segment === null) return { kind: "unknown" };
      segments.push(segment);
    }
    const found = find(root, segments, 0, []);
    if (found === null) return { kind: "unknown" };
    const end = found.at.ends.get(method as Method);
    if (end === undefined) return { kind: "otherMethod", allow: [...found.at.ends.keys()] };
    const parameters: Record<string, string> = {};
    for (const [i, name] of end.names.entries()) parameters[name] = found.values[i] ?? "";
    return { kind: "found", endpoint: end.endpoint, path: parameters };
  }
  return { match };
}

function branch(): Branch {
  return { literal: new Map(), parameter: null, ends: new Map() };
}

/** Finds the first branch that ends in an endpoint: depth first, literals before the parameter. */
function find(
  at: Branch,
  segments: readonly string[],
  index: number,
  values: readonly string[],
): { at: Branch; values: readonly string[] } | null {
  const segment = segments[index];
  if (segment === undefined) return at.ends.size > 0 ? { at, values } : null;
  const literal = at.literal.get(segment);
  const exact = literal ? find(literal, segments, index + 1, values) : null;
  if (exact !== null) return exact;
  if (at.parameter === null || segment === "") return null;
  return find(at.parameter, segments, index + 1, [...values, segment]);
}

function decoded(segment: string): string | null {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
