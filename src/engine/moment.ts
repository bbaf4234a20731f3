/** The observation that is being taken: its time, its changes builder, and what the log is to say of it. */
import { ChangesBuilder } from "../domain/changes-builder.ts";

export interface Note {
  readonly level: "info" | "warn";
  readonly text: string;
}

export class Moment {
  /** The time of the last observation, which never goes back, ms. */
  nowMs: number;
  /** As `nowMs`, also of the watch before a reload, ms. */
  observedMs: number;
  /** The wallet of which accounts are about to be taken: what is due before that is not judged by its old ones. */
  answering: string | null = null;
  #builder: ChangesBuilder;
  /** Decisions made outside of an observation; they wait here for the next one. */
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

  /** Begins an observation. Decisions of the construction and the restore leave with the first one. */
  begin(atMs: number): ChangesBuilder {
    this.nowMs = atMs;
    this.observedMs = atMs;
    this.#builder = new ChangesBuilder(atMs);
    this.#builder.absorb(this.#between);
    this.#notes = this.#first.splice(0);
    return this.#builder;
  }

  /** @returns what the log is to say of the observation */
  end(): readonly Note[] {
    this.#builder = this.#between;
    return this.#notes;
  }

  note(level: Note["level"], text: string): void {
    this.#notes.push({ level, text });
  }
}
