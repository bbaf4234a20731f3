/** Takes an answer about the accounts of a wallet into state, figures, history and judgements. */
import type { AlertBook } from "../alerts/alert-book.ts";
import type { LiveAlert } from "../alerts/live-alert.ts";
import type { NoData } from "../alerts/own/no-data.ts";
import type { SubaccountState } from "../domain/account.ts";
import type { Observation } from "../domain/observation.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import type { Conditions } from "../evaluate/conditions/conditions.ts";
import { rulesOf } from "../evaluate/conditions/subject-rules.ts";
import type { NoDataWatches } from "../evaluate/no-data-watches.ts";
import type { AccountEntry } from "../state/accounts/account-entry.ts";
import { noteReading } from "../state/accounts/account-readings.ts";
import type { Holdings } from "../state/accounts/holdings.ts";
import type { Rights } from "../state/accounts/rights.ts";
import type { Profits } from "../state/profit/profits.ts";
import type { SubjectNode } from "../state/subjects.ts";
import { sumAccounts, walletSeen, wholeSeenMs } from "../state/wallets/wallets.ts";
import type { NamedValues } from "../state/windows/named-values.ts";
import type { Series } from "../state/windows/series.ts";
import type { World } from "../state/world.ts";
import type { Aggregates } from "./aggregates/aggregates.ts";
import type { ExchangeChecks } from "./exchange-checks.ts";
import type { MarketAnswers } from "./markets/market-answers.ts";
import type { Restoring } from "./restore.ts";
import type { SubjectLife } from "./subject-life.ts";
import type { WalletFigures } from "./wallet-figures.ts";
import type { WindowWarmUp } from "./window-warm-up.ts";

export interface AccountAnswersParts {
  readonly world: World;
  readonly alerts: AlertBook;
  readonly life: SubjectLife;
  readonly warmUp: WindowWarmUp;
  readonly profits: Profits;
  readonly holdings: Holdings;
  readonly market: MarketAnswers;
  readonly noData: NoData;
  readonly noDataWatches: NoDataWatches;
  readonly named: NamedValues;
  readonly series: Series;
  readonly checks: ExchangeChecks;
  readonly rights: Rights;
  readonly conditions: Conditions;
  readonly aggregates: Aggregates;
  readonly restoring: Restoring;
  readonly figures: WalletFigures;
}

export class AccountAnswers {
  readonly #parts: AccountAnswersParts;

  constructor(parts: AccountAnswersParts) {
    this.#parts = parts;
  }

  take(seen: Observation & { readonly kind: "accounts" }, builder: ChangesBuilder): void {
    const entry = this.#parts.world.wallets.get(seen.wallet);
    if (!entry) return;
    if (this.#parts.alerts.live.size > 0) this.#keepBeforeLoss(seen);
    const listed = this.#parts.world.accountStates.take(seen);
    if (listed === null) return;
    this.#noteHolders(seen, listed, builder);
    this.#parts.warmUp.welcomed(builder);
    this.#parts.profits.states.take(entry, listed, seen, builder);
    for (const account of listed) {
      this.#parts.holdings.take(account, entry.profit.changes.states.seen(account.name), builder);
      this.#parts.market.assets.want(account, builder);
      this.#parts.world.assessment.assess(account);
      noteReading(account);
    }
    const whole = seen.told === undefined;
    if (whole) {
      walletSeen(entry, seen.pdaIndex, builder.atMs);
    }
    sumAccounts(entry, this.#parts.world.accounts.ofWallet(seen.wallet), true);
    this.#parts.profits.states.answered(entry, builder);
    const wholeMs = whole ? wholeSeenMs(entry) : null;
    if (whole) this.#parts.noData.seen("traderState", seen.wallet, builder, wholeMs);
    if (wholeMs !== null) this.#parts.noDataWatches.seen("traderState", seen.wallet, wholeMs, builder);
    for (const account of listed) {
      this.#parts.named.update(account.node, builder.atMs);
      for (const position of account.positions.values())
        this.#parts.named.update(position.node, builder.atMs);
      builder.changes.ticks.push(this.#parts.series.account(account, builder.atMs));
      account.node.windows?.feed(builder.atMs, account.node.facts.values);
      for (const position of account.positions.values())
        position.node.windows?.feed(builder.atMs, position.node.facts.values);
    }
    if (entry.node.windows?.hasFields) this.#parts.figures.sample(entry, builder);
    for (const account of listed) {
      this.#parts.figures.realizedToday(entry, account);
      if (whole) this.#parts.checks.note(account, builder.atMs);
    }
    for (const account of listed) this.#parts.rights.compare(account, builder);
    for (const account of listed) this.#parts.figures.judgeAccount(account, "traderState", builder);
    this.#parts.conditions.judgeNode(entry.node, "traderState", builder);
    this.#parts.aggregates.changed(entry, "traderState", builder);
    if (whole) this.#parts.restoring.endUnclaimed(seen.wallet, seen.pdaIndex, builder);
  }

  /** Keeps the earlier texts of alerts about accounts whose holdings are smaller in this answer. */
  #keepBeforeLoss({
    wallet,
    pdaIndex,
    subaccounts,
    atMs,
  }: Observation & { readonly kind: "accounts" }): void {
    const accounts = this.#parts.world.accounts.ofWallet(wallet);
    for (let i = 0; i < accounts.length; i++) {
      const account = accounts[i]!;
      const { ref } = account;
      if (ref.pdaIndex !== pdaIndex) continue;
      let alerts = alertsOf(account.node, null);
      for (const { node } of account.positions.values()) alerts = alertsOf(node, alerts);
      if (alerts === null) continue;
      const now = subaccounts.find(({ subaccount }) => subaccount === ref.subaccount);
      if (now === undefined || !holdsLess(account, now)) continue;
      for (const alert of alerts) alert.beforeLoss = alert.newest(atMs)?.text ?? null;
    }
  }

  /** Notes the holders of each market, if they changed. */
  #noteHolders(
    { wallet, pdaIndex }: Observation & { readonly kind: "accounts" },
    listed: readonly AccountEntry[],
    builder: ChangesBuilder,
  ): void {
    const hasParted = this.#parts.life.takeParted();
    if (!hasParted && !listed.some(({ moved }) => moved)) return;
    const accounts = this.#parts.world.accounts
      .ofWallet(wallet)
      .filter(({ ref }) => ref.pdaIndex === pdaIndex);
    this.#parts.world.holders.take(wallet, pdaIndex, accounts, builder);
  }
}

/** Adds the alerts about a subject to a list; null: none. */
function alertsOf(node: SubjectNode, others: LiveAlert[] | null): LiveAlert[] | null {
  let all = others;
  for (const { alert } of rulesOf(node).instances) if (alert !== null) all = [...(all ?? []), alert];
  return all;
}

/** Returns true if a position of an account is smaller in this state, or missing. */
function holdsLess({ positions }: AccountEntry, now: SubaccountState): boolean {
  let index = 0;
  for (const { state } of positions.values()) {
    // Usually in the same order.
    const likely = now.positions[index++];
    const same =
      likely?.symbol === state.symbol ? likely : now.positions.find(({ symbol }) => symbol === state.symbol);
    const lots = same?.baseLots ?? 0n;
    if (state.baseLots > 0n ? lots < state.baseLots : lots > state.baseLots) return true;
  }
  return false;
}
