/**
 * Handles records that do not match the contract: counted each time, logged once, stored for inspection once an hour a
 * kind. A kind is an endpoint and the invalid fields, or the error if it concerns no field; numbers (of rows, of
 * characters) do not distinguish kinds. The other side decides what it sends, so each of these has a limit.
 */
import type { Clock } from "../../domain/clock.ts";
import { hideSecretsAtBeginning } from "../../domain/text/hidden-secrets.ts";
import { type BadRecordReport, maxKeptBody } from "../../exchange/index.ts";
import type { CollectLog } from "../log.ts";

const storeIntervalMs = 3_600_000;
const maxKinds = 1_000;
/** Maximum number of separate problems of an endpoint; more are one kind. */
const maxProblems = 20;
/** Maximum number of bodies stored an hour, of all kinds. One may have 64 Ki characters. */
const maxKept = 100;
const maxPath = 200;
const maxProblem = 1_000;
const maxWord = 100;
/** The part of a text that is searched for secrets: a truncated secret could not be recognized. */
const maxSearched = 16_384;

/** A body to store. */
export interface BadRecord {
  /** Name in the table of endpoints. */
  readonly source: string;
  readonly wallet: string | null;
  readonly endpoint: string;
  /** First invalid field; empty: the whole answer. */
  readonly field: string;
  /** One line for people. */
  readonly problem: string;
  readonly body: string;
}

export class BadRecords {
  readonly #clock: Clock;
  readonly #log: CollectLog;
  readonly #secrets: () => readonly string[];
  readonly #keep: (record: BadRecord) => void;
  readonly #kinds = new Map<string, number>();
  readonly #problems = new Map<string, Set<string>>();
  readonly #words = new Set<string>();
  /** Start of the hour for which bodies are counted, ms. */
  #hourMs = Number.NEGATIVE_INFINITY;
  #keptInHour = 0;
  readonly #limitsLogged = new Set<string>();
  count = 0;

  /** @param secrets the current tokens, which are removed from texts of the exchange */
  constructor(
    clock: Clock,
    log: CollectLog,
    keep: (record: BadRecord) => void,
    secrets: () => readonly string[] = () => [],
  ) {
    this.#secrets = secrets;
    this.#clock = clock;
    this.#log = log;
    this.#keep = keep;
  }

  /** Returns the beginning of a text of the exchange without secrets, for storage. */
  readonly withoutSecrets = (text: string, maxLength = maxKeptBody): string =>
    hideSecretsAtBeginning(text, this.#secrets(), maxLength);

  take({ endpoint, wallet, problem, fields, body }: BadRecordReport): void {
    this.count++;
    const paths = fields.map(({ path }) => beginningOf(path, maxPath)).filter((path) => path !== "");
    const text = beginningOf(problem, maxProblem);
    const about = paths.length > 0 ? paths.join(" ") : this.#problemOf(endpoint, text);
    const kind = `${endpoint} ${about.replace(/\d+/g, "n")}`;
    const field = beginningOf(fields[0]?.path ?? "", maxPath);
    const now = this.#clock.elapsedMs();
    const keptMs = this.#kinds.get(kind);
    if (keptMs === undefined) {
      if (this.#kinds.size >= maxKinds) {
        this.#logLimit(
          `more than ${maxKinds} kinds of records are not known here: more kinds are only counted`,
        );
        return;
      }
      this.#log.warn({ endpoint, wallet, field }, `the exchange sent what is not known here: ${text}`);
    }
    if (keptMs !== undefined && now - keptMs < storeIntervalMs) return;
    // The search for secrets is slow: done only for stored bodies.
    const hasPlace = this.#hasPlace(now);
    this.#kinds.set(kind, hasPlace ? now : Number.NEGATIVE_INFINITY);
    const kept = hasPlace ? body() : null;
    if (kept === null) return;
    this.#keptInHour++;
    this.#keep({
      source: endpoint,
      wallet,
      endpoint,
      field,
      problem: text,
      body: kept.slice(0, maxKeptBody),
    });
  }

  /** Returns false if the maximum of this hour is reached. */
  #hasPlace(nowMs: number): boolean {
    if (nowMs - this.#hourMs >= storeIntervalMs) {
      this.#hourMs = nowMs;
      this.#keptInHour = 0;
    }
    if (this.#keptInHour < maxKept) return true;
    this.#logLimit(
      `${maxKept} records that are not known here were kept within an hour: no more are kept in it`,
    );
    return false;
  }

  /** Logs a reached limit once. */
  #logLimit(text: string): void {
    if (this.#limitsLogged.has(text)) return;
    this.#limitsLogged.add(text);
    this.#log.warn({}, text);
  }

  #problemOf(endpoint: string, problem: string): string {
    const known = this.#problems.get(endpoint) ?? new Set();
    this.#problems.set(endpoint, known);
    const one = problem.replace(/\d+/g, "n").slice(0, 200);
    if (!known.has(one) && known.size >= maxProblems) return "more";
    known.add(one);
    return one;
  }

  /** Logs an enum value that the rule language does not know. It is not a bad record: it is read as "other". */
  unknownWord(endpoint: string, field: string, whole: string): void {
    const name = `${endpoint} ${field} ${beginningOf(whole, maxWord)}`;
    if (this.#words.has(name) || this.#words.size >= maxKinds) return;
    this.#words.add(name);
    const word = beginningOf(this.withoutSecrets(whole, maxSearched), maxWord);
    this.#log.warn(
      { endpoint, field, word },
      `${endpoint}: ${field} has a word that is not known here; it reads as "other"`,
    );
  }
}

/** Returns a copy of the beginning of a text. A slice would keep the whole text in memory. */
function beginningOf(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : Buffer.from(text.slice(0, maxLength)).toString();
}
