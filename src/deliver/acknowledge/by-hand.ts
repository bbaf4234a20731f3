/** Acknowledgements by people: keys of notifications, sorted by inbox. */
import type { InboxItem } from "../../domain/event.ts";
import type { Store } from "../../domain/ports.ts";

/** The result of an acknowledgement by a person, by keys of notifications. */
export interface ManualAcknowledgement {
  readonly confirmed: readonly string[];
  /** Recorded as confirmed earlier. */
  readonly already: readonly string[];
  /** Not in this wallet's history. */
  readonly unknown: readonly string[];
  readonly failed: readonly { readonly key: string; readonly detail: string }[];
}

export interface SortedByInbox {
  readonly already: readonly string[];
  readonly unknown: readonly string[];
  /** By the trader account's address. */
  readonly accounts: ReadonlyMap<
    string,
    readonly { readonly key: string; readonly item: InboxItem["item"] }[]
  >;
}

export async function sortByInbox(
  wallet: string,
  keys: readonly string[],
  store: Pick<Store, "eventByKey">,
  isConfirmed: (key: string) => boolean,
): Promise<SortedByInbox> {
  const already: string[] = [];
  const unknown: string[] = [];
  const accounts = new Map<string, { key: string; item: InboxItem["item"] }[]>();
  for (const key of new Set(keys)) {
    if (isConfirmed(key)) {
      already.push(key);
      continue;
    }
    const event = await store.eventByKey("notification", key);
    if (!event?.inbox || event.wallet !== wallet) {
      unknown.push(key);
      continue;
    }
    const { traderPubkey, item } = event.inbox;
    accounts.set(traderPubkey, [...(accounts.get(traderPubkey) ?? []), { key, item }]);
  }
  return { already, unknown, accounts };
}
