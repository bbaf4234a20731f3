/** Books and pairs: aggregates of several wallets, updated when a wallet changes. */

import type { Event } from "../../domain/event.ts";
import type { Source } from "../../domain/sources.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Conditions } from "../../evaluate/conditions/conditions.ts";
import type { RuleSet } from "../../rules/index.ts";
import type { ExplainedFlow } from "../../state/profit/changes/explained-flows.ts";
import type { Doubt } from "../../state/profit/profit-doubt.ts";
import type { SubjectNode } from "../../state/subjects.ts";
import type { WalletEntry } from "../../state/wallets/wallets.ts";
import type { WatchedPair, WatchedWallet } from "../../state/wallets/watched.ts";
import type { NamedValues } from "../../state/windows/named-values.ts";
import type { Series } from "../../state/windows/series.ts";
import type { World } from "../../state/world.ts";
import type { Remembered } from "../remembered.ts";
import { Books } from "./books.ts";
import { Pairs } from "./pairs.ts";

export class Aggregates {
  readonly #books: Books;
  readonly #pairs: Pairs;

  constructor(parts: {
    readonly ruleSet: RuleSet;
    readonly wallets: readonly WatchedWallet[];
    readonly pairs: readonly WatchedPair[];
    readonly world: World;
    readonly conditions: Conditions;
    readonly series: Series;
    readonly named: NamedValues;
    /** Age from which an account's state is no current sample, ms. */
    readonly staleAfterMs: number;
    /** Wallets that were watched in the same way before a reload. */
    readonly kept: ReadonlySet<string>;
    readonly before: Aggregates | undefined;
  }) {
    const { before, ...own } = parts;
    this.#books = new Books(own, before ? before.#books : undefined);
    this.#pairs = new Pairs(own, before ? before.#pairs : undefined);
  }

  /** After a reload: the members of books and pairs are known already. */
  goOn(builder: ChangesBuilder): void {
    this.#books.goOn();
    this.#pairs.goOn(builder);
  }

  /** After the stored state was restored: its subjects are among these. */
  start({ ruleStates, keep }: Remembered, atMs: number): void {
    this.#books.start(
      ruleStates.map((state) => state.subject),
      atMs,
    );
    this.#pairs.start(keep);
  }

  /** A wallet's accounts changed. */
  changed(entry: WalletEntry, source: Source | null, builder: ChangesBuilder): void {
    this.#books.changed(entry, source, builder);
    this.#pairs.changed(entry, source, builder);
  }

  /** The same for many wallets; `null`: all of them. `sampled`: it is written to history and windows. */
  manyChanged(
    names: ReadonlySet<string> | null,
    source: Source | null,
    sampled: boolean,
    builder: ChangesBuilder,
  ): void {
    this.#books.manyChanged(names, source, sampled, builder);
    this.#pairs.manyChanged(names, source, sampled, builder);
  }

  /** A source changed that aggregates only read. */
  judge(source: Source, builder: ChangesBuilder): void {
    this.#books.judge(source, builder);
    this.#pairs.judge(source, builder);
  }

  /** Returns the doubt about the profit of a book; null: none, or no book. */
  doubtOf({ subject }: SubjectNode): Doubt | null {
    return subject.scope === "book" ? this.#books.doubtOf(subject) : null;
  }

  /** Like `Profit.explainedSince`, for the wallets of a book. */
  explainedSince({ subject }: SubjectNode, ms: number, raisedMs: number): ExplainedFlow | null {
    return subject.scope === "book" ? this.#books.explainedSince(subject, ms, raisedMs) : null;
  }

  /** Returns the subjects of books that an event belongs to. */
  touchedBy(event: Event): Iterable<SubjectNode> {
    return this.#books.touchedBy(event);
  }

  /** Returns true if an event belongs to this book. */
  covers(node: SubjectNode, event: Event): boolean {
    return this.#books.covers(node, event);
  }

  /** Returns the wallets of a book; of any other subject none. */
  members({ subject }: SubjectNode): readonly string[] {
    return subject.scope === "book" ? this.#books.members(subject) : [];
  }

  happened(event: Event, builder: ChangesBuilder): void {
    this.#pairs.happened(event, builder);
  }
}
