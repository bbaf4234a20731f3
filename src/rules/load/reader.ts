/**
 * Reads the keys of one mapping, and reports each mistake with its place. An override from the configuration is merged over the
 * file's mapping: its keys take precedence, and its mistakes are reported under its own name, since it has no line here.
 */
import { Document, isAlias, isMap, isScalar, isSeq, type Node, type Scalar, type YAMLMap } from "yaml";
import { formatDurationMs, parseDurationMs } from "../../domain/text/duration.ts";
import { nearestName, type RuleProblem } from "../problem.ts";
import { type Place, type ProblemText, problemAt, type RuleSource, scalarText } from "./source.ts";

export interface TextAt {
  readonly text: string;
  /** The place of the character at this offset. */
  readonly placeOf: (offset: number) => Place;
}

/** Keys that belong to another key: an override of the other key removes those of the file. */
const completes: Readonly<Record<string, string>> = { resolveWhen: "when" };

export class Reader {
  readonly #source: RuleSource;
  readonly #map: YAMLMap;
  readonly #over: YAMLMap | null;
  readonly #path: string;
  readonly #report: (problem: RuleProblem) => void;

  /** @param path name of the override in reports: `ruleOverrides.MarginHigh` */
  constructor(
    source: RuleSource,
    map: YAMLMap,
    over: YAMLMap | null,
    path: string,
    report: (problem: RuleProblem) => void,
  ) {
    this.#source = source;
    this.#map = map;
    this.#over = over;
    this.#path = path;
    this.#report = report;
  }

  get keys(): string[] {
    const names = (map: YAMLMap | null) => (map?.items ?? []).map((pair) => scalarText(pair.key) ?? "");
    return [...new Set([...names(this.#map), ...names(this.#over)])];
  }

  has(key: string): boolean {
    return this.#node(key) !== undefined;
  }

  problem(key: string | null, problem: ProblemText): void {
    this.#report(problemAt(this.place(key), problem));
  }

  /** The place of a key's value; of the mapping itself for null or a missing key. */
  place(key: string | null): Place {
    const node = key === null ? undefined : this.#node(key);
    if (node === undefined) return this.#source.place(this.#map.range?.[0] ?? 0);
    return this.#placeOfNode(node, key ?? "");
  }

  /** Reports keys that are not allowed. */
  allow(allowed: readonly string[]): void {
    for (const map of [this.#map, this.#over]) {
      for (const pair of map?.items ?? []) {
        const key = scalarText(pair.key) ?? "";
        if (allowed.includes(key)) continue;
        const place = this.#placeOfNode(pair.key as Node, key);
        const nearest = nearestName(key, allowed);
        this.#report(problemAt(place, { message: `unknown key ${key || "(no text)"}`, allowed, nearest }));
      }
    }
  }

  text(key: string, required = false): TextAt | undefined {
    const node = this.#node(key);
    if (node === undefined) {
      if (required) this.problem(null, { message: `${key} is missing` });
      return undefined;
    }
    const text = scalarText(node);
    if (text === undefined || text.trim() === "") {
      this.problem(key, { message: `${key} must be text` });
      return undefined;
    }
    return {
      text,
      placeOf: (offset) =>
        isScalar(node) && node.range
          ? this.#source.placeIn(node as Scalar, text, offset)
          : this.#placeOfNode(node, key),
    };
  }

  oneOf<T extends string>(key: string, allowed: readonly T[], required = false): T | undefined {
    const found = this.text(key, required);
    if (found === undefined) return undefined;
    const match = allowed.find((candidate) => candidate === found.text);
    if (match === undefined)
      this.problem(key, {
        message: `${key} cannot be ${found.text}`,
        allowed,
        nearest: nearestName(found.text, allowed),
      });
    return match;
  }

  durationMs(key: string, leastMs = 0): number | undefined {
    const found = this.text(key);
    if (found === undefined) return undefined;
    const ms = parseDurationMs(found.text);
    if (ms !== undefined && ms < leastMs)
      this.problem(key, { message: `${key} must be ${formatDurationMs(leastMs)} at least` });
    if (ms === undefined)
      this.problem(key, {
        message: `${found.text} is no duration`,
        allowed: ["250ms", "5s", "10m", "4h", "7d"],
      });
    return ms;
  }

  /** A text or a list of texts. */
  texts(key: string): string[] | undefined {
    const node = this.#node(key);
    if (node === undefined) return undefined;
    const items = isSeq(node) ? node.items : [node];
    const found = items.map((item) => scalarText(item));
    if (found.length > 0 && found.every((text) => text !== undefined)) return found;
    this.problem(key, { message: `${key} must be text or a list of texts` });
    return undefined;
  }

  map(key: string): Reader | undefined {
    const own = this.#child(this.#map, key);
    const over = this.#child(this.#over, key);
    const node = over ?? own;
    if (node === undefined) return undefined;
    if (!isMap(node)) {
      this.problem(key, { message: `${key} must be a mapping` });
      return undefined;
    }
    const path = `${this.#path}.${key}`;
    if (over === undefined || !isMap(own))
      return new Reader(this.#source, node, over === undefined ? null : node, path, this.#report);
    return new Reader(this.#source, own, node, path, this.#report);
  }

  #node(key: string): Node | undefined {
    const over = this.#child(this.#over, key);
    if (over !== undefined) return over;
    const whole = completes[key];
    if (whole !== undefined && this.#child(this.#over, whole) !== undefined) return undefined;
    return this.#child(this.#map, key);
  }

  #child(map: YAMLMap | null, key: string): Node | undefined {
    const pair = map?.items.find((item) => scalarText(item.key) === key);
    if (pair === undefined) return undefined;
    const node = pair.value as Node | null;
    if (isAlias(node)) {
      this.#report(
        problemAt(this.#placeOfNode(node, key), { message: "aliases (*name) are not taken: write it out" }),
      );
      return undefined;
    }
    return node ?? (pair.key as Node);
  }

  #placeOfNode(node: Node, key: string): Place {
    if (node.range) return this.#source.place(node.range[0]);
    return { file: `${this.#path}.${key}`, line: 0, column: 0, source: "" };
  }
}

/** Converts a value from the configuration to a mapping as in a file; undefined if it is not one. */
export function mappingOf(value: unknown): YAMLMap | undefined {
  const { contents } = new Document(value);
  return isMap(contents) ? (contents as YAMLMap) : undefined;
}
