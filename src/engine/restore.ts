/**
 * Takes up at a start where the last run ended. What is no more (a rule, a wallet, a position) ends with its reason; what
 * still is goes on, and the time in between counts as time in which nothing was seen.
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
} from "../domain/alert.ts";
import type { ChangesBuilder } from "../domain/changes-builder.ts";
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
  /** True if what is known of a wallet is newer than what history says of it: it was watched before a reload. */
  readonly known: (wallet: string) => boolean;
  readonly throttles: Throttles;
  readonly own: OwnAlerts;
  readonly endings: Endings;
  readonly downtime: Downtime;
  readonly today: Today;
  readonly holdings: Holdings;
  /** True if a pair of this name is declared. */
  readonly hasPair: (name: string) => boolean;
}

interface Unclaimed {
  readonly subject: Subject & { readonly scope: "position" | "trader" };
  /** Null: its condition was gone, and only the word why was still awaited. */
  readonly state: RuleState | null;
  readonly live: LiveAlert | null;
  /** The knowledge about its end at the time when that began to wait; null: it had not. */
  readonly ending: KeptEnding | null;
  readonly fallback: Ending;
}

/** Changes with which people were told of the alert as it stood. */
const tells: ReadonlySet<AlertChangeKind> = new Set([
  "fired",
  "rose",
  "fell",
  "worsened",
  "changed",
  "reminder",
]);

export class Restoring {
  readonly #parts: RestoreParts;
  /** The states about accounts whose first answer after the start is still to come, by wallet and PDA index. */
  readonly #unclaimed = new Map<string, Unclaimed[]>();
  /** The states of markets, until the first list of those that there are. */
  #markets: { readonly symbol: string; readonly state: RuleState; readonly live: LiveAlert | null }[] = [];

  constructor(parts: RestoreParts) {
    this.#parts = parts;
  }

  restore(remembered: Remembered, builder: ChangesBuilder): void {
    const { wallets } = this.#parts.world;
    // A name that passed to another key is watched no longer as far as history speaks of it.
    const ours = new Set(
      [...wallets].flatMap(([name, entry]) => (takeKey(entry, remembered.keep, builder) ? [] : [name])),
    );
    const walletOf = (name: string): WatchedWallet | undefined => this.#parts.world.wallet(name);
    // What is no longer read of a wallet that still is would never be seen to end.
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
      const told = changes.filter(({ kind }) => tells.has(kind));
      let reminders = 0;
      for (const { kind } of told) {
        if (kind === "reminder") reminders++;
        else if (kind === "fired" || kind === "rose") reminders = 0;
      }
      // The last notification, or a later acknowledgement.
      let notified = changes.length === 0 ? notifiedWith(alert.value) : null;
      for (const { kind, alert: then } of changes)
        if (tells.has(kind) || beginsAnew.has(kind))
          notified = notifiedWith(then.value, notified, beginsAnew.has(kind));
      lives.set(
        alert.id,
        this.#parts.alerts.restore(
          alert,
          remembered.told.get(alert.id) ?? new Map(),
          told.at(-1),
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
      // What was seen to be gone is not taken up by whatever has its name now.
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
          // It had ended but for the word why. Where another of its name goes on, this one was the position before.
          const fallback = standing.has(`${rule}\n${live.alert.subject}`) ? "closed" : "recovered";
          this.#await({ subject, state: null, live, ending: endingOf(live), fallback });
        } else this.#parts.alerts.end(builder, live, "ruleChanged", null);
      }
    }
    this.#parts.endings.tidy(remembered.keep, (id) => this.#parts.alerts.live.has(id), builder);
  }

  #await(one: Unclaimed): void {
    // It was seen to be gone before the start, and waits for the reason.
    if (one.live && one.ending) one.live.isGone = () => true;
    const name = `${one.subject.wallet}/${one.subject.pdaIndex}`;
    const list = this.#unclaimed.get(name);
    if (list) list.push(one);
    else this.#unclaimed.set(name, [one]);
  }

  /** After the markets were listed: what stood about one that is no more ends now. */
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

  /** As of `Endings.takeBack`, of a recovery that was not told before the daemon stopped, until its account is read. */
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

  /** After an account was read: what stood about parts of it that are no more ends now. */
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
