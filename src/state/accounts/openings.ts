/**
 * The time since which each position has been open. One that appears while the daemon runs was opened then, until the fill
 * that opened it is known; for one that existed before, only its fills give the time.
 */

import { z } from "zod";
import type { Event } from "../../domain/event.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { FactKind, type Facts } from "../../domain/stored/facts.ts";
import { subjectName } from "../../domain/subject.ts";
import type { SubjectNode } from "../subjects.ts";

/** Maximum time between the opening of a position and its first reading, if it appeared between two answers, ms. */
const unseenMs = 600_000;

interface Opening {
  readonly atMs: number;
  readonly slot: number;
  readonly long: boolean;
}

/** `name`: the position's incarnation. */
export const openedFact = new FactKind("opened", z.object({ name: z.string(), atMs: z.number() }));

export class Openings {
  readonly #last = new Map<string, Opening>();
  readonly #facts: Facts;

  /** @param facts stored facts as of the start */
  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** Takes a fill. @returns the name of the position that it opened; null: it opened none, or a later fill opened it again */
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

  /** Sets the opening time of a new position. */
  born(node: SubjectNode, slot: number, builder: ChangesBuilder): void {
    const kept = node.first ? openedFact.get(this.#facts, node.name) : null;
    if (kept?.name === node.incarnation) node.openedMs = kept.atMs;
    // Found at a start and not stored: it was opened some time before the start.
    else
      node.openedMs = node.bornMs === 0 || (node.first && node.bornMs === builder.atMs) ? null : node.bornMs;
    this.settle(node, slot, builder);
  }

  /** Compares a position with the fill that last opened one of its name. @param slot of the account's newest answer */
  settle(node: SubjectNode, slot: number, builder: ChangesBuilder): void {
    const opening = this.#last.get(node.name);
    if (!opening || opening.slot > slot || opening.long !== node.incarnation.startsWith("long")) return;
    if (opening.atMs === node.openedMs || (!node.first && opening.atMs < node.bornMs - unseenMs)) return;
    node.openedMs = opening.atMs;
    openedFact.put(node.name, { name: node.incarnation, atMs: opening.atMs }, builder);
  }
}
