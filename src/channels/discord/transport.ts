/** Makes one HTTP request for discord.js and reads the whole answer, within a size limit. Redirects are not followed. */
import { type Agent, type Dispatcher, request } from "undici";
import { formBytes } from "../form.ts";

/** Maximum size of an answer, bytes; a page of a hundred messages with all embeds has at most 2 MB. */
const maxAnswerBytes = 4_194_304;

/** Thrown if an answer exceeds the size limit. */
export class TooLong extends Error {
  override readonly name = "TooLong";
  constructor() {
    super("Discord's answer is too long");
  }
}

/** A request from discord.js. */
export interface TransportInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string | FormData | null;
  readonly signal: AbortSignal;
}

type Answer = Dispatcher.ResponseData;

/** @throws {TooLong}, and errors of the connection */
export async function sendRequest(
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

/** Converts an answer to the form that discord.js reads. */
export function responseOf({ statusCode, headers }: Answer, body: string): Response {
  const empty = statusCode === 204 || statusCode === 304;
  return new Response(empty ? null : body, {
    status: statusCode,
    // discord.js parses every answer of a JSON type, also an empty one.
    headers: empty ? {} : { "content-type": String(headers["content-type"] ?? "application/json") },
  });
}

async function wholeText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > maxAnswerBytes) throw new TooLong();
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
