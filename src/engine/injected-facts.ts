/**
 * Injected facts: the values that rules see are given by name instead of being computed from answers. Rule tests use
 * them for simulated worlds, and backtests for stored samples and roll-ups. Facts, ages, windows, judgements and their
 * results are as with answers, but nothing is derived: a missing fact is unknown.
 *
 * All facts of an observation are taken before rules are judged, so that no rule sees a part of it.
 */

import type { NoData } from "../alerts/own/no-data.ts";
import type { Figure, InjectedFigures, Observation, Tick } from "../domain/observation.ts";
import { exchangeSources, marketSources, type Source } from "../domain/sources.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import { type AccountRef, accountName, parseSubject, type Scope, type Subject } from "../domain/subject.ts";
import type { Conditions } from "../evaluate/conditions/conditions.ts";
import type { NoDataWatches } from "../evaluate/no-data-watches.ts";
import { type Field, vocabulary } from "../rules/index.ts";
import type { AccountEntry } from "../state/accounts/account-entry.ts";
import type { ProfitGaps } from "../state/profit/profit-gaps.ts";
import type { SubjectNode } from "../state/subjects.ts";
import type { NamedValues } from "../state/windows/named-values.ts";
import type { World } from "../state/world.ts";
import type { Restoring } from "./restore.ts";

export interface GivenParts {
  readonly named: NamedValues;
  readonly world: World;
  readonly conditions: Conditions;
  readonly noData: NoData;
  readonly noDataWatches: NoDataWatches;
  readonly gaps: ProfitGaps;
  readonly restoring: Restoring;
  /** Gives new subjects their earlier events. */
  readonly welcomed: (builder: ChangesBuilder) => void;
  /** Updates the aggregates after these wallets changed. */
  readonly changed: (wallets: ReadonlySet<string>, builder: ChangesBuilder) => void;
}

/** Whole accounts appear and disappear with these, whichever of their facts are given. */
const accountScopes: ReadonlySet<Scope> = new Set(["trader", "position"]);
/** The facts that one observation gave for one subject. */
interface Taken {
  readonly node: SubjectNode;
  readonly values: Readonly<Record<string, Figure>>;
  readonly sources: ReadonlySet<Source>;
}

export class InjectedFacts {
  readonly #parts: GivenParts;
  /** Sources of a wallet's own facts, `wallet\nsource`: those of its accounts do not refresh them. */
  readonly #own = new Set<string>();
  #any = false;

  /** Returns true if facts were ever injected, so that this is no watch over answers. */
  get any(): boolean {
    return this.#any;
  }

  constructor(parts: GivenParts) {
    this.#parts = parts;
  }

  take({ given: injected }: Observation & { readonly kind: "figures" }, builder: ChangesBuilder): void {
    this.#any = true;
    const taken: Taken[] = [];
    const fresh = new Set<AccountEntry>();
    for (const one of injected) {
      const subject = parseSubject(one.owner);
      const node = subject && this.#node(one, subject, fresh, builder.atMs);
      if (node) taken.push(this.#facts(node, one, builder.atMs));
    }
    // Subjects that an account does not list are removed after the listed ones have appeared.
    for (const { owner, positions } of injected) if (positions) this.#leaveOnly(owner, positions, builder);
    this.#parts.welcomed(builder);
    const accounts = this.#accountsOf(taken);
    for (const account of accounts) listPositions(account);
    const left = taken.filter(({ node }) => this.#parts.world.nodes.get(node.name) === node);
    this.#sources(left, builder);
    this.#windows(left, builder);
    this.#judge(left, builder);
    const wallets = new Set(
      left.flatMap(({ node: { subject } }) => ("wallet" in subject ? [subject.wallet] : [])),
    );
    for (const { owner, gone } of injected) if (gone === true) wallets.add(owner.split("/", 1)[0]!);
    if (wallets.size > 0) this.#parts.changed(wallets, builder);
    for (const { owner, positions } of injected) {
      const subject = positions ? parseSubject(owner) : undefined;
      if (subject?.scope === "trader")
        this.#parts.restoring.endUnclaimed(subject.wallet, subject.pdaIndex, builder);
    }
  }

  /** Returns the subject's node, creating it if needed. None: its wallet is not watched, or it no longer exists. */
  #node(
    injected: InjectedFigures,
    subject: Subject,
    fresh: Set<AccountEntry>,
    atMs: number,
  ): SubjectNode | undefined {
    const { world } = this.#parts;
    if (!("subaccount" in subject)) {
      if (subject.scope === "market") return world.marketNode(subject.symbol);
      return world.nodes.get(injected.owner);
    }
    if (!world.wallets.has(subject.wallet)) return undefined;
    const known = world.accounts.get(subject);
    if (injected.gone === true) {
      const symbol = subject.scope === "position" ? subject.symbol.toUpperCase() : null;
      if (known) world.injectedAccounts.remove(known, symbol, atMs, "closed");
      return undefined;
    }
    const account = known ?? world.injectedAccounts.addAccount(subject, atMs);
    if (!known) fresh.add(account);
    account.seenMs = atMs;
    if (subject.scope === "trader") return account.node;
    const symbol = subject.symbol.toUpperCase();
    const side = sideOf(injected.values) ?? account.positions.get(symbol)?.node.incarnation.split(" ")[0];
    const shrinks = smaller(account.positions.get(symbol)?.node.facts.values.size, injected.values.size);
    if (shrinks) account.shrunkAtMs = atMs;
    const isShort = side === "short";
    return world.injectedAccounts.addPosition(account, symbol, isShort ? "short" : "long", fresh.has(account))
      .node;
  }

  #facts(node: SubjectNode, injected: InjectedFigures, atMs: number): Taken {
    const { subject, facts } = node;
    const fields = fieldsOf(subject.scope);
    for (const [name, value] of Object.entries(injected.values)) facts.values[name] = value;
    if (subject.scope === "position") {
      facts.values.symbol = subject.symbol.toUpperCase();
      const side = sideOf(injected.values);
      if (side !== null) facts.values.side = side;
    } else if (subject.scope === "trader") {
      facts.values.name = accountName(subject);
      facts.values.account = subject.pdaIndex;
      facts.values.subaccount = subject.subaccount;
    } else if (subject.scope === "wallet") this.#parts.world.wallets.get(subject.wallet)!.injected = true;
    else if (subject.scope === "market") facts.values.symbol = subject.symbol.toUpperCase();
    const sources = new Set(
      injected.sources ?? Object.keys(injected.values).flatMap((name) => fields.get(name)?.sources ?? []),
    );
    for (const source of sources) node.seen(source, atMs);
    return { node, values: injected.values, sources };
  }

  #leaveOnly(owner: string, positions: readonly string[], builder: ChangesBuilder): void {
    const subject = parseSubject(owner);
    if (subject?.scope !== "trader") return;
    const account = this.#parts.world.accounts.get(subject);
    if (!account) return;
    const kept = new Set(positions.map((symbol) => symbol.toUpperCase()));
    for (const symbol of [...account.positions.keys()]) {
      if (!kept.has(symbol))
        this.#parts.world.injectedAccounts.remove(account, symbol, builder.atMs, "closed");
    }
  }

  #accountsOf(taken: readonly Taken[]): ReadonlySet<AccountEntry> {
    const accounts = new Set<AccountEntry>();
    for (const { node } of taken) {
      if (!accountScopes.has(node.subject.scope)) continue;
      const account = this.#parts.world.accounts.get(node.subject as Subject & AccountRef);
      if (account) accounts.add(account);
    }
    return accounts;
  }

  /** Marks the sources of the facts as read. */
  #sources(taken: readonly Taken[], builder: ChangesBuilder): void {
    const { world, noData, noDataWatches } = this.#parts;
    const { atMs } = builder;
    const seen = new Set<string>();
    for (const { node, sources } of taken) {
      const wallet = "wallet" in node.subject ? node.subject.wallet : null;
      const entry = wallet === null ? undefined : world.wallets.get(wallet);
      for (const source of sources) {
        const shared = exchangeSources.has(source);
        if (node.subject.scope === "wallet") this.#own.add(`${wallet}\n${source}`);
        else if (entry && !this.#own.has(`${wallet}\n${source}`)) entry.node.seen(source, atMs);
        if (node.subject.scope === "market") {
          if (source === "markets") world.markets.pricesAtMs = atMs;
          if (marketSources.has(source)) world.markets.readMs.set(source, atMs);
        }
        const of = shared ? null : wallet;
        const key = `${of}\n${source}`;
        if (seen.has(key)) continue;
        seen.add(key);
        noData.seen(source, of, builder);
        noDataWatches.seen(source, of, atMs, builder);
      }
    }
  }

  /** Writes numbers to windows and history, those of an account together. */
  #windows(taken: readonly Taken[], builder: ChangesBuilder): void {
    const { atMs } = builder;
    const ticks = new Map<string, { series: string[]; values: number[] }>();
    const tickOf = (owner: string) => {
      const known = ticks.get(owner) ?? { series: [], values: [] };
      ticks.set(owner, known);
      return known;
    };
    for (const { node, values: injected } of taken) {
      const values = { ...this.#parts.named.update(node, atMs), ...injected };
      if (node.subject.scope === "wallet")
        this.#parts.gaps.take(node.subject.wallet, node.windows, atMs, values);
      node.windows?.feed(atMs, values);
      const owner = storedUnder(node.subject);
      if (owner === null) continue;
      const { scope } = node.subject;
      const symbol = "symbol" in node.subject ? node.subject.symbol : null;
      const prefix = symbol === null ? scope : `${scope}[${symbol.toUpperCase()}]`;
      const tick = tickOf(owner);
      for (const [name, value] of Object.entries(values)) {
        if (typeof value !== "number") continue;
        tick.series.push(`${prefix}.${name}`);
        tick.values.push(value);
      }
    }
    for (const account of this.#accountsOf(taken)) {
      const tick = tickOf(account.name);
      // A position not given now still exists: its place in the row shows that.
      for (const symbol of account.positions.keys()) {
        if (tick.series.some((name) => name.startsWith(`position[${symbol}].`))) continue;
        tick.series.push(`position[${symbol}].size`);
        tick.values.push(Number.NaN);
      }
    }
    for (const [owner, { series, values }] of ticks) {
      if (series.length === 0) continue;
      const tick: Tick = { atMs, owner, series, values };
      builder.changes.ticks.push(tick);
    }
  }

  /** Judges everything that reads the injected facts: the subjects themselves and those that depend on them. */
  #judge(taken: readonly Taken[], builder: ChangesBuilder): void {
    const { world, conditions } = this.#parts;
    const touched = new Map<SubjectNode, Set<Source> | null>();
    const touch = (node: SubjectNode, { sources, values }: Taken): void => {
      const fields = fieldsOf(node.subject.scope);
      const ageless = Object.keys(values).some((name) => (fields.get(name)?.sources.length ?? 0) === 0);
      const before = touched.get(node);
      if (ageless || before === null) touched.set(node, null);
      else touched.set(node, new Set([...(before ?? []), ...sources]));
    };
    for (const one of taken) {
      const { subject } = one.node;
      touch(one.node, one);
      for (const account of world.accounts.all()) {
        if ("wallet" in subject && subject.wallet !== account.ref.wallet) continue;
        if ("subaccount" in subject && world.accounts.get(subject) !== account) continue;
        for (const position of account.positions.values()) touch(position.node, one);
        touch(account.node, one);
      }
      if (subject.scope === "exchange") for (const wallet of world.wallets.values()) touch(wallet.node, one);
    }
    const rank = (node: SubjectNode) => judged.indexOf(node.subject.scope);
    for (const [node, sources] of [...touched].sort(([a], [b]) => rank(a) - rank(b))) {
      if (sources === null) conditions.judgeNode(node, null, builder);
      else conditions.judgeNode(node, [...sources], builder);
    }
  }
}

/** In the order used after an answer: from the inside out. */
const judged: readonly Scope[] = [
  "position",
  "trader",
  "wallet",
  "market",
  "exchange",
  "daemon",
  "book",
  "pair",
];

const byScope = new Map<Scope, ReadonlyMap<string, Field>>();

function fieldsOf(scope: Scope): ReadonlyMap<string, Field> {
  const known = byScope.get(scope);
  if (known) return known;
  const fields = new Map(vocabulary[scope].map((field) => [field.name, field]));
  byScope.set(scope, fields);
  return fields;
}

/** Returns the owner under which a subject's numbers are stored in history; null: not stored. */
function storedUnder(subject: Subject): string | null {
  switch (subject.scope) {
    case "position":
    case "trader":
      return accountName(subject);
    case "wallet":
      return subject.wallet;
    case "market":
      return "markets";
    case "daemon":
      return "daemon";
    default:
      return null;
  }
}

function sideOf({ side, size }: Readonly<Record<string, Figure>>): "long" | "short" | null {
  if (side === "long" || side === "short") return side;
  if (typeof size !== "number" || size === 0 || Number.isNaN(size)) return null;
  return size > 0 ? "long" : "short";
}

function smaller(before: unknown, now: unknown): boolean {
  return typeof before === "number" && typeof now === "number" && Math.abs(now) < Math.abs(before);
}

function listPositions(account: AccountEntry): void {
  account.node.facts.values.positions = [...account.positions.values()].map(
    ({ node }) => node.facts.values as Readonly<Record<string, number | boolean | string>>,
  );
}
