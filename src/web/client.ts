/** Sends one request of a command to the running daemon over its socket. */
import { request } from "node:http";
import { DashboardError, errorCode } from "./errors.ts";
import { foreignReason } from "./socket.ts";

export interface DaemonQuestion {
  readonly socketPath: string;
  /** A user who may own the socket, besides this user and root. */
  readonly owner?: number;
  readonly method: "GET" | "POST";
  /** Path with query: `/api/v1/alerts?state=firing`. */
  readonly path: string;
  /** Sent as JSON if set. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export type DaemonAnswer =
  /** `body` is the parsed JSON; for a refusal it is `{ error }`. See wire.ts for its numbers. */
  | { readonly kind: "answered"; readonly status: number; readonly body: unknown }
  /** Nothing listens on the socket: no daemon runs for this database. */
  | { readonly kind: "noDaemon" };

/**
 * Sends a request. Nothing is sent over a socket of another user.
 * @throws if the socket is not trusted, the connection breaks, or the signal aborts
 */
export async function askDaemon(question: DaemonQuestion): Promise<DaemonAnswer> {
  const { socketPath, method, path, body, signal } = question;
  const foreign = foreignReason(socketPath, question.owner);
  if (foreign !== null)
    throw new DashboardError(
      "not-trusted",
      `${foreign}. Nothing was sent: ask as the user that runs the daemon`,
    );
  const text = body === undefined ? null : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        socketPath,
        method,
        path,
        agent: false,
        headers: text === null ? {} : { "content-type": "application/json" },
        ...(signal ? { signal } : {}),
      },
      (incoming) => {
        const parts: Buffer[] = [];
        incoming.on("data", (part: Buffer) => parts.push(part));
        incoming.on("error", reject);
        incoming.on("end", () => {
          try {
            const answered = JSON.parse(Buffer.concat(parts).toString("utf8")) as unknown;
            resolve({ kind: "answered", status: incoming.statusCode ?? 0, body: answered });
          } catch (error) {
            reject(new Error(`${path}: the daemon's answer is no JSON`, { cause: error }));
          }
        });
      },
    );
    outgoing.on("error", (error) => {
      if (["ENOENT", "ECONNREFUSED"].includes(errorCode(error))) resolve({ kind: "noDaemon" });
      else reject(error);
    });
    outgoing.end(text ?? undefined);
  });
}
