/**
 * The other side of the benchmark, a process of its own: prepared answers over plain node:http, cheap enough not to be
 * what is measured. Prints its URL when it listens; ends when its parent does.
 */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { marketsText, statsText, statusText, TraderStates } from "./world.ts";

const states = new TraderStates();
let calls = 0;

const json = "application/json";

const server = http.createServer((request, response) => {
  const url = request.url ?? "";
  const body = url.startsWith("/v1/trader/state/")
    ? states.next()
    : url.startsWith("/v1/markets/stats/latest")
      ? statsText(calls++)
      : url.startsWith("/v1/view/exchange/status")
        ? statusText
        : url.startsWith("/v1/view/exchange/markets")
          ? marketsText
          : null;
  response.writeHead(body === null ? 404 : 200, {
    "content-type": json,
    "content-length": body === null ? 2 : Buffer.byteLength(body),
  });
  response.end(body ?? "{}");
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
process.on("disconnect", () => process.exit(0));
