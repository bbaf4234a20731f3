/**
 * Limits the frames that a service sends over an open connection, or the answers to repeated polls. Normal chats are
 * far below the limits; a service above them would use up the daemon's time and memory.
 */

/** Maximum frame size, bytes. */
const maxFrame = 1_048_576;
const maxBytes = 4 * maxFrame;
const withinMs = 10_000;

export class FrameBound {
  readonly #elapsedMs: () => number;
  readonly #maxFrames: number;
  #fromMs = Number.NEGATIVE_INFINITY;
  #frames = 0;
  #bytes = 0;

  /** @param elapsedMs monotonic   @param maxFrames in 10 s */
  constructor(elapsedMs: () => number, maxFrames: number) {
    this.#elapsedMs = elapsedMs;
    this.#maxFrames = maxFrames;
  }

  /** Counts a frame. @returns the reason to refuse it; null: it is accepted */
  refusal(bytes: number): string | null {
    const nowMs = this.#elapsedMs();
    if (nowMs - this.#fromMs >= withinMs) {
      this.#fromMs = nowMs;
      this.#frames = 0;
      this.#bytes = 0;
    }
    this.#frames++;
    this.#bytes += bytes;
    if (bytes > maxFrame) return `it sent a frame of ${bytes} bytes`;
    return this.#frames > this.#maxFrames || this.#bytes > maxBytes ? "it sends frames without end" : null;
  }
}
