/**
 * What a rule judges, and the names by which people and files call it.
 *
 *   main                a wallet              market/SOL     a market
 *   main/0.1            a trader account      exchange       the exchange
 *   main/0.1/SOL        a position            daemon         perpwatch itself
 */

export type Scope = "position" | "trader" | "wallet" | "market" | "exchange" | "daemon";

/** One trader account: a wallet by its configured name, a PDA index, a subaccount index (0 is cross margin). */
export interface AccountRef {
  readonly wallet: string;
  readonly pdaIndex: number;
  readonly subaccount: number;
}

export type Subject =
  | {
      readonly scope: "position";
      readonly wallet: string;
      readonly pdaIndex: number;
      readonly subaccount: number;
      readonly symbol: string;
    }
  | {
      readonly scope: "trader";
      readonly wallet: string;
      readonly pdaIndex: number;
      readonly subaccount: number;
    }
  | { readonly scope: "wallet"; readonly wallet: string }
  | { readonly scope: "market"; readonly symbol: string }
  | { readonly scope: "exchange" }
  | { readonly scope: "daemon" };

export function accountName(account: AccountRef): string {
  return `${account.wallet}/${account.pdaIndex}.${account.subaccount}`;
}

export function subjectName(subject: Subject): string {
  switch (subject.scope) {
    case "position":
      return `${accountName(subject)}/${subject.symbol}`;
    case "trader":
      return accountName(subject);
    case "wallet":
      return subject.wallet;
    case "market":
      return `market/${subject.symbol}`;
    default:
      return subject.scope;
  }
}

/** @returns the subject that a full name means, or undefined. A wallet may not be called `market`, `exchange` or `daemon`. */
export function parseSubject(name: string): Subject | undefined {
  if (name === "exchange" || name === "daemon") return { scope: name };
  const [first, second, third, ...rest] = name.split("/");
  if (first === undefined || first === "" || rest.length > 0) return undefined;
  if (first === "market") return second ? { scope: "market", symbol: second } : undefined;
  if (second === undefined) return { scope: "wallet", wallet: first };
  const account = /^(\d+)\.(\d+)$/.exec(second);
  if (!account) return undefined;
  const ref = { wallet: first, pdaIndex: Number(account[1]), subaccount: Number(account[2]) };
  if (third === undefined) return { scope: "trader", ...ref };
  return third === "" ? undefined : { scope: "position", ...ref, symbol: third };
}
