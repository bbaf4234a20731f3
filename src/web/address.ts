/** The reason why an address cannot be listened on, and whether it could be. */
import { createServer } from "node:net";
import { errorCode } from "./errors.ts";

/**
 * In words that end a sentence about the address.
 * @param setting names its port
 */
export function addressTrouble(error: unknown, setting = "dashboard.listen"): string {
  const code = errorCode(error);
  switch (code) {
    case "EADDRINUSE":
      return `another program listens there; give ${setting} another port, or port 0 for a free one`;
    case "EACCES":
      return "the system does not allow it; ports below 1024 are often reserved";
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return "this machine has no such address";
    default:
      return code || String(error);
  }
}

/** Listens there for a moment. @returns what keeps us from it; null: nothing does */
export function tryAddress({
  host,
  port,
}: {
  readonly host: string;
  readonly port: number;
}): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => resolve(addressTrouble(error)));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
