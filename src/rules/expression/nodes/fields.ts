/** Closures that read one field: present, fresh, and a number if its type is one, or unknown with the reason. */
import { type Limits, limitIn } from "../../../domain/limits.ts";
import type { Source } from "../../../domain/sources.ts";
import type { Input, Read, ReadScope } from "../../rule.ts";
import { type Env, type FactRecord, type Facts, type FactValue, Unknown } from "../../value.ts";
import type { Field } from "../../vocabulary/field-types.ts";
import type { Run } from "../node.ts";

/** Selects the facts: those of a scope, or of a market by name. */
export type Pick = (env: Env) => Facts | undefined;

export function pickScope(scope: ReadScope): Pick {
  // Written out, so that each closure reads a literal property name, which V8 optimizes.
  switch (scope) {
    case "position":
      return (env) => env.position;
    case "trader":
      return (env) => env.trader;
    case "wallet":
      return (env) => env.wallet;
    case "market":
      return (env) => env.market;
    case "exchange":
      return (env) => env.exchange;
    case "daemon":
      return (env) => env.daemon;
    case "book":
      return (env) => env.book;
    case "pair":
      return (env) => env.pair;
    case "event":
      return (env) => env.event;
    case "alert":
      return (env) => env.alert;
    case "message":
      return (env) => env.message;
  }
}

export function pickMarket(symbol: string): Pick {
  return (env) => env.markets(symbol);
}

/** The sources of a rule's reads, without duplicates. */
export function inputsOf(
  reads: readonly Read[],
  staleAfterMs: Readonly<Record<Source, number>>,
): readonly Input[] {
  const owners = new Map<string, { facts: Pick; sources: Set<Source> }>();
  for (const { scope, symbol, sources } of reads) {
    const key = `${scope}[${symbol ?? ""}]`;
    const facts = symbol === null ? pickScope(scope) : pickMarket(symbol);
    const owner = owners.get(key) ?? { facts, sources: new Set() };
    owners.set(key, owner);
    for (const source of sources) owner.sources.add(source);
  }
  return [...owners]
    .filter(([, { sources }]) => sources.size > 0)
    .map(([owner, { facts, sources }]) => ({
      owner,
      facts,
      sources: [...sources],
      staleAfterMs: [...sources].map((source) => staleAfterMs[source]),
    }));
}

/** True for a source that is read rarely on purpose: it has its own maximum age, and does not affect that of others. */
export function isSlow(source: Source): boolean {
  return source === "marketConfig" || source === "calendars";
}

/** The sources of holdings. */
const ofAccounts: ReadonlySet<Source> = new Set<Source>(["traderState", "traderView"]);

/** @returns the reason if the figure is too old or was never read, or null if it is fresh */
export type Freshness = (facts: Facts, nowMs: number, oldAccounts?: boolean) => Unknown | null;

export function freshness(
  path: string,
  sources: readonly Source[],
  staleAfterMs: Readonly<Record<Source, number>>,
  neverSeen: "missing" | "fine" = "missing",
): Freshness | null {
  if (sources.length === 0) return null;
  const checks = sources.map((source) => ({
    source,
    limitMs: staleAfterMs[source],
    stale: new Unknown("stale", source, `${path} is too old: nothing new from ${source}`),
    missing: new Unknown("missing", source, `${path} was not seen yet: nothing from ${source}`),
  }));
  return (facts, nowMs, oldAccounts = false) => {
    for (let i = 0; i < checks.length; i++) {
      const check = checks[i]!;
      const seen = facts.seenMs[check.source];
      if (oldAccounts && seen !== undefined && ofAccounts.has(check.source)) continue;
      if (seen === undefined) {
        if (neverSeen === "missing") return named(path, check.missing, facts, nowMs - check.limitMs);
      } else if (nowMs - seen > check.limitMs) return named(path, check.stale, facts, nowMs - check.limitMs);
    }
    return null;
  };
}

const maxNamed = 5;

/** For figures of several wallets: adds the wallets that are the cause. */
function named(path: string, unknown: Unknown, facts: Facts, sinceMs: number): Unknown {
  const { source, unknown: reason } = unknown;
  if (facts.silent === undefined || source === null) return unknown;
  const wallets = facts.silent(source, sinceMs);
  const [first] = wallets;
  if (first === undefined) return unknown;
  const detail = `${path} cannot be told: nothing new from ${source} of ${namesOf(wallets)}`;
  return new Unknown(reason, source, detail, first);
}

/** For a sum over several wallets: adds the wallets whose part is missing. */
function namedPart(path: string, field: string, missing: Unknown, facts: Facts): Unknown {
  const wallets = facts.missingMembers?.(field) ?? [];
  const [first] = wallets;
  if (first === undefined) return missing;
  return new Unknown(missing.unknown, missing.source, `${path} is not known of ${namesOf(wallets)}`, first);
}

function namesOf(wallets: readonly string[]): string {
  const more = wallets.length > maxNamed ? ` and ${wallets.length - maxNamed} more` : "";
  return `${wallets.slice(0, maxNamed).join(", ")}${more}`;
}

/** @param of determines the meaning of absent facts */
export function readField(
  path: string,
  of: { readonly scope: ReadScope; readonly symbol: string | null },
  field: Field,
  staleAfterMs: Readonly<Record<Source, number>>,
): Run {
  const pick = of.symbol === null ? pickScope(of.scope) : pickMarket(of.symbol);
  const absent = absence(path, of.scope, of.symbol);
  if (field.derived === "age") {
    return (env) => {
      const at = pick(env)?.values.at;
      return typeof at === "number" ? env.nowMs - at : absent(env);
    };
  }
  if (field.derived === "dataAge") {
    const unseen = new Unknown("missing", "traderState", `${path}: its trader state was not seen yet`);
    return (env) => {
      const seen = pick(env)?.seenMs.traderState;
      return seen === undefined ? unseen : env.nowMs - seen;
    };
  }
  const { name } = field;
  if (field.derived === "staleWallets") {
    const limitMs = staleAfterMs.traderState;
    const unseen = new Unknown("missing", "traderState", `${path}: not all of its wallets were read yet`);
    return (env) => {
      const facts = pick(env);
      if (facts === undefined) return absent(env);
      const silent = facts.silent?.("traderState", env.nowMs - limitMs).length ?? 0;
      // The fact is the time at which reading began: a first round takes its time.
      const sinceMs = facts.values[name];
      return silent > 0 && typeof sinceMs === "number" && env.nowMs - sinceMs < limitMs ? unseen : silent;
    };
  }
  const plain = knownWords(field, readPlain(path, pick, field, staleAfterMs, absent));
  if (field.derived !== "lopsidedFor") return plain;
  // The fact is the time at which the pair was last whole: +∞ while it is, -∞ if it never was.
  return (env) => {
    const wholeMs = plain(env);
    return typeof wholeMs === "number" ? Math.max(0, env.nowMs - wholeMs) : wholeMs;
  };
}

/** The meaning of absent facts. A market that a rule names differs from the subject's own. */
export type Absence = (env: Env) => Unknown;

export function absence(path: string, scope: ReadScope, symbol: string | null): Absence {
  if (symbol !== null) {
    const unseen = new Unknown("missing", "markets", `${path}: the markets were not seen yet`);
    const unlisted = new Unknown("unset", null, `${path}: the exchange lists no such market`);
    return (env) => (env.listed?.() ? unlisted : unseen);
  }
  const source =
    scope === "position" || scope === "trader" ? "traderState" : scope === "market" ? "markets" : null;
  const none = new Unknown("absent", source, `${path}: there is none`);
  return () => none;
}

/** A closed enum gives "other" for a word that the exchange added later. */
function knownWords(field: Field, run: Run): Run {
  if (field.type !== "enum" || field.open || field.members === undefined) return run;
  const members: ReadonlySet<unknown> = new Set(field.members);
  return (env) => {
    const value = run(env);
    return typeof value !== "string" || members.has(value) ? value : "other";
  };
}

/** Sources that may have answered without all data that a figure needs. */
const lastRead = ["collateral", "markets"] as const;

function readPlain(
  path: string,
  pick: Pick,
  field: Field,
  staleAfterMs: Readonly<Record<Source, number>>,
  absent: Absence,
): Run {
  const { name } = field;
  const fresh = freshness(path, field.sources, staleAfterMs);
  // All sources are fresh, so a flow, or the price of one market, is missing.
  const partial = lastRead.find((source) => field.sources.includes(source));
  const cause = field.awaits ?? partial ?? field.sources[0];
  const missing = new Unknown("missing", cause ?? null, `${path} is not there`);
  const nan = new Unknown("nan", null, `${path} is not a number`);
  if (fresh === null) {
    return (env) => {
      const facts = pick(env);
      return facts === undefined ? absent(env) : checked(facts.values[name], missing, nan);
    };
  }
  return (env) => {
    const facts = pick(env);
    if (facts === undefined) return absent(env);
    if (env.allFresh !== true) {
      const problem = fresh(facts, env.nowMs, env.oldAccounts);
      if (problem !== null) return problem;
    }
    const value = checked(facts.values[name], missing, nan);
    return value === missing ? namedPart(path, name, missing, facts) : value;
  };
}

function checked(value: FactValue | undefined, missing: Unknown, nan: Unknown): FactValue | Unknown {
  if (typeof value === "number") return Number.isNaN(value) ? nan : value;
  return value ?? missing;
}

/** A field of an item in a list. Freshness was checked for the list. */
export function readItemField(path: string, item: Run, field: Field): Run {
  const { name } = field;
  const missing = new Unknown("missing", field.awaits ?? null, `${path} is not there`);
  const nan = new Unknown("nan", null, `${path} is not a number`);
  return knownWords(field, (env) => {
    const record = item(env);
    if (record instanceof Unknown) return record;
    return checked((record as FactRecord)[name], missing, nan);
  });
}

/**
 * A limit of the wallet: its one number, or that of the subject's market.
 * @param byMarket false if there is no market: limits that differ by market are missing then
 */
export function readLimit(path: string, map: Run, key: Run, byMarket: boolean): Run {
  const missing = new Unknown("unset", null, `${path}: the wallet has none of this name`);
  const missingHere = new Unknown("unset", null, `${path}: the wallet has none of this name for the market`);
  return (env) => {
    const record = map(env);
    if (record instanceof Unknown) return record;
    const name = key(env);
    if (typeof name !== "string") return name;
    const symbol = byMarket ? symbolIn(env) : null;
    return limitIn(record as Limits, name, symbol) ?? (symbol === null ? missing : missingHere);
  };
}

/** The market of the subject, or of the event. */
export function symbolIn(env: Env): string | null {
  const symbol = env.position?.values.symbol ?? env.market?.values.symbol;
  return typeof symbol === "string" ? symbol : null;
}

/** The value of a key of a map: for a missing key labels give `""`, limits give unknown. */
export function readKey(path: string, map: Run, key: Run, missingIs: "empty" | "unknown"): Run {
  const missing = new Unknown("unset", null, `${path}: the wallet has none of this name`);
  return (env) => {
    const record = map(env);
    if (record instanceof Unknown) return record;
    const name = key(env);
    if (typeof name !== "string") return name;
    if (Object.hasOwn(record as FactRecord, name))
      return checked((record as FactRecord)[name], missing, missing);
    return missingIs === "empty" ? "" : missing;
  };
}
