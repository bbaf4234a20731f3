/** The past of the series, read from history at a start, until the subjects that it belongs to have appeared. */
import type { Tick } from "../domain/observation.ts";
import { accountName, type Subject } from "../domain/subject.ts";
import { windowsOf } from "./conditions.ts";
import { parseSeries } from "./series.ts";
import type { SubjectNode } from "./subjects.ts";

/** Samples read from history before their subjects exist: held by owner until those appear. */
export class Recall {
  readonly #ticks = new Map<string, Tick[]>();

  tick(tick: Tick): void {
    const list = this.#ticks.get(tick.owner);
    if (list) list.push(tick);
    else this.#ticks.set(tick.owner, [tick]);
  }

  clear(): void {
    this.#ticks.clear();
  }

  replay(node: SubjectNode, timezone: string): void {
    if (this.#ticks.size === 0) return;
    const { subject } = node;
    const owners = ownersOf(subject);
    const symbol = "symbol" in subject ? subject.symbol : null;
    const windows = windowsOf(node, timezone);
    for (const name of owners) {
      for (const tick of this.#ticks.get(name) ?? []) {
        const values: Record<string, number> = {};
        let any = false;
        tick.series.forEach((series, index) => {
          const parsed = parseSeries(series);
          if (!parsed || parsed.scope !== subject.scope || parsed.symbol !== symbol) return;
          values[parsed.field] = tick.values[index]!;
          any = true;
        });
        // A position that was not there, or was on the other side, is another one: its windows start anew.
        const size = values.size;
        const other =
          subject.scope === "position" &&
          (!any || (size !== undefined && size > 0 !== (node.incarnation === "long")));
        if (other) windows.clear();
        else if (any) windows.feed(tick.atMs, values);
      }
    }
  }
}

/** Under which owners the series of a subject stand in history. */
function ownersOf(subject: Subject): readonly string[] {
  switch (subject.scope) {
    case "market":
      return ["markets", "fundingRates"];
    case "wallet":
      return [subject.wallet];
    case "trader":
    case "position":
      return [accountName(subject)];
    case "daemon":
      return ["daemon"];
    default:
      return [];
  }
}
