import { createHash } from "node:crypto";
import type { SigningAct } from "./signer.ts";

const signatureBytes = 64;

/** SHA-256 of the bytes that an act would have signed, hex, as logs name it: a text, or the message of a transaction. */
export function hashOf(act: SigningAct): string {
  const content =
    act.kind === "login text" ? act.text : messageOf("unsigned" in act ? act.unsigned : act.wire);
  return createHash("sha256").update(content).digest("hex");
}

/** The part of a transaction that is signed, without its signatures; all of the text where it is no transaction. */
function messageOf(wire: string): Uint8Array | string {
  const bytes = Buffer.from(wire, "base64");
  const [count = 0] = bytes;
  const start = 1 + count * signatureBytes;
  // No transaction has room for more signatures than one byte counts.
  return count > 0 && count < 0x80 && bytes.length > start ? bytes.subarray(start) : wire;
}
