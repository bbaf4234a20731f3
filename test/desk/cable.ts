/**
 * A TCP line between the daemon and the exchange that can be cut. While it is cut, open connections break and new ones are
 * closed at once, streams included.
 */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket, connect as tcp } from "node:net";

export class Cable {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  #cut = false;
  url = "";

  private constructor(target: URL) {
    this.#server = createServer((near) => {
      if (this.#cut) {
        near.destroy();
        return;
      }
      const far = tcp(Number(target.port), target.hostname);
      near.pipe(far);
      far.pipe(near);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#open.add(one);
        one.setNoDelay(true);
        one.on("error", () => other.destroy());
        one.on("close", () => {
          this.#open.delete(one);
          other.destroy();
        });
      }
    });
  }

  static async to(url: string): Promise<Cable> {
    const cable = new Cable(new URL(url));
    cable.#server.listen(0, "127.0.0.1");
    await once(cable.#server, "listening");
    cable.url = `http://127.0.0.1:${(cable.#server.address() as AddressInfo).port}`;
    return cable;
  }

  cut(): void {
    this.#cut = true;
    for (const socket of this.#open) socket.destroy();
  }

  mend(): void {
    this.#cut = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}
