/**
 * Texts that say what was so before: of alerts that ended because their subject is gone or another one, and of those that nobody can
 * judge any more. Each is what an earlier message of its alert said, or was true at some moment since the alert fired.
 */
import type { Life } from "./lives.ts";

type Change = Life["changes"][number];

/** Statements of a text that are false at one moment. */
export interface Look {
  readonly figures: readonly string[];
  /** Those about the age of what the figures rest on: that is of the moment at which they are told. */
  readonly ages: readonly string[];
}

/** Steps whose texts nobody holds against the truth. */
const unjudged: ReadonlySet<Change["kind"]> = new Set(["acknowledged", "escalated"]);

export const isOfFormer = ({ kind, alert, past }: Change): boolean =>
  past === true || (kind === "ended" && alert.ending !== "recovered" && alert.ending !== "explained");

export class FormerTexts {
  /** The fewest that were false at any moment; null: none was looked at. */
  readonly #found = new Map<Change, Look | null>();
  readonly #open = new Set<Change>();

  /** @param changes of all lives, in their order */
  constructor(changes: readonly Change[]) {
    const told = new Map<number, Set<string>>();
    for (const change of changes) {
      const { summary, description } = change.alert;
      const known = told.get(change.alertId) ?? new Set();
      told.set(change.alertId, known);
      const text = `${summary}\n${description}`;
      if (isOfFormer(change) && !known.has(text)) {
        this.#found.set(change, null);
        this.#open.add(change);
      }
      if (!unjudged.has(change.kind)) known.add(text);
    }
  }

  /** Those that were not true yet. */
  get open(): Iterable<Change> {
    return this.#open;
  }

  note(change: Change, look: Look | null): void {
    if (look === null) return;
    const before = this.#found.get(change) ?? look;
    const found = { figures: fewer(before.figures, look.figures), ages: fewer(before.ages, look.ages) };
    this.#found.set(change, found);
    if (found.figures.length + found.ages.length === 0) this.#open.delete(change);
  }

  problems(change: Change): readonly string[] {
    const { figures = [], ages = [] } = this.#found.get(change) ?? {};
    return [...figures, ...ages];
  }
}

const fewer = (one: readonly string[], other: readonly string[]): readonly string[] =>
  other.length < one.length ? other : one;
