/** The picture of a mail, drawn from what was sealed with its message. */
import type { Message } from "../../domain/delivery.ts";
import { chartText } from "../chart/chart-text.ts";
import { pngOf } from "../chart/png.ts";
import { chartSvg, lightChart } from "../chart/svg.ts";
import type { ChannelLog } from "../log.ts";

/** Two pixels for each: screens of phones have more of them than pages count. */
const zoom = 2;
/** A picture takes some hundredths of a second; a mail waits no longer than this for it, ms. */
const drawWithinMs = 2_000;
/** Messages under way at once are few. */
const remembered = 20;

export interface Picture {
  readonly alertId: number;
  readonly png: Buffer;
  /** Its contents, for those who do not see it. */
  readonly words: string;
}

export type Draw = (svg: string, zoom: number) => Promise<Buffer>;

export class Pictures {
  readonly #options: { readonly log: ChannelLog; readonly timezone: string; readonly draw?: Draw };
  /** The result of the first attempt: later ones send the same. */
  readonly #drawn = new Map<string, Picture | null>();

  constructor(options: { readonly log: ChannelLog; readonly timezone: string; readonly draw?: Draw }) {
    this.#options = options;
  }

  /** @returns null where there is nothing to draw, or it cannot be drawn in time */
  async of({ id, content: { chart } }: Message, signal: AbortSignal): Promise<Picture | null> {
    if (chart === undefined) return null;
    const before = this.#drawn.get(id);
    if (before !== undefined) return before;
    const { log, timezone, draw = pngOf } = this.#options;
    let picture: Picture | null = null;
    try {
      const svg = chartSvg(chart, timezone, lightChart);
      if (svg === null) return null;
      const png = await within(draw(svg, zoom), drawWithinMs, signal);
      picture = { alertId: chart.alertId, png, words: chartText(chart) };
    } catch (error) {
      signal.throwIfAborted();
      const why = error instanceof Error ? error.message : "failed";
      log.warn({ messageId: id, why }, "the chart of a mail could not be drawn; it leaves without");
    }
    this.#drawn.set(id, picture);
    const [oldest] = this.#drawn.keys();
    if (this.#drawn.size > remembered && oldest !== undefined) this.#drawn.delete(oldest);
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
