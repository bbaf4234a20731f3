/**
 * The subjects of rules, and the names by which people and files call it.
 *
 *   main                a wallet              market/SOL     a market
 *   main/0.1            a trader account      exchange       the exchange
 *   main/0.1/SOL        a position            daemon         perpwatch itself
 *   book/NetLong        what the wallets that the rule NetLong selects hold together
 *   book/NetLong/SOL    the same in one market
 *   book/NetLong/desk=a the same of those of them that carry this label
 *   pair/basis          a hedge that the configuration declares
 */

export type Scope = "position" | "trader" | "wallet" | "market" | "exchange" | "daemon" | "book" | "pair";

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
  | { readonly scope: "daemon" }
  /** The book of one rule; `symbol` null: over all markets. `label`: only of the wallets that have this label. */
  | {
      readonly scope: "book";
      readonly rule: string;
      readonly symbol: string | null;
      readonly label?: { readonly name: string; readonly value: string };
    }
  | { readonly scope: "pair"; readonly pair: string };

export function accountName(account: AccountRef): string {
  return inOnePiece(account.wallet, `${account.pdaIndex}.${account.subaccount}`);
}

export function subjectName(subject: Subject): string {
  switch (subject.scope) {
    case "position":
      return inOnePiece(accountName(subject), subject.symbol);
    case "trader":
      return accountName(subject);
    case "wallet":
      return subject.wallet;
    case "market":
      return `market/${subject.symbol}`;
    case "book":
      return bookName(subject);
    case "pair":
      return `pair/${subject.pair}`;
    default:
      return subject.scope;
  }
}

function bookName({ rule, symbol, label }: Subject & { readonly scope: "book" }): string {
  if (label !== undefined) return `book/${rule}/${label.name}=${label.value}`;
  return symbol === null ? `book/${rule}` : `book/${rule}/${symbol}`;
}

/** Flattened, because a concatenated string keeps its parts in memory as long as its subject exists. */
function inOnePiece(...parts: readonly string[]): string {
  return parts.join("/");
}

/** First parts of the names of subjects that belong to no wallet: no wallet may have these names. */
export const ownNames: readonly string[] = ["market", "exchange", "daemon", "book", "pair"];

/** @returns the subject with this full name, or undefined */
export function parseSubject(name: string): Subject | undefined {
  if (name === "exchange" || name === "daemon") return { scope: name };
  const byLabel = /^book\/([^/]+)\/([^/=]+)=(.+)$/.exec(name);
  if (byLabel) {
    const [, rule, label, value] = byLabel;
    return { scope: "book", rule: rule!, symbol: null, label: { name: label!, value: value! } };
  }
  const [first, second, third, ...rest] = name.split("/");
  if (first === undefined || first === "" || rest.length > 0) return undefined;
  if (first === "market") return second ? { scope: "market", symbol: second } : undefined;
  if (first === "book")
    return second && third !== "" && third?.includes("=") !== true
      ? { scope: "book", rule: second, symbol: third ?? null }
      : undefined;
  if (first === "pair") return second && third === undefined ? { scope: "pair", pair: second } : undefined;
  if (second === undefined) return { scope: "wallet", wallet: first };
  const account = /^(\d+)\.(\d+)$/.exec(second);
  if (!account) return undefined;
  const ref = { wallet: first, pdaIndex: Number(account[1]), subaccount: Number(account[2]) };
  if (third === undefined) return { scope: "trader", ...ref };
  return third === "" ? undefined : { scope: "position", ...ref, symbol: third };
}
