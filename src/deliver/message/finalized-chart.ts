/**
 * The series that a channel draws beside a message, fixed when the message is finalized: a retry, also after a restart,
 * draws the same picture, whatever history and rules contain then. Read within a time limit, and left out if that
 * fails.
 */

import { drawnAlert } from "../../channels/chart/drawn-alert.ts";
import { thinned } from "../../channels/chart/thin.ts";
import type { Message, MessageContent } from "../../domain/alerts/delivery.ts";
import type { Clock } from "../../domain/clock.ts";
import type { Charts } from "../../domain/ports.ts";
import type { DeliverLog } from "../log.ts";

/** Time for which a message waits for its series, ms. */
const withinMs = 500;
/** Points stored with a message: about the resolution of a picture, in about 5 KB. */
const maxPoints = 200;
const digits = 7;

/** @returns the message with its series */
export async function withChart(
  message: Message,
  charts: Charts,
  { clock, log }: { readonly clock: Clock; readonly log: DeliverLog },
): Promise<Message> {
  const alertId = message.content.folded === undefined ? drawnAlert(message.content) : null;
  if (alertId === null) return message;
  let cancel = () => {};
  const late = new Promise<null>((resolve) => {
    cancel = clock.after(withinMs, () => resolve(null));
  });
  const asked = charts.series(alertId).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : "failed";
    log.debug({ messageId: message.id, why }, "a chart was left out");
    return null;
  });
  const series = await Promise.race([asked, late]);
  cancel();
  if (series === null) return message;
  const finite = series.points.filter(([, value]) => Number.isFinite(value));
  const chart: MessageContent["chart"] = {
    alertId,
    title: series.title,
    unit: series.unit,
    points: thinned(finite, maxPoints).map(([atMs, value]) => [atMs, Number(value.toPrecision(digits))]),
    thresholds: series.thresholds.filter(({ value }) => Number.isFinite(value)),
  };
  return { ...message, content: { ...message.content, chart } };
}
