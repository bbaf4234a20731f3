import { createHash } from "node:crypto";
import type { SigningAct } from "./signer.ts";

const signatureBytes = 64;

/** SHA-256 of the bytes that an act signs, hex, as in logs: of a text, or of the message of a transaction. */
export function hashOf(act: SigningAct): string {
  const content =
    act.kind === "login text" ? act.text : messageOf("unsigned" in act ? act.unsigned : act.wire);
  return createHash("sha256").update(content).digest("hex");
}

/** The signed part of a transaction, without signatures; the whole text if it is not a transaction. */
function messageOf(wire: string): Uint8Array | string {
  const bytes = Buffer.from(wire, "base64");
  const [count = 0] = bytes;
  const start = 1 + count * signatureBytes;
  // A transaction has fewer than 128 signatures, so the count is one byte.
  return count > 0 && count < 0x80 && bytes.length > start ? bytes.subarray(start) : wire;
}
