/** Reads answers of services. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { Poster } from "../../src/channels/post.ts";

const received = "undici:request:bodyChunkReceived";

/** An answer that arrives in parts: each is sent after the previous one was read. */
async function answered(parts: readonly Uint8Array[]) {
  const send = async (response: ServerResponse) => {
    response.writeHead(400, { "content-type": "text/plain; charset=utf-8" });
    for (const part of parts) {
      const taken = Promise.withResolvers<void>();
      const note = () => taken.resolve();
      subscribe(received, note);
      response.write(part);
      await taken.promise;
      unsubscribe(received, note);
      for (let i = 0; i < 5; i++) await turn();
    }
    response.end();
  };
  const server = createServer((_request, response) => void send(response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const poster = new Poster({ who: "the service", secrets: [], timeoutMs: 20_000 });
  try {
    const answer = await poster.call({ url, body: {} }, new AbortController().signal);
    if (answer.kind === "none") throw new Error(answer.detail);
    return { text: answer.text, detail: poster.detail(answer) };
  } finally {
    await poster.close();
    server.close();
  }
}

test("a character that two parts of an answer share is read whole", async () => {
  const words = "größer als erlaubt: 5 € 🚨 上限";
  const { text, detail } = await answered([...Buffer.from(words)].map((byte) => Uint8Array.of(byte)));
  expect(text).toBe(words);
  expect(detail).toBe(`the service answered 400: ${words}`);
});

test("of an answer without end the beginning is read, and no half of a character", async () => {
  const { text } = await answered([Buffer.from("€".repeat(30_000)).subarray(0, 80_000)]);
  expect(text.length).toBeGreaterThan(20_000);
  expect(text.replaceAll("€", "")).toBe("");
});
