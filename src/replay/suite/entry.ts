/** A value in a test file with its place, so that mistakes are reported with line and column. */
import { isAlias, isMap, isScalar, isSeq, type Node, type Scalar } from "yaml";
import { parseDurationMs } from "../../domain/text/duration.ts";
import { nearestName, type RuleProblem } from "../../rules/index.ts";
import { type ProblemText, problemAt, type RuleSource, scalarText } from "../../rules/load/source.ts";

export type Report = (problem: RuleProblem) => void;

export class Entry {
  /** The name in the file: `at`, `series`. */
  readonly name: string;
  readonly #source: RuleSource;
  readonly #node: Node | null;
  readonly #place: Node | null;
  readonly #report: Report;

  /** @param place the node whose place stands for an empty value */
  constructor(source: RuleSource, node: Node | null, name: string, report: Report, place = node) {
    this.#source = source;
    this.#node = node;
    this.#place = place;
    this.name = name;
    this.#report = report;
  }

  get line(): number {
    return this.#source.place(this.#place?.range?.[0] ?? 0).line;
  }

  get isMap(): boolean {
    return isMap(this.#node);
  }

  get isList(): boolean {
    return isSeq(this.#node);
  }

  /** Reports a mistake in the key of this value. */
  nameProblem(problem: ProblemText): void {
    this.#report(problemAt(this.#source.place(this.#place?.range?.[0] ?? 0), problem));
  }

  /** An unquoted number or boolean, or text. */
  get scalar(): unknown {
    return isScalar(this.#node) ? this.#node.value : undefined;
  }

  problem(problem: ProblemText, offset = 0): void {
    const node = this.#node;
    const text = this.text;
    const at =
      offset > 0 && isScalar(node) && text !== undefined
        ? this.#source.placeIn(node as Scalar, text, offset)
        : this.#source.place((node ?? this.#place)?.range?.[0] ?? 0);
    // The first character of quoted text follows the quote.
    const quoted = isScalar(node) && offset === 0 && /^["']/.test(at.source.slice(at.column - 1));
    this.#report(problemAt(quoted ? { ...at, column: at.column + 1 } : at, problem));
  }

  /** The text in the file; undefined where it is empty or no scalar. */
  get text(): string | undefined {
    return scalarText(this.#node);
  }

  /** @returns undefined after a problem was reported */
  needText(): string | undefined {
    const { text } = this;
    if (text === undefined || text.trim() === "") {
      this.problem({ message: `${this.name} must be text` });
      return undefined;
    }
    return text;
  }

  durationMs(): number | undefined {
    const { text } = this;
    const ms = text === undefined ? undefined : text === "0" ? 0 : parseDurationMs(text);
    if (ms === undefined)
      this.problem({
        message: `${this.name} must be a duration, found ${text ?? "something else"}`,
        allowed: ["0s", "30s", "10m", "4h", "7d"],
      });
    return ms;
  }

  oneOf<T extends string>(allowed: readonly T[]): T | undefined {
    const { text } = this;
    const match = allowed.find((one) => one === text);
    if (match !== undefined) return match;
    const nearest = nearestName(text ?? "", allowed);
    this.problem({ message: `${this.name} cannot be ${text ?? "something else"}`, allowed, nearest });
    return undefined;
  }

  number(): number | undefined {
    const { text } = this;
    const plain = text?.endsWith("%")
      ? Number(text.slice(0, -1)) / 100
      : text === "inf"
        ? Infinity
        : Number(text);
    if (text !== undefined && text.trim() !== "" && !Number.isNaN(plain)) return plain;
    this.problem({ message: `${this.name} must be a number` });
    return undefined;
  }

  boolean(): boolean | undefined {
    if (typeof this.scalar === "boolean") return this.scalar;
    this.problem({ message: `${this.name} must be true or false` });
    return undefined;
  }

  /** The entry under a key; undefined where there is none. */
  get(key: string): Entry | undefined {
    return this.entries().find((one) => one.name === key);
  }

  need(key: string): Entry | undefined {
    const found = this.get(key);
    if (found === undefined) this.problem({ message: `${key} is missing` });
    return found;
  }

  /** The entries of a mapping; none for other nodes. */
  entries(): readonly Entry[] {
    if (!isMap(this.#node)) return [];
    return this.#node.items.map((pair) =>
      this.#child(pair.value as Node | null, scalarText(pair.key) ?? "", pair.key as Node),
    );
  }

  /** The items of a list; another node is a list of itself. */
  items(): readonly Entry[] {
    if (!isSeq(this.#node)) return [this];
    return this.#node.items.map((node) => this.#child(node as Node | null, this.name, node as Node | null));
  }

  /**
   * Reports unknown keys, and nodes that are no mapping.
   * @returns true if it is a mapping
   */
  mapping(allowed: readonly string[] | null): boolean {
    if (!isMap(this.#node)) {
      this.problem({ message: `${this.name} must be a mapping`, allowed: allowed ?? [] });
      return false;
    }
    if (allowed === null) return true;
    for (const pair of this.#node.items) {
      const key = scalarText(pair.key) ?? "";
      if (allowed.includes(key)) continue;
      const at = this.#source.place((pair.key as Node).range?.[0] ?? 0);
      const nearest = nearestName(key, allowed);
      this.#report(problemAt(at, { message: `unknown key ${key || "(no text)"}`, allowed, nearest }));
    }
    return true;
  }

  /** The value as JavaScript data. */
  value(): unknown {
    const node = this.#node;
    return node === null ? null : isScalar(node) ? node.value : node.toJSON();
  }

  #child(node: Node | null, name: string, place: Node | null): Entry {
    if (isAlias(node)) {
      const at = this.#source.place(node.range?.[0] ?? 0);
      this.#report(problemAt(at, { message: "aliases (*name) are not taken: write it out" }));
      return new Entry(this.#source, null, name, this.#report, place);
    }
    return new Entry(this.#source, node, name, this.#report, place);
  }
}
