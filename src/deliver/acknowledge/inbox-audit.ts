/**
 * The inbox audit: on a schedule the exchange's own list of notifications is compared with what is stored, delivered
 * and acknowledged here. Every difference is reported, and repaired if possible:
 *
 *   notStored       at the exchange, not here           fetched and judged like any other
 *   notThere        here, not (any more) at the exchange
 *   ackedHereOnly   confirmed here, open there          acknowledged again, by item
 *   ackedThereOnly  open here, acknowledged there       recorded as acknowledged elsewhere
 *
 * A difference in two audits in a row raises an alert (`InboxDiffers`). An intentionally unacknowledged notification is
 * no difference, and is listed with the reason.
 */

import type { Acknowledgement } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Event } from "../../domain/event.ts";
import type { InboxAudit, InboxDifference, InboxDifferenceKind, InboxLeft } from "../../domain/inbox.ts";
import type { Observation } from "../../domain/observation.ts";
import type { Store } from "../../domain/ports.ts";
import type { InboxAuditStatus } from "../../domain/status.ts";
import { failureOf } from "../../exchange/errors.ts";
import { type DeliverLog, silentLog } from "../log.ts";
import { Work } from "../work.ts";
import type { Acknowledger } from "./acknowledger.ts";
import { whyLeft } from "./why-left.ts";

/** The exchange's inbox, as `collect` reads it. */
export interface ExchangeInbox {
  readonly atMs: number;
  readonly events: readonly Event[];
  readonly listedAfterMs: ReadonlyMap<string, number>;
}

export interface InboxAuditsOptions {
  /** Wallets with a session. */
  readonly wallets: readonly string[];
  /** The initial interval; see `every`. */
  readonly everyMs: number | null;
  readonly clock: Clock;
  readonly store: Pick<Store, "events" | "acknowledgements" | "alerts" | "deliveryItems" | "knownEvents">;
  /** Returns true while read data is stored at once. */
  readonly isStoring: () => boolean;
  readonly read: (wallet: string) => Promise<ExchangeInbox>;
  /** Takes the notifications that were not stored. */
  readonly fetched: (wallet: string, events: readonly Event[]) => Promise<void>;
  readonly acknowledger: Pick<Acknowledger, "acknowledgeAgain" | "acknowledgedElsewhere">;
  /** Returns the reasons why notifications of alerts are held now, by the alert's number. */
  readonly held: () => ReadonlyMap<number, string>;
  readonly observe: (observation: Observation) => Promise<void>;
  readonly log?: DeliverLog;
}

const firstMs = 120_000;
/** Time after which an unreadable inbox is read again, ms. */
const againMs = 5 * 60_000;
/** A notification younger than this may still be on its way, ms. */
const settledMs = 60_000;
const lookedBackMs = 7 * 86_400_000;

export class InboxAudits {
  readonly #options: InboxAuditsOptions;
  readonly #log: DeliverLog;
  readonly #work: Work;
  readonly #last = new Map<string, InboxAudit>();
  /** The running audit of each wallet. */
  readonly #underWay = new Map<string, Promise<InboxAudit>>();
  #everyMs: number | null;
  #cancel: () => void = () => {};
  #cancelAgain: () => void = () => {};
  #stopped = false;

  constructor(options: InboxAuditsOptions) {
    this.#options = options;
    this.#everyMs = options.everyMs;
    this.#log = options.log ?? silentLog;
    this.#work = new Work(this.#log, "the inbox audit met a fault of its own");
  }

  start(): void {
    this.#wait(firstMs);
  }

  /** Sets the interval from now on, ms; null: only on request. */
  every(everyMs: number | null): void {
    if (everyMs === this.#everyMs) return;
    this.#everyMs = everyMs;
    this.#wait();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    this.#cancelAgain();
    await this.#work.idleWithin(1_000, this.#options.clock);
  }

  status(): InboxAuditStatus {
    const audits = [...this.#last.values()].map(({ wallet, atMs, failure, differences, left }) => ({
      ...{ wallet, atMs, failure, differences: differences.length, left: left.length },
      lasting: differences.filter(({ lasting }) => lasting).length,
    }));
    return { everyMs: this.#everyMs, audits };
  }

  /** @returns one audit for each requested wallet, in order */
  async audit(wallets: readonly string[] = this.#options.wallets): Promise<readonly InboxAudit[]> {
    const audits: InboxAudit[] = [];
    for (const wallet of wallets) {
      const work = this.#underWay.get(wallet) ?? this.#audit(wallet);
      this.#underWay.set(wallet, work);
      audits.push(await work.finally(() => this.#underWay.delete(wallet)));
    }
    return audits;
  }

  /** @param maxMs upper limit for the time to the next audit */
  #wait(maxMs = Number.POSITIVE_INFINITY): void {
    this.#cancel();
    this.#cancelAgain();
    if (this.#stopped || this.#everyMs === null) return;
    this.#cancel = this.#options.clock.after(Math.min(maxMs, this.#everyMs), () => {
      this.#work.track(
        this.audit()
          .finally(() => this.#wait())
          .then((audits) => this.#waitAgain(audits)),
      );
    });
  }

  /** Schedules the next audit of the wallets whose inbox could not be read. */
  #waitAgain(audits: readonly InboxAudit[]): void {
    const failed = audits.flatMap(({ wallet, failure }) => (failure === null ? [] : [wallet]));
    if (this.#stopped || failed.length === 0) return;
    this.#cancelAgain = this.#options.clock.after(againMs, () =>
      this.#work.track(this.audit(failed).then((again) => this.#waitAgain(again))),
    );
  }

  async #audit(wallet: string): Promise<InboxAudit> {
    const { clock, observe, read, isStoring } = this.#options;
    let audit: InboxAudit;
    try {
      const there = isStoring() ? await read(wallet) : null;
      // Commits may have started to fail meanwhile.
      if (there === null || !isStoring())
        throw new Error("history takes no commits now: what was read is not stored yet");
      audit = await this.#compare(wallet, there);
    } catch (error) {
      const { detail } = failureOf(error);
      const failed = { wallet, atMs: clock.nowMs(), failure: detail, there: 0, differences: [], left: [] };
      // Its last findings stay until the inbox can be read again.
      const { atMs } = failed;
      this.#last.set(wallet, { ...(this.#last.get(wallet) ?? failed), atMs, failure: detail });
      return failed;
    }
    this.#last.set(wallet, audit);
    const { differences } = audit;
    const lasting = differences.filter((one) => one.lasting);
    if (differences.length > 0)
      this.#log.warn(
        { wallet, differences: differences.slice(0, 20).map(({ kind, key }) => `${kind} ${key}`) },
        `inbox audit: ${differences.length} differences, ${lasting.length} of them not for the first time`,
      );
    await observe({
      kind: "inboxAudited",
      atMs: clock.nowMs(),
      wallet,
      differences: differences.length,
      lasting: lasting.map(({ kind, key }) => ({ kind, key })),
    });
    return audit;
  }

  async #compare(wallet: string, there: ExchangeInbox): Promise<InboxAudit> {
    const { store, acknowledger, fetched, clock } = this.#options;
    const listed = new Map(
      there.events.filter(({ kind }) => kind === "notification").map((event) => [event.key, event]),
    );
    const keys = [...listed.keys()];
    const known = await store.knownEvents(keys.map((key) => ({ kind: "notification" as const, key })));
    const rows = new Map((await store.acknowledgements({ keys })).map((row) => [row.key, row]));
    const before = new Set(this.#last.get(wallet)?.differences.map(({ kind, key }) => `${kind} ${key}`));
    const differences: InboxDifference[] = [];
    const differs = (kind: InboxDifferenceKind, event: Event, done: string) => {
      const type = event.inbox?.notificationType ?? "";
      const { key, happenedMs } = event;
      differences.push({ kind, key, type, happenedMs, done, lasting: before.has(`${kind} ${key}`) });
    };
    const missing = keys.filter((key) => !known.has(`notification/${key}`)).map((key) => listed.get(key)!);
    if (missing.length > 0) {
      const missingKeys = new Set(missing.map(({ key }) => key));
      await fetched(
        wallet,
        there.events.filter(({ kind, key, notificationKey }) =>
          missingKeys.has(kind === "notification" ? key : (notificationKey ?? "")),
        ),
      );
      for (const event of missing)
        if (event.happenedMs < there.atMs - settledMs) differs("notStored", event, "fetched");
    }
    const stored = await this.#stored(wallet, there);
    for (const event of stored) {
      const afterMs = there.listedAfterMs.get(event.inbox?.traderPubkey ?? "");
      if (afterMs === undefined || event.happenedMs <= afterMs || listed.has(event.key)) continue;
      // Of other items the id from the stream may not be the final one.
      if (event.inbox?.source !== "event" || event.seenMs > there.atMs - settledMs) continue;
      differs("notThere", event, "kept here as it was received");
    }
    const openThere = [...listed.values()].filter(({ inbox }) => inbox?.acked === false);
    const again = openThere.filter(({ key }) => {
      const row = rows.get(key);
      return row?.status === "confirmed" && (row.confirmedAtMs ?? 0) < there.atMs;
    });
    if (again.length > 0) {
      const { confirmed } = await acknowledger.acknowledgeAgain(
        wallet,
        again.map(({ key }) => key),
      );
      for (const event of again)
        differs("ackedHereOnly", event, confirmed.includes(event.key) ? "acknowledged again" : "not yet");
    }
    const own = new Map(stored.map((event) => [event.key, event]));
    const elsewhere = [...listed.values()].filter(({ key, inbox }) => {
      if (inbox?.acked !== true || !known.has(`notification/${key}`)) return false;
      const row = rows.get(key);
      // Without a row: only if it was open when it was stored.
      return row ? row.status === "waiting" || row.status === "left" : own.get(key)?.inbox?.acked === false;
    });
    if (elsewhere.length > 0) {
      await acknowledger.acknowledgedElsewhere(
        wallet,
        elsewhere.map(({ key }) => key),
      );
      for (const event of elsewhere) differs("ackedThereOnly", event, "recorded as acknowledged elsewhere");
    }
    const left = openThere.filter(({ key }) => rows.get(key)?.status !== "confirmed");
    return {
      ...{ wallet, atMs: clock.nowMs(), failure: null, there: listed.size, differences },
      left: await this.#left(left, rows),
    };
  }

  async #stored(wallet: string, there: ExchangeInbox): Promise<readonly Event[]> {
    const fromMs = Math.max(there.atMs - lookedBackMs, Math.min(...there.listedAfterMs.values()));
    return this.#options.store.events({ kind: "notification", wallet, fromMs });
  }

  async #left(
    events: readonly Event[],
    rows: ReadonlyMap<string, Acknowledgement>,
  ): Promise<readonly InboxLeft[]> {
    const { store, held } = this.#options;
    const ids = [...rows.values()].flatMap(({ rules }) => rules.flatMap(({ alertIds }) => alertIds));
    const items = Map.groupBy(await store.deliveryItems({ alertIds: ids }), ({ alertId }) => alertId);
    const shadow = new Map(
      (await store.alerts({ shadow: true, limit: 1_000 })).map(({ eventKey, rule }) => [eventKey, rule]),
    );
    const parts = { items, held: held(), shadow };
    return events.map((event) => ({
      ...{ key: event.key, type: event.inbox?.notificationType ?? "", happenedMs: event.happenedMs },
      why: whyLeft(event, rows.get(event.key) ?? null, parts),
    }));
  }
}
