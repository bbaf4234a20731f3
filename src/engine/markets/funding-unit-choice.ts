/** Decides the unit of the funding rates in the market statistics, and keeps it over restarts. */

import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import { factName } from "../../state/fact-name.ts";
import { TakenUnit } from "../../state/markets/funding-unit.ts";
import type { World } from "../../state/world.ts";

/** Name of the fact that keeps the unit of funding rates over restarts. */
const fundingUnitFact = "fundingUnit";

export class FundingUnitChoice {
  readonly #world: World;
  readonly #warn: (text: string) => void;
  readonly #takenUnit: TakenUnit;

  /**
   * @param facts as history had them at the start
   * @param before that of the watch which is replaced at a reload
   */
  constructor(
    world: World,
    facts: ReadonlyMap<string, string>,
    warn: (text: string) => void,
    before: FundingUnitChoice | undefined,
  ) {
    this.#world = world;
    this.#warn = warn;
    const keptUnit = facts.get(factName("exchange", fundingUnitFact));
    this.#takenUnit = before ? before.#takenUnit : new TakenUnit(keptUnit);
    world.markets.fundingUnit = this.#takenUnit.unit;
  }

  /** Decides the unit of the rates in the statistics, once enough markets can be compared, and reports it. */
  decide(builder: ChangesBuilder): void {
    const { markets } = this.#world;
    const found = markets.decideFundingUnit();
    if (!this.#takenUnit.compared(found, builder.atMs)) return;
    const value = this.#takenUnit.toKeep();
    builder.changes.facts.push({ atMs: builder.atMs, owner: "exchange", name: fundingUnitFact, value });
    const { unit } = this.#takenUnit;
    if (unit === markets.fundingUnit) return;
    markets.fundingUnit = unit;
    const { compared } = found;
    const word = unit === "percent" ? "percentage" : "fraction";
    this.#warn(
      `funding rates in the market statistics are taken as a ${word} an hour: ${compared} ` +
        `${compared === 1 ? "market was" : "markets were"} compared with the funding history`,
    );
  }
}
