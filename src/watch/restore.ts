/**
 * Takes up at a start where the last run ended. What is no more (a rule, a wallet, a position) ends with its reason; what
 * still is goes on, and the time in between counts as time in which nothing was seen.
 */
import type { RuleState } from "../domain/alert.ts";
import { parseSubject } from "../domain/subject.ts";
import type { RuleSet } from "../rules/index.ts";
import type { AlertBook, LiveAlert } from "./alert-book.ts";
import { type Blindness, blindRule, unreachableRule } from "./blind.ts";
import { type ChannelAlerts, channelRule } from "./channel-alerts.ts";
import type { Conditions } from "./conditions.ts";
import type { Draft } from "./draft.ts";
import type { Endings } from "./endings.ts";
import type { Happenings } from "./happenings.ts";
import type { Remembered } from "./remembered.ts";
import { type Throttles, throttlePrefix } from "./throttles.ts";
import { restoreWallet, walletKeepPrefix } from "./wallets.ts";
import type { World } from "./world.ts";

export interface RestoreParts {
  readonly ruleSet: RuleSet;
  readonly world: World;
  readonly alerts: AlertBook;
  readonly conditions: Conditions;
  readonly happenings: Happenings;
  readonly throttles: Throttles;
  readonly blindness: Blindness;
  readonly channels: ChannelAlerts;
  readonly endings: Endings;
}

export class Restoring {
  readonly #parts: RestoreParts;
  /** States of accounts whose first answer after the start is still to come. */
  readonly #unclaimed = new Map<string, { readonly state: RuleState; readonly live: LiveAlert | null }>();

  constructor(parts: RestoreParts) {
    this.#parts = parts;
  }

  restore(remembered: Remembered, draft: Draft): void {
    const lives = new Map<number, LiveAlert>();
    const changesOf = Map.groupBy(remembered.alertChanges, (change) => change.alertId);
    for (const alert of remembered.alerts) {
      if (alert.state !== "firing") continue;
      const told = (changesOf.get(alert.id) ?? []).filter(
        (change) => change.kind === "fired" || change.kind === "rose" || change.kind === "reminder",
      );
      let reminders = 0;
      for (const change of told) reminders = change.kind === "reminder" ? reminders + 1 : 0;
      lives.set(
        alert.id,
        this.#parts.alerts.restore(alert, remembered.told.get(alert.id) ?? [], told.at(-1), reminders),
      );
    }
    this.#parts.happenings.restore(remembered.alerts);
    const changes = new Map(remembered.alertChanges.map((change) => [change.id, change]));
    for (const [name, value] of remembered.keep) {
      if (name.startsWith(throttlePrefix)) this.#parts.throttles.restore(name, value, changes);
      const wallet = name.startsWith(walletKeepPrefix)
        ? name.slice(walletKeepPrefix.length, -"/profit".length)
        : null;
      const entry = wallet === null ? undefined : this.#parts.world.wallets.get(wallet);
      if (entry) restoreWallet(entry, value);
    }
    const rules = new Set(this.#parts.ruleSet.conditions.map((rule) => rule.name));
    const claimed = new Set<number>();
    for (const state of remembered.ruleStates) {
      const live = state.alertId === null ? null : (lives.get(state.alertId) ?? null);
      if (live) claimed.add(live.alert.id);
      const subject = parseSubject(state.subject);
      const row = { rule: state.rule, subject: state.subject };
      if (!rules.has(state.rule)) {
        if (live) this.#parts.alerts.end(draft, live, "ruleChanged", null);
        this.#parts.conditions.released(row, draft);
      } else if (!subject || ("wallet" in subject && !this.#parts.world.wallets.has(subject.wallet))) {
        if (live) this.#parts.alerts.end(draft, live, "noLongerWatched", null);
        this.#parts.conditions.released(row, draft);
      } else {
        this.#parts.conditions.restore(state, live);
        if (subject.scope === "position" || subject.scope === "trader") {
          this.#unclaimed.set(`${state.rule}\n${state.subject}`, { state, live });
        }
      }
    }
    for (const [id, live] of lives) {
      if (claimed.has(id)) continue;
      const { rule, wallet } = live.alert;
      if (wallet !== null && !this.#parts.world.wallets.has(wallet))
        this.#parts.alerts.end(draft, live, "noLongerWatched", null);
      else if (rule === blindRule || rule === unreachableRule) this.#parts.blindness.restore(live);
      else if (rule === channelRule) this.#parts.channels.restore(live);
      else this.#parts.alerts.end(draft, live, "ruleChanged", null);
    }
  }

  /** After an account was read: what stood about parts of it that are no more ends now. */
  endUnclaimed(wallet: string, pdaIndex: number, draft: Draft): void {
    for (const [key, { state, live }] of this.#unclaimed) {
      const subject = parseSubject(state.subject);
      if (!subject || !("pdaIndex" in subject) || subject.wallet !== wallet || subject.pdaIndex !== pdaIndex)
        continue;
      this.#unclaimed.delete(key);
      if (!this.#parts.conditions.unclaimed(state)) continue;
      this.#parts.conditions.forget(state);
      const row = { rule: state.rule, subject: state.subject };
      if (!live) this.#parts.conditions.released(row, draft);
      else {
        const symbol = subject.scope === "position" ? subject.symbol : null;
        this.#parts.endings.end(draft, {
          live,
          row,
          account: subject,
          symbol,
          fallback: "closed",
          text: null,
          suspicious: true,
        });
      }
    }
  }
}
