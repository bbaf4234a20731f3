/**
 * The frame of a program that is a service of malice. Prints its port; each line on its standard input is a JSON value with the ways of
 * answering from then on, and is answered by `ready`. Prints `asked METHOD PATH` for each request, `connected` for each WebSocket, and
 * `trap PATH` for whoever goes to the address elsewhere.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createInterface } from "node:readline";
import { type WebSocket, WebSocketServer } from "ws";

export interface HostileService<Orders> {
  /** Called once, with the port. */
  readonly listens: (port: number) => void;
  /** @param orders null: none came yet   @param elsewhere an address to which nobody may go */
  readonly answer: (
    incoming: IncomingMessage,
    response: ServerResponse,
    orders: Orders | null,
    elsewhere: string,
  ) => unknown;
  /** @param socket the connection below */
  readonly greet: (one: WebSocket, socket: Socket, orders: Orders | null) => unknown;
}

export async function serve<Orders>({ listens, answer, greet }: HostileService<Orders>): Promise<void> {
  let orders: Orders | null = null;
  // Whoever follows a redirect, with credentials or without, comes here.
  const trap = createServer((incoming, response) => {
    console.log(`trap ${incoming.url}`);
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await once(trap, "listening");
  const elsewhere = `http://127.0.0.1:${(trap.address() as AddressInfo).port}`;
  const server = createServer((incoming, response) => {
    incoming.on("error", () => {});
    response.on("error", () => {});
    incoming.resume();
    console.log(`asked ${incoming.method} ${incoming.url}`);
    answer(incoming, response, orders, elsewhere);
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    console.log("connected");
    socket.on("error", () => {});
    sockets.handleUpgrade(incoming, socket, head, (one) => {
      one.on("error", () => {});
      greet(one, socket, orders);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  listens(port);
  console.log(`port ${port}`);
  for await (const line of createInterface({ input: process.stdin })) {
    orders = JSON.parse(line) as Orders;
    server.closeAllConnections();
    for (const one of sockets.clients) one.terminate();
    console.log("ready");
  }
  process.exit(0);
}
