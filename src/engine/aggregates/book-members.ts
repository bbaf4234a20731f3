/** The members of a rule's books: the wallets that it selects, grouped by the book label. */
import type { Subject } from "../../domain/subject.ts";
import { applies } from "../../evaluate/selection.ts";
import type { ConditionRule } from "../../rules/index.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { World } from "../../state/world.ts";

/** Returns true if a wallet is part of a rule's book: symbols select among its holdings. */
export function isMember(rule: ConditionRule, wallet: string, world: Pick<World, "wallet">): boolean {
  const { select, needsSession } = rule;
  const of = { select: { ...select, symbol: null }, needsSession };
  return applies(of, { wallet }, (name) => world.wallet(name));
}

export type BookSubject = Subject & { readonly scope: "book" };

export type Label = NonNullable<BookSubject["label"]>;

/** Returns true if a watched wallet is part of this book of the rule. */
export function hasMembers(rule: ConditionRule, { label }: BookSubject, world: World): boolean {
  return [...world.wallets.keys()].some((name) => {
    const carries = label === undefined || world.wallet(name)?.labels[label.name] === label.value;
    return carries && isMember(rule, name, world);
  });
}

/** Returns the members of each of a rule's books, with their label; null: books without a label. */
export function groupsOf(
  { by }: ConditionRule,
  members: readonly WatchedWallet[],
): readonly (readonly [Label | null, readonly WatchedWallet[]])[] {
  if (by === null || by === "market" || by === "none") return members.length === 0 ? [] : [[null, members]];
  const carrying = members.filter(({ labels }) => labels[by] !== undefined);
  return [...Map.groupBy(carrying, ({ labels }) => labels[by]!)].map(
    ([value, own]) => [{ name: by, value }, own] as const,
  );
}

/** Returns the unique name of a book. */
export function nameOf({ name }: ConditionRule, label: Label | null): string {
  return label === null ? name : `${name}/${label.name}=${label.value}`;
}
