/** The sessions of markets: one that differs from the session before is an event. */

import type { Event } from "../../domain/event.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Facts } from "../../domain/stored/facts.ts";
import type { FactValue } from "../../rules/index.ts";
import { sessionChange, sessionFact } from "../../state/markets/market-changes.ts";
import type { MarketEntry } from "../../state/markets/markets.ts";
import type { World } from "../../state/world.ts";

export class MarketSessions {
  readonly #world: World;
  readonly #facts: Facts;
  readonly #happened: (event: Event, builder: ChangesBuilder) => void;

  /**
   * @param facts the stored facts at the start
   * @param happened takes an event that is derived here
   */
  constructor(world: World, facts: Facts, happened: (event: Event, builder: ChangesBuilder) => void) {
    this.#world = world;
    this.#facts = facts;
    this.#happened = happened;
  }

  /** Records a session that differs from the one before. @param known the one before; undefined: not read since the start */
  changed(
    { symbol }: MarketEntry,
    known: FactValue | undefined,
    sessionState: string,
    builder: ChangesBuilder,
  ): void {
    const owner = this.#world.marketNode(symbol).name;
    const before = typeof known === "string" ? known : sessionFact.get(this.#facts, owner);
    if (before === sessionState) return;
    const { atMs } = builder;
    sessionFact.put(owner, sessionState, builder);
    if (before !== null) this.#happened(sessionChange(symbol, before, sessionState, atMs), builder);
  }
}
