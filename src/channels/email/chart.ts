/** The chart of a mail, drawn from the data in the finalized message. */
import type { Message } from "../../domain/alerts/delivery.ts";
import { chartText } from "../chart/chart-text.ts";
import { pngOf } from "../chart/png.ts";
import { chartSvg, lightChart } from "../chart/svg.ts";
import type { ChannelLog } from "../log.ts";

/** Two pixels per unit, for high-resolution screens. */
const zoom = 2;
/** Drawing takes some hundredths of a second; a mail waits at most this long for it, ms. */
const drawTimeoutMs = 2_000;
/** Only few messages are being sent at the same time. */
const maxRemembered = 20;

export interface Picture {
  readonly alertId: number;
  readonly png: Buffer;
  /** Alternative text. */
  readonly words: string;
}

export type Draw = (svg: string, zoom: number) => Promise<Buffer>;

export class MailCharts {
  readonly #options: { readonly log: ChannelLog; readonly timezone: string; readonly draw?: Draw };
  /** Result of the first attempt, by message id; retries send the same. */
  readonly #drawn = new Map<string, Picture | null>();

  constructor(options: { readonly log: ChannelLog; readonly timezone: string; readonly draw?: Draw }) {
    this.#options = options;
  }

  /** @returns null if there is nothing to draw or drawing failed or took too long */
  async of({ id, content: { chart } }: Message, signal: AbortSignal): Promise<Picture | null> {
    if (chart === undefined) return null;
    const before = this.#drawn.get(id);
    if (before !== undefined) return before;
    const { log, timezone, draw = pngOf } = this.#options;
    let picture: Picture | null = null;
    try {
      const svg = chartSvg(chart, timezone, lightChart);
      if (svg === null) return null;
      const png = await within(draw(svg, zoom), drawTimeoutMs, signal);
      picture = { alertId: chart.alertId, png, words: chartText(chart) };
    } catch (error) {
      signal.throwIfAborted();
      const why = error instanceof Error ? error.message : "failed";
      log.warn({ messageId: id, why }, "the chart of a mail could not be drawn; it leaves without");
    }
    this.#drawn.set(id, picture);
    const [oldest] = this.#drawn.keys();
    if (this.#drawn.size > maxRemembered && oldest !== undefined) this.#drawn.delete(oldest);
    return picture;
  }
}

function within<T>(work: Promise<T>, ms: number, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`it took more than ${ms} ms`)), ms);
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    });
  });
}
