/**
 * Decides why an alert about a position or an account has ended.
 *
 * A position that is gone was closed, liquidated or auto-deleveraged; what tells them apart (the inbox, the liquidation
 * history) may come a moment after the account's state. So such an ending waits for word, asks for it at once, and settles
 * as soon as it has it, or when patience ends. Nobody is told "resolved" about a position that the exchange took.
 */

import { z } from "zod";
import {
  type Alert,
  type AlertChange,
  type Ending,
  endings as endingKinds,
  isTaking,
  type RuleRow,
  type Taking,
} from "../domain/alert.ts";
import type { ChangesBuilder } from "../domain/changes-builder.ts";
import type { Deadlines, Due } from "../domain/deadlines.ts";
import type { Event } from "../domain/event.ts";
import { KeptKind, type KeptValues, keptNumber } from "../domain/kept.ts";
import { type AccountRef, accountName } from "../domain/subject.ts";
import type { AlertBook } from "./alert-book.ts";
import { FillTrail } from "./fill-trail.ts";
import { keptText } from "./kept-text.ts";
import type { AlertText, LiveAlert } from "./live-alert.ts";
import { endingPatienceMs } from "./patience.ts";

/**
 * Allowance for the difference between the exchange's clock and ours where a liquidation is set against the life of an
 * alert.
 */
export const clockSlackMs = 60_000;
/**
 * The exchange's histories are made from the ledger a moment later. One that was read this long after the disappearance
 * and has no liquidation settles the matter.
 */
const settledAfterMs = 15_000;
/** A recovery whose figures nobody knows after a restart waits for them, and is told without them after this. */
const figuresPatienceMs = 600_000;
/** Those that wait for that, or hold again, are looked at so often. */
const againMs = 5_000;
/** A position is liquidated in several parts: so many are remembered. */
const partsKept = 64;
/** By which a sum of parts may differ from what they are of, as a share of it. */
const partsRoom = 1e-6;
/** Allowance for a state that was on its way when a fill happened that it does not show yet. */
const readSlackMs = 2_000;

/** The knowledge about an ending that waits to be explained, kept so that a restart does not forget why it may be. */
export interface KeptEnding {
  readonly fallback: Ending;
  readonly fromMs: number;
  /** Absent in databases of earlier versions. */
  readonly fromSlot?: number;
  readonly goneMs: number;
  readonly goneSlot?: number;
  readonly another: boolean;
  /** The text of a recovery as it was then. Absent: it is none, or an earlier version wrote it. */
  readonly text?: AlertText;
  /** The condition that recovered, as of `judgedAs`. Absent: none did, or an earlier version wrote it. */
  readonly judgedAs?: string;
  /** Size of the position when it was last seen, in units, and its side. */
  readonly size?: number | undefined;
  readonly side?: string | undefined;
  /** Fills told that the last of it went in a liquidation or a deleveraging. */
  readonly taken?: boolean;
}

/** By alert. */
export const keptEnding: KeptKind<KeptEnding, number> = new KeptKind(
  "ending/{}",
  z.object({
    fallback: z.enum(endingKinds),
    fromMs: keptNumber,
    fromSlot: keptNumber.exactOptional(),
    goneMs: keptNumber,
    goneSlot: keptNumber.exactOptional(),
    another: z.boolean(),
    text: keptText.exactOptional(),
    judgedAs: z.string().exactOptional(),
    size: keptNumber.optional(),
    side: z.string().optional(),
    taken: z.boolean().exactOptional(),
  }),
);

interface Liquidated {
  readonly ending: Taking;
  /** It had a profit and was closed against one of somebody bankrupt. */
  readonly profited: boolean;
  readonly happenedMs: number;
  readonly slot: number;
  /** A part of the position was left; null: the inbox does not say. */
  readonly leftSome: boolean | null;
}

/** The size of a liquidation, in units. */
interface Part {
  readonly key: string;
  readonly slot: number;
  readonly size: number;
}

interface Waiting extends Due {
  readonly live: LiveAlert;
  readonly row: RuleRow | null;
  readonly account: AccountRef;
  readonly symbol: string | null;
  readonly fallback: Ending;
  readonly judgedAs?: string | undefined;
  readonly text: AlertText | null;
  readonly textAt?: (nowMs: number) => AlertText | null;
  readonly isUnread?: ((nowMs: number) => boolean) | undefined;
  readonly before?: AlertText | null;
  readonly fromMs: number;
  readonly fromSlot: number;
  /** Size of the position when it was last seen, in units, and its side; undefined: it is none, or nobody knows. */
  readonly size?: number | undefined;
  readonly side?: string | undefined;
  /** The time at which the subject was seen to be gone, ms. */
  readonly goneMs: number;
  /** Slot of the state that shows its end; absent: nobody knows. */
  readonly goneSlot?: number | undefined;
  /** Another position of its name stands there now. */
  readonly another: boolean;
  /** Since when it waits for word in this run, ms: nobody could hear it while nobody watched. */
  readonly sinceMs: number;
  readonly fills: FillTrail;
}

/** A position that is there now. */
interface Held {
  /** Begins with its side. */
  readonly node: { readonly incarnation: string };
}

export class Endings {
  readonly #alerts: AlertBook;
  readonly #deadlines: Deadlines;
  readonly #builder: () => ChangesBuilder;
  readonly #release: (row: RuleRow, builder: ChangesBuilder) => void;
  readonly #positionsOf: (account: AccountRef) => ReadonlyMap<string, Held> | undefined;
  readonly #isPending: (row: RuleRow, judgedAs: string) => boolean;
  readonly #waiting = new Set<Waiting>();
  /** Alerts of which history keeps what is known of their ending. */
  readonly #kept = new Set<number>();
  /** The newest liquidation of a position, or of anything in an account. Bounded by what is watched. */
  readonly #liquidated: Map<string, Liquidated> = new Map();
  /** The sizes of the newest liquidations of a position. */
  readonly #parts: Map<string, readonly Part[]> = new Map();
  /** By rule and subject: the liquidation that ended its last alert. It is not why the next one ends as well. */
  readonly #toldMs: Map<string, number> = new Map();
  /** The endings that waited before a reload, by alert, until it is known what of it waits still. */
  readonly #former = new Map<number, Waiting>();

  constructor(options: {
    alerts: AlertBook;
    deadlines: Deadlines;
    builder: () => ChangesBuilder;
    release: (row: RuleRow, builder: ChangesBuilder) => void;
    /** The positions of an account, by symbol; undefined: there is no such account. */
    positionsOf: (account: AccountRef) => ReadonlyMap<string, Held> | undefined;
    /** True while a condition is on its way to firing, as long as it is the one that recovered. */
    isPending: (row: RuleRow, judgedAs: string) => boolean;
    before?: Endings | undefined;
  }) {
    this.#alerts = options.alerts;
    this.#deadlines = options.deadlines;
    this.#builder = options.builder;
    this.#release = options.release;
    this.#positionsOf = options.positionsOf;
    this.#isPending = options.isPending;
    const { before } = options;
    if (!before) return;
    for (const waiting of before.#waiting) this.#former.set(waiting.live.alert.id, waiting);
    this.#liquidated = before.#liquidated;
    this.#parts = before.#parts;
    this.#toldMs = before.#toldMs;
  }

  /** Ends at once where the reason is plain; else waits for word. */
  end(
    builder: ChangesBuilder,
    ending: {
      readonly live: LiveAlert;
      readonly row: RuleRow | null;
      readonly account: AccountRef;
      /** Null: the account as a whole. */
      readonly symbol: string | null;
      readonly fallback: Ending;
      /** A condition that recovered, as of `judgedAs`: it may hold again before its end is told. Absent: none did, or nobody knows. */
      readonly judgedAs?: string | undefined;
      /** The text at its recovery; null: it is none, or nobody knows. */
      readonly text: AlertText | null;
      /** The same for later, when the wait for word is over; null: nothing newer. */
      readonly textAt?: (nowMs: number) => AlertText | null;
      /** True while its rule cannot be judged yet, so that a text is still to come; absent: one is known, or none will be. */
      readonly isUnread?: (nowMs: number) => boolean;
      /** The last known text, if its subject is gone. Null: what was told last. */
      readonly before?: AlertText | null;
      /** The time at which it was last seen as it was, ms: a liquidation before that is not what ended it. */
      readonly fromMs: number;
      /** Slot of the last state that showed it, or of the state in which its condition last held; 0: not known. */
      readonly fromSlot: number;
      /** Size of the position in that state, in units, and its side; absent: it is none, or nobody knows. */
      readonly size?: number | undefined;
      readonly side?: string | undefined;
      /** Fills told before a restart that the last of it went in a liquidation or a deleveraging. */
      readonly taken?: boolean | undefined;
      /** The time at which it was seen to be gone, ms; left out: now. A liquidation well after that is not what ended it. */
      readonly goneMs?: number;
      /** Slot of the state that shows its end; absent: nobody knows. */
      readonly goneSlot?: number | undefined;
      /** Another position of its name stands there now. */
      readonly another: boolean;
      /** Something of the account's went away lately: word of a liquidation may be under way. */
      readonly suspicious: boolean;
    },
  ): void {
    const former = this.#former.get(ending.live.alert.id);
    const waiting: Waiting = {
      ...ending,
      ...(former && wordsOf(former)),
      goneMs: ending.goneMs ?? builder.atMs,
      sinceMs: former?.sinceMs ?? builder.atMs,
      fills: former?.fills ?? new FillTrail(ending.another, ending.taken),
      dueMs: Number.POSITIVE_INFINITY,
      queuedMs: Number.POSITIVE_INFINITY,
      place: -1,
      order: former?.order,
      onDue: () => this.#onDue(waiting),
    };
    // Nobody is reminded of what is over.
    ending.live.isGone = () => true;
    const taking = this.#takingOf(waiting);
    if (taking !== null) this.#settle(builder, waiting, taking);
    else if (!ending.suspicious) this.#settle(builder, waiting, ending.fallback);
    else if (former) {
      this.#wait(waiting);
      this.#deadlines.set(waiting, former.dueMs);
    } else {
      this.#wait(waiting);
      this.#keep(builder, waiting);
      this.#askFor(builder, waiting);
      this.#deadlines.set(waiting, builder.atMs + settledAfterMs);
    }
  }

  #wait(waiting: Waiting): void {
    const { live, sinceMs } = waiting;
    live.endingWait = { sinceMs, untilMs: sinceMs + endingPatienceMs };
    this.#waiting.add(waiting);
  }

  /** Ends the takeover from the watch before a reload. */
  tookOver(): void {
    this.#former.clear();
  }

  /** Those that wait: what ends in one moment ends in the order in which it fired. */
  #inOrder(): readonly Waiting[] {
    if (this.#waiting.size === 0) return [];
    return [...this.#waiting].sort((a, b) => a.live.alert.id - b.live.alert.id);
  }

  /**
   * Takes events from before the start, which are not reported again. Events that are no liquidation of ours mean nothing, nor do those
   * of the future: as the newest, one would hide all that are true.
   */
  remember(event: Event, nowMs: number): void {
    const { kind, key: eventKey, wallet, pdaIndex, subaccount, symbol, happenedMs, slot, fields } = event;
    if (kind !== "liquidation" || wallet === null || happenedMs > nowMs + clockSlackMs) return;
    const profited = fields.role === "adl_counterparty";
    if (profited ? symbol === null : fields.role !== "liquidatee") return;
    const named = pdaIndex !== null && subaccount !== null;
    const place = named ? accountName({ wallet, pdaIndex, subaccount }) : wallet;
    // A position closed at a profit ends no alert of its account.
    const side = typeof fields.side === "string" ? fields.side : null;
    const own = keyOf(place, symbol, side);
    const keys = profited ? [own] : [keyOf(place, null), own];
    const ending = fields.kind === "adl" ? "deleveraged" : "liquidated";
    const leftSome = typeof fields.positionClosed === "boolean" ? !fields.positionClosed : null;
    if (symbol !== null && typeof fields.size === "number") {
      const others = (this.#parts.get(own) ?? []).filter((part) => part.key !== eventKey);
      this.#parts.set(own, [...others, { key: eventKey, slot, size: fields.size }].slice(-partsKept));
    }
    for (const key of keys) {
      const known = this.#liquidated.get(key);
      if (known !== undefined && (known.happenedMs - happenedMs || known.slot - slot) > 0) continue;
      this.#liquidated.set(key, { ending, profited, happenedMs, slot, leftSome });
    }
  }

  /** Notes of which endings history keeps something, and lets go of it where the alert has ended. */
  tidy(keep: KeptValues, fires: (alertId: number) => boolean, builder: ChangesBuilder): void {
    for (const alertId of keptEnding.keys(keep).map(Number)) {
      this.#kept.add(alertId);
      if (!fires(alertId)) this.forget(alertId, builder);
    }
  }

  #keep(builder: ChangesBuilder, waiting: Waiting): void {
    const { live, fallback, judgedAs, fromMs, fromSlot, goneMs, goneSlot, another, text, size, side } =
      waiting;
    const kept: KeptEnding = {
      ...{ fallback, fromMs, fromSlot, goneMs, another, size, side },
      ...(goneSlot !== undefined && { goneSlot }),
      ...(text && { text }),
      ...(judgedAs !== undefined && { judgedAs }),
      ...(waiting.fills.taken && { taken: true }),
    };
    keptEnding.put(live.alert.id, kept, builder);
    this.#kept.add(live.alert.id);
  }

  /** Lets go of what history keeps of an ending. */
  forget(alertId: number, builder: ChangesBuilder): void {
    if (this.#kept.delete(alertId)) keptEnding.drop(alertId, builder);
  }

  /** Takes from history that this alert ended by a liquidation or deleveraging, by what happened then. */
  rememberEnded({ rule, subject }: Pick<Alert, "rule" | "subject">, happenedMs: number): void {
    const name = `${rule}\n${subject}`;
    this.#toldMs.set(name, Math.max(happenedMs, this.#toldMs.get(name) ?? 0));
  }

  /**
   * Takes the alert of a condition that fires anew from those that wait, as the recovery of its last alert was not told yet: that one
   * goes on. Null: there is none.
   */
  takeBack(row: RuleRow, judgedAs: string, builder: ChangesBuilder): LiveAlert | null {
    for (const waiting of this.#waiting) {
      const { alert } = waiting.live;
      if (alert.rule !== row.rule || alert.subject !== row.subject || waiting.judgedAs !== judgedAs) continue;
      this.#waiting.delete(waiting);
      waiting.live.endingWait = null;
      this.forget(alert.id, builder);
      this.#deadlines.cancel(waiting);
      return waiting.live;
    }
    return null;
  }

  /** An event became known. A liquidation is word of the end; what fills say is weighed when all of them were told. */
  happened(builder: ChangesBuilder, event: Event): void {
    this.remember(event, builder.atMs);
    for (const waiting of this.#inOrder()) {
      const taking = this.#takingOf(waiting);
      if (taking !== null) this.#settle(builder, waiting, taking);
      else if (concerns(event, waiting)) {
        const { taken } = waiting.fills;
        waiting.fills.note(event);
        if (waiting.fills.taken !== taken) this.#keep(builder, waiting);
      }
    }
  }

  /** All that an answer brought has happened: fills after which nothing was left are word of the end. */
  weighFills(builder: ChangesBuilder): void {
    for (const waiting of this.#inOrder()) {
      const taking = waiting.fills.taken ? this.#takingOf(waiting) : null;
      if (taking !== null) this.#settle(builder, waiting, taking);
      else if (waiting.fills.closed) this.#settle(builder, waiting, waiting.fallback);
    }
  }

  /**
   * The newest rows of a liquidation history were read: an absence in them is word as well, once it is young enough.
   * @param pdaIndex whose history; undefined: all of the wallet's
   */
  read(builder: ChangesBuilder, wallet: string, pdaIndex: number | undefined): void {
    for (const waiting of this.#inOrder()) {
      if (waiting.account.wallet !== wallet) continue;
      if (pdaIndex !== undefined && waiting.account.pdaIndex !== pdaIndex) continue;
      if (builder.atMs - waiting.sinceMs < settledAfterMs || this.#isPendingAgain(waiting)) continue;
      if (!isReadable(waiting, builder.atMs)) continue;
      this.#settle(builder, waiting, waiting.fallback);
    }
  }

  #onDue(waiting: Waiting): void {
    if (!this.#waiting.has(waiting)) return;
    const builder = this.#builder();
    const waitedMs = builder.atMs - waiting.sinceMs;
    const isReady = waitedMs >= endingPatienceMs && isReadable(waiting, builder.atMs);
    const isPending = this.#isPendingAgain(waiting);
    if (!isPending && (isReady || waitedMs >= figuresPatienceMs))
      this.#settle(builder, waiting, waiting.fallback);
    else if (waitedMs < endingPatienceMs) {
      this.#askFor(builder, waiting);
      this.#deadlines.set(waiting, waiting.sinceMs + endingPatienceMs);
    } else {
      const { sinceMs } = waiting;
      waiting.live.endingWait = { sinceMs, untilMs: builder.atMs + againMs };
      this.#deadlines.set(waiting, builder.atMs + againMs);
    }
  }

  /** True while it is about to hold again: then it fires, and its alert goes on, or it is over after all. */
  #isPendingAgain({ live, judgedAs }: Waiting): boolean {
    return judgedAs !== undefined && this.#isPending(live.alert, judgedAs);
  }

  #askFor(builder: ChangesBuilder, waiting: Waiting): void {
    builder.ask("liquidations", waiting.account.wallet);
    builder.ask("notifications", waiting.account.wallet);
    builder.ask("fills", waiting.account.wallet);
  }

  #settle(builder: ChangesBuilder, waiting: Waiting, ending: Ending): void {
    this.#waiting.delete(waiting);
    this.forget(waiting.live.alert.id, builder);
    this.#deadlines.cancel(waiting);
    const happenedMs = isTaking(ending) ? (this.#newest(waiting)?.happenedMs ?? null) : null;
    if (happenedMs !== null) this.rememberEnded(waiting.live.alert, happenedMs);
    // "Before" is how it last stood, which a judgement of what a liquidation left over does not tell.
    const recovered = (): AlertText | null => waiting.textAt?.(builder.atMs) ?? waiting.text;
    const text = ending === "recovered" ? recovered() : (waiting.before ?? waiting.live.beforeLoss);
    this.#alerts.end(builder, waiting.live, ending, text, happenedMs, this.#stands(waiting, ending));
    if (waiting.row) this.#release(waiting.row, builder);
  }

  #stands({ account, symbol, fallback }: Waiting, ending: Ending): AlertChange["stands"] {
    const positions = this.#positionsOf(account);
    if (!positions) return undefined;
    if (symbol === null) return positions.size === 0 ? "noPositions" : undefined;
    const held = fallback === "recovered" ? undefined : positions.get(symbol.toUpperCase());
    if (held === undefined) return undefined;
    if (ending !== "flipped") return "another";
    return held.node.incarnation.startsWith("long") ? "long" : "short";
  }

  /** True if anything of an account was liquidated since a slot, and since a time, give or take what clocks differ by. */
  liquidatedSince(account: AccountRef, sinceMs: number, fromSlot: number): boolean {
    const newest = this.#liquidated.get(keyOf(accountName(account), null));
    return newest !== undefined && newest.slot >= fromSlot && newest.happenedMs >= sinceMs - clockSlackMs;
  }

  /** True if the exchange closed a position whole after a slot, as it said. */
  tookAllSince(account: AccountRef, symbol: string, side: string | null, slot: number): boolean {
    return [side, null].some((of) => {
      const newest = this.#liquidated.get(keyOf(accountName(account), symbol, of));
      return newest?.leftSome === false && newest.slot > slot;
    });
  }

  /** The newest of the account's own and of those that named only its wallet, which may have been the account's. */
  #newest(waiting: Waiting): Liquidated | undefined {
    let newest: Liquidated | undefined;
    for (const key of keysOf(waiting)) {
      const one = this.#liquidated.get(key);
      if (one && (newest === undefined || one.happenedMs > newest.happenedMs)) newest = one;
    }
    return newest;
  }

  /** A liquidation ended what stood when it happened and not after it; the clocks may differ a little. Null: none did. */
  #takingOf(waiting: Waiting): Taking | null {
    const newest = this.#newest(waiting);
    if (newest === undefined) return null;
    const { ending, profited, happenedMs, slot, leftSome } = newest;
    // A condition that held after a liquidation was ended by something else. A reading in its slot may be from before it.
    if (slot < waiting.fromSlot) return null;
    // Nor did one end what a state from before it shows as ended.
    if (waiting.goneSlot !== undefined && slot > waiting.goneSlot) return null;
    // So did a position of which it left a part, unless the last of it went the same way.
    const isGone = waiting.symbol !== null && waiting.fallback !== "recovered";
    if (isGone && !waiting.fills.taken && (leftSome ?? this.#isPart(waiting))) return null;
    // An alert about the rest of a position of which a part was closed at a profit has recovered by itself.
    if (profited && waiting.fallback === "recovered") return null;
    const { rule, subject } = waiting.live.alert;
    const toldMs = this.#toldMs.get(`${rule}\n${subject}`) ?? Number.NEGATIVE_INFINITY;
    const before = happenedMs <= waiting.goneMs + settledAfterMs;
    const itsOwn = before && happenedMs >= waiting.fromMs - clockSlackMs && happenedMs > toldMs;
    return itsOwn ? ending : null;
  }

  /** True if all that is known to be liquidated of a position since it was last seen is less than it was. */
  #isPart(waiting: Waiting): boolean {
    const { fromSlot, size } = waiting;
    if (size === undefined) return false;
    const known = keysOf(waiting)
      .flatMap((key) => this.#parts.get(key) ?? [])
      .filter((one) => one.slot >= fromSlot);
    // More than there was in a state of its slot was taken before that state.
    const parts = known.filter((one) => one.slot > fromSlot || one.size <= size * (1 + partsRoom));
    const sum = parts.reduce((total, part) => total + part.size, 0);
    return known.length > 0 && sum < size * (1 - partsRoom);
  }
}

/** True if nothing of it is still to be read: it is no recovery, or its figures are known, or will never be. */
function isReadable({ fallback, isUnread }: Waiting, nowMs: number): boolean {
  return fallback !== "recovered" || isUnread?.(nowMs) !== true;
}

/** The text of an ending. */
function wordsOf(waiting: Waiting): Pick<Waiting, "text" | "textAt" | "isUnread" | "before"> {
  const { text, textAt, isUnread, before } = waiting;
  return {
    text,
    ...(textAt ? { textAt } : {}),
    // A text that is known stays known, whatever the exchange answers after a reload.
    isUnread,
    ...(before === undefined ? {} : { before }),
  };
}

/** True if an event is a fill of the position whose end waits for word, since it was last seen. */
function concerns({ kind, happenedMs, ...of }: Event, waiting: Waiting): boolean {
  const { account, symbol, fallback, fromMs } = waiting;
  return (
    kind === "fill" &&
    (fallback === "closed" || fallback === "flipped") &&
    symbol !== null &&
    of.wallet === account.wallet &&
    of.pdaIndex === account.pdaIndex &&
    of.subaccount === account.subaccount &&
    of.symbol?.toUpperCase() === symbol.toUpperCase() &&
    happenedMs >= fromMs - readSlackMs
  );
}

/** The names of liquidations that may be of what it is about: of its account, or of no account that is named. */
function keysOf({ account, symbol, side }: Waiting): readonly string[] {
  const sides = symbol === null ? [null] : side === undefined ? [null, "long", "short"] : [null, side];
  return [accountName(account), account.wallet].flatMap((place) =>
    sides.map((one) => keyOf(place, symbol, one)),
  );
}

/**
 * @param place a wallet, or one account of it
 * @param side null: it has none, or nobody says
 */
function keyOf(place: string, symbol: string | null, side: string | null = null): string {
  return `${place} ${symbol?.toUpperCase() ?? ""} ${side ?? ""}`;
}
