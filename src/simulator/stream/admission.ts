/** Admits the handshakes of the stream: path, faults, token, and a line in the log of requests. */
import type { IncomingHttpHeaders } from "node:http";
import type { Faults } from "../server/faults.ts";
import type { RequestLog } from "../server/request-log.ts";
import { Refusal, type SeenToken, type Sessions } from "../server/sessions.ts";

const path = "/v1/ws";
export const protocol = "phoenix-jwt";

/** A handshake from this process. */
export interface Handshake {
  /** Path and query. */
  readonly target: string;
  /** By lower-case names. */
  readonly headers: IncomingHttpHeaders;
}

export interface AdmissionParts {
  readonly sessions: Sessions;
  readonly faults: Faults;
  readonly log: RequestLog;
  readonly present: () => number;
}

/** @returns a function that judges the token which a handshake brings; null: anonymous. It throws a `Refusal`, or anything else to hang up */
export function createAdmission({
  sessions,
  faults,
  log,
  present,
}: AdmissionParts): (handshake: Handshake) => Promise<SeenToken | null> {
  async function admitted({ target, headers }: Handshake): Promise<SeenToken | null> {
    const [asked = "", query = ""] = target.split("?");
    const entry = { atMs: present(), method: "GET", path: asked, query, status: 0 };
    log.note(entry);
    try {
      const seen = await admit(headers, asked);
      entry.status = 101;
      return seen;
    } catch (error) {
      if (error instanceof Refusal) entry.status = error.status;
      throw error;
    }
  }

  /** The token that a handshake brings, judged; null: anonymous. @throws {Refusal}, or anything else to hang up */
  async function admit(headers: IncomingHttpHeaders, asked: string): Promise<SeenToken | null> {
    if (asked !== path) throw new Refusal(404, `No such path: ${asked.slice(0, 200)}`);
    const fault = faults.take("GET", asked);
    if (fault?.drop) throw new Error("dropped");
    if (fault?.status) throw new Refusal(fault.status, fault.error ?? `fault ${fault.status}`);
    const token = tokenOf(headers);
    return token === null ? null : accepted(token);
  }

  async function accepted(token: string): Promise<SeenToken> {
    const seen = await sessions.inspect(token);
    const code = sessions.standing(seen);
    if (code !== null) throw new Refusal(401, code);
    return seen;
  }

  return admitted;
}

/** `phoenix-jwt, <token>`, `phoenix-jwt=<token>`, `phoenix-jwt:<token>`, or a bearer header; null: anonymous. */
function tokenOf(headers: IncomingHttpHeaders): string | null {
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((it) => it.trim());
  for (const [index, one] of offered.entries()) {
    if (one === protocol) return offered[index + 1] ?? null;
    const joined = /^phoenix-jwt[=:](.+)$/.exec(one);
    if (joined) return joined[1] as string;
  }
  return /^Bearer\s+(\S+)$/i.exec(headers.authorization ?? "")?.[1] ?? null;
}
