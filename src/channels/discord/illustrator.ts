/**
 * Charts for messages that are delivered already: drawn and attached by an edit, in their own time. They hold up and fail
 * nothing: what cannot be drawn, or is not taken, is left out, and in a storm most are.
 */
import type { Message } from "../../domain/delivery.ts";
import type { Charts } from "../../domain/ports.ts";
import { drawnAlert } from "../chart/drawn-alert.ts";
import { pngOf } from "../chart/png.ts";
import { chartSvg } from "../chart/svg.ts";
import type { ChannelLog } from "../log.ts";
import type { Destination } from "./destination.ts";

export interface IllustratorOptions {
  readonly destination: Destination;
  readonly charts: Charts;
  readonly log: ChannelLog;
  readonly timezone: string;
}

/** Charts under way or waiting; beyond it none is begun. */
const mostWaiting = 3;
/** A chart that takes longer has lost its sense. */
const withinMs = 10_000;
const name = "chart.png";

export class Illustrator {
  readonly #options: IllustratorOptions;
  #life = new AbortController();
  #tail: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(options: IllustratorOptions) {
    this.#options = options;
  }

  /** Draws the worst of what the message says is firing. Returns at once and throws nothing. */
  illustrate(message: Message, receipt: string): void {
    const alertId = drawnAlert(message.content);
    if (alertId === null || this.#waiting >= mostWaiting) return;
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

  /** Resolves when nothing is under way. */
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

/** Nobody waits for what does not end. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
