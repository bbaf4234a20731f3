/**
 * Waits until a transaction is confirmed. A transaction that the ledger does not know once the block height has passed
 * its last valid one has expired.
 */
import type { Clock } from "../domain/clock.ts";
import { type Ledger, LedgerError } from "./rpc.ts";

export type Confirmation =
  | { readonly kind: "confirmed" }
  | { readonly kind: "failed"; readonly error: string }
  /** It was not executed, and cannot be executed any more. */
  | { readonly kind: "expired" }
  /** Not determined in time: it may have been executed. */
  | { readonly kind: "unknown"; readonly detail: string };

const pauseMs = 1_000;
const timeoutMs = 120_000;

export async function confirm(
  ledger: Pick<Ledger, "status" | "blockHeight">,
  transaction: string,
  lastValidBlockHeight: bigint,
  clock: Clock,
): Promise<Confirmation> {
  const endMs = clock.elapsedMs() + timeoutMs;
  let detail = "the ledger does not know it yet";
  let late = false;
  for (;;) {
    try {
      const status = await ledger.status(transaction);
      if (status?.error) return { kind: "failed", error: status.error };
      if (status !== null && status.confirmation !== "processed") return { kind: "confirmed" };
      // Reads the status once more after the height: it may have been executed in the last block.
      if (late && status === null) return { kind: "expired" };
      late = (await ledger.blockHeight()) > lastValidBlockHeight;
      if (late && status === null) continue;
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      detail = error.message;
    }
    if (clock.elapsedMs() >= endMs) return { kind: "unknown", detail };
    await clock.sleep(pauseMs);
  }
}
