/**
 * Declared hedges: legs that should cancel out. Computes the unhedged part of the largest leg, its start and its cause.
 *
 *   sizes of the legs (accounts) ──► imbalance, naked size ──┐
 *   events on the legs ──► what broke it (PairBreaks) ───────┴──► facts ──► rules of scope pair
 */

import { z } from "zod";
import type { Event } from "../../domain/event.ts";
import type { Source } from "../../domain/sources.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { KeptKind, type KeptValues, keptNumber } from "../../domain/stored/kept.ts";
import type { Conditions } from "../../evaluate/conditions/conditions.ts";
import { formatAmount } from "../../rules/index.ts";
import {
  type AccountShown,
  type Breaker,
  breakers,
  heavier,
  isForced,
  PairBreaks,
} from "../../state/aggregates/pair-breaks.ts";
import { concernsLeg, type Leg, negligible, parseLeg, sizeOf } from "../../state/aggregates/pair-legs.ts";
import { noteSeen, type SharedSource, seenWhole, sharedSources } from "../../state/aggregates/shares.ts";
import { newFacts, type SubjectNode } from "../../state/subjects.ts";
import type { WalletEntry } from "../../state/wallets/wallets.ts";
import type { WatchedPair } from "../../state/wallets/watched.ts";
import type { NamedValues } from "../../state/windows/named-values.ts";
import type { Series } from "../../state/windows/series.ts";
import type { World } from "../../state/world.ts";

export interface PairsParts {
  readonly pairs: readonly WatchedPair[];
  readonly world: World;
  readonly conditions: Conditions;
  readonly series: Series;
  readonly named: NamedValues;
  /** Age from which an account's state is no current sample, ms. */
  readonly staleAfterMs: number;
  /** Wallets that were watched in the same way before a reload. */
  readonly kept: ReadonlySet<string>;
}

/** The part stored for restarts, while a pair is lopsided. */
interface Kept {
  readonly by: Breaker | "";
  /** The time at which it was last whole, ms; null: never since watching began. */
  readonly wholeMs: number | null;
}

/** By pair. */
export const keptPair: KeptKind<Kept> = new KeptKind(
  "pair/{}",
  z.object({ by: z.enum([...breakers, ""]), wholeMs: keptNumber.nullable() }),
);

interface Pair {
  readonly settings: WatchedPair;
  readonly legs: readonly Leg[];
  readonly node: SubjectNode;
  readonly breaks: PairBreaks;
  /** The state from before the start. */
  restored: Kept | null;
  /** Null while it is whole or unknown. */
  lopsided: Kept | null;
  /** The time at which it was last seen whole, ms. */
  wholeMs: number | null;
}

export class Pairs {
  readonly #parts: PairsParts;
  readonly #pairs: Pair[] = [];
  readonly #byWallet = new Map<string, Pair[]>();

  /** The pairs declared before a reload, by name, until they are taken over. */
  readonly #former = new Map<string, Pair>();

  /** @param before the pairs of the watch that is replaced at a reload: those with the same legs continue */
  constructor(parts: PairsParts, before?: Pairs) {
    this.#parts = parts;
    if (!before) return;
    for (const pair of before.#pairs) {
      const declared = parts.pairs.find(({ name }) => name === pair.settings.name);
      const same = JSON.stringify(declared) === JSON.stringify(pair.settings);
      if (same && walletsOf(pair.legs).every((name) => parts.kept.has(name)))
        this.#former.set(pair.settings.name, pair);
      else parts.world.nodes.delete(pair.node.name);
    }
  }

  start(keep: KeptValues): void {
    const { world, pairs } = this.#parts;
    for (const settings of pairs) {
      const legs = settings.legs.flatMap((text) => parseLeg(text) ?? []);
      // A pair with an unwatched wallet cannot be judged, and was refused with the configuration.
      if (legs.length < 2 || legs.some((leg) => !world.wallets.has(leg.wallet))) continue;
      const silent = (source: Source, sinceMs: number): readonly string[] =>
        source === "traderState"
          ? walletsOf(legs).filter((name) => this.#seenMs(name, source) < sinceMs)
          : [];
      const former = this.#former.get(settings.name);
      if (former) {
        Object.assign(former.node.facts, { silent });
        this.#take(former);
        continue;
      }
      const node = world.aggregateNode(
        { scope: "pair", pair: settings.name },
        { ...newFacts(), silent },
        true,
      );
      const restored = keptPair.get(keep, settings.name);
      const pair: Pair = {
        settings,
        legs,
        node,
        breaks: new PairBreaks(),
        restored,
        lopsided: null,
        wholeMs: null,
      };
      const { values } = node.facts;
      values.name = settings.name;
      values.symbol = legs[0]!.symbol;
      values.tolerance = settings.tolerance;
      this.#take(pair);
    }
  }

  #take(pair: Pair): void {
    this.#pairs.push(pair);
    for (const wallet of walletsOf(pair.legs))
      this.#byWallet.set(wallet, [...(this.#byWallet.get(wallet) ?? []), pair]);
  }

  /** After a reload: the holdings of new pairs' legs are known already. */
  goOn(builder: ChangesBuilder): void {
    for (const pair of this.#pairs) if (!this.#former.has(pair.settings.name)) this.#write(pair, builder);
    this.#former.clear();
  }

  /** A wallet's accounts changed. */
  changed({ wallet }: WalletEntry, source: Source | null, builder: ChangesBuilder): void {
    for (const pair of this.#byWallet.get(wallet.name) ?? []) this.#update(pair, source, builder);
  }

  /** Many wallets changed; `null`: all. `sampled`: it is written to history and windows. */
  manyChanged(
    names: ReadonlySet<string> | null,
    source: Source | null,
    sampled: boolean,
    builder: ChangesBuilder,
  ): void {
    for (const pair of this.#pairs) {
      if (names && !pair.legs.some(({ wallet }) => names.has(wallet))) continue;
      this.#write(pair, builder);
      const { traderState } = pair.node.facts.seenMs;
      if (sampled && traderState !== undefined && builder.atMs - traderState <= this.#parts.staleAfterMs) {
        this.#parts.named.update(pair.node, builder.atMs);
        builder.changes.ticks.push(this.#parts.series.aggregates(pair.node, builder.atMs));
        pair.node.windows?.feed(builder.atMs, pair.node.facts.values);
      }
      this.#parts.conditions.judgeNode(pair.node, source, builder);
    }
  }

  judge(source: Source, builder: ChangesBuilder): void {
    for (const { node } of this.#pairs) this.#parts.conditions.judgeNode(node, source, builder);
  }

  /** Takes an event. Its effect on the sizes may be known already, or is requested at once. */
  happened(event: Event, builder: ChangesBuilder): void {
    if (event.wallet === null) return;
    for (const pair of this.#byWallet.get(event.wallet) ?? []) {
      if (!pair.legs.some((leg) => concernsLeg(leg, event))) continue;
      const by = pair.breaks.note(event);
      if (by === null) continue;
      if (pair.lopsided) this.#update(pair, null, builder);
      else if (isForced(by)) builder.ask("traderState", event.wallet);
    }
  }

  #update(pair: Pair, source: Source | null, builder: ChangesBuilder): void {
    this.#write(pair, builder);
    this.#parts.conditions.judgeNode(pair.node, source, builder);
  }

  #write(pair: Pair, builder: ChangesBuilder): void {
    const { world } = this.#parts;
    const { node, legs, settings } = pair;
    const { values, seenMs } = node.facts;
    for (const source of sharedSources) noteSeen(seenMs, source, this.#seenOf(pair, source));
    const sizes = legs.map((leg) => sizeOf(leg, world));
    const largest = Math.max(...sizes.map(Math.abs));
    // An unread leg is not flat.
    if (Number.isNaN(largest) || seenMs.traderState === undefined) {
      for (const field of computed) delete values[field];
      return;
    }
    const sum = sizes.reduce((total, size) => total + size, 0);
    const naked = Math.abs(sum) <= negligible * largest ? 0 : sum;
    const imbalance = largest === 0 ? 0 : Math.abs(naked) / largest;
    values.imbalance = imbalance;
    values.nakedSize = naked;
    const mark = world.markets.entries.get(legs[0]!.symbol)?.facts.values.markPrice;
    if (naked === 0) values.nakedNotional = 0;
    else if (typeof mark === "number") values.nakedNotional = Math.abs(naked) * mark;
    else delete values.nakedNotional;
    values.legs = legs.map((leg, i) => `${leg.text} ${legText(sizes[i]!)}`).join(", ");
    if (imbalance <= settings.tolerance) this.#whole(pair, builder);
    else this.#broken(pair, builder);
    // As the field defines it: +∞ while it is whole, -∞ if it never was.
    values.lopsidedFor = pair.lopsided
      ? (pair.lopsided.wholeMs ?? Number.NEGATIVE_INFINITY)
      : Number.POSITIVE_INFINITY;
    values.brokenBy = pair.lopsided?.by ?? "";
  }

  #whole(pair: Pair, builder: ChangesBuilder): void {
    pair.wholeMs = builder.atMs;
    pair.breaks.whole(walletsOf(pair.legs).flatMap((wallet) => this.#shown(wallet)));
    if (pair.lopsided || pair.restored) keep(pair, null, builder);
    pair.lopsided = null;
    pair.restored = null;
  }

  #shown(wallet: string): readonly AccountShown[] {
    const { wallets, accounts } = this.#parts.world;
    const own = accounts
      .ofWallet(wallet)
      .map(({ ref, slot, seenMs }): AccountShown => ({ ...ref, slot, atMs: seenMs }));
    // A complete answer shows all accounts, and so do frames of the stream about each: they are as old as the oldest.
    const wholes = [...(wallets.get(wallet)?.seenMs ?? [])].map(([pdaIndex, readMs]): AccountShown => {
      const there = own.filter((one) => one.pdaIndex === pdaIndex);
      const of = { wallet, pdaIndex, subaccount: null };
      if (there.length === 0) return { ...of, slot: accounts.slotOf(wallet, pdaIndex), atMs: readMs };
      const slot = Math.min(...there.map((one) => one.slot));
      return { ...of, slot, atMs: Math.min(...there.map((one) => one.atMs)) };
    });
    return [...wholes, ...own];
  }

  #broken(pair: Pair, builder: ChangesBuilder): void {
    const before = pair.lopsided ?? pair.restored;
    const by = heavier(before?.by ?? "", pair.breaks.by);
    const wholeMs = before ? before.wholeMs : pair.wholeMs;
    const begins = pair.lopsided === null;
    pair.lopsided = { by, wholeMs };
    pair.restored = null;
    if (before?.by !== by || before.wholeMs !== wholeMs) keep(pair, pair.lopsided, builder);
    if (!begins || by !== "") return;
    // The event that explains it may be on its way.
    for (const wallet of walletsOf(pair.legs))
      for (const source of ["notifications", "liquidations", "fills"] as const) builder.ask(source, wallet);
  }

  /**
   * Returns the time of a source: of its wallets, or of its own market alone, regardless of other holdings of its
   * wallets.
   */
  #seenOf({ legs }: Pair, source: SharedSource): number {
    const ofWallets = Math.min(...walletsOf(legs).map((name) => this.#seenMs(name, source)));
    if (source !== "markets" && source !== "marketConfig") return ofWallets;
    const { world } = this.#parts;
    if (legs.every((leg) => sizeOf(leg, world) === 0)) return Number.POSITIVE_INFINITY;
    const market = world.markets.entries.get(legs[0]!.symbol);
    // Injected positions come without a market.
    return market?.facts.seenMs[source] ?? ofWallets;
  }

  #seenMs(wallet: string, source: SharedSource): number {
    const entry = this.#parts.world.wallets.get(wallet);
    return entry ? seenWhole(this.#parts.world, entry, source) : Number.NEGATIVE_INFINITY;
  }
}

const computed = ["imbalance", "nakedSize", "nakedNotional", "legs", "lopsidedFor", "brokenBy"] as const;

function keep({ settings }: Pair, kept: Kept | null, builder: ChangesBuilder): void {
  builder.changes.keep.push(keptPair.row(settings.name, kept));
}

function walletsOf(legs: readonly Leg[]): readonly string[] {
  return [...new Set(legs.map((leg) => leg.wallet))];
}

function legText(size: number): string {
  if (size === 0) return "flat";
  return `${size > 0 ? "long" : "short"} ${formatAmount(Math.abs(size))}`;
}
