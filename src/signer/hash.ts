import { createHash } from "node:crypto";
import type { SigningAct } from "./signer.ts";

/** SHA-256 of what an act would have signed, hex, as logs name it. */
export function hashOf(act: SigningAct): string {
  const content = act.kind === "login text" ? act.text : "unsigned" in act ? act.unsigned : act.wire;
  return createHash("sha256").update(content).digest("hex");
}
