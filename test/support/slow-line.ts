/**
 * A line to an HTTP server on which answers take their time: they are made when they are asked for and arrive later, by
 * the test's clock. What is under way is counted, so that the clock goes on meanwhile.
 */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, connect as tcp } from "node:net";
import type { FakeClock } from "./clock.ts";

export class SlowLine implements AsyncDisposable {
  readonly #server: Server;
  readonly #late = new Map<object, number>();
  delayMs = 0;
  url = "";

  private constructor(target: URL, clock: FakeClock) {
    this.#server = createServer((near) => {
      const far = tcp(Number(target.port), target.hostname);
      near.pipe(far);
      far.on("data", (bytes: Buffer) => {
        if (this.delayMs === 0 && !this.#late.has(near)) {
          near.write(bytes);
          return;
        }
        this.#late.set(near, (this.#late.get(near) ?? 0) + 1);
        clock.after(this.delayMs, () => {
          const left = (this.#late.get(near) ?? 1) - 1;
          if (left > 0) this.#late.set(near, left);
          else this.#late.delete(near);
          near.write(bytes);
        });
      });
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        one.on("error", () => other.destroy());
        one.on("close", () => {
          this.#late.delete(near);
          other.destroy();
        });
      }
    });
    // A connection carries one request at a time.
    clock.allow(() => this.#late.size);
  }

  static async to(url: string, clock: FakeClock): Promise<SlowLine> {
    const line = new SlowLine(new URL(url), clock);
    line.#server.listen(0, "127.0.0.1");
    await once(line.#server, "listening");
    line.url = `http://127.0.0.1:${(line.#server.address() as AddressInfo).port}`;
    return line;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
  }
}
