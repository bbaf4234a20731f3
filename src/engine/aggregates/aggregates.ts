/** Books and pairs, as the rest of the tick sees them: what several wallets hold together follows what each of them holds. */

import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { Event } from "../../domain/event.ts";
import type { Source } from "../../domain/sources.ts";
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
    /** From when on an account's state is too old to be a sample of now, ms. */
    readonly staleAfterMs: number;
    /** Wallets that were watched before a reload in the same way. */
    readonly kept: ReadonlySet<string>;
    readonly before: Aggregates | undefined;
  }) {
    const { before, ...own } = parts;
    this.#books = new Books(own, before ? before.#books : undefined);
    this.#pairs = new Pairs(own, before ? before.#pairs : undefined);
  }

  /** After a reload: what books and pairs are made of is known already. */
  goOn(builder: ChangesBuilder): void {
    this.#books.goOn();
    this.#pairs.goOn(builder);
  }

  /** After what stands in history was taken back: its subjects are among these. */
  start({ ruleStates, keep }: Remembered, atMs: number): void {
    this.#books.start(
      ruleStates.map((state) => state.subject),
      atMs,
    );
    this.#pairs.start(keep);
  }

  /** Something about a wallet's accounts is new. */
  changed(entry: WalletEntry, source: Source | null, builder: ChangesBuilder): void {
    this.#books.changed(entry, source, builder);
    this.#pairs.changed(entry, source, builder);
  }

  /** The same of many wallets, all of them with `null`. `sampled`: it enters history and windows. */
  manyChanged(
    names: ReadonlySet<string> | null,
    source: Source | null,
    sampled: boolean,
    builder: ChangesBuilder,
  ): void {
    this.#books.manyChanged(names, source, sampled, builder);
    this.#pairs.manyChanged(names, source, sampled, builder);
  }

  /** Something is new that they only look at. */
  judge(source: Source, builder: ChangesBuilder): void {
    this.#books.judge(source, builder);
    this.#pairs.judge(source, builder);
  }

  /** The doubt about the profit of a book; null: there is none, or it is no book. */
  doubtOf({ subject }: SubjectNode): Doubt | null {
    return subject.scope === "book" ? this.#books.doubtOf(subject) : null;
  }

  /** As of `Profit.explainedSince`, of the wallets of a book. */
  explainedSince({ subject }: SubjectNode, ms: number, raisedMs: number): ExplainedFlow | null {
    return subject.scope === "book" ? this.#books.explainedSince(subject, ms, raisedMs) : null;
  }

  /** The subjects of books that an event belongs to. */
  touchedBy(event: Event): Iterable<SubjectNode> {
    return this.#books.touchedBy(event);
  }

  /** True if an event belongs to this book. */
  covers(node: SubjectNode, event: Event): boolean {
    return this.#books.covers(node, event);
  }

  /** The wallets of a book; of any other subject none. */
  members({ subject }: SubjectNode): readonly string[] {
    return subject.scope === "book" ? this.#books.members(subject) : [];
  }

  happened(event: Event, builder: ChangesBuilder): void {
    this.#pairs.happened(event, builder);
  }
}
