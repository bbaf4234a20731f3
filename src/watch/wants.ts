/** What some rule reads, shows or waits for: what nobody looks at needs no asking. */
import type { Source } from "../domain/observation.ts";
import type { RuleSet } from "../rules/index.ts";

export function wantedSources(ruleSet: RuleSet): ReadonlySet<Source> {
  const wanted = new Set<Source>();
  for (const rule of [...ruleSet.conditions, ...ruleSet.events]) {
    for (const { sources, awaits } of rule.shows) {
      for (const source of sources) wanted.add(source);
      if (awaits !== undefined) wanted.add(awaits);
    }
  }
  return wanted;
}
