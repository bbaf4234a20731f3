/** The subjects that rules select. */
import type { Subject } from "../domain/subject.ts";
import type { ConditionRule, Select } from "../rules/index.ts";
import type { WatchedPair, WatchedWallet } from "../state/wallets/watched.ts";

/** True if a condition judges a subject. A book is judged by its own rule only. */
export function judges(
  rule: ConditionRule,
  subject: Subject,
  walletOf: (name: string) => WatchedWallet | undefined,
): boolean {
  if (rule.scope !== subject.scope) return false;
  if (subject.scope !== "book") return applies(rule, subject, walletOf);
  const { symbol, label } = subject;
  const by = symbol === null ? (label?.name ?? "none") : "market";
  if (subject.rule !== rule.name || rule.by !== by) return false;
  return symbol === null || (rule.select.symbol?.some((one) => one.toUpperCase() === symbol) ?? true);
}

/** True if missing data about the positions of a wallet have to be reported, as a rule that reports them judges the wallet. */
export function guards(
  rule: ConditionRule,
  wallet: WatchedWallet,
  pairs: readonly WatchedPair[] = [],
): boolean {
  if (rule.noData !== "alert" || rule.mode !== "live") return false;
  if (rule.scope === "pair")
    return pairs.some(({ legs }) => legs.some((leg) => leg.startsWith(`${wallet.name}/`)));
  const symbol = rule.select.symbol?.[0] ?? null;
  const ofWallet = rule.scope === "position" || rule.scope === "trader" || rule.scope === "wallet";
  return ofWallet && applies(rule, { wallet: wallet.name, symbol }, () => wallet);
}

/** True if a rule judges a subject: it selects the subject, whose wallet can have the data that it reads. */
export function applies(
  rule: { readonly select: Select; readonly needsSession: boolean },
  subject: { readonly wallet?: string | null; readonly symbol?: string | null } | Subject,
  walletOf: (name: string) => WatchedWallet | undefined,
): boolean {
  if (!selects(rule.select, subject, walletOf)) return false;
  const wallet = "wallet" in subject ? subject.wallet : undefined;
  return !rule.needsSession || !wallet || walletOf(wallet)?.watchOnly !== true;
}

function selects(
  select: Select,
  subject: { readonly wallet?: string | null; readonly symbol?: string | null } | Subject,
  walletOf: (name: string) => WatchedWallet | undefined,
): boolean {
  const wallet = "wallet" in subject ? (subject.wallet ?? null) : null;
  const symbol = "symbol" in subject ? (subject.symbol ?? null) : null;
  if (select.wallet && (wallet === null || !select.wallet.includes(wallet))) return false;
  if (
    select.symbol &&
    (symbol === null || !select.symbol.some((one) => one.toUpperCase() === symbol.toUpperCase()))
  ) {
    return false;
  }
  if (select.pair && !("pair" in subject && select.pair.includes(subject.pair))) return false;
  const labels = wallet === null ? undefined : walletOf(wallet)?.labels;
  for (const [name, allowed] of Object.entries(select.labels)) {
    if (!allowed.includes(labels?.[name] ?? "")) return false;
  }
  return true;
}
