/**
 * Restores the state of the last run at a start. Alerts about things that no longer exist (a rule, a wallet, a
 * position) end with the reason; the others continue, and the downtime counts as time without data.
 */

import type { AlertBook } from "../alerts/alert-book.ts";
import type { Endings } from "../alerts/endings/endings.ts";
import { type KeptEnding, keptEnding } from "../alerts/endings/kept-ending.ts";
import type { LiveAlert } from "../alerts/live-alert.ts";
import { beginsAnew } from "../alerts/notifications.ts";
import type { Downtime } from "../alerts/own/downtime.ts";
import type { OwnAlerts } from "../alerts/own/own-alert.ts";
import { notifiedWith } from "../alerts/reminders/remind.ts";
import type { Throttles } from "../alerts/routing/throttles.ts";
import {
  type AlertChangeKind,
  type Ending,
  isTaking,
  type RuleRow,
  type RuleState,
} from "../domain/alerts/alert.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import { type AccountRef, accountName, parseSubject, type Subject } from "../domain/subject.ts";
import type { Conditions } from "../evaluate/conditions/conditions.ts";
import type { EventRules } from "../evaluate/events/event-rules.ts";
import { judges } from "../evaluate/selection.ts";
import type { RuleSet } from "../rules/index.ts";
import type { Holdings } from "../state/accounts/holdings.ts";
import { keptToday } from "../state/day/day-book.ts";
import type { Today } from "../state/day/today.ts";
import { keptProfit } from "../state/profit/kept-profit.ts";
import { takeKey } from "../state/wallets/wallets.ts";
import type { WatchedWallet } from "../state/wallets/watched.ts";
import type { World } from "../state/world.ts";
import { hasMembers } from "./aggregates/book-members.ts";
import type { Remembered } from "./remembered.ts";

export interface RestoreParts {
  readonly ruleSet: RuleSet;
  readonly world: World;
  readonly alerts: AlertBook;
  readonly conditions: Conditions;
  readonly eventRules: EventRules;
  /** Returns true if the state of a wallet is newer than the stored one: it was watched before a reload. */
  readonly known: (wallet: string) => boolean;
  readonly throttles: Throttles;
  readonly own: OwnAlerts;
  readonly endings: Endings;
  readonly downtime: Downtime;
  readonly today: Today;
  readonly holdings: Holdings;
  /** Returns true if a pair of this name is declared. */
  readonly hasPair: (name: string) => boolean;
}

interface Unclaimed {
  readonly subject: Subject & { readonly scope: "position" | "trader" };
  /** Null: its condition no longer held, and only the explanation was missing. */
  readonly state: RuleState | null;
  readonly live: LiveAlert | null;
  /** The stored data about its end; null: it had not ended. */
  readonly ending: KeptEnding | null;
  readonly fallback: Ending;
}

/** Changes that notified receivers of the alert's state. */
const notifyingKinds: ReadonlySet<AlertChangeKind> = new Set([
  "fired",
  "rose",
  "fell",
  "worsened",
  "changed",
  "reminder",
]);

export class Restoring {
  readonly #parts: RestoreParts;
  /** States about accounts whose first answer after the start is pending, by wallet and PDA index. */
  readonly #unclaimed = new Map<string, Unclaimed[]>();
  /** States about markets, until the first market list. */
  #markets: { readonly symbol: string; readonly state: RuleState; readonly live: LiveAlert | null }[] = [];

  constructor(parts: RestoreParts) {
    this.#parts = parts;
  }

  restore(remembered: Remembered, builder: ChangesBuilder): void {
    const { wallets } = this.#parts.world;
    // A name that now belongs to another key is no longer the stored wallet.
    const ours = new Set(
      [...wallets].flatMap(([name, entry]) => (takeKey(entry, remembered.keep, builder) ? [] : [name])),
    );
    const walletOf = (name: string): WatchedWallet | undefined => this.#parts.world.wallet(name);
    // The end of something that is no longer read of a watched wallet would never be seen.
    const isRead = ({ wallet, pdaIndex }: { readonly wallet: string; readonly pdaIndex?: number }): boolean =>
      ours.has(wallet) &&
      (pdaIndex === undefined || (walletOf(wallet)?.pdaIndices?.includes(pdaIndex) ?? true));
    this.#parts.downtime.forget((position) => {
      const subject = parseSubject(position);
      return subject !== undefined && "wallet" in subject && isRead(subject);
    }, builder);
    const lives = new Map<number, LiveAlert>();
    const changesOf = Map.groupBy(remembered.alertChanges, (change) => change.alertId);
    for (const alert of remembered.alerts) {
      if (alert.state !== "firing") continue;
      const changes = changesOf.get(alert.id) ?? [];
      const notifying = changes.filter(({ kind }) => notifyingKinds.has(kind));
      let reminders = 0;
      for (const { kind } of notifying) {
        if (kind === "reminder") reminders++;
        else if (kind === "fired" || kind === "rose") reminders = 0;
      }
      // The last notification, or a later acknowledgement.
      let notified = changes.length === 0 ? notifiedWith(alert.value) : null;
      for (const { kind, alert: then } of changes)
        if (notifyingKinds.has(kind) || beginsAnew.has(kind))
          notified = notifiedWith(then.value, notified, beginsAnew.has(kind));
      lives.set(
        alert.id,
        this.#parts.alerts.restore(
          alert,
          remembered.notified.get(alert.id) ?? new Map(),
          notifying.at(-1),
          reminders,
          notified,
        ),
      );
    }
    const unknown = (wallet: string): boolean => ours.has(wallet) && !this.#parts.known(wallet);
    this.#parts.holdings.restore(remembered.keep, unknown, (wallet, account, state) =>
      wallets.get(wallet)?.profit.changes.states.restore(account, state),
    );
    this.#parts.world.holders.restore(remembered.keep, unknown);
    const held = remembered.held.filter(({ wallet }) => wallet === null || ours.has(wallet));
    this.#parts.eventRules.restore(remembered.alerts, remembered.keep, held);
    for (const { kind, alert, happenedMs } of remembered.alertChanges) {
      if (kind === "ended" && isTaking(alert.ending) && happenedMs !== null)
        this.#parts.endings.liquidations.rememberEnded(alert, happenedMs);
    }
    const changes = new Map(remembered.alertChanges.map((change) => [change.id, change]));
    this.#parts.throttles.restore(remembered.keep, changes);
    for (const [wallet, kept] of keptToday.all(remembered.keep))
      if (ours.has(wallet)) this.#parts.today.restore(wallet, kept);
    for (const [wallet, kept] of keptProfit.all(remembered.keep))
      if (unknown(wallet)) wallets.get(wallet)?.profit.restore(kept);
    const endingOf = ({ alert }: LiveAlert): KeptEnding | null => keptEnding.get(remembered.keep, alert.id);
    const rules = new Map(this.#parts.ruleSet.conditions.map((rule) => [rule.name, rule]));
    const claimed = new Set<number>();
    const standing = new Set<string>();
    for (const state of remembered.ruleStates) {
      const live = state.alertId === null ? null : (lives.get(state.alertId) ?? null);
      if (live) claimed.add(live.alert.id);
      standing.add(`${state.rule}\n${state.subject}`);
      const subject = parseSubject(state.subject);
      const rule = rules.get(state.rule);
      const gone =
        !subject ||
        ("wallet" in subject && !isRead(subject)) ||
        (subject.scope === "pair" && !this.#parts.hasPair(subject.pair)) ||
        (subject.scope === "book" && rule !== undefined && !hasMembers(rule, subject, this.#parts.world));
      const judged = subject !== undefined && rule !== undefined && judges(rule, subject, walletOf);
      if ((rule && gone) || !judged) {
        if (live)
          this.#parts.alerts.end(builder, live, rule && gone ? "noLongerWatched" : "ruleChanged", null);
        this.#parts.conditions.rows.released({ rule: state.rule, subject: state.subject }, builder);
        continue;
      }
      const ending = live && endingOf(live);
      // An ended subject is not continued by another one of its name.
      if (!ending) this.#parts.conditions.rows.restore(state, live);
      if (subject.scope === "position" || subject.scope === "trader")
        this.#await({ subject, state, live, ending, fallback: "closed" });
      else if (subject.scope === "market") this.#markets.push({ symbol: subject.symbol, state, live });
    }
    for (const [id, live] of lives) {
      if (claimed.has(id)) continue;
      const { rule, wallet } = live.alert;
      if (wallet !== null && !ours.has(wallet))
        this.#parts.alerts.end(builder, live, "noLongerWatched", null);
      else if (this.#parts.own.restore(live, remembered.keep, builder)) continue;
      else {
        const subject = rules.has(rule) ? parseSubject(live.alert.subject) : undefined;
        if (subject && "wallet" in subject && !isRead(subject))
          this.#parts.alerts.end(builder, live, "noLongerWatched", null);
        else if (subject?.scope === "position" || subject?.scope === "trader") {
          // It had ended without an explanation. If another one of its name continues, this was the earlier position.
          const fallback = standing.has(`${rule}\n${live.alert.subject}`) ? "closed" : "recovered";
          this.#await({ subject, state: null, live, ending: endingOf(live), fallback });
        } else this.#parts.alerts.end(builder, live, "ruleChanged", null);
      }
    }
    this.#parts.endings.tidy(remembered.keep, (id) => this.#parts.alerts.live.has(id), builder);
  }

  #await(one: Unclaimed): void {
    // Its end was seen before the start, and it waits for the reason.
    if (one.live && one.ending) one.live.isGone = () => true;
    const name = `${one.subject.wallet}/${one.subject.pdaIndex}`;
    const list = this.#unclaimed.get(name);
    if (list) list.push(one);
    else this.#unclaimed.set(name, [one]);
  }

  /** The markets were listed: alerts about markets that no longer exist end now. */
  endUnlisted(listed: ReadonlySet<string>, builder: ChangesBuilder): void {
    for (const { symbol, state, live } of this.#markets.splice(0)) {
      if (listed.has(symbol.toUpperCase()) || !this.#parts.conditions.rows.unclaimed(state)) continue;
      this.#parts.conditions.rows.forget(state);
      if (live) this.#parts.alerts.end(builder, live, "noLongerWatched", null);
      this.#parts.conditions.rows.released({ rule: state.rule, subject: state.subject }, builder);
    }
  }

  #slotBefore(ref: AccountRef): number {
    const { holdings, world } = this.#parts;
    return holdings.slotBefore(accountName(ref), world.accounts.get(ref));
  }

  /**
   * Like `Endings.takeBack`, for a recovery that was not reported before the daemon stopped, until its account is read.
   */
  takeBack(
    { rule, subject }: RuleRow,
    { wallet, pdaIndex }: AccountRef,
    judgedAs: string,
    builder: ChangesBuilder,
  ): LiveAlert | null {
    const waiting = this.#unclaimed.get(`${wallet}/${pdaIndex}`) ?? [];
    const index = waiting.findIndex(
      ({ live, ending }) =>
        live?.alert.rule === rule && live.alert.subject === subject && ending?.judgedAs === judgedAs,
    );
    const live = waiting[index]?.live ?? null;
    if (live === null) return null;
    waiting.splice(index, 1);
    this.#parts.endings.forget(live.alert.id, builder);
    return live;
  }

  /** An account was read: alerts about parts of it that no longer exist end now. */
  endUnclaimed(wallet: string, pdaIndex: number, builder: ChangesBuilder): void {
    this.#parts.downtime.read(wallet, pdaIndex, builder);
    if (this.#unclaimed.size === 0) return;
    const name = `${wallet}/${pdaIndex}`;
    const waiting = this.#unclaimed.get(name);
    if (!waiting) return;
    this.#unclaimed.delete(name);
    for (const { subject, state, live, ending, fallback } of waiting) {
      if (state && !ending) {
        if (!this.#parts.conditions.rows.unclaimed(state)) continue;
        this.#parts.conditions.rows.forget(state);
      }
      const row = state && { rule: state.rule, subject: state.subject };
      if (live) {
        const symbol = subject.scope === "position" ? subject.symbol : null;
        this.#parts.endings.end(builder, {
          live,
          row,
          account: subject,
          symbol,
          fallback: ending?.fallback ?? fallback,
          judgedAs: ending?.judgedAs,
          text: ending?.text ?? null,
          textAt: (nowMs) => {
            const node = this.#parts.world.nodes.get(live.alert.subject);
            return node === undefined
              ? null
              : this.#parts.conditions.texts.ifEnded(node, live.alert.rule, nowMs);
          },
          isUnread: (nowMs) => {
            const node = this.#parts.world.nodes.get(live.alert.subject);
            return node !== undefined && this.#parts.conditions.texts.isUnread(node, live.alert.rule, nowMs);
          },
          fromMs: ending?.fromMs ?? live.alert.sinceMs,
          fromSlot: ending
            ? (ending.fromSlot ?? 0)
            : symbol !== null && fallback === "closed"
              ? this.#slotBefore(subject)
              : (state?.heldSlot ?? 0),
          ...(ending
            ? {
                ...{ goneMs: ending.goneMs, goneSlot: ending.goneSlot },
                ...{ size: ending.size, side: ending.side, taken: ending.taken },
              }
            : symbol !== null && state
              ? this.#parts.holdings.extentBefore(subject, symbol, state.incarnation, this.#parts.world)
              : {}),
          ...(ending || fallback === "recovered"
            ? {}
            : { goneSlot: this.#parts.world.accounts.slotOf(wallet, pdaIndex) || undefined }),
          another: ending?.another ?? false,
          suspicious: true,
        });
      } else if (row) this.#parts.conditions.rows.released(row, builder);
    }
  }
}
