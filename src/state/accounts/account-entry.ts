/** An account and its positions, as they are known now. */

import type { PositionState, SubaccountState, TraderViewState } from "../../domain/account.ts";
import type { FewMap } from "../../domain/few-map.ts";
import type { Observation } from "../../domain/observation.ts";
import type { AccountRef } from "../../domain/subject.ts";
import type { SubjectNode } from "../subjects.ts";
import type { RiskRoom } from "./account-facts.ts";

export interface PositionEntry {
  state: PositionState;
  readonly node: SubjectNode;
  /** Distance to liquidation and mark as of the last reading of the account, a fraction and USD; NaN: not known. */
  readDistance: number;
  readMark: number;
  /** The least distance of any assessment since then, a fraction; NaN as above. */
  leastDistance: number;
}

/**
 * By symbol: which position it is, and how large, in base lots and in units. Units are absent where the market was not known, and in
 * databases of earlier versions.
 */
export type Held = Readonly<Record<string, readonly [incarnation: string, size: string, units?: number]>>;

export interface AccountEntry {
  readonly ref: AccountRef;
  readonly name: string;
  readonly node: SubjectNode;
  state: SubaccountState;
  readonly risk: RiskRoom;
  /** The account's rights at the last look: accounts that may do the same share one object, answer after answer. */
  rights: SubaccountState["capabilities"] | null;
  /** True if its sums were known when it was last assessed. */
  assessed: boolean;
  /** Symbols of its positions and `otherMarkets`; written by MarketIndex. */
  markets: readonly string[];
  /** Its place in `Accounts.all()`. */
  place: number;
  readonly positions: FewMap<string, PositionEntry>;
  seenMs: number;
  /** Slot of the newest state that told of it; 0: none did. */
  slot: number;
  /** Slot of a state before the last stop that showed what it held then; 0: not known. */
  slotBefore: number;
  /** Holdings until the last stop, where they shrank or went by the first sight after it; null: nothing did, or nobody knows. */
  heldBefore: Held | null;
  /** The time at which a position of it last shrank or closed, ms; 0: never, as far as we know. */
  shrunkAtMs: number;
  /** Slot of the first state since the start that showed its positions in their present sizes; 0: not known. */
  sizesSlot: number;
  /** Its holdings changed since they were kept. */
  moved: boolean;
  /** Funding that is not settled changed since they were kept. */
  accrued: boolean;
  /** The time at which its holdings were kept last, ms; 0: they were not since the start. */
  keptMs: number;
  /** Its deposited collateral as it changed lately, oldest first. */
  collaterals: readonly { readonly slot: number; readonly index: number | undefined; readonly usd: number }[];
  /** The placement time of each of its orders, where known, ms. */
  readonly placedMs: FewMap<string, number>;
  /** Markets beside those of its positions that its figures depend on: of resting orders and of spot collateral. */
  otherMarkets: readonly string[];
  view: { readonly atMs: number; readonly view: TraderViewState } | null;
  /** Its figures are told as such (see figures.ts): there is nothing to compute them from. */
  readonly injected: boolean;
}

export type AccountsSeen = Observation & { readonly kind: "accounts" };

/** The outcome of a position: nothing stands there now, another one of the same side, or one of the other. */
export type Parting = "closed" | "reopened" | "flipped";
