/**
 * The far side of a channel that speaks HTTP: a server that answers as one service does, as strictly, keeps what it took, and
 * misbehaves when it is told to.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly json: unknown;
  /** Fields of a multipart form, files as their text; left out: it was none. */
  readonly form?: Readonly<Record<string, string>>;
}

export interface Reply {
  readonly status: number;
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `hangUp`: after the request was taken in. `stall`: taken in as well, and never answered; `hang`: neither. */
export type Fault = Reply | "hang" | "hangUp" | "stall";

export interface Service extends AsyncDisposable {
  readonly url: string;
  readonly asked: Asked[];
  /** Texts of what was taken, in the words of the dialect. */
  readonly taken: string[];
  /** The next so many requests that would send something meet this instead. */
  fault(fault: Fault, times?: number): void;
  clearFaults(): void;
  /** Resolves with the next request. */
  next(): Promise<Asked>;
  close(): Promise<void>;
}

/** @returns the service's answer; `take` keeps the text of what it took. `null`: this request sends nothing, no fault hits it. */
export type Dialect = (asked: Asked, take: (text: string) => void) => Reply | Promise<Reply>;

export interface ServiceOptions {
  /** True if a request would send something. Default: every POST. */
  readonly sends?: (asked: Asked) => boolean;
}

export async function startService(dialect: Dialect, options: ServiceOptions = {}): Promise<Service> {
  const sends = options.sends ?? (({ method }: Asked) => method === "POST");
  const asked: Asked[] = [];
  const taken: string[] = [];
  const faults: Fault[] = [];
  const waiting: ((one: Asked) => void)[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const text = bytes.toString("utf8");
    const form = await formOf(request.headers["content-type"] ?? "", bytes);
    const one: Asked = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      text,
      json: jsonOf(text),
      ...(form === null ? {} : { form }),
    };
    asked.push(one);
    const fault = sends(one) ? faults.shift() : undefined;
    for (const tell of waiting.splice(0)) tell(one);
    if (fault === "hang") return;
    if (fault === "hangUp" || fault === "stall") {
      // It took the message, and nobody hears of it.
      await dialect(one, (words) => void taken.push(words));
      if (fault === "hangUp") request.socket.destroy();
      return;
    }
    const reply = fault ?? (await dialect(one, (words) => void taken.push(words)));
    const body = typeof reply.body === "object" ? JSON.stringify(reply.body) : (reply.body ?? "");
    const type = typeof reply.body === "object" ? "application/json" : "text/plain";
    response.writeHead(reply.status, { "content-type": type, ...reply.headers });
    response.end(body);
  };
  const server = createServer(
    (request, response) => void handle(request, response).catch(() => response.destroy()),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((done) => server.close(done));
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    taken,
    fault: (fault, times = 1) => void faults.push(...Array.from({ length: times }, () => fault)),
    clearFaults: () => void faults.splice(0),
    next: () => new Promise((resolve) => waiting.push(resolve)),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function formOf(type: string, bytes: Buffer): Promise<Record<string, string> | null> {
  if (!type.startsWith("multipart/form-data")) return null;
  const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
  const fields: Record<string, string> = {};
  for (const [name, value] of form) fields[name] = typeof value === "string" ? value : await value.text();
  return fields;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
