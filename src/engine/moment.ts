/** The current observation: its time, its changes builder, and its log notes. */
import { ChangesBuilder } from "../domain/stored/changes-builder.ts";

export interface Note {
  readonly level: "info" | "warn";
  readonly text: string;
}

export class Moment {
  /** The time of the last observation, ms; it never decreases. */
  nowMs: number;
  /** Like `nowMs`, including the watch before a reload, ms. */
  observedMs: number;
  /** The wallet whose accounts are about to be taken: deadlines before that are not judged by its old accounts. */
  answering: string | null = null;
  #builder: ChangesBuilder;
  /** Changes made outside of an observation; they are returned with the next one. */
  readonly #between: ChangesBuilder;
  #notes: Note[] = [];
  /** Notes for the first observation. */
  readonly #first: Note[];

  constructor(nowMs: number, observedMs: number, first: readonly Note[] = []) {
    this.#first = [...first];
    this.nowMs = nowMs;
    this.observedMs = observedMs;
    this.#between = new ChangesBuilder(nowMs);
    this.#builder = this.#between;
  }

  get builder(): ChangesBuilder {
    return this.#builder;
  }

  /** Begins an observation. Changes of the construction and the restore are returned with the first one. */
  begin(atMs: number): ChangesBuilder {
    this.nowMs = atMs;
    this.observedMs = atMs;
    this.#builder = new ChangesBuilder(atMs);
    this.#builder.absorb(this.#between);
    this.#notes = this.#first.splice(0);
    return this.#builder;
  }

  /** @returns the log notes of the observation */
  end(): readonly Note[] {
    this.#builder = this.#between;
    return this.#notes;
  }

  note(level: Note["level"], text: string): void {
    this.#notes.push({ level, text });
  }
}
