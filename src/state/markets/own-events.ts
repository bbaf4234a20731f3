/** Events that no record states: they are derived from the difference between two answers. Their keys contain the time. */
import { z } from "zod";
import type { Capability } from "../../domain/account.ts";
import type { Event, EventKind, FieldValue } from "../../domain/event.ts";
import { FactKind } from "../../domain/stored/facts.ts";
import { type AccountRef, accountName } from "../../domain/subject.ts";

const statusForm = z.object({ active: z.boolean(), gated: z.boolean(), withdrawalsAvailable: z.boolean() });
type StatusSeen = Readonly<z.infer<typeof statusForm>>;

/** The exchange's status. Its owner is `exchange`. */
export const statusFact = new FactKind("status", statusForm);

/** @returns the change, `"first"` for the first answer, or null if nothing changed */
export function statusChange(
  before: Partial<StatusSeen>,
  seen: StatusSeen,
  atMs: number,
): Event | "first" | null {
  if (before.active === undefined) return "first";
  const same =
    before.active === seen.active &&
    before.gated === seen.gated &&
    before.withdrawalsAvailable === seen.withdrawalsAvailable;
  if (same) return null;
  return own("exchangeStatus", `${atMs}`, null, atMs, {
    active: seen.active,
    gated: seen.gated,
    withdrawalsAvailable: seen.withdrawalsAvailable,
    wasActive: before.active === true,
    wasGated: before.gated === true,
    wereWithdrawalsAvailable: before.withdrawalsAvailable === true,
  });
}

/** The rights of an account, as they are stored and reported: `yes`, `no`, or only after being made active again. */
export function rightsOf(
  capabilities: Readonly<Record<string, Capability>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(capabilities).map(([name, { immediate, viaColdActivation }]) => [
      name,
      immediate ? "yes" : viaColdActivation ? "viaActivation" : "no",
    ]),
  );
}

/** Events for the rights that an account lost or gained, one for each. @param before, after as returned by `rightsOf` */
export function rightChanges(
  account: AccountRef,
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
  atMs: number,
): readonly Event[] {
  return Object.entries(after).flatMap(([field, is]) => {
    const was = before[field];
    if (was === undefined || was === is) return [];
    const key = `${accountName(account)}:${field}:${atMs}`;
    return [{ ...own("capability", key, null, atMs, { field, before: was, after: is }), ...account }];
  });
}

export function own(
  kind: EventKind,
  key: string,
  symbol: string | null,
  atMs: number,
  fields: Record<string, FieldValue>,
): Event {
  return {
    kind,
    key,
    wallet: null,
    pdaIndex: null,
    subaccount: null,
    symbol,
    happenedMs: atMs,
    seenMs: atMs,
    slot: 0,
    slotIndex: 0,
    eventIndex: 0,
    fields,
    data: null,
    backfilled: false,
    inbox: null,
    notificationKey: null,
  };
}
