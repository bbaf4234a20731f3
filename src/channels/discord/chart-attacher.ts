/**
 * Draws charts for delivered messages and attaches them by an edit, in the background. A chart that cannot be drawn or
 * is refused is omitted, as are most during a storm of alerts; no message waits for a chart or fails because of one.
 */
import type { Message } from "../../domain/alerts/delivery.ts";
import type { Charts } from "../../domain/ports.ts";
import { drawnAlert } from "../chart/drawn-alert.ts";
import { pngOf } from "../chart/png.ts";
import { chartSvg } from "../chart/svg.ts";
import type { ChannelLog } from "../log.ts";
import type { Destination } from "./destination.ts";

export interface ChartAttacherOptions {
  readonly destination: Destination;
  readonly charts: Charts;
  readonly log: ChannelLog;
  readonly timezone: string;
}

/** Maximum charts running or waiting; further ones are omitted. */
const maxWaiting = 3;
/** A chart that takes longer is omitted. */
const withinMs = 10_000;
const name = "chart.png";

export class ChartAttacher {
  readonly #options: ChartAttacherOptions;
  #life = new AbortController();
  #tail: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(options: ChartAttacherOptions) {
    this.#options = options;
  }

  /** Draws the highest-severity firing alert of a message. Returns at once and does not throw. */
  attachChart(message: Message, receipt: string): void {
    const alertId = drawnAlert(message.content);
    if (alertId === null || this.#waiting >= maxWaiting) return;
    this.#waiting += 1;
    const signal = AbortSignal.any([this.#life.signal, AbortSignal.timeout(withinMs)]);
    this.#tail = this.#tail
      .then(() => this.#attach(alertId, receipt, signal))
      .catch((error: unknown) => {
        const why = error instanceof Error ? error.message : "failed";
        if (!this.#life.signal.aborted) this.#options.log.debug({ alertId, why }, "a chart was left out");
      })
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  /** Aborts, and resolves when no chart is being drawn. */
  async stop(): Promise<void> {
    this.#life.abort();
    await this.#tail;
    this.#life = new AbortController();
  }

  async #attach(alertId: number, receipt: string, signal: AbortSignal): Promise<void> {
    const { destination, charts, log, timezone } = this.#options;
    signal.throwIfAborted();
    const series = await orAborted(charts.series(alertId), signal);
    const svg = series && chartSvg(series, timezone);
    if (svg === null) return;
    const data = await orAborted(pngOf(svg), signal);
    const description = "The series behind this alert, with the levels at which its rule fires, and now";
    const body = { attachments: [{ id: 0, filename: name, description }] };
    const file = { name, data, contentType: "image/png" };
    const answer = await destination.edit(receipt, body, signal, file);
    if (answer.kind === "problem") log.debug({ alertId, why: answer.detail }, "a chart was left out");
  }
}

/** Returns the result of the work, or rejects when the signal aborts. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
