/**
 * Waits until a transaction is confirmed. It ends by itself: once the chain is higher than the transaction's blockhash
 * lives and does not know it, it never will.
 */
import type { Clock } from "../domain/clock.ts";
import { type Ledger, LedgerError } from "./rpc.ts";

export type Confirmation =
  | { readonly kind: "confirmed" }
  | { readonly kind: "failed"; readonly error: string }
  /** It was not executed, and cannot be any more. */
  | { readonly kind: "expired" }
  /** Nobody could say in time: it may have been executed. */
  | { readonly kind: "unknown"; readonly detail: string };

const pauseMs = 1_000;
const patienceMs = 120_000;

export async function confirm(
  ledger: Pick<Ledger, "status" | "blockHeight">,
  transaction: string,
  lastValidBlockHeight: bigint,
  clock: Clock,
): Promise<Confirmation> {
  const endMs = clock.elapsedMs() + patienceMs;
  let detail = "the ledger does not know it yet";
  let late = false;
  for (;;) {
    try {
      const status = await ledger.status(transaction);
      if (status?.error) return { kind: "failed", error: status.error };
      if (status !== null && status.confirmation !== "processed") return { kind: "confirmed" };
      // Asked for once more after the height was read: it may have been executed in the last block.
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
