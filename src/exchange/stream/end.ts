/** Describes the end of a stream connection, and detects a refused session. */
import { sessionRefused } from "../../contract/index.ts";
import { cleanText, errorCode } from "../errors.ts";
import type { SocketEnd } from "./socket.ts";

/** Returns the refusal if it may concern the session, so that another token may help. */
export function refusedBySession(end: SocketEnd, secrets: readonly string[]): string | null {
  if (end.kind === "refused" && [401, 403, 409].includes(end.status))
    return `${end.status} ${cleanText(codeIn(end.body) ?? "", secrets)}`.trimEnd();
  if (end.kind === "closed" && sessionRefused(end.code, end.reason))
    return `closed with ${end.code} ${cleanText(end.reason, secrets)}`.trimEnd();
  return null;
}

/** Returns a text for the end, without secrets. */
export function endText(end: SocketEnd, secrets: readonly string[]): string {
  switch (end.kind) {
    case "refused":
      return `the exchange refused it: ${end.status} ${cleanText(codeIn(end.body) ?? "", secrets)}`.trimEnd();
    case "closed":
      return `the exchange closed it: ${end.code} ${cleanText(end.reason, secrets)}`.trimEnd();
    case "failed":
      return cleanText(end.detail, secrets);
  }
}

/** The error code in the body of a refusal. */
function codeIn(body: string): string | null {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    return typeof error === "string" ? errorCode(error) : null;
  } catch {
    return null;
  }
}
