/** The description of an alert with its limit and with advice. */
import { type Advice, type AlertChange, adviceIn } from "../../domain/alerts/alert.ts";
import type { MessageItem } from "../../domain/alerts/delivery.ts";
import { clean, cleanLine, ownLine } from "./text.ts";

/** Advice that its block shows: what to do is said while there is something to do, and where no words of the user's stand. */
export function adviceOf({ change, passed, body }: MessageItem): readonly Advice[] {
  return change.kind === "ended" || passed || body !== undefined ? [] : adviceIn(change);
}

/** The advice that each item shows: about each account the newest, once, where advice about it stands first. */
export function adviceOnce(items: readonly MessageItem[]): readonly (readonly Advice[])[] {
  const newest = new Map<string, { readonly atMs: number; readonly one: Advice }>();
  for (const item of items)
    for (const one of adviceOf(item)) {
      const { atMs } = item.change;
      const found = newest.get(one.account);
      if (found === undefined || atMs > found.atMs) newest.set(one.account, { atMs, one });
    }
  return items.map((item) =>
    adviceOf(item).flatMap(({ account }) => {
      const found = newest.get(account);
      newest.delete(account);
      return found ? [found.one] : [];
    }),
  );
}

/**
 * First the value and its limit, then what to do, then the rest. Amounts that clear an account are what to do now: of the rule's own
 * words for that (`Now: …`, at the end of its description) those that ask for collateral say no more than the amounts.
 * @param hasAmounts the message says what clears the account, here or with another alert
 */
export function descriptionOf(
  { alert, limit }: AlertChange,
  advice: readonly Advice[],
  hasAmounts: boolean,
): string {
  const text = told(clean(alert.description).trim());
  const at = /(?:^|\s)Now: (?!.*\sNow: )/s.exec(text)?.index ?? text.length;
  const now = text.slice(at).trim();
  const first = advice.findIndex(({ clears }) => clears === true);
  const lines = [
    limit === undefined || limit === "" ? "" : `Value ${ownLine(limit)}.`,
    ...advice
      .map(({ line }) => cleanLine(line))
      .map((line, index) =>
        index === first ? `Now: ${line.slice(0, 1).toLowerCase()}${line.slice(1)}` : line,
      ),
    hasAmounts ? besideAmounts(now) : now,
    text.slice(0, at).trim(),
  ];
  return lines.filter((line) => line !== "").join("\n");
}

/** The words of a rule that stand below amounts: without a first clause that asks for collateral, unless it has a figure of its own. */
function besideAmounts(now: string): string {
  const text = now.replace(/^Now:\s+/, "");
  const [clause = ""] = /^.*?(?:[;.](?=\s|$)|$)/s.exec(text) ?? [];
  const isSaid = /^(?:add collateral|deposit)\b[^$]*$/.test(clause);
  const rest = isSaid ? text.slice(clause.length).trim() : text;
  return rest.slice(0, 1).toUpperCase() + rest.slice(1);
}

/** A description of nothing but dashes, where a rule prints what was not told, is none. */
export function told(description: string): string {
  return /^[–\s]*$/.test(description) ? "" : description;
}
