/**
 * Merges the state of one (wallet, PDA index) from polls and the stream, so that neither replaces a newer state: polls
 * return the whole at a slot, the stream sends a whole and then changes. The sequence of a subaccount is the watermark,
 * and the slot orders states with the same sequence.
 *
 *   poll, snapshot ─► whole  ─┐
 *                             ├─► subaccounts, the ones received now, and if another read is needed
 *   delta ──────────► change ─┘
 *
 * A lost change cannot be seen on the stream itself. Its signs are a change that does not fit (a closing of something
 * unknown, a position that grows older), which causes a read, and a poll with more than the stream sent, which is
 * counted. A gap in the sequence causes a read too; that message and all after it are held until a full snapshot or the
 * missing message fills the gap: merged without it they would give a state that never existed.
 */
import type { SubaccountSnapshot, TraderStateMessage } from "../../contract/index.ts";
import { HeldMessages } from "./held-messages.ts";
import { type AnswerSlots, IMPOSSIBLE_SLOT, LedgerSlots } from "./ledger-slots.ts";
import { applied, emptySubaccount } from "./trader-delta.ts";

/** The known state, if something in it is new. */
export interface Mirrored {
  readonly slot: number;
  readonly slotIndex: number;
  readonly subaccounts: readonly SubaccountSnapshot[];
  /** Indices of the received subaccounts; null: all of them, and there are no others. */
  readonly received: readonly number[] | null;
  /** True if they contain everything up to this place of the slot, and nothing after it: one answer covers them all. */
  readonly exact: boolean;
}

export interface Taken {
  /** Null: nothing is new. */
  readonly mirrored: Mirrored | null;
  /** The reason to read over HTTP; null: no reason. */
  readonly doubt: string | null;
  /** Number of changes that the stream should have sent and did not. */
  readonly missed: number;
}

interface Known {
  row: SubaccountSnapshot;
  /** The slot of this state. */
  slot: number;
  /** The time of its last stream message, monotonic ms. */
  streamedMs: number;
  /** Snapshots in a row that are newer by slot and older by sequence. */
  regressions: number;
  /** Sequence known only from a poll; null: none. */
  polledSequence: number | null;
}

interface Whole {
  readonly slot: number;
  readonly slotIndex: number | null;
  readonly rows: readonly SubaccountSnapshot[];
  /** A poll beside the stream, a poll without it, the stream itself. */
  readonly from: "polled" | "alone" | "streamed";
  /** Stream messages since then count as received with this, if newer; monotonic ms. */
  readonly streamedSinceMs: number;
  readonly atMs: number;
}

/** Maximum age of HTTP answers in normal operation, ms. */
const maxAnswerAgeMs = 5_000;
/** Age, nearly a minute, from which an answer confirms no newer state of the stream, slots. */
const maxAnswerAgeSlots = 100;
/** Number of snapshots in a row with an older sequence after which the sequence counts as restarted. */
const regressionsToAccept = 2;

const sequenceGap = "a sequence that jumps";
const nothingNew: Taken = { mirrored: null, doubt: null, missed: 0 };

function holdsAnything({ positions, collateral, spotCollaterals }: SubaccountSnapshot): boolean {
  return positions.length > 0 || collateral !== 0n || spotCollaterals.some(({ balance }) => balance !== 0n);
}

export class TraderMirror {
  readonly #known = new Map<number, Known>();
  #slot = 0;
  #slotIndex = 0;
  #whole = false;
  readonly #held = new HeldMessages();
  /** By the polls. */
  readonly #slots = new LedgerSlots();
  readonly #answers: AnswerSlots = { doubtedSlot: null };
  /** The time of the newest poll's request, monotonic ms; null: none. */
  #askedMs: number | null = null;

  /**
   * Takes an answer over HTTP. It may be slightly behind the stream, so a subaccount for which the stream sent more
   * since the previous request counts as received: a constantly changing one would otherwise never be seen whole. An
   * impossible slot is rejected, unless the next answer continues from it.
   * @param times of request and answer, monotonic ms
   * @param streaming true if the stream covered these accounts since the previous poll
   */
  takePoll(
    answer: { readonly slot: number; readonly slotIndex: number },
    rows: readonly SubaccountSnapshot[],
    times: { readonly askedMs: number; readonly atMs: number },
    streaming: boolean,
  ): Taken {
    const { askedMs, atMs } = times;
    if (!this.#slots.take(answer.slot, atMs, this.#answers)) return { ...nothingNew, doubt: IMPOSSIBLE_SLOT };
    const streamedSinceMs = Math.min(this.#askedMs ?? askedMs, askedMs - maxAnswerAgeMs);
    this.#askedMs = askedMs;
    return this.#takeWhole({ ...answer, rows, from: streaming ? "polled" : "alone", streamedSinceMs, atMs });
  }

  takeMessage(message: TraderStateMessage, atMs: number): Taken {
    if (!this.#slots.possible(message.slot, atMs)) return { ...nothingNew, doubt: IMPOSSIBLE_SLOT };
    if (message.messageType === "snapshot") {
      if (message.subaccounts === null) return { ...nothingNew, doubt: "a snapshot without subaccounts" };
      const state = message.capabilities?.state;
      // A lost list must not look like closed positions: polls decide if there is nothing.
      const empty = message.subaccounts.length === 0 && state !== "cold" && state !== "uninitialized";
      if (empty && (!this.#whole || [...this.#known.values()].some(({ row }) => holdsAnything(row))))
        return { ...nothingNew, doubt: "an empty snapshot of an account that is not cold" };
      const { slot, subaccounts: rows } = message;
      return this.#takeWhole({
        slot,
        slotIndex: null,
        rows,
        from: "streamed",
        streamedSinceMs: Number.POSITIVE_INFINITY,
        atMs,
      });
    }
    if (message.messageType !== "delta") return { ...nothingNew, doubt: "a message of an unknown kind" };
    if (!this.#whole) return { ...nothingNew, doubt: "a change before the whole" };
    return this.#takeDeltas(message, atMs);
  }

  /** True if stream messages are held because an earlier one is missing. */
  get holding(): boolean {
    return this.#held.any;
  }

  /** Returns the whole known state. */
  now(): Omit<Mirrored, "received" | "exact"> {
    return this.#mirrored(null);
  }

  /** The connection was lost: data known only from polls is not counted as missed. */
  lost(): void {
    for (const known of this.#known.values()) known.polledSequence = null;
  }

  #takeWhole(whole: Whole): Taken {
    const { slot, rows } = whole;
    const received: number[] = [];
    const listed = new Set<number>();
    let exact = whole.slotIndex !== null;
    let changed = false;
    let kept = 0;
    let missed = 0;
    let doubt: string | null = null;
    const keep = (index: number, known: Known) => {
      exact = false;
      if (known.streamedMs >= whole.streamedSinceMs && slot >= known.slot - maxAnswerAgeSlots)
        received.push(index);
      else kept++;
    };
    for (const row of rows) {
      const index = row.subaccountIndex;
      listed.add(index);
      const known = this.#known.get(index);
      if (known && !this.#supersedes(row, slot, known)) {
        if (slot > known.slot) doubt = "a sequence that went back";
        keep(index, known);
        continue;
      }
      const isAhead = known !== undefined && whole.from === "polled" && row.sequence > known.row.sequence;
      // The stream has not sent the change that the previous poll contained.
      if (known?.polledSequence != null && whole.from === "polled") missed++;
      this.#known.set(index, {
        row,
        slot: Math.max(slot, known?.slot ?? 0),
        streamedMs: whole.from === "streamed" ? whole.atMs : (known?.streamedMs ?? Number.NEGATIVE_INFINITY),
        regressions: 0,
        polledSequence: isAhead ? row.sequence : null,
      });
      received.push(index);
      changed = true;
    }
    for (const [index, known] of [...this.#known]) {
      if (listed.has(index)) continue;
      if (slot <= known.slot) {
        keep(index, known);
        continue;
      }
      this.#known.delete(index);
      changed = true;
    }
    this.#whole = true;
    const released = this.#release(slot, whole.atMs);
    received.push(...released.received.filter((index) => !received.includes(index)));
    changed ||= released.received.length > 0;
    exact &&= released.received.length === 0;
    doubt ??= released.doubt;
    if (kept > 0 && !changed) return { mirrored: null, doubt, missed };
    this.#moveTo(slot, whole.slotIndex);
    exact &&= this.#slot === slot && this.#slotIndex === whole.slotIndex;
    return { mirrored: this.#mirrored(kept === 0 ? null : received, exact), doubt, missed };
  }

  /** Returns true if a row of a snapshot replaces the known state. */
  #supersedes(row: SubaccountSnapshot, slot: number, known: Known): boolean {
    if (row.sequence > known.row.sequence) return true;
    if (row.sequence === known.row.sequence) return slot >= known.slot;
    return slot > known.slot && ++known.regressions >= regressionsToAccept;
  }

  #takeDeltas(message: TraderStateMessage, atMs: number): Taken {
    this.#held.add(message, atMs);
    return this.takeOverdue(atMs);
  }

  /** Takes messages that follow the known state, and those held for the maximum time. */
  takeOverdue(atMs: number): Taken {
    const { received, doubt } = this.#release(Number.NEGATIVE_INFINITY, atMs);
    return { mirrored: received.length > 0 ? this.#mirrored(received) : null, doubt, missed: 0 };
  }

  /**
   * Applies the held messages that follow the known state.
   * @param coveredSlot of the snapshot that was just taken
   * @returns the indices that changed
   */
  #release(
    coveredSlot: number,
    nowMs: number,
  ): { readonly received: number[]; readonly doubt: string | null } {
    const received: number[] = [];
    let doubt: string | null = null;
    const follows = ({ deltas }: TraderStateMessage) =>
      deltas.every((one) => one.sequence <= this.#sequenceOf(one.subaccountIndex) + 1);
    for (;;) {
      const held = this.#held.next(follows, coveredSlot, nowMs);
      if (held === null) break;
      const { message, atMs } = held;
      for (const delta of message.deltas) {
        const index = delta.subaccountIndex;
        const known = this.#known.get(index);
        if (known && known.polledSequence !== null && delta.sequence >= known.polledSequence)
          known.polledSequence = null;
        // Received before, twice, or in another order: the known state is as new.
        if (delta.sequence <= this.#sequenceOf(index)) continue;
        const { row, misfit } = applied(known?.row ?? emptySubaccount(index), delta);
        doubt ??= misfit;
        this.#known.set(index, {
          row,
          slot: Math.max(message.slot, known?.slot ?? 0),
          streamedMs: atMs,
          regressions: 0,
          polledSequence: known?.polledSequence ?? null,
        });
        if (!received.includes(index)) received.push(index);
        this.#moveTo(message.slot, null);
      }
    }
    if (this.#held.any) doubt ??= sequenceGap;
    return { received, doubt };
  }

  #sequenceOf(subaccountIndex: number): number {
    return this.#known.get(subaccountIndex)?.row.sequence ?? 0;
  }

  #moveTo(slot: number, slotIndex: number | null): void {
    if (slot < this.#slot) return;
    this.#slotIndex =
      slot === this.#slot ? Math.max(this.#slotIndex, slotIndex ?? 0) : Math.max(0, slotIndex ?? 0);
    this.#slot = slot;
  }

  #mirrored(received: readonly number[] | null, exact = false): Mirrored {
    return {
      slot: this.#slot,
      slotIndex: this.#slotIndex,
      subaccounts: [...this.#known.values()].map((known) => known.row),
      received,
      exact,
    };
  }
}
