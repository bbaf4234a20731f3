/** Checks if an address can be listened on, and explains failures. */
import { createServer } from "node:net";
import { errorCode } from "./errors.ts";

/**
 * Describes an error of listening, as the end of a sentence about the address.
 * @param setting names the setting with the port
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

/** Listens at the address for a moment. @returns the reason why that fails; null: it works */
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
