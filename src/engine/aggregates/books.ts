/**
 * Books: the common holdings of the wallets that a rule selects, over all markets or market by market. There is one for
 * each rule, or one for each value of the label that it names; without such rules nothing is kept.
 *
 * Sums are updated by difference: a wallet's old share is removed, its new one added. An answer about one of thousands
 * of wallets costs the logarithm of their number for each book, not a pass over all of them.
 */

import type { Event } from "../../domain/event.ts";
import type { Source } from "../../domain/sources.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Conditions } from "../../evaluate/conditions/conditions.ts";
import type { RuleSet } from "../../rules/index.ts";
import { type Share, shareOf } from "../../state/aggregates/shares.ts";
import type { ExplainedFlow } from "../../state/profit/changes/explained-flows.ts";
import type { Doubt } from "../../state/profit/profit-doubt.ts";
import type { SubjectNode } from "../../state/subjects.ts";
import type { WalletEntry } from "../../state/wallets/wallets.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { NamedValues } from "../../state/windows/named-values.ts";
import type { Series } from "../../state/windows/series.ts";
import type { World } from "../../state/world.ts";
import { Book } from "./book.ts";
import { type BookSubject, groupsOf, isMember, nameOf } from "./book-members.ts";

export interface BooksParts {
  readonly ruleSet: RuleSet;
  readonly wallets: readonly WatchedWallet[];
  readonly world: World;
  readonly conditions: Conditions;
  readonly series: Series;
  readonly named: NamedValues;
  /** Wallets that were watched in the same way before a reload. */
  readonly kept: ReadonlySet<string>;
}

export class Books {
  readonly #parts: BooksParts;
  readonly #books: readonly Book[];
  /** Books that did not exist before a reload. */
  readonly #fresh = new Set<Book>();
  /** The current share of each wallet. */
  readonly #shares = new Map<string, Share>();

  /**
   * @param before the books of the watch that is replaced at a reload: those with the same condition and members
   * continue
   */
  constructor(parts: BooksParts, before?: Books) {
    this.#parts = parts;
    const { kept, world } = parts;
    const known = new Map<string, Book>();
    if (before) for (const book of before.#books) known.set(book.name, book);
    if (before) for (const [name, share] of before.#shares) if (kept.has(name)) this.#shares.set(name, share);
    this.#books = parts.ruleSet.conditions.flatMap((rule) => {
      if (rule.scope !== "book") return [];
      const members = parts.wallets.filter(({ name }) => isMember(rule, name, world));
      return groupsOf(rule, members).map(([label, own]) => {
        const names = own.map(({ name }) => name);
        const old = known.get(nameOf(rule, label));
        if (old?.goesOn(rule, names) && names.every((name) => kept.has(name))) {
          known.delete(old.name);
          return old;
        }
        const book = new Book(rule, label, own, world, (name) => this.#shares.get(name));
        this.#fresh.add(book);
        return book;
      });
    });
    for (const book of known.values()) for (const node of book.nodes) world.nodes.delete(node.name);
  }

  /** @param standing subjects with stored state: it ends by being judged */
  start(standing: readonly string[], atMs: number): void {
    for (const book of this.#fresh) book.start(standing, atMs);
  }

  /** After a reload: the holdings of its members are known already. */
  goOn(): void {
    const { wallets, accounts } = this.#parts.world;
    for (const book of this.#fresh) {
      for (const [name, entry] of wallets) {
        if (!book.has(name)) continue;
        const share = this.#shares.get(name) ?? shareOf(entry, accounts.ofWallet(name));
        this.#shares.set(name, share);
        book.take(entry, undefined, share);
      }
      book.writeAll();
    }
  }

  /** A wallet's accounts changed. */
  changed(entry: WalletEntry, source: Source | null, builder: ChangesBuilder): void {
    const touched = this.#take(entry);
    for (const book of touched) {
      for (const node of book.write()) this.#parts.conditions.judgeNode(node, source, builder);
    }
  }

  /** Many wallets changed; `null`: all. `sampled`: it is written to history and windows. */
  manyChanged(
    names: ReadonlySet<string> | null,
    source: Source | null,
    sampled: boolean,
    builder: ChangesBuilder,
  ): void {
    if (this.#books.length === 0) return;
    const touched = new Set<Book>();
    const { wallets } = this.#parts.world;
    for (const name of names ?? wallets.keys()) {
      const entry = wallets.get(name);
      for (const book of entry ? this.#take(entry) : []) touched.add(book);
    }
    for (const book of touched) {
      book.writeAll();
      for (const node of sampled && book.isFresh(builder.atMs) ? book.nodes : []) {
        this.#parts.named.update(node, builder.atMs);
        builder.changes.ticks.push(this.#parts.series.aggregates(node, builder.atMs));
        node.windows?.feed(builder.atMs, node.facts.values);
      }
      for (const node of book.nodes) this.#parts.conditions.judgeNode(node, source, builder);
    }
  }

  /** A source changed that books only read: the exchange, a market's rate. */
  judge(source: Source, builder: ChangesBuilder): void {
    for (const book of this.#books)
      for (const node of book.nodes) this.#parts.conditions.judgeNode(node, source, builder);
  }

  doubtOf(subject: BookSubject): Doubt | null {
    return this.#of(subject)?.doubt ?? null;
  }

  /** Yields the subjects of books that an event belongs to. */
  *touchedBy(event: Event): Iterable<SubjectNode> {
    for (const book of this.#books) for (const node of book.nodes) if (book.covers(node, event)) yield node;
  }

  /** Returns true if an event belongs to this book. */
  covers(node: SubjectNode, event: Event): boolean {
    const { subject } = node;
    return subject.scope === "book" && this.#of(subject)?.covers(node, event) === true;
  }

  /** Returns the wallets of a book. */
  members(subject: BookSubject): readonly string[] {
    return this.#of(subject)?.members ?? [];
  }

  #of(subject: BookSubject): Book | undefined {
    return this.#books.find((book) => book.isOf(subject));
  }

  /** Like `Profit.explainedSince`. */
  explainedSince(subject: BookSubject, ms: number, raisedMs: number): ExplainedFlow | null {
    const book = this.#of(subject);
    if (!book) return null;
    for (const { wallet, profit } of this.#parts.world.wallets.values()) {
      const explained = book.has(wallet.name) ? profit.explainedSince(ms, raisedMs) : null;
      if (explained !== null) return explained;
    }
    return null;
  }

  /** @returns the books that it is part of */
  #take(entry: WalletEntry): readonly Book[] {
    const { name } = entry.wallet;
    const touched = this.#books.filter((book) => book.has(name));
    if (touched.length === 0) return touched;
    const before = this.#shares.get(name);
    const share = shareOf(entry, this.#parts.world.accounts.ofWallet(name));
    this.#shares.set(name, share);
    for (const book of touched) book.take(entry, before, share);
    return touched;
  }
}
