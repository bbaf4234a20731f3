/** Services that repeat what they are sent: in answers of every status, in headers, in redirects, in replies of a mail server. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createPlainServer, type Socket } from "node:net";
import { encodings } from "./secret-finder.ts";

/** The ways in which a service fails. */
export const failures = [
  ...["401", "400", "404", "429", "503", "200", "200 JSON", "200 OK-like", "302", "header", "reason"],
  ...["malformed", "reset", "cut", "no HTTP"],
] as const;
export type Failure = (typeof failures)[number];
/** These hold up whoever asks, until its patience is over. */
export const slowFailures = ["silent", "endless"] as const;

export interface Way {
  readonly failure: Failure | (typeof slowFailures)[number] | "well";
  readonly encoding: string;
}

export interface Echo extends AsyncDisposable {
  readonly port: number;
  /** The answers from now on. */
  way: Way;
  readonly asked: () => number;
}

/** @param well answers while nothing fails @param secretsOf the secrets of a request, besides its address, headers and body */
export async function echoHttp(
  well: (request: IncomingMessage, body: string, response: ServerResponse) => void | Promise<void>,
  secretsOf: (request: IncomingMessage, body: string) => readonly string[] = () => [],
): Promise<Echo> {
  let count = 0;
  const server = createServer(async (request, response) => {
    count++;
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const { failure, encoding } = echo.way;
    if (failure === "well") return well(request, body, response);
    const code = encodings[encoding]!;
    const authorization = request.headers.authorization ?? "";
    const parts = [
      ...secretsOf(request, body),
      ...[authorization.replace(/^\w+ /, ""), authorization, request.url ?? "", body.slice(0, 2_000)],
      ...Object.values(request.headers).map(String),
    ].filter((part) => part !== "");
    // The first words are what is shown: each part has its turn at being first.
    const turn = count % parts.length;
    const said = [...parts.slice(turn), ...parts.slice(0, turn)].map(code);
    answer(response, failure, said);
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const echo: Echo = {
    port: (server.address() as AddressInfo).port,
    way: { failure: "well", encoding: "plain" },
    asked: () => count,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  return echo;
}

function answer(response: ServerResponse, failure: Way["failure"], said: readonly string[]): void {
  const text = said.join(" ");
  const oneLine = text.replace(/[^\x20-\x7e]+/g, " ").slice(0, 8_000);
  const send = (status: number, body: string, headers: Record<string, string> = {}) => {
    response.writeHead(status, { "content-type": "text/plain", ...headers });
    response.end(body);
  };
  switch (failure) {
    case "401":
    case "400":
    case "404":
      send(Number(failure), text);
      break;
    case "429":
      send(429, text, { "retry-after": "1" });
      break;
    case "503":
      send(503, JSON.stringify({ error: text, message: text, description: text, errors: said }));
      break;
    case "200":
      send(200, text);
      break;
    case "200 JSON":
      send(200, JSON.stringify({ ok: false, error: text, description: text, message: text, errors: said }));
      break;
    case "200 OK-like":
      // As if it had been taken, with words of theirs in each field of an answer that anybody reads.
      send(
        200,
        JSON.stringify({
          ...{ ok: true, status: 1, id: text, ts: text, message_id: text, request: text, receipt: text },
          ...{
            dedup_key: text,
            result: { message_id: text, username: text },
            user: text,
            team: text,
            url: text,
          },
          ...{ username: text, name: text, channel: text, message: text, type: 0, access_token: text },
        }),
      );
      break;
    case "302":
      send(302, text, {
        location: `http://127.0.0.1:9/${encodeURIComponent(oneLine.slice(0, 2_000))}`,
      });
      break;
    case "header":
      send(401, "", {
        ...{ "www-authenticate": oneLine, "retry-after": oneLine, date: oneLine, "x-error": oneLine },
        "content-type": oneLine,
      });
      break;
    case "reason":
      response.writeHead(401, oneLine.slice(0, 500), {});
      response.end();
      break;
    case "malformed":
      send(200, `{"ok": true, "error": "${text}`, { "content-type": "application/json" });
      break;
    case "reset":
      response.socket?.destroy();
      break;
    case "cut":
      response.writeHead(401, { "content-length": "100000" });
      response.write(text, () => response.socket?.destroy());
      break;
    case "no HTTP":
      response.socket?.write(`${oneLine}\r\n${oneLine}\r\n\r\n`);
      response.socket?.end();
      break;
    case "endless": {
      response.writeHead(500, { "content-type": "text/plain" });
      const timer = setInterval(() => response.write(text), 50);
      response.on("close", () => clearInterval(timer));
      break;
    }
    default:
      return;
  }
}

/** The places in which a mail server fails, each time with the credentials in its words. */
export const mailFailures = [
  ...["greeting", "EHLO", "AUTH", "AUTH later", "AUTH challenge", "MAIL", "RCPT", "DATA", "end", "taken"],
] as const;

export interface MailEcho extends AsyncDisposable {
  readonly port: number;
  way: { readonly at: (typeof mailFailures)[number]; readonly encoding: string };
}

/** @param secrets repeated in each refusal */
export async function echoMail(secrets: readonly string[]): Promise<MailEcho> {
  const sockets = new Set<Socket>();
  const server = createPlainServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    const { at, encoding } = echo.way;
    let blob = "";
    const said = () =>
      [blob, ...secrets]
        .map(encodings[encoding]!)
        .join(" ")
        .replace(/[\r\n]+/g, " ")
        .slice(0, 900);
    const say = (line: string) => socket.write(`${line}\r\n`);
    let inData = false;
    let isSecret = false;
    say(at === "greeting" ? `554 ${said()}` : "220 mail ready");
    let buffered = "";
    socket.on("data", (chunk) => {
      buffered += String(chunk);
      for (let end = buffered.indexOf("\r\n"); end >= 0; end = buffered.indexOf("\r\n")) {
        const line = buffered.slice(0, end);
        buffered = buffered.slice(end + 2);
        if (inData) {
          if (line !== ".") continue;
          inData = false;
          say(at === "end" ? `554 5.7.1 ${said()}` : `250 ${at === "taken" ? said() : "ok"}`);
        } else if (isSecret) {
          blob = line;
          isSecret = false;
          say(at === "AUTH" ? `535 5.7.8 ${said()}` : "235 ok");
        } else command(line);
      }
    });
    const command = (line: string) => {
      const word = line.slice(0, 4).toUpperCase();
      if (word === "EHLO" && at === "EHLO") return say(`550 ${said()}`);
      if (word === "HELO" && at === "EHLO") return say(`550 ${said()}`);
      if (word === "EHLO") return say("250-mail\r\n250 AUTH PLAIN LOGIN");
      if (word === "AUTH") {
        blob = line.split(" ").at(-1) ?? "";
        if (at === "AUTH") return say(`535 5.7.8 ${said()}`);
        if (at === "AUTH later") return say(`454 4.7.0 ${said()}`);
        if (at === "AUTH challenge") {
          isSecret = true;
          return say(`334 ${Buffer.from(said()).toString("base64")}`);
        }
        return say("235 ok");
      }
      if (word === "MAIL") return say(at === "MAIL" ? `550 5.1.8 ${said()}` : "250 ok");
      if (word === "RCPT") return say(at === "RCPT" ? `550 5.1.1 ${said()}` : "250 ok");
      if (word === "DATA") {
        if (at === "DATA") return say(`451 4.3.0 ${said()}`);
        inData = true;
        return say("354 go on");
      }
      if (word === "QUIT") return socket.end("221 bye\r\n");
      return say("250 ok");
    };
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const echo: MailEcho = {
    port: (server.address() as AddressInfo).port,
    way: { at: "taken", encoding: "plain" },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
  return echo;
}
