/**
 * Since when each position has been open. One that appears while we watch was opened then, until the fill that opened it is
 * known; of one that was there before, only its fills tell.
 */

import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { Event } from "../../domain/event.ts";
import { subjectName } from "../../domain/subject.ts";
import { factName } from "../fact-name.ts";
import type { SubjectNode } from "../subjects.ts";

const fact = "opened";
/** The time before its first sight within which a position that appeared between two answers may have been opened. */
const unseenMs = 600_000;

interface Opening {
  readonly atMs: number;
  readonly slot: number;
  readonly long: boolean;
}

interface Kept {
  /** The position's incarnation. */
  readonly name: string;
  readonly atMs: number;
}

export class Openings {
  readonly #last = new Map<string, Opening>();
  readonly #facts: ReadonlyMap<string, string>;

  /** @param facts as history had them at the start */
  constructor(facts: ReadonlyMap<string, string>) {
    this.#facts = facts;
  }

  /** Takes a fill. @returns the name of the position that it opened; null: it opened none, or a later one did again */
  note({ kind, data, wallet, pdaIndex, subaccount, symbol, slot, fields, happenedMs }: Event): string | null {
    if (kind !== "fill" || (data as { readonly opened?: boolean } | null)?.opened !== true) return null;
    if (wallet === null || pdaIndex === null || subaccount === null || symbol === null) return null;
    const name = subjectName({
      scope: "position",
      wallet,
      pdaIndex,
      subaccount,
      symbol: symbol.toUpperCase(),
    });
    if ((this.#last.get(name)?.slot ?? -1) > slot) return null;
    this.#last.set(name, { atMs: happenedMs, slot, long: fields.side === "bid" });
    return name;
  }

  /** A position appeared, and since when it is known was noted. */
  born(node: SubjectNode, slot: number, builder: ChangesBuilder): void {
    const text = node.first ? this.#facts.get(factName(node.name, fact)) : undefined;
    const kept = text === undefined ? null : (JSON.parse(text) as Kept);
    if (kept?.name === node.incarnation) node.openedMs = kept.atMs;
    // Found at a start, and not known from before: it was opened some time before that.
    else
      node.openedMs = node.bornMs === 0 || (node.first && node.bornMs === builder.atMs) ? null : node.bornMs;
    this.settle(node, slot, builder);
  }

  /** Holds a position against the fill that opened one of its name last. @param slot of the account's newest answer */
  settle(node: SubjectNode, slot: number, builder: ChangesBuilder): void {
    const opening = this.#last.get(node.name);
    if (!opening || opening.slot > slot || opening.long !== node.incarnation.startsWith("long")) return;
    if (opening.atMs === node.openedMs || (!node.first && opening.atMs < node.bornMs - unseenMs)) return;
    node.openedMs = opening.atMs;
    const kept: Kept = { name: node.incarnation, atMs: opening.atMs };
    builder.changes.facts.push({
      atMs: builder.atMs,
      owner: node.name,
      name: fact,
      value: JSON.stringify(kept),
    });
  }
}
