/**
 * A line between a client of the stream and an exchange that knows about frames: what comes from the exchange can be
 * dropped, doubled, held back and altered, one frame at a time. Pings are answered whatever becomes of frames.
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { WebSocket, WebSocketServer } from "ws";

export type FrameFilter = (text: string, forward: (text: string) => void) => void;

export class FrameLine implements AsyncDisposable {
  readonly #server: WebSocketServer;
  /** Handles each frame from the exchange. */
  through: FrameFilter = (text, forward) => forward(text);
  made = 0;
  /** Frames of the client, as they came. */
  readonly asked: string[] = [];
  url = "";

  private constructor(target: string) {
    this.#server = new WebSocketServer({
      port: 0,
      host: "127.0.0.1",
      handleProtocols: (offered) => [...offered][0] ?? false,
    });
    this.#server.on("connection", (near, request) => {
      this.made++;
      const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((it) => it.trim());
      const far = new WebSocket(
        `${target.replace("http", "ws")}${request.url}`,
        offered.filter((it) => it !== ""),
      );
      const early: string[] = [];
      near.on("message", (data) => {
        this.asked.push(String(data));
        if (far.readyState === WebSocket.OPEN) far.send(String(data));
        else early.push(String(data));
      });
      far.on("open", () => {
        for (const text of early) far.send(text);
      });
      far.on("message", (data) => this.through(String(data), (text) => near.send(text)));
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        one.on("error", () => other.terminate());
        one.on("close", () => other.terminate());
      }
    });
  }

  static async to(url: string): Promise<FrameLine> {
    const line = new FrameLine(url);
    await once(line.#server, "listening");
    line.url = `http://127.0.0.1:${(line.#server.address() as AddressInfo).port}`;
    return line;
  }

  cut(): void {
    for (const socket of this.#server.clients) socket.terminate();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
  }
}
