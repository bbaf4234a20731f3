/**
 * Limits of a wallet: numbers by name. One that differs by market is kept under a name for each market, `inventory[SOL]`, and under
 * `inventory[default]` for all others.
 */
import { symbolKey } from "./symbol.ts";

export type Limits = Readonly<Record<string, number>>;
export type WrittenLimits = Readonly<Record<string, number | Readonly<Record<string, number>>>>;

const others = "default";

export function limitsOf(written: WrittenLimits): Limits {
  return Object.fromEntries(
    Object.entries(written).flatMap(([name, limit]) =>
      typeof limit === "number"
        ? [[name, limit]]
        : Object.entries(limit).map(([market, one]) => [
            `${name}[${market === others ? others : symbolKey(market)}]`,
            one,
          ]),
    ),
  );
}

/** Returns the limits of a wallet: its own replace all common ones of the same name. */
export function mergedLimits(all: Limits, own: Limits): Limits {
  // Most wallets have no limits of their own, and share the same object.
  if (Object.keys(own).length === 0) return all;
  const named = new Set(Object.keys(own).map(nameOf));
  const kept = Object.entries(all).filter(([key]) => !named.has(nameOf(key)));
  return { ...Object.fromEntries(kept), ...own };
}

/** @param symbol null: no market @returns undefined if there is no limit for it */
export function limitIn(limits: Limits, name: string, symbol: string | null): number | undefined {
  const keys = symbol === null ? [name] : [name, `${name}[${symbolKey(symbol)}]`, `${name}[${others}]`];
  const key = keys.find((one) => Object.hasOwn(limits, one));
  return key === undefined ? undefined : limits[key];
}

/** Returns the markets for which a limit is set by name, and `rest` true if the others have one too; null: it is one number, or none. */
export function marketsOf(
  limits: Limits,
  name: string,
): { readonly markets: readonly string[]; readonly rest: boolean } | null {
  const markets = Object.keys(limits).flatMap((key) =>
    key !== name && nameOf(key) === name ? [key.slice(name.length + 1, -1)] : [],
  );
  if (markets.length === 0) return null;
  return { markets: markets.filter((market) => market !== others), rest: markets.includes(others) };
}

const nameOf = (key: string): string => key.split("[", 1)[0]!;
