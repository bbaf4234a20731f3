/** Creates an account without a state. */

import type { SubaccountState } from "../../domain/account.ts";
import { FewMap } from "../../domain/structures/few-map.ts";
import type { AccountRef } from "../../domain/subject.ts";
import type { SubjectNode } from "../subjects.ts";
import type { AccountEntry } from "./account-entry.ts";
import { RiskInput } from "./account-facts.ts";

/** Shared by most accounts. */
export const noMarkets: readonly string[] = [];
const noCollaterals: AccountEntry["collaterals"] = [];

/** @param injected true: its figures are injected */
export function newAccount(
  ref: AccountRef,
  node: SubjectNode,
  state: SubaccountState,
  { seenMs, slot, injected }: { readonly seenMs: number; readonly slot: number; readonly injected: boolean },
): AccountEntry {
  const account: AccountEntry = {
    ref,
    name: node.name,
    node,
    state,
    risk: new RiskInput(),
    rights: null,
    assessed: injected,
    markets: noMarkets,
    place: 0,
    positions: new FewMap(),
    seenMs,
    slot: 0,
    slotBefore: 0,
    heldBefore: null,
    shrunkAtMs: 0,
    sizesSlot: slot,
    moved: !injected,
    accrued: false,
    keptMs: 0,
    collaterals: noCollaterals,
    placedMs: new FewMap(),
    otherMarkets: noMarkets,
    view: null,
    injected,
  };
  account.risk.take(state);
  return account;
}
