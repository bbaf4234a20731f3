/** Asks the running daemon from a command on this machine: one request over its socket. */
import { request } from "node:http";
import { DashboardError, errorCode } from "./errors.ts";
import { whyForeign } from "./socket.ts";

export interface DaemonQuestion {
  readonly socketPath: string;
  /** A user whom the socket may belong to, beside this one and root. */
  readonly owner?: number;
  readonly method: "GET" | "POST";
  /** With its query: `/api/v1/alerts?state=firing`. */
  readonly path: string;
  /** Sent as JSON when given. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export type DaemonAnswer =
  /** `body` is the parsed JSON; of a refusal it is `{ error }`. See wire.ts for the numbers in it. */
  | { readonly kind: "answered"; readonly status: number; readonly body: unknown }
  /** Nobody listens at the socket: no daemon runs on this database. */
  | { readonly kind: "noDaemon" };

/**
 * Nothing is sent through a socket of another user.
 * @throws when the socket may not be used, the daemon hangs up in the middle, or the signal aborts
 */
export async function askDaemon(question: DaemonQuestion): Promise<DaemonAnswer> {
  const { socketPath, method, path, body, signal } = question;
  const foreign = whyForeign(socketPath, question.owner);
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
