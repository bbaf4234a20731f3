/**
 * Handles records that the contract does not know: counted each time, said once, kept for inspection once an hour a kind. A
 * kind is an endpoint and the fields that do not fit, or what is wrong where that is no field; numbers (of rows, of
 * characters) do not tell kinds apart.
 */
import type { Clock } from "../domain/clock.ts";
import type { BadRecordReport } from "../exchange/index.ts";
import type { CollectLog } from "./log.ts";

const KEEP_AGAIN_MS = 3_600_000;
const MOST_KINDS = 1_000;
/** Maximum number of problems kept apart for an endpoint; more are one kind. */
const MOST_PROBLEMS = 20;

/** A body to keep. */
export interface BadRecord {
  /** Name in the table of endpoints. */
  readonly source: string;
  readonly wallet: string | null;
  readonly endpoint: string;
  /** First field that does not fit; empty: the whole answer. */
  readonly field: string;
  /** One line for people. */
  readonly problem: string;
  readonly body: string;
}

export class BadRecords {
  readonly #clock: Clock;
  readonly #log: CollectLog;
  readonly #keep: (record: BadRecord) => void;
  readonly #kinds = new Map<string, number>();
  readonly #problems = new Map<string, Set<string>>();
  readonly #words = new Set<string>();
  count = 0;

  constructor(clock: Clock, log: CollectLog, keep: (record: BadRecord) => void) {
    this.#clock = clock;
    this.#log = log;
    this.#keep = keep;
  }

  take({ endpoint, wallet, problem, fields, body }: BadRecordReport): void {
    this.count++;
    const paths = fields.map((field) => field.path).filter((path) => path !== "");
    const about = paths.length > 0 ? paths.join(" ") : this.#problemOf(endpoint, problem);
    const kind = `${endpoint} ${about.replace(/\d+/g, "n")}`;
    const now = this.#clock.elapsedMs();
    const keptMs = this.#kinds.get(kind);
    if (keptMs === undefined) {
      if (this.#kinds.size >= MOST_KINDS) this.#kinds.clear();
      this.#log.warn(
        { endpoint, wallet, field: fields[0]?.path ?? "" },
        `the exchange sent what is not known here: ${problem}`,
      );
    }
    if (keptMs !== undefined && now - keptMs < KEEP_AGAIN_MS) return;
    this.#kinds.set(kind, now);
    if (body !== null) {
      this.#keep({ source: endpoint, wallet, endpoint, field: fields[0]?.path ?? "", problem, body });
    }
  }

  #problemOf(endpoint: string, problem: string): string {
    const known = this.#problems.get(endpoint) ?? new Set();
    this.#problems.set(endpoint, known);
    const one = problem.replace(/\d+/g, "n").slice(0, 200);
    if (!known.has(one) && known.size >= MOST_PROBLEMS) return "more";
    known.add(one);
    return one;
  }

  /** A word of an enum that the rule language does not know. Not a bad record: it is read as "other". */
  unknownWord(endpoint: string, field: string, word: string): void {
    const name = `${endpoint} ${field} ${word}`;
    if (this.#words.has(name) || this.#words.size >= MOST_KINDS) return;
    this.#words.add(name);
    this.#log.warn(
      { endpoint, field, word: word.slice(0, 80) },
      `${endpoint}: ${field} has a word that is not known here; it reads as "other"`,
    );
  }
}
