/** The table of the cost of rules: as ratios, which hold on any machine. */
import { table } from "../daemon/tables.ts";
import type { LanguageResult } from "./language.ts";

const times = (ratio: number): string => `${ratio.toFixed(2)} ×`;

export function languageTable(result: LanguageResult): string {
  const { plainNs, windowNs, feedNs, tenRulesUs, twoHundredRulesUs, dayUs, longUs, longDays } = result;
  const { expressionNs, expressionRatio, windowRatios, rulesRatio, longRatio } = result;
  const windows = table(
    "Judging one rule: a window over 24 h at 5 s against a plain field",
    ["", "ns", "", "feeding it, ns"],
    [
      ["a plain field", plainNs.toFixed(0), "", ""],
      ...Object.entries(windowNs).map(([name, ns]) => [
        name,
        ns.toFixed(0),
        times(windowRatios[name] ?? Number.NaN),
        (feedNs[name] ?? Number.NaN).toFixed(0),
      ]),
      ["an expression", expressionNs.toFixed(0), `${times(expressionRatio)} the same as a function`, ""],
    ],
  );
  const tick = table(
    "One answer of an account through the tick",
    ["", "µs", ""],
    [
      ["10 rules", tenRulesUs.toFixed(1), ""],
      ["200 rules", twoHundredRulesUs.toFixed(1), times(rulesRatio)],
      ["7 windows of 24 h, after a day", dayUs.toFixed(1), ""],
      [`the same after ${longDays} days`, longUs.toFixed(1), times(longRatio)],
    ],
  );
  const { judged, judgedOthers, others } = result;
  return `${windows}\n${tick}\nOf ${judged + others} rules, an answer led to ${judged} judgements; of the ${others} that read nothing of it ${judgedOthers}.`;
}
