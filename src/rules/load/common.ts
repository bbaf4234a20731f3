/** Keys that conditions and event rules share. */
import { ownLabels } from "../../domain/alerts/alert.ts";
import { builtInRules } from "../../domain/alerts/built-in.ts";
import { limitIn, marketsOf } from "../../domain/limits.ts";
import { type Source, sources } from "../../domain/sources.ts";
import { symbolKey } from "../../domain/symbol.ts";
import { type Checked, compileExpression, type Wanted } from "../expression/compile.ts";
import type { ExpressionProblem, Gathered, Naming } from "../expression/context.ts";
import type { ValueLookup } from "../expression/named.ts";
import { nearestName, type RuleProblem } from "../problem.ts";
import type { Read, RuleMode, Select, Template } from "../rule.ts";
import { compileTemplate } from "../template.ts";
import type { LoadInput } from "./input.ts";
import type { Reader } from "./reader.ts";
import { problemAt } from "./source.ts";

export interface LoadContext {
  readonly input: LoadInput;
  readonly values: ValueLookup;
  readonly problem: (problem: RuleProblem) => void;
  readonly warn: (problem: RuleProblem) => void;
}

/** Maximum length of a rendered text, characters. */
const maxSummary = 300;
const maxDescription = 1_500;

/** Label names that routing adds to every alert. */
const takenLabels = [...ownLabels, "account", "scope"];
const taken: ReadonlySet<string> = new Set(builtInRules);
const nameForm = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

export function readName(reader: Reader): string | undefined {
  const name = reader.text("name", true)?.text;
  if (name === undefined) return undefined;
  if (!nameForm.test(name))
    reader.problem("name", {
      message: `${name.slice(0, 80)} is no rule name`,
      allowed: ["letters, digits, _ and -, at most 64"],
    });
  else if (taken.has(name))
    reader.problem("name", { message: `${name} is an alert of perpwatch's own: choose another name` });
  else return name;
  return undefined;
}

export function readExpression(
  reader: Reader,
  key: string,
  wanted: Wanted,
  naming: Naming,
  gathered: Gathered,
  context: LoadContext,
  value?: Checked["tree"],
): Checked | undefined {
  const found = reader.text(key);
  if (found === undefined) return undefined;
  const report = ({ start, warning, ...problem }: ExpressionProblem): void =>
    (warning ? context.warn : context.problem)(problemAt(found.placeOf(start), problem));
  return compileExpression(found.text, wanted, naming, gathered, report, value);
}

export function readTemplate(
  reader: Reader,
  key: "summary" | "description",
  naming: Naming,
  gathered: Gathered,
  context: LoadContext,
): Template | undefined {
  const found = reader.text(key, key === "summary");
  if (found === undefined) return undefined;
  const isSummary = key === "summary";
  const maxLength = isSummary ? maxSummary : maxDescription;
  // A summary is one line; the replacement keeps all offsets.
  const text = isSummary ? found.text.replaceAll("\n", " ") : found.text;
  return compileTemplate(text, maxLength, naming, gathered, ({ start, warning, ...problem }) =>
    (warning ? context.warn : context.problem)(problemAt(found.placeOf(start), problem)),
  );
}

export function readLabels(reader: Reader): Readonly<Record<string, string>> {
  const labels = reader.map("labels");
  const result: Record<string, string> = {};
  for (const key of labels?.keys ?? []) {
    if (takenLabels.includes(key)) {
      labels!.problem(key, { message: `the label ${key} is given by perpwatch itself` });
      continue;
    }
    const value = labels!.text(key);
    if (value !== undefined) result[key] = value.text;
  }
  return result;
}

export function readRunbook(reader: Reader): string | null {
  const found = reader.text("runbook")?.text;
  if (found === undefined) return null;
  if (/^https?:\/\/\S{1,500}$/.test(found)) return found;
  reader.problem("runbook", { message: `${found} is no link`, allowed: ["https://…"] });
  return null;
}

export function readMode(reader: Reader): RuleMode {
  return reader.oneOf("mode", ["live", "shadow"]) ?? "live";
}

/** The properties by which a rule's subjects can be selected. */
export interface Selectable {
  readonly wallet: boolean;
  readonly symbol: boolean;
  /** By the pair's own name only. */
  readonly pair: boolean;
}

export function readSelect(reader: Reader, selectable: Selectable, context: LoadContext): Select {
  const select = reader.map("select");
  const chosen: {
    wallet: string[] | null;
    symbol: string[] | null;
    labels: Record<string, string[]>;
    pair?: string[];
  } = {
    wallet: null,
    symbol: null,
    labels: {},
  };
  const { wallets } = context.input;
  for (const key of select?.keys ?? []) {
    const values = select!.texts(key);
    if (values === undefined) continue;
    if (selectable.pair) {
      if (key !== "pair") {
        const message = "pairs are selected by their names";
        select!.problem(key, { message, allowed: ["pair"] });
        continue;
      }
      chosen.pair = values;
      const names = context.input.pairs?.map((pair) => pair.name);
      for (const value of names === undefined ? [] : values)
        if (!names!.includes(value))
          select!.problem(key, {
            message: `no pair is called ${value}`,
            allowed: names!,
            nearest: nearestName(value, names!),
          });
    } else if (key === "symbol") {
      if (!selectable.symbol) select!.problem(key, { message: "the subjects of this rule have no symbol" });
      chosen.symbol = values;
    } else if (!selectable.wallet) {
      select!.problem(key, {
        message: "the subjects of this rule belong to no wallet",
        allowed: selectable.symbol ? ["symbol"] : [],
      });
    } else if (key === "wallet") {
      const names = wallets.map((wallet) => wallet.name);
      for (const value of values)
        if (!names.includes(value))
          select!.problem(key, {
            message: `no wallet is called ${value}`,
            allowed: names,
            nearest: nearestName(value, names),
          });
      chosen.wallet = values;
    } else {
      const known = new Set(wallets.flatMap((wallet) => Object.keys(wallet.labels)));
      // The empty text matches a missing label, and labels in shipped packs are optional.
      if (!known.has(key) && !values.includes("") && !isShipped(select!.place(key).file))
        context.warn(
          problemAt(select!.place(key), {
            message: `no wallet has the label ${key}: the rule has no subjects`,
            allowed: ["wallet", "symbol", ...known],
            nearest: nearestName(key, ["wallet", "symbol", ...known]),
          }),
        );
      chosen.labels[key] = values;
    }
  }
  return chosen;
}

/** Packs that come with the program have this prefix (settings/rule-files.ts). */
const isShipped = (file: string): boolean => file.startsWith("shipped:");

/**
 * The maximum age of each source's last answer: as the rule states it, else three times the interval of the source. For a source
 * with a longer interval than the stated age the default applies, since it would never be fresh.
 * @param stretchedAgesMs see `LoadInput`
 */
export function staleness(
  ownMs: number | undefined,
  scheduleMs: Readonly<Record<Source, number>>,
  stretchedAgesMs: LoadInput["stretchedAgesMs"] = {},
): Record<Source, number> {
  const result: Partial<Record<Source, number>> = {};
  for (const source of sources) {
    const every = scheduleMs[source];
    const usualMs = Math.max(3 * every, stretchedAgesMs[source] ?? 0);
    result[source] = ownMs !== undefined && ownMs >= every ? ownMs : usualMs;
  }
  return result as Record<Source, number>;
}

/** True if a wallet without a session can never provide these fields. */
export function needsSession(reads: readonly Read[]): boolean {
  return reads.some((read) => read.sources.includes("notifications") || read.field === "signedIn");
}

/** Refuses a limit that differs by market where there is no market. */
export function refuseMarketLimits(
  reader: Reader,
  select: Select,
  gathered: Gathered,
  context: LoadContext,
): void {
  for (const limit of gathered.marketlessLimits) {
    const wallets = selected(select, context).filter((wallet) => marketsOf(wallet.limits, limit) !== null);
    if (wallets.length === 0) continue;
    const verb = wallets.length > 1 ? "have" : "has";
    context.problem(
      problemAt(reader.place(null), {
        message:
          `${named(wallets)} ${verb} the limit ${limit} by market, and what this rule is about has no market: ` +
          "use `scope: position`, or a limit of another name that is one number",
      }),
    );
  }
}

/** Warns of wallets that lack a limit that a rule reads: the rule cannot be judged for them. */
export function warnOfLimits(
  reader: Reader,
  name: string,
  select: Select,
  limits: readonly string[],
  context: LoadContext,
): void {
  const symbols = select.symbol?.map(symbolKey);
  for (const limit of limits) {
    /** Wallets by the missing part: the whole limit, or that of some markets. */
    const without = new Map<string, { readonly name: string }[]>();
    for (const wallet of selected(select, context)) {
      if (limitIn(wallet.limits, limit, null) !== undefined) continue;
      const known = marketsOf(wallet.limits, limit);
      if (known?.rest === true) continue;
      const gaps = known === null ? [] : symbols?.filter((symbol) => !known.markets.includes(symbol));
      if (known !== null && gaps?.length === 0) continue;
      const where =
        known === null
          ? ""
          : ` for ${gaps?.join(", ") ?? `markets other than ${known.markets.join(", ")} (default: is missing)`}`;
      without.set(where, [...(without.get(where) ?? []), wallet]);
    }
    for (const [where, wallets] of without) {
      const subject = wallets.length > 1 ? "they have" : "it has";
      context.warn(
        problemAt(reader.place(null), {
          message: `${name} cannot be judged for ${named(wallets)}: ${subject} no limit ${limit}${where}`,
        }),
      );
    }
  }
}

/** The selected wallets with known limits. */
function selected(select: Select, { input }: LoadContext) {
  return input.wallets.flatMap(({ name, labels, limits }) =>
    limits !== undefined &&
    (select.wallet === null || select.wallet.includes(name)) &&
    Object.entries(select.labels).every(([key, values]) => values.includes(labels[key] ?? ""))
      ? [{ name, limits }]
      : [],
  );
}

function named(wallets: readonly { readonly name: string }[]): string {
  const names = wallets.map(({ name }) => name);
  return names.length > 5 ? `${names.slice(0, 5).join(", ")} and ${names.length - 5} more` : names.join(", ");
}

/** A short text, equal for equal conditions (FNV-1a, 64 bits). */
export function fingerprintOf(condition: unknown): string {
  let hash = 0xcbf29ce484222325n;
  for (const character of JSON.stringify(condition)) {
    hash ^= BigInt(character.codePointAt(0)!);
    hash = BigInt.asUintN(64, hash * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, "0");
}
