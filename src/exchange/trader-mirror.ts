/**
 * The state of one (wallet, PDA index) from both ways to the exchange, so that neither ever moves it back: polls bring the
 * whole at a slot, the stream brings a whole and then changes. The sequence of a subaccount is the watermark, and the slot
 * orders what has the same.
 *
 *   poll, snapshot ─► whole  ─┐
 *                             ├─► subaccounts, which of them were told of just now, and whether to look again
 *   delta ──────────► change ─┘
 *
 * A lost change is invisible on the stream. It shows as a change that does not fit (a closing of something unknown, a
 * position that grows older), which is a reason to look, and as a poll that knows more than the stream ever told, which is
 * counted. A sequence that jumps is a reason to look, too; that message and all after it are held until a whole answer or
 * the missing message has filled the hole: merged over it they would be a state that never was.
 */
import type { SubaccountSnapshot, TraderStateMessage } from "../contract/index.ts";
import { HeldMessages } from "./held-messages.ts";
import { type AnswerSlots, IMPOSSIBLE_SLOT, LedgerSlots } from "./ledger-slots.ts";
import { applied, emptySubaccount } from "./trader-delta.ts";

/** The known state, when something of it is new. */
export interface Mirrored {
  readonly slot: number;
  readonly slotIndex: number;
  readonly subaccounts: readonly SubaccountSnapshot[];
  /** Indices of the subaccounts that were told of; null: all of them, and that there are no others. */
  readonly told: readonly number[] | null;
  /** True if they contain all that happened up to this place of the slot, and nothing after it: one answer tells of them all. */
  readonly exact: boolean;
}

export interface Taken {
  /** Null: nothing of it is new. */
  readonly mirrored: Mirrored | null;
  /** The reason to read over HTTP; null: no reason. */
  readonly doubt: string | null;
  /** Changes that the stream should have told and did not. */
  readonly missed: number;
}

interface Known {
  row: SubaccountSnapshot;
  /** At which it was so. */
  slot: number;
  /** The time of its last stream message, monotonic ms. */
  toldMs: number;
  /** Whole answers in a row that are newer by slot and older by sequence. */
  anew: number;
  /** Sequence that only a poll told so far; null: none. */
  ahead: number | null;
}

interface Whole {
  readonly slot: number;
  readonly slotIndex: number | null;
  readonly rows: readonly SubaccountSnapshot[];
  /** A poll beside the stream, a poll without it, the stream itself. */
  readonly from: "polled" | "alone" | "told";
  /** Stream messages since then count as received by this, where it is newer; monotonic ms. */
  readonly toldSinceMs: number;
  readonly atMs: number;
}

/** Answers over HTTP may be of so long ago although all is well, ms. */
const BEHIND_MS = 5_000;
/** An answer of longer ago, nearly a minute, proves nothing, whatever the stream tells. */
const BEHIND_SLOTS = 100;
/** An exchange that counts from the start again is believed when it says so twice. */
const BELIEVED = 2;

const JUMP = "a sequence that jumps";
const NOTHING: Taken = { mirrored: null, doubt: null, missed: 0 };

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
  /** The time at which the newest poll was asked, monotonic ms; null: there was none. */
  #askedMs: number | null = null;

  /**
   * An answer over HTTP. It may be a little behind the stream, so a subaccount of which the stream told more since the
   * question before this one counts as told of by it: one that changes all the time would never be seen whole otherwise.
   * An impossible slot is not taken, unless the next answer goes on from it.
   * @param times when it was asked and answered, monotonic ms
   * @param streaming whether the stream was to tell of these accounts all the while since the poll before
   */
  takePoll(
    answer: { readonly slot: number; readonly slotIndex: number },
    rows: readonly SubaccountSnapshot[],
    times: { readonly askedMs: number; readonly atMs: number },
    streaming: boolean,
  ): Taken {
    const { askedMs, atMs } = times;
    if (!this.#slots.take(answer.slot, atMs, this.#answers)) return { ...NOTHING, doubt: IMPOSSIBLE_SLOT };
    const toldSinceMs = Math.min(this.#askedMs ?? askedMs, askedMs - BEHIND_MS);
    this.#askedMs = askedMs;
    return this.#takeWhole({ ...answer, rows, from: streaming ? "polled" : "alone", toldSinceMs, atMs });
  }

  takeMessage(message: TraderStateMessage, atMs: number): Taken {
    if (!this.#slots.possible(message.slot, atMs)) return { ...NOTHING, doubt: IMPOSSIBLE_SLOT };
    if (message.messageType === "snapshot") {
      if (message.subaccounts === null) return { ...NOTHING, doubt: "a snapshot without subaccounts" };
      const state = message.capabilities?.state;
      // A list that got lost must not read as positions that are gone: polls decide whether there is nothing.
      const empty = message.subaccounts.length === 0 && state !== "cold" && state !== "uninitialized";
      if (empty && (!this.#whole || [...this.#known.values()].some(({ row }) => holdsAnything(row))))
        return { ...NOTHING, doubt: "an empty snapshot of an account that is not cold" };
      const { slot, subaccounts: rows } = message;
      return this.#takeWhole({
        slot,
        slotIndex: null,
        rows,
        from: "told",
        toldSinceMs: Number.POSITIVE_INFINITY,
        atMs,
      });
    }
    if (message.messageType !== "delta") return { ...NOTHING, doubt: "a message of an unknown kind" };
    if (!this.#whole) return { ...NOTHING, doubt: "a change before the whole" };
    return this.#takeDeltas(message, atMs);
  }

  /** True if stream messages are held because one before them is missing. */
  get holding(): boolean {
    return this.#held.any;
  }

  /** Everything as it is known. */
  now(): Omit<Mirrored, "told" | "exact"> {
    return this.#mirrored(null);
  }

  /** The connection was lost: what only polls told is nobody's fault. */
  lost(): void {
    for (const known of this.#known.values()) known.ahead = null;
  }

  #takeWhole(whole: Whole): Taken {
    const { slot, rows } = whole;
    const told: number[] = [];
    const listed = new Set<number>();
    let exact = whole.slotIndex !== null;
    let changed = false;
    let kept = 0;
    let missed = 0;
    let doubt: string | null = null;
    const keep = (index: number, known: Known) => {
      exact = false;
      if (known.toldMs >= whole.toldSinceMs && slot >= known.slot - BEHIND_SLOTS) told.push(index);
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
      const ahead = known !== undefined && whole.from === "polled" && row.sequence > known.row.sequence;
      // What only the last poll told, the stream has not told since.
      if (known?.ahead != null && whole.from === "polled") missed++;
      this.#known.set(index, {
        row,
        slot: Math.max(slot, known?.slot ?? 0),
        toldMs: whole.from === "told" ? whole.atMs : (known?.toldMs ?? Number.NEGATIVE_INFINITY),
        anew: 0,
        ahead: ahead ? row.sequence : null,
      });
      told.push(index);
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
    told.push(...released.told.filter((index) => !told.includes(index)));
    changed ||= released.told.length > 0;
    exact &&= released.told.length === 0;
    doubt ??= released.doubt;
    if (kept > 0 && !changed) return { mirrored: null, doubt, missed };
    this.#moveTo(slot, whole.slotIndex);
    exact &&= this.#slot === slot && this.#slotIndex === whole.slotIndex;
    return { mirrored: this.#mirrored(kept === 0 ? null : told, exact), doubt, missed };
  }

  /** True if a row of a whole answer replaces what is known. */
  #supersedes(row: SubaccountSnapshot, slot: number, known: Known): boolean {
    if (row.sequence > known.row.sequence) return true;
    if (row.sequence === known.row.sequence) return slot >= known.slot;
    return slot > known.slot && ++known.anew >= BELIEVED;
  }

  #takeDeltas(message: TraderStateMessage, atMs: number): Taken {
    this.#held.add(message, atMs);
    return this.takeOverdue(atMs);
  }

  /** Takes messages that follow on from what is known, and those that were held for long. */
  takeOverdue(atMs: number): Taken {
    const { told, doubt } = this.#release(Number.NEGATIVE_INFINITY, atMs);
    return { mirrored: told.length > 0 ? this.#mirrored(told) : null, doubt, missed: 0 };
  }

  /**
   * Applies the held messages that follow on from what is known.
   * @param coveredSlot of the whole answer that was just taken
   * @returns the indices that changed
   */
  #release(coveredSlot: number, nowMs: number): { readonly told: number[]; readonly doubt: string | null } {
    const told: number[] = [];
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
        if (known && known.ahead !== null && delta.sequence >= known.ahead) known.ahead = null;
        // Told before, told twice, or told in another order: what is known is as new.
        if (delta.sequence <= this.#sequenceOf(index)) continue;
        const { row, misfit } = applied(known?.row ?? emptySubaccount(index), delta);
        doubt ??= misfit;
        this.#known.set(index, {
          row,
          slot: Math.max(message.slot, known?.slot ?? 0),
          toldMs: atMs,
          anew: 0,
          ahead: known?.ahead ?? null,
        });
        if (!told.includes(index)) told.push(index);
        this.#moveTo(message.slot, null);
      }
    }
    if (this.#held.any) doubt ??= JUMP;
    return { told, doubt };
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

  #mirrored(told: readonly number[] | null, exact = false): Mirrored {
    return {
      slot: this.#slot,
      slotIndex: this.#slotIndex,
      subaccounts: [...this.#known.values()].map((known) => known.row),
      told,
      exact,
    };
  }
}
