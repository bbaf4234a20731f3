import type { FiringAlert } from "../domain/status.ts";
import type { LiveAlert } from "./live-alert.ts";

/** Returns an alert with its newest text and the time of that text. */
export function firingAlert(live: LiveAlert, atMs: number): FiringAlert {
  const newest = live.newest(atMs);
  const { endingWait } = live;
  const gone = live.isGone(atMs) ? { gone: true as const } : {};
  const alert = { ...live.alert, ...(endingWait && { endingWait }), ...gone };
  if (!newest) return { ...alert, textAtMs: live.lasting ? live.notifiedAtMs : alert.dataAtMs };
  const { summary, description, value, dataAtMs } = newest.text;
  return { ...alert, summary, description, value, dataAtMs, textAtMs: newest.atMs };
}
