/** The usual intervals of sources, which decide from when on a figure is stale. */
import { scheduleSettings, schedulesMs } from "../collect/settings.ts";
import type { Source } from "../domain/sources.ts";

let usual: Readonly<Record<Source, number>> | undefined;

/** By source, ms. */
export function usualScheduleMs(): Readonly<Record<Source, number>> {
  // Usual schedules are intervals, which no time moves.
  usual ??= schedulesMs(scheduleSettings.parse({}), 0);
  return usual;
}
