/** An account and its positions, with all that is known of them. */

import type { PositionState, SubaccountState, TraderViewState } from "../../domain/account.ts";
import type { Observation } from "../../domain/observation.ts";
import type { FewMap } from "../../domain/structures/few-map.ts";
import type { AccountRef } from "../../domain/subject.ts";
import type { SubjectNode } from "../subjects.ts";
import type { RiskInput } from "./account-facts.ts";

export interface PositionEntry {
  state: PositionState;
  readonly node: SubjectNode;
  /** Distance to liquidation at the last reading of the account, a fraction, and mark then, USD; NaN: not known. */
  readDistance: number;
  readMark: number;
  /** The least distance at any assessment since then, a fraction; NaN: not known. */
  leastDistance: number;
}

/**
 * By symbol: identity and size of a position, in base lots and in units. Units are absent if the market was not known, and in
 * databases of earlier versions.
 */
export type Held = Readonly<Record<string, readonly [incarnation: string, size: string, units?: number]>>;

export interface AccountEntry {
  readonly ref: AccountRef;
  readonly name: string;
  readonly node: SubjectNode;
  state: SubaccountState;
  readonly risk: RiskInput;
  /** The account's rights at the last reading. Accounts with equal rights share one object. */
  rights: SubaccountState["capabilities"] | null;
  /** True if its sums were known when it was last assessed. */
  assessed: boolean;
  /** Symbols of its positions and `otherMarkets`; set by MarketIndex. */
  markets: readonly string[];
  /** Its index in `Accounts.all()`. */
  place: number;
  readonly positions: FewMap<string, PositionEntry>;
  seenMs: number;
  /** Slot of the newest state that contained it; 0: none did. */
  slot: number;
  /** Slot of a state from before the last stop that showed its holdings then; 0: not known. */
  slotBefore: number;
  /** Holdings until the last stop, if they shrank or closed by the first reading after it; null: unchanged, or not known. */
  heldBefore: Held | null;
  /** The time at which one of its positions last shrank or closed, ms; 0: never, as far as is known. */
  shrunkAtMs: number;
  /** Slot of the first state since the start that showed its positions in their present sizes; 0: not known. */
  sizesSlot: number;
  /** Its holdings changed since they were stored. */
  moved: boolean;
  /** Funding that is not settled changed since they were stored. */
  accrued: boolean;
  /** The time at which its holdings were last stored, ms; 0: not since the start. */
  keptMs: number;
  /** Its deposited collateral in recent states, oldest first. */
  collaterals: readonly { readonly slot: number; readonly index: number | undefined; readonly usd: number }[];
  /** The placement time of each of its orders, if known, ms. */
  readonly placedMs: FewMap<string, number>;
  /** Markets that its figures depend on besides those of its positions: of resting orders and of spot collateral. */
  otherMarkets: readonly string[];
  view: { readonly atMs: number; readonly view: TraderViewState } | null;
  /** Its figures are injected: there is no state to compute them from. */
  readonly injected: boolean;
}

export type AccountsSeen = Observation & { readonly kind: "accounts" };

/** The successor of a position that disappeared: none, another one of the same side, or one of the other side. */
export type Successor = "closed" | "reopened" | "flipped";
