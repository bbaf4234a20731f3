/**
 * The parsers of foreign bytes, by where the bytes come from. What libraries read before us (HTTP, TLS, SMTP, Discord's gateway) is
 * attacked over sockets, by the other files of this folder.
 */
import type { Parsers } from "./kinds.ts";

/** Each is loaded alone: the memory of a process is that of its parsers. */
export const groups: Readonly<Record<string, () => Promise<{ readonly parsers: Parsers }>>> = {
  exchange: () => import("./exchange.ts"),
  ledger: () => import("./ledger.ts"),
  wallets: () => import("./wallets.ts"),
  files: () => import("./files.ts"),
  services: () => import("./services.ts"),
  askers: () => import("./signer-requests.ts"),
  stored: () => import("./stored.ts"),
};
