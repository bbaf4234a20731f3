/** All kinds of facts that the engine stores, and the filter for those of a database. */
import type { FactChange } from "../domain/stored/changes.ts";
import { FactError } from "../domain/stored/facts.ts";
import { openedFact } from "../state/accounts/openings.ts";
import { capabilitiesFact } from "../state/accounts/rights.ts";
import { fundingUnitFact } from "../state/markets/funding-unit.ts";
import { configFact, sessionFact } from "../state/markets/market-changes.ts";
import { statusFact } from "../state/markets/own-events.ts";
import { incarnationFact } from "./subject-life.ts";

export const factKinds = [
  ...[configFact, sessionFact, statusFact, fundingUnitFact],
  ...[openedFact, incarnationFact, capabilitiesFact],
] as const;

/** @returns the facts that match their kind or have none, and the reasons why others are not used, for people */
export function readableFacts(all: readonly FactChange[]): {
  readonly facts: readonly FactChange[];
  readonly unread: readonly string[];
} {
  const unread: string[] = [];
  const facts = all.filter((fact) => {
    try {
      factKinds.find((kind) => kind.is(fact))?.read(fact.owner, fact.value);
      return true;
    } catch (error) {
      if (!(error instanceof FactError)) throw error;
      unread.push(`${error.message}; it is not used`);
      return false;
    }
  });
  return { facts, unread };
}
