/** Reads the JSON bodies of requests. */
import type { IncomingMessage } from "node:http";
import { type Reply, requestRefused } from "./reply.ts";

const maxBodyBytes = 1_048_576;

const maxDrainedBytes = 16 * maxBodyBytes;

/** The JSON of a body; undefined where there was none. */
export type ReadBody = { readonly body: unknown } | { readonly refused: Reply };

/** The JSON body; no body is undefined. What is too large is read to its end and thrown away, so that the refusal is heard. */
export function readBody(request: IncomingMessage): Promise<ReadBody> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBodyBytes) chunks.push(chunk);
      else if (size - chunk.length <= maxBodyBytes) {
        const reply = requestRefused(413, "body_too_large", "The body is larger than 1 MiB");
        resolve({ refused: { ...reply, headers: { Connection: "close" } } });
      } else if (size > maxDrainedBytes) request.destroy();
    });
    request.on("error", reject);
    request.on("end", () => resolve(bodyOf(size === 0 ? null : Buffer.concat(chunks).toString("utf8"))));
  });
}

/** @param text null: there is none */
export function bodyOf(text: string | null): ReadBody {
  if (text === null) return { body: undefined };
  try {
    return { body: JSON.parse(text) };
  } catch {
    return { refused: requestRefused(400, "malformed_json", "The body is not JSON") };
  }
}
