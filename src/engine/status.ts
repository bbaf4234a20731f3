/** The state of the watch for the status page, the command line and the metrics. */

import type { AlertBook } from "../alerts/alert-book.ts";
import { firingAlert } from "../alerts/firing-alert.ts";
import { uncertainForMs } from "../alerts/lifecycle.ts";
import type { Source } from "../domain/sources.ts";
import type { AccountStatus, WalletStatus, WatchStatus } from "../domain/status.ts";
import { unexplainedText } from "../evaluate/conditions/both-ends.ts";
import { rulesOf } from "../evaluate/conditions/subject-rules.ts";
import { dataStates } from "../evaluate/data-state.ts";
import type { Facts, RuleSet } from "../rules/index.ts";
import type { AccountEntry } from "../state/accounts/account-entry.ts";
import { bookFields, candleFields, type Markets } from "../state/markets/markets.ts";
import { numbers, priced, seenMsOf } from "../state/shown-figures.ts";
import type { SubjectNode } from "../state/subjects.ts";
import type { WalletEntry } from "../state/wallets/wallets.ts";

export function watchStatus(of: {
  readonly atMs: number;
  readonly scheduleMs: Readonly<Record<Source, number>>;
  readonly startedMs: number;
  readonly wallets: Iterable<WalletEntry>;
  readonly accountsOf: (wallet: string) => Iterable<AccountEntry>;
  readonly markets: Markets;
  readonly exchange: Facts;
  readonly alerts: AlertBook;
  readonly nodes: ReadonlyMap<string, SubjectNode>;
  readonly viewMismatches: number;
  readonly blind: WatchStatus["blind"];
  readonly ruleSet: RuleSet;
}): WatchStatus {
  const pending: WatchStatus["pending"][number][] = [];
  for (const node of of.nodes.values()) {
    for (const instance of rulesOf(node).instances) {
      const { sinceMs, levels, isUnknown, countedAtMs } = instance.lifecycle;
      if (sinceMs === null || instance.alert || instance.rule.mode === "shadow") continue;
      const severity = levels.findLast((level) => level.holds)?.severity ?? "info";
      const { name, forMs } = instance.rule;
      // The lowest level has held longest, and fires first.
      const countedMs = Math.max(0, ...levels.map((level) => level.heldMs));
      const heldMs = countedMs + (isUnknown || !levels[0]!.holds ? 0 : Math.max(0, of.atMs - countedAtMs));
      // Beyond `for` only levels that may hold because of an unexplained change of collateral are pending.
      const neededMs = heldMs < forMs ? forMs : Math.max(forMs, uncertainForMs);
      const held = { heldMs: Math.min(heldMs, neededMs), forMs: neededMs };
      pending.push({ rule: name, subject: node.name, severity, sinceMs, ...held });
    }
  }
  const alerts = [...of.alerts.live.values()].map((live) => firingAlert(live, of.atMs));
  const flag = (name: string): boolean | null => {
    const value = of.exchange.values[name];
    return typeof value === "boolean" ? value : null;
  };
  return {
    atMs: of.atMs,
    startedMs: of.startedMs,
    wallets: [...of.wallets].map((entry) => walletStatus(entry, of.accountsOf(entry.wallet.name))),
    markets: [...of.markets.entries.values()].map((entry) => ({
      symbol: entry.symbol,
      status: entry.config?.status ?? null,
      figures: ofNow(numbers(entry.facts), entry.facts, of.atMs, of.scheduleMs),
    })),
    exchange: {
      active: flag("active"),
      gated: flag("gated"),
      withdrawalsAvailable: flag("withdrawalsAvailable"),
      seenMs: of.exchange.seenMs.exchangeStatus ?? null,
    },
    firing: alerts.filter((alert) => !alert.shadow),
    shadow: alerts.filter((alert) => alert.shadow),
    pending,
    blind: of.blind,
    ...dataStates(of.ruleSet, of.nodes.values()),
    rules: of.ruleSet.conditions.length + of.ruleSet.events.length,
    viewMismatches: of.viewMismatches,
  };
}

function walletStatus(entry: WalletEntry, accounts: Iterable<AccountEntry>): WalletStatus {
  const { doubt } = entry.profit;
  return {
    name: entry.wallet.name,
    authority: entry.wallet.authority,
    watchOnly: entry.wallet.watchOnly,
    labels: entry.wallet.labels,
    signedIn: entry.signedIn,
    sessionDetail: entry.sessionDetail,
    seenMs: entry.node.facts.seenMs.traderState ?? null,
    unacked: entry.unacked,
    ...(doubt === null ? {} : { unexplained: unexplainedText(doubt) }),
    figures: numbers(entry.node.facts),
    accounts: [...accounts].map(accountStatus),
  };
}

function accountStatus(account: AccountEntry): AccountStatus {
  const values = account.node.facts.values;
  return {
    name: account.name,
    state: typeof values.state === "string" ? values.state : null,
    riskTier: typeof values.riskTier === "string" ? values.riskTier : null,
    seenMs: seenMsOf(account.node.facts),
    figures: numbers(account.node.facts),
    positions: [...account.positions].map(([symbol, { node }]) => ({
      name: node.name,
      symbol,
      side: String(node.facts.values.side ?? ""),
      seenMs: seenMsOf(node.facts),
      figures: priced(numbers(node.facts)),
    })),
    orders: account.state.orders.length,
  };
}

/**
 * Returns the current figures of a market: books and candles are read only on demand, and their figures are shown no
 * longer than that.
 */
function ofNow(
  figures: Record<string, number | null>,
  { seenMs }: Facts,
  atMs: number,
  scheduleMs: Readonly<Record<Source, number>>,
): Record<string, number | null> {
  const fields = { orderbook: bookFields, candles: candleFields, calendars: ["nextTransition"] } as const;
  for (const [source, names] of Object.entries(fields) as [keyof typeof fields, readonly string[]][]) {
    const old = atMs - (seenMs[source] ?? Number.NEGATIVE_INFINITY) > schedulesFresh * scheduleMs[source];
    if (old) for (const name of names) delete figures[name];
  }
  return figures;
}

/** Number of schedules for which an answer counts as fresh, as for rules without a setting. */
const schedulesFresh = 3;
