/** The members of a rule's books: wallets that it selects, by the label that the books go by. */
import type { Subject } from "../../domain/subject.ts";
import { applies } from "../../evaluate/selection.ts";
import type { ConditionRule } from "../../rules/index.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { World } from "../../state/world.ts";

/** True if a wallet is part of a rule's book: symbols choose among what it holds. */
export function isMember(rule: ConditionRule, wallet: string, world: Pick<World, "wallet">): boolean {
  const { select, needsSession } = rule;
  const of = { select: { ...select, symbol: null }, needsSession };
  return applies(of, { wallet }, (name) => world.wallet(name));
}

export type BookSubject = Subject & { readonly scope: "book" };

export type Label = NonNullable<BookSubject["label"]>;

/** True if a wallet that is watched is part of this book of the rule. */
export function hasMembers(rule: ConditionRule, { label }: BookSubject, world: World): boolean {
  return [...world.wallets.keys()].some((name) => {
    const carries = label === undefined || world.wallet(name)?.labels[label.name] === label.value;
    return carries && isMember(rule, name, world);
  });
}

/** The members of each of a rule's books, with the label that they carry; null: it goes by none. */
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

/** The name of a book among all of them. */
export function nameOf({ name }: ConditionRule, label: Label | null): string {
  return label === null ? name : `${name}/${label.name}=${label.value}`;
}
