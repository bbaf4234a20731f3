/**
 * Acknowledges handled notifications at the exchange, item by item, after their handling is recorded, until the
 * exchange confirms.
 *
 *   waiting ──handled (handled.ts)──commit──► due ──request──► confirmed by the exchange ──commit──► confirmed
 *
 * It decides by committed history, not by values in memory; while history takes no commits, nothing is judged or sent.
 * A request whose answer was lost is repeated, which is harmless; a recorded one is not repeated.
 */

import type { Acknowledgement } from "../../domain/alerts/delivery.ts";
import type { Clock, Random } from "../../domain/clock.ts";
import type { InboxItem } from "../../domain/event.ts";
import type { Store } from "../../domain/ports.ts";
import { type Changes, changes } from "../../domain/stored/changes.ts";
import { ExchangeError, failureOf } from "../../exchange/errors.ts";
import { type DeliverLog, silentLog } from "../log.ts";
import { noProbe, type Probe } from "../probe.ts";
import { Work } from "../work.ts";
import { type ManualAcknowledgement, sortByInbox } from "./by-hand.ts";
import { Confirmations } from "./confirmations.ts";
import { type DueItem, InboxAccount, maxAckItems } from "./inbox-account.ts";
import { WaitingAcknowledgements } from "./waiting-acknowledgements.ts";

/** Sends acknowledgements to the exchange; resolves when it confirmed all of them. */
export type AcknowledgeItems = (
  wallet: string,
  traderPubkey: string,
  items: readonly InboxItem["item"][],
  signal: AbortSignal,
) => Promise<unknown>;

export interface AcknowledgerOptions {
  readonly store: Pick<
    Store,
    "commit" | "acknowledgements" | "alerts" | "deliveryItems" | "eventByKey" | "events"
  >;
  readonly acknowledge: AcknowledgeItems;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: DeliverLog;
  readonly probe?: Probe;
  /** Maximum time for which `stop` waits for requests under way, ms. Default 3 s. */
  readonly drainMs?: number;
}

export interface AcknowledgerFigures {
  readonly waiting: number;
  readonly due: number;
  /** The number confirmed since the start. */
  readonly confirmed: number;
  /** The number not acknowledged and closed, since the start. */
  readonly left: number;
}

export interface Acknowledger {
  start(signal: AbortSignal): Promise<void>;
  /** Takes committed changes: new rows, and alerts that a person acknowledged. */
  committed(changes: Changes): void;
  /** Called when deliveries of these alerts were recorded as delivered or dead. */
  settled(alertIds: readonly number[]): void;
  /** Called when a wallet is signed in (again): its pending acknowledgements are tried now. */
  signedIn(wallet: string): void;
  /** While held, nothing is judged or sent: for the time in which commits fail. */
  hold(held: boolean): void;
  /** Acknowledges notifications on a person's request. @param keys of notification events */
  acknowledgeItems(
    wallet: string,
    keys: readonly string[],
    signal?: AbortSignal,
  ): Promise<ManualAcknowledgement>;
  /** Acknowledges those again that are recorded as confirmed but open at the exchange. */
  acknowledgeAgain(wallet: string, keys: readonly string[]): Promise<ManualAcknowledgement>;
  /** Records that these were acknowledged elsewhere: nothing is left to do. */
  acknowledgedElsewhere(wallet: string, keys: readonly string[]): Promise<void>;
  /** Acknowledges every stored notification from before this time, ms, item by item. */
  acknowledgeUpTo(wallet: string, beforeMs: number, signal?: AbortSignal): Promise<ManualAcknowledgement>;
  figures(): AcknowledgerFigures;
  /** Resolves when nothing can be done until time passes or input arrives. */
  idle(): Promise<void>;
  /** Stops within a bound; repeatable, never rejects. Due rows stay due for the next start. */
  stop(): Promise<void>;
}

export function createAcknowledger(options: AcknowledgerOptions): Acknowledger {
  return new WorkingAcknowledger(options);
}

class WorkingAcknowledger implements Acknowledger {
  readonly #options: AcknowledgerOptions;
  readonly #log: DeliverLog;
  readonly #probe: Probe;
  readonly #work: Work;
  readonly #waiting = new WaitingAcknowledgements();
  readonly #accounts = new Map<string, InboxAccount>();
  /** Due rows whose inbox has not been read from history yet. */
  #arriving: Acknowledgement[] = [];
  readonly #confirmations: Confirmations;
  readonly #cut = new AbortController();
  #judging = false;
  #held = false;
  #running = false;
  #cancelTimer: (() => void) | null = null;
  #left = 0;
  readonly #troubled = new Set<string>();

  constructor(options: AcknowledgerOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
    this.#probe = options.probe ?? noProbe;
    this.#confirmations = new Confirmations({ ...options, log: this.#log, probe: this.#probe });
    this.#work = new Work(this.#log, "the acknowledger met a fault of its own");
  }

  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const rows = await this.#options.store.acknowledgements({ open: true });
    this.#running = true;
    signal.addEventListener("abort", () => void this.stop(), { once: true });
    this.#take(rows);
  }

  committed({ acknowledgements, alerts }: Changes): void {
    for (const { status } of acknowledgements) if (status === "left") this.#left++;
    for (const { id, acknowledgedAtMs } of alerts) if (acknowledgedAtMs !== null) this.#waiting.touch(id);
    this.#take(acknowledgements);
  }

  settled(alertIds: readonly number[]): void {
    for (const id of alertIds) this.#waiting.touch(id);
    this.#pump();
  }

  signedIn(wallet: string): void {
    for (const account of this.#accounts.values()) if (account.wallet === wallet) account.hurry();
    this.#pump();
  }

  hold(held: boolean): void {
    this.#held = held;
    this.#pump();
  }

  figures(): AcknowledgerFigures {
    let due = this.#arriving.length;
    for (const account of this.#accounts.values()) due += account.due.size;
    return { waiting: this.#waiting.size, due, confirmed: this.#confirmations.recorded, left: this.#left };
  }

  idle(): Promise<void> {
    return this.#work.idle();
  }

  async stop(): Promise<void> {
    this.#running = false;
    this.#cancelTimer?.();
    await this.#work.idleWithin(this.#options.drainMs ?? 3_000, this.#options.clock);
    this.#cut.abort(new Error("perpwatch is stopping"));
    await this.#work.idleWithin(500, this.#options.clock);
    if (this.#confirmations.unrecorded.size > 0) await this.#confirmations.record();
  }

  async acknowledgeUpTo(
    wallet: string,
    beforeMs: number,
    signal?: AbortSignal,
  ): Promise<ManualAcknowledgement> {
    const events = await this.#options.store.events({ kind: "notification", wallet, toMs: beforeMs });
    const keys = events
      .filter(({ inbox, happenedMs }) => inbox !== null && !inbox.acked && happenedMs < beforeMs)
      .map(({ key }) => key);
    return this.acknowledgeItems(wallet, keys, signal);
  }

  acknowledgeItems(
    wallet: string,
    keys: readonly string[],
    signal: AbortSignal = this.#cut.signal,
  ): Promise<ManualAcknowledgement> {
    return this.#acknowledgeNow(wallet, keys, signal, false);
  }

  acknowledgeAgain(wallet: string, keys: readonly string[]): Promise<ManualAcknowledgement> {
    return this.#acknowledgeNow(wallet, keys, this.#cut.signal, true);
  }

  async acknowledgedElsewhere(wallet: string, keys: readonly string[]): Promise<void> {
    const { store, clock } = this.#options;
    const rows = new Map((await store.acknowledgements({ keys })).map((row) => [row.key, row]));
    const confirmedAtMs = clock.nowMs();
    const reason = "acknowledged elsewhere";
    const elsewhere = keys.flatMap((key): Acknowledgement[] => {
      const row = rows.get(key) ?? { key, wallet, word: "never", rules: [], dueAtMs: null };
      return "status" in row && row.status === "confirmed"
        ? []
        : [{ ...row, status: "confirmed", confirmedAtMs, reason }];
    });
    await store.commit([changes({ acknowledgements: elsewhere })]);
    for (const { key } of elsewhere) this.#forget(key);
  }

  async #acknowledgeNow(
    wallet: string,
    keys: readonly string[],
    signal: AbortSignal,
    again: boolean,
  ): Promise<ManualAcknowledgement> {
    const { store, acknowledge, clock } = this.#options;
    const rows = new Map((await store.acknowledgements({ keys })).map((row) => [row.key, row]));
    const isConfirmed = (key: string) =>
      !again && (rows.get(key)?.status === "confirmed" || this.#confirmations.unrecorded.has(key));
    const { already, unknown, accounts } = await sortByInbox(wallet, keys, store, isConfirmed);
    const confirmed: string[] = [];
    const failed: { key: string; detail: string }[] = [];
    for (const [traderPubkey, items] of accounts) {
      for (let from = 0; from < items.length; from += maxAckItems) {
        const some = items.slice(from, from + maxAckItems);
        try {
          await acknowledge(
            wallet,
            traderPubkey,
            some.map(({ item }) => item),
            AbortSignal.any([signal, this.#cut.signal]),
          );
        } catch (error) {
          const { detail } = failureOf(error);
          failed.push(...some.map(({ key }) => ({ key, detail })));
          continue;
        }
        const confirmedAtMs = clock.nowMs();
        const byHand = some.map(({ key }): Acknowledgement => {
          const row = rows.get(key) ?? { key, wallet, word: "always", rules: [], dueAtMs: confirmedAtMs };
          return {
            ...row,
            status: "confirmed",
            confirmedAtMs,
            reason: again ? "acknowledged again" : "acknowledged by hand",
          };
        });
        for (const row of byHand) {
          this.#forget(row.key);
          for (const account of this.#accounts.values()) account.due.delete(row.key);
        }
        await this.#confirmations.confirm(byHand);
        confirmed.push(...some.map(({ key }) => key));
      }
    }
    return { confirmed, already, unknown, failed };
  }

  #take(rows: readonly Acknowledgement[]): void {
    for (const row of rows) {
      if (row.status === "due") this.#arriving.push(row);
      else if (row.status === "waiting") this.#waiting.add(row);
    }
    this.#pump();
  }

  #forget(key: string): void {
    this.#waiting.forget(key);
    this.#arriving = this.#arriving.filter((one) => one.key !== key);
  }

  #pump(): void {
    if (!this.#running) return;
    const { clock } = this.#options;
    const nowMs = clock.elapsedMs();
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (nowMs >= this.#confirmations.againAtMs) {
      if (this.#confirmations.unrecorded.size > 0 && !this.#judging)
        this.#run(() => this.#confirmations.record());
      else if (!this.#held && !this.#judging && (this.#waiting.anyToJudge || this.#arriving.length > 0)) {
        this.#run(() => this.#judge());
      }
    }
    let atMs =
      this.#confirmations.againAtMs > nowMs ? this.#confirmations.againAtMs : Number.POSITIVE_INFINITY;
    if (!this.#held && this.#confirmations.unrecorded.size === 0) {
      for (const account of this.#accounts.values()) {
        const items = account.next(nowMs);
        if (items.length > 0) {
          account.underWay = true;
          this.#work.track(this.#send(account, items).finally(() => this.#sent(account)));
        } else if (account.nextAtMs() > nowMs) atMs = Math.min(atMs, account.nextAtMs());
      }
    }
    if (atMs < Number.POSITIVE_INFINITY)
      this.#cancelTimer = clock.after(Math.ceil(atMs - nowMs), () => this.#pump());
  }

  /** Runs one piece of work on the history at a time. */
  #run(work: () => Promise<void>): void {
    this.#judging = true;
    const done = () => {
      this.#judging = false;
      this.#pump();
    };
    this.#work.track(work().finally(done));
  }

  #sent(account: InboxAccount): void {
    account.underWay = false;
    if (account.due.size === 0) this.#accounts.delete(nameOf(account.wallet, account.traderPubkey));
    this.#pump();
  }

  /** Finds the handled rows, commits that they are due, and finds their inboxes. */
  async #judge(): Promise<void> {
    const { store, clock } = this.#options;
    const keys = this.#waiting.takeToJudge();
    const arriving = this.#arriving;
    this.#arriving = [];
    try {
      const handled = await this.#waiting.handled(keys, store);
      const dueAtMs = clock.nowMs();
      const due = handled.map((row): Acknowledgement => ({ ...row, status: "due", dueAtMs }));
      if (due.length > 0) {
        await store.commit([changes({ acknowledgements: due })]);
        for (const { key } of due) this.#forget(key);
        arriving.push(...due);
        await this.#probe("ack-due");
      }
      while (arriving.length > 0) {
        await this.#address(arriving[0]!);
        arriving.shift();
      }
      this.#confirmations.succeeded();
    } catch (error) {
      this.#waiting.putBack(keys);
      this.#arriving.unshift(...arriving);
      this.#confirmations.failed(error);
    }
  }

  /** Adds a due row to its inbox. */
  async #address(row: Acknowledgement): Promise<void> {
    const { store, random } = this.#options;
    const event = await store.eventByKey("notification", row.key);
    if (!event?.inbox) {
      const reason = "its notification is not in the history";
      await store.commit([changes({ acknowledgements: [{ ...row, status: "left", reason }] })]);
      this.#left++;
      return;
    }
    const { traderPubkey, item } = event.inbox;
    const name = nameOf(row.wallet, traderPubkey);
    const account = this.#accounts.get(name) ?? new InboxAccount(row.wallet, traderPubkey, random);
    this.#accounts.set(name, account);
    account.add(row, item);
  }

  async #send(account: InboxAccount, items: readonly DueItem[]): Promise<void> {
    const { acknowledge, clock } = this.#options;
    const { wallet, traderPubkey } = account;
    try {
      await acknowledge(
        wallet,
        traderPubkey,
        items.map(({ item }) => item),
        this.#cut.signal,
      );
    } catch (error) {
      if (this.#cut.signal.aborted) return;
      const known = error instanceof ExchangeError ? error : null;
      if (known?.reason === "refused") account.refused(items, clock.elapsedMs());
      else account.failed(clock.elapsedMs(), known?.retryAfterMs ?? 0);
      const trouble = nameOf(wallet, traderPubkey);
      const { reason, detail } = failureOf(error);
      if (!this.#troubled.has(trouble)) {
        this.#log.warn(
          { wallet, items: items.length, reason, detail },
          "notifications could not be acknowledged yet",
        );
      }
      this.#troubled.add(trouble);
      return;
    }
    account.confirmed(items);
    if (this.#troubled.delete(nameOf(wallet, traderPubkey))) {
      this.#log.info({ wallet, items: items.length }, "notifications are acknowledged again");
    }
    await this.#probe("ack-sent");
    const confirmedAtMs = clock.nowMs();
    await this.#confirmations.confirm(
      items.map(({ row }) => ({ ...row, status: "confirmed", confirmedAtMs })),
    );
  }
}

const nameOf = (wallet: string, traderPubkey: string) => `${wallet}/${traderPubkey}`;
