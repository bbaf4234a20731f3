/** One request of discord.js over HTTP, and the whole of its answer, which has an end. No redirect is followed. */
import { type Agent, type Dispatcher, request } from "undici";
import { formBytes } from "../form.ts";

/** A page of a hundred messages with all their embeds is 2 MB at most, bytes. */
const largestAnswer = 4_194_304;

/** The answer is longer than any of Discord's. */
export class TooLong extends Error {
  override readonly name = "TooLong";
  constructor() {
    super("Discord's answer is too long");
  }
}

/** A request as discord.js wants it made. */
export interface TransportInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string | FormData | null;
  readonly signal: AbortSignal;
}

type Answer = Dispatcher.ResponseData;

/** @throws {TooLong} and whatever the connection has to say */
export async function asked(
  url: string,
  init: TransportInit,
  agent: Agent | undefined,
): Promise<{ readonly answer: Answer; readonly body: string }> {
  const { headers, body: sent } = await encoded(init);
  const answer = await request(url, {
    method: init.method as Dispatcher.HttpMethod,
    headers,
    body: sent,
    signal: init.signal,
    ...(agent === undefined ? {} : { dispatcher: agent }),
  });
  return { answer, body: await wholeText(answer.body) };
}

/** The answer as discord.js reads it. */
export function responseOf({ statusCode, headers }: Answer, body: string): Response {
  const empty = statusCode === 204 || statusCode === 304;
  return new Response(empty ? null : body, {
    status: statusCode,
    // discord.js takes any JSON for readable, that of an empty answer too.
    headers: empty ? {} : { "content-type": String(headers["content-type"] ?? "application/json") },
  });
}

async function wholeText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > largestAnswer) throw new TooLong();
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

async function encoded({ headers, body = null }: TransportInit): Promise<{
  readonly headers: Record<string, string>;
  readonly body: string | Buffer | null;
}> {
  if (!(body instanceof FormData)) return { headers, body };
  const { type, bytes } = await formBytes(body);
  return { headers: { ...headers, "content-type": type }, body: bytes };
}
