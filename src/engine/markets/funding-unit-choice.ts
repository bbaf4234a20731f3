/** Decides the unit of the funding rates in the market statistics, and stores it for restarts. */

import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Facts } from "../../domain/stored/facts.ts";
import { fundingUnitFact, TakenUnit } from "../../state/markets/funding-unit.ts";
import type { World } from "../../state/world.ts";

export class FundingUnitChoice {
  readonly #world: World;
  readonly #warn: (text: string) => void;
  readonly #takenUnit: TakenUnit;

  /**
   * @param facts the stored facts at the start
   * @param before the choice of the watch that is replaced at a reload
   */
  constructor(
    world: World,
    facts: Facts,
    warn: (text: string) => void,
    before: FundingUnitChoice | undefined,
  ) {
    this.#world = world;
    this.#warn = warn;
    this.#takenUnit = before ? before.#takenUnit : new TakenUnit(fundingUnitFact.get(facts, "exchange"));
    world.markets.fundingUnit = this.#takenUnit.unit;
  }

  /** Decides the unit of the rates in the statistics, once enough markets can be compared, and reports it. */
  decide(builder: ChangesBuilder): void {
    const { markets } = this.#world;
    const found = markets.decideFundingUnit();
    if (!this.#takenUnit.compared(found, builder.atMs)) return;
    fundingUnitFact.put("exchange", this.#takenUnit.toKeep(), builder);
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
